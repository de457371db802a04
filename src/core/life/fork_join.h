/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file fork_join.h
 * A join runs a thread that has not started: recursion goes depth first.
 *
 * Depth first. A recursive program leaves at each level a fresh thread in the queue, and joins
 * the newest first. As long as nothing but joins and thieves start fresh threads, the threads
 * that have begun and not ended are those of one path from the root for each VP and theft
 * (Blumofe and Leiserson 1999: S1 x P). To start the oldest fresh thread whenever a turn is due
 * would begin a new path each time: breadth first, with memory that grows with the work.
 *
 * Turns. So a joiner that is about to run a fresh thread gives way as follows:
 * - to a started thread that is ready: at each check (MT_TICKS_PER_CHECK scheduling points).
 *   The joiner goes to the front of the queue, so that the VP comes back to its path before it
 *   begins another;
 * - to the oldest fresh thread: for one check, at intervals of FRESH_NS, doubled for each
 *   path that was interrupted. A thread that computes, or waits for anything but a fresh
 *   thread, then continues like any other. One that starts a path of its own is interrupted at
 *   the next check: its joiner goes to the end of the queue, where joins skip it, and the VP
 *   returns to the first path.
 * A fresh thread therefore waits for FRESH_NS times two to the number of interrupted paths,
 * and in a time T at most log2(T / FRESH_NS) paths are begun beside the one at work.
 *
 * Rejected: to run the oldest each time (176,555 threads alive in fib(34), now 58 in fib(36));
 * child first, as Cilk does (creators would wait: docs/design/010); never to give fresh
 * threads a turn (a program that creates and joins in a loop would starve the others).
 */
#ifndef MT_CORE_LIFE_FORK_JOIN_H
#define MT_CORE_LIFE_FORK_JOIN_H

#include "core/thread/thread.h"

/**
 * Runs a thread that has not started and is in the queue of the joiner's VP, as a call of the
 * joiner, and frees it. Others may run before and meanwhile.
 * @return false: it did not run here; the caller joins it as usual.
 */
bool mt_join_runs(struct mltp_thread *self, struct mltp_thread *t, void **result);

#endif
