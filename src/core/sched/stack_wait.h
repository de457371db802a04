/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file stack_wait.h
 * Threads that are to start while no memory for their stacks can be had. They wait, first in,
 * first out for each size, until other threads end. A thread gets a free stack of its size, or a
 * larger one that no thread waits for. Larger sizes come first, for they have no other choice.
 *
 * Nobody wakes them: a VP that frees a stack keeps it in its cache, and looks here the next time it
 * checks or has nothing to run. What the cache of a sleeping VP holds, others may take.
 *
 * No thread waits for a stack that is free while all VPs sleep: a VP that falls asleep looks once
 * more after it is among the sleepers, and one that let a thread wait looks at their caches after
 * that. Both are under sleep.ilock, so either the first sees the thread or the second the stack.
 *
 * Rejected: to wake a waiter where a stack is freed, for each thread that ends would have to look.
 * To refuse in mltp_create(), for most threads that are created never have a stack at the same
 * time. To join smaller stacks into a larger one: the pools would have to know neighbours, and the
 * guard pages between them would have to go.
 *
 * Relaxed: the count is a hint for the VP that may have freed a stack itself.
 */
#ifndef MT_CORE_SCHED_STACK_WAIT_H
#define MT_CORE_SCHED_STACK_WAIT_H

#include "core/vp/vp.h"

extern uint32_t mt_stack_waiters __attribute__((visibility("hidden"))); /* [atomic] */

/** @return whether threads wait for stacks. */
static inline bool mt_stacks_are_awaited(void) { return mt_load_relaxed(&mt_stack_waiters) != 0; }

/** Parks a fresh thread, which is in no queue. Inside. Says once in a process that threads wait. */
void mt_stack_await(struct mt_vp *vp, struct mltp_thread *t);

/** @return whether a thread waits for a stack of that class. */
bool mt_stack_is_awaited(int class_log2);

/** Takes out the thread that has waited for a stack of that class for longest.
 * @return NULL: none does. */
struct mltp_thread *mt_stack_wait_end(int class_log2);

/** @return whether a VP that is about to sleep has to stay awake, and give. */
bool mt_stacks_can_be_given(const struct mt_vp *vp);

/** In a child of fork(): nobody waits. */
void mt_stack_wait_forget(void);

#endif
