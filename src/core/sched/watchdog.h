/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file watchdog.h
 * One of the sleepers, the watchdog, watches for all of them: due timers, VPs that leave threads
 * waiting, and a deadlock. wake.h says which sleeper it is.
 */
#ifndef MT_CORE_SCHED_WATCHDOG_H
#define MT_CORE_SCHED_WATCHDOG_H

#include "core/vp/vp.h"

/** @return when the watchdog wakes up by itself. Under sleep.ilock. */
uint64_t mt_watchdog_deadline(const struct mt_vp *watchdog);

/** Runs the watchdog's round at that time. The watchdog stays awake if it is needed. */
void mt_watchdog_check(struct mt_vp *watchdog);

/** Without a lock, for a look from outside of the runtime. @return 0: a VP is awake, or a thread is
 * ready, or a timer or a descriptor may make one ready; otherwise a number that changes when a VP
 * wakes up. Without VPs always the same. */
uint64_t mt_rest_mark(void);

/** @return whether a kernel thread is that of a VP that sleeps, or the monitor: while VPs rest it
 * makes no thread ready. */
bool mt_task_rests(int tid);

#endif
