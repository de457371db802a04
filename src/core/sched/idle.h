/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file idle.h
 * What a VP does when its run queue is empty: it searches, it sleeps. watchdog.h has what one of
 * the sleepers does in the meantime.
 */
#ifndef MT_CORE_SCHED_IDLE_H
#define MT_CORE_SCHED_IDLE_H

#include "core/vp/vp.h"

/** The life of a VP's own context: find a thread, run it, find the next. Returns
 * when the runtime stops. */
void mt_idle_loop(struct mt_vp *vp);

/** Something ended, or a VP found nothing to do: resumes main if it waits for that. Implemented by
 * life/runtime.c. */
void mt_finalizer_check(void);

#endif
