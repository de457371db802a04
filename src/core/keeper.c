/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Relaxed: all of it hints; what matters is looked at again under idle_guard.
 */
#include "core/keeper.h"

#include "base/options.h"
#include "core/det.h"
#include "core/share.h"
#include "core/stack.h"
#include "core/steal.h"
#include "core/timer.h"
#include "core/vp.h"
#include "core/wake.h"
#include "debug/report.h"

enum {
  WATCH_NS = 1000000,      /* how often the keeper looks at busy VPs */
  RECHECK_NS = 1000000000, /* after a look for a deadlock that found none */
  BLOCKED_NS = 4000000     /* a VP is blocked after that: a time slice is shorter */
};

/* On one VP whose clock is its own, nobody can be about to wake anybody. */
static uint64_t deadlock_patience(void) { return mt_det_on ? 0 : MT_DEADLOCK_NS; }

uint64_t mt_keeper_deadline(void) {
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
  if (mt_load_relaxed(&mt_rt.awake) >= mt_load_relaxed(&mt_rt.target)) {
    if (mt_any_waiting(keeper)) mt_share_refused();
    return false;
  }
  return mt_room_for_one() ? mt_any_waiting(keeper) : any_blocked(now);
}

void mt_keeper_watch(struct mt_vp *keeper) {
  uint64_t now = os_now();
  mt_share_look(keeper, now);
  mt_share_probe();
  if (is_needed(keeper, now)) {
    keeper->on_watch = 1;
    mt_get_up(keeper);
  } else {
    mt_stacks_trim(now);
  }
}

void mt_keeper_rearm(uint64_t deadline) {
  /* TM-1 seq_cst: after TM-2; pairs ID-9 ID-10 */
  uint64_t planned = mt_load_seq_cst(&mt_rt.keeper_deadline);
  if (deadline >= planned) return;
  mt_spin_lock(&mt_rt.idle_guard);
  struct mt_vp *keeper = mt_rt.keeper;
  if (keeper != NULL) keeper->wake++;
  mt_spin_unlock(&mt_rt.idle_guard);
  if (keeper != NULL) os_futex_wake(&keeper->wake, 1);
}
