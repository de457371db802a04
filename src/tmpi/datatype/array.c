/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parts of arrays. Both calls make a row of the fastest dimension first and then go outwards: in
 * each dimension, the elements so far are those whose indices lie in a list of ranges.
 */
#include <stdlib.h>

#include "tmpi/datatype/calls.h"
#include "tmpi/error/errors.h"

/* Elements at the indices first, ..., first + count - 1 of a dimension, `stride` bytes apart. */
static bool take_range(struct tm_type *to, const struct tm_type *inner, ptrdiff_t stride,
                       ptrdiff_t first, ptrdiff_t count) {
  return tm_type_add_rows(to, inner, first * stride, 1, (size_t)count, stride);
}

/* Puts `outer`, made of *inner, in its place. ok false: neither is wanted any more. */
static bool replace(struct tm_type **inner, struct tm_type *outer, bool ok) {
  if (ok) tm_type_finish(outer, false);
  tm_type_release(*inner);
  if (!ok && outer != NULL) tm_type_release(outer);
  *inner = ok ? outer : NULL;
  return ok;
}

/* The dimension that is the n-th from the fastest. */
static int dimension(int ndims, int order, int n) {
  return order == MPI_ORDER_C ? ndims - 1 - n : n;
}

/* The array's own bounds, wherever the part lies. */
static struct tm_type *bound(struct tm_type *inner, ptrdiff_t bytes, int combiner) {
  struct tm_type *type = tm_type_new(combiner);
  bool ok = type != NULL && tm_type_add(type, inner, 0, 1);
  tm_type_release(inner);
  if (!ok) {
    if (type != NULL) tm_type_release(type);
    return NULL;
  }
  type->lb = 0;
  type->ub = bytes;
  type->lb_marked = type->ub_marked = true; /* as the standard defines it */
  tm_type_finish(type, false);
  return type;
}

/* ---- subarray */

static struct tm_type *make_subarray(int ndims, const struct tm_subarray *part, int order,
                                     struct tm_type *old) {
  struct tm_type *type = old; /* replace() gives it back */
  tm_type_hold(old);
  ptrdiff_t stride = tm_type_extent(old);
  for (int n = 0; type != NULL && n < ndims; n++) {
    int d = dimension(ndims, order, n);
    struct tm_type *outer = tm_type_new(MPI_COMBINER_SUBARRAY);
    replace(&type, outer,
            outer != NULL && take_range(outer, type, stride, tm_counts_at(part->starts, d),
                                        tm_counts_at(part->subsizes, d)));
    stride *= tm_counts_at(part->sizes, d);
  }
  return type != NULL ? bound(type, stride, MPI_COMBINER_SUBARRAY) : NULL;
}

static int check_part(const char *call, int i, const struct tm_subarray *part) {
  MPI_Count size = tm_counts_at(part->sizes, i), subsize = tm_counts_at(part->subsizes, i);
  MPI_Count start = tm_counts_at(part->starts, i);
  if (size >= 1 && subsize >= 1 && subsize <= size && start >= 0 && start <= size - subsize)
    return MPI_SUCCESS;
  return tm_fail(NULL, call, MPI_ERR_ARG,
                 "dimension %d: %lld elements from %lld do not lie in %lld", i, (long long)subsize,
                 (long long)start, (long long)size);
}

int tm_call_subarray(struct tm_maker maker, int ndims, const struct tm_subarray *part, int order,
                     MPI_Datatype handle, MPI_Datatype *result) {
  struct tm_type *old;
  int error = tm_derive_get(maker.call, handle, &old);
  if (error == MPI_SUCCESS && (ndims < 1 || (order != MPI_ORDER_C && order != MPI_ORDER_FORTRAN)))
    error =
        tm_fail(NULL, maker.call, MPI_ERR_ARG, "%d dimensions, or an order that is none", ndims);
  for (int i = 0; error == MPI_SUCCESS && i < ndims; i++) error = check_part(maker.call, i, part);
  if (error != MPI_SUCCESS) return error;
  struct tm_type *type = make_subarray(ndims, part, order, old);
  if (type != NULL) {
    tm_recipe_integer(&type->recipe, ndims);
    tm_recipe_counts(&type->recipe, maker.large, ndims, part->sizes);
    tm_recipe_counts(&type->recipe, maker.large, ndims, part->subsizes);
    tm_recipe_counts(&type->recipe, maker.large, ndims, part->starts);
    tm_recipe_integer(&type->recipe, order);
    tm_recipe_type(&type->recipe, old);
  }
  return tm_derive_end(maker.call, type, type != NULL, result);
}

/* ---- darray: a process's share of a distributed array */

/* One dimension: its size, how it is dealt out, over how many processes, which of them. */
struct share {
  MPI_Count size;
  int distribution, argument, processes, coordinate;
};

