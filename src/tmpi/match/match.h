/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file match.h
 * Sends and receives are started, completed and waited for; mailbox.h has the protocol.
 */
#ifndef TM_MATCH_MATCH_H
#define TM_MATCH_MATCH_H

#include <stdbool.h>
#include <stddef.h>

#include "base/atomic.h"
#include "tmpi/mailbox/mailbox.h"

/** Gives back what it holds. */
void tm_request_empty(struct tm_request *request);
/** The same, and frees it. */
void tm_request_drop(struct tm_request *request);

/** Starts a send or a receive; the request's constant fields are set. It may be complete when
 * this returns. */
void tm_send_start(struct tm_request *request);
void tm_recv_start(struct tm_request *request);

/** The same, and returns when it is complete; nobody else waits for it. The request may be on the
 * stack. call: as below. */
void tm_send(struct tm_request *request, const char *call);
void tm_recv(struct tm_request *request, const char *call);

/** Waits for a receive that was started with `copies` set. call: as below. */
void tm_recv_wait(struct tm_request *recv, const char *call);

/** @return whether it was found complete already. The mailbox's lock may be held. */
static inline bool tm_request_was_done(const struct tm_request *request) {
  /* MB-2 acquire: the results; pairs MB-1 MB-3 */
  return mt_load_acquire(&request->done) != 0;
}

/** Takes what has come for the rank of a request that was not complete. @return as the next one */
bool tm_request_done_by_now(struct tm_request *request);

/** @return whether it is complete; then what it brought may be read. Takes what has come for its
 * rank first, if it is not. */
static inline bool tm_request_done(struct tm_request *request) {
  return tm_request_was_done(request) || tm_request_done_by_now(request);
}

/** The same for a program that looks again and again: lets others run if it is not. */
bool tm_request_poll(struct tm_request *request);

/** Lets others run, for a program that looks again and again whether one of the requests is
 * complete; NULL entries count for nothing. Where other programs want the CPU, it waits until one
 * is, or for some time. */
void tm_requests_poll(struct tm_request *const *requests, int count);

/** Completes a request whose results are set; frees it if nobody is to wait for it. */
void tm_request_complete(struct tm_request *request);

/** The part of that under the lock of its owner's mailbox, which the caller holds. From its release
 * on the request may be gone. @return a thread to resume, NULL: none. *freed: nobody is to wait. */
struct mltp_thread *tm_request_mark_done(struct tm_request *request, bool *freed);

/** Waits until `wanted` of the requests, or all there are, are complete; NULL entries count for
 * nothing. call: the MPI function, for reports. */
void tm_requests_wait(struct tm_request *const *requests, int count, int wanted, const char *call);

/** Takes requests that are complete while others are waited for, in their order. */
struct tm_taker {
  void (*take)(struct tm_taker *taker); /* the next one, or not; it calls no code of the program */
  int taken;                            /* requests taken; nothing may touch these any more */
};

/** Waits until all of the requests are complete. The taker may have taken some of them by then. */
void tm_requests_wait_all(struct tm_request *const *requests, int count, struct tm_taker *taker,
                          const char *call);

/** Looks for a message that has arrived and that a receive, which is not started, would get. take:
 * removes it from the list, for tm_recv_start(). wait_ns: if there is none, waits for the next
 * message, for this time at most, and looks again; 0: does not wait; MLTP_NEVER: waits until there
 * is one. @return false: none; or its envelope, size and (take) the message. */
bool tm_mailbox_probe(const struct tm_request *probe, bool take, uint64_t wait_ns, const char *call,
                      struct tm_envelope *found, size_t *bytes, struct tm_message **message);

/** Withdraws a receive no message has come for, or a send nobody has received: also one that is
 * complete, since it has left a copy. A send to another node waits for that node. */
void tm_request_withdraw(struct tm_request *request);

/* ---- far.c: messages between nodes */

/** A request that was in a queue has what it waited for. Its thread may be parked for it. */
void tm_request_end(struct tm_request *request);

/** Sends to a rank of another node. @return whether the send is complete. */
bool tm_far_send(struct tm_request *request);

/** Receives a message whose sender is of kind TM_FAR. It has left the mailbox. @return whether the
 * receive is complete. */
bool tm_far_receive(struct tm_request *recv, struct tm_message *m);

/** Withdraws a send to another node, unless it has been received there. Waits for that node. */
void tm_far_cancel(struct tm_request *request);

/* ---- buffer.c: MPI_Buffer_attach() */

/** Counts a buffered send in the buffer of its communicator, session or rank. @return the buffer,
 * in which it counts until tm_buffer_return(); NULL: there is none, or no room in it. */
struct tm_buffer *tm_buffer_claim(const struct tm_request *request, size_t bytes);
void tm_buffer_return(struct tm_buffer *buffer, size_t bytes);
/** Waits until all its messages have been received. The caller has a reference. */
void tm_buffer_drain(struct tm_buffer *buffer, const char *call);
void tm_buffer_hold(struct tm_buffer *buffer);
void tm_buffer_release(struct tm_buffer *buffer);

#endif
