/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where sends and receives meet; mailbox.h has the protocol.
 *
 * Relaxed: what a prober that spins reads, as a hint.
 */
#include "tmpi/match/mailbox.h"

#include <stdlib.h>

#include "tmpi/dt/type.h"
#include "tmpi/match/hook.h"
#include "tmpi/match/wait.h"
#include "tmpi/mpi/errors.h"
#include "tmpi/mpi/request.h"

void (*tm_match_hook)(const struct tm_request *recv, const struct tm_envelope *envelope,
                      const struct tm_type *type, size_t count);

static struct tm_request *request_of(struct tm_entry *entry) {
  return entry != NULL ? (struct tm_request *)((char *)entry - offsetof(struct tm_request, entry))
                       : NULL;
}

static struct tm_message *message_of(struct tm_entry *entry) {
  return (struct tm_message *)entry; /* its first member */
}

static size_t bytes_of(const struct tm_request *request) {
  return request->count * request->type->size;
}

/* ---- queues; the guard is held */

static void post(struct tm_mailbox *box, struct tm_request *recv) {
  recv->entry.envelope = &recv->envelope;
  recv->posted = true;
  tm_queue_add(&box->posted, &recv->entry);
}

static void withdraw(struct tm_mailbox *box, struct tm_request *recv) {
  recv->posted = false;
  tm_queue_remove(&box->posted, &recv->entry);
}

static struct tm_request *take_posted(struct tm_mailbox *box, const struct tm_envelope *message) {
  struct tm_request *recv = request_of(tm_queue_find_receive(&box->posted, message));
  if (recv != NULL) withdraw(box, recv);
  return recv;
}

static struct tm_message *take_message(struct tm_mailbox *box, const struct tm_envelope *wanted) {
  struct tm_message *m = message_of(tm_queue_find_message(&box->arrived, wanted));
  if (m != NULL) tm_queue_remove(&box->arrived, &m->entry);
  return m;
}

/* ---- messages */

/* The guard is held. @return a cell the data are in, NULL: none is free, or they do not fit. */
static struct tm_message *fill_cell(struct tm_mailbox *box, const struct tm_request *send) {
  struct tm_message *m = box->cells;
  if (m == NULL || bytes_of(send) > TM_CELL_BYTES || tm_match_hook != NULL) return NULL;
  box->cells = m->next;
  box->cell_count--;
  m->envelope = send->envelope;
  m->bytes = bytes_of(send);
  m->type = NULL;
  tm_type_pack(m->data, send->buffer, send->type, 0, m->bytes);
  return m;
}

/* The guard is held. @return false: it is no cell, or there are enough. */
static bool keep_cell(struct tm_mailbox *box, struct tm_message *m) {
  if (!m->is_cell || box->cell_count == TM_CELLS_MAX) return false;
  m->next = box->cells;
  box->cells = m;
  box->cell_count++;
  return true;
}

/* @return a message with a copy of the data, or one that refers to the send. */
static struct tm_message *make_message(struct tm_request *send, bool copy) {
  size_t bytes = bytes_of(send);
  bool is_cell = copy && bytes <= TM_CELL_BYTES;
  struct tm_message *m = malloc(sizeof *m + (is_cell ? TM_CELL_BYTES : copy ? bytes : 0));
  if (m == NULL)
    tm_panic("no memory for a message of %zu bytes (fewer or smaller unreceived messages)", bytes);
  m->envelope = send->envelope;
  m->bytes = bytes;
  m->sender = copy ? NULL : send;
  m->buffer = NULL;
  m->is_cell = is_cell;
  m->type = NULL;
  if (mt_unlikely(tm_match_hook != NULL)) {
    m->type = send->type;
    m->count = send->count;
    tm_type_hold(m->type);
  }
  if (copy) tm_type_pack(m->data, send->buffer, send->type, 0, bytes);
  return m;
}

/* NULL: none. */
static void discard(struct tm_message *m) {
  if (m != NULL && m->type != NULL) tm_type_release(m->type);
  free(m);
}

/* Puts a message there; who probes looks again. Guard held. */
static void leave(struct tm_mailbox *box, struct tm_message *m) {
  m->entry.envelope = &m->envelope;
  tm_queue_add(&box->arrived, &m->entry);
  while (box->probers != NULL) {
    struct tm_waiter *prober = box->probers;
    box->probers = prober->next;
    mt_store_relaxed(&prober->missing, 0);
    if (prober->thread != NULL) tm_resume(box, prober->thread);
    /* it cannot be gone: it takes the guard first */
  }
}

