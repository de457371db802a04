/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file channel.h
 * Partitioned messages: a channel joins one MPI_Psend_init() and one MPI_Precv_init().
 *
 * The two meet when the later of them is called, by communicator, source and tag, in the order of
 * the calls. Until then the channel is in a list of the receiving rank. Each MPI_Start() begins a
 * round of its side. A partition that is ready is copied once, from buffer to buffer, when both
 * sides are in the same round: by the thread that calls MPI_Pready(), or by the receiver's
 * MPI_Start() if that comes later. A round ends for both when the last partition has been copied,
 * so no side is ahead of the other by more than one.
 *
 * The internal lock protects what is marked [ilock]; no data are copied under it. A partition that
 * is TM_PART_TAKEN belongs to the thread that copies it.
 *
 * Rejected: a message for each partition (matching again in each round; partitions of the two sides
 * need not agree), data kept for a receiver that has not started (a second copy).
 */
#ifndef TM_PART_CHANNEL_H
#define TM_PART_CHANNEL_H

#include "tmpi/request/request.h"

enum tm_part_state { TM_PART_EMPTY, TM_PART_READY, TM_PART_TAKEN };

/** The send or the receive of a channel. */
struct tm_part_side {
  struct tm_request *request; /* [ilock] NULL: it is not there yet, or was freed */
  int partitions;             /* [const] */
  size_t bytes;               /* [const] of a partition, packed */
  uint64_t round;             /* [ilock] times it was started */
};

struct tm_channel {
  uint32_t ilock;
  int refs; /* [ilock] sides */
  struct tm_part_side send, recv;
  uint8_t *states; /* [ilock] enum tm_part_state of each partition of the send */
  size_t *arrived; /* [ilock] bytes that have come of each partition of the receive */
  int copied;      /* [ilock] partitions of the send, in this round */

  /* while it waits for its other side */
  struct tm_channel *next; /* [lock:the receiver's channels_ilock] */
  uint64_t context;        /* [const] of the communicator */
  int source, tag;         /* [const] */
  struct tm_rank *receiver;
};

/** A partitioned request's own: its channel, NULL with MPI_PROC_NULL. */
static inline struct tm_channel *tm_channel_of(const struct tm_request *request) {
  return request->extra;
}

/** Joins a request that is filled to its channel, a new one or one that waits for it.
 * @return false: no memory. */
bool tm_channel_join(struct tm_request *request, int partitions);

/** Of requests: MPI_Start(), and the end of one that is freed. */
int tm_channel_start(struct tm_request *request);
void tm_channel_leave(struct tm_request *request);

/** Marks a partition of an active send, and copies it if it can be. @return false: it was marked
 * in this round already. */
bool tm_channel_ready(struct tm_channel *channel, int partition);

/** @return whether all data of a partition of the receive have come. */
bool tm_channel_arrived(struct tm_channel *channel, int partition);

#endif
