/* SPDX-License-Identifier: Apache-2.0 */
/* Searching, sleeping, waking. idle.h has the protocol. */
#include "core/idle.h"

#include <errno.h>

#include "base/options.h"
#include "core/life.h"
#include "core/sched.h"
#include "core/timer.h"
#include "core/vp.h"
#include "debug/report.h"
#include "mltp/sched.h"

enum {
  WATCH_NS = 1000000,        /* how often the keeper looks at busy VPs, */
  VAIN_MAX = 4,              /* times 2 for each search in vain before, at most so many */
  SCAN_EVERY = 16,           /* pauses between two looks at others' queues */
  RECHECK_NS = 1000000000,   /* after a look for a deadlock that found none */
  LONE_NS = 5000             /* a lone ready thread is stuck after this time */
};

/* ---- waking; all under idle_guard */

static void get_up(struct mt_vp *vp) {
  mt_store_relaxed(&vp->status, MT_VP_AWAKE); /* relaxed: guarded; a poster that sees ASLEEP
                                                 comes here and finds out */
  mt_store_relaxed(&mt_rt.awake, mt_rt.awake + 1);
  mt_rt.wake_count++;
  if (mt_rt.keeper == vp) mt_rt.keeper = NULL;
}

static void unlink_sleeper(struct mt_vp *vp) {
  struct mt_vp **link = &mt_rt.sleepers;
  while (*link != vp) link = &(*link)->sleeper_next;
  *link = vp->sleeper_next;
  mt_sub_seq_cst(&mt_rt.sleeping, 1); /* ID-3 seq_cst: only orders with itself; pairs ID-3 */
}

/* The keeper went; the next sleeper has to take over its watch. */
static struct mt_vp *next_keeper(void) {
  if (mt_rt.keeper != NULL || mt_rt.sleepers == NULL) return NULL;
  mt_rt.keeper = mt_rt.sleepers;
  mt_rt.keeper->wake++;
  return mt_rt.keeper;
}

static void wake_sleeper(struct mt_vp *vp) {
  unlink_sleeper(vp);
  get_up(vp);
  vp->wake++;
}

/* The last to have gone to sleep is the warmest; the keeper's watch would have to
 * be handed over, so it comes last. */
static struct mt_vp *best_sleeper(void) {
  struct mt_vp *vp = mt_rt.sleepers;
  return vp != NULL && vp == mt_rt.keeper && vp->sleeper_next != NULL ? vp->sleeper_next : vp;
}

static void unlock_and_wake(struct mt_vp *woken, struct mt_vp *keeper) {
  mt_spin_unlock(&mt_rt.idle_guard);
  if (woken != NULL) os_futex_wake(&woken->wake, 1);
  if (keeper != NULL) os_futex_wake(&keeper->wake, 1);
}

static bool may_wake(void) { return mt_rt.awake < mt_load_relaxed(&mt_rt.target); }

void mt_wake_one(void) {
  mt_spin_lock(&mt_rt.idle_guard);
  struct mt_vp *vp = NULL;
  if (may_wake() && mt_load_relaxed(&mt_rt.searching) == 0) vp = best_sleeper();
  if (vp != NULL) {
    wake_sleeper(vp);
    vp->searching = 1;
    mt_add_seq_cst(&mt_rt.searching, 1); /* ID-4 seq_cst: pairs ID-1 */
    struct mt_vp *here = mt_here();
    if (here != NULL) mt_count_owner(&here->stats.wakes);
  }
  unlock_and_wake(vp, next_keeper());
}

void mt_wake_all(void) {
  mt_spin_lock(&mt_rt.idle_guard);
  while (mt_rt.sleepers != NULL) {
    struct mt_vp *vp = mt_rt.sleepers;
    wake_sleeper(vp);
    os_futex_wake(&vp->wake, 1);
  }
  mt_spin_unlock(&mt_rt.idle_guard);
}

/* ---- posting to a VP that may sleep */

static struct mt_vp *any_awake_but(const struct mt_vp *self) {
  uint32_t count = mt_load_acquire(&mt_rt.vp_count); /* VP-2 acquire: pairs VP-1 */
  for (uint32_t i = 0; i < count; i++)
    if (mt_rt.vps[i] != self && mt_load_relaxed(&mt_rt.vps[i]->status) == MT_VP_AWAKE)
      return mt_rt.vps[i];
  return NULL;
}

/* Sees to it that somebody takes what is in the inbox of a VP seen not awake.
 * @return NULL, or the VP to which it has to be posted instead. */
