/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file meet.h
 * The steps by which a message and its receive meet; mailbox.h has the protocol.
 *
 * Relaxed: the words that a spinner reads, as hints.
 */
#ifndef TM_MATCH_MEET_H
#define TM_MATCH_MEET_H

#include "tmpi/mailbox/intake.h"
#include "tmpi/match/entries.h"
#include "tmpi/match/rank_wait.h"

/** Puts a message there and wakes the probing threads. The internal lock is held. */
static inline void tm_leave(struct tm_mailbox *box, struct tm_message *m) {
  tm_queue_add_message(&box->arrived, &m->entry);
  tm_count_mail(box, 1);
  box->held += m->held;
  while (box->probers != NULL) {
    struct tm_waiter *prober = box->probers;
    box->probers = prober->next;
    tm_waiter_end(prober);
    if (prober->thread != NULL) tm_resume(box, prober->thread);
    /* it cannot be gone: it takes the internal lock first */
  }
}

/** A message that is shorter than the receive. @return MPI_ERR_TYPE: it ends within an element. */
int tm_short_error(const struct tm_type *type, size_t bytes);

static inline void tm_set_result(struct tm_request *r, const struct tm_envelope *envelope,
                                 size_t bytes) {
  size_t room = tm_request_bytes(r);
  r->source = envelope->source;
  r->tag = envelope->tag;
  r->error = bytes == room  ? MPI_SUCCESS
             : bytes > room ? MPI_ERR_TRUNCATE
                            : tm_short_error(r->type, bytes);
  r->bytes = bytes > room ? room : bytes;
}

/** A receive gets few bytes, which mostly are those of a slot. */
static inline void tm_short_unpack(const struct tm_envelope *envelope, size_t bytes,
                                   const char *data, struct tm_request *recv) {
  tm_set_result(recv, envelope, bytes);
  if (mt_likely(tm_type_is_flat(recv->type)))
    tm_slot_copy(recv->buffer, data, recv->bytes);
  else
    tm_type_unpack(recv->buffer, recv->type, 0, data, recv->bytes);
}

/** A receive gets the oldest message of an intake. The mailbox's lock is held. */
static inline void tm_intake_unpack(struct tm_intake *in, const struct tm_intake_slot *first,
                                    struct tm_request *recv) {
  struct tm_short_message m;
  tm_intake_read(in, first, &m);
  size_t bytes = tm_slot_bytes(m.full);
  tm_short_unpack(m.envelope, bytes, m.data, recv);
  tm_intake_take(in, bytes);
}

#endif
