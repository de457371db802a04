/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file prefix.h
 * Commands that become the program which their own words name: `env A=1 python3 x.py`.
 *
 * An interpreter may load MPI, and runs as ranks. Behind such a command it would be one process,
 * and MPI comes when it already runs: too late to make ranks of it. `env -i` takes away the
 * variables by which an MPI program becomes ranks. So tmpirun moves behind the command,
 * `env A=1 tmpirun -n 4 -- python3 x.py`, and a program is started behind it as without it.
 */
#ifndef TM_RUN_PREFIX_H
#define TM_RUN_PREFIX_H

#include <stdbool.h>

/** @return a command's file: as it is named, or as found on PATH if it has no '/'; to be freed.
 * NULL: no memory. */
char *tm_find_program(const char *name);

/** @return the number of words in front of the program that a command becomes; 0: it is no such
 * command, or the program is not known. *path: the program's file, to be freed. */
int tm_prefix_length(char *const *command, int count, char **path);

/** @return whether a file is a statically linked program that has a function of this name. */
bool tm_prefix_is_static(const char *path, const char *function);

#endif
