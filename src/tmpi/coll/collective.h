/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file collective.h
 * A collective apart from the form it is called in: blocking, nonblocking (MPI_I...) or persistent
 * (..._init), each also with 64-bit counts (..._c). All forms but the blocking ones of each
 * collective are made from the blocking ones' prototypes (tools/mpi/forms.py): they put their
 * arguments into a struct tm_collective and say what to do with it.
 *
 * Nonblocking and persistent: a thread of the library performs the blocking one when all members
 * have started it (gang.h). There is one algorithm for all. It works on a shadow of the
 * communicator, with the same groups and a context that all members compute alike: from the
 * communicator's and how many nonblocking collectives it has started. So several may be under way,
 * and none meets another or a blocking one. Arguments are checked before: the thread can fail only
 * by what others send.
 */
#ifndef TM_COLL_COLLECTIVE_H
#define TM_COLL_COLLECTIVE_H

#include "tmpi/coll/coll.h"

struct tm_collective;

/** The ranks that have a buffer to send from, or to receive in. */
enum tm_who {
  TM_NOBODY,
  TM_ALL,
  TM_ROOT,  /**< the one that root names */
  TM_OTHERS /**< all, but for an intercommunicator's root and the ranks beside it (MPI_PROC_NULL) */
};

/** How many parts a buffer has. */
enum tm_parts_for {
  TM_ONE,
  TM_RANKS,    /**< one for each rank of the other side */
  TM_MEMBERS,  /**< one for each rank of the own side */
  TM_NEIGHBORS /**< one for each neighbour */
};

/** What a collective is. kinds.c has them all. */
struct tm_collective_kind {
  int (*perform)(const struct tm_collective *c);
  enum tm_who sends, receives;
  enum tm_parts_for send_parts, recv_parts;
  bool rooted, reduces, intra_only, on_topology;
};

/** The arguments of one, as given; those it does not have are 0. */
struct tm_collective {
  const char *call;
  const struct tm_collective_kind *kind;
  struct tm_parts send, recv; /* `type` is not set yet */
  MPI_Datatype sendtype, recvtype;
  MPI_Op op;
  int root;
  MPI_Comm comm;                    /* of the call; then the shadow */
  MPI_Comm *result;                 /* of MPI_Comm_idup() */
  MPI_Info info;                    /* likewise: hints of the copy, NULL: none */
  struct tm_attributes *attributes; /* likewise, of the copy */
};

extern const struct tm_collective_kind tm_barrier_kind, tm_bcast_kind, tm_gather_kind,
    tm_scatter_kind, tm_allgather_kind, tm_alltoall_kind, tm_reduce_kind, tm_allreduce_kind,
    tm_scan_kind, tm_exscan_kind, tm_reduce_scatter_kind, tm_neighbor_allgather_kind,
    tm_neighbor_alltoall_kind;

/** Checks the arguments. @return MPI_SUCCESS, or what tm_fail() returned. Likewise all below. */
int tm_collective_check(const struct tm_collective *c);

/** Copies the arrays of counts, displacements and types, so that the program may free its own when
 * the call returns: the standard keeps them for the operation, but programs in use free them.
 * Clears the arguments that do not count on this rank, but for addresses of buffers. *kept is to be
 * freed, NULL: there are none. @return false: no memory. */
bool tm_collective_keep(struct tm_collective *c, const struct tm_comm *comm, void **kept);

/** @return how many parts a buffer has: the one that is sent, or the one that is filled. */
int tm_parts_number(const struct tm_comm *comm, enum tm_parts_for parts, bool sends);

/** Checks, and performs it at once. */
int tm_collective_perform(const struct tm_collective *c);

/** Checks, and has it performed; *request completes then. */
int tm_collective_start(const struct tm_collective *c, MPI_Request *request);

/** Checks, and makes a persistent request of it. */
int tm_collective_init(const struct tm_collective *c, MPI_Info info, MPI_Request *request);

/* ---- the blocking ones, by the name of the call that messages are to tell; arguments not checked
 * yet */
int tm_call_barrier(const char *call, MPI_Comm comm);
int tm_call_bcast(const char *call, void *buffer, MPI_Count count, MPI_Datatype type, int root,
                  MPI_Comm comm);
int tm_call_gather(const char *call, const struct tm_part *own, MPI_Datatype own_type,
                   const struct tm_parts *all, MPI_Datatype all_type, int root, MPI_Comm comm);
int tm_call_scatter(const char *call, const struct tm_parts *all, MPI_Datatype all_type,
                    const struct tm_part *own, MPI_Datatype own_type, int root, MPI_Comm comm);
int tm_call_allgather(const char *call, const struct tm_part *own, MPI_Datatype own_type,
                      const struct tm_parts *all, MPI_Datatype all_type, MPI_Comm comm);
int tm_call_alltoall(const char *call, struct tm_parts *send, MPI_Datatype sendtype,
                     struct tm_parts *recv, MPI_Datatype recvtype, MPI_Comm comm);
int tm_call_reduce(const char *call, const void *sendbuf, void *recvbuf, MPI_Count count,
                   MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm);
int tm_call_allreduce(const char *call, const void *sendbuf, void *recvbuf, MPI_Count count,
                      MPI_Datatype type, MPI_Op op, MPI_Comm comm);
int tm_call_scan(const char *call, const void *sendbuf, void *recvbuf, MPI_Count count,
                 MPI_Datatype type, MPI_Op op, MPI_Comm comm, bool exclusive);
int tm_call_reduce_scatter(const char *call, const void *sendbuf, const struct tm_parts *recv,
                           MPI_Datatype type, MPI_Op op, MPI_Comm comm);

/* ---- neighbor.c */

/** How many neighbours a communicator's topology has that send to the caller, and that it sends
 * to. */
void tm_neighbors_count(const struct tm_comm *comm, int *sources, int *dests);
int tm_neighbor_allgather(const struct tm_collective *c);
int tm_neighbor_alltoall(const struct tm_collective *c);

#endif
