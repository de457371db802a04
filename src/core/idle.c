/* SPDX-License-Identifier: Apache-2.0 */
/* Searching and sleeping. wake.h has the protocol. */
/*
 * Relaxed: all of it hints; what matters is looked at again under idle_guard, or
 * after the fences labelled.
 */
#include "core/idle.h"

#include <errno.h>

#include "base/options.h"
#include "core/det.h"
#include "core/life.h"
#include "core/near.h"
#include "core/sched.h"
#include "core/stack.h"
#include "core/timer.h"
#include "core/vp.h"
#include "core/wake.h"
#include "debug/probes.h"
#include "debug/report.h"
#include "mltp/sched.h"

enum {
  WATCH_NS = 1000000,      /* how often the keeper looks at busy VPs, */
  SCAN_EVERY = 16,         /* pauses between two looks at others' queues */
  RECHECK_NS = 1000000000, /* after a look for a deadlock that found none */
  MOVE_NS = 250,           /* to move a thread: a request's share, two lines to transfer */
  POOR_MAX = 4,            /* thefts that did not pay, counted no further */
  LONE_NS = 5000,          /* a lone ready thread is stuck after this time, */
  BLOCKED_NS = 4000000     /* and its VP is blocked after that: a time slice is shorter */
};

/* ---- searching */

/* Work was found: those who made threads ready and saw us searching woke nobody. */
static void search_end_found(struct mt_vp *vp) {
  if (!vp->searching) return;
  mt_count_searching(vp, false);
  /* ID-17 light fence: one searcher less, before the look for sleepers; pairs ID-2 ID-16 */
  mt_fence_light();
  if (mt_load_relaxed(&mt_rt.searching) != 0 || mt_load_relaxed(&mt_rt.sleeping) == 0) return;
  if (!mt_room_for_one() || mt_thefts_are_poor()) return;
  mt_fence_heavy(); /* ID-8 heavy fence: as ID-2; pairs ID-1 */
  if (mt_load_relaxed(&vp->runq.length) > 1 || mt_vps_any(mt_runq_seems_busy, vp) ||
      mt_strategy_waiting(vp) > 1)
    mt_wake_one();
}

/* @return true when the victim has reached no scheduling point for ns. Whoever looks
 * notes what it saw with the victim, for the next to look. */
static bool is_stuck(struct mt_vp *victim, uint64_t now, uint64_t ns) {
  uint32_t tick = mt_load_relaxed(&victim->tick);
  if (mt_load_relaxed(&victim->watched_tick) == tick)
    return now - mt_load_relaxed(&victim->watched_since) >= ns;
  mt_store_relaxed(&victim->watched_since, now); /* relaxed: hints */
  mt_store_relaxed(&victim->watched_tick, tick);
  return false;
}

/* @return true for ready threads that are left to their VP as long as it is not stuck: a lone
 * one, which it is likely about to run; and all when the last thefts did not pay
 * (docs/design/013), but for a try now and then. */
static bool leave_alone(const struct mt_vp *victim, bool try_again) {
  if (mt_load_relaxed(&victim->status) != MT_VP_AWAKE) return false;
  return mt_load_relaxed(&victim->runq.length) < 2 || (!try_again && mt_thefts_are_poor());
}

/* This VP has nothing to run again: how long did its last theft keep it busy? */
static void judge_theft(struct mt_vp *vp, uint64_t now) {
  if (vp->stolen_count == 0) return;
  bool paid = now - vp->stolen_at >= (uint64_t)vp->stolen_count * MOVE_NS;
  vp->stolen_count = 0;
  uint32_t poor = mt_load_relaxed(&mt_rt.poor_thefts);
  if (paid)
    mt_store_relaxed(&mt_rt.poor_thefts, 0);
  else if (poor < POOR_MAX)
    mt_store_relaxed(&mt_rt.poor_thefts, poor + 1);
}

static bool steal_from(struct mt_vp *vp, struct mt_vp *victim, uint64_t now, bool try_again) {
  if (victim == vp || !mt_runq_seems_busy(victim)) return false;
  bool moved = mt_load_relaxed(&victim->watched_tick) != mt_load_relaxed(&victim->tick);
  bool stuck = is_stuck(victim, now, LONE_NS);
  if (!stuck && leave_alone(victim, try_again)) {
    vp->left_alone += moved;
    return false;
  }
  uint32_t share = mt_runq_share(victim);
  /* An owner with many ready threads is between two of them more often than it seems. */
  if (!mt_runq_steal(vp, victim, stuck && share < 2)) return false;
  vp->stolen_at = now;
  vp->stolen_count = share;
  if (mt_near_distance(vp, victim) != MT_SAME_CACHE) mt_count_owner(&vp->stats.stolen_far);
  mt_store_relaxed(&mt_rt.quiet, 0); /* relaxed: hints */
  mt_store_relaxed(&mt_rt.vain_searches, 0);
  return true;
}