static struct mt_vp *deliver(struct mt_vp *to) {
  mt_spin_lock(&mt_rt.idle_guard);
  struct mt_vp *woken = NULL, *instead = NULL;
  if (mt_load_relaxed(&to->status) == MT_VP_ASLEEP && may_wake())
    woken = to;
  else if (mt_load_relaxed(&to->status) != MT_VP_AWAKE && (instead = any_awake_but(to)) == NULL)
    instead = woken = best_sleeper(); /* all others are blocked in the kernel */
  if (woken != NULL) wake_sleeper(woken);
  unlock_and_wake(woken, next_keeper());
  return instead;
}

void mt_post(struct mt_vp *to, struct mltp_thread *first, struct mltp_thread *last) {
  while (first != NULL) {
    mt_runq_post(to, first, last);
    /* ID-5 seq_cst: the status after the post; pairs ID-2 */
    if (mt_likely(mt_load_seq_cst(&to->status) == MT_VP_AWAKE)) break;
    struct mt_vp *instead = deliver(to);
    if (instead == NULL) return;
    first = mt_runq_take_inbox(to, &last);
    to = instead;
  }
  /* Its VP may be busy in one thread for long. */
  if (mt_load_relaxed(&mt_rt.sleeping) != 0 && mt_load_relaxed(&mt_rt.searching) == 0 &&
      mt_load_relaxed(&mt_rt.quiet) == 0)
    mt_wake_one();
}

/* ---- searching */

static void search_begin(struct mt_vp *vp) {
  vp->saw_lone = 0;
  if (vp->searching) return; /* woken to search: counted already */
  vp->searching = 1;
  mt_add_seq_cst(&mt_rt.searching, 1); /* ID-6 seq_cst: pairs ID-1 */
}

/* Work was found: those who made threads ready and saw us searching woke nobody. */
static void search_end_found(struct mt_vp *vp) {
  if (!vp->searching) return;
  vp->searching = 0;
  /* ID-7 seq_cst: before the look below; pairs ID-1 */
  if (mt_sub_seq_cst(&mt_rt.searching, 1) != 1 || mt_load_relaxed(&mt_rt.sleeping) == 0) return;
  mt_fence_heavy(); /* ID-8 heavy fence: as ID-2; pairs ID-1 */
  if (mt_load_relaxed(&vp->runq.length) > 1 || mt_vps_any(mt_runq_seems_busy, vp)) mt_wake_one();
}

/* A lone ready thread is left to its VP, which is likely about to run it, unless
 * that VP has reached no scheduling point since we last looked. */
static bool lone_is_stuck(struct mt_vp *vp, const struct mt_vp *victim, uint64_t now) {
  uint32_t tick = mt_load_relaxed(&victim->tick);
  if (vp->suspect != victim || vp->suspect_tick != tick) {
    if (vp->suspect == victim) vp->saw_lone = 1;
    vp->suspect = victim;
    vp->suspect_tick = tick;
    vp->suspect_since = now;
    return false;
  }
  return now - vp->suspect_since >= LONE_NS;
}

static bool try_steal(struct mt_vp *vp, uint64_t now) {
  uint32_t count = mt_load_acquire(&mt_rt.vp_count); /* VP-3 acquire: pairs VP-1 */
  uint32_t start = mt_random(vp) % count;
  for (uint32_t i = 0; i < count; i++) {
    struct mt_vp *victim = mt_rt.vps[(start + i) % count];
    if (victim == vp || !mt_runq_seems_busy(victim)) continue;
    if (mt_load_relaxed(&victim->runq.length) < 2 &&
        mt_load_relaxed(&victim->status) == MT_VP_AWAKE && !lone_is_stuck(vp, victim, now))
      continue;
    if (mt_runq_steal(vp, victim)) {
      mt_store_relaxed(&mt_rt.quiet, 0); /* relaxed: hints */
      mt_store_relaxed(&mt_rt.vain_searches, 0);
      return true;
    }
  }
  return false;
}

bool mt_steal_some(struct mt_vp *vp) { return try_steal(vp, os_now()); }

/* Spinning pays while every awake VP can have a CPU and somebody could bring work. */
static uint64_t spin_budget(void) {
  int awake = mt_load_relaxed(&mt_rt.awake);
  bool others = awake > 1 || mt_outside_may_post();
  return others && awake <= mt_rt.cpus ? (uint64_t)mt_options.spin_us * 1000 : 0;
}

/* @return true when this VP has something to run now. */
static bool search(struct mt_vp *vp) {
  search_begin(vp);
  uint64_t end = os_now() + spin_budget();
  for (unsigned round = 0;; round++) {
    if (mt_load_relaxed(&vp->runq.inbox) != NULL) return true; /* relaxed: the drain acquires */
    if (round % SCAN_EVERY == 0) {
      uint64_t now = os_now();
      mt_timers_run_due(now);
      if (mt_runq_seems_busy(vp)) return true;
      if (mt_over_target() || mt_load_relaxed(&mt_rt.stopping)) return false;
      if (try_steal(vp, now)) return true;
      if (now >= end) return false;
    }
    mt_arch_pause();
  }
}

