/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file nonblocking.h
 * Nonblocking collectives: a thread of the library performs the blocking one. Threads are cheap,
 * and there is one algorithm for both.
 *
 * It works on a shadow of the communicator, with the same groups and a context that all members
 * compute alike: from the communicator's and how many nonblocking collectives it has started. So
 * several may be under way, and none meets another or a blocking one.
 *
 * Errors in arguments are found by the thread, and told by the call that completes the request.
 */
#ifndef TM_COLL_NONBLOCKING_H
#define TM_COLL_NONBLOCKING_H

#include "tmpi/mpi.h"

/** A collective's arguments, as given; those it does not have are 0. */
struct tm_nonblocking {
  int (*perform)(const struct tm_nonblocking *call); /* calls the blocking one on `comm` */
  const void *sendbuf;
  void *recvbuf;
  int sendcount, recvcount;
  const int *sendcounts, *sdispls, *recvcounts, *rdispls;
  MPI_Datatype sendtype, recvtype;
  const MPI_Datatype *sendtypes, *recvtypes; /* they stay as they are: the standard says so */
  MPI_Op op;
  int root;
  MPI_Comm comm; /* of the call; then the shadow */
  MPI_Comm *result;
};

/** Starts it. @return MPI_SUCCESS, or what tm_fail() returned. */
int tm_nonblocking_start(const char *name, const struct tm_nonblocking *call, MPI_Request *request);

#endif
