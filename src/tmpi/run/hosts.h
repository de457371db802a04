/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file hosts.h
 * The machines that the command line names. Names of this machine alone change nothing. Otherwise
 * each machine is a node of the job (nodes/nodes.h), and a launcher with PMIx starts a tmpirun on
 * each.
 */
#ifndef TM_RUN_HOSTS_H
#define TM_RUN_HOSTS_H

#include <stdbool.h>
#include <stddef.h>

/** Adds the hosts of a list: NAME or NAME:SLOTS, separated by commas. @return false after a
 * message. */
bool tm_hosts_add(const char *option, const char *list);

/** Adds those of a file: lines NAME, NAME:SLOTS or NAME slots=N; from # on comments. */
bool tm_hosts_add_file(const char *option, const char *path);

/** @return whether a machine but this one is among them. */
bool tm_hosts_are_far(void);

/** Becomes the launcher, which starts tmpirun with these words on each host. words[0] is tmpirun's
 * name. @return the exit status, after a message. */
int tm_hosts_launch(int ranks, char *const *words, size_t count);

#endif
