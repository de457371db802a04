/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file watchdog.h
 * One of the sleepers, the watchdog, watches for all: timers, VPs that leave threads waiting, and a
 * deadlock. wake.h says who it is.
 */
#ifndef MT_CORE_SCHED_WATCHDOG_H
#define MT_CORE_SCHED_WATCHDOG_H

#include "core/vp/vp.h"

/** @return when the watchdog gets up by itself. Under sleep.ilock. */
uint64_t mt_watchdog_deadline(const struct mt_vp *watchdog);

/** The watchdog's round, when that time has come: it gets up, if it is needed. */
void mt_watchdog_check(struct mt_vp *watchdog);

#endif
