/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file coll.h
 * Collectives of an intracommunicator's team, which meets (team.h); others are messages on a
 * context of their own. Each collective of a communicator has a tag, counted by every member, so
 * that messages of two of them never meet.
 */
#ifndef TM_COLL_COLL_H
#define TM_COLL_COLL_H

#include "tmpi/layout/counts.h"
#include "tmpi/layout/type.h"
#include "tmpi/object/comm.h"

/** A collective call under way: whose messages, and for reports which call. */
struct tm_coll {
  struct tm_comm *comm;
  const char *call;
  int tag;
  int error; /* the first of its messages */
  /* Of MPI_ERR_TRUNCATE: the sender, what it sent, and what there is room for; 0: not known. */
  int sender;
  size_t sent, room;
};

enum { TM_COLL_TAGS = 1 << 30 /* numbers of collectives are below */ };

/** Begins a collective: the next tag. */
static inline struct tm_coll tm_coll_begin(struct tm_comm *comm, const char *call) {
  unsigned tag = ((unsigned)comm->collectives + 1) % TM_COLL_TAGS;
  comm->collectives = (int)tag;
  comm->recent[tag % TM_RECENT] = call;
  return (struct tm_coll){comm, call, (int)tag, MPI_SUCCESS, 0, 0, 0};
}

/** The same, and notes the root for reports. */
static inline struct tm_coll tm_coll_begin_rooted(struct tm_comm *comm, const char *call,
                                                  int root) {
  struct tm_coll coll = tm_coll_begin(comm, call);
  comm->rooted[(unsigned)coll.tag % TM_RECENT] = (struct tm_rooted){coll.tag, root};
  return coll;
}

/** A collective of only some members, which agree on a tag. */
struct tm_coll tm_coll_tagged(struct tm_comm *comm, const char *call, int tag);

/** @return whether the caller is beside an intercommunicator's root: none of its arguments but the
 * root and the communicator counts. */
static inline bool tm_is_bystander(const struct tm_comm *comm, int root) {
  return comm->inter && root == MPI_PROC_NULL;
}

void tm_coll_send(struct tm_coll *coll, const void *buffer, size_t count, struct tm_type *type,
                  int dest);
void tm_coll_recv(struct tm_coll *coll, void *buffer, size_t count, struct tm_type *type,
                  int source);
/** Waits for messages that have been started, and gives back what their requests hold. */
void tm_coll_finish(struct tm_coll *coll, struct tm_request **requests, int count);
/** Both at a time. */
void tm_coll_exchange(struct tm_coll *coll, const void *send, size_t send_count,
                      struct tm_type *send_type, int dest, void *recv, size_t recv_count,
                      struct tm_type *recv_type, int source);

/** Ends the job: the rank has published nothing for this collective. rank < 0: some rank. */
void tm_not_published(const struct tm_coll *coll, int exchange, int rank)
    __attribute__((cold, noreturn));

/** Returns when all members have called it. */
void tm_barrier(struct tm_comm *comm, const char *call);

/** Copies count elements from root's buffer to all others'. */
void tm_bcast(struct tm_coll *coll, void *buffer, size_t count, struct tm_type *type, int root);

/** A context for a communicator of the same groups. */
uint64_t tm_context_agree(struct tm_comm *comm, const char *call);
/** The same by tm_context_new_limited(). */
uint64_t tm_context_agree_limited(struct tm_comm *comm, const char *call);

/* ---- with a buffer for each rank: gather.c, allgather.c, alltoall.c. A part is count elements of
 * type at an address; NULL address and no elements: none. */

struct tm_part {
  void *at;
  size_t count;
  struct tm_type *type;
};

/** The parts of a buffer for or from each rank. No counts: count each, one behind the other;
 * displs in extents of the type, or (types) in bytes. */
struct tm_parts {
  void *base;
  MPI_Count count;
  struct tm_counts counts, displs;
  struct tm_type *type;
  const MPI_Datatype *types; /* NULL: all of the one type */
};

/** @return how many elements a rank's part has. */
static inline MPI_Count tm_parts_count(const struct tm_parts *parts, int rank) {
  return tm_counts_given(parts->counts) ? tm_counts_at(parts->counts, rank) : parts->count;
}

struct tm_part tm_part_of(const struct tm_parts *parts, int rank);

/** Notes that a rank sent more bytes than there is room for. */
static inline void tm_coll_too_long(struct tm_coll *coll, int sender, size_t sent, size_t room) {
  coll->error = MPI_ERR_TRUNCATE;
  coll->sender = sender;
  coll->sent = sent;
  coll->room = room;
}

