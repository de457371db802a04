/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file spawn_actions.h
 * What posix_spawn() does in the child before the program starts. A program makes its list of
 * actions some time before. What gives the child the rank's descriptors, and no others, comes
 * first, and is what holds when the child is made. So the program's list is kept here until then.
 */
#ifndef TM_RUN_SPAWN_ACTIONS_H
#define TM_RUN_SPAWN_ACTIONS_H

#include <spawn.h>

/** Makes the list for libc's posix_spawn(). asked: what the program has asked for; NULL: nothing.
 * The caller destroys it by libc's function in any case. @return 0 or an errno value. */
int tm_actions_make(posix_spawn_file_actions_t *made, const posix_spawn_file_actions_t *asked);

#endif
