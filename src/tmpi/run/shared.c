/* SPDX-License-Identifier: Apache-2.0 */
/* The file of the program: that of the process is tmpirun. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tmpi/loader/program.h"
#include "tmpi/rank/rank.h"
#include "tmpi/run/override.h"

/* Without a path libc and the kernel have their errors. */
static bool is_own_file(const char *path) {
  char own[64];
  if (path == NULL) return false;
  snprintf(own, sizeof own, "/proc/%d/exe", (int)getpid());
  return tm_rank_number() >= 0 && (strcmp(path, "/proc/self/exe") == 0 || strcmp(path, own) == 0);
}

static ssize_t readlink_rank(const char *path, char *text, size_t size) {
  if (!is_own_file(path) || size == 0) return readlink(path, text, size);
  if (text == NULL) {
    errno = EFAULT;
    return -1;
  }
  const char *own = tm_the_program->images[0]->path;
  size_t length = strlen(own) < size ? strlen(own) : size;
  memcpy(text, own, length);
  return (ssize_t)length;
}

static ssize_t readlinkat_rank(int folder, const char *path, char *text, size_t size) {
  return is_own_file(path) ? readlink_rank(path, text, size) : readlinkat(folder, path, text, size);
}

/* The forms of _FORTIFY_SOURCE, which has checked the size. */
static ssize_t readlink_checked(const char *path, char *text, size_t size, size_t room) {
  return readlink_rank(path, text, size < room ? size : room);
}

static ssize_t readlinkat_checked(int folder, const char *path, char *text, size_t size,
                                  size_t room) {
  return readlinkat_rank(folder, path, text, size < room ? size : room);
}

static char *realpath_rank(const char *path, char *resolved) {
  return realpath(is_own_file(path) ? tm_the_program->images[0]->path : path, resolved);
}

static char *realpath_checked(const char *path, char *resolved, size_t room) {
  (void)room;
  return realpath_rank(path, resolved);
}

const struct tm_override tm_override_shared[] = {
    {"readlink", (tm_any *)readlink_rank},
    {"readlinkat", (tm_any *)readlinkat_rank},
    {"__readlink_chk", (tm_any *)readlink_checked},
    {"__readlinkat_chk", (tm_any *)readlinkat_checked},
    {"realpath", (tm_any *)realpath_rank},
    {"__realpath_chk", (tm_any *)realpath_checked},
    {NULL, NULL},
};
