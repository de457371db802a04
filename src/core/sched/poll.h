/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file poll.h
 * Which VP looks for descriptors that have become ready, and when. vp/poller.h has the hook of
 * src/io.
 *
 * There is no kernel thread for it. A VP looks when its queue is empty, when it searches, and every
 * MT_POLL_NS while it has threads to run. The last VP to fall asleep sleeps in the poller instead
 * of on its futex, so a machine at rest wakes for an event and for nothing else. While a VP is
 * awake no other is woken by events: one that has threads to run would only lose them to a thief.
 * Where the awake VPs reach no scheduling point, the watchdog looks each time it wakes, and the
 * monitor when it finds a silent VP.
 *
 * A VP that found few short-running threads runs them alone (mt_batch_is_kept()), and says so in
 * mt_rt.poll.keeps. Until it is done, or should be, others neither look nor take its threads: a VP
 * that searches beside it would find an event now and then, stay awake for it, and so move half of
 * all sockets from CPU to CPU.
 *
 * At most one VP sleeps in the poller (mt_rt.poll.sleeper), and only if no VP was awake when it
 * went to sleep. All this changes under sleep.ilock, so whenever the number of awake VPs falls to 0
 * there is a VP that sees it: the one that goes to sleep, or the one that blocks, which then rouses
 * a sleeper (mt_poll_heir()). The roused VP looks again where to sleep. Events that were taken from
 * the kernel are delivered when the VP is awake again and counts as searching, so that the first of
 * them wakes no other VP.
 *
 * Rejected: a kernel thread that waits and posts, which costs two switches of the kernel's for each
 * event; a VP that always sleeps in the poller, as Go's does, which then wakes beside the VP that
 * works and would have looked a moment later.
 */
#ifndef MT_CORE_SCHED_POLL_H
#define MT_CORE_SCHED_POLL_H

#include "core/vp/poller.h"

enum { MT_POLL_NS = 100000 /**< between looks of a busy VP */ };

/** Looks at the poller without waiting, unless another does or a VP sleeps in it.
 * @param here the calling VP, which takes the threads; NULL: they go where they ran last */
void mt_poll_now(struct mt_vp *here, uint64_t now);

/** Notes how long the calling VP took for the threads of the last delivery, when it has run them.
 */
void mt_poll_judge(struct mt_vp *vp, uint64_t now);

/** @return whether a VP that ran a delivery has lost its CPU to another program, not long ago: one
 * VP more would only take a CPU from a third. Then one VP runs what is found, however much it is,
 * and the watchdog looks as seldom as it may. */
bool mt_poll_rests(uint64_t now);

/** @return whether a busy VP, or the watchdog, should look. */
static inline bool mt_poll_is_due(uint64_t now) {
  /* relaxed: a hint */
  return mt_poller() != NULL && now - mt_load_relaxed(&mt_rt.poll.polled_at) >= MT_POLL_NS;
}

/** Installs the poller. VPs that sleep look again. */
void mt_poll_install(const struct mt_poller *poller);

/** @return whether the VP, about to sleep, has to sleep in the poller. Under sleep.ilock. */
bool mt_poll_claim(struct mt_vp *vp);

/** Sleeps there. @return ETIMEDOUT at the deadline, else 0. A VP that got events is awake. */
int mt_poll_sleep(struct mt_vp *vp, uint64_t deadline);

/** Deterministic mode: nothing is ready. While threads wait for descriptors, waits for them until
 * the first timer is due: time passes as on the clock then. @return whether events came. */
bool mt_poll_det(struct mt_vp *vp);

#endif
