/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reductions of several nodes. Elements are combined in the order of ranks, because an operation of
 * the program need not commute. Where the ranks of each node follow one another, each node combines
 * its own first, and then one message from each node is enough. Otherwise the root gets a message
 * from each rank. A result for all needs no root where nodes can exchange sums in pairs.
 */
#include <stdlib.h>

#include "tmpi/coll/nodes.h"
#include "tmpi/coll/op.h"
#include "tmpi/error/errors.h"
#include "tmpi/object/span.h"

enum { EXCHANGE_MAX = 65536 /* bytes; of more, each node gets a part of the work by a tree */ };

/* What is combined. */
struct reduction {
  size_t count;
  struct tm_type *type;
  const struct tm_op *op;
};

static void copy(void *to, const void *from, const struct reduction *r) {
  if (to != from) tm_type_copy(to, r->type, from, r->type, r->count * r->type->size);
}

/* sum = next op sum */
static void combine(const struct reduction *r, const void *next, void *sum) {
  if (r->count > 0) tm_op_apply(r->op, next, sum, r->count, r->type);
}

/* Combines the elements of the ranks that `members` lists, from the last to the first, in `to`. The
 * caller's are in `own`, which is not `to`. members NULL: all ranks. */
static void fold(struct tm_coll *coll, const void *own, void *to, const struct reduction *r,
                 const int *members, int count) {
  void *base, *next = tm_elements_new(r->count, r->type, &base);
  for (int i = count - 1; i >= 0; i--) {
    int rank = members != NULL ? members[i] : i;
    bool is_own = rank == coll->comm->rank;
    if (!is_own) tm_coll_recv(coll, i == count - 1 ? to : next, r->count, r->type, rank);
    if (i == count - 1 && is_own) copy(to, own, r);
    if (i < count - 1) combine(r, is_own ? own : next, to);
  }
  free(base);
}

/* Each node combines its own, at the rank that acts for it; these go to the root. */
static void reduce_by_nodes(struct tm_coll *coll, const void *from, void *to,
                            const struct reduction *r, int root) {
  struct tm_comm *comm = coll->comm, *local_comm = comm->local_comm;
  const struct tm_span *span = comm->span;
  int root_node = tm_span_index(comm->span, comm->group, root);
  int actor = span->own == root_node ? root : span->speakers[span->own];
  void *base, *sum = tm_elements_new(r->count, r->type, &base);
  struct tm_coll local = tm_coll_begin(local_comm, coll->call);
  tm_reduce(&local, from, sum, r->count, r->type, r->op,
            tm_group_find(local_comm->group, comm->group->ranks[actor]));
  if (comm->rank == root) {
    int *members = calloc((size_t)span->nodes, sizeof *members);
    if (members == NULL) tm_panic("no memory for a reduction over %d nodes", span->nodes);
    for (int i = 0; i < span->nodes; i++) members[i] = i == root_node ? root : span->speakers[i];
    fold(coll, sum, to, r, members, span->nodes);
    free(members);
  } else if (comm->rank == actor) {
    tm_coll_send(coll, sum, r->count, r->type, root);
  }
  free(base);
}

/* `to` may be `from`, which the root combines from its copy. */
static void reduce_by_ranks(struct tm_coll *coll, const void *from, void *to,
                            const struct reduction *r, int root) {
  if (coll->comm->rank != root) {
    tm_coll_send(coll, from, r->count, r->type, root);
    return;
  }
  void *base, *own = tm_elements_new(r->count, r->type, &base);
  copy(own, from, r);
  fold(coll, own, to, r, NULL, coll->comm->size);
  free(base);
}

/* In each round two nodes exchange what their halves of a block of nodes have combined. */
static void exchange_sums(struct tm_coll *coll, void *sum, const struct reduction *r) {
  const struct tm_span *span = coll->comm->span;
  void *base, *other = tm_elements_new(r->count, r->type, &base);
  for (int step = 1; step < span->nodes; step *= 2) {
    int peer = span->own ^ step;
    tm_coll_exchange(coll, sum, r->count, r->type, span->speakers[peer], other, r->count, r->type,
                     span->speakers[peer]);
    if (peer < span->own) {
      combine(r, other, sum);
    } else {
      combine(r, sum, other);
      copy(sum, other, r);
    }
  }
  free(base);
}

/* To all, in as many rounds as the number of nodes has bits. */
static void allreduce_by_nodes(struct tm_coll *coll, const void *from, void *to,
                               const struct reduction *r) {
  struct tm_comm *comm = coll->comm, *local_comm = comm->local_comm;
  struct tm_coll local = tm_coll_begin(local_comm, coll->call);
  void *base = NULL, *sum = NULL;
  if (local_comm->rank == 0) sum = tm_elements_new(r->count, r->type, &base);
  tm_reduce(&local, from, sum, r->count, r->type, r->op, 0);
  if (sum != NULL) { /* in rank 0 of the node */
    exchange_sums(coll, sum, r);
    copy(to, sum, r);
  }
  local = tm_coll_begin(local_comm, coll->call);
  tm_bcast(&local, to, r->count, r->type, 0);
  free(base);
}

static bool halves(const struct tm_span *span, const struct reduction *r) {
  bool is_power = (span->nodes & (span->nodes - 1)) == 0;
  return span->in_order && is_power &&
         (span->nodes == 2 || r->count * r->type->size <= EXCHANGE_MAX);
}

void tm_nodes_reduce(struct tm_coll *coll, const void *from, void *to, size_t count,
                     struct tm_type *type, const struct tm_op *op, int root) {
  const struct reduction r = {count, type, op};
  int first = root >= 0 ? root : 0;
  if (root < 0 && halves(coll->comm->span, &r)) {
    allreduce_by_nodes(coll, from, to, &r);
    return;
  }
  if (coll->comm->span->in_order)
    reduce_by_nodes(coll, from, to, &r, first);
  else
    reduce_by_ranks(coll, from, to, &r, first);
  if (root < 0) tm_nodes_bcast(coll, to, count, type, 0);
}

/* A rank knows only its own slice, so the ends of all of them are gathered first. */
void tm_nodes_reduce_part(struct tm_coll *coll, const void *from, size_t first, size_t count,
                          void *to, struct tm_type *type, const struct tm_op *op) {
  struct tm_comm *comm = coll->comm;
  uint64_t end = first + count, total = 0, *ends = malloc((size_t)comm->size * sizeof *ends);
  if (ends == NULL) tm_panic("no memory for a reduction of %d ranks", comm->size);
  const struct tm_part own = {&end, sizeof end, tm_type_of(MPI_BYTE)};
  const struct tm_parts all = {ends,         sizeof end,           TM_NO_COUNTS,
                               TM_NO_COUNTS, tm_type_of(MPI_BYTE), NULL};
  tm_nodes_allgather(coll, &own, &all);
  for (int i = 0; i < comm->size; i++)
    if (ends[i] > total) total = ends[i];
  void *base, *sum = tm_elements_new(total, type, &base);
  tm_nodes_reduce(coll, from, sum, total, type, op, -1);
  tm_type_copy(to, type, (char *)sum + (ptrdiff_t)first * tm_type_extent(type), type,
               count * type->size);
  free(base);
  free(ends);
}
