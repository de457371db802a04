/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Readiness of descriptors: epoll, edge-triggered, so that a descriptor is registered once and
 * costs no system call for each wait.
 *
 * The eventfd is level-triggered: a wait that does not sleep may come between an interrupt and the
 * sleeper that it is meant for, and must not take it away.
 */
#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "os/os.h"

static int high(int fd) { return fd >= 0 ? os_descriptor_raise(fd) : fd; }

int os_poller_make(struct os_poller *poller) {
  int saved = errno, error = 0;
  poller->epoll = high(epoll_create1(EPOLL_CLOEXEC));
  if (poller->epoll < 0) error = errno;
  poller->wake = error == 0 ? high(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) : -1;
  if (error == 0 && poller->wake < 0) error = errno;
  struct epoll_event on = {.events = EPOLLIN, .data.u64 = OS_POLLER_WAKE};
  if (error == 0 && epoll_ctl(poller->epoll, EPOLL_CTL_ADD, poller->wake, &on) != 0) error = errno;
  if (error != 0) os_poller_free(poller);
  errno = saved;
  return error;
}

void os_poller_free(struct os_poller *poller) {
  int saved = errno;
  if (poller->epoll >= 0) close(poller->epoll);
  if (poller->wake >= 0) close(poller->wake);
  poller->epoll = poller->wake = -1;
  errno = saved;
}

/* The registration of a duplicate may have stayed when a descriptor of that number was closed. */
int os_poller_add(const struct os_poller *poller, int fd, uint64_t data) {
  int saved = errno;
  struct epoll_event on = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLPRI | EPOLLET,
                           .data.u64 = data};
  int result = epoll_ctl(poller->epoll, EPOLL_CTL_ADD, fd, &on);
  if (result != 0 && errno == EEXIST) result = epoll_ctl(poller->epoll, EPOLL_CTL_MOD, fd, &on);
  int error = result == 0 ? 0 : errno;
  errno = saved;
  return error;
}

void os_poller_remove(const struct os_poller *poller, int fd) {
  int saved = errno;
  struct epoll_event unused = {0};
  epoll_ctl(poller->epoll, EPOLL_CTL_DEL, fd, &unused);
  errno = saved;
}

/* Kernels before 5.11 wait for whole milliseconds only. Filters of containers that are older than
 * the call refuse it by EPERM, which the call itself does not return. */
static int wait_ms(const struct os_poller *poller, struct epoll_event *events, int most,
                   uint64_t left) {
  uint64_t ms = left / 1000000 + (left % 1000000 != 0);
  return epoll_wait(poller->epoll, events, most, ms < 1000000 ? (int)ms : 1000000);
}

int os_poller_wait(const struct os_poller *poller, struct epoll_event *events, int most,
                   uint64_t deadline) {
  int saved = errno, count;
  if (deadline == 0 || deadline == UINT64_MAX) {
    count = epoll_wait(poller->epoll, events, most, deadline == 0 ? 0 : -1);
  } else {
    uint64_t now = os_now(), left = deadline > now ? deadline - now : 0;
    struct timespec ts = {(time_t)(left / 1000000000u), (long)(left % 1000000000u)};
    count = (int)syscall(SYS_epoll_pwait2, poller->epoll, events, most, &ts, NULL, (size_t)0);
    if (count < 0 && (errno == ENOSYS || errno == EPERM))
      count = wait_ms(poller, events, most, left);
  }
  /* A program that closes all descriptors closes this one, too. */
  if (count < 0 && errno != EINTR)
    os_fatal("epoll_wait", errno, "do not close descriptors that the program has not opened");
  errno = saved;
  return count < 0 ? 0 : count;
}

void os_poller_interrupt(const struct os_poller *poller) {
  int saved = errno;
  if (eventfd_write(poller->wake, 1) != 0 && errno != EAGAIN)
    os_fatal("eventfd_write", errno, "do not close descriptors that the program has not opened");
  errno = saved;
}

void os_poller_reset(const struct os_poller *poller) {
  int saved = errno;
  eventfd_t count;
  eventfd_read(poller->wake, &count);
  errno = saved;
}
