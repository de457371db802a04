/* SPDX-License-Identifier: Apache-2.0 */
/* The calls that make types of others. */
#include <stdlib.h>
#include <string.h>

#include "tmpi/dt/derive.h"
#include "tmpi/mpi/errors.h"

int tm_derive_get(const char *call, MPI_Datatype handle, struct tm_type **type) {
  tm_enter(call);
  *type = tm_type_of(handle);
  return *type != NULL ? MPI_SUCCESS
                       : tm_fail(NULL, call, MPI_ERR_TYPE, "the datatype is %s",
                                 handle == MPI_DATATYPE_NULL ? "MPI_DATATYPE_NULL"
                                                             : "not valid: freed, or never made");
}

int tm_derive_check(const char *call, int count, const int *lengths) {
  if (count < 0) return tm_fail(NULL, call, MPI_ERR_COUNT, "count %d is negative", count);
  for (int i = 0; lengths != NULL && i < count; i++)
    if (lengths[i] < 0)
      return tm_fail(NULL, call, MPI_ERR_ARG, "block length %d is negative", lengths[i]);
  return MPI_SUCCESS;
}

/* Copies an array of count elements; *ok becomes false when there is no memory. */
static void *keep(const void *from, int count, size_t size, bool *ok) {
  if (count == 0) return NULL;
  void *copy = malloc((size_t)count * size);
  if (copy == NULL)
    *ok = false;
  else
    memcpy(copy, from, (size_t)count * size);
  return copy;
}

int tm_derive_end(const char *call, struct tm_type *type, const struct tm_recipe *recipe,
                  MPI_Datatype *result) {
  bool ok = type != NULL;
  if (ok) {
    type->integers = keep(recipe->integers, recipe->integer_count, sizeof(int), &ok);
    type->addresses = keep(recipe->addresses, recipe->address_count, sizeof(MPI_Aint), &ok);
    type->types = keep(recipe->types, recipe->type_count, sizeof *type->types, &ok);
    type->integer_count = type->integers != NULL ? recipe->integer_count : 0;
    type->address_count = type->addresses != NULL ? recipe->address_count : 0;
    type->type_count = type->types != NULL ? recipe->type_count : 0;
    for (int i = 0; i < type->type_count; i++) tm_type_hold(type->types[i]);
  }
  if (!ok) {
    if (type != NULL) tm_type_release(type);
    return tm_fail_code(NULL, call, MPI_ERR_NO_MEM);
  }
  *result = (MPI_Datatype)type;
  return MPI_SUCCESS;
}

/* What a type that all elements of are alike in is made of: count blocks, each of `length`
 * elements of old, at bytes lists where. */
struct pattern {
  int combiner, count;
  struct tm_type *old;
  const int *lengths; /* NULL: length each */
  int length;
  const int *displs;         /* in units of old's extent; NULL: */
  const MPI_Aint *addresses; /* in bytes; NULL: */
  MPI_Aint stride;           /* bytes between blocks */
};

static int make(const char *call, const struct pattern *p, const struct tm_recipe *recipe,
                MPI_Datatype *result) {
  struct tm_type *type = tm_type_new(p->combiner);
  bool ok = type != NULL;
  ptrdiff_t extent = tm_type_extent(p->old);
  for (int i = 0; ok && i < p->count; i++) {
    ptrdiff_t at = p->displs != NULL      ? p->displs[i] * extent
                   : p->addresses != NULL ? p->addresses[i]
                                          : i * p->stride;
    int length = p->lengths != NULL ? p->lengths[i] : p->length;
    ok = tm_type_add(type, p->old, at, (size_t)length);
  }
  if (ok) {
    tm_type_finish(type, false);
  } else if (type != NULL) {
    tm_type_release(type);
    type = NULL;
  }
  return tm_derive_end(call, type, recipe, result);
}

#pragma weak MPI_Type_contiguous = PMPI_Type_contiguous
int PMPI_Type_contiguous(int count, MPI_Datatype handle, MPI_Datatype *result) {
  struct tm_type *old;
  int error = tm_derive_get("MPI_Type_contiguous", handle, &old);
  if (error == MPI_SUCCESS) error = tm_derive_check("MPI_Type_contiguous", count, NULL);
  if (error != MPI_SUCCESS) return error;
  struct pattern pattern = {
      .combiner = MPI_COMBINER_CONTIGUOUS, .count = 1, .old = old, .length = count};
  struct tm_recipe recipe = {&count, 1, NULL, 0, &old, 1};
  return make("MPI_Type_contiguous", &pattern, &recipe, result);
}

