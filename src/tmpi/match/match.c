/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where sends and receives meet; mailbox.h has the protocol.
 *
 * Relaxed: that there is mail, the tail of an intake, and whether a rank asks, which are hints.
 */
#include "tmpi/match/match.h"

#include "arch/prefetch.h"
#include "core/internal/locks.h"
#include "core/internal/thread.h"
#include "tmpi/layout/type.h"
#include "tmpi/match/entries.h"
#include "tmpi/match/hook.h"
#include "tmpi/match/intake.h"
#include "tmpi/match/meet.h"
#include "tmpi/match/rank_wait.h"

void (*tm_match_hook)(const struct tm_request *recv, const struct tm_envelope *envelope,
                      const struct tm_type *type, size_t count);

/* @return a message with a copy of the data, or one that refers to the send. */
static struct tm_message *make_message(struct tm_request *send, bool copy) {
  size_t bytes = tm_request_bytes(send);
  size_t room = !copy ? 0 : bytes <= TM_CELL_BYTES ? TM_CELL_BYTES : bytes;
  struct tm_message *m = tm_message_new(&send->entry.envelope, bytes, room);
  if (!copy) m->sender = send;
  if (mt_unlikely(tm_match_hook != NULL)) {
    m->type = send->type;
    m->count = send->count;
    tm_type_hold(m->type);
  }
  if (copy) {
    m->held = (uint32_t)(sizeof *m + room);
    tm_type_pack(m->data, send->buffer, send->type, 0, bytes);
  }
  return m;
}

/* ---- the copy */

int tm_short_error(const struct tm_type *type, size_t bytes) {
  if (type->run_count != 1 || bytes % type->runs[0].size == 0) return MPI_SUCCESS;
  return MPI_ERR_TYPE;
}

/* A request that was in a queue has what it waited for. */
static void complete(struct tm_request *request) {
  if (request->parks)
    tm_resume(&request->owner->box, request->blocked);
  else
    tm_request_complete(request);
}

/* Notes the caller's thread, which is going to park for the request alone. The lock of the queue is
 * held. */
static void note_thread(struct tm_request *request, const char *call) {
  request->blocked = mti_self(call);
  request->parks = true;
}

void tm_request_end(struct tm_request *request) { complete(request); }

/* The same for one that was in none. */
static void complete_unseen(struct tm_request *request) {
  mt_store_release(&request->done, 1); /* MB-3 release: the results; pairs MB-2 */
}

/* The sender's data go straight to where the receiver wants them. */
static void deliver(struct tm_request *send, struct tm_request *recv) {
  if (mt_unlikely(tm_match_hook != NULL))
    tm_match_hook(recv, &send->entry.envelope, send->type, send->count);
  tm_set_result(recv, &send->entry.envelope, tm_request_bytes(send));
  tm_type_copy(recv->buffer, recv->type, send->buffer, send->type, recv->bytes);
  complete(recv);
}

/* The message's data; it has left the queue. */
static void unpack(struct tm_request *recv, const struct tm_message *m) {
  tm_set_result(recv, tm_message_envelope(m), m->bytes);
  if (m->sender != NULL)
    tm_type_copy(recv->buffer, recv->type, m->sender->buffer, m->sender->type, recv->bytes);
  else
    tm_type_unpack(recv->buffer, recv->type, 0, m->copy != NULL ? m->copy : m->data, recv->bytes);
}

/* The message in the inline slot. The internal lock is held. */
static void unpack_fast(struct tm_mailbox *box, struct tm_request *recv) {
  const struct tm_inline_slot *slot = &box->inline_slot;
  tm_short_unpack(&slot->envelope, tm_slot_bytes(slot->full), slot->data, recv);
  tm_inline_slot_empty(box);
}

/* Takes the oldest message of the intake, if the receive is the first that can get it; otherwise
 * all messages enter the mailbox. The internal lock is held. */
