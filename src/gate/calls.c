/* SPDX-License-Identifier: Apache-2.0 */
/* libc's calls that wait for something from outside (lend.h). The others that sleep in the kernel
 * are found by the monitor: they seldom sleep, as write(), or are rare. */
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gate/lend.h"
#include "gate/next.h"

#define LENT __attribute__((cleanup(gt_take_back)))

static bool is_long(const struct timespec *time) {
  return time == NULL || time->tv_sec != 0 || time->tv_nsec != 0;
}

/* ---- waits for one of several descriptors */

GT_EXPORT int poll(struct pollfd *fds, nfds_t number, int ms) {
  struct gt_thread *me LENT = gt_lend(ms != 0);
  if (gt_is_wanted(me)) {
    int count = gt_next.poll(fds, number, 0);
    if (count != 0) return count;
    gt_give(me);
  }
  return gt_next.poll(fds, number, ms);
}

GT_EXPORT int ppoll(struct pollfd *fds, nfds_t number, const struct timespec *time,
                    const sigset_t *mask) {
  struct gt_thread *me LENT = gt_lend(is_long(time));
  if (gt_is_wanted(me)) {
    int count = gt_next.ppoll(fds, number, &(struct timespec){0}, mask);
    if (count != 0) return count;
    gt_give(me);
  }
  return gt_next.ppoll(fds, number, time, mask);
}

GT_EXPORT int epoll_wait(int fd, struct epoll_event *events, int most, int ms) {
  struct gt_thread *me LENT = gt_lend(ms != 0);
  if (gt_is_wanted(me)) {
    int count = gt_next.epoll_wait(fd, events, most, 0);
    if (count != 0) return count;
    gt_give(me);
  }
  return gt_next.epoll_wait(fd, events, most, ms);
}

GT_EXPORT int epoll_pwait(int fd, struct epoll_event *events, int most, int ms,
                          const sigset_t *mask) {
  struct gt_thread *me LENT = gt_lend(ms != 0);
  if (gt_is_wanted(me)) {
    int count = gt_next.epoll_pwait(fd, events, most, 0, mask);
    if (count != 0) return count;
    gt_give(me);
  }
  return gt_next.epoll_pwait(fd, events, most, ms, mask);
}

/* To look first would change the sets. */
GT_EXPORT int select(int number, fd_set *restrict in, fd_set *restrict out, fd_set *restrict except,
                     struct timeval *restrict time) {
  struct gt_thread *me LENT = gt_lend(time == NULL || time->tv_sec != 0 || time->tv_usec != 0);
  if (gt_is_wanted(me)) gt_give(me);
  return gt_next.select(number, in, out, except, time);
}

GT_EXPORT int pselect(int number, fd_set *restrict in, fd_set *restrict out,
                      fd_set *restrict except, const struct timespec *restrict time,
                      const sigset_t *restrict mask) {
  struct gt_thread *me LENT = gt_lend(is_long(time));
  if (gt_is_wanted(me)) gt_give(me);
  return gt_next.pselect(number, in, out, except, time, mask);
}

/* ---- reads; most programs that wait elsewhere have set O_NONBLOCK */

/* The permit is wanted. */
static __attribute__((noinline)) void give_to_read(struct gt_thread *me, int fd) {
  struct pollfd one = {.fd = fd, .events = POLLIN};
  int flags = fcntl(fd, F_GETFL);
  if (flags == -1 || (flags & O_NONBLOCK) != 0 || gt_next.poll(&one, 1, 0) != 0) return;
  gt_give(me);
}

/* An allocator may read while libc's functions are looked for. */
GT_EXPORT ssize_t read(int fd, void *data, size_t size) {
  struct gt_thread *me LENT = gt_lend(true);
  if (gt_next.read == NULL) return syscall(SYS_read, fd, data, size);
  if (gt_is_wanted(me)) give_to_read(me, fd);
  return gt_next.read(fd, data, size);
}

GT_EXPORT ssize_t readv(int fd, const struct iovec *parts, int number) {
  struct gt_thread *me LENT = gt_lend(true);
  if (gt_is_wanted(me)) give_to_read(me, fd);
  return gt_next.readv(fd, parts, number);
}

