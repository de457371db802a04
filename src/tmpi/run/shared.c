/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What all ranks share, and a program may take for its own: it is done, and said once.
 *
 * Relaxed: whether it has been said.
 */
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "base/atomic.h"
#include "tmpi/loader/program.h"
#include "tmpi/rank/rank.h"
#include "tmpi/run/override.h"

static uint32_t warned; /* [atomic] relaxed: a message twice would do no harm */

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

const struct tm_override tm_override_shared[] = {
    {"chdir", (tm_any *)chdir_rank},
    {"fchdir", (tm_any *)fchdir_rank},
    {NULL, NULL},
};
