/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file wake.h
 * Which VPs are awake, and which VP is woken when there is work.
 *
 * State: each VP is AWAKE, ASLEEP (in mt_rt.sleep.sleepers) or BLOCKED. mt_rt.idle.awake
 * counts the first kind and stays at or below mt_rt.idle.target. Resizing, idling and
 * blocking calls use this one mechanism. All of it changes under sleep.ilock.
 *
 * No lost wake-up (labels ID-n; explored by tests/models/idle.pml):
 *   a VP that makes a thread ready  pushes it; light fence; loads sleeping and
 *                                   searching; wakes one unless another searches
 *   a VP that goes to sleep         sleeping + 1, searching - 1; heavy fence;
 *                                   looks at all run queues once more
 * Either the first sees the sleeper or the sleeper sees the thread. If no other VP is awake, and
 * there are no threads outside VPs, nobody pushes without a locked instruction. A VP that becomes
 * awake later takes sleep.ilock first, and sees the sleeper. Then the sleeper's fence is its own
 * processor's (ID-22): membarrier(2) would take a tenth of the time of the sleep. A post to an
 * inbox is a full fence by itself and is checked against the status of that VP.
 * At most one VP that was woken searches at a time. The last searcher that finds
 * something checks for more, and wakes the next VP.
 *
 * Back-off: two threads that exchange a token make a lone thread ready a million times a second,
 * and null threads cost more to move than to run (docs/design/034). A search that saw such work and
 * got none of it sets wake_threshold. Then a lone ready thread, or any number, wakes no VP, but the
 * watchdog searches every millisecond, every 16 at worst. So no VP sleeps longer than that while a
 * thread that it may run is ready.
 *
 * A VP that runs threads of a short delivery of I/O keeps them to itself (poll.h): they wake
 * nobody, and a VP that goes to sleep does not count them.
 *
 * In a crowd: with MLTP_OVERSUBSCRIBE more VPs may be awake than there are CPUs, but
 * none is woken beyond the CPUs. The threads of a VP that waits for a CPU seem to be left
 * waiting, and a VP woken to run them would take that CPU. A VP that finds its queue empty
 * in a crowd goes to sleep without a search. Only the watchdog wakes beyond the CPUs, when
 * a VP with ready threads reaches no scheduling point for longer than a time slice and is
 * probably blocked in the kernel. A waker that sees no room for one more VP wakes none. A VP
 * that makes room by going to sleep looks at the queues afterwards (ID-2).
 *
 * The watch (explored by tests/models/watch.pml): one sleeper, the watchdog, sleeps until the first
 * timer is due, and a watchdog that wakes up passes the watch on. If it is the only VP awake it
 * keeps the watch for the moment that its thread will take (watch_alone()). It passes it on before
 * it runs a thread while timers are set (run_one()), when it blocks, after 1,024 scheduling points,
 * and when the monitor finds it busy. It needs no successor for its ready threads: they wake
 * sleepers, since wake_threshold is 0 then.
 *
 * Rejected: waking a VP for each ready thread (its system calls take a
 * thousand times as long as a switch); polling by all sleepers; a timer thread.
 *
 * Relaxed: sleeping, searching, wake_threshold, awake and target are hints outside
 * sleep.ilock. The fences named above order the accesses that matter.
 */
#ifndef MT_CORE_SCHED_WAKE_H
#define MT_CORE_SCHED_WAKE_H

#include "core/sched/runq.h"
#include "core/sched/share.h"
#include "core/vp/poller.h"
#include "policy/idle.h"

/** Wakes a sleeper to look for work, if one may be awake and nobody looks. */
void mt_wake_one(void);

/** Returns what a waker sees of a queue with that number of ready threads. */
static inline struct mt_wake_seen mt_wake_seen(uint32_t ready) {
  return (struct mt_wake_seen){.searching = mt_load_relaxed(&mt_rt.idle.searching),
                               .ready = ready,
                               .threshold = mt_load_relaxed(&mt_rt.idle.wake_threshold)};
}

