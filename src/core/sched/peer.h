/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file peer.h
 * A VP that sleeps in the poller between the messages of one peer stays on the peer's CPU for some
 * sleeps. policy/peer.h says when, and why.
 *
 * It stays there only while it sleeps: what a thread of the program creates inherits the CPUs
 * that the kernel thread may use. They are noted when the VP looks. It is awake then, so no
 * waker has narrowed them (os_affinity_avoid_here()); and they are restored after the waker's are,
 * which may have noted a VP that stays.
 *
 * Rejected: to stay there for longer than it takes until the kernel leaves both on one CPU, since
 * another program may want that CPU; to spin for the next message, which takes as much CPU
 * time as the wake-ups.
 */
#ifndef MT_CORE_SCHED_PEER_H
#define MT_CORE_SCHED_PEER_H

#include "core/vp/poller.h"

/** The VP goes to sleep in the poller. */
void mt_peer_sleeps(struct mt_vp *vp);

/** It woke up there, and is awake now. others: it was also woken otherwise. */
void mt_peer_delivered(struct mt_vp *vp, const struct mt_poll_batch *batch, bool others,
                       uint64_t now);

/** It has slept, and runs threads next. */
static inline void mt_peer_wakes(struct mt_vp *vp) { os_affinity_restore(&vp->peer.affinity); }

#endif
