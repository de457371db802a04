/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cancelling a send to another node. The sender's node asks the receiver's node by a note, which
 * arrives after the message. The receiver's node takes the message out of the mailbox if no receive
 * has taken it, and answers. MPI_Cancel() waits for that answer, which needs no rank of the other
 * node.
 *
 * A message is known by its envelope and the number that the transport has given it.
 *
 * A send that is not over gets one part more until the answer has come. Otherwise another thread,
 * which waits for the request, could see it complete and free it before the result is written.
 */
#include <string.h>

#include "core/internal/locks.h"
#include "core/internal/thread.h"
#include "tmpi/match/entries.h"
#include "tmpi/match/far.h"
#include "tmpi/match/match.h"
#include "tmpi/match/rank_wait.h"

/* A call of MPI_Cancel(). On its stack. */
struct asker {
  struct tm_request *request; /* [const] */
  struct tm_far_send *send;   /* [const] that has one part more; NULL: it is over */
  struct mltp_thread *thread; /* [ilock of the request's owner] that is parked; NULL: none */
  bool answered;              /* [ilock of the request's owner] */
};

struct question {
  struct tm_envelope envelope;
  uint64_t number;
  uint64_t asker;
  int64_t dest; /* the receiver's number in the job */
};

struct reply {
  uint64_t asker;
  uint64_t cancelled; /* 0: the message has been received */
};

/* ---- the sender's node */

bool tm_far_hold(struct tm_request *request) {
  if (tm_request_was_done(request)) return false;
  ((struct tm_far_send *)request->extra)->parts++;
  return true;
}

void tm_far_cancel(struct tm_request *request) {
  struct tm_mailbox *box = &request->owner->box;
  struct asker asker = {.request = request};
  if (tm_job.far->hold(request)) asker.send = request->extra;
  const struct question question = {.envelope = request->entry.envelope,
                                    .number = request->left,
                                    .asker = (uintptr_t)&asker,
                                    .dest = request->dest->number};
  struct tm_far_send *note = tm_far_note_new(sizeof question);
  memcpy(tm_far_note_data(note), &question, sizeof question);
  tm_far_note_send(note, TM_FAR_CANCEL, request->dest->number, false);
  mti_lock(&box->ilock);
  if (asker.answered) {
    mti_unlock(&box->ilock);
    return;
  }
  asker.thread = mti_self("MPI_Cancel");
  tm_mailbox_park(request->owner, &box->ilock, NULL, "MPI_Cancel");
}

void tm_far_take_reply(int source, const void *data, size_t bytes) {
  struct reply reply;
  (void)source, (void)bytes;
  memcpy(&reply, data, sizeof reply);
  struct asker *asker = (struct asker *)(uintptr_t)reply.asker;
  struct tm_request *request = asker->request;
  struct tm_far_send *send = asker->send;
  struct tm_mailbox *box = &request->owner->box;
  mti_lock(&box->ilock);
  if (reply.cancelled != 0) {
    request->cancelled = true;
    request->bytes = 0;
  }
  asker->answered = true;
  struct mltp_thread *thread = asker->thread;
  mti_unlock(&box->ilock); /* from here on the asker may be gone, unless it is parked */
  if (thread != NULL) tm_resume(box, thread);
  if (send != NULL && tm_far_part(send)) tm_far_end(send);
}

/* ---- the receiver's node */

static bool is_asked_for(const struct tm_message *m, const struct question *question) {
  return m->slot_tag == (uint32_t)question->number &&
         tm_envelope_fits(tm_message_envelope(m), &question->envelope);
}

/* @return the message, which has left the mailbox; NULL: it is not there any more. */
static struct tm_message *take_out(struct tm_mailbox *box, const struct question *question) {
  mti_lock(&box->ilock);
  struct tm_message_entry *entry = box->arrived.latest;
  while (entry != NULL && !is_asked_for(tm_message_of(entry), question)) entry = entry->earlier;
  struct tm_message *m = tm_message_of(entry);
  if (m != NULL) tm_take_out(box, m);
  mti_unlock(&box->ilock);
  return m;
}

void tm_far_take_question(int source, const void *data, size_t bytes) {
  struct question question;
  (void)bytes;
  memcpy(&question, data, sizeof question);
  struct tm_message *m = take_out(&tm_job.ranks[question.dest].box, &question);
  const struct reply reply = {.asker = question.asker, .cancelled = m != NULL};
  struct tm_far_send *note = tm_far_note_new(sizeof reply);
  memcpy(tm_far_note_data(note), &reply, sizeof reply);
  tm_far_note_send(note, TM_FAR_CANCELLED, source, true);
  if (m != NULL) tm_far_drop(m);
}
