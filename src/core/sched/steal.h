/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file steal.h
 * Theft: a VP without work takes half the ready threads of another.
 *
 * A thief asks the nearest VPs first (docs/design/012), among equals in random order.
 * policy/steal.h decides what it takes.
 */
#ifndef MT_CORE_SCHED_STEAL_H
#define MT_CORE_SCHED_STEAL_H

#include "core/vp/vp.h"

/** One attempt to get threads from other VPs into this one's queue or inbox.
 * @param try_again also where the last thefts did not pay. */
bool mt_try_steal(struct mt_vp *vp, uint64_t now, bool try_again);

/** The same, now, and not where thefts did not pay. */
bool mt_steal_some(struct mt_vp *vp);

/** Notes whether the last theft of this VP, which has nothing to run again, has paid. */
void mt_judge_theft(struct mt_vp *vp, uint64_t now);

/** The program's threads are MPI ranks: from now on a theft has to pay for their messages and for
 * what they work on, too. */
void mt_move_ranks(void);

/** Returns how long ago a VP was first seen at its last scheduling point, ns. The caller notes what
 * it saw with the victim, for the next caller. */
uint64_t mt_unmoved_ns(struct mt_vp *victim, uint64_t now);

#endif