/** To be called after threads were pushed to the caller's own run queue. */
static inline void mt_notice(struct mt_vp *vp) {
  /* ID-1 light fence: the push before the loads; pairs ID-2 ID-3 ID-4 ID-8 ID-12 ID-16 ID-20 */
  mt_fence_light();
  if (mt_unlikely(mt_load_relaxed(&mt_rt.idle.sleeping) != 0) &&
      mt_wake_is_due(mt_wake_seen(mt_load_relaxed(&vp->runq.length))))
    mt_wake_one();
}

/** Posts a chain (mt_runq_post) and sees to it that an awake VP gets it. */
void mt_post(struct mt_vp *to, struct mltp_thread *first, struct mltp_thread *last);

/** The same for threads that ran there last (mt_runq_post_whole). */
void mt_post_whole(struct mt_vp *to, struct mltp_thread *first);

/** Gives all ready threads of the calling VP, which will not run them soon, to another. */
void mt_vp_hand_off(struct mt_vp *vp);

/** Counts VPs that search; they count themselves, or are counted when woken to. */
void mt_count_searching(struct mt_vp *vp, bool searches);

/** The VP joins the sleepers, and stops to be counted as awake and searching. @return whether it
 * was the last: all VPs sleep, and none is blocked in the kernel. */
bool mt_vp_sleep_begin(struct mt_vp *vp);

/** The VP leaves the sleepers, unless it was woken meanwhile. */
void mt_vp_sleep_cancel(struct mt_vp *vp);

/** The same for the watchdog, whose time has come. It may keep the watch for a moment although it
 * is awake. */
void mt_vp_wake_watchdog(struct mt_vp *vp);

/** A VP that is awake and keeps the watch passes it on to a sleeper, if there is such a VP. By that
 * VP, by one with much to run, and by the monitor, which finds that none reaches a scheduling
 * point. */
void mt_watch_pass_on(void);

/** @return the watchdog, or a sleeper that is it now, which the caller rouses without the lock,
 * because there is something to be watched; NULL: no VP sleeps. Under sleep.ilock. */
struct mt_vp *mt_watchdog_roused(void);

/** Changes the number of VPs that may be awake. */
void mt_set_target(int target);

/** Adapts the number of VPs to a new grant (share.h). */
void mt_share_follow(void);

/** Adapts, if the grant has changed. */
static inline void mt_share_probe(void) {
  if (mt_unlikely(mt_client_changed())) mt_share_follow();
}

/** A VP that is being made counts as awake. */
void mt_awake_add(int more);

/** Wakes all VPs, so that they end. */
void mt_wake_all(void);

/** The calling VP is going to block in the kernel, and does not count as awake. @return whether
 * there is another to take its place. */
bool mt_block(struct mt_vp *vp);
/** It is back, and counts. */
void mt_unblock(struct mt_vp *vp);

/** @return a sleeper that has to look again where it sleeps, because no VP is awake now and none
 * sleeps in the poller (poll.h): the caller rouses it without the lock. NULL: none. Under
 * sleep.ilock. */
struct mt_vp *mt_poll_heir(void);

/** The same for a VP that blocks without saying so, by the monitor (monitor.h), unless it has
 * passed a scheduling point since that tick. computes: it keeps its CPU, and as many VPs may be
 * awake as there are of its kind. @return whether it counts as blocked now; *spare: there is
 * another to take its place. */
bool mt_catch(struct mt_vp *vp, uint32_t tick, bool computes, bool *spare);
/** The calling VP counts as awake again if it was caught. */
void mt_release(struct mt_vp *vp);

/** @return whether a VP has ready threads that it does not keep to itself (poll.h). */
static inline bool mt_has_threads_for_others(const struct mt_vp *vp) {
  return mt_runq_seems_busy(vp) && !mt_poll_keeps(vp);
}

/** @return whether a ready thread seems to wait in a queue other than self's own. Threads that
 * their VP runs at once (poll.h) do not count, unless self is NULL: then for any VP. */
bool mt_any_waiting(const struct mt_vp *self);

/** @return an awake VP other than self, NULL: none. A hint. */
struct mt_vp *mt_any_awake_but(const struct mt_vp *self);

#endif
