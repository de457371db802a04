/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file steal.h
 * Theft: a VP without work takes half the ready threads of another.
 *
 * The nearest VPs are asked first (docs/design/012), among equals in an order of chance.
 * A lone ready thread is left alone for a few microseconds: its VP is likely about to run
 * it. Two or more are shared at once, unless the last thefts did not pay (docs/design/013).
 */
#ifndef MT_CORE_SCHED_STEAL_H
#define MT_CORE_SCHED_STEAL_H

#include "core/vp/vp.h"

/** One attempt to get threads from other VPs into this one's queue or inbox.
 * @param try_again also where the last thefts did not pay. */
bool mt_try_steal(struct mt_vp *vp, uint64_t now, bool try_again);

/** The same, now, and not where thefts did not pay. */
bool mt_steal_some(struct mt_vp *vp);

/** This VP has nothing to run again: notes whether its last theft kept it busy for long
 * enough to have paid. */
void mt_judge_theft(struct mt_vp *vp, uint64_t now);

/** What it costs to move one of the program's threads to another VP, ns, if not 250: with what it
 * costs afterwards that it is there. */
void mt_move_costs(uint64_t ns);

/** @return true when the victim has reached no scheduling point for ns. The observer notes what it
 * saw in the victim, for the next observer. */
bool mt_is_stuck(struct mt_vp *victim, uint64_t now, uint64_t ns);

#endif
