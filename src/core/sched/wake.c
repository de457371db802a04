/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state machine of awake, sleeping and blocked VPs; wake.h has the protocol.
 *
 * Relaxed: what changes under sleep.ilock is read under it, or as a hint.
 */
#include "core/sched/wake.h"

#include "core/sched/share.h"
#include "core/sched/silence.h"
#include "core/vp/alternative.h"
#include "core/vp/poller.h"
#include "core/vp/vp.h"
#include "instrument/decisions.h"
#include "policy/backoff.h"

void mt_count_searching(struct mt_vp *vp, bool searches) {
  uint32_t change = (uint32_t)searches - vp->search.searching; /* 0, 1 or -1 */
  /* relaxed: a sleeper that delivers events asks whether it was just woken; takes() */
  mt_store_relaxed(&vp->search.searching, searches);
  if (change != 0) mt_add_seq_cst(&mt_rt.idle.searching, change); /* ID-4 seq_cst: pairs ID-1 */
}

/* ---- waking; all under sleep.ilock */

/* relaxed: others only look whether it is themselves */
static void set_watchdog(struct mt_vp *vp) { mt_store_relaxed(&mt_rt.sleep.watchdog, vp); }

static void count_awake(struct mt_vp *vp) {
  /* relaxed: under the ilock; a poster that sees ASLEEP comes here and finds out */
  mt_store_relaxed(&vp->sleep.status, MT_VP_AWAKE);
  mt_store_relaxed(&mt_rt.idle.awake, mt_rt.idle.awake + 1);
  mt_rt.sleep.wake_count++;
  if (mt_rt.sleep.watchdog == vp) set_watchdog(NULL);
  mt_silence_ends(vp);
  mt_share_report();
}

static void count_not_awake(void) {
  mt_store_relaxed(&mt_rt.idle.awake, mt_rt.idle.awake - 1);
  if (mt_rt.idle.awake == 0) mt_rt.sleep.asleep_since = os_now();
}

static void count_blocked(struct mt_vp *vp, enum mt_vp_status status) {
  count_not_awake();
  mt_store_seq_cst(&vp->sleep.status, status); /* ID-15 seq_cst: pairs ID-5 */
  mt_store_relaxed(&mt_rt.sleep.blocked, mt_rt.sleep.blocked + 1);
}

/* A VP that may have been caught is not blocked. */
static void release(struct mt_vp *vp) {
  if (mt_load_relaxed(&vp->sleep.status) != MT_VP_CAUGHT) return;
  mt_store_relaxed(&mt_rt.sleep.blocked, mt_rt.sleep.blocked - 1);
  mt_store_relaxed(&mt_rt.idle.company, mt_rt.idle.company - vp->sleep.computes);
  vp->sleep.computes = false;
  count_awake(vp);
}

static void unlink_sleeper(struct mt_vp *vp) {
  struct mt_vp **link = &mt_rt.sleep.sleepers;
  while (*link != vp) link = &(*link)->sleep.next;
  *link = vp->sleep.next;
  mt_sub_seq_cst(&mt_rt.idle.sleeping, 1); /* ID-3 seq_cst: pairs ID-1 */
}

static void unlock_and_wake(struct mt_vp *woken, struct mt_vp *watchdog) {
  mt_ilock_unlock(&mt_rt.sleep.ilock);
  if (woken != NULL) mt_vp_rouse(woken);
  if (watchdog != NULL) mt_vp_rouse(watchdog);
  mt_share_ring_if_due();
}

/* @return whether a sleeper watches: there is a watchdog, and it is not awake (watch_alone()). */
static bool is_watched(void) {
  const struct mt_vp *watchdog = mt_rt.sleep.watchdog;
  return watchdog != NULL && mt_load_relaxed(&watchdog->sleep.status) == MT_VP_ASLEEP;
}