/** Copies one that a rank sent; what there is no room for counts as an error. */
void tm_part_copy(struct tm_coll *coll, const struct tm_part *to, const struct tm_part *from,
                  int sender);

/** What a rank has received and passes on: it lies in its buffer or, if it is longer or shorter
 * than that, in memory of its own. */
struct tm_passed {
  struct tm_part part;
  void *memory; /* to be freed; NULL: none */
};

/** Receives what a rank sent, for a caller that passes all of it on. Its own part gets what fits;
 * the others may have room for more. */
struct tm_passed tm_coll_recv_whole(struct tm_coll *coll, const struct tm_part *own, int source);

/** A buffer to send from, in a structure that serves for both. */
static inline void *tm_sendbuf(const void *buffer) { return (void *)(uintptr_t)buffer; }

/** Everybody's part to root's parts. */
void tm_gather(struct tm_coll *coll, const struct tm_part *own, const struct tm_parts *all,
               int root);
/** The reverse. */
void tm_scatter(struct tm_coll *coll, const struct tm_parts *all, const struct tm_part *own,
                int root);

/** Every rank's part to all. Not of an intercommunicator. own->at MPI_IN_PLACE: it is there. */
void tm_allgather(struct tm_coll *coll, const struct tm_part *own, const struct tm_parts *all);

/* ---- reduction.c: not of an intercommunicator */
struct tm_op;

/** All ranks' elements combined, in the order of ranks, to root. to: of root only. */
void tm_reduce(struct tm_coll *coll, const void *from, void *to, size_t count, struct tm_type *type,
               const struct tm_op *op, int root);

/** The same, to all. */
void tm_allreduce(struct tm_coll *coll, const void *from, void *to, size_t count,
                  struct tm_type *type, const struct tm_op *op);
/** Of all ranks' elements combined, those from `first` on. */
void tm_reduce_part(struct tm_coll *coll, const void *from, size_t first, size_t count, void *to,
                    struct tm_type *type, const struct tm_op *op);

/** Memory for elements; NULL: no memory. Give back what base is. */
void *tm_elements_new(size_t count, const struct tm_type *type, void **base);

/* ---- validate.c: arguments of collectives. Each returns MPI_SUCCESS or what tm_fail() returned.
 */
int tm_refuse_count(struct tm_comm *comm, const char *call, MPI_Count count) __attribute__((cold));
static inline int tm_check_count(struct tm_comm *comm, const char *call, MPI_Count count) {
  return mt_likely(count >= 0) ? MPI_SUCCESS : tm_refuse_count(comm, call, count);
}

/** Checks the counts of `many` parts. */
int tm_check_counts(struct tm_comm *comm, const char *call, const struct tm_parts *parts, int many);
/** Checks that their bytes do not wrap: tm_check_bytes(). */
int tm_check_bytes_of_all(struct tm_comm *comm, const char *call, const struct tm_parts *parts,
                          int many, const struct tm_type *type);
/** A part as given, or MPI_IN_PLACE; *part gets the type, too. */
int tm_check_part(struct tm_comm *comm, const char *call, const struct tm_part *given,
                  MPI_Datatype type, struct tm_part *part);
/** The parts of all ranks of the other side. */
int tm_check_parts(struct tm_comm *comm, const char *call, const struct tm_parts *given,
                   MPI_Datatype type, struct tm_parts *parts);
/** tm_check_root() of an intercommunicator, and of a root that is no rank. */
int tm_check_other_root(struct tm_comm *comm, const char *call, int root);
static inline int tm_check_root(struct tm_comm *comm, const char *call, int root) {
  bool usual = root >= 0 && root < comm->size && !comm->inter;
  return mt_likely(usual) ? MPI_SUCCESS : tm_check_other_root(comm, call, root);
}

int tm_check_op(struct tm_comm *comm, const char *call, MPI_Op handle, const struct tm_type *type,
                const struct tm_op **op);
/**
 * Checks that what the caller sends does not begin where its own result goes: both would have the
 * same type, so they overlap. Ranks that read the one while the other is filled get wrong values.
 * Different types may select different elements of one array, so they are no error.
 */
int tm_check_alias(struct tm_comm *comm, const char *call, const struct tm_part *sent,
                   const struct tm_part *filled);
/** What the call returns for the collective's messages. */
int tm_coll_result(const struct tm_coll *coll);

#endif
