/* SPDX-License-Identifier: Apache-2.0 */
/* The calls that reduce, and scans. */
#include <stdlib.h>

#include "tmpi/coll/coll.h"
#include "tmpi/coll/collective.h"
#include "tmpi/coll/op.h"
#include "tmpi/error/errors.h"
#include "tmpi/request/request.h"

enum { SCAN_CHUNK = 16384 /* bytes combined at a time: they stay in the cache */ };

static void copy(void *to, const void *from, size_t count, struct tm_type *type) {
  if (to != from) tm_type_copy(to, type, from, type, count * type->size);
}

/* Of an intercommunicator: one group's elements go to one rank of the other, or MPI_ROOT: come. */
static void reduce_inter(struct tm_coll *coll, const void *from, void *to, size_t count,
                         struct tm_type *type, const struct tm_op *op, int root) {
  if (root == MPI_PROC_NULL) return;
  if (root == MPI_ROOT) {
    tm_coll_recv(coll, to, count, type, 0);
    return;
  }
  void *base, *result = tm_elements_new(count, type, &base);
  struct tm_coll local = tm_coll_begin(coll->comm->local_comm, coll->call);
  tm_reduce(&local, from, result, count, type, op, 0);
  if (coll->comm->rank == 0) tm_coll_send(coll, result, count, type, root);
  free(base);
}

/* Each group's elements, combined, go to all of the other group. The counts may differ. */
static void exchange_inter(struct tm_coll *coll, const void *from, size_t from_count, void *to,
                           size_t to_count, struct tm_type *type, const struct tm_op *op) {
  void *base, *result = tm_elements_new(from_count, type, &base);
  struct tm_coll local = tm_coll_begin(coll->comm->local_comm, coll->call);
  tm_reduce(&local, from, result, from_count, type, op, 0);
  if (coll->comm->rank == 0)
    tm_coll_exchange(coll, result, from_count, type, 0, to, to_count, type, 0);
  free(base);
}

/* The checked arguments of a reduction. */
struct reduction {
  struct tm_comm *comm;
  struct tm_type *type;
  const struct tm_op *op;
};

/* root: 0 if the collective has none. */
static int get(const char *call, MPI_Comm comm, MPI_Count count, MPI_Datatype type, MPI_Op op,
               int root, struct reduction *r) {
  *r = (struct reduction){NULL, NULL, NULL};
  int error = tm_get_comm_quickly(call, comm, &r->comm);
  if (error == MPI_SUCCESS && tm_is_bystander(r->comm, root)) return MPI_SUCCESS;
  if (error == MPI_SUCCESS) error = tm_check_count(r->comm, call, count);
  if (error == MPI_SUCCESS) error = tm_get_type_quickly(r->comm, call, type, &r->type);
  if (error == MPI_SUCCESS) error = tm_check_bytes(r->comm, call, count, r->type);
  if (error == MPI_SUCCESS) error = tm_check_op(r->comm, call, op, r->type, &r->op);
  return error;
}

/* For reductions, whose result has as many elements of the same type as what is sent. */
static int check_alias(const char *call, const struct reduction *r, const void *sent, void *filled,
                       MPI_Count count) {
  if (sent != filled || r->comm->inter) return MPI_SUCCESS;
  struct tm_part part = {filled, (size_t)count, r->type};
  return tm_check_alias(r->comm, call, &part, &part);
}

int tm_call_reduce(const char *call, const void *sendbuf, void *recvbuf, MPI_Count count,
                   MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm) {
  struct reduction r;
  int error = get(call, comm, count, type, op, root, &r);
  if (error == MPI_SUCCESS) error = tm_check_root(r.comm, call, root);
  if (error == MPI_SUCCESS && root == r.comm->rank)
    error = check_alias(call, &r, sendbuf, recvbuf, count);
  if (error != MPI_SUCCESS) return error;
  struct tm_coll coll = tm_coll_begin_rooted(r.comm, call, root);
  const void *from = sendbuf == MPI_IN_PLACE ? recvbuf : sendbuf;
  if (r.comm->inter)
    reduce_inter(&coll, from, recvbuf, (size_t)count, r.type, r.op, root);
  else
    tm_reduce(&coll, from, recvbuf, (size_t)count, r.type, r.op, root);
  return tm_coll_result(&coll);
}

