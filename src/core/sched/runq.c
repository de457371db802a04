/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rare paths of the run queue: the inbox, chains of threads. runq.h has the
 * protocol and its argument.
 *
 * Relaxed: see runq.h.
 */
#include "core/sched/runq.h"

#include "core/vp/alternative.h"

#include "instrument/probes.h"

/* From newest to oldest linked by next, each with what follows it in prev. */
static void push_inbox(struct mt_vp *to, struct mltp_thread *newest, struct mltp_thread *oldest) {
  struct mltp_thread *old = NULL; /* likely; to look first would fetch the line twice */
  do oldest->next = old;
  /* IB-1 seq_cst: publishes the chain; pairs IB-2 ID-22 */
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

void mt_runq_push_chain(struct mt_vp *vp, struct mltp_thread *t) {
  while (t != NULL) {
    struct mltp_thread *next = t->next;
    mt_runq_push_ready(vp, t);
    t = next;
  }
}

void mt_runq_drain(struct mt_vp *vp) {
  struct mltp_thread *last, *first = mt_runq_take_inbox(vp, &last);
  if (mt_has_alternative() && !mt_alternative->lends(vp))
    mt_alternative->ready_chain(vp, first);
  else
    mt_runq_push_chain(vp, first);
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

void mt_runq_probe(struct mt_vp *vp) {
  /* RQ-10 seq_cst: after the state the owner has to look at; pairs RQ-2 RQ-11 RQ-12 RQ-13 */
  mt_or_seq_cst(&vp->runq.claim, MT_CLAIM_PROBE);
}
