/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file idle.h
 * What a VP does when its run queue is empty: it searches, it sleeps; and one of
 * the sleepers, the keeper, watches timers and VPs that leave threads waiting.
 *
 * A lone ready thread of another VP is left alone for a few microseconds: its VP
 * is likely about to run it. Two or more are shared at once.
 */
#ifndef MT_CORE_IDLE_H
#define MT_CORE_IDLE_H

#include "core/types.h"

/** The life of a VP's own context: find a thread, run it, find the next. Returns
 * when the runtime stops. */
void mt_idle_loop(struct mt_vp *vp);

/** One attempt to get threads from other VPs into this one's queue or inbox. */
bool mt_steal_some(struct mt_vp *vp);

#endif
