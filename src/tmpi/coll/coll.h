/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file coll.h
 * Collectives are messages on a context of their own. Each collective of a communicator has a
 * tag, counted by every member, so that messages of two of them never meet.
 */
#ifndef TM_COLL_COLL_H
#define TM_COLL_COLL_H

#include "tmpi/dt/type.h"
#include "tmpi/mpi/comm.h"

/** A collective call under way: whose messages, and for reports which call. */
struct tm_coll {
  struct tm_comm *comm;
  const char *call;
  int tag;
  int error; /* the first of its messages */
};

/** Begins a collective: the next tag. */
struct tm_coll tm_coll_begin(struct tm_comm *comm, const char *call);

void tm_coll_send(struct tm_coll *coll, const void *buffer, size_t count, struct tm_type *type,
                  int dest);
void tm_coll_recv(struct tm_coll *coll, void *buffer, size_t count, struct tm_type *type,
                  int source);
/** Both at a time. */
void tm_coll_exchange(struct tm_coll *coll, const void *send, size_t send_count,
                      struct tm_type *send_type, int dest, void *recv, size_t recv_count,
                      struct tm_type *recv_type, int source);

/** Returns when all members have called it. */
void tm_barrier(struct tm_comm *comm, const char *call);

/** Copies count elements from root's buffer to all others'. */
void tm_bcast(struct tm_coll *coll, void *buffer, size_t count, struct tm_type *type, int root);

/** Everybody's `bytes` bytes, in the order of ranks, to everybody. */
void tm_allgather_bytes(struct tm_coll *coll, const void *from, void *to, size_t bytes);

#endif