/* ---- the copy */

static void set_result(struct tm_request *r, const struct tm_envelope *envelope, size_t bytes) {
  size_t room = bytes_of(r);
  r->source = envelope->source;
  r->tag = envelope->tag;
  r->error = bytes > room ? MPI_ERR_TRUNCATE : MPI_SUCCESS;
  r->bytes = bytes > room ? room : bytes;
}

/* A request that was in a queue has what it waited for. */
static void complete(struct tm_request *request) {
  if (request->blocked != NULL)
    tm_resume(&request->owner->box, request->blocked);
  else
    tm_request_complete(request);
}

/* The same for one that was in none. */
static void complete_unseen(struct tm_request *request) {
  mt_store_release(&request->done, 1); /* MB-3 release: the results; pairs MB-2 */
}

/* The sender's data go straight to where the receiver wants them. */
static void deliver(struct tm_request *send, struct tm_request *recv) {
  if (mt_unlikely(tm_match_hook != NULL))
    tm_match_hook(recv, &send->envelope, send->type, send->count);
  set_result(recv, &send->envelope, bytes_of(send));
  tm_type_copy(recv->buffer, recv->type, send->buffer, send->type, recv->bytes);
  complete(recv);
}

/* The message's data; it has left the queue. */
static void unpack(struct tm_request *recv, const struct tm_message *m) {
  set_result(recv, &m->envelope, m->bytes);
  if (m->sender != NULL)
    tm_type_copy(recv->buffer, recv->type, m->sender->buffer, m->sender->type, recv->bytes);
  else
    tm_type_unpack(recv->buffer, recv->type, 0, m->data, recv->bytes);
}

static void receive(struct tm_request *recv, struct tm_message *m) {
  if (mt_unlikely(m->type != NULL)) tm_match_hook(recv, &m->envelope, m->type, m->count);
  unpack(recv, m);
  if (m->sender != NULL) complete(m->sender);
  if (m->buffer != NULL) tm_buffer_return(m->buffer, m->bytes);
  discard(m);
}

/* ---- sending */

/* Whether the sender is free when it has left a copy. */
static bool is_eager(const struct tm_request *send) {
  return send->mode == TM_BUFFERED ||
         (send->mode != TM_SYNCHRONOUS && bytes_of(send) <= TM_EAGER_MAX);
}

/* Finds a receive, or leaves a message. @return true: it is complete; false: the receiver will
 * do that, and with blocks the guard is held still. */
static inline bool send_or_leave(struct tm_request *send, bool blocks) {
  struct tm_mailbox *box = &send->dest->box;
  struct tm_message *m = NULL, *made = NULL;
  bool eager = is_eager(send);
  mt_seam_preempt("send");
  mt_seam_lock(&box->guard);
  struct tm_request *recv = take_posted(box, &send->envelope);
  if (recv == NULL && (!eager || send->mode == TM_BUFFERED || (m = fill_cell(box, send)) == NULL)) {
    mt_seam_unlock(&box->guard);
    made = m = make_message(send, eager);
    if (send->mode == TM_BUFFERED) m->buffer = tm_buffer_of(send);
    mt_seam_lock(&box->guard);
    recv = take_posted(box, &send->envelope);
  }
  if (recv == NULL) {
    if (blocks && !eager) send->blocked = mt_seam_self("send");
    leave(box, m);
    if (blocks && !eager) return false;
  }
  mt_seam_unlock(&box->guard);
  if (recv == NULL) return eager;
  discard(made);
  deliver(send, recv);
  if (send->mode == TM_BUFFERED) tm_buffer_return(tm_buffer_of(send), bytes_of(send));
  return true;
}

void tm_send_start(struct tm_request *send) {
  if (send_or_leave(send, false)) complete_unseen(send);
}

void tm_send(struct tm_request *send, const char *call) {
  bool spins = tm_may_spin(send->dest);
  if (send_or_leave(send, !spins)) return;
  if (spins) /* then it is completed as any other */
    tm_requests_wait(&send, 1, 1, call);
  else
    tm_mailbox_park(send->owner, &send->dest->box.guard, send, call);
}

