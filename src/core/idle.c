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
#include "core/steal.h"
#include "core/timer.h"
#include "core/vp.h"
#include "core/wake.h"
#include "debug/probes.h"
#include "debug/report.h"
#include "mltp/sched.h"

enum {
  WATCH_NS = 1000000,      /* how often the keeper looks at busy VPs, */
  SCAN_EVERY = 16,         /* pauses between two looks at others' queues */
  LINGER = 32,             /* pauses for the inbox before a search, */
  LINGERS_MAX = 64,        /* so often in a row */
  RECHECK_NS = 1000000000, /* after a look for a deadlock that found none */
  BLOCKED_NS = 4000000     /* a VP is blocked after that: a time slice is shorter */
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
  for (unsigned round = 0;; round++) {
    if (mt_load_relaxed(&vp->runq.inbox) != NULL) { /* relaxed: the drain acquires */
      if (round < LINGER) vp->lingers = LINGERS_MAX;
      return true;
    }
    if (mt_strategy_waiting(vp) != 0) return true;
    if (round % SCAN_EVERY == 0) {
      uint64_t now = mt_vp_now(vp);
      mt_timers_run_due(now);
      if (mt_runq_seems_busy(vp)) return true;
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
static bool linger(struct mt_vp *vp) {
  if (vp->lingers == 0 || vp->searching || mt_load_relaxed(&vp->runq.length) != 0) return false;
  vp->lingers--;
  for (unsigned round = 0; round < LINGER; round++) {
    if (mt_load_relaxed(&vp->runq.inbox) != NULL) return true; /* relaxed: the drain acquires */
    mt_arch_pause();
  }
  vp->lingers = 0;
  return false;
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

/* @return true when nobody has been awake for a while and every sleeper has looked at the queues
 * once more: who lost its CPU before that look may be about to run something. To be asked before
 * the looks at timers and queues, so that these come after what the last VP awake did. */
static bool all_at_rest(void) {
  mt_spin_lock(&mt_rt.idle_guard);
  bool rest = mt_rt.awake == 0 && os_now() - mt_rt.asleep_since >= deadlock_patience();
  for (const struct mt_vp *vp = mt_rt.sleepers; vp != NULL; vp = vp->sleeper_next)
    rest &= vp->rests;
  if (rest) mt_rt.checked_at = mt_rt.wake_count;
  mt_spin_unlock(&mt_rt.idle_guard);
  return rest;
}

/* Every CPU has a VP that is awake. @return true when threads wait for one of them that
 * must be blocked in the kernel without having said so, or computes for long. */
static bool any_blocked(uint64_t now) {
  bool any = false, shared = mt_strategy_waiting(NULL) != 0;
  uint32_t count = mt_vp_count();
  for (uint32_t i = 0; i < count; i++) {
    struct mt_vp *vp = mt_rt.vps[i];
    if (mt_runq_seems_busy(vp) || (shared && mt_load_relaxed(&vp->status) == MT_VP_AWAKE))
      any |= mt_is_stuck(vp, now, BLOCKED_NS);
  }
  return any;
}

/* @return true when the keeper has to get up. */
static bool is_needed(const struct mt_vp *keeper, uint64_t now) {
  bool rest = mt_load_relaxed(&mt_rt.awake) == 0 && all_at_rest();
  uint64_t timer = mt_timers_earliest();
  if (timer <= now) return true;
  if (mt_load_relaxed(&mt_rt.awake) == 0) {
    if (mt_any_waiting(NULL)) return true; /* who made it ready waits for a CPU to look (ID-2) */
    if (rest && timer == MLTP_NEVER) mt_deadlock_suspected();
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
  vp->rests = true;
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

/* What was stolen is run by now, or moved on. Before a linger, which is no work. */
static void judge_theft(struct mt_vp *vp) {
  if (vp->stolen_count != 0 && !mt_runq_seems_busy(vp)) mt_judge_theft(vp, os_now());
}

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
    judge_theft(vp);
    while (linger(vp)) run_one(vp);
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