/* The watchdog went; the next sleeper has to take over its watch. */
static struct mt_vp *next_watchdog(void) {
  if (is_watched() || mt_rt.sleep.sleepers == NULL) return NULL;
  set_watchdog(mt_rt.sleep.sleepers);
  mt_rt.sleep.watchdog->sleep.futex++;
  return mt_rt.sleep.watchdog;
}

struct mt_vp *mt_watchdog_roused(void) {
  if (!is_watched()) return next_watchdog();
  mt_rt.sleep.watchdog->sleep.futex++;
  return mt_rt.sleep.watchdog;
}

void mt_watch_pass_on(void) {
  const struct mt_vp *watchdog = mt_load_relaxed(&mt_rt.sleep.watchdog);
  if (watchdog == NULL || mt_load_relaxed(&watchdog->sleep.status) == MT_VP_ASLEEP) return;
  mt_ilock_lock(&mt_rt.sleep.ilock);
  unlock_and_wake(NULL, next_watchdog());
}

static void wake_sleeper(struct mt_vp *vp) {
  pid_t task = mt_load_relaxed(&vp->handover.task.tid); /* relaxed: it never changes */
  if (mt_rt.idle.awake < mt_rt.woken_most) os_affinity_avoid_here(&vp->sleep.affinity, task);
  unlink_sleeper(vp);
  count_awake(vp);
  vp->sleep.woken_at = os_now();
  vp->sleep.futex++;
}

struct mt_vp *mt_poll_heir(void) {
  if (mt_poller() == NULL || mt_load_relaxed(&mt_rt.poll.sleeper) != NULL) return NULL;
  if (mt_rt.idle.awake != 0 || mt_rt.sleep.sleepers == NULL) return NULL;
  mt_rt.sleep.sleepers->sleep.futex++;
  return mt_rt.sleep.sleepers;
}

/* The last to have gone to sleep is the warmest; the watchdog's watch would have to
 * be handed over, so it comes last. */
static struct mt_vp *best_sleeper(void) {
  struct mt_vp *vp = mt_rt.sleep.sleepers;
  return vp != NULL && vp == mt_rt.sleep.watchdog && vp->sleep.next != NULL ? vp->sleep.next : vp;
}

void mt_wake_one(void) {
  if (!mt_may_wake_one()) { /* a VP that makes room by sleeping looks at the queues itself */
    mt_share_refused();
    return;
  }
  mt_ilock_lock(&mt_rt.sleep.ilock);
  struct mt_vp *vp = NULL;
  if (mt_may_wake_one() && mt_load_relaxed(&mt_rt.idle.searching) == 0) vp = best_sleeper();
  if (vp != NULL) {
    wake_sleeper(vp);
    mt_count_searching(vp, true);
    struct mt_vp *here = mt_here();
    if (here != NULL) mt_count_owner(&here->stats.wakes);
  }
  unlock_and_wake(vp, next_watchdog());
}

void mt_wake_all(void) {
  mt_ilock_lock(&mt_rt.sleep.ilock);
  while (mt_rt.sleep.sleepers != NULL) {
    struct mt_vp *vp = mt_rt.sleep.sleepers;
    wake_sleeper(vp);
    mt_vp_rouse(vp);
  }
  mt_ilock_unlock(&mt_rt.sleep.ilock);
}

/* ---- posting to a VP that may sleep */

bool mt_any_waiting(const struct mt_vp *self) {
  if (mt_alternative_waiting(NULL) != 0) return true;
  return mt_vps_any(self != NULL ? mt_has_threads_for_others : mt_runq_seems_busy, self);
}

struct mt_vp *mt_any_awake_but(const struct mt_vp *self) {
  uint32_t count = mt_vp_count();
  for (uint32_t i = 0; i < count; i++)
    if (mt_rt.vps[i] != self && mt_load_relaxed(&mt_rt.vps[i]->sleep.status) == MT_VP_AWAKE)
      return mt_rt.vps[i];
  return NULL;
}

