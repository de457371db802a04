/* SPDX-License-Identifier: Apache-2.0 */
/* Nonblocking reductions. */
#include "tmpi/coll/nonblocking.h"

static int reduce(const struct tm_nonblocking *c) {
  return PMPI_Reduce(c->sendbuf, c->recvbuf, c->recvcount, c->recvtype, c->op, c->root, c->comm);
}

#pragma weak MPI_Ireduce = PMPI_Ireduce
int PMPI_Ireduce(const void *sendbuf, void *recvbuf, int count, MPI_Datatype type, MPI_Op op,
                 int root, MPI_Comm comm, MPI_Request *request) {
  struct tm_nonblocking call = {.perform = reduce,
                                .sendbuf = sendbuf,
                                .recvbuf = recvbuf,
                                .recvcount = count,
                                .recvtype = type,
                                .op = op,
                                .root = root,
                                .comm = comm};
  return tm_nonblocking_start("MPI_Ireduce", &call, request);
}

static int allreduce(const struct tm_nonblocking *c) {
  return PMPI_Allreduce(c->sendbuf, c->recvbuf, c->recvcount, c->recvtype, c->op, c->comm);
}

#pragma weak MPI_Iallreduce = PMPI_Iallreduce
int PMPI_Iallreduce(const void *sendbuf, void *recvbuf, int count, MPI_Datatype type, MPI_Op op,
                    MPI_Comm comm, MPI_Request *request) {
  struct tm_nonblocking call = {.perform = allreduce,
                                .sendbuf = sendbuf,
                                .recvbuf = recvbuf,
                                .recvcount = count,
                                .recvtype = type,
                                .op = op,
                                .comm = comm};
  return tm_nonblocking_start("MPI_Iallreduce", &call, request);
}

static int scan(const struct tm_nonblocking *c) {
  return PMPI_Scan(c->sendbuf, c->recvbuf, c->recvcount, c->recvtype, c->op, c->comm);
}

#pragma weak MPI_Iscan = PMPI_Iscan
int PMPI_Iscan(const void *sendbuf, void *recvbuf, int count, MPI_Datatype type, MPI_Op op,
               MPI_Comm comm, MPI_Request *request) {
  struct tm_nonblocking call = {.perform = scan,
                                .sendbuf = sendbuf,
                                .recvbuf = recvbuf,
                                .recvcount = count,
                                .recvtype = type,
                                .op = op,
                                .comm = comm};
  return tm_nonblocking_start("MPI_Iscan", &call, request);
}

static int exscan(const struct tm_nonblocking *c) {
  return PMPI_Exscan(c->sendbuf, c->recvbuf, c->recvcount, c->recvtype, c->op, c->comm);
}

#pragma weak MPI_Iexscan = PMPI_Iexscan
int PMPI_Iexscan(const void *sendbuf, void *recvbuf, int count, MPI_Datatype type, MPI_Op op,
                 MPI_Comm comm, MPI_Request *request) {
  struct tm_nonblocking call = {.perform = exscan,
                                .sendbuf = sendbuf,
                                .recvbuf = recvbuf,
                                .recvcount = count,
                                .recvtype = type,
                                .op = op,
                                .comm = comm};
  return tm_nonblocking_start("MPI_Iexscan", &call, request);
}

static int reduce_scatter(const struct tm_nonblocking *c) {
  return PMPI_Reduce_scatter(c->sendbuf, c->recvbuf, c->recvcounts, c->recvtype, c->op, c->comm);
}

#pragma weak MPI_Ireduce_scatter = PMPI_Ireduce_scatter
int PMPI_Ireduce_scatter(const void *sendbuf, void *recvbuf, const int recvcounts[],
                         MPI_Datatype type, MPI_Op op, MPI_Comm comm, MPI_Request *request) {
  struct tm_nonblocking call = {.perform = reduce_scatter,
                                .sendbuf = sendbuf,
                                .recvbuf = recvbuf,
                                .recvcounts = recvcounts,
                                .recvtype = type,
                                .op = op,
                                .comm = comm};
  return tm_nonblocking_start("MPI_Ireduce_scatter", &call, request);
}

static int reduce_scatter_block(const struct tm_nonblocking *c) {
  return PMPI_Reduce_scatter_block(c->sendbuf, c->recvbuf, c->recvcount, c->recvtype, c->op,
                                   c->comm);
}

#pragma weak MPI_Ireduce_scatter_block = PMPI_Ireduce_scatter_block
int PMPI_Ireduce_scatter_block(const void *sendbuf, void *recvbuf, int recvcount, MPI_Datatype type,
                               MPI_Op op, MPI_Comm comm, MPI_Request *request) {
  struct tm_nonblocking call = {.perform = reduce_scatter_block,
                                .sendbuf = sendbuf,
                                .recvbuf = recvbuf,
                                .recvcount = recvcount,
                                .recvtype = type,
                                .op = op,
                                .comm = comm};
  return tm_nonblocking_start("MPI_Ireduce_scatter_block", &call, request);
}
