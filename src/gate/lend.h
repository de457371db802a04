/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file lend.h
 * Calls that may sleep in the kernel until something comes from outside. Such a thread needs no
 * permit, but to give it up and to wait for another would cost each call that does not sleep two
 * turns. So the caller *lends* its permit: it keeps it, and a thread that becomes ready meanwhile
 * takes it (gt_grant()). If one waits already, the caller looks whether the call would sleep, and
 * gives the permit up only then.
 *
 * Only a thread that was woken takes a lent permit. One that gave way may spin for the thread that
 * sleeps, and would keep it from coming back; the monitor lets it run after a tick.
 *
 * No permit stays with a thread that sleeps: the lender stores `lent` (GT-17), then looks for eager
 * threads. A thread that becomes ready is counted among them, and then looks for lenders (GT-18).
 */
#ifndef MT_GATE_LEND_H
#define MT_GATE_LEND_H

#include "gate/gate.h"

/** Before a call. @param waits it may sleep. @return the caller, which has to take its permit back;
 * NULL: the call goes straight to libc. Finds libc's functions in any case. */
struct gt_thread *gt_lend(bool waits);

/** After it; for __attribute__((cleanup)), since a cancellation may end the call between. Waits for
 * a permit if another thread has taken it. *me NULL: does nothing. Keeps errno. */
void gt_take_back(struct gt_thread **me);

/** @return whether another thread waits for the permit that is lent. */
static inline bool gt_is_wanted(const struct gt_thread *me) {
  return mt_unlikely(me != NULL && mt_load_relaxed(&gt_gate.eager) != 0); /* relaxed: GT-17 */
}

/** The call will sleep, and the permit is wanted: lets another thread take it. */
void gt_give(struct gt_thread *me);

#endif
