/* SPDX-License-Identifier: Apache-2.0 */
/** @file preload.h Libraries of ours that stand before those of a program. */
#ifndef TOOLS_MLTP_PRELOAD_H
#define TOOLS_MLTP_PRELOAD_H

#include <stdbool.h>

/** What `mltp run` preloads; what `--threads` does. */
extern const char preload_teams[], preload_gate[];

/** Puts a library, which is beside this command or installed, first in LD_PRELOAD. @return 0; an
 * exit status after a message: it is not there. */
int preload(const char *program, const char *library);

/** @return whether the kernel starts the program without the dynamic loader, which preloads.
 * Files that are no programs for this machine, such as scripts, count as dynamic. */
bool preload_is_static(const char *program);

#endif