#pragma weak MPI_Reduce = PMPI_Reduce
int PMPI_Reduce(const void *sendbuf, void *recvbuf, int count, MPI_Datatype type, MPI_Op op,
                int root, MPI_Comm comm) {
  return tm_call_reduce("MPI_Reduce", sendbuf, recvbuf, count, type, op, root, comm);
}

int tm_call_allreduce(const char *call, const void *sendbuf, void *recvbuf, MPI_Count count,
                      MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  struct reduction r;
  int error = get(call, comm, count, type, op, 0, &r);
  if (error == MPI_SUCCESS) error = check_alias(call, &r, sendbuf, recvbuf, count);
  if (error != MPI_SUCCESS) return error;
  struct tm_coll coll = tm_coll_begin(r.comm, call);
  const void *from = sendbuf == MPI_IN_PLACE ? recvbuf : sendbuf;
  if (r.comm->inter) {
    exchange_inter(&coll, from, (size_t)count, recvbuf, (size_t)count, r.type, r.op);
    struct tm_coll local = tm_coll_begin(r.comm->local_comm, call);
    tm_bcast(&local, recvbuf, (size_t)count, r.type, 0);
    return tm_coll_result(&coll);
  }
  tm_allreduce(&coll, from, recvbuf, (size_t)count, r.type, r.op);
  return tm_coll_result(&coll);
}

#pragma weak MPI_Allreduce = PMPI_Allreduce
int PMPI_Allreduce(const void *sendbuf, void *recvbuf, int count, MPI_Datatype type, MPI_Op op,
                   MPI_Comm comm) {
  return tm_call_allreduce("MPI_Allreduce", sendbuf, recvbuf, count, type, op, comm);
}

/* The elements of one chunk of a scan, and memory for two chunks. */
struct chunk {
  const char *from;
  char *to;
  size_t count;
  void *before, *own;
};

/* Down the ranks: each gets what those before it make together, and passes it on with its own. */
static void scan_chunk(struct tm_coll *coll, const struct chunk *c, const struct reduction *r,
                       bool exclusive) {
  int rank = coll->comm->rank;
  void *own = exclusive ? c->own : c->to;
  copy(own, c->from, c->count, r->type);
  if (rank > 0) {
    tm_coll_recv(coll, c->before, c->count, r->type, rank - 1);
    if (c->count > 0) tm_op_apply(r->op, c->before, own, c->count, r->type);
  }
  if (rank + 1 < coll->comm->size) tm_coll_send(coll, own, c->count, r->type, rank + 1);
  if (exclusive && rank > 0) copy(c->to, c->before, c->count, r->type);
}

/* In chunks: while a rank combines one, the rank before it combines the next; and no memory is
 * allocated by the size of the vector. */
static void scan(struct tm_coll *coll, const void *from, void *to, size_t count,
                 const struct reduction *r, bool exclusive) {
  size_t most = SCAN_CHUNK / (r->type->size + 1) + 1, done = 0;
  if (most > count) most = count;
  void *before_base, *own_base;
  struct chunk c = {.before = tm_elements_new(most, r->type, &before_base),
                    .own = tm_elements_new(exclusive ? most : 0, r->type, &own_base)};
  do {
    ptrdiff_t at = (ptrdiff_t)done * tm_type_extent(r->type);
    c.from = (const char *)from + at;
    c.to = (char *)to + at;
    c.count = count - done < most ? count - done : most;
    scan_chunk(coll, &c, r, exclusive);
    done += c.count;
  } while (done < count);
  free(before_base);
  free(own_base);
}

int tm_call_scan(const char *call, const void *sendbuf, void *recvbuf, MPI_Count count,
                 MPI_Datatype type, MPI_Op op, MPI_Comm comm, bool exclusive) {
  struct reduction r;
  int error = get(call, comm, count, type, op, 0, &r);
  if (error == MPI_SUCCESS && r.comm->inter)
    error = tm_fail(r.comm, call, MPI_ERR_COMM, "it is an intercommunicator");
  if (error == MPI_SUCCESS) error = check_alias(call, &r, sendbuf, recvbuf, count);
  if (error != MPI_SUCCESS) return error;
  struct tm_coll coll = tm_coll_begin(r.comm, call);
  scan(&coll, sendbuf == MPI_IN_PLACE ? recvbuf : sendbuf, recvbuf, (size_t)count, &r, exclusive);
  return tm_coll_result(&coll);
}