/* ---- sleeping */

/* When the keeper gets up by itself. Under idle_guard. */
static uint64_t watch_deadline(void) {
  uint64_t now = os_now(), deadline = MLTP_NEVER;
  if (mt_load_relaxed(&mt_rt.awake) > 0)
    deadline = now + (uint64_t)WATCH_NS * (1u << mt_rt.vain_searches);
  else if (mt_options.deadlock != MT_DEADLOCK_OFF)
    deadline = now + (mt_rt.checked_at == mt_rt.wake_count ? RECHECK_NS : MT_DEADLOCK_NS);
  mt_store_seq_cst(&mt_rt.keeper_deadline, MLTP_NEVER); /* ID-9 seq_cst: pairs TM-1 */
  uint64_t timer = mt_timers_earliest();
  if (timer < deadline) deadline = timer;
  mt_store_seq_cst(&mt_rt.keeper_deadline, deadline); /* ID-10 seq_cst: pairs TM-1 */
  return deadline;
}

void mt_keeper_rearm(uint64_t deadline) {
  if (deadline >= mt_load_seq_cst(&mt_rt.keeper_deadline)) return; /* TM-1; pairs ID-9 ID-10 */
  mt_spin_lock(&mt_rt.idle_guard);
  struct mt_vp *keeper = mt_rt.keeper;
  if (keeper != NULL) keeper->wake++;
  unlock_and_wake(NULL, keeper);
}

/* Nobody has been awake for a while, and no timer will change that. */
static void look_for_deadlock(uint64_t now) {
  mt_spin_lock(&mt_rt.idle_guard);
  bool asleep = mt_load_relaxed(&mt_rt.awake) == 0 && now - mt_rt.asleep_since >= MT_DEADLOCK_NS;
  if (asleep) mt_rt.checked_at = mt_rt.wake_count;
  mt_spin_unlock(&mt_rt.idle_guard);
  if (asleep) mt_deadlock_suspected();
}

/* The keeper's round. @return true when it has to get up. */
static bool keep_watch(const struct mt_vp *keeper) {
  uint64_t now = os_now(), timer = mt_timers_earliest();
  if (timer <= now) return true;
  if (mt_load_relaxed(&mt_rt.awake) == 0) {
    if (timer == MLTP_NEVER) look_for_deadlock(now);
    return false;
  }
  return mt_load_relaxed(&mt_rt.awake) < mt_load_relaxed(&mt_rt.target) &&
         mt_vps_any(mt_runq_seems_busy, keeper);
}

/* Work that nobody else is sure to see. After ID-2. */
static bool must_get_up(const struct mt_vp *vp) {
  if (mt_runq_seems_busy(vp) || mt_load_relaxed(&mt_rt.stopping)) return true;
  if (mt_over_target_with(1)) return false;
  return vp->saw_lone ? false : mt_vps_any(mt_runq_seems_busy, vp);
}

static void get_up_again(struct mt_vp *vp) {
  mt_spin_lock(&mt_rt.idle_guard);
  if (mt_load_relaxed(&vp->status) == MT_VP_ASLEEP) {
    unlink_sleeper(vp);
    get_up(vp);
  }
  unlock_and_wake(NULL, next_keeper());
}

static void lie_down(struct mt_vp *vp) {
  mt_spin_lock(&mt_rt.idle_guard);
  vp->sleeper_next = mt_rt.sleepers;
  mt_rt.sleepers = vp;
  if (mt_rt.keeper == NULL) mt_rt.keeper = vp;
  if (vp->saw_lone) { /* relaxed: a hint, the watch covers it */
    mt_store_relaxed(&mt_rt.quiet, 1);
    if (mt_rt.vain_searches < VAIN_MAX) mt_rt.vain_searches++;
  }
  mt_store_relaxed(&mt_rt.awake, mt_rt.awake - 1);
  if (mt_rt.awake == 0) mt_rt.asleep_since = os_now();
  mt_store_seq_cst(&vp->status, MT_VP_ASLEEP); /* ID-11 seq_cst: pairs ID-5 */
  mt_add_seq_cst(&mt_rt.sleeping, 1);          /* ID-12 seq_cst: pairs ID-1 */
  if (vp->searching) mt_sub_seq_cst(&mt_rt.searching, 1); /* ID-13 seq_cst: pairs ID-1 */
  vp->searching = 0;
  mt_spin_unlock(&mt_rt.idle_guard);
  mt_count_owner(&vp->stats.sleeps);
}

