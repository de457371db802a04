/* SPDX-License-Identifier: Apache-2.0 */
/* Searching and sleeping. wake.h has the protocol. */
/*
 * Relaxed: all of it hints; what matters is looked at again under sleep.ilock, or
 * after the fences labelled.
 */
#include "core/sched/idle.h"

#include <errno.h>

#include "core/det/det.h"
#include "core/memory/stack.h"
#include "core/sched/poll.h"
#include "core/sched/sched.h"
#include "core/sched/silence.h"
#include "core/sched/stack_wait.h"
#include "core/sched/steal.h"
#include "core/sched/wake.h"
#include "core/sched/watchdog.h"
#include "core/timer/timer.h"
#include "core/vp/alternative.h"
#include "core/vp/locality.h"
#include "core/vp/tuned.h"
#include "core/vp/vp.h"
#include "instrument/decisions.h"
#include "instrument/probes.h"
#include "policy/backoff.h"
#include "policy/idle.h"

/* ---- searching */

/* Work was found. Wakers that saw this VP searching woke no other VP, so the last searcher may have
 * to. */
static void search_end_found(struct mt_vp *vp) {
  uint32_t kept = vp->search.kept;
  vp->search.kept = 0;
  if (!vp->search.searching) return;
  mt_count_searching(vp, false);
  /* ID-17 light fence: one searcher less, before the look for sleepers; pairs ID-2 ID-16 ID-20 */
  mt_fence_light();
  if (mt_load_relaxed(&mt_rt.idle.searching) != 0 || mt_load_relaxed(&mt_rt.idle.sleeping) == 0)
    return;
  if (!mt_may_wake_one() || mt_backoff_is_reluctant(vp->search.backoff)) return;
  mt_fence_heavy(); /* ID-8 heavy fence: as ID-2; pairs ID-1 */
  if (mt_load_relaxed(&vp->runq.length) > (kept > 1 ? kept : 1) ||
      mt_vps_any(mt_has_threads_for_others, vp) || mt_alternative_waiting(vp) > 1)
    mt_wake_one();
}

static bool crowded(void) { return mt_vps_crowded(mt_vps_seen()); }

static uint64_t spin_ns(void) {
  const struct mt_idle_seen seen = {
      .vps = mt_vps_seen(), .outside = mt_outside_may_post(), .spin_ns = mt_tuned(MT_IDLE_SPIN_NS)};
  return mt_decided("idle_spin_ns", &seen, sizeof seen, mt_idle_spin_ns(seen));
}

/* In a crowd only the watchdog takes other VPs' threads, once per watch: they seem to wait
 * because their VPs wait for a CPU, and a VP that took them would take that CPU, too.
 * @return true when this VP has something to run now. */
static bool look_around(struct mt_vp *vp) {
  bool sent = vp->search.is_watchdog_round;
  vp->search.is_watchdog_round = 0;
  vp->search.skips = 0;
  mt_count_searching(vp, true);
  mt_locality_note(vp);
  const uint64_t polls = mt_tuned(MT_INBOX_PAUSES), every = mt_tuned(MT_SCAN_PAUSES);
  uint64_t begin = os_now(), end = begin + spin_ns();
  for (uint64_t round = 0;; round++) {
    if (mt_load_relaxed(&vp->runq.inbox) != NULL) { /* relaxed: the drain acquires */
      if (round < polls) vp->search.inbox_polls = MT_INBOX_POLLS;
      return true;
    }
    if (mt_alternative_waiting(vp) != 0) return true;
    if (round % every == 0) {
      uint64_t now = mt_vp_now(vp);
      mt_timers_run_due(now);
      if (round != 0) mt_poll_now(vp, now);
      mt_idle_hook(false);
      if (mt_runq_seems_busy(vp)) return true;
      mt_share_probe();
      if (mt_over_target() || mt_load_relaxed(&mt_rt.stopping)) return false;
      if ((sent || !crowded()) && mt_try_steal(vp, now, sent)) return true;
      if (now >= end) return false;
    }
    mt_arch_pause();
  }
}

/* Where a thread came by the inbox soon after the last one left, the next may, too: two VPs
 * that play ball. So a VP looks at its inbox alone for a moment, as one that still works:
 * without clocks, and without the counts that it shares with all (half of a round trip).
 * @return true when something came. */
static bool poll_inbox(struct mt_vp *vp) {
  if (vp->search.inbox_polls == 0 || vp->search.searching || mt_load_relaxed(&vp->runq.length) != 0)
    return false;
  vp->search.inbox_polls--;
  const uint64_t polls = mt_tuned(MT_INBOX_PAUSES);
  for (uint64_t round = 0; round < polls; round++) {
    if (mt_load_relaxed(&vp->runq.inbox) != NULL) return true; /* relaxed: the drain acquires */
    mt_arch_pause();
  }
  vp->search.inbox_polls = 0;
  return false;
}

static bool search(struct mt_vp *vp) {
  if (!mt_has_alternative()) return look_around(vp);
  mt_alternative->search_begins(vp);
  bool found = look_around(vp);
  return mt_alternative->search_ends(vp) || found;
}

/* ---- sleeping */

/* After ID-2. */
static bool must_stay_awake(const struct mt_vp *vp) {
  const struct mt_sleep_seen seen = {
      .own_ready = mt_runq_seems_busy(vp),
      .ending = mt_load_relaxed(&mt_rt.stopping),
      .may_wake = mt_may_wake_one(),
      .futile = mt_search_was_futile((struct mt_search_seen){vp->search.backoff, vp->search.skips}),
      .waiting = mt_any_waiting(vp)};
  return mt_decided("sleep_is_refused", &seen, sizeof seen, mt_sleep_is_refused(seen));
}