/* ---- receiving */

/* Takes a message, or posts the receive. @return true: it is complete; false: a sender will do
 * that, and with blocks the guard is held still. */
static inline bool receive_or_post(struct tm_request *recv, bool blocks) {
  struct tm_mailbox *box = &recv->owner->box;
  struct tm_message *m = recv->message;
  mt_seam_preempt("receive");
  if (m == NULL) {
    mt_seam_lock(&box->guard);
    m = take_message(box, &recv->envelope);
    if (m == NULL) {
      if (blocks) recv->blocked = mt_seam_self("receive");
      post(box, recv);
      if (!blocks) mt_seam_unlock(&box->guard);
      return false;
    }
    bool kept = m->is_cell && m->buffer == NULL && m->type == NULL && keep_cell(box, m);
    if (kept) unpack(recv, m);
    mt_seam_unlock(&box->guard);
    if (kept) return true;
  }
  receive(recv, m);
  return true;
}

void tm_recv_start(struct tm_request *recv) {
  if (receive_or_post(recv, false)) complete_unseen(recv);
}

void tm_recv(struct tm_request *recv, const char *call) {
  bool spins = tm_may_spin(tm_sender(recv));
  if (receive_or_post(recv, !spins)) return;
  if (spins)
    tm_requests_wait(&recv, 1, 1, call);
  else
    tm_mailbox_park(recv->owner, &recv->owner->box.guard, recv, call);
}

/* ---- probing and cancelling */

static bool has_arrived(const void *prober) {
  return mt_load_relaxed(&((const struct tm_waiter *)prober)->missing) == 0;
}

/* Waits until any message arrives. The guard is held, and again when this returns. */
static void await_arrival(struct tm_mailbox *box, const struct tm_request *probe,
                          const char *call) {
  struct tm_waiter waiter = {NULL, box->probers, 1};
  const struct tm_rank *sender = tm_sender(probe);
  box->probers = &waiter;
  if (tm_may_spin(sender)) {
    mt_seam_unlock(&box->guard);
    tm_spin(has_arrived, &waiter, sender);
    mt_seam_lock(&box->guard);
    if (waiter.missing == 0) return;
  }
  waiter.thread = mt_seam_self(call);
  tm_mailbox_park(probe->owner, &box->guard, probe, call);
  mt_seam_lock(&box->guard);
}

bool tm_mailbox_probe(const struct tm_request *probe, bool take, bool wait, const char *call,
                      struct tm_envelope *found, size_t *bytes, struct tm_message **message) {
  struct tm_mailbox *box = &probe->owner->box;
  mt_seam_preempt(call);
  mt_seam_lock(&box->guard);
  struct tm_message *m;
  while ((m = message_of(tm_queue_find_message(&box->arrived, &probe->envelope))) == NULL && wait)
    await_arrival(box, probe, call);
  if (m != NULL) {
    *found = m->envelope;
    *bytes = m->bytes;
    if (take) {
      tm_queue_remove(&box->arrived, &m->entry);
      *message = m;
    }
  }
  mt_seam_unlock(&box->guard);
  return m != NULL;
}

/* Takes a posted receive out of its queue. */
static bool withdraw_posted(struct tm_request *recv) {
  struct tm_mailbox *box = &recv->owner->box;
  mt_seam_lock(&box->guard);
  bool posted = recv->posted;
  if (posted) withdraw(box, recv);
  mt_seam_unlock(&box->guard);
  return posted;
}

/* Takes out the message that refers to a send: its receiver may have done so meanwhile. */
static bool withdraw_message(struct tm_request *send) {
  struct tm_mailbox *box = &send->dest->box;
  mt_seam_lock(&box->guard);
  struct tm_entry *entry = box->arrived.earliest;
  while (entry != NULL && message_of(entry)->sender != send) entry = entry->later;
  if (entry != NULL) tm_queue_remove(&box->arrived, entry);
  mt_seam_unlock(&box->guard);
  discard(message_of(entry));
  return entry != NULL;
}

void tm_request_withdraw(struct tm_request *request) {
  bool withdrawn = request->kind == TM_RECV   ? withdraw_posted(request)
                   : request->kind == TM_SEND ? withdraw_message(request)
                                              : false;
  if (!withdrawn) return;
  request->cancelled = true;
  request->bytes = 0;
  tm_request_complete(request);
}
