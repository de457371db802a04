/* SPDX-License-Identifier: Apache-2.0 */
/* Messages between nodes; far.h has the protocol. */
#include "tmpi/match/far.h"

#include <stdlib.h>
#include <string.h>

#include "core/internal/locks.h"
#include "core/internal/process.h"
#include "tmpi/error/errors.h"
#include "tmpi/layout/type.h"
#include "tmpi/match/match.h"
#include "tmpi/match/meet.h"

static void on_idle(bool sleeps) {
  if (sleeps)
    tm_job.far->rest();
  else
    tm_job.far->poll(1);
}

void tm_far_start(const struct tm_transport *transport) {
  tm_job.far = transport;
  mti_set_idle_hook(on_idle);
}

int tm_far_refuse(struct tm_comm *comm, const char *call) {
  return tm_fail(comm, call, MPI_ERR_UNSUPPORTED_OPERATION,
                 "it is not available between several nodes (run the job on one node)");
}

/* ---- sending */

void tm_far_end(struct tm_far_send *send) {
  if (send->buffer != NULL) tm_buffer_return(send->buffer, send->header.bytes);
  if (send->request != NULL) tm_request_complete(send->request);
  free(send);
}

enum { COPIED_MAX = 1024 /* bytes; UCX then takes header and data as one piece, in less time */ };

/* The mode is read first: once the message is under way another thread may complete the request. */
bool tm_far_send(struct tm_request *request) {
  size_t bytes = tm_request_bytes(request);
  bool buffered = request->mode == TM_BUFFERED,
       copies = buffered || bytes <= COPIED_MAX || !tm_type_is_flat(request->type);
  bool fetched = bytes > TM_FAR_EAGER_MAX, answered = request->mode == TM_SYNCHRONOUS && !fetched;
  struct tm_far_send *send = malloc(sizeof *send + (copies ? bytes : 0));
  if (send == NULL) tm_message_panic(bytes);
  *send = (struct tm_far_send){.header = {.context = request->entry.envelope.context,
                                          .bytes = bytes,
                                          .answer = answered ? (uintptr_t)send : 0,
                                          .source = request->entry.envelope.source,
                                          .tag = request->entry.envelope.tag,
                                          .dest = request->dest->number,
                                          .node = tm_rank_node(tm_job.first)},
                               .data = copies ? send->packed : request->buffer,
                               .fetched = fetched,
                               .joins = !(fetched || answered || buffered || request->borrows),
                               .parts = answered ? 2 : 1,
                               .request = buffered ? NULL : request,
                               .buffer = buffered ? request->buffered : NULL,
                               .number = &request->left};
  request->extra = send;
  if (copies) tm_short_pack(send->packed, request, bytes);
  if (!tm_job.far->send(send, tm_rank_node(request->dest->number), false)) return buffered;
  send->request = NULL; /* nobody has seen it yet: its caller completes it */
  tm_far_end(send);
  return true;
}

/* ---- notes */

struct tm_far_send *tm_far_note_new(size_t bytes) {
  struct tm_far_send *note = malloc(sizeof *note + bytes);
  if (note == NULL) tm_message_panic(bytes);
  *note = (struct tm_far_send){.header.bytes = bytes, .data = note->packed, .parts = 1};
  return note;
}

void tm_far_note_send(struct tm_far_send *note, enum tm_far_service service, int dest,
                      bool inside) {
  const struct tm_rank *rank = inside ? NULL : tm_rank_self();
  note->header.service = (int32_t)service;
  note->header.source = rank != NULL ? rank->number : tm_job.first;
  note->header.dest = dest;
  note->header.node = tm_rank_node(tm_job.first);
  if (tm_job.far->send(note, tm_rank_node(dest), inside)) tm_far_end(note);
}

void (*tm_far_check_hook)(const void *data, size_t bytes);

void tm_far_check(const void *data, size_t bytes, int dest) {
  if (tm_rank_is_here(dest)) {
    tm_far_check_hook(data, bytes);
    return;
  }
  struct tm_far_send *note = tm_far_note_new(bytes);
  memcpy(tm_far_note_data(note), data, bytes);
  tm_far_note_send(note, TM_FAR_CHECK, dest, false);
}

void tm_far_take_check(int source, const void *data, size_t bytes) {
  (void)source;
  if (tm_far_check_hook != NULL) tm_far_check_hook(data, bytes);
}

/* ---- receiving */

/* What stands in the mailbox for a send of another node. */
struct far_sender {
  struct tm_request request; /* the first member: of kind TM_FAR */
  void *announced;           /* what fetches the data; NULL: they are in the message */
  int node;
  uint64_t answer;
};

static void fetch(struct tm_request *recv, const struct tm_envelope *envelope, size_t bytes,
                  int node, void *announced, bool inside) {
  struct tm_far_fetch *f = malloc(sizeof *f);
  bool direct = tm_type_is_flat(recv->type) && bytes <= tm_request_bytes(recv);
  void *packed = direct ? NULL : malloc(bytes);
  if (f == NULL || (packed == NULL && !direct)) tm_message_panic(bytes);
  *f = (struct tm_far_fetch){recv, *envelope, bytes, node, packed, NULL};
  tm_job.far->fetch(announced, direct ? recv->buffer : packed, f, inside);
}

