/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file fork.h
 * The child of fork() forgets the runtime.
 */
#ifndef MT_CORE_LIFE_FORK_H
#define MT_CORE_LIFE_FORK_H

#include "core/vp/vp.h"

/** From now on children forget the runtime. @return 0 or ENOMEM. */
int mt_fork_init(void);

/** Bounds of the stack the calling kernel thread runs on: its own, or the one of the thread that
 * called fork(). */
void mt_fork_stack(char **low, size_t *size);

/** @return whether a stack is the one of the thread of ours, not main, that forked this process.
 * For a report in a signal handler. */
bool mt_fork_is_inherited(const char *low);

#endif