/* The nearest first (docs/design/012), among equals in an order of chance. */
static bool try_steal(struct mt_vp *vp, uint64_t now, bool try_again) {
  if (mt_strategy != NULL) return false; /* its queues are everybody's; lists are only lent */
  uint32_t count = mt_vp_count();
  uint32_t start = mt_random(vp) % count;
  bool apart = mt_load_relaxed(&mt_rt.apart);
  for (enum mt_distance far = MT_SAME_CACHE; far <= (apart ? MT_FAR : MT_SAME_CACHE); far++) {
    for (uint32_t i = 0; i < count; i++) {
      struct mt_vp *victim = mt_rt.vps[(start + i) % count];
      if (apart && mt_near_distance(vp, victim) != far) continue;
      if (steal_from(vp, victim, now, try_again)) return true;
    }
  }
  return false;
}

bool mt_steal_some(struct mt_vp *vp) { return try_steal(vp, os_now(), false); }

/* More VPs are awake than there are CPUs. */
static bool crowded(void) { return mt_load_relaxed(&mt_rt.awake) > mt_rt.cpus; }

/* Spinning pays while every awake VP can have a CPU and somebody could bring work. */
static uint64_t spin_budget(void) {
  bool others = mt_load_relaxed(&mt_rt.awake) > 1 || mt_outside_may_post();
  return others && !crowded() ? (uint64_t)mt_options.spin_us * 1000 : 0;
}

/* In a crowd only the keeper takes other VPs' threads, once per watch: they seem to wait
 * because their VPs wait for a CPU, and a VP that took them would take that CPU, too.
 * @return true when this VP has something to run now. */
static bool look_around(struct mt_vp *vp) {
  bool sent = vp->on_watch;
  vp->on_watch = 0;
  vp->left_alone = 0;
  mt_count_searching(vp, true);
  mt_near_note(vp);
  uint64_t begin = os_now(), end = begin + spin_budget();
  judge_theft(vp, begin);
  for (unsigned round = 0;; round++) {
    if (mt_load_relaxed(&vp->runq.inbox) != NULL) return true; /* relaxed: the drain acquires */
    if (mt_strategy_waiting(vp) != 0) return true;
    if (round % SCAN_EVERY == 0) {
      uint64_t now = mt_vp_now(vp);
      mt_timers_run_due(now);
      if (mt_runq_seems_busy(vp)) return true;
      if (mt_over_target() || mt_load_relaxed(&mt_rt.stopping)) return false;
      if ((sent || !crowded()) && try_steal(vp, now, sent)) return true;
      if (now >= end) return false;
    }
    mt_arch_pause();
  }
}

static bool search(struct mt_vp *vp) {
  mt_strategy_search_begins(vp);
  bool found = look_around(vp);
  return mt_strategy_search_ends(vp) || found;
}

/* ---- sleeping */

/* On one VP whose clock is its own, nobody can be about to wake anybody. */
static uint64_t deadlock_patience(void) { return mt_det_on ? 0 : MT_DEADLOCK_NS; }

/* When the keeper gets up by itself. Under idle_guard. */
static uint64_t watch_deadline(void) {
  uint64_t now = os_now(), deadline = MLTP_NEVER;
  if (mt_load_relaxed(&mt_rt.awake) > 0)
    deadline = now + (uint64_t)WATCH_NS * (1u << mt_load_relaxed(&mt_rt.vain_searches));
  else if (mt_options.deadlock != MT_DEADLOCK_OFF)
    deadline = now + (mt_rt.checked_at == mt_rt.wake_count ? RECHECK_NS : deadlock_patience());
  if (mt_stacks_trim_at() < deadline) deadline = mt_stacks_trim_at();
  mt_store_seq_cst(&mt_rt.keeper_deadline, MLTP_NEVER); /* ID-9 seq_cst: pairs TM-1 */
  uint64_t timer = mt_timers_earliest();
  if (timer < deadline) deadline = timer;
  mt_store_seq_cst(&mt_rt.keeper_deadline, deadline); /* ID-10 seq_cst: pairs TM-1 */
  return deadline;
}

/* Nobody has been awake for a while, and no timer will change that. */
static void look_for_deadlock(uint64_t now) {
  mt_spin_lock(&mt_rt.idle_guard);
  bool asleep =
      mt_load_relaxed(&mt_rt.awake) == 0 && now - mt_rt.asleep_since >= deadlock_patience();
  if (asleep) mt_rt.checked_at = mt_rt.wake_count;
  mt_spin_unlock(&mt_rt.idle_guard);
  if (asleep) mt_deadlock_suspected();
}

