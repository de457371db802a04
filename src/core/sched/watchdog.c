/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Relaxed: all of it hints; what matters is looked at again under sleep.ilock.
 */
#include "core/sched/watchdog.h"

#include "base/options.h"
#include "core/det/det.h"
#include "core/memory/stack.h"
#include "core/sched/poll.h"
#include "core/sched/share.h"
#include "core/sched/steal.h"
#include "core/sched/wake.h"
#include "core/timer/timer.h"
#include "core/vp/alternative.h"
#include "core/vp/vp.h"
#include "instrument/debug_hooks.h"
#include "policy/backoff.h"
#include "policy/idle.h"
#include "policy/steal.h"

/* With one VP and a clock of its own, no waker can be on its way. */
static uint64_t deadlock_delay(void) { return mt_det_on ? 0 : MT_DEADLOCK_NS; }

uint64_t mt_watchdog_deadline(const struct mt_vp *watchdog) {
  uint64_t now = os_now(), deadline = MLTP_NEVER;
  if (mt_load_relaxed(&mt_rt.idle.awake) > 0)
    deadline =
        now + mt_backoff_watch_ns(mt_poll_rests(now) ? MT_BACKOFF_MOST : watchdog->search.backoff);
  else if (mt_options.deadlock != MT_DEADLOCK_OFF)
    deadline =
        now + (mt_rt.sleep.checked_at == mt_rt.sleep.wake_count ? MT_RECHECK_NS : deadlock_delay());
  if (mt_stacks_trim_at() < deadline) deadline = mt_stacks_trim_at();
  mt_store_seq_cst(&mt_rt.sleep.watchdog_deadline, MLTP_NEVER); /* ID-9 seq_cst: pairs TM-1 */
  uint64_t timer = mt_timers_earliest();
  if (timer < deadline) deadline = timer;
  mt_store_seq_cst(&mt_rt.sleep.watchdog_deadline, deadline); /* ID-10 seq_cst: pairs TM-1 */
  return deadline;
}

/* @return true when no VP has been awake for a while and every sleeper has looked at the queues
 * once more. A VP that lost its CPU before that look may be about to run a thread. Call this before
 * looking at timers and queues, so that those looks come after what the last VP awake did. */
static bool all_at_rest(void) {
  mt_ilock_lock(&mt_rt.sleep.ilock);
  bool rest = mt_rt.idle.awake == 0 && os_now() - mt_rt.sleep.asleep_since >= deadlock_delay();
  for (const struct mt_vp *vp = mt_rt.sleep.sleepers; vp != NULL; vp = vp->sleep.next)
    rest &= vp->sleep.rests;
  if (rest) mt_rt.sleep.checked_at = mt_rt.sleep.wake_count;
  mt_ilock_unlock(&mt_rt.sleep.ilock);
  return rest;
}

/* Every CPU has a VP that is awake. @return true when threads wait for one of them that
 * must be blocked in the kernel without having said so, or computes for long. */
static bool any_blocked(uint64_t now) {
  bool any = false, shared = mt_alternative_waiting(NULL) != 0;
  uint32_t count = mt_vp_count();
  for (uint32_t i = 0; i < count; i++) {
    struct mt_vp *vp = mt_rt.vps[i];
    if (mt_runq_seems_busy(vp) || (shared && mt_load_relaxed(&vp->sleep.status) == MT_VP_AWAKE))
      any |= mt_unmoved_ns(vp, now) >= MT_BLOCKED_NS;
  }
  return any;
}

/* @return true when the watchdog has to wake up. */
static bool is_needed(const struct mt_vp *watchdog, uint64_t now) {
  bool rest = mt_load_relaxed(&mt_rt.idle.awake) == 0 && all_at_rest();
  uint64_t timer = mt_timers_earliest();
  if (timer <= now) return true;
  if (mt_load_relaxed(&mt_rt.idle.awake) == 0) {
    if (mt_any_waiting(NULL)) return true; /* its waker waits for a CPU to look (ID-2) */
    if (rest && timer == MLTP_NEVER) mt_debug.deadlock_suspected();
    return false;
  }
  struct mt_vps_seen seen = mt_vps_seen();
  if (seen.awake >= seen.target) {
    if (mt_any_waiting(watchdog)) mt_share_refused();
    return false;
  }
  return mt_may_wake_one() ? mt_any_waiting(watchdog) : any_blocked(now);
}

void mt_watchdog_check(struct mt_vp *watchdog) {
  uint64_t now = os_now();
  mt_share_look(watchdog, now);
  mt_share_probe();
  if (mt_poll_is_due(now)) mt_poll_now(NULL, now);
  if (is_needed(watchdog, now)) {
    watchdog->search.is_watchdog_round = 1;
    mt_vp_wake_watchdog(watchdog);
    mt_count_searching(watchdog, true); /* what it finds, it runs: no need to wake another */
  } else {
    mt_stacks_trim(now, false);
  }
}

void mt_watchdog_rearm(uint64_t deadline) {
  /* TM-1 seq_cst: after TM-2; pairs ID-9 ID-10 ID-21 */
  uint64_t planned = mt_load_seq_cst(&mt_rt.sleep.watchdog_deadline);
  if (deadline >= planned) return;
  mt_ilock_lock(&mt_rt.sleep.ilock);
  struct mt_vp *watchdog = mt_watchdog_roused();
  mt_ilock_unlock(&mt_rt.sleep.ilock);
  if (watchdog != NULL) mt_vp_rouse(watchdog);
}

uint64_t mt_rest_mark(void) {
  uint32_t count = mt_vp_count();
  uint64_t mark = 1;
  if (count == 0) return mark;
  if (mt_load_relaxed(&mt_rt.idle.awake) > 0 || mt_poller() != NULL || mt_any_waiting(NULL) ||
      mt_load_relaxed(&mt_rt.handover.carries) || mt_timers_earliest() != MLTP_NEVER)
    return 0;
  for (uint32_t i = 0; i < count; i++) mark += mt_load_relaxed(&mt_rt.vps[i]->stats.sleeps);
  return mark;
}

bool mt_task_rests(int tid) {
  uint32_t count = mt_vp_count();
  if (tid == mt_load_relaxed(&mt_rt.handover.task)) return true;
  for (uint32_t i = 0; i < count; i++) {
    const struct mt_vp *vp = mt_rt.vps[i];
    if (mt_load_relaxed(&vp->handover.task.tid) == tid)
      return mt_load_relaxed(&vp->sleep.status) == MT_VP_ASLEEP;
  }
  return false;
}
