/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file cgroup.h
 * What limits a process through its cgroup and every ancestor, version 1 and 2.
 */
#ifndef MT_OS_CGROUP_H
#define MT_OS_CGROUP_H

#include <stdbool.h>
#include <stddef.h>

/** @return the least of what a function says of a directory, for the group of this process and
 * each ancestor; INT_MAX: no limit. v2 and v1: the function for that version. */
int os_cgroup_least(const char *controller, int (*v2)(const char *directory),
                    int (*v1)(const char *directory));
/** @return whether the process has a group of version 2, and its folder. */
bool os_cgroup_unified(char *folder, size_t size);
/** Reads a file that begins with a number. @return false: it does not, or cannot be read. */
bool os_cgroup_number(const char *directory, const char *name, long long *number);

#endif
