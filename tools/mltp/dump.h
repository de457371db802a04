/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file dump.h
 * The command `mltp dump`.
 */
#ifndef TOOLS_MLTP_DUMP_H
#define TOOLS_MLTP_DUMP_H

#include <stdbool.h>
#include <sys/types.h>

/** Writes all threads of a process to stdout. @return exit status. */
int dump(pid_t pid, bool json);

#endif
