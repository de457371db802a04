/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where sends and receives meet; mailbox.h has the protocol.
 *
 * Relaxed: what reports read.
 */
#include "tmpi/match/mailbox.h"

#include <mltp/mltp.h>
#include <stdlib.h>

#include "base/atomic.h"
#include "core/seam.h"
#include "tmpi/dt/type.h"
#include "tmpi/match/hook.h"
#include "tmpi/mpi/errors.h"
#include "tmpi/mpi/request.h"
#include "tmpi/rank/rank.h"

void (*tm_match_hook)(const struct tm_request *recv, const struct tm_envelope *envelope,
                      const struct tm_type *type, size_t count);

/* ---- lists */

static void append_posted(struct tm_mailbox *box, struct tm_request *r) {
  r->next = NULL;
  r->prev = box->posted_last;
  *(r->prev != NULL ? &r->prev->next : &box->posted) = r;
  box->posted_last = r;
  r->posted = true;
}

static void remove_posted(struct tm_mailbox *box, struct tm_request *r) {
  *(r->prev != NULL ? &r->prev->next : &box->posted) = r->next;
  *(r->next != NULL ? &r->next->prev : &box->posted_last) = r->prev;
  r->posted = false;
}

static void append_message(struct tm_mailbox *box, struct tm_message *m) {
  m->next = NULL;
  m->prev = box->arrived_last;
  *(m->prev != NULL ? &m->prev->next : &box->arrived) = m;
  box->arrived_last = m;
  m->queued = true;
}

static void remove_message(struct tm_mailbox *box, struct tm_message *m) {
  *(m->prev != NULL ? &m->prev->next : &box->arrived) = m->next;
  *(m->next != NULL ? &m->next->prev : &box->arrived_last) = m->prev;
  m->queued = false;
}

static bool fits(const struct tm_envelope *message, const struct tm_envelope *wanted) {
  return message->context == wanted->context &&
         (wanted->source == MPI_ANY_SOURCE || wanted->source == message->source) &&
         (wanted->tag == MPI_ANY_TAG || wanted->tag == message->tag);
}

/* Takes the first posted receive a message fits. Guard held. */
static struct tm_request *take_posted(struct tm_mailbox *box, const struct tm_envelope *message) {
  for (struct tm_request *r = box->posted; r != NULL; r = r->next)
    if (fits(message, &r->envelope)) {
      remove_posted(box, r);
      return r;
    }
  return NULL;
}

static struct tm_message *find_message(struct tm_mailbox *box, const struct tm_envelope *wanted) {
  struct tm_message *m = box->arrived;
  while (m != NULL && !fits(&m->envelope, wanted)) m = m->next;
  return m;
}

/* ---- completion */

bool tm_request_done(struct tm_request *request) {
  /* MB-2 acquire: the results; pairs MB-1 */
  return mt_load_acquire(&request->done) != 0;
}

bool tm_request_look(struct tm_request *request) {
  if (request != NULL && tm_request_done(request)) return true;
  mltp_yield();
  return request != NULL && tm_request_done(request);
}

void tm_request_complete(struct tm_request *request) {
  struct tm_mailbox *box = &request->owner->box;
  mt_seam_lock(&box->guard);
  struct tm_waiter *waiter = request->waiter;
  bool freed = request->freed;
  mt_store_release(&request->done, 1); /* MB-1 release: the results; pairs MB-2 */
  bool last = waiter != NULL && --waiter->missing == 0;
  struct mltp_thread *thread = last ? waiter->thread : NULL;
  mt_seam_unlock(&box->guard); /* from here on request and waiter may be gone */
  if (thread != NULL) mt_seam_resume(thread);
  if (freed) tm_request_drop(request);
}