/* Makes sure that a VP takes what is in the inbox of a VP seen not awake.
 * @return that VP. If it is not `to`, the caller posts there instead. */
static struct mt_vp *deliver(struct mt_vp *to) {
  mt_ilock_lock(&mt_rt.sleep.ilock);
  struct mt_vp *woken = NULL, *takes = to;
  uint32_t status = mt_load_relaxed(&to->sleep.status);
  /* At the end it is main on its way to VP 0, and the others may have gone. */
  bool only_to = mt_load_relaxed(&mt_rt.stopping);
  if (status == MT_VP_ASLEEP && mt_may_wake_one()) {
    woken = to;
  } else if (status != MT_VP_AWAKE && !only_to) {
    takes = mt_any_awake_but(to);
    if (takes == NULL) takes = woken = best_sleeper(); /* the others are blocked in the kernel */
  }
  if (woken != NULL) wake_sleeper(woken);
  unlock_and_wake(woken, next_watchdog());
  return takes != NULL ? takes : to; /* nobody: it takes it itself when it comes back */
}

/* Something was posted: an awake VP has to get it. */
static void posted(struct mt_vp *to) {
  /* ID-5 seq_cst: the status after the post; pairs ID-2 ID-11 ID-15 ID-16 ID-20 */
  while (mt_unlikely(mt_load_seq_cst(&to->sleep.status) != MT_VP_AWAKE)) {
    struct mt_vp *takes = deliver(to);
    if (takes == to) break;
    struct mltp_thread *last, *first = mt_runq_take_inbox(to, &last);
    if (first == NULL) break;
    to = takes;
    mt_runq_post(to, first, last);
  }
  /* ID-18 light fence: the post before the loads, as ID-1; pairs ID-2 ID-16 ID-20 */
  mt_fence_light();
  /* Its VP may be busy in one thread for long. */
  if (mt_load_relaxed(&mt_rt.idle.sleeping) != 0 && mt_wake_is_due(mt_wake_seen(1))) mt_wake_one();
}

void mt_post(struct mt_vp *to, struct mltp_thread *first, struct mltp_thread *last) {
  mt_runq_post(to, first, last);
  posted(to);
}

void mt_post_whole(struct mt_vp *to, struct mltp_thread *first) {
  mt_runq_post_whole(to, first);
  posted(to);
}

/* A sleeper that may wake up, else a VP that is awake; NULL: no other VP can run anything. */
static struct mt_vp *taker_but(const struct mt_vp *self) {
  struct mt_vp *vp = NULL;
  if (mt_may_wake_one()) {
    mt_ilock_lock(&mt_rt.sleep.ilock);
    vp = best_sleeper();
    mt_ilock_unlock(&mt_rt.sleep.ilock);
  }
  return vp != NULL ? vp : mt_any_awake_but(self);
}

void mt_vp_hand_off(struct mt_vp *vp) {
  struct mt_vp *taker = mt_runq_seems_busy(vp) ? taker_but(vp) : NULL;
  if (taker == NULL) return;
  mt_runq_enter(vp);
  mt_runq_drain(vp);
  /* At the end it can only be main on its way to VP 0, and the taker may have gone. */
  uint32_t count = mt_load_relaxed(&mt_rt.stopping) ? 0 : UINT32_MAX; /* relaxed: IB-2 orders */
  struct mltp_thread *last, *first = mt_runq_take_front(vp, count, &last);
  mt_runq_leave(vp);
  if (first != NULL) mt_post(taker, first, last);
}

/* ---- sleeping */

/* While a VP is awake the interval of the watchdog has a bound. It may have gone to sleep for
 * longer when no VP was awake. @return it, to be woken for a new deadline; NULL: it is in time, or
 * is the caller's VP. */