GT_EXPORT ssize_t recv(int fd, void *data, size_t size, int flags) {
  struct gt_thread *me LENT = gt_lend((flags & MSG_DONTWAIT) == 0);
  if (gt_is_wanted(me)) give_to_read(me, fd);
  return gt_next.recv(fd, data, size, flags);
}

GT_EXPORT ssize_t recvfrom(int fd, void *restrict data, size_t size, int flags,
                           struct sockaddr *restrict address, socklen_t *restrict length) {
  struct gt_thread *me LENT = gt_lend((flags & MSG_DONTWAIT) == 0);
  if (gt_is_wanted(me)) give_to_read(me, fd);
  return gt_next.recvfrom(fd, data, size, flags, address, length);
}

GT_EXPORT ssize_t recvmsg(int fd, struct msghdr *message, int flags) {
  struct gt_thread *me LENT = gt_lend((flags & MSG_DONTWAIT) == 0);
  if (gt_is_wanted(me)) give_to_read(me, fd);
  return gt_next.recvmsg(fd, message, flags);
}

GT_EXPORT int accept(int fd, struct sockaddr *restrict address, socklen_t *restrict length) {
  struct gt_thread *me LENT = gt_lend(true);
  if (gt_is_wanted(me)) give_to_read(me, fd);
  return gt_next.accept(fd, address, length);
}

GT_EXPORT int accept4(int fd, struct sockaddr *restrict address, socklen_t *restrict length,
                      int flags) {
  struct gt_thread *me LENT = gt_lend(true);
  if (gt_is_wanted(me)) give_to_read(me, fd);
  return gt_next.accept4(fd, address, length, flags);
}

/* ---- children */

GT_EXPORT pid_t waitpid(pid_t pid, int *status, int options) {
  struct gt_thread *me LENT = gt_lend((options & WNOHANG) == 0);
  if (gt_is_wanted(me)) {
    pid_t found = gt_next.waitpid(pid, status, options | WNOHANG);
    if (found != 0) return found;
    gt_give(me);
  }
  return gt_next.waitpid(pid, status, options);
}

GT_EXPORT pid_t wait(int *status) { return waitpid(-1, status, 0); }

GT_OLD_NAME(__poll, poll);
GT_OLD_NAME(__select, select);
GT_OLD_NAME(__read, read);
GT_OLD_NAME(__waitpid, waitpid);
GT_OLD_NAME(__wait, wait);

/* ---- what programs compiled with _FORTIFY_SOURCE call; room: the size of the buffer */

_Noreturn void __chk_fail(void);
ssize_t __read_chk(int, void *, size_t, size_t);
ssize_t __recv_chk(int, void *, size_t, size_t, int);
ssize_t __recvfrom_chk(int, void *restrict, size_t, size_t, int, struct sockaddr *restrict,
                       socklen_t *restrict);
int __poll_chk(struct pollfd *, nfds_t, int, size_t);
int __ppoll_chk(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *, size_t);

GT_EXPORT ssize_t __read_chk(int fd, void *data, size_t size, size_t room) {
  if (size > room) __chk_fail();
  return read(fd, data, size);
}

GT_EXPORT ssize_t __recv_chk(int fd, void *data, size_t size, size_t room, int flags) {
  if (size > room) __chk_fail();
  return recv(fd, data, size, flags);
}

GT_EXPORT ssize_t __recvfrom_chk(int fd, void *restrict data, size_t size, size_t room, int flags,
                                 struct sockaddr *restrict address, socklen_t *restrict length) {
  if (size > room) __chk_fail();
  return recvfrom(fd, data, size, flags, address, length);
}

GT_EXPORT int __poll_chk(struct pollfd *fds, nfds_t number, int ms, size_t room) {
  if (room / sizeof *fds < number) __chk_fail();
  return poll(fds, number, ms);
}

GT_EXPORT int __ppoll_chk(struct pollfd *fds, nfds_t number, const struct timespec *time,
                          const sigset_t *mask, size_t room) {
  if (room / sizeof *fds < number) __chk_fail();
  return ppoll(fds, number, time, mask);
}
