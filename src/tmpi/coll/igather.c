/* SPDX-License-Identifier: Apache-2.0 */
/* Nonblocking collectives that move data. */
#include "tmpi/coll/nonblocking.h"

static int barrier(const struct tm_nonblocking *c) { return PMPI_Barrier(c->comm); }

#pragma weak MPI_Ibarrier = PMPI_Ibarrier
int PMPI_Ibarrier(MPI_Comm comm, MPI_Request *request) {
  struct tm_nonblocking call = {.perform = barrier, .comm = comm};
  return tm_nonblocking_start("MPI_Ibarrier", &call, request);
}

static int bcast(const struct tm_nonblocking *c) {
  return PMPI_Bcast(c->recvbuf, c->recvcount, c->recvtype, c->root, c->comm);
}

#pragma weak MPI_Ibcast = PMPI_Ibcast
int PMPI_Ibcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm,
                MPI_Request *request) {
  struct tm_nonblocking call = {.perform = bcast,
                                .recvbuf = buffer,
                                .recvcount = count,
                                .recvtype = type,
                                .root = root,
                                .comm = comm};
  return tm_nonblocking_start("MPI_Ibcast", &call, request);
}

static int gather(const struct tm_nonblocking *c) {
  return PMPI_Gather(c->sendbuf, c->sendcount, c->sendtype, c->recvbuf, c->recvcount, c->recvtype,
                     c->root, c->comm);
}

#pragma weak MPI_Igather = PMPI_Igather
int PMPI_Igather(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
                 int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm,
                 MPI_Request *request) {
  struct tm_nonblocking call = {.perform = gather,
                                .sendbuf = sendbuf,
                                .sendcount = sendcount,
                                .sendtype = sendtype,
                                .recvbuf = recvbuf,
                                .recvcount = recvcount,
                                .recvtype = recvtype,
                                .root = root,
                                .comm = comm};
  return tm_nonblocking_start("MPI_Igather", &call, request);
}

static int gatherv(const struct tm_nonblocking *c) {
  return PMPI_Gatherv(c->sendbuf, c->sendcount, c->sendtype, c->recvbuf, c->recvcounts, c->rdispls,
                      c->recvtype, c->root, c->comm);
}

#pragma weak MPI_Igatherv = PMPI_Igatherv
int PMPI_Igatherv(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
                  const int recvcounts[], const int displs[], MPI_Datatype recvtype, int root,
                  MPI_Comm comm, MPI_Request *request) {
  struct tm_nonblocking call = {.perform = gatherv,
                                .sendbuf = sendbuf,
                                .sendcount = sendcount,
                                .sendtype = sendtype,
                                .recvbuf = recvbuf,
                                .recvcounts = recvcounts,
                                .rdispls = displs,
                                .recvtype = recvtype,
                                .root = root,
                                .comm = comm};
  return tm_nonblocking_start("MPI_Igatherv", &call, request);
}

static int scatter(const struct tm_nonblocking *c) {
  return PMPI_Scatter(c->sendbuf, c->sendcount, c->sendtype, c->recvbuf, c->recvcount, c->recvtype,
                      c->root, c->comm);
}

#pragma weak MPI_Iscatter = PMPI_Iscatter
int PMPI_Iscatter(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
                  int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm,
                  MPI_Request *request) {
  struct tm_nonblocking call = {.perform = scatter,
                                .sendbuf = sendbuf,
                                .sendcount = sendcount,
                                .sendtype = sendtype,
                                .recvbuf = recvbuf,
                                .recvcount = recvcount,
                                .recvtype = recvtype,
                                .root = root,
                                .comm = comm};
  return tm_nonblocking_start("MPI_Iscatter", &call, request);
}

static int scatterv(const struct tm_nonblocking *c) {
  return PMPI_Scatterv(c->sendbuf, c->sendcounts, c->sdispls, c->sendtype, c->recvbuf, c->recvcount,
                       c->recvtype, c->root, c->comm);
}

#pragma weak MPI_Iscatterv = PMPI_Iscatterv
int PMPI_Iscatterv(const void *sendbuf, const int sendcounts[], const int displs[],
                   MPI_Datatype sendtype, void *recvbuf, int recvcount, MPI_Datatype recvtype,
                   int root, MPI_Comm comm, MPI_Request *request) {
  struct tm_nonblocking call = {.perform = scatterv,
                                .sendbuf = sendbuf,
                                .sendcounts = sendcounts,
                                .sdispls = displs,
                                .sendtype = sendtype,
                                .recvbuf = recvbuf,
                                .recvcount = recvcount,
                                .recvtype = recvtype,
                                .root = root,
                                .comm = comm};
  return tm_nonblocking_start("MPI_Iscatterv", &call, request);
}

static int allgather(const struct tm_nonblocking *c) {
  return PMPI_Allgather(c->sendbuf, c->sendcount, c->sendtype, c->recvbuf, c->recvcount,
                        c->recvtype, c->comm);
}

#pragma weak MPI_Iallgather = PMPI_Iallgather
int PMPI_Iallgather(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
                    int recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Request *request) {
  struct tm_nonblocking call = {.perform = allgather,
                                .sendbuf = sendbuf,
                                .sendcount = sendcount,
                                .sendtype = sendtype,
                                .recvbuf = recvbuf,
                                .recvcount = recvcount,
                                .recvtype = recvtype,
                                .comm = comm};
  return tm_nonblocking_start("MPI_Iallgather", &call, request);
}