static struct mt_vp *watchdog_that_oversleeps(const struct mt_vp *vp) {
  if (mt_rt.idle.awake == 0 || mt_rt.sleep.watchdog == vp ||
      mt_load_relaxed(&mt_rt.sleep.watchdog_deadline) <=
          os_now() + mt_backoff_watch_ns(MT_BACKOFF_MOST))
    return NULL;
  mt_rt.sleep.watchdog->sleep.futex++;
  return mt_rt.sleep.watchdog;
}

/* The first sleeper is the watchdog, and after it a VP with a timer for which it would wake up too
 * late. The one before sleeps on, and wakes up once for nothing at most. */
static void keep_watch(struct mt_vp *vp) {
  bool in_time =
      mt_load_relaxed(&mt_rt.sleep.watchdog_deadline) <= mt_load_relaxed(&vp->timers.earliest);
  if (!is_watched() || (vp->timers.unwatched && !in_time)) set_watchdog(vp);
  vp->timers.unwatched = false;
}

/* After a search that found nothing. */
static void back_off(struct mt_vp *vp) {
  const struct mt_search_seen seen = {.level = vp->search.backoff, .skips = vp->search.skips};
  vp->search.backoff = mt_backoff_after_search(seen);
  mt_decided("backoff_after_search", &seen, sizeof seen, vp->search.backoff);
  if (mt_search_was_futile(seen)) /* relaxed: a hint, the watchdog's look covers it */
    mt_store_relaxed(&mt_rt.idle.wake_threshold, mt_backoff_wake_threshold(vp->search.backoff));
}

bool mt_vp_sleep_begin(struct mt_vp *vp) {
  mt_ilock_lock(&mt_rt.sleep.ilock);
  release(vp);
  vp->sleep.rests = false;
  vp->sleep.woken_at = 0;
  vp->sleep.next = mt_rt.sleep.sleepers;
  mt_rt.sleep.sleepers = vp;
  keep_watch(vp);
  back_off(vp);
  if (!mt_over_target()) mt_store_relaxed(&mt_rt.hungry, false); /* it sleeps for want of work */
  count_not_awake();
  mt_share_report();
  /* If all sleep the watchdog looks seldom: the next to be awake wakes others. */
  if (mt_rt.idle.awake == 0) mt_store_relaxed(&mt_rt.idle.wake_threshold, 0);
  mt_store_seq_cst(&vp->sleep.status, MT_VP_ASLEEP); /* ID-11 seq_cst: pairs ID-5 */
  mt_add_seq_cst(&mt_rt.idle.sleeping, 1);           /* ID-12 seq_cst: pairs ID-1 */
  mt_count_searching(vp, false);
  bool last = mt_rt.idle.awake == 0 && mt_rt.sleep.blocked == 0;
  unlock_and_wake(NULL, watchdog_that_oversleeps(vp));
  mt_count_owner(&vp->stats.sleeps);
  return last;
}

void mt_vp_sleep_cancel(struct mt_vp *vp) {
  mt_ilock_lock(&mt_rt.sleep.ilock);
  if (mt_load_relaxed(&vp->sleep.status) == MT_VP_ASLEEP) {
    unlink_sleeper(vp);
    count_awake(vp);
  }
  unlock_and_wake(NULL, next_watchdog());
}

/* The watchdog wakes up, and is the only VP awake. If it sees all that is to be watched itself, it
 * remains the watchdog for the moment that its thread will take: a successor would have to wake up
 * as well. Its plan is "never", so that the next timer that comes first finds a successor. Without
 * a monitor no other kernel thread would notice that the moment is a long one. @return whether it
 * is so. */
static bool watch_alone(struct mt_vp *vp) {
  if (mt_rt.idle.awake != 1 || mt_rt.sleep.blocked != 0 || mt_poller() != NULL) return false;
  if (!mt_load_relaxed(&mt_rt.handover.runs)) return false;
  MT_ASSERT(mt_load_relaxed(&mt_rt.idle.wake_threshold) == 0); /* its ready threads wake a VP */
  set_watchdog(vp);
  vp->timers.unwatched = true; /* there may be others than the one that is due */
  /* ID-21 seq_cst: before the look at timers; pairs TM-1 */
  mt_store_seq_cst(&mt_rt.sleep.watchdog_deadline, MLTP_NEVER);
  return true;
}

