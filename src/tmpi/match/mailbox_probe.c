/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looking for messages without receiving them, and taking back what was started.
 *
 * Relaxed: what a prober that spins reads, as a hint.
 */
#include "core/internal/locks.h"
#include "core/internal/thread.h"
#include "tmpi/match/entries.h"
#include "tmpi/match/intake.h"
#include "tmpi/match/match.h"
#include "tmpi/match/rank_wait.h"

static bool has_arrived(const void *prober) {
  return mt_load_relaxed(&((const struct tm_waiter *)prober)->missing) == 0;
}

/* Waits until any message arrives. The internal lock is held, and again when this returns. */
static void await_arrival(struct tm_mailbox *box, const struct tm_request *probe,
                          const char *call) {
  struct tm_waiter waiter = {.next = box->probers, .missing = 1};
  const struct tm_rank *sender = tm_sender(probe);
  box->probers = &waiter;
  if (tm_may_spin(sender)) {
    mti_unlock(&box->ilock);
    tm_spin(has_arrived, &waiter, sender);
    mti_lock(&box->ilock);
    if (waiter.missing == 0) return;
  }
  waiter.thread = mti_self(call);
  tm_mailbox_park(probe->owner, &box->ilock, probe, call);
  mti_lock(&box->ilock);
}

/* The same for a program that probes again and again, for some time. */
static void doze(struct tm_rank *rank, uint64_t ns) {
  struct tm_mailbox *box = &rank->box;
  struct tm_waiter waiter = {.next = box->probers, .missing = 1, .dozes = true};
  box->probers = &waiter;
  mti_unlock(&box->ilock);
  tm_doze(rank, &waiter, ns);
  mti_lock(&box->ilock);
  struct tm_waiter **link = &box->probers;
  while (*link != NULL && *link != &waiter) link = &(*link)->next;
  if (*link != NULL) *link = waiter.next;
}

/* Moves the contents of the inline slot into a message, for a later receiver. The internal lock is
 * held. */
static struct tm_message *keep_fast(struct tm_mailbox *box) {
  struct tm_message *m = tm_message_of_short(box, &box->inline_slot.envelope, box->inline_slot.full,
                                             box->inline_slot.data);
  tm_inline_slot_empty(box);
  return m;
}

bool tm_mailbox_probe(const struct tm_request *probe, bool take, uint64_t wait_ns, const char *call,
                      struct tm_envelope *found, size_t *bytes, struct tm_message **message) {
  struct tm_mailbox *box = &probe->owner->box;
  const bool shuts = wait_ns != 0;
  mti_preempt(call);
  if (shuts) {
    tm_hurry();
    tm_intake_shut(probe->owner);
  }
  mti_lock(&box->ilock);
  tm_intake_drain(probe->owner);
  struct tm_message *m = NULL;
  bool fast;
  while (!(fast = tm_inline_slot_has(box, &probe->entry.envelope)) &&
         (m = tm_message_of(tm_queue_find_message(&box->arrived, &probe->entry.envelope))) ==
             NULL &&
         wait_ns != 0) {
    if (tm_has_deferred(probe->owner)) {
      mti_unlock(&box->ilock);
      tm_deferred_release(probe->owner);
      mti_lock(&box->ilock);
      continue;
    }
    if (wait_ns == MLTP_NEVER) {
      await_arrival(box, probe, call);
    } else {
      doze(probe->owner, wait_ns);
      wait_ns = 0;
    }
  }
  if (fast || m != NULL) {
    *found = fast ? box->inline_slot.envelope : *tm_message_envelope(m);
    *bytes = fast ? tm_slot_bytes(box->inline_slot.full) : m->bytes;
    if (take && fast)
      m = keep_fast(box);
    else if (take)
      tm_take_out(box, m);
    if (take) *message = m;
  }
  mti_unlock(&box->ilock);
  if (shuts) tm_intake_open(probe->owner);
  return fast || m != NULL;
}

/* Takes a posted receive out of its queue. */
static bool withdraw_posted(struct tm_request *recv) {
  struct tm_mailbox *box = &recv->owner->box;
  mti_lock(&box->ilock);
  bool posted = recv->posted;
  if (posted) tm_withdraw(box, recv);
  mti_unlock(&box->ilock);
  return posted;
}

/* Takes out the message that refers to a send: its receiver may have done so meanwhile. */
static bool withdraw_message(struct tm_request *send) {
  struct tm_mailbox *box = &send->dest->box;
  mti_lock(&box->ilock);
  struct tm_message_entry *entry = box->arrived.earliest;
  while (entry != NULL && tm_message_of(entry)->sender != send) entry = entry->later;
  struct tm_message *m = tm_message_of(entry);
  if (m != NULL) tm_take_out(box, m);
  mti_unlock(&box->ilock);
  tm_message_discard(m);
  return m != NULL;
}

/* @return the message that a complete send has left in a queue, or sent by the intake: of the
 * latter it is the newest one, since the request's memory may have been that of an older one. */
static struct tm_message *find_copy(const struct tm_mailbox *box, const struct tm_request *send) {
  uint32_t tag = tm_slot_tag_kept(tm_inline_slot_tag(send));
  bool by_intake = send->left == TM_LEFT_INTAKE;
  struct tm_message_entry *entry = send->left == TM_LEFT_INLINE ? NULL : box->arrived.latest;
  for (; entry != NULL; entry = entry->earlier) {
    struct tm_message *m = tm_message_of(entry);
    if (by_intake
            ? m->slot_tag == tag && tm_envelope_fits(tm_message_envelope(m), &send->entry.envelope)
            : entry->entry.order == send->left)
      return m;
  }
  return NULL;
}

/* Takes back the copy that a send has left, which is complete. */
static bool withdraw_copy(struct tm_request *send) {
  struct tm_mailbox *box = &send->dest->box;
  uint32_t tag = tm_inline_slot_tag(send);
  mti_lock(&box->ilock);
  tm_intake_drain(send->dest);
  struct tm_inline_slot *slot = &box->inline_slot;
  bool fast = send->left == TM_LEFT_INLINE && slot->full != 0 &&
              (slot->full & ~(uint32_t)TM_FULL_BYTES) == tag &&
              tm_envelope_fits(&slot->envelope, &send->entry.envelope);
  if (fast) tm_inline_slot_empty(box);
  struct tm_message *m = find_copy(box, send);
  if (m != NULL) tm_take_out(box, m);
  mti_unlock(&box->ilock);
  if (m != NULL && m->buffer != NULL) tm_buffer_return(m->buffer, m->bytes);
  tm_message_discard(m);
  return fast || m != NULL;
}

static bool is_far(const struct tm_request *request) {
  return request->kind == TM_SEND && request->dest != NULL &&
         !tm_rank_is_here(request->dest->number);
}

void tm_request_withdraw(struct tm_request *request) {
  if (is_far(request)) {
    tm_far_cancel(request);
    return;
  }
  bool done = tm_request_done(request), withdrawn = false;
  if (done) /* also what was never in a queue: MPI_PROC_NULL */
    withdrawn = request->kind == TM_SEND && request->dest != NULL &&
                request->left != TM_LEFT_NOTHING && withdraw_copy(request);
  else if (request->kind == TM_RECV)
    withdrawn = withdraw_posted(request);
  else if (request->kind == TM_SEND)
    withdrawn = withdraw_message(request);
  if (!withdrawn) return;
  request->cancelled = true;
  request->bytes = 0;
  if (!done) tm_request_complete(request);
}
