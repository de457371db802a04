/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file share.h
 * The runtime's side of mltpd: VPs follow the program's grant, and report what they could use.
 *
 * Probing (TMPI-2, section 3.3): each scheduling point reads the grant, one word. The three
 * results: no action   the word is as before: the switch continues on one stack Activate    it is
 * more: VPs are woken, and the switch continues on one stack Deactivate  it is less: the VP
 * switches to its idle context, which looks again, hands its threads to other VPs and sleeps; this
 * alone takes a second switch of stacks The paper calls the look before the switch the eager probe.
 *
 * Demand: the VPs that are awake; all that the program may have, from the moment that a VP is not
 * woken, or has to sleep, for want of a grant, until a VP sleeps for want of work.
 *
 * There is no daemon in deterministic mode, on the kernel backend, and with MLTP_OVERSUBSCRIBE.
 *
 * Rejected: a thread that waits for the daemon's messages (one more kernel thread to schedule, in
 * programs that run on one CPU, too); a signal (interrupts system calls of the program).
 */
#ifndef MT_CORE_SHARE_H
#define MT_CORE_SHARE_H

#include "coord/client.h"
#include "core/vp/parts.h"

/** Joins the daemon that MLTP_COORDINATOR names, if there is one. @return 0; an errno value, after
 * a message: it is not `auto` and there is none. */
int mt_share_join(void);

/** Changes how many VPs the program may have. */
void mt_share_set_most(int most);

/** @return how many VPs may be awake: the number that the program wants, or its grant if that is
 * less. */
int mt_share_target(void);

/** There was work for one VP more than may be awake. */
void mt_share_refused(void);

/** Reports how many VPs are awake. Under sleep.ilock. */
void mt_share_report(void);

/** Rings, when a report said so. Outside of sleep.ilock. */
void mt_share_ring_if_due(void);

/** To be called by a VP that has read the clock. */
void mt_share_look(struct mt_vp *vp, uint64_t now);

#endif