void mt_vp_wake_watchdog(struct mt_vp *vp) {
  mt_ilock_lock(&mt_rt.sleep.ilock);
  bool alone = false;
  if (mt_load_relaxed(&vp->sleep.status) == MT_VP_ASLEEP) {
    bool watches = mt_rt.sleep.watchdog == vp;
    unlink_sleeper(vp);
    count_awake(vp);
    alone = watches && mt_rt.sleep.sleepers != NULL && watch_alone(vp);
  }
  unlock_and_wake(NULL, alone ? NULL : next_watchdog());
}

/* ---- how many */

void mt_awake_add(int more) {
  mt_ilock_lock(&mt_rt.sleep.ilock);
  mt_store_relaxed(&mt_rt.idle.awake, mt_rt.idle.awake + more);
  mt_silence_ends(NULL);
  mt_share_report();
  mt_ilock_unlock(&mt_rt.sleep.ilock);
}

void mt_set_target(int target) {
  mt_ilock_lock(&mt_rt.sleep.ilock);
  if (mt_load_relaxed(&mt_rt.stopping)) target = MT_VPS_MAX; /* VP 0 must wake up */
  mt_store_relaxed(&mt_rt.idle.target, target);
  bool more = mt_rt.idle.awake < target;
  bool fewer = mt_rt.idle.awake > target;
  mt_ilock_unlock(&mt_rt.sleep.ilock);
  uint32_t count = mt_vp_count();
  for (uint32_t i = 0; fewer && i < count; i++) mt_runq_probe(mt_rt.vps[i]);
  if (more) mt_wake_one();
}

void mt_share_follow(void) { mt_set_target(mt_share_target()); }

/* ---- blocking in the kernel */

static bool has_spare(void) {
  int unblocked = (int)mt_load_relaxed(&mt_rt.vp_count) - mt_rt.sleep.blocked;
  return unblocked >= mt_beside_company(mt_load_relaxed(&mt_rt.idle.target));
}

bool mt_block(struct mt_vp *vp) {
  mt_ilock_lock(&mt_rt.sleep.ilock);
  release(vp);
  count_blocked(vp, MT_VP_BLOCKED);
  bool spare = has_spare();
  mt_share_report();
  unlock_and_wake(mt_poll_heir(), next_watchdog());
  return spare;
}

bool mt_catch(struct mt_vp *vp, uint32_t tick, bool computes, bool *spare) {
  mt_ilock_lock(&mt_rt.sleep.ilock);
  bool caught = mt_load_relaxed(&vp->sleep.status) == MT_VP_AWAKE &&
                mt_load_relaxed(&vp->points.tick) == tick;
  if (caught) {
    count_blocked(vp, MT_VP_CAUGHT);
    vp->sleep.computes = computes;
    mt_store_relaxed(&mt_rt.idle.company, mt_rt.idle.company + computes);
    mt_share_report();
  }
  *spare = has_spare();
  unlock_and_wake(mt_poll_heir(), next_watchdog());
  return caught;
}

void mt_release(struct mt_vp *vp) {
  if (mt_likely(mt_load_relaxed(&vp->sleep.status) != MT_VP_CAUGHT)) return;
  mt_ilock_lock(&mt_rt.sleep.ilock);
  release(vp);
  mt_ilock_unlock(&mt_rt.sleep.ilock);
  mt_share_ring_if_due();
}

void mt_unblock(struct mt_vp *vp) {
  mt_ilock_lock(&mt_rt.sleep.ilock);
  mt_store_relaxed(&mt_rt.sleep.blocked, mt_rt.sleep.blocked - 1);
  count_awake(vp);
  mt_ilock_unlock(&mt_rt.sleep.ilock);
  mt_share_ring_if_due();
}
