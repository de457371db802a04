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
 *
 * If the sides are on two nodes, each node has a channel with the side that is there, and the two
 * talk by notes: channel_far.c.
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

  /* of sides on two nodes */
  uint64_t other;            /* [ilock] address of the other node's channel; 0: none is known */
  int other_rank;            /* [const] number in the job of the side there */
  size_t coming;             /* [ilock] pieces of the round that have not come here */
  struct tm_far_sending *to; /* [const] of a send to another node; NULL: of others */

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

/* ---- between channel.c and channel_far.c */

/** @return a channel with the side of a request, in no list; NULL: no memory. */
struct tm_channel *tm_channel_new(struct tm_request *request, int partitions);
/** Enters a channel with one side at its receiver. @return itself, or the channel that waited there
 * for this side and has it now: then it is freed. */
struct tm_channel *tm_channel_enter(struct tm_channel *own);
/** Takes a channel out of the list of its receiver, if it is there. */
void tm_channel_unlist(struct tm_channel *channel);
/** Drops a reference, the channel with the last. The lock is held, and released. */
void tm_channel_release(struct tm_channel *channel);
/** Counts bytes that have come of the send's packed data. The lock is held. */
void tm_channel_count(struct tm_channel *channel, size_t at, size_t bytes);
/** Ends a round whose data have all come. The lock is held, and released. */
void tm_channel_end_round(struct tm_channel *channel);

/** A send to another node: makes it, as tm_channel_join(); as tm_channel_ready(); begins a round;
 * its request is freed. */
bool tm_far_channel_join(struct tm_request *request, int partitions);
bool tm_far_channel_ready(struct tm_channel *channel, int partition);
void tm_far_channel_start(struct tm_channel *channel);
void tm_far_channel_leave(struct tm_channel *channel);
/** A receive from another node. @return whether it is in a round that its sender has to be allowed.
 * The lock is held. */
bool tm_far_channel_next(struct tm_channel *channel);
/** Allows it. The lock is not held. */
void tm_far_channel_allow(struct tm_channel *channel);
/** Takes a note; a tm_far_taker. */
void tm_part_take(int source, const void *data, size_t bytes);

#endif
