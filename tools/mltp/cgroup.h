/* SPDX-License-Identifier: Apache-2.0 */
/** @file cgroup.h `mltp run --cgroup`: any program, in a control group whose quota is the grant. */
#ifndef TOOLS_MLTP_CGROUP_H
#define TOOLS_MLTP_CGROUP_H

/**
 * Runs a program in a new control group (version 2) and keeps the group's cpu.max at what mltpd
 * grants. Blocks until the program has ended.
 * @param where the daemon's socket, as for supervise_join()
 * @param parent the folder of a group that this user may write and that has no process of its own;
 * NULL: the group of this process, which must have no other process
 * @return the exit status of supervise(), or EXIT_FAILED after a message: there can be no group
 */
int cgroup_run(char **words, const char *where, const char *parent);

#endif
