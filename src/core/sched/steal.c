/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose threads a VP takes; runq.h has the protocol of the taking.
 *
 * Relaxed: all of it hints; the list itself is looked at inside or under LOCKED.
 */
#include "core/sched/steal.h"

#include "core/sched/claim.h"
#include "core/sched/wake.h"
#include "core/vp/alternative.h"
#include "core/vp/locality.h"
#include "core/vp/vp.h"
#include "instrument/probes.h"

enum {
  UNPAID_THEFTS_MAX = 4, /* thefts that did not pay, counted no further */
  LONE_NS = 5000         /* a lone ready thread is stuck after this time */
};

/* [atomic] to move a thread: a request's share, two lines to transfer. */
static uint64_t move_ns = 250;

void mt_move_costs(uint64_t ns) { mt_store_relaxed(&move_ns, ns); }

bool mt_is_stuck(struct mt_vp *victim, uint64_t now, uint64_t ns) {
  uint32_t tick = mt_load_relaxed(&victim->points.tick);
  if (mt_load_relaxed(&victim->sleep.watched_tick) == tick)
    return now - mt_load_relaxed(&victim->sleep.watched_since) >= ns;
  mt_store_relaxed(&victim->sleep.watched_since, now); /* relaxed: hints */
  mt_store_relaxed(&victim->sleep.watched_tick, tick);
  return false;
}

/* @return true for ready threads that are left to their VP as long as it is not stuck: a lone
 * one, which it is likely about to run; and all when the last thefts did not pay
 * (docs/design/013), but for a try now and then. */
static bool should_skip(const struct mt_vp *victim, bool try_again) {
  if (mt_load_relaxed(&victim->sleep.status) != MT_VP_AWAKE) return false;
  return mt_load_relaxed(&victim->runq.length) < 2 || (!try_again && mt_thefts_do_not_pay());
}

void mt_judge_theft(struct mt_vp *vp, uint64_t now) {
  if (vp->search.stolen_count == 0) return;
  bool paid = now - vp->search.stolen_at >= vp->search.stolen_count * mt_load_relaxed(&move_ns);
  vp->search.stolen_count = 0;
  uint32_t poor = mt_load_relaxed(&mt_rt.idle.unpaid_thefts);
  if (paid)
    mt_store_relaxed(&mt_rt.idle.unpaid_thefts, 0);
  else if (poor < UNPAID_THEFTS_MAX)
    mt_store_relaxed(&mt_rt.idle.unpaid_thefts, poor + 1);
}

static bool steal_from(struct mt_vp *vp, struct mt_vp *victim, uint64_t now, bool try_again) {
  if (victim == vp || !mt_runq_seems_busy(victim)) return false;
  bool moved =
      mt_load_relaxed(&victim->sleep.watched_tick) != mt_load_relaxed(&victim->points.tick);
  bool stuck = mt_is_stuck(victim, now, LONE_NS);
  if (!stuck && should_skip(victim, try_again)) {
    vp->search.skipped_victims += moved;
    return false;
  }
  uint32_t share = mt_runq_share(victim);
  /* An owner with many ready threads is between two of them more often than it seems. */
  if (!mt_runq_steal(vp, victim, stuck && share < 2)) return false;
  vp->search.stolen_at = os_now(); /* to wait for them was no use of them */
  vp->search.stolen_count = share;
  mt_count_owner(&vp->stats.stolen);
  MT_PROBE2(steal, vp->index, victim->index);
  if (mt_locality_distance(vp, victim) != MT_SAME_CACHE) mt_count_owner(&vp->stats.stolen_far);
  mt_store_relaxed(&mt_rt.idle.wake_threshold, 0); /* relaxed: hints */
  mt_store_relaxed(&mt_rt.sleep.failed_searches, 0);
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
