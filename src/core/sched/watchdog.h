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

#endif
