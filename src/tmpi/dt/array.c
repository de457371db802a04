/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parts of arrays. Both calls make a row of the fastest dimension first and then go outwards: in
 * each dimension, the elements so far are those whose indices lie in a list of ranges.
 */
#include <stdlib.h>

#include "tmpi/dt/derive.h"
#include "tmpi/mpi/errors.h"

/* A type that is being built from the inside; what it replaces is given back. */
static bool wrap(struct tm_type **inner, struct tm_type *outer) {
  tm_type_release(*inner);
  *inner = outer;
  return outer != NULL;
}

/* Elements at the indices first, ..., first + count - 1 of a dimension, `stride` bytes apart. */
static bool take_range(struct tm_type *to, const struct tm_type *inner, ptrdiff_t stride,
                       ptrdiff_t first, ptrdiff_t count) {
  bool touching = stride == tm_type_extent(inner);
  if (touching) return tm_type_add(to, inner, first * stride, (size_t)count);
  for (ptrdiff_t i = 0; i < count; i++)
    if (!tm_type_add(to, inner, (first + i) * stride, 1)) return false;
  return true;
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
  tm_type_finish(type, false);
  return type;
}

static struct tm_type *begin(struct tm_type *old) {
  struct tm_type *type = tm_type_new(MPI_COMBINER_DUP);
  if (type == NULL || !tm_type_add(type, old, 0, 1)) return NULL;
  tm_type_finish(type, false);
  type->lb = old->lb;
  type->ub = old->ub;
  return type;
}

/* ---- subarray */

static struct tm_type *make_subarray(int ndims, const int *sizes, const int *subsizes,
                                     const int *starts, int order, struct tm_type *old) {
  struct tm_type *type = begin(old);
  ptrdiff_t stride = tm_type_extent(old);
  for (int n = 0; type != NULL && n < ndims; n++) {
    int d = dimension(ndims, order, n);
    struct tm_type *outer = tm_type_new(MPI_COMBINER_SUBARRAY);
    if (outer == NULL || !take_range(outer, type, stride, starts[d], subsizes[d])) return NULL;
    tm_type_finish(outer, false);
    wrap(&type, outer);
    stride *= sizes[d];
  }
  return type != NULL ? bound(type, stride, MPI_COMBINER_SUBARRAY) : NULL;
}

#pragma weak MPI_Type_create_subarray = PMPI_Type_create_subarray
int PMPI_Type_create_subarray(int ndims, const int sizes[], const int subsizes[],
                              const int starts[], int order, MPI_Datatype handle,
                              MPI_Datatype *result) {
  static const char call[] = "MPI_Type_create_subarray";
  struct tm_type *old;
  int error = tm_derive_get(call, handle, &old);
  if (error != MPI_SUCCESS) return error;
  if (ndims < 1 || (order != MPI_ORDER_C && order != MPI_ORDER_FORTRAN))
    return tm_fail(NULL, call, MPI_ERR_ARG, "%d dimensions, or an order that is none", ndims);
  for (int i = 0; i < ndims; i++)
    if (sizes[i] < 1 || subsizes[i] < 1 || subsizes[i] > sizes[i] || starts[i] < 0 ||
        starts[i] > sizes[i] - subsizes[i])
      return tm_fail(NULL, call, MPI_ERR_ARG, "dimension %d: %d elements from %d do not lie in %d",
                     i, subsizes[i], starts[i], sizes[i]);
  int *integers = malloc((3 * (size_t)ndims + 2) * sizeof *integers);
  if (integers == NULL) return tm_fail_code(NULL, call, MPI_ERR_NO_MEM);
  integers[0] = ndims;
  for (int i = 0; i < ndims; i++) {
    integers[1 + i] = sizes[i];
    integers[1 + ndims + i] = subsizes[i];
    integers[1 + 2 * ndims + i] = starts[i];
  }
  integers[1 + 3 * ndims] = order;
  struct tm_recipe recipe = {integers, 3 * ndims + 2, NULL, 0, &old, 1};
  struct tm_type *type = make_subarray(ndims, sizes, subsizes, starts, order, old);
  error = tm_derive_end(call, type, &recipe, result);
  free(integers);
  return error;
}

