/* SPDX-License-Identifier: Apache-2.0 */
/** @file preload.h Libraries of ours that stand before those of a program. */
#ifndef TOOLS_MLTP_PRELOAD_H
#define TOOLS_MLTP_PRELOAD_H

#include <limits.h>

/** What `mltp run` preloads; what `--threads` does. */
extern const char preload_teams[], preload_gate[];

/** Puts a library, which is beside this command or installed, first in LD_PRELOAD. @return 0; an
 * exit status after a message: it is not there, or /proc is not. */
int preload(const char *program, const char *library);

/** How a program starts. */
enum preload_start {
  PRELOAD_LOADS,  /**< by the dynamic loader, which preloads; also absent programs */
  PRELOAD_STATIC, /**< without a loader */
  PRELOAD_MUSL,   /**< by musl's loader, with which a library for glibc cannot be */
  PRELOAD_RIGHTS  /**< by a loader that does not preload: it has rights that the user has not */
};

/** @return how the kernel starts the program, or a script's interpreter. path: that file. */
enum preload_start preload_start(const char *program, char path[PATH_MAX]);

#endif