void tm_far_fetched(struct tm_far_fetch *f) {
  struct tm_request *recv = f->recv;
  if (f->ended != NULL) {
    f->ended(f);
    return;
  }
  tm_set_result(recv, &f->envelope, f->bytes);
  if (f->packed != NULL) tm_type_unpack(recv->buffer, recv->type, 0, f->packed, recv->bytes);
  free(f->packed);
  free(f);
  tm_request_end(recv);
}

bool tm_far_receive(struct tm_request *recv, struct tm_message *m) {
  struct far_sender *sender = (struct far_sender *)m->sender;
  bool here = sender->announced == NULL;
  if (here) {
    tm_set_result(recv, tm_message_envelope(m), m->bytes);
    tm_type_unpack(recv->buffer, recv->type, 0, m->data, recv->bytes);
    tm_job.far->answer(sender->node, sender->answer, false);
  } else {
    fetch(recv, tm_message_envelope(m), m->bytes, sender->node, sender->announced, false);
  }
  free(sender);
  tm_message_discard(m);
  return here;
}

/* A message whose receive has not been posted yet. */
static struct tm_message *keep(const struct tm_far_header *header,
                               const struct tm_envelope *envelope, const void *data,
                               void *announced) {
  size_t room = announced == NULL ? header->bytes : 0;
  struct tm_message *m = tm_message_new(envelope, header->bytes, room);
  m->is_cell = false; /* no mailbox keeps it: it may have room for more, or for less */
  m->held = (uint32_t)(sizeof *m + room);
  m->slot_tag = (uint32_t)header->sequence;
  if (room > 0) tm_type_pack(m->data, data, tm_type_of(MPI_BYTE), 0, room);
  if (announced == NULL && header->answer == 0) return m;
  struct far_sender *sender = calloc(1, sizeof *sender);
  if (sender == NULL) tm_message_panic(header->bytes);
  sender->request.kind = TM_FAR;
  sender->announced = announced;
  sender->node = header->node;
  sender->answer = header->answer;
  m->sender = &sender->request;
  return m;
}

void tm_far_drop(struct tm_message *m) {
  struct far_sender *sender = (struct far_sender *)m->sender;
  if (sender != NULL && sender->announced != NULL)
    tm_job.far->drop(sender->announced, true);
  else if (sender != NULL)
    tm_job.far->answer(sender->node, sender->answer, true);
  free(sender);
  tm_message_discard(m);
}

static void deliver(struct tm_request *recv, const struct tm_far_header *header,
                    const struct tm_envelope *envelope, const void *data, void *announced) {
  if (announced != NULL) {
    fetch(recv, envelope, header->bytes, header->node, announced, true);
    return;
  }
  tm_set_result(recv, envelope, header->bytes);
  tm_type_unpack(recv->buffer, recv->type, 0, data, recv->bytes);
  tm_request_end(recv);
  if (header->answer != 0) tm_job.far->answer(header->node, header->answer, true);
}

/* The same with the lock of the mailbox, which is released: a message of few bytes takes the lock
 * once. */
static void deliver_short_unlock(struct tm_request *recv, const struct tm_far_header *header,
                                 const struct tm_envelope *envelope, const void *data) {
  struct tm_mailbox *box = &recv->owner->box;
  bool freed = false;
  tm_short_unpack(envelope, header->bytes, data, recv);
  struct mltp_thread *thread = recv->parks ? recv->blocked : tm_request_mark_done(recv, &freed);
  mti_unlock(&box->ilock); /* from here on recv may be gone */
  if (thread != NULL) tm_resume(box, thread);
  if (freed) tm_request_drop(recv);
  if (header->answer != 0) tm_job.far->answer(header->node, header->answer, true);
}

static void enter_mailbox(const struct tm_far_header *header, const void *data, void *announced) {
  const struct tm_envelope envelope = {header->context, header->source, header->tag};
  struct tm_mailbox *box = &tm_job.ranks[header->dest].box;
  struct tm_message *m = NULL;
  mti_lock(&box->ilock);
  struct tm_request *recv = tm_take_posted(box, &envelope);
  if (recv != NULL && announced == NULL && header->bytes <= TM_CELL_BYTES) {
    deliver_short_unlock(recv, header, &envelope, data);
    return;
  }
  if (recv == NULL) { /* no memory is allocated with the lock held, so it looks again */
    mti_unlock(&box->ilock);
    m = keep(header, &envelope, data, announced);
    mti_lock(&box->ilock);
    recv = tm_take_posted(box, &envelope);
  }
  if (recv == NULL) tm_leave(box, m);
  mti_unlock(&box->ilock);
  if (recv == NULL) return;
  if (m != NULL) free(m->sender); /* far_sender begins with it */
  tm_message_discard(m);
  deliver(recv, header, &envelope, data, announced);
}

void tm_far_arrive(const struct tm_far_header *header, const void *data, void *announced) {
  if (header->service == TM_FAR_MAILBOX)
    enter_mailbox(header, data, announced);
  else if (announced != NULL)
    tm_far_announced(header, data, announced);
  else
    tm_far_takers[header->service](header->source, data, header->bytes);
}
