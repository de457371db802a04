/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Relaxed: the VP's own words, and hints.
 */
#include "core/wait/alone.h"

#include "core/det/det.h"
#include "core/sched/runq.h"
#include "core/sched/share.h"
#include "core/vp/tuned.h"
#include "core/vp/vp.h"
#include "core/wait/await.h"
#include "core/wait/spin_budget.h"
#include "instrument/decisions.h"
#include "os/os.h"
#include "policy/wait.h"

static struct mt_alone_seen look(const struct mt_vp *vp, uint64_t now) {
  return (struct mt_alone_seen){.crowded = mt_vps_crowded(mt_vps_seen()),
                                .level = vp->search.taken_level,
                                .since_ns = now - vp->search.taken_at,
                                .brief_ns = mt_tuned(MT_IDLE_SPIN_NS),
                                .long_ns = mt_tuned(MT_ALONE_SPIN_NS)};
}

/* @return whether the VP has something to do that its idle context or another thread does. */
static bool has_duty(const struct mt_vp *vp, uint64_t now) {
  return mt_runq_seems_busy(vp) || mt_load_relaxed(&vp->timers.earliest) <= now ||
         mt_over_target() || mt_client_changed();
}

/* Another program has had this CPU. The time since the last loss ends where this one begins: a loss
 * may last longer than the rest before it, and would otherwise never be one in a row. */
static void note_taken(struct mt_vp *vp, uint64_t begin, uint64_t end) {
  vp->search.taken_level = mt_alone_level(look(vp, begin));
  vp->search.taken_at = end;
}

static bool spin(struct mt_vp *vp, bool (*ended)(const void *), const void *what, bool *nearer) {
  uint64_t last = os_now(), begin = last;
  const struct mt_alone_seen seen = look(vp, last);
  const uint64_t time = mt_decided("alone_spin_ns", &seen, sizeof seen, mt_alone_spin_ns(seen));
  const uint64_t per_clock = mt_tuned(MT_LOOKS_PER_CLOCK), pauses = mt_tuned(MT_LOOK_PAUSES);
  while (true) {
    for (uint64_t looks = 0; looks < per_clock; looks++) {
      if (ended(what)) return true;
      if (mt_load_relaxed(&vp->runq.inbox) != NULL) return false;
      if (nearer == NULL)
        mt_pauses((unsigned)pauses);
      else if (*nearer)
        break; /* ended() may have taken long itself */
    }
    uint64_t now = os_now();
    if (nearer != NULL && *nearer) {
      *nearer = false;
      begin = now;
    } else if (now - last >= MT_TAKEN_NS) {
      note_taken(vp, last, now);
      return ended(what);
    }
    if (now - begin >= time || has_duty(vp, now)) return false;
    last = now;
    if (now - begin >= mt_tuned(MT_IDLE_SPIN_NS)) os_yield();
  }
}

bool mt_spin_alone(struct mltp_thread *self, bool (*ended)(const void *), const void *what,
                   bool *nearer) {
  if (mt_det_on || self->vp == NULL) return false;
  bool paid = spin(self->vp, ended, what, nearer);
  mt_await_count(self, paid ? MT_AWAIT_PAID : MT_AWAIT_FAILED);
  return paid;
}

/* @return whether the answer is there after few looks. */
static bool look_late(bool (*ended)(const void *), const void *what, struct mt_reply *reply) {
  struct mt_reply known = {mt_load_relaxed(&reply->delay), mt_load_relaxed(&reply->waits)};
  const uint32_t first = mt_reply_first(known);
  uint32_t looks = 1;
  mt_pauses(first);
  bool here = ended(what);
  for (; !here && looks <= MT_REPLY_LOOKS; looks++) {
    mt_pauses((unsigned)mt_tuned(MT_LOOK_PAUSES));
    here = ended(what);
  }
  known = mt_reply_learned(known, first, looks, (uint32_t)mt_tuned(MT_REPLY_PAUSES));
  mt_store_relaxed(&reply->delay, known.delay);
  mt_store_relaxed(&reply->waits, known.waits);
  return here;
}

bool mt_spin_for_reply(struct mltp_thread *self, bool (*ended)(const void *), const void *what,
                       struct mt_reply *reply) {
  if (mt_det_on || self->vp == NULL || mt_runq_seems_busy(self->vp)) return ended(what);
  return look_late(ended, what, reply) || mt_spin_alone(self, ended, what, NULL);
}