static bool take_from_intake(struct tm_request *recv) {
  struct tm_rank *rank = recv->owner;
  const struct tm_intake_slot *slot = tm_intake_oldest(rank);
  if (slot == NULL) return false;
  bool first = rank->box.mail == 0 && rank->box.posted.count == 0;
  if (first && tm_envelope_fits(&slot->envelope, &recv->entry.envelope)) {
    tm_intake_unpack(rank->intake, slot, recv);
    return true;
  }
  tm_intake_drain(rank);
  return false;
}

/* @return whether the receive is complete; otherwise it will be when another node's data are here.
 */
static bool receive(struct tm_request *recv, struct tm_message *m) {
  if (MLTP_NODES && m->sender != NULL && mt_unlikely(m->sender->kind == TM_FAR))
    return tm_far_receive(recv, m);
  if (mt_unlikely(m->type != NULL)) tm_match_hook(recv, tm_message_envelope(m), m->type, m->count);
  unpack(recv, m);
  if (m->sender != NULL) complete(m->sender);
  if (m->buffer != NULL) tm_buffer_return(m->buffer, m->bytes);
  tm_message_discard(m);
  return true;
}

/* What has become of a send or a receive. */
enum outcome {
  COMPLETE,
  LEFT,     /* the other side completes it */
  LOCKED,   /* the same, it has noted its thread, and the lock of the receiver's mailbox is held */
  NOT_BEGUN /* of a send: its message is for the receiver's mailbox */
};

/* ---- sending */

/* Whether the sender is free when it has left a copy. */
static bool is_eager(const struct tm_request *send) {
  return send->mode == TM_BUFFERED ||
         (send->mode != TM_SYNCHRONOUS && tm_request_bytes(send) <= TM_EAGER_MAX);
}

enum { YIELD_EACH = 64 /* messages into a full mailbox */ };

/* @return whether the sender is to let others run: the mailbox is full, and its owner may have been
 * resumed without having run yet. The lock is held. */
static bool is_crowded(const struct tm_mailbox *box) {
  return box->held >= TM_HELD_MAX && box->arrived.order % YIELD_EACH == 0;
}

/* Leaves a message that no posted receive fits. The lock is held. blocks: a send that its receiver
 * completes notes its thread. */
static inline enum outcome leave_unlock(struct tm_request *send, struct tm_message *m, bool eager,
                                        bool deferred, bool blocks) {
  struct tm_mailbox *box = &send->dest->box;
  bool parks = blocks && !eager && !deferred;
  if (parks) note_thread(send, "send");
  tm_leave(box, m);
  send->left = m->entry.entry.order;
  if (deferred) tm_deferred_add(send->dest, m);
  if (parks) return LOCKED;
  bool crowded = eager && is_crowded(box);
  mti_unlock(&box->ilock);
  if (deferred) tm_deferred_settle(send->dest);
  if (mt_unlikely(crowded)) tm_yield();
  return eager ? COMPLETE : LEFT;
}

/* The receiver looks at the slot that a message is going to fill, so the line is transferred. That
 * begins here, not behind the lock. */
static inline void fetch_slot(const struct tm_request *send) {
  struct tm_intake *in = tm_intake_of(send->dest);
  if (in != NULL && tm_request_bytes(send) <= TM_INTAKE_MAX)
    mt_arch_prefetch_own(tm_intake_slot_at(in, mt_load_relaxed(&in->tail)));
}

/* Puts the message into the receiver's intake, or sends it to another node. */
static inline enum outcome send_past_mailbox(struct tm_request *send) {
  if (mt_likely(!tm_job.past_mailboxes)) return NOT_BEGUN;
  struct tm_intake *intake = send->dest->intake, *own = send->owner->intake;
  if (intake == NULL) {
    if (!MLTP_NODES || tm_rank_is_here(send->dest->number)) return NOT_BEGUN;
    return tm_far_send(send) ? COMPLETE : LEFT;
  }
  bool leaves_copy = send->mode == TM_STANDARD || send->mode == TM_READY;
  if (!leaves_copy || mt_unlikely(tm_match_hook != NULL)) return NOT_BEGUN;
  if (!tm_intake_put(intake, send)) return NOT_BEGUN;
  if (mt_likely(own != NULL)) mt_store_relaxed(&own->asks, 1); /* a spawned rank has none */
  send->left = TM_LEFT_INTAKE;
  return COMPLETE;
}