#pragma weak MPI_Type_vector = PMPI_Type_vector
int PMPI_Type_vector(int count, int length, int stride, MPI_Datatype handle, MPI_Datatype *result) {
  struct tm_type *old;
  int error = tm_derive_get("MPI_Type_vector", handle, &old);
  if (error == MPI_SUCCESS) error = tm_derive_check("MPI_Type_vector", count, NULL);
  if (error == MPI_SUCCESS) error = tm_derive_check("MPI_Type_vector", 1, &length);
  if (error != MPI_SUCCESS) return error;
  struct pattern pattern = {.combiner = MPI_COMBINER_VECTOR,
                            .count = count,
                            .old = old,
                            .length = length,
                            .stride = stride * tm_type_extent(old)};
  struct tm_recipe recipe = {(int[]){count, length, stride}, 3, NULL, 0, &old, 1};
  return make("MPI_Type_vector", &pattern, &recipe, result);
}

#pragma weak MPI_Type_create_hvector = PMPI_Type_create_hvector
int PMPI_Type_create_hvector(int count, int length, MPI_Aint stride, MPI_Datatype handle,
                             MPI_Datatype *result) {
  struct tm_type *old;
  int error = tm_derive_get("MPI_Type_create_hvector", handle, &old);
  if (error == MPI_SUCCESS) error = tm_derive_check("MPI_Type_create_hvector", count, NULL);
  if (error == MPI_SUCCESS) error = tm_derive_check("MPI_Type_create_hvector", 1, &length);
  if (error != MPI_SUCCESS) return error;
  struct pattern pattern = {.combiner = MPI_COMBINER_HVECTOR,
                            .count = count,
                            .old = old,
                            .length = length,
                            .stride = stride};
  struct tm_recipe recipe = {(int[]){count, length}, 2, &stride, 1, &old, 1};
  return make("MPI_Type_create_hvector", &pattern, &recipe, result);
}

/* Types of many blocks: integers are the count and then two lists, of which the second may be
 * missing, or the first be a single number. */
static int make_indexed(const char *call, struct pattern *p, MPI_Datatype handle,
                        MPI_Datatype *result) {
  int error = tm_derive_get(call, handle, &p->old);
  if (error == MPI_SUCCESS) error = tm_derive_check(call, p->count, p->lengths);
  if (error == MPI_SUCCESS) error = tm_derive_check(call, 1, &p->length);
  if (error != MPI_SUCCESS) return error;
  int *integers = malloc((2 + 2 * (size_t)p->count) * sizeof *integers), used = 0;
  if (integers == NULL) return tm_fail_code(NULL, call, MPI_ERR_NO_MEM);
  integers[used++] = p->count;
  if (p->lengths == NULL) integers[used++] = p->length;
  for (int i = 0; p->lengths != NULL && i < p->count; i++) integers[used++] = p->lengths[i];
  for (int i = 0; p->displs != NULL && i < p->count; i++) integers[used++] = p->displs[i];
  int addresses = p->addresses != NULL ? p->count : 0;
  struct tm_recipe recipe = {integers, used, p->addresses, addresses, &p->old, 1};
  error = make(call, p, &recipe, result);
  free(integers);
  return error;
}

#pragma weak MPI_Type_indexed = PMPI_Type_indexed
int PMPI_Type_indexed(int count, const int lengths[], const int displs[], MPI_Datatype old,
                      MPI_Datatype *result) {
  struct pattern pattern = {
      .combiner = MPI_COMBINER_INDEXED, .count = count, .lengths = lengths, .displs = displs};
  return make_indexed("MPI_Type_indexed", &pattern, old, result);
}

#pragma weak MPI_Type_create_hindexed = PMPI_Type_create_hindexed
int PMPI_Type_create_hindexed(int count, const int lengths[], const MPI_Aint displs[],
                              MPI_Datatype old, MPI_Datatype *result) {
  struct pattern pattern = {
      .combiner = MPI_COMBINER_HINDEXED, .count = count, .lengths = lengths, .addresses = displs};
  return make_indexed("MPI_Type_create_hindexed", &pattern, old, result);
}

