/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The buffer of buffered sends. Its memory is not used: a message is copied to memory of its own;
 * what is kept here is the account of what the standard lets a program rely on.
 */
#include "core/seam.h"
#include "tmpi/match/mailbox.h"

/* What a message costs beside its data: less than MPI_BSEND_OVERHEAD, which is for all libraries of
 * the ABI; programs that attach a little less than they should run on others too. */
enum { COST = 64 };

bool tm_buffer_take(struct tm_buffer *buffer, size_t bytes) {
  mt_seam_lock(&buffer->guard);
  bool room = bytes + COST <= buffer->size - buffer->used;
  if (room) buffer->used += bytes + COST;
  mt_seam_unlock(&buffer->guard);
  return room;
}

void tm_buffer_return(struct tm_buffer *buffer, size_t bytes) {
  mt_seam_lock(&buffer->guard);
  buffer->used -= bytes + COST;
  struct tm_waiter *waiter = buffer->used == 0 ? buffer->waiter : NULL;
  struct mltp_thread *thread = waiter != NULL ? waiter->thread : NULL;
  if (waiter != NULL) buffer->waiter = NULL;
  mt_seam_unlock(&buffer->guard);
  if (thread != NULL) mt_seam_resume(thread);
}

void tm_buffer_drain(struct tm_buffer *buffer, const char *call) {
  struct tm_waiter waiter = {mt_seam_self(call), NULL, 1};
  mt_seam_lock(&buffer->guard);
  if (buffer->used > 0) {
    buffer->waiter = &waiter;
    mt_seam_park(&buffer->guard, call);
  } else {
    mt_seam_unlock(&buffer->guard);
  }
}