static bool take_share(struct tm_type *to, const struct tm_type *inner, ptrdiff_t stride,
                       const struct share *s) {
  ptrdiff_t block = s->argument;
  if (s->distribution == MPI_DISTRIBUTE_NONE) return take_range(to, inner, stride, 0, s->size);
  if (block == MPI_DISTRIBUTE_DFLT_DARG)
    block =
        s->distribution == MPI_DISTRIBUTE_BLOCK ? (s->size + s->processes - 1) / s->processes : 1;
  for (ptrdiff_t at = s->coordinate * block; at < s->size; at += block * s->processes) {
    ptrdiff_t count = at + block <= s->size ? block : s->size - at;
    if (!take_range(to, inner, stride, at, count)) return false;
  }
  return true;
}

static int check_share(const char *call, int i, const struct share *s) {
  bool fits = s->distribution != MPI_DISTRIBUTE_BLOCK || s->argument == MPI_DISTRIBUTE_DFLT_DARG ||
              (MPI_Count)s->argument * s->processes >= s->size;
  bool alone = s->distribution != MPI_DISTRIBUTE_NONE || s->processes == 1;
  bool known = s->distribution >= MPI_DISTRIBUTE_NONE && s->distribution <= MPI_DISTRIBUTE_CYCLIC;
  if (s->size >= 1 && s->processes >= 1 && known && alone && fits && s->argument >= 1)
    return MPI_SUCCESS;
  return tm_fail(NULL, call, MPI_ERR_ARG,
                 "dimension %d: %lld elements cannot be dealt out to %d so", i, (long long)s->size,
                 s->processes);
}

static struct tm_type *make_darray(int ndims, const struct share *shares, int order,
                                   struct tm_type *old) {
  struct tm_type *type = old; /* replace() gives it back */
  tm_type_hold(old);
  ptrdiff_t stride = tm_type_extent(old);
  for (int n = 0; type != NULL && n < ndims; n++) {
    const struct share *s = &shares[dimension(ndims, order, n)];
    struct tm_type *outer = tm_type_new(MPI_COMBINER_DARRAY);
    replace(&type, outer, outer != NULL && take_share(outer, type, stride, s));
    stride *= s->size;
  }
  return type != NULL ? bound(type, stride, MPI_COMBINER_DARRAY) : NULL;
}

static void record(struct tm_recipe *recipe, bool large, const struct tm_darray *d,
                   struct tm_type *old) {
  tm_recipe_integer(recipe, d->size);
  tm_recipe_integer(recipe, d->rank);
  tm_recipe_integer(recipe, d->ndims);
  tm_recipe_counts(recipe, large, d->ndims, d->gsizes);
  tm_recipe_counts(recipe, false, d->ndims, (struct tm_counts){d->distribs, NULL});
  tm_recipe_counts(recipe, false, d->ndims, (struct tm_counts){d->dargs, NULL});
  tm_recipe_counts(recipe, false, d->ndims, (struct tm_counts){d->psizes, NULL});
  tm_recipe_integer(recipe, d->order);
  tm_recipe_type(recipe, old);
}

int tm_call_darray(struct tm_maker maker, const struct tm_darray *d, MPI_Datatype handle,
                   MPI_Datatype *result) {
  struct tm_type *old;
  int error = tm_derive_get(maker.call, handle, &old);
  if (error != MPI_SUCCESS) return error;
  if (d->ndims < 1 || d->rank < 0 || d->rank >= d->size ||
      (d->order != MPI_ORDER_C && d->order != MPI_ORDER_FORTRAN))
    return tm_fail(NULL, maker.call, MPI_ERR_ARG, "%d dimensions, rank %d of %d, or a bad order",
                   d->ndims, d->rank, d->size);
  struct share *shares = malloc((size_t)d->ndims * sizeof *shares);
  if (shares == NULL) return tm_fail_code(NULL, maker.call, MPI_ERR_NO_MEM);
  for (int i = d->ndims - 1, left = d->rank; i >= 0; i--) { /* numbered as C's arrays */
    shares[i] =
        (struct share){tm_counts_at(d->gsizes, i), d->distribs[i], d->dargs[i], d->psizes[i], 0};
    error = check_share(maker.call, i, &shares[i]);
    if (error != MPI_SUCCESS) break;
    shares[i].coordinate = left % d->psizes[i];
    left /= d->psizes[i];
  }
  struct tm_type *type = error == MPI_SUCCESS ? make_darray(d->ndims, shares, d->order, old) : NULL;
  free(shares);
  if (error != MPI_SUCCESS) return error;
  if (type != NULL) record(&type->recipe, maker.large, d, old);
  return tm_derive_end(maker.call, type, type != NULL, result);
}