static int allgatherv(const struct tm_nonblocking *c) {
  return PMPI_Allgatherv(c->sendbuf, c->sendcount, c->sendtype, c->recvbuf, c->recvcounts,
                         c->rdispls, c->recvtype, c->comm);
}

#pragma weak MPI_Iallgatherv = PMPI_Iallgatherv
int PMPI_Iallgatherv(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
                     const int recvcounts[], const int displs[], MPI_Datatype recvtype,
                     MPI_Comm comm, MPI_Request *request) {
  struct tm_nonblocking call = {.perform = allgatherv,
                                .sendbuf = sendbuf,
                                .sendcount = sendcount,
                                .sendtype = sendtype,
                                .recvbuf = recvbuf,
                                .recvcounts = recvcounts,
                                .rdispls = displs,
                                .recvtype = recvtype,
                                .comm = comm};
  return tm_nonblocking_start("MPI_Iallgatherv", &call, request);
}

static int alltoall(const struct tm_nonblocking *c) {
  return PMPI_Alltoall(c->sendbuf, c->sendcount, c->sendtype, c->recvbuf, c->recvcount, c->recvtype,
                       c->comm);
}

#pragma weak MPI_Ialltoall = PMPI_Ialltoall
int PMPI_Ialltoall(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
                   int recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Request *request) {
  struct tm_nonblocking call = {.perform = alltoall,
                                .sendbuf = sendbuf,
                                .sendcount = sendcount,
                                .sendtype = sendtype,
                                .recvbuf = recvbuf,
                                .recvcount = recvcount,
                                .recvtype = recvtype,
                                .comm = comm};
  return tm_nonblocking_start("MPI_Ialltoall", &call, request);
}

static int alltoallv(const struct tm_nonblocking *c) {
  return PMPI_Alltoallv(c->sendbuf, c->sendcounts, c->sdispls, c->sendtype, c->recvbuf,
                        c->recvcounts, c->rdispls, c->recvtype, c->comm);
}

#pragma weak MPI_Ialltoallv = PMPI_Ialltoallv
int PMPI_Ialltoallv(const void *sendbuf, const int sendcounts[], const int sdispls[],
                    MPI_Datatype sendtype, void *recvbuf, const int recvcounts[],
                    const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm,
                    MPI_Request *request) {
  struct tm_nonblocking call = {.perform = alltoallv,
                                .sendbuf = sendbuf,
                                .sendcounts = sendcounts,
                                .sdispls = sdispls,
                                .sendtype = sendtype,
                                .recvbuf = recvbuf,
                                .recvcounts = recvcounts,
                                .rdispls = rdispls,
                                .recvtype = recvtype,
                                .comm = comm};
  return tm_nonblocking_start("MPI_Ialltoallv", &call, request);
}

static int alltoallw(const struct tm_nonblocking *c) {
  return PMPI_Alltoallw(c->sendbuf, c->sendcounts, c->sdispls, c->sendtypes, c->recvbuf,
                        c->recvcounts, c->rdispls, c->recvtypes, c->comm);
}

#pragma weak MPI_Ialltoallw = PMPI_Ialltoallw
int PMPI_Ialltoallw(const void *sendbuf, const int sendcounts[], const int sdispls[],
                    const MPI_Datatype sendtypes[], void *recvbuf, const int recvcounts[],
                    const int rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm,
                    MPI_Request *request) {
  struct tm_nonblocking call = {.perform = alltoallw,
                                .sendbuf = sendbuf,
                                .sendcounts = sendcounts,
                                .sdispls = sdispls,
                                .sendtypes = sendtypes,
                                .recvbuf = recvbuf,
                                .recvcounts = recvcounts,
                                .rdispls = rdispls,
                                .recvtypes = recvtypes,
                                .comm = comm};
  return tm_nonblocking_start("MPI_Ialltoallw", &call, request);
}

static int comm_dup(const struct tm_nonblocking *c) { return PMPI_Comm_dup(c->comm, c->result); }

#pragma weak MPI_Comm_idup = PMPI_Comm_idup
int PMPI_Comm_idup(MPI_Comm comm, MPI_Comm *copy, MPI_Request *request) {
  struct tm_nonblocking call = {.perform = comm_dup, .comm = comm, .result = copy};
  return tm_nonblocking_start("MPI_Comm_idup", &call, request);
}

static int comm_dup_with_info(const struct tm_nonblocking *c) {
  MPI_Info info = (MPI_Info)c->recvbuf;
  int error = PMPI_Comm_dup_with_info(c->comm, info, c->result);
  PMPI_Info_free(&info);
  return error;
}

/* The info may be freed when this returns: the thread has a copy. */
#pragma weak MPI_Comm_idup_with_info = PMPI_Comm_idup_with_info
int PMPI_Comm_idup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm *copy, MPI_Request *request) {
  MPI_Info own;
  int error = info == MPI_INFO_NULL ? PMPI_Info_create(&own) : PMPI_Info_dup(info, &own);
  if (error != MPI_SUCCESS) return error;
  struct tm_nonblocking call = {
      .perform = comm_dup_with_info, .recvbuf = own, .comm = comm, .result = copy};
  return tm_nonblocking_start("MPI_Comm_idup_with_info", &call, request);
}