/* A receiver that waits for many bytes copies them itself; mailbox.h. The receive has left its
 * queue.
 * @return whether it does. */
static bool hand_over(struct tm_request *send, struct tm_request *recv) {
  if (mt_likely(!recv->copies) || tm_request_bytes(send) < TM_HANDED_MIN) return false;
  recv->message = make_message(send, false);
  recv->handed = true;
  complete(recv);
  return true;
}

/* Finds a receive, or leaves a message, on the receiver's node. blocks: as of leave_unlock().
 * continues: the sender waits for nothing. */
static inline enum outcome send_or_leave(struct tm_request *send, bool blocks, bool continues) {
  struct tm_mailbox *box = &send->dest->box;
  struct tm_message *m = NULL, *made = NULL;
  bool eager = is_eager(send), copies = eager && send->mode != TM_BUFFERED, deferred = false;
  mti_lock(&box->ilock);
  tm_intake_drain(send->dest);
  struct tm_request *recv = tm_take_posted(box, &send->entry.envelope);
  if (recv == NULL && copies && tm_inline_slot_takes(box, send)) {
    tm_inline_slot_fill(box, send);
    send->left = TM_LEFT_INLINE;
    mti_unlock(&box->ilock);
    return COMPLETE;
  }
  if (recv == NULL && copies && mt_unlikely(tm_deferred_wanted(send->dest)))
    deferred = true, eager = copies = false;
  if (recv == NULL && (!copies || (m = tm_cell_fill(box, send)) == NULL)) {
    mti_unlock(&box->ilock);
    made = m = make_message(send, eager);
    if (send->mode == TM_BUFFERED) m->buffer = send->buffered;
    mti_lock(&box->ilock);
    recv = tm_take_posted(box, &send->entry.envelope);
  }
  if (recv == NULL) return leave_unlock(send, m, eager, deferred, blocks);
  mti_unlock(&box->ilock);
  tm_message_discard(made);
  if (continues && send->mode != TM_BUFFERED && hand_over(send, recv)) return LEFT;
  deliver(send, recv);
  if (send->mode == TM_BUFFERED) tm_buffer_return(send->buffered, tm_request_bytes(send));
  return COMPLETE;
}

void tm_send_start(struct tm_request *send) {
  send->left = TM_LEFT_NOTHING;
  mti_preempt("send");
  enum outcome outcome = send_past_mailbox(send);
  if (outcome == NOT_BEGUN) outcome = send_or_leave(send, false, true);
  if (outcome == COMPLETE) complete_unseen(send);
}

/* A send that its receiver completes: it waits for an answer, or its message is deferred. left: it
 * has begun. */
__attribute__((noinline)) static void send_and_wait(struct tm_request *send, const char *call,
                                                    bool left) {
  bool noted = tm_begin_wait(send->owner, send, call);
  bool spins = tm_may_spin(send->dest);
  enum outcome outcome = left ? LEFT : send_or_leave(send, !spins, false);
  if (outcome == LOCKED)
    tm_mailbox_park(send->owner, &send->dest->box.ilock, send, call);
  else if (outcome == LEFT) /* then it is completed as any other */
    tm_requests_wait(&send, 1, 1, call);
  if (noted) mt_store_relaxed(&send->owner->call, NULL);
}

void tm_send(struct tm_request *send, const char *call) {
  fetch_slot(send);
  mti_preempt("send");
  enum outcome outcome = send_past_mailbox(send);
  if (outcome == NOT_BEGUN && is_eager(send)) outcome = send_or_leave(send, false, false);
  if (mt_likely(outcome == COMPLETE)) return;
  send_and_wait(send, call, outcome == LEFT);
}

/* ---- receiving */

/* Takes a message, or posts the receive. looks: at the intake (intake.h), for a call that waits.
 * blocks: a receive that is posted notes its thread. */