#pragma weak MPI_Type_create_indexed_block = PMPI_Type_create_indexed_block
int PMPI_Type_create_indexed_block(int count, int length, const int displs[], MPI_Datatype old,
                                   MPI_Datatype *result) {
  struct pattern pattern = {
      .combiner = MPI_COMBINER_INDEXED_BLOCK, .count = count, .length = length, .displs = displs};
  return make_indexed("MPI_Type_create_indexed_block", &pattern, old, result);
}

#pragma weak MPI_Type_create_hindexed_block = PMPI_Type_create_hindexed_block
int PMPI_Type_create_hindexed_block(int count, int length, const MPI_Aint displs[],
                                    MPI_Datatype old, MPI_Datatype *result) {
  struct pattern pattern = {.combiner = MPI_COMBINER_HINDEXED_BLOCK,
                            .count = count,
                            .length = length,
                            .addresses = displs};
  return make_indexed("MPI_Type_create_hindexed_block", &pattern, old, result);
}

/* ---- of several types, and changed ones */

#pragma weak MPI_Type_create_struct = PMPI_Type_create_struct
int PMPI_Type_create_struct(int count, const int lengths[], const MPI_Aint displs[],
                            const MPI_Datatype handles[], MPI_Datatype *result) {
  static const char call[] = "MPI_Type_create_struct";
  tm_enter(call);
  int error = tm_derive_check(call, count, lengths);
  if (error != MPI_SUCCESS) return error;
  struct tm_type *type = tm_type_new(MPI_COMBINER_STRUCT);
  struct tm_type **olds = calloc((size_t)count + 1, sizeof *olds);
  int *integers = malloc(((size_t)count + 1) * sizeof *integers);
  bool ok = type != NULL && olds != NULL && integers != NULL;
  for (int i = 0; ok && error == MPI_SUCCESS && i < count; i++) {
    integers[i + 1] = lengths[i];
    error = tm_derive_get(call, handles[i], &olds[i]);
    if (error == MPI_SUCCESS) ok = tm_type_add(type, olds[i], displs[i], (size_t)lengths[i]);
  }
  if (ok && error == MPI_SUCCESS) {
    integers[0] = count;
    tm_type_finish(type, true);
    struct tm_recipe recipe = {integers, count + 1, displs, count, olds, count};
    error = tm_derive_end(call, type, &recipe, result);
  } else {
    if (type != NULL) tm_type_release(type);
    if (!ok) error = tm_fail_code(NULL, call, MPI_ERR_NO_MEM);
  }
  free(olds);
  free(integers);
  return error;
}

#pragma weak MPI_Type_create_resized = PMPI_Type_create_resized
int PMPI_Type_create_resized(MPI_Datatype handle, MPI_Aint lower, MPI_Aint extent,
                             MPI_Datatype *result) {
  struct tm_type *old;
  int error = tm_derive_get("MPI_Type_create_resized", handle, &old);
  if (error != MPI_SUCCESS) return error;
  struct tm_type *type = tm_type_new(MPI_COMBINER_RESIZED);
  if (type != NULL && tm_type_add(type, old, 0, 1)) {
    type->lb = lower;
    type->ub = lower + extent;
    tm_type_finish(type, false);
  }
  struct tm_recipe recipe = {NULL, 0, (MPI_Aint[]){lower, extent}, 2, &old, 1};
  return tm_derive_end("MPI_Type_create_resized", type, &recipe, result);
}

#pragma weak MPI_Type_dup = PMPI_Type_dup
int PMPI_Type_dup(MPI_Datatype handle, MPI_Datatype *result) {
  struct tm_type *old;
  struct tm_attributes *attributes = NULL;
  int error = tm_derive_get("MPI_Type_dup", handle, &old);
  if (error != MPI_SUCCESS) return error;
  *result = MPI_DATATYPE_NULL;
  error = tm_attributes_copy(&attributes, &old->attributes, MPI_COMM_NULL, handle);
  if (error != MPI_SUCCESS) return tm_fail_code(NULL, "MPI_Type_dup", error);
  struct tm_type *type = tm_type_new(MPI_COMBINER_DUP);
  if (type != NULL && tm_type_add(type, old, 0, 1)) {
    tm_type_finish(type, false);
    type->lb = old->lb;
    type->ub = old->ub;
    type->dense = old->dense;
    type->basic = old->basic;
    type->committed = old->committed;
    type->attributes = attributes;
  }
  struct tm_recipe recipe = {NULL, 0, NULL, 0, &old, 1};
  return tm_derive_end("MPI_Type_dup", type, &recipe, result);
}