/* Parks until it is resumed, which happens once. Guard held, released. */
static void park(struct tm_mailbox *box, const struct tm_request *waits_for, const char *call) {
  bool tells = tm_rank_self()->thread == mltp_self(); /* others of the rank wait beside it */
  if (tells) {
    mt_store_relaxed(&box->call, call);
    box->waits_for = waits_for;
    box->frame = __builtin_frame_address(0);
  }
  mt_seam_park(&box->guard, call);
  if (tells) mt_store_relaxed(&box->call, NULL);
}

void tm_requests_wait(struct tm_request *const *requests, int count, int wanted, const char *call) {
  struct tm_mailbox *box = &tm_rank_self()->box;
  struct tm_waiter waiter = {mt_seam_self(call), NULL, wanted};
  const struct tm_request *first = NULL;
  mt_seam_preempt(call);
  mt_seam_lock(&box->guard);
  int missing = 0;
  for (int i = 0; i < count; i++) {
    if (requests[i] == NULL) continue;
    if (requests[i]->done) {
      waiter.missing--;
      continue;
    }
    requests[i]->waiter = &waiter;
    if (missing++ == 0) first = requests[i];
  }
  if (waiter.missing > missing) waiter.missing = missing;
  if (waiter.missing > 0) {
    park(box, first, call);
    mt_seam_lock(&box->guard);
  }
  for (int i = 0; i < count; i++)
    if (requests[i] != NULL) requests[i]->waiter = NULL;
  mt_seam_unlock(&box->guard);
}

/* ---- the copy */

static void set_result(struct tm_request *r, const struct tm_envelope *envelope, size_t bytes) {
  size_t room = r->count * r->type->size;
  r->source = envelope->source;
  r->tag = envelope->tag;
  r->error = bytes > room ? MPI_ERR_TRUNCATE : MPI_SUCCESS;
  r->bytes = bytes > room ? room : bytes;
}

/* The sender's data go straight to where the receiver wants them. */
static void deliver(struct tm_request *send, struct tm_request *recv) {
  if (mt_unlikely(tm_match_hook != NULL))
    tm_match_hook(recv, &send->envelope, send->type, send->count);
  set_result(recv, &send->envelope, send->count * send->type->size);
  tm_type_copy(recv->buffer, recv->type, send->buffer, send->type, recv->bytes);
  tm_request_complete(recv);
}

static void receive(struct tm_request *recv, struct tm_message *m) {
  if (mt_unlikely(m->type != NULL)) {
    if (tm_match_hook != NULL) tm_match_hook(recv, &m->envelope, m->type, m->count);
    tm_type_release(m->type);
  }
  set_result(recv, &m->envelope, m->bytes);
  if (m->sender != NULL)
    tm_type_copy(recv->buffer, recv->type, m->sender->buffer, m->sender->type, recv->bytes);
  else
    tm_type_unpack(recv->buffer, recv->type, 0, m->data, recv->bytes);
  if (m->sender != NULL) tm_request_complete(m->sender);
  if (m->buffer != NULL) tm_buffer_return(m->buffer, m->bytes);
  free(m);
  tm_request_complete(recv);
}

/* ---- sending */

/* @return a message with a copy of the data, or one that refers to the send. */
static struct tm_message *make_message(struct tm_request *send, bool copy) {
  size_t bytes = send->count * send->type->size;
  struct tm_message *m = malloc(sizeof *m + (copy ? bytes : 0));
  if (m == NULL)
    tm_panic("no memory for a message of %zu bytes (fewer or smaller unreceived messages)", bytes);
  m->envelope = send->envelope;
  m->bytes = bytes;
  m->sender = copy ? NULL : send;
  m->buffer = NULL;
  m->type = NULL;
  if (mt_unlikely(tm_match_hook != NULL)) {
    m->type = send->type;
    m->count = send->count;
    tm_type_hold(m->type);
  }
  if (copy) tm_type_pack(m->data, send->buffer, send->type, 0, bytes);
  return m;
}

static void discard(struct tm_message *m) {
  if (m != NULL && m->type != NULL) tm_type_release(m->type);
  free(m);
}

