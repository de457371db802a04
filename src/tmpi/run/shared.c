/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What all ranks share, and a program may take for its own: it is done, and said once.
 *
 * Relaxed: whether it has been said.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/atomic.h"
#include "tmpi/loader/program.h"
#include "tmpi/rank/rank.h"
#include "tmpi/run/override.h"

static uint32_t warned, warned_umask; /* [atomic] relaxed: a message twice would do no harm */

static void warn_shared(const char *call) {
  if (tm_the_program->ranks > 1 && mt_add_relaxed(&warned, 1) == 0)
    fprintf(stderr,
            "tmpirun: rank %d called %s(): all ranks share the working directory (use absolute "
            "paths)\n",
            tm_rank_number(), call);
}

static int chdir_rank(const char *path) {
  int result = chdir(path);
  if (result == 0) warn_shared("chdir");
  return result;
}

static int fchdir_rank(int fd) {
  int result = fchdir(fd);
  if (result == 0) warn_shared("fchdir");
  return result;
}

/* A mask of 0 is how a program reads its mask, and restores it at once. */
static mode_t umask_rank(mode_t mask) {
  mode_t old = umask(mask);
  if (mask != old && mask != 0 && tm_the_program->ranks > 1 &&
      mt_add_relaxed(&warned_umask, 1) == 0)
    fprintf(stderr,
            "tmpirun: rank %d called umask(0%o), and it was 0%o: all ranks share it (use fchmod)\n",
            tm_rank_number(), (unsigned)mask, (unsigned)old);
  return old;
}

/* ---- the file of the program: that of the process is tmpirun */

static bool is_own_file(const char *path) {
  char own[64];
  snprintf(own, sizeof own, "/proc/%d/exe", (int)getpid());
  return tm_rank_number() >= 0 && (strcmp(path, "/proc/self/exe") == 0 || strcmp(path, own) == 0);
}

static ssize_t readlink_rank(const char *path, char *text, size_t size) {
  if (!is_own_file(path)) return readlink(path, text, size);
  const char *own = tm_the_program->images[0]->path;
  size_t length = strlen(own) < size ? strlen(own) : size;
  memcpy(text, own, length);
  return (ssize_t)length;
}

static ssize_t readlinkat_rank(int folder, const char *path, char *text, size_t size) {
  return is_own_file(path) ? readlink_rank(path, text, size) : readlinkat(folder, path, text, size);
}

/* The form of _FORTIFY_SOURCE, which has checked the size. */
static ssize_t readlink_checked(const char *path, char *text, size_t size, size_t room) {
  return readlink_rank(path, text, size < room ? size : room);
}

static char *realpath_rank(const char *path, char *resolved) {
  return realpath(is_own_file(path) ? tm_the_program->images[0]->path : path, resolved);
}

static char *realpath_checked(const char *path, char *resolved, size_t room) {
  (void)room;
  return realpath_rank(path, resolved);
}

const struct tm_override tm_override_shared[] = {
    {"umask", (tm_any *)umask_rank},
    {"readlink", (tm_any *)readlink_rank},
    {"readlinkat", (tm_any *)readlinkat_rank},
    {"__readlink_chk", (tm_any *)readlink_checked},
    {"realpath", (tm_any *)realpath_rank},
    {"__realpath_chk", (tm_any *)realpath_checked},
    {"chdir", (tm_any *)chdir_rank},
    {"fchdir", (tm_any *)fchdir_rank},
    {NULL, NULL},
};
