/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file op.h
 * Operations of reductions. What comes from the lower ranks is `in`: inout = in op inout.
 */
#ifndef TM_COLL_OP_H
#define TM_COLL_OP_H

#include "tmpi/layout/type.h"

struct tm_op;

/** @return the operation of a handle, NULL: no valid one. */
const struct tm_op *tm_op_of(MPI_Op handle);

/** It may be freed while a nonblocking collective uses it. */
void tm_op_hold(const struct tm_op *op);
void tm_op_release(const struct tm_op *op);

/** @return whether it is the program's. */
bool tm_op_is_user(const struct tm_op *op);

/** @return whether it can be applied to elements of a type. */
bool tm_op_fits(const struct tm_op *op, const struct tm_type *type);

/** inout[i] = in[i] op inout[i]. Calls of the program's functions may switch threads. */
void tm_op_apply(const struct tm_op *op, const void *in, void *inout, size_t count,
                 struct tm_type *type);

/** MPI_Reduce_local(). @return MPI_SUCCESS or what tm_fail() returned. */
int tm_call_reduce_local(const char *call, const void *in, void *inout, MPI_Count count,
                         MPI_Datatype handle, MPI_Op op_handle);

/** combine.c: the function of a predefined operation for a basic type; NULL: none. */
typedef void tm_combine(const void *in, void *inout, size_t count);
tm_combine *tm_combine_of(MPI_Op handle, enum tm_basic basic);

/** The same of an operation that fits the type; NULL: it is the program's. Loops over few elements
 * look it up once: tm_op_apply() would take longer for that than for the elements. */
tm_combine *tm_op_combine(const struct tm_op *op, const struct tm_type *type);

#endif
