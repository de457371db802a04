/* SPDX-License-Identifier: Apache-2.0 */
/** @file preload.h Libraries of ours that stand before those of a program. */
#ifndef TOOLS_MLTP_PRELOAD_H
#define TOOLS_MLTP_PRELOAD_H

/** What `mltp run` preloads; what `--threads` does. */
extern const char preload_teams[], preload_gate[];

/** Puts a library, which is beside this command or installed, first in LD_PRELOAD. @return 0; an
 * exit status after a message: it is not there. */
int preload(const char *program, const char *library);

/** How a program starts. */
enum preload_start {
  PRELOAD_LOADS,  /**< by the dynamic loader, which preloads; also scripts and absent programs */
  PRELOAD_STATIC, /**< without a loader */
  PRELOAD_MUSL    /**< by musl's loader, with which a library for glibc cannot be */
};

/** @return how the kernel starts the program. */
enum preload_start preload_start(const char *program);

#endif
