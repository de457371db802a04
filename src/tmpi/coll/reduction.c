/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Elements of all members combined, always in the order of ranks, in a way that depends on the
 * number of ranks alone.
 *
 * Few bytes: the last of a VP group to come combines its blocks', the last of all the blocks', and
 * all take the result with them: one phase. A pair's members combine for themselves. Many: after a
 * phase each rank combines a slice of the vector, of all ranks' buffers, and puts it where it is
 * wanted; and they meet again.
 */
#include <stdlib.h>
#include <string.h>

#include "tmpi/coll/nodes.h"
#include "tmpi/coll/op.h"
#include "tmpi/coll/phase.h"
#include "tmpi/error/errors.h"

enum {
  CHUNK = 16384,   /* bytes combined at a time: they stay in the cache */
  SLICE_MIN = 1024 /* fewer bytes are not worth a rank's turn */
};

/* What is combined. */
struct reduction {
  size_t count;
  struct tm_type *type;
  const struct tm_op *op;
  int exchange;
};

void *tm_elements_new(size_t count, const struct tm_type *type, void **base) {
  ptrdiff_t extent = tm_type_extent(type) < 0 ? -tm_type_extent(type) : tm_type_extent(type);
  size_t size = (size_t)(type->true_ub - type->true_lb) + count * (size_t)extent;
  *base = malloc(size + 1);
  if (*base == NULL) tm_panic("no memory for a reduction of %zu bytes", size);
  return (char *)*base - type->true_lb;
}

static void copy(void *to, const void *from, size_t count, struct tm_type *type) {
  if (to != from) tm_type_copy(to, type, from, type, count * type->size);
}

/* ---- few bytes */

static bool is_small(const struct reduction *r) {
  return tm_type_is_flat(r->type) && r->count * r->type->size <= TM_SMALL_MAX;
}

/* combine: what tm_op_combine() returned. */
static inline void apply(const struct reduction *r, tm_combine *combine, const void *in,
                         void *inout) {
  if (mt_likely(combine != NULL))
    combine(in, inout, r->count);
  else
    tm_op_apply(r->op, in, inout, r->count, r->type);
}

static void combine_block(const struct tm_coll *coll, const struct reduction *r, int block) {
  const struct tm_team *team = coll->comm->team;
  int first = tm_block_first(team, block), last = tm_block_first(team, block + 1) - 1;
  tm_combine *combine = tm_op_combine(r->op, r->type);
  void *sum = team->blocks[block].data;
  copy(sum, tm_published(coll, r->exchange, last)->at, r->count, r->type);
  for (int i = last - 1; i >= first; i--)
    apply(r, combine, tm_published(coll, r->exchange, i)->at, sum);
}

static void combine_group(const struct tm_coll *coll, const struct reduction *r) {
  const struct tm_team *team = coll->comm->team;
  int vp_group = (int)(coll->comm->vp_group - team->vp_groups);
  for (int block = 0; block < team->blocks_count; block++)
    if (team->vp_group_of[block] == vp_group) combine_block(coll, r, block);
}

static void combine_all(const struct tm_coll *coll, const struct reduction *r) {
  const struct tm_team *team = coll->comm->team;
  struct tm_team_data *result = tm_team_data(coll);
  tm_combine *combine = tm_op_combine(r->op, r->type);
  void *sum = result->bytes;
  int last = team->blocks_count - 1;
  copy(sum, team->blocks[last].data, r->count, r->type);
  for (int i = last - 1; i >= 0; i--) apply(r, combine, team->blocks[i].data, sum);
  result->number = coll->tag;
  result->exchange = r->exchange;
}

static void *meet_and_combine(struct tm_coll *coll, const void *from, const struct reduction *r) {
  tm_publish(coll, r->exchange, from, 0, NULL);
  if (tm_arrive_in_vp_group(coll)) {
    combine_group(coll, r);
    if (tm_arrive_at_root(coll)) {
      combine_all(coll, r);
      tm_release_root(coll);
    }
    tm_release_vp_group(coll);
  }
  struct tm_team_data *result = tm_team_data(coll);
  bool combined = result->number == coll->tag && result->exchange == r->exchange;
  if (mt_unlikely(!combined)) tm_not_published(coll, r->exchange, -1);
  return result->bytes;
}

/* Each of a pair combines for itself, if it wants the result. */
static void combine_in_pair(const struct tm_coll *coll, const void *from, void *to,
                            const struct reduction *r, bool wanted) {
  char *own = tm_pair_data_next(coll);
  copy(own, from, r->count, r->type);
  tm_publish(coll, r->exchange, own, 0, NULL);
  tm_pair_meet(coll);
  const void *other = tm_published(coll, r->exchange, 1 - coll->comm->rank)->at;
  if (!wanted) return;
  bool first = coll->comm->rank == 0;
  copy(to, first ? other : own, r->count, r->type);
  tm_op_apply(r->op, first ? own : other, to, r->count, r->type);
}