__attribute__((always_inline)) static inline enum outcome receive_or_post(struct tm_request *recv,
                                                                          bool looks, bool blocks) {
  struct tm_mailbox *box = &recv->owner->box;
  struct tm_message *m = recv->message;
  mti_preempt("receive");
  if (m == NULL) {
    mti_lock(&box->ilock);
    if (tm_inline_slot_has(box, &recv->entry.envelope)) {
      unpack_fast(box, recv);
      mti_unlock(&box->ilock);
      return COMPLETE;
    }
    if (looks && take_from_intake(recv)) {
      mti_unlock(&box->ilock);
      return COMPLETE;
    }
    while ((m = tm_take_message(box, &recv->entry.envelope)) == NULL && blocks &&
           tm_has_deferred(recv->owner)) {
      mti_unlock(&box->ilock);
      tm_deferred_release(recv->owner);
      mti_lock(&box->ilock);
    }
    if (m == NULL) {
      if (blocks) note_thread(recv, "receive");
      if (looks) recv->copies = tm_request_bytes(recv) >= TM_HANDED_MIN;
      tm_post(box, recv);
      if (blocks) return LOCKED;
      mti_unlock(&box->ilock);
      return LEFT;
    }
    bool kept = m->is_cell && m->buffer == NULL && m->type == NULL && tm_cell_keep(box, m);
    if (kept) unpack(recv, m);
    mti_unlock(&box->ilock);
    if (kept) return COMPLETE;
  }
  return receive(recv, m) ? COMPLETE : LEFT;
}

/* The same for a receive that waits. Not inline: its caller's frame is in the cache for as long as
 * the rank waits, and so it is small. */
__attribute__((noinline)) static enum outcome look_and_receive(struct tm_request *recv,
                                                               bool blocks) {
  return receive_or_post(recv, true, blocks);
}

void tm_recv_start(struct tm_request *recv) {
  if (receive_or_post(recv, false, false) == COMPLETE) complete_unseen(recv);
}

static bool has_mail(const void *rank_) {
  const struct tm_rank *rank = rank_;
  return mt_load_relaxed(&rank->box.mail) != 0 || tm_intake_oldest(rank) != NULL;
}

static bool is_far(const struct tm_rank *sender) {
  return tm_far() != NULL && sender != NULL && !tm_rank_is_here(sender->number);
}

/* The first look, where the message may be the answer to what the rank has sent, and the looks that
 * follow. @return whether there is mail. */
static bool look_for_reply(const struct tm_rank *rank) {
  struct tm_intake *in = tm_intake_of(rank);
  if (in == NULL || mt_load_relaxed(&in->asks) == 0 || tm_far() != NULL) return has_mail(rank);
  mt_store_relaxed(&in->asks, 0);
  return mti_spin_for_reply(has_mail, rank, &in->reply);
}

/* Few bytes are waited for before the receive is posted: they come through the inline slot, or the
 * intake. From another node they come into the posted receive. */
static bool spin_for_mail(const struct tm_request *recv) {
  const struct tm_rank *sender = tm_sender(recv);
  return recv->message != NULL || tm_request_bytes(recv) > tm_few_bytes(recv->owner) ||
         look_for_reply(recv->owner) || is_far(sender) || tm_spin(has_mail, recv->owner, sender);
}

/* The sender may have left the copy to the receiver. */
static inline void copy_handed(struct tm_request *recv) {
  if (mt_unlikely(recv->handed)) receive(recv, recv->message);
}

void tm_recv(struct tm_request *recv, const char *call) {
  bool spins = tm_may_spin(tm_sender(recv)) && spin_for_mail(recv);
  if (!spins) {
    tm_hurry();
    tm_intake_shut(recv->owner);
  }
  enum outcome outcome = look_and_receive(recv, !spins);
  if (outcome == LEFT) tm_requests_wait(&recv, 1, 1, call);
  if (outcome == LOCKED) tm_mailbox_park(recv->owner, &recv->owner->box.ilock, recv, call);
  if (outcome != COMPLETE) copy_handed(recv);
  if (!spins) tm_intake_open(recv->owner);
}

void tm_recv_wait(struct tm_request *recv, const char *call) {
  tm_requests_wait(&recv, 1, 1, call);
  copy_handed(recv);
}