#pragma weak MPI_Scan = PMPI_Scan
int PMPI_Scan(const void *sendbuf, void *recvbuf, int count, MPI_Datatype type, MPI_Op op,
              MPI_Comm comm) {
  return tm_call_scan("MPI_Scan", sendbuf, recvbuf, count, type, op, comm, false);
}

#pragma weak MPI_Exscan = PMPI_Exscan
int PMPI_Exscan(const void *sendbuf, void *recvbuf, int count, MPI_Datatype type, MPI_Op op,
                MPI_Comm comm) {
  return tm_call_scan("MPI_Exscan", sendbuf, recvbuf, count, type, op, comm, true);
}

/* All of it to the first ranks of both groups, which hand out the parts: the totals are the same,
 * as the standard asks. */
static void reduce_scatter_inter(struct tm_coll *coll, const void *from, const MPI_Count *displs,
                                 const struct tm_parts *parts, size_t total,
                                 const struct tm_part *own, const struct tm_op *op) {
  void *base = NULL;
  struct tm_parts all = *parts;
  all.displs = (struct tm_counts){NULL, displs};
  if (coll->comm->rank == 0) all.base = tm_elements_new(total, parts->type, &base);
  exchange_inter(coll, from, total, all.base, total, parts->type, op);
  struct tm_coll local = tm_coll_begin(coll->comm->local_comm, coll->call);
  tm_scatter(&local, &all, own, 0);
  if (coll->error == MPI_SUCCESS) coll->error = local.error;
  free(base);
}

int tm_call_reduce_scatter(const char *call, const void *sendbuf, const struct tm_parts *recv,
                           MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  struct reduction r;
  int error = get(call, comm, 0, type, op, 0, &r);
  if (error == MPI_SUCCESS) error = tm_check_counts(r.comm, call, recv, r.comm->size);
  if (error == MPI_SUCCESS) error = tm_check_bytes_of_all(r.comm, call, recv, r.comm->size, r.type);
  if (error == MPI_SUCCESS)
    error = check_alias(call, &r, sendbuf, recv->base, tm_parts_count(recv, r.comm->rank));
  if (error != MPI_SUCCESS) return error;
  int size = r.comm->size;
  MPI_Count total = 0, *displs = malloc((size_t)size * sizeof *displs);
  if (displs == NULL) return tm_fail_code(r.comm, call, MPI_ERR_NO_MEM);
  for (int i = 0; i < size; i++) {
    displs[i] = total;
    total += tm_parts_count(recv, i);
  }
  struct tm_coll coll = tm_coll_begin(r.comm, call);
  const void *from = sendbuf == MPI_IN_PLACE ? recv->base : sendbuf;
  size_t first = (size_t)displs[r.comm->rank];
  size_t own = (size_t)tm_parts_count(recv, r.comm->rank);
  if (r.comm->inter) {
    struct tm_parts parts = {NULL, recv->count, recv->counts, TM_NO_COUNTS, r.type, NULL};
    struct tm_part part = {recv->base, own, r.type};
    reduce_scatter_inter(&coll, from, displs, &parts, (size_t)total, &part, r.op);
  } else {
    tm_reduce_part(&coll, from, first, own, recv->base, r.type, r.op);
  }
  free(displs);
  return tm_coll_result(&coll);
}

#pragma weak MPI_Reduce_scatter = PMPI_Reduce_scatter
int PMPI_Reduce_scatter(const void *sendbuf, void *recvbuf, const int recvcounts[],
                        MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  struct tm_parts recv = {recvbuf, 0, {recvcounts, NULL}, TM_NO_COUNTS, NULL, NULL};
  return tm_call_reduce_scatter("MPI_Reduce_scatter", sendbuf, &recv, type, op, comm);
}

#pragma weak MPI_Reduce_scatter_block = PMPI_Reduce_scatter_block
int PMPI_Reduce_scatter_block(const void *sendbuf, void *recvbuf, int recvcount, MPI_Datatype type,
                              MPI_Op op, MPI_Comm comm) {
  struct tm_parts recv = {recvbuf, recvcount, TM_NO_COUNTS, TM_NO_COUNTS, NULL, NULL};
  return tm_call_reduce_scatter("MPI_Reduce_scatter_block", sendbuf, &recv, type, op, comm);
}