/* ---- many */

static void *element(const void *base, size_t index, const struct tm_type *type) {
  return (char *)(uintptr_t)base + (ptrdiff_t)index * tm_type_extent(type);
}

/* Combines the elements from `first` on into sum. */
static void combine_range(const struct tm_coll *coll, const struct reduction *r, size_t first,
                          size_t count, void *sum) {
  int last = coll->comm->size - 1;
  copy(sum, element(tm_published(coll, r->exchange, last)->at, first, r->type), count, r->type);
  for (int i = last - 1; i >= 0; i--)
    tm_op_apply(r->op, element(tm_published(coll, r->exchange, i)->at, first, r->type), sum, count,
                r->type);
}

/* Where a part of the result goes: to[0], or all ranks' buffers, which they have published. */
static void deliver(const struct tm_coll *coll, const struct reduction *r, size_t first,
                    size_t count, const void *sum, int root) {
  int from = root >= 0 ? root : 0, end = root >= 0 ? root + 1 : coll->comm->size;
  for (int i = from; i < end; i++) {
    void *to = (void *)(uintptr_t)tm_published(coll, r->exchange, i)->more;
    copy(element(to, first, r->type), sum, count, r->type);
  }
}

/* root < 0: to all. Nobody else reads or writes the same slice, so in place will do. */
static void combine_slice(const struct tm_coll *coll, const struct reduction *r, int root) {
  size_t size = (size_t)coll->comm->size, rank = (size_t)coll->comm->rank;
  size_t element_bytes = r->type->size + 1, slices = r->count * r->type->size / SLICE_MIN + 1;
  if (slices > size) slices = size;
  if (rank >= slices) return;
  size_t first = r->count * rank / slices, end = r->count * (rank + 1) / slices;
  size_t chunk = CHUNK / element_bytes + 1;
  void *base, *sum = tm_elements_new(chunk, r->type, &base);
  for (; first < end; first += chunk) {
    size_t count = end - first < chunk ? end - first : chunk;
    combine_range(coll, r, first, count, sum);
    deliver(coll, r, first, count, sum, root);
  }
  free(base);
}

static void reduce(struct tm_coll *coll, const void *from, void *to, struct reduction *r,
                   int root) {
  bool few = is_small(r), wanted = root < 0 || root == coll->comm->rank;
  r->exchange = tm_exchange_rooted(few ? TM_EXCHANGE_REDUCE_FEW : TM_EXCHANGE_REDUCE_MANY, root);
  if (tm_comm_spans(coll->comm)) {
    tm_nodes_reduce(coll, from, to, r->count, r->type, r->op, root);
  } else if (coll->comm->team == NULL) {
    copy(to, from, r->count, r->type);
  } else if (few && tm_pair_of(coll) != NULL) {
    combine_in_pair(coll, from, to, r, wanted);
  } else if (few) {
    void *result = meet_and_combine(coll, from, r);
    if (wanted) copy(to, result, r->count, r->type);
  } else {
    tm_publish(coll, r->exchange, from, 0, to);
    tm_next_phase(coll);
    combine_slice(coll, r, root);
    tm_next_phase(coll);
  }
}

void tm_reduce(struct tm_coll *coll, const void *from, void *to, size_t count, struct tm_type *type,
               const struct tm_op *op, int root) {
  reduce(coll, from, to, &(struct reduction){count, type, op, 0}, root);
}

void tm_allreduce(struct tm_coll *coll, const void *from, void *to, size_t count,
                  struct tm_type *type, const struct tm_op *op) {
  reduce(coll, from, to, &(struct reduction){count, type, op, 0}, -1);
}

void tm_reduce_part(struct tm_coll *coll, const void *from, size_t first, size_t count, void *to,
                    struct tm_type *type, const struct tm_op *op) {
  int exchange = tm_exchange_rooted(TM_EXCHANGE_REDUCE_PART, -1);
  const struct reduction r = {count, type, op, exchange};
  if (tm_comm_spans(coll->comm)) {
    tm_nodes_reduce_part(coll, from, first, count, to, type, op);
    return;
  }
  if (coll->comm->team == NULL) {
    copy(to, element(from, first, type), count, type);
    return;
  }
  void *base, *sum = tm_elements_new(count, type, &base); /* `to` may be where others still read */
  tm_publish(coll, r.exchange, from, 0, NULL);
  tm_next_phase(coll);
  if (count > 0) combine_range(coll, &r, first, count, sum);
  tm_next_phase(coll);
  copy(to, sum, count, type);
  free(base);
}
