/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Record locks. A lock of fcntl(2) belongs to the process, so that ranks would not exclude each
 * other: they take locks of the open file description, and each rank opens a file for itself. A
 * null pointer gets what the kernel makes of it.
 */
#include <errno.h>
#include <fcntl.h>
#include <mltp/mltp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

#include "tmpi/loader/program.h"
#include "tmpi/rank/rank.h"
#include "tmpi/run/override.h"
#include "tmpi/run/process.h"
#include "tmpi/run/streams.h"

static bool is_shared(void) { return tm_rank_number() >= 0 && tm_the_program->ranks > 1; }

static int lock_record(int fd, int command, const struct flock *wanted, struct flock *found) {
  if (wanted == NULL) return fcntl(fd, command, NULL);
  struct flock lock = *wanted;
  lock.l_pid = 0; /* as the kernel asks for these locks */
  bool waits = command == F_OFD_SETLKW;
  if (waits) mltp_blocking_begin();
  int result = fcntl(fd, command, &lock), error = errno;
  if (waits) mltp_blocking_end();
  if (found != NULL) *found = lock;
  tm_set_errno(error);
  return result;
}

/* @return whether it asks by F_GETLK for a lock that is none: with the locks of open file
 * descriptions it would be a question of its own. */
static bool asks_for_none(const struct flock *wanted) {
  return wanted != NULL && wanted->l_type == F_UNLCK;
}

static int fcntl_rank(int fd, int command, ...) {
  va_list list;
  va_start(list, command);
  void *argument = va_arg(list, void *);
  va_end(list);
  if (!is_shared()) return fcntl(fd, command, argument);
  fd = tm_streams_meant(fd);
  switch (command) {
    case F_DUPFD:
    case F_DUPFD_CLOEXEC:
      return tm_streams_give(fcntl(fd, command, argument), (int)(intptr_t)argument, "fcntl");
    case F_SETLK: return lock_record(fd, F_OFD_SETLK, argument, NULL);
    case F_SETLKW:
    case F_OFD_SETLKW: return lock_record(fd, F_OFD_SETLKW, argument, NULL);
    case F_GETLK:
      if (asks_for_none(argument)) return fcntl(fd, command, argument);
      return lock_record(fd, F_OFD_GETLK, argument, argument);
    default: return fcntl(fd, command, argument);
  }
}

static int lockf_rank(int fd, int command, off_t length) {
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_CUR, .l_len = length};
  if (!is_shared()) return lockf(fd, command, length);
  if (command != F_TEST && command != F_ULOCK && command != F_LOCK && command != F_TLOCK) {
    errno = EINVAL;
    return -1;
  }
  fd = tm_streams_meant(fd);
  if (command == F_TEST) {
    if (lock_record(fd, F_OFD_GETLK, &lock, &lock) != 0 || lock.l_type == F_UNLCK)
      return lock.l_type == F_UNLCK ? 0 : -1;
    errno = EACCES;
    return -1;
  }
  if (command == F_ULOCK) lock.l_type = F_UNLCK;
  return lock_record(fd, command == F_LOCK ? F_OFD_SETLKW : F_OFD_SETLK, &lock, NULL);
}

const struct tm_override tm_override_files[] = {
    {"fcntl", (tm_any *)fcntl_rank},
    {"fcntl64", (tm_any *)fcntl_rank},
    {"lockf", (tm_any *)lockf_rank},
    {"lockf64", (tm_any *)lockf_rank},
    {NULL, NULL},
};
