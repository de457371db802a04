/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The buffer of buffered sends. Its memory is not used: a message is copied to memory of its own;
 * what is kept here is the account of what the standard lets a program rely on.
 *
 * Relaxed: the call a rank waits in.
 */
#include <stdlib.h>

#include "base/atomic.h"
#include "core/internal/locks.h"
#include "core/internal/park.h"
#include "core/internal/thread.h"
#include "tmpi/match/match.h"
#include "tmpi/match/rank_wait.h"
#include "tmpi/object/comm.h"
#include "tmpi/object/session.h"

/* What a message costs beside its data: less than MPI_BSEND_OVERHEAD, which is for all libraries of
 * the ABI; programs that attach a little less than they should run on others too. */
enum { COST = 64 };

static struct tm_buffer *buffer_of(const struct tm_request *request) {
  const struct tm_comm *comm = request->comm;
  if (comm->buffer != NULL) return comm->buffer;
  if (comm->session != NULL && comm->session->buffer != NULL) return comm->session->buffer;
  return request->owner->buffer;
}

static bool take(struct tm_buffer *buffer, size_t bytes) {
  mti_lock(&buffer->ilock);
  bool room = bytes + COST <= buffer->size - buffer->used;
  if (room) buffer->used += bytes + COST;
  mti_unlock(&buffer->ilock);
  return room;
}

/* Under the owner's lock, so that no thread detaches the buffer in between: it then waits for this
 * message. */
struct tm_buffer *tm_buffer_claim(const struct tm_request *request, size_t bytes) {
  mti_lock(&request->owner->buffers_ilock);
  struct tm_buffer *buffer = buffer_of(request);
  bool room = buffer != NULL && take(buffer, bytes);
  mti_unlock(&request->owner->buffers_ilock);
  return room ? buffer : NULL;
}

void tm_buffer_hold(struct tm_buffer *buffer) {
  mti_lock(&buffer->ilock);
  buffer->refs++;
  mti_unlock(&buffer->ilock);
}

void tm_buffer_release(struct tm_buffer *buffer) {
  mti_lock(&buffer->ilock);
  bool last = --buffer->refs == 0;
  mti_unlock(&buffer->ilock);
  if (last) free(buffer);
}

/* Waiters are resumed under the internal lock: they cannot leave, and their stacks with them,
 * before. */
void tm_buffer_return(struct tm_buffer *buffer, size_t bytes) {
  mti_lock(&buffer->ilock);
  buffer->used -= bytes + COST;
  while (buffer->used == 0 && buffer->waiters != NULL) {
    struct tm_waiter *waiter = buffer->waiters;
    buffer->waiters = waiter->next;
    mti_resume(waiter->thread);
  }
  mti_unlock(&buffer->ilock);
}

void tm_buffer_drain(struct tm_buffer *buffer, const char *call) {
  struct tm_waiter waiter = {.thread = mti_self(call), .missing = 1};
  struct tm_rank *rank = tm_rank_self();
  for (;;) {
    bool noted = tm_begin_wait(rank, NULL, call);
    mti_lock(&buffer->ilock);
    if (buffer->used == 0) {
      mti_unlock(&buffer->ilock);
      if (noted) mt_store_relaxed(&rank->call, NULL);
      return;
    }
    waiter.next = buffer->waiters;
    buffer->waiters = &waiter;
    tm_mailbox_park(rank, &buffer->ilock, NULL, call);
  }
}