/* Leaves a message, unless a receive it fits has been posted: then gives that. */
static struct tm_request *leave(struct tm_mailbox *box, struct tm_message *m) {
  struct mltp_thread *resume = NULL;
  mt_seam_lock(&box->guard);
  struct tm_request *recv = take_posted(box, &m->envelope);
  if (recv == NULL) {
    append_message(box, m);
    while (box->probers != NULL) { /* all look again: the guard holds them until we leave */
      struct tm_waiter *prober = box->probers;
      box->probers = prober->next;
      struct mltp_thread *thread = prober->thread;
      if (resume != NULL) mt_seam_resume(resume);
      resume = thread;
    }
  }
  mt_seam_unlock(&box->guard);
  if (resume != NULL) mt_seam_resume(resume);
  return recv;
}

void tm_send_start(struct tm_request *send) {
  struct tm_mailbox *box = &send->dest->box;
  size_t bytes = send->count * send->type->size;
  bool copy = send->mode == TM_BUFFERED || (send->mode != TM_SYNCHRONOUS && bytes <= TM_EAGER_MAX);
  mt_seam_preempt("send");
  mt_seam_lock(&box->guard);
  struct tm_request *recv = take_posted(box, &send->envelope);
  mt_seam_unlock(&box->guard);
  if (recv == NULL) {
    struct tm_message *m = make_message(send, copy);
    if (send->mode == TM_BUFFERED) m->buffer = send->owner->buffer;
    recv = leave(box, m);
    if (recv == NULL && !copy) return; /* the receiver completes it */
    if (recv != NULL) discard(m);
  }
  if (recv != NULL) {
    deliver(send, recv);
    if (send->mode == TM_BUFFERED) tm_buffer_return(send->owner->buffer, bytes);
  }
  tm_request_complete(send);
}

/* ---- receiving */

void tm_recv_start(struct tm_request *recv) {
  struct tm_mailbox *box = &recv->owner->box;
  struct tm_message *m = recv->message;
  mt_seam_preempt("receive");
  if (m == NULL) {
    mt_seam_lock(&box->guard);
    m = find_message(box, &recv->envelope);
    if (m != NULL)
      remove_message(box, m);
    else
      append_posted(box, recv);
    mt_seam_unlock(&box->guard);
  }
  if (m != NULL) receive(recv, m);
}

/* ---- probing and cancelling */

bool tm_mailbox_probe(const struct tm_envelope *envelope, bool take, bool wait, const char *call,
                      struct tm_envelope *found, size_t *bytes, struct tm_message **message) {
  struct tm_mailbox *box = &tm_rank_self()->box;
  struct tm_waiter waiter = {mt_seam_self(call), NULL, 1};
  mt_seam_preempt(call);
  mt_seam_lock(&box->guard);
  struct tm_message *m;
  while ((m = find_message(box, envelope)) == NULL && wait) {
    waiter.next = box->probers;
    box->probers = &waiter;
    park(box, NULL, call);
    mt_seam_lock(&box->guard);
  }
  if (m != NULL) {
    *found = m->envelope;
    *bytes = m->bytes;
    if (take) {
      remove_message(box, m);
      *message = m;
    }
  }
  mt_seam_unlock(&box->guard);
  return m != NULL;
}

/* Takes a posted receive out of its list. */
static bool withdraw_posted(struct tm_request *recv) {
  struct tm_mailbox *box = &recv->owner->box;
  mt_seam_lock(&box->guard);
  bool posted = recv->posted;
  if (posted) remove_posted(box, recv);
  mt_seam_unlock(&box->guard);
  return posted;
}

/* Takes out the message that refers to a send: its receiver may have done so meanwhile. */
static bool withdraw_message(struct tm_request *send) {
  struct tm_mailbox *box = &send->dest->box;
  mt_seam_lock(&box->guard);
  struct tm_message *m = box->arrived;
  while (m != NULL && m->sender != send) m = m->next;
  if (m != NULL) remove_message(box, m);
  mt_seam_unlock(&box->guard);
  discard(m);
  return m != NULL;
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
