/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file calls.h
 * What calls.table calls of this directory. Each function returns MPI_SUCCESS or what tm_fail()
 * returned; those with a maker store a new type's handle.
 */
#ifndef TM_DATATYPE_CALLS_H
#define TM_DATATYPE_CALLS_H

#include "tmpi/datatype/derive.h"

/* ---- vector.c: blocks of one type. combiner says how they are laid out. */
int tm_call_contiguous(struct tm_maker maker, MPI_Count count, MPI_Datatype old,
                       MPI_Datatype *result);
int tm_call_vector(struct tm_maker maker, int combiner, MPI_Count count, MPI_Count length,
                   MPI_Count stride, MPI_Datatype old, MPI_Datatype *result);
int tm_call_indexed(struct tm_maker maker, int combiner, MPI_Count count, struct tm_counts lengths,
                    struct tm_counts displs, MPI_Datatype old, MPI_Datatype *result);
int tm_call_indexed_block(struct tm_maker maker, int combiner, MPI_Count count, MPI_Count length,
                          struct tm_counts displs, MPI_Datatype old, MPI_Datatype *result);

/* ---- struct.c. displs, lower, extent: in bytes. */
int tm_call_struct(struct tm_maker maker, MPI_Count count, struct tm_counts lengths,
                   const MPI_Count *displs, const MPI_Datatype *handles, MPI_Datatype *result);
int tm_call_resized(struct tm_maker maker, MPI_Datatype handle, MPI_Count lower, MPI_Count extent,
                    MPI_Datatype *result);

/* ---- array.c: parts of arrays */

/** In each dimension, `subsizes` elements of `sizes`, from `starts` on. */
struct tm_subarray {
  struct tm_counts sizes, subsizes, starts;
};

/** A distributed array, as given. */
struct tm_darray {
  int size, rank, ndims, order;
  struct tm_counts gsizes;
  const int *distribs, *dargs, *psizes;
};

int tm_call_subarray(struct tm_maker maker, int ndims, const struct tm_subarray *part, int order,
                     MPI_Datatype handle, MPI_Datatype *result);
int tm_call_darray(struct tm_maker maker, const struct tm_darray *d, MPI_Datatype handle,
                   MPI_Datatype *result);

/* ---- extent.c */
int tm_call_type_size(const char *call, MPI_Datatype handle, MPI_Count *size);
int tm_call_type_extent(const char *call, MPI_Datatype handle, MPI_Count *lower, MPI_Count *extent);
int tm_call_type_true_extent(const char *call, MPI_Datatype handle, MPI_Count *lower,
                             MPI_Count *extent);

/* ---- pack.c, pack_external.c */
int tm_call_pack(const char *call, const void *in, MPI_Count count, MPI_Datatype handle, void *out,
                 MPI_Count size, MPI_Count *position, MPI_Comm comm);
int tm_call_unpack(const char *call, const void *in, MPI_Count size, MPI_Count *position, void *out,
                   MPI_Count count, MPI_Datatype handle, MPI_Comm comm);
int tm_call_pack_size(const char *call, MPI_Count count, MPI_Datatype handle, MPI_Comm comm,
                      MPI_Count *size);
int tm_call_pack_external(const char *call, const char *datarep, const void *in, MPI_Count count,
                          MPI_Datatype handle, void *out, MPI_Count size, MPI_Count *position);
int tm_call_unpack_external(const char *call, const char *datarep, const void *in, MPI_Count size,
                            MPI_Count *position, void *out, MPI_Count count, MPI_Datatype handle);
int tm_call_pack_external_size(const char *call, const char *datarep, MPI_Count count,
                               MPI_Datatype handle, MPI_Count *size);

#endif