/* Every CPU has a VP that is awake. @return true when threads wait for one of them that
 * must be blocked in the kernel without having said so, or computes for long. */
static bool any_blocked(uint64_t now) {
  bool any = false, shared = mt_strategy_waiting(NULL) != 0;
  uint32_t count = mt_vp_count();
  for (uint32_t i = 0; i < count; i++) {
    struct mt_vp *vp = mt_rt.vps[i];
    if (mt_runq_seems_busy(vp) || (shared && mt_load_relaxed(&vp->status) == MT_VP_AWAKE))
      any |= is_stuck(vp, now, BLOCKED_NS);
  }
  return any;
}

/* @return true when the keeper has to get up. */
static bool is_needed(const struct mt_vp *keeper, uint64_t now) {
  uint64_t timer = mt_timers_earliest();
  if (timer <= now) return true;
  if (mt_load_relaxed(&mt_rt.awake) == 0) {
    if (mt_any_waiting(NULL)) return true; /* who made it ready waits for a CPU to look (ID-2) */
    if (timer == MLTP_NEVER) look_for_deadlock(now);
    return false;
  }
  if (mt_load_relaxed(&mt_rt.awake) >= mt_load_relaxed(&mt_rt.target)) return false;
  return mt_room_for_one() ? mt_any_waiting(keeper) : any_blocked(now);
}

/* The keeper's round. */
static void keep_watch(struct mt_vp *keeper) {
  uint64_t now = os_now();
  if (is_needed(keeper, now)) {
    keeper->on_watch = 1;
    mt_get_up(keeper);
  } else {
    mt_stacks_trim(now);
  }
}

/* Work that nobody else is sure to see. After ID-2. */
static bool must_get_up(const struct mt_vp *vp) {
  if (mt_runq_seems_busy(vp) || mt_load_relaxed(&mt_rt.stopping)) return true;
  if (!mt_room_for_one()) return false;
  return !mt_leaves_alone(vp) && mt_any_waiting(vp);
}

/* In the list of sleepers: until somebody wakes this VP, or its watch does. */
static void sleep_in_list(struct mt_vp *vp) {
  mt_spin_lock(&mt_rt.idle_guard);
  while (mt_load_relaxed(&vp->status) == MT_VP_ASLEEP) {
    uint32_t seen = vp->wake;
    bool keeper = mt_rt.keeper == vp;
    uint64_t deadline = keeper ? watch_deadline() : MLTP_NEVER;
    mt_spin_unlock(&mt_rt.idle_guard);
    int result = os_futex_wait(&vp->wake, seen, deadline);
    if (result == ETIMEDOUT && keeper) keep_watch(vp);
    mt_spin_lock(&mt_rt.idle_guard);
  }
  mt_spin_unlock(&mt_rt.idle_guard);
}

static void sleep_until_woken(struct mt_vp *vp) {
  os_affinity_read(&vp->affinity);
  mt_stacks_owner_sleeps(vp);
  mt_lie_down(vp);
  /* ID-2 heavy fence: the sleeper before the look; pairs ID-1 ID-5 ID-17 ID-18 ID-19 FN-3 LV-6 */
  mt_fence_heavy();
  mt_finalizer_check();
  if (must_get_up(vp)) {
    mt_get_up(vp);
  } else {
    MT_PROBE1(vp_sleep, vp->index);
    sleep_in_list(vp);
    MT_PROBE1(vp_wake, vp->index);
  }
  os_affinity_restore(&vp->affinity); /* a waker may have narrowed it */
}

/* ---- the life of a VP */

static void run_one(struct mt_vp *vp) {
  mt_runq_enter(vp);
  mt_take_in(vp);
  if (mt_det_on) mt_det_choose(vp);
  struct mltp_thread *next = mt_runq_pop(vp);
  if (next != NULL)
    mt_switch(&vp->idle, mt_prepared(vp, next)); /* leaves the run queue */
  else
    mt_runq_leave(vp);
}

void mt_idle_loop(struct mt_vp *vp) {
  /* VP 0 stays: main ends on it */
  while (vp->index == 0 || !mt_load_acquire(&mt_rt.stopping)) { /* LF-2 acquire: pairs LF-1 */
    vp->probe = 0;
    uint64_t now = mt_vp_now(vp);
    mt_timers_run_due(mt_det_on ? mt_det_now() : now);
    if (mt_over_target()) {
      mt_surrender(vp); /* one VP too many */
      if (!mt_runq_seems_busy(vp)) sleep_until_woken(vp);
    } else if (mt_runq_seems_busy(vp) || (mt_det_on ? mt_det_skip_time() : search(vp))) {
      search_end_found(vp);
      run_one(vp);
    } else {
      sleep_until_woken(vp);
    }
  }
  mt_count_searching(vp, false);
}
