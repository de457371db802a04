/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose threads a VP takes; runq.h has the protocol of the taking.
 *
 * Relaxed: these values are only hints; the list itself is read inside or under LOCKED.
 */
#include "core/sched/steal.h"

#include "core/sched/runq_steal.h"
#include "core/sched/wake.h"
#include "core/vp/alternative.h"
#include "core/vp/locality.h"
#include "core/vp/poller.h"
#include "core/vp/tuned.h"
#include "core/vp/vp.h"
#include "instrument/decisions.h"
#include "instrument/probes.h"
#include "policy/steal.h"

enum { LINE_GAP = 15 }; /* looks at victims between two timings of a line */

/* [atomic] What moving a thread costs: MT_MOVE_NS, or more where a thread's messages follow it. */
static enum mt_tunable move_cost = MT_MOVE_NS;
/* [atomic] How long a lone thread is left to its VP: MT_LONE_NS, or longer for the same reason. */
static enum mt_tunable lone_time = MT_LONE_NS;

void mt_move_ranks(void) {
  mt_store_relaxed(&move_cost, MT_RANK_MOVE_NS);
  mt_store_relaxed(&lone_time, MT_RANK_LONE_NS);
}

uint64_t mt_unmoved_ns(struct mt_vp *victim, uint64_t now) {
  uint32_t tick = mt_load_relaxed(&victim->points.tick);
  if (mt_load_relaxed(&victim->sleep.watched_tick) == tick)
    return now - mt_load_relaxed(&victim->sleep.watched_since);
  mt_store_relaxed(&victim->sleep.watched_since, now); /* relaxed: hints */
  mt_store_relaxed(&victim->sleep.watched_tick, tick);
  return 0;
}

void mt_judge_theft(struct mt_vp *vp, uint64_t now) {
  if (vp->search.stolen_count == 0) return;
  const struct mt_theft_seen seen = {.level = vp->search.backoff,
                                     .count = vp->search.stolen_count,
                                     .busy_ns = now - vp->search.stolen_at,
                                     .move_ns = mt_tuned(mt_load_relaxed(&move_cost))};
  vp->search.stolen_count = 0;
  vp->search.backoff = mt_backoff_after_theft(seen);
  mt_decided("backoff_after_theft", &seen, sizeof seen, vp->search.backoff);
}

/* Where a victim is: differs for each scheduling point, and for each VP. */
static uint32_t position(const struct mt_vp *victim) {
  return mt_load_relaxed(&victim->points.tick) + victim->index * 2654435761u;
}

/* Looks at a victim's queue for the first time in this round, and times that load now and then. It
 * takes one transfer of a line if the owner has used its queue since the last look. */
static bool seems_busy(struct mt_vp *vp, const struct mt_vp *victim) {
  bool due = vp->search.line_gap == 0;
  uint64_t begin = mt_unlikely(due) ? os_now() : 0;
  bool busy = mt_runq_seems_busy(victim);
  uint64_t taken = mt_unlikely(due) ? os_now() - begin : 0;
  uint32_t now_at = position(victim), was_at = vp->search.victim_at;
  vp->search.victim_at = now_at;
  vp->search.line_gap = due ? LINE_GAP : vp->search.line_gap - 1;
  if (due && now_at != was_at && taken > mt_tuned(MT_CLOCK_NS))
    mt_tuning_learn(MT_LINE_NS, taken - mt_tuned(MT_CLOCK_NS));
  return busy;
}

static bool steal_from(struct mt_vp *vp, struct mt_vp *victim, uint64_t now, bool try_again) {
  if (victim == vp || !seems_busy(vp, victim) || mt_poll_keeps(victim)) return false;
  bool moved =
      mt_load_relaxed(&victim->sleep.watched_tick) != mt_load_relaxed(&victim->points.tick);
  const struct mt_victim_seen seen = {
      .awake = mt_load_relaxed(&victim->sleep.status) == MT_VP_AWAKE,
      .ready = mt_load_relaxed(&victim->runq.length),
      .unmoved_ns = mt_unmoved_ns(victim, now),
      .lone_ns = mt_tuned(mt_load_relaxed(&lone_time)),
      .level = vp->search.backoff,
      .try_again = try_again};
  if (mt_decided("victim_is_skipped", &seen, sizeof seen, mt_victim_is_skipped(seen))) {
    vp->search.skips += moved;
    return false;
  }
  bool stuck = mt_victim_is_stuck(seen);
  uint32_t share = mt_runq_share(victim);
  /* An owner with many ready threads is between two of them more often than it seems. */
  if (!mt_runq_steal(vp, victim, stuck && share < 2)) return false;
  vp->search.stolen_at = os_now(); /* the time that the theft took is not time in its threads */
  vp->search.stolen_count = share;
  mt_count_owner(&vp->stats.stolen);
  MT_PROBE2(steal, vp->index, victim->index);
  if (mt_locality_distance(vp, victim) != MT_SAME_CACHE) mt_count_owner(&vp->stats.stolen_far);
  mt_store_relaxed(&mt_rt.idle.wake_threshold, 0); /* relaxed: a hint */
  return true;
}

bool mt_try_steal(struct mt_vp *vp, uint64_t now, bool try_again) {
  if (mt_has_alternative()) return false; /* every VP takes from its queues; lists are only lent */
  uint32_t count = mt_vp_count();
  uint32_t start = mt_random(vp) % count;
  bool apart = mt_load_relaxed(&mt_rt.idle.localities);
  for (enum mt_distance far = MT_SAME_CACHE; far <= (apart ? MT_FAR : MT_SAME_CACHE); far++) {
    for (uint32_t i = 0; i < count; i++) {
      struct mt_vp *victim = mt_rt.vps[(start + i) % count];
      if (apart && mt_locality_distance(vp, victim) != far) continue;
      if (steal_from(vp, victim, now, try_again)) return true;
    }
  }
  return false;
}

bool mt_steal_some(struct mt_vp *vp) { return mt_try_steal(vp, os_now(), false); }