/* Sleeps in the list of sleepers until a waker or the watchdog's deadline wakes this VP. */
static void sleep_in_list(struct mt_vp *vp) {
  bool slept = false;
  mt_ilock_lock(&mt_rt.sleep.ilock);
  vp->sleep.rests = true;
  while (mt_load_relaxed(&vp->sleep.status) == MT_VP_ASLEEP) {
    uint32_t seen = vp->sleep.futex;
    bool watchdog = mt_rt.sleep.watchdog == vp;
    uint64_t deadline = watchdog ? mt_watchdog_deadline(vp) : MLTP_NEVER;
    bool polls = mt_poll_claim(vp);
    mt_ilock_unlock(&mt_rt.sleep.ilock);
    int result =
        polls ? mt_poll_sleep(vp, deadline) : os_futex_wait(&vp->sleep.futex, seen, deadline);
    slept = true;
    if (result == ETIMEDOUT && watchdog) mt_watchdog_check(vp);
    mt_ilock_lock(&mt_rt.sleep.ilock);
  }
  uint64_t woken_at = vp->sleep.woken_at;
  mt_ilock_unlock(&mt_rt.sleep.ilock);
  if (slept && woken_at != 0) mt_tuning_learn(MT_WAKE_NS, os_now() - woken_at);
}

/* Between the sleeper's entry in the list and its look. last: of all VPs. */
static void order_sleep(bool last) {
  /* ID-22 full fence: before the look for threads outside, one of which may begin; pairs IB-1 FN-3
   */
  mt_fence_full();
  if (last && !mt_outside_may_post() && !mt_has_alternative()) return;
  /* ID-2 heavy fence: the sleeper before the look; pairs ID-1 ID-5 ID-17 ID-18 ID-19 FN-3 LV-6 */
  mt_fence_heavy();
}

static void sleep_until_woken(struct mt_vp *vp) {
  mt_idle_hook(true);
  mt_stacks_owner_sleeps(vp);
  order_sleep(mt_vp_sleep_begin(vp));
  mt_finalizer_check();
  if (must_stay_awake(vp) || (mt_stacks_are_awaited() && mt_stacks_can_be_given(vp))) {
    mt_vp_sleep_cancel(vp);
  } else {
    MT_PROBE1(vp_sleep, vp->index);
    sleep_in_list(vp);
    MT_PROBE1(vp_wake, vp->index);
  }
  os_affinity_restore(&vp->sleep.affinity); /* a waker may have narrowed it */
}

/* ---- the life of a VP */

/* What was stolen is run by now, or moved on. Before a poll_inbox, which is no work. */
static void judge_theft(struct mt_vp *vp) {
  if (vp->search.stolen_count != 0 && !mt_runq_seems_busy(vp)) mt_judge_theft(vp, os_now());
}

static void run_one(struct mt_vp *vp) {
  if (mt_unlikely(vp->timers.unwatched)) mt_timers_watch(vp);
  mt_runq_enter(vp);
  mt_drain_inbox(vp);
  if (mt_det_on) mt_det_choose(vp);
  struct mltp_thread *next = mt_runq_pop(vp);
  if (next != NULL) next = mt_prepared(vp, next);
  if (next != NULL && next != &vp->idle)
    mt_switch(&vp->idle, next); /* leaves the run queue */
  else
    mt_runq_leave(vp);
}

/* The second half of a switch with a late probe: the VP is on no thread's stack. At intervals
 * the loop below looks at timers as well. @return whether the next thread may run. */
static bool probe_between(struct mt_vp *vp) {
  if (mt_load_relaxed(&vp->points.tick) % MT_TICKS_PER_CHECK == 0) return false;
  mt_share_probe();
  return !mt_over_target() && mt_runq_seems_busy(vp);
}

/* Deterministic mode, in which no other VP has work. */
static bool pass_time(struct mt_vp *vp) { return mt_poll_det(vp) || mt_det_skip_time(); }

void mt_idle_loop(struct mt_vp *vp) {
  bool stays = vp->index == 0 && !mt_rt.main_is_bound; /* main ends on it */
  while (stays || !mt_load_acquire(&mt_rt.stopping)) { /* LF-2 acquire: pairs LF-1 */
    judge_theft(vp);
    while (poll_inbox(vp)) run_one(vp);
    while (mt_probes_late() && probe_between(vp)) run_one(vp);
    vp->points.probe = 0;
    uint64_t now = mt_vp_now(vp);
    mt_timers_run_due(mt_det_on ? mt_det_now() : now);
    mt_share_look(vp, now);
    mt_look_for_silence(now);
    if (mt_stacks_are_awaited()) mt_stacks_give(vp);
    if (!mt_runq_seems_busy(vp)) mt_poll_judge(vp, now);
    if (!mt_runq_seems_busy(vp) || mt_poll_is_due(now)) mt_poll_now(vp, now);
    if (mt_runq_seems_busy(vp) && !mt_det_on) mt_stacks_trim(now, true);
    mt_share_probe();
    if (mt_over_target()) {
      if (mt_runq_seems_busy(vp)) mt_share_refused();
      mt_vp_hand_off(vp); /* one VP too many */
      if (!mt_runq_seems_busy(vp)) sleep_until_woken(vp);
    } else if (mt_runq_seems_busy(vp) || (mt_det_on ? pass_time(vp) : search(vp))) {
      search_end_found(vp);
      run_one(vp);
    } else {
      sleep_until_woken(vp);
    }
  }
  mt_count_searching(vp, false);
}
