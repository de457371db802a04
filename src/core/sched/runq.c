/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rare paths of the run queue: inbox, requests, thieves. runq.h has the
 * protocol and its argument.
 *
 * Relaxed: see runq.h.
 */
#include "core/sched/runq.h"

#include "core/sched/sched.h"
#include "core/sched/wake.h"
#include "instrument/probes.h"

enum {
  STEAL_MAX = 32,          /* a walk along cold descriptors: about 3 us at most */
  REQUEST_WAIT_NS = 10000, /* less than the membarrier that follows may cost */
  INSIDE_WAIT_NS = 2000    /* an owner that stays inside longer has lost its CPU */
};

/* From newest to oldest linked by next, each with what follows it in prev. */
static void push_inbox(struct mt_vp *to, struct mltp_thread *newest, struct mltp_thread *oldest) {
  struct mltp_thread *old = NULL; /* likely; to look first would fetch the line twice */
  do oldest->next = old;
  /* IB-1 seq_cst: publishes the chain; pairs IB-2 */
  while (!mt_cas_seq_cst(&to->runq.inbox, &old, newest));
}

void mt_runq_post(struct mt_vp *to, struct mltp_thread *first, struct mltp_thread *last) {
  /* The stack holds the newest first, so the chain is reversed on the way in. */
  struct mltp_thread *newest = NULL;
  struct mltp_thread *end = last->next = NULL;
  for (struct mltp_thread *t = first; t != end;) {
    struct mltp_thread *next = t->next;
    mt_set_where(t, MT_MAILED, to->index);
    t->prev = NULL;
    t->next = newest;
    newest = t;
    t = next;
  }
  push_inbox(to, newest, first);
}

void mt_runq_post_whole(struct mt_vp *to, struct mltp_thread *first) {
  mt_set_where(first, MT_MAILED, to->index);
  first->prev = first->next;
  push_inbox(to, first, first);
}

struct mltp_thread *mt_runq_take_inbox(struct mt_vp *vp, struct mltp_thread **last) {
  struct mltp_thread *t = NULL, *oldest = NULL;
  if (mt_load_relaxed(&vp->runq.inbox) != NULL) /* relaxed: a hint */
    t = mt_swap_acquire(&vp->runq.inbox, NULL); /* IB-2 acquire: takes the chain; pairs IB-1 */
  *last = NULL;                                 /* the stack holds the newest first */
  while (t != NULL) {
    struct mltp_thread *next = t->next, *end = t;
    t->next = t->prev; /* what was posted as a whole */
    while (end->next != NULL) {
      end = end->next;
      MT_PROBE1(unpark, end);
    }
    if (*last == NULL) *last = end;
    end->next = oldest;
    oldest = t;
    t = next;
  }
  return oldest;
}

static void push_chain(struct mt_vp *vp, struct mltp_thread *t) {
  while (t != NULL) {
    struct mltp_thread *next = t->next;
    mt_runq_push_ready(vp, t);
    t = next;
  }
}

void mt_runq_drain(struct mt_vp *vp) {
  struct mltp_thread *last, *first = mt_runq_take_inbox(vp, &last);
  if (mt_strategy != NULL && vp->strategy.holds == NULL) /* no list is lent to put them into */
    mt_strategy_ready_chain(vp, first);
  else
    push_chain(vp, first);
}

struct mltp_thread *mt_runq_take_front(struct mt_vp *vp, uint32_t count,
                                       struct mltp_thread **last) {
  struct mltp_thread *first = NULL;
  *last = NULL;
  for (; count > 0; count--) {
    struct mltp_thread *t = mt_runq_pop(vp);
    if (t == NULL) break;
    t->next = NULL;
    if (first == NULL)
      first = t;
    else
      (*last)->next = t;
    *last = t;
  }
  return first;
}

uint32_t mt_runq_share(const struct mt_vp *vp) {
  uint32_t half = (mt_load_relaxed(&vp->runq.length) + 1) / 2;
  return half < STEAL_MAX ? half : STEAL_MAX;
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
  if (mt_strategy != NULL) {
    mt_strategy_enter(vp);
    return;
  }
  uint32_t claim;
  while ((claim = mt_load_acquire(&q->claim)) != 0) { /* RQ-8 acquire: as RQ-2; pairs RQ-6 */
    if (claim & MT_CLAIM_PROBE) {
      mt_and_relaxed(&q->claim, ~(uint32_t)MT_CLAIM_PROBE); /* relaxed: a hint was delivered */
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

void mt_runq_probe(struct mt_vp *vp) {
  /* RQ-10 seq_cst: after the state the owner has to look at; pairs RQ-2 RQ-11 */
  mt_or_seq_cst(&vp->runq.claim, MT_CLAIM_PROBE);
}

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
  uint64_t deadline = os_now() + REQUEST_WAIT_NS;
  do {
    mt_arch_pause();
    uint32_t claim = mt_load_relaxed(&victim->runq.claim) & ~(uint32_t)MT_CLAIM_PROBE;
    if (claim != thief->index + 1) return true;
    if (mt_load_relaxed(&thief->runq.inbox) != NULL || !mt_runq_seems_busy(victim)) return true;
  } while (os_now() < deadline);
  return false;
}

bool mt_runq_steal(struct mt_vp *thief, struct mt_vp *victim, bool stuck) {
  struct mt_runq *q = &victim->runq;
  bool awake = mt_load_relaxed(&victim->status) == MT_VP_AWAKE; /* relaxed: a hint */
  uint32_t request = thief->index + 1;
  if (!change_claim(q, 0, request)) return false; /* another thief is at it */
  bool insists = !awake || stuck || !await_answer(thief, victim);
  if (!change_claim(q, request, insists ? MT_CLAIM_LOCKED : 0)) /* served */
    return mt_load_relaxed(&thief->runq.inbox) != NULL;
  if (!insists) return false;
  mt_fence_heavy(); /* RQ-4 heavy fence: claim before inside; pairs RQ-1 RQ-9 */
  struct mltp_thread *first = NULL, *last = NULL;
  wait_while(&q->inside, 1, INSIDE_WAIT_NS);
  if (mt_load_acquire(&q->inside) == 0) { /* RQ-5 acquire: pairs RQ-3 RQ-7 */
    mt_runq_drain(victim); /* what was posted to a busy or sleeping VP waits like the rest */
    first = mt_runq_take_front(victim, awake ? mt_runq_share(victim) : UINT32_MAX, &last);
    /* or the victim might take one for still its own (mt_is_ready_on) */
    for (struct mltp_thread *t = first; t != NULL; t = t->next)
      mt_set_where(t, MT_MAILED, thief->index);
  }
  change_claim(q, MT_CLAIM_LOCKED, 0);
  if (first != NULL) {
    mt_runq_enter(thief);
    push_chain(thief, first);
    mt_runq_leave(thief);
  }
  return first != NULL || mt_load_relaxed(&thief->runq.inbox) != NULL;
}
