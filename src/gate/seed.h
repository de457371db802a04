/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file seed.h
 * Seeded runs (MLTP_SEED, MLTP_SCHEDULE): one permit, a choice of the next thread at each call
 * through the gate, and a clock that counts the choices. The same seed or schedule gives the same
 * interleaving of these calls; base/schedule.h has the log. The candidates are counted as in
 * libmltp's deterministic mode: the caller, if it may continue, then the ready queue.
 *
 * What replays: calls of the functions that the gate stands before. What does not: the order of
 * plain loads and stores between them is fixed, since one thread runs at a time; what the kernel
 * or another process does in a blocking call has its own time. A thread that runs
 * for 100 ms without a call gets company, which no seed replays, and a message says so.
 */
#ifndef MT_GATE_SEED_H
#define MT_GATE_SEED_H

#include "gate/lot.h"

/** A longer wait has no limit in a seeded run, s: absolute times of both clocks are less. */
#define GT_SEED_LONGEST_S INT64_C(4000000000)

/** Reads the options. @return 0, or EINVAL after a message. */
int gt_seed_start(void);

/** The calling thread may be interrupted here. Without gt_lock. */
void gt_seed_point(struct gt_thread *me, const char *call);

/** Nobody runs: brings the next thread to the front of the ready queue, after timers that are
 * due. Ends the process at a deadlock. Under gt_lock. @return false: there is none. */
bool gt_seed_pick(void);

/** A thread that yields falls below all others. Under gt_lock. */
void gt_seed_yield(struct gt_thread *me);

/** In a child of fork(): its choices are not in the log. */
void gt_seed_forget(void);

/** A new thread gets its place among the others. Under gt_lock. */
void gt_seed_enter(struct gt_thread *t);

/** The caller has created a thread: waits until it is in the ready queue. */
void gt_seed_await_thread(struct gt_thread *me, unsigned id);

/** @return the time of this run's clock, in nanoseconds of CLOCK_REALTIME or CLOCK_MONOTONIC. */
uint64_t gt_seed_now(clockid_t clock);

#endif
