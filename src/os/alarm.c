/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kernel thread that sleeps until a time that others keep moving: a timerfd. To move the time is
 * a system call of a third of a microsecond and wakes nobody, which a futex with a deadline cannot
 * offer. Nobody reads the descriptor: poll() reports that the time has come, and setting a new time
 * clears that. A program that closes all descriptors closes this one, too, and may have another
 * file under its number then: setting a time fails, and the owner naps from then on.
 *
 * Rejected: timer_create() with a signal for one kernel thread, which would take one of the signals
 * of the program.
 */
#include <errno.h>
#include <poll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "os/os.h"

void os_alarm_make(struct os_alarm *alarm) {
  int saved = errno, fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
  alarm->fd = fd >= 0 ? os_descriptor_raise(fd) : -1;
  errno = saved;
}

bool os_alarm_set(const struct os_alarm *alarm, uint64_t ns) {
  int saved = errno;
  struct itimerspec in = {.it_value = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)}};
  bool done = alarm->fd >= 0 && timerfd_settime(alarm->fd, 0, &in, NULL) == 0;
  errno = saved;
  return done;
}

bool os_alarm_wait(const struct os_alarm *alarm) {
  int saved = errno;
  struct pollfd on = {.fd = alarm->fd, .events = POLLIN};
  bool waited = poll(&on, 1, -1) >= 0 || errno == EINTR;
  errno = saved;
  return waited;
}

void os_alarm_free(struct os_alarm *alarm) {
  int saved = errno;
  if (alarm->fd >= 0) close(alarm->fd);
  alarm->fd = -1;
  errno = saved;
}
