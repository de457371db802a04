/* SPDX-License-Identifier: Apache-2.0 */
/* The calls that make types of blocks of one other type. */
#include "tmpi/datatype/calls.h"
#include "tmpi/error/errors.h"

/* Where the blocks are. */
enum spacing {
  STRIDE,        /* each `stride` extents behind the last */
  BYTE_STRIDE,   /* the same in bytes */
  DISPLACEMENTS, /* displs, in extents */
  ADDRESSES      /* displs, in bytes */
};

/* count blocks of length elements each; or, of lengths[i]. */
struct pattern {
  struct tm_maker maker;
  int combiner;
  MPI_Count count, length, stride;
  struct tm_counts lengths, displs;
  enum spacing spacing;
};

static void record(struct tm_recipe *recipe, const struct pattern *p, struct tm_type *old) {
  bool large = p->maker.large;
  tm_recipe_count(recipe, large, p->count);
  if (tm_counts_given(p->lengths))
    tm_recipe_counts(recipe, large, p->count, p->lengths);
  else if (p->combiner != MPI_COMBINER_CONTIGUOUS)
    tm_recipe_count(recipe, large, p->length);
  if (p->combiner == MPI_COMBINER_VECTOR) tm_recipe_count(recipe, large, p->stride);
  if (p->combiner == MPI_COMBINER_HVECTOR) tm_recipe_address(recipe, large, p->stride);
  if (p->spacing == DISPLACEMENTS) tm_recipe_counts(recipe, large, p->count, p->displs);
  for (MPI_Count i = 0; p->spacing == ADDRESSES && i < p->count; i++)
    tm_recipe_address(recipe, large, tm_counts_at(p->displs, i));
  tm_recipe_type(recipe, old);
}

static bool add(struct tm_type *type, const struct pattern *p, const struct tm_type *old) {
  ptrdiff_t extent = tm_type_extent(old);
  if (p->combiner == MPI_COMBINER_CONTIGUOUS) return tm_type_add(type, old, 0, (size_t)p->count);
  if (p->spacing == STRIDE || p->spacing == BYTE_STRIDE)
    return tm_type_add_rows(type, old, 0, (size_t)p->length, (size_t)p->count,
                            p->spacing == STRIDE ? p->stride * extent : p->stride);
  for (MPI_Count i = 0; i < p->count; i++) {
    MPI_Count length = tm_counts_given(p->lengths) ? tm_counts_at(p->lengths, i) : p->length;
    ptrdiff_t at = tm_counts_at(p->displs, i) * (p->spacing == DISPLACEMENTS ? extent : 1);
    if (!tm_type_add(type, old, at, (size_t)length)) return false;
  }
  return true;
}

static int make(const struct pattern *p, MPI_Datatype handle, MPI_Datatype *result) {
  const char *call = p->maker.call;
  struct tm_type *old;
  int error = tm_derive_get(call, handle, &old);
  if (error == MPI_SUCCESS) error = tm_derive_check(call, p->count, p->lengths);
  if (error == MPI_SUCCESS && p->length < 0)
    error = tm_fail(NULL, call, MPI_ERR_ARG, "block length %lld is negative", (long long)p->length);
  if (error != MPI_SUCCESS) return error;
  struct tm_type *type = tm_type_new(p->combiner);
  bool ok = type != NULL && add(type, p, old);
  if (ok) {
    tm_type_finish(type, false);
    record(&type->recipe, p, old);
  }
  return tm_derive_end(call, type, ok, result);
}

int tm_call_contiguous(struct tm_maker maker, MPI_Count count, MPI_Datatype old,
                       MPI_Datatype *result) {
  struct pattern p = {.maker = maker, .combiner = MPI_COMBINER_CONTIGUOUS, .count = count};
  return make(&p, old, result);
}

int tm_call_vector(struct tm_maker maker, int combiner, MPI_Count count, MPI_Count length,
                   MPI_Count stride, MPI_Datatype old, MPI_Datatype *result) {
  struct pattern p = {.maker = maker,
                      .combiner = combiner,
                      .count = count,
                      .length = length,
                      .stride = stride,
                      .spacing = combiner == MPI_COMBINER_VECTOR ? STRIDE : BYTE_STRIDE};
  return make(&p, old, result);
}

/* ---- blocks at any places */

int tm_call_indexed(struct tm_maker maker, int combiner, MPI_Count count, struct tm_counts lengths,
                    struct tm_counts displs, MPI_Datatype old, MPI_Datatype *result) {
  struct pattern p = {.maker = maker,
                      .combiner = combiner,
                      .count = count,
                      .lengths = lengths,
                      .displs = displs,
                      .spacing = combiner == MPI_COMBINER_INDEXED ? DISPLACEMENTS : ADDRESSES};
  return make(&p, old, result);
}

int tm_call_indexed_block(struct tm_maker maker, int combiner, MPI_Count count, MPI_Count length,
                          struct tm_counts displs, MPI_Datatype old, MPI_Datatype *result) {
  struct pattern p = {
      .maker = maker,
      .combiner = combiner,
      .count = count,
      .length = length,
      .displs = displs,
      .spacing = combiner == MPI_COMBINER_INDEXED_BLOCK ? DISPLACEMENTS : ADDRESSES};
  return make(&p, old, result);
}
