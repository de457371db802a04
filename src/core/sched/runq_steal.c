/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claims on a run queue: how the owner answers a thief, and how a thief insists. runq.h has the
 * protocol and its argument.
 *
 * Relaxed: see runq.h.
 */
#include "core/sched/runq_steal.h"

#include "core/sched/wake.h"
#include "core/vp/alternative.h"
#include "core/vp/tuned.h"
#include "policy/steal.h"

uint32_t mt_runq_share(const struct mt_vp *vp) {
  return mt_steal_share(mt_load_relaxed(&vp->runq.length));
}

/* The owner, inside, gives a thief that asked its share. At the end there is only main,
 * on its way to VP 0, and the thief may have gone. relaxed: main's arrival orders it. */
static void serve(struct mt_vp *vp, struct mt_vp *thief) {
  if (mt_load_relaxed(&mt_rt.stopping)) return;
  struct mltp_thread *last, *first = mt_runq_take_front(vp, mt_runq_share(vp), &last);
  if (first == NULL) return;
  mt_post(thief, first, last); /* and see that it gets them: it may have gone to sleep */
  mt_count_owner(&vp->stats.served);
}

/* Changes what thieves want of the owner. A pending probe stays: an owner that is
 * blocked in the kernel may not come by for long. @return false: it is not `from`. */
static bool change_claim(struct mt_runq *q, uint32_t from, uint32_t to) {
  uint32_t claim = mt_load_relaxed(&q->claim); /* relaxed: the swap checks it */
  do
    if ((claim & ~(uint32_t)MT_CLAIM_PROBE) != from) return false;
  /* RQ-6 acq_rel: the list, from and to other thieves and the owner; pairs RQ-2 RQ-6 RQ-8 */
  while (!mt_cas_acq_rel(&q->claim, &claim, to | (claim & MT_CLAIM_PROBE)));
  return true;
}

void mt_runq_claimed(struct mt_vp *vp) {
  struct mt_runq *q = &vp->runq;
  if (mt_has_alternative()) {
    mt_alternative->enter(vp);
    return;
  }
  uint32_t claim;
  while ((claim = mt_load_acquire(&q->claim)) != 0) { /* RQ-8 acquire: as RQ-2; pairs RQ-6 */
    if (claim & MT_CLAIM_PROBE) {
      /* RQ-12 seq_cst: before the state that the probe is about; pairs RQ-10 */
      mt_and_seq_cst(&q->claim, ~(uint32_t)MT_CLAIM_PROBE);
      mt_release(vp);
      mt_probe_here(vp);
    } else if (claim == MT_CLAIM_LOCKED) {
      mt_store_release(&q->inside, 0); /* RQ-7 release: as RQ-3; pairs RQ-5 */
      for (unsigned round = 0; mt_load_relaxed(&q->claim) & MT_CLAIM_LOCKED;) mt_relax(&round);
      mt_store_relaxed(&q->inside, 1); /* relaxed: the fence orders it */
      mt_fence_light();                /* RQ-9 light fence: as RQ-1; pairs RQ-4 */
    } else {
      serve(vp, mt_rt.vps[claim - 1]);
      change_claim(q, claim, 0); /* unless the thief has gone on to LOCKED */
    }
  }
}

bool mt_runq_claimed_own(struct mt_vp *vp) {
  if (mt_has_alternative()) return false; /* no thief waits for `inside` then */
  mt_runq_claimed(vp);
  return true;
}

void mt_runq_return(struct mt_vp *vp) { mt_alternative->leave(vp); }

/* Spins while the word has the value, for ns at most. */
static void wait_while(const uint32_t *word, uint32_t value, uint64_t ns) {
  uint64_t deadline = os_now() + ns;
  /* relaxed: the caller looks again in order */
  while (mt_load_relaxed(word) == value && os_now() < deadline) mt_arch_pause();
}

/* A thief that has asked waits for a while. @return true: it was served, or insists no more, since
 * it was posted something or the victim has nothing left: an owner without threads serves nobody.
 */
static bool await_answer(const struct mt_vp *thief, const struct mt_vp *victim) {
  uint64_t deadline = os_now() + mt_tuned(MT_REQUEST_WAIT_NS);
  do {
    mt_arch_pause();
    uint32_t claim = mt_load_relaxed(&victim->runq.claim) & ~(uint32_t)MT_CLAIM_PROBE;
    if (claim != thief->index + 1) return true;
    if (mt_load_relaxed(&thief->runq.inbox) != NULL || !mt_runq_seems_busy(victim)) return true;
  } while (os_now() < deadline);
  return false;
}

/* Takes up to count threads, under LOCKED, if the owner is not inside; they look mailed to a VP, or
 * the victim might take one for still its own (mt_is_ready_on). */
static struct mltp_thread *take_locked(struct mt_vp *victim, uint32_t count, uint32_t to,
                                       struct mltp_thread **last) {
  struct mt_runq *q = &victim->runq;
  mt_fence_heavy(); /* RQ-4 heavy fence: claim before inside; pairs RQ-1 RQ-9 */
  wait_while(&q->inside, 1, mt_tuned(MT_INSIDE_WAIT_NS));
  if (mt_load_acquire(&q->inside) != 0) return NULL; /* RQ-5 acquire: pairs RQ-3 RQ-7 */
  mt_runq_drain(victim); /* what was posted to a busy or sleeping VP waits like the rest */
  struct mltp_thread *first = mt_runq_take_front(victim, count, last);
  for (struct mltp_thread *t = first; t != NULL; t = t->next) mt_set_where(t, MT_MAILED, to);
  return first;
}

struct mltp_thread *mt_runq_take_over(struct mt_vp *victim, struct mltp_thread **last) {
  if (mt_has_alternative() || !change_claim(&victim->runq, 0, MT_CLAIM_LOCKED)) return NULL;
  struct mltp_thread *first = take_locked(victim, UINT32_MAX, victim->index, last);
  change_claim(&victim->runq, MT_CLAIM_LOCKED, 0);
  return first;
}

bool mt_runq_steal(struct mt_vp *thief, struct mt_vp *victim, bool stuck) {
  struct mt_runq *q = &victim->runq;
  bool awake = mt_load_relaxed(&victim->sleep.status) == MT_VP_AWAKE; /* relaxed: a hint */
  uint32_t request = thief->index + 1;
  if (!change_claim(q, 0, request)) return false; /* another thief is at it */
  bool insists = !awake || stuck || !await_answer(thief, victim);
  if (!change_claim(q, request, insists ? MT_CLAIM_LOCKED : 0)) /* served */
    return mt_load_relaxed(&thief->runq.inbox) != NULL;
  if (!insists) return false;
  struct mltp_thread *last,
      *first = take_locked(victim, awake ? mt_runq_share(victim) : UINT32_MAX, thief->index, &last);
  change_claim(q, MT_CLAIM_LOCKED, 0);
  if (first != NULL) {
    mt_runq_enter(thief);
    mt_runq_push_chain(thief, first);
    mt_runq_leave(thief);
  }
  return first != NULL || mt_load_relaxed(&thief->runq.inbox) != NULL;
}