/* ---- darray: a process's share of a distributed array */

/* One dimension: its size, how it is dealt out, over how many processes, which of them. */
struct share {
  int size, distribution, argument, processes, coordinate;
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
              (long)s->argument * s->processes >= s->size;
  bool alone = s->distribution != MPI_DISTRIBUTE_NONE || s->processes == 1;
  bool known = s->distribution >= MPI_DISTRIBUTE_NONE && s->distribution <= MPI_DISTRIBUTE_CYCLIC;
  if (s->size >= 1 && s->processes >= 1 && known && alone && fits && s->argument >= 1)
    return MPI_SUCCESS;
  return tm_fail(NULL, call, MPI_ERR_ARG, "dimension %d: %d elements cannot be dealt out to %d so",
                 i, s->size, s->processes);
}

static struct tm_type *make_darray(int ndims, const struct share *shares, int order,
                                   struct tm_type *old) {
  struct tm_type *type = begin(old);
  ptrdiff_t stride = tm_type_extent(old);
  for (int n = 0; type != NULL && n < ndims; n++) {
    const struct share *s = &shares[dimension(ndims, order, n)];
    struct tm_type *outer = tm_type_new(MPI_COMBINER_DARRAY);
    if (outer == NULL || !take_share(outer, type, stride, s)) return NULL;
    tm_type_finish(outer, false);
    wrap(&type, outer);
    stride *= s->size;
  }
  return type != NULL ? bound(type, stride, MPI_COMBINER_DARRAY) : NULL;
}

#pragma weak MPI_Type_create_darray = PMPI_Type_create_darray
int PMPI_Type_create_darray(int size, int rank, int ndims, const int gsizes[], const int distribs[],
                            const int dargs[], const int psizes[], int order, MPI_Datatype handle,
                            MPI_Datatype *result) {
  static const char call[] = "MPI_Type_create_darray";
  struct tm_type *old;
  int error = tm_derive_get(call, handle, &old);
  if (error != MPI_SUCCESS) return error;
  if (ndims < 1 || rank < 0 || rank >= size || (order != MPI_ORDER_C && order != MPI_ORDER_FORTRAN))
    return tm_fail(NULL, call, MPI_ERR_ARG, "%d dimensions, rank %d of %d, or a bad order", ndims,
                   rank, size);
  struct share *shares = malloc((size_t)ndims * sizeof *shares);
  int *integers = malloc((4 * (size_t)ndims + 4) * sizeof *integers);
  if (shares == NULL || integers == NULL) tm_panic("no memory for %d dimensions", ndims);
  integers[0] = size;
  integers[1] = rank;
  integers[2] = ndims;
  for (int i = ndims - 1, left = rank; i >= 0; i--) { /* processes are numbered as C's arrays */
    int processes = psizes[i] > 0 ? psizes[i] : 1;
    shares[i] = (struct share){gsizes[i], distribs[i], dargs[i], psizes[i], left % processes};
    left /= processes;
    integers[3 + i] = gsizes[i];
    integers[3 + ndims + i] = distribs[i];
    integers[3 + 2 * ndims + i] = dargs[i];
    integers[3 + 3 * ndims + i] = psizes[i];
    if (error == MPI_SUCCESS) error = check_share(call, i, &shares[i]);
  }
  integers[3 + 4 * ndims] = order;
  struct tm_recipe recipe = {integers, 4 * ndims + 4, NULL, 0, &old, 1};
  if (error == MPI_SUCCESS)
    error = tm_derive_end(call, make_darray(ndims, shares, order, old), &recipe, result);
  free(shares);
  free(integers);
  return error;
}