static void sleep_until_woken(struct mt_vp *vp) {
  lie_down(vp);
  mt_fence_heavy(); /* ID-2 heavy fence: the sleeper before the look; pairs ID-1 ID-5 */
  mt_finalizer_check();
  if (must_get_up(vp)) {
    get_up_again(vp);
    return;
  }
  mt_spin_lock(&mt_rt.idle_guard);
  while (mt_load_relaxed(&vp->status) == MT_VP_ASLEEP) {
    uint32_t seen = vp->wake;
    bool keeper = mt_rt.keeper == vp;
    uint64_t deadline = keeper ? watch_deadline() : MLTP_NEVER;
    mt_spin_unlock(&mt_rt.idle_guard);
    int result = os_futex_wait(&vp->wake, seen, deadline);
    if (result == ETIMEDOUT && keeper && keep_watch(vp)) {
      get_up_again(vp);
      return;
    }
    mt_spin_lock(&mt_rt.idle_guard);
  }
  mt_spin_unlock(&mt_rt.idle_guard);
}

/* ---- the life of a VP */

/* One VP too many: what it had goes to another. */
static void surrender(struct mt_vp *vp) {
  struct mt_vp *other = any_awake_but(vp);
  if (other == NULL) return;
  mt_runq_enter(vp);
  mt_runq_drain(vp);
  struct mltp_thread *last, *first = mt_runq_take_front(vp, UINT32_MAX, &last);
  mt_runq_leave(vp);
  if (first != NULL) mt_post(other, first, last);
}

static void run_one(struct mt_vp *vp) {
  mt_runq_enter(vp);
  mt_runq_drain(vp);
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
    mt_timers_run_due(os_now());
    if (mt_over_target()) {
      surrender(vp);
      if (!mt_runq_seems_busy(vp)) sleep_until_woken(vp);
    } else if (mt_runq_seems_busy(vp) || search(vp)) {
      search_end_found(vp);
      run_one(vp);
    } else {
      sleep_until_woken(vp);
    }
  }
  if (vp->searching) mt_sub_seq_cst(&mt_rt.searching, 1); /* ID-14 seq_cst: pairs ID-1 */
}

void mt_awake_add(int more) {
  mt_spin_lock(&mt_rt.idle_guard);
  mt_store_relaxed(&mt_rt.awake, mt_rt.awake + more);
  mt_spin_unlock(&mt_rt.idle_guard);
}

void mt_set_target(int target) {
  mt_spin_lock(&mt_rt.idle_guard);
  mt_store_relaxed(&mt_rt.target, target);
  bool more = mt_rt.awake < target;
  bool fewer = mt_rt.awake > target;
  mt_spin_unlock(&mt_rt.idle_guard);
  uint32_t count = mt_load_acquire(&mt_rt.vp_count); /* VP-5 acquire: pairs VP-1 */
  for (uint32_t i = 0; fewer && i < count; i++) mt_runq_probe(mt_rt.vps[i]);
  if (more) mt_wake_one();
}

/* ---- blocking in the kernel */

void mltp_blocking_begin(void) {
  struct mltp_thread *self = mt_current();
  struct mt_vp *vp = self != NULL ? self->vp : NULL;
  if (vp == NULL) return;
  mt_spin_lock(&mt_rt.idle_guard);
  mt_store_relaxed(&mt_rt.awake, mt_rt.awake - 1);
  mt_store_seq_cst(&vp->status, MT_VP_BLOCKED); /* ID-15 seq_cst: pairs ID-5 */
  mt_store_relaxed(&mt_rt.blocked, mt_rt.blocked + 1);
  int unblocked = (int)mt_load_relaxed(&mt_rt.vp_count) - mt_rt.blocked;
  bool spare = unblocked >= mt_load_relaxed(&mt_rt.target);
  mt_spin_unlock(&mt_rt.idle_guard);
  if (!spare) mt_vp_spawn(); /* refused: this VP's threads wait until it is back */
  mt_fence_heavy();          /* ID-16 heavy fence: as ID-2; pairs ID-1 ID-5 */
  if (mt_vps_any(mt_runq_seems_busy, NULL)) mt_wake_one();
}

void mltp_blocking_end(void) {
  struct mltp_thread *self = mt_current();
  struct mt_vp *vp = self != NULL ? self->vp : NULL;
  if (vp == NULL) return;
  mt_spin_lock(&mt_rt.idle_guard);
  mt_store_relaxed(&mt_rt.blocked, mt_rt.blocked - 1);
  get_up(vp);
  mt_spin_unlock(&mt_rt.idle_guard);
  if (!mt_over_target()) return;
  mt_probe_here(vp);
  mltp_yield();
}
