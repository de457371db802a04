/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file deferred.h
 * Bounds the memory of a mailbox whose owner does not receive.
 *
 * A small message for which no receive is posted is copied, so that its sender proceeds. When a
 * mailbox holds TM_HELD_MAX bytes of copies and its rank does not wait in MPI, the next message is
 * deferred: it enters the mailbox at its position, but its data stay with its sender, which is
 * complete when they have been received. MPI_Send() waits for that; MPI_Isend() returns.
 *
 * A rank that waits in MPI for something else, or polls, releases the deferred messages: they are
 * copied, and their senders are complete. While it waits none is deferred. So a program that relies
 * on buffering stops only while the receiver computes, as under an MPI whose receiver empties a
 * queue of limited length in each call.
 *
 * No message stays deferred while its receiver waits: the receiver stores its call, makes a light
 * fence, and reads TM_DEFERRED (DF-1, DF-2); the sender sets TM_DEFERRED, makes a heavy fence, and
 * reads the call (DF-3, DF-4). One of them sees the other and releases. A receiver that parks under
 * the mailbox's own lock looks under that lock. Where the fence does not work nothing is deferred,
 * and neither for ranks whose other threads may call MPI.
 *
 * The mailbox's internal lock protects the list.
 *
 * Rejected: credits for each pair of ranks (memory in the square of ranks); a sender that sleeps
 * and looks again (thousands of senders would wake up for nothing).
 */
#ifndef TM_MATCH_DEFERRED_H
#define TM_MATCH_DEFERRED_H

#include <stdbool.h>

#include "tmpi/rank/rank.h"

/** @return whether the rank's mailbox is full and the rank does not wait. Its lock is held. */
bool tm_deferred_wanted(const struct tm_rank *rank);

/** Enters a message that is in the mailbox, or leaves the list. The lock is held. */
void tm_deferred_add(struct tm_rank *rank, struct tm_message *m);
void tm_deferred_remove(struct tm_mailbox *box, struct tm_message *m);

/** After tm_deferred_add(), without the lock: releases the messages if the rank waits by now. */
void tm_deferred_settle(struct tm_rank *rank);

/** Copies all deferred messages of a rank and completes their senders. Any thread that holds no
 * mailbox's lock. */
TM_EXPORT void tm_deferred_release(struct tm_rank *rank);

#endif
