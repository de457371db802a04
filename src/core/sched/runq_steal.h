/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file runq_steal.h
 * Taking threads from another VP's run queue.
 */
#ifndef MT_CORE_SCHED_RUNQ_STEAL_H
#define MT_CORE_SCHED_RUNQ_STEAL_H

#include "core/sched/runq.h"

/** @return how many threads a thief would get. A hint, from outside. */
uint32_t mt_runq_share(const struct mt_vp *vp);

/**
 * Moves ready threads from a victim to the thief's own run queue or inbox: half
 * of them, at most a bounded number; all of a victim that is not awake.
 * @param stuck the victim has not come by for so long that asking it is no use
 * @return true when the thief has something now.
 */
bool mt_runq_steal(struct mt_vp *thief, struct mt_vp *victim, bool stuck);

/** Takes all ready threads of a VP that cannot run them, for the caller to post, linked by next.
 * By a kernel thread that is no VP. @return NULL: there are none, or another thief is there. */
struct mltp_thread *mt_runq_take_over(struct mt_vp *victim, struct mltp_thread **last);

#endif
