/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operations: predefined ones, and those a program makes.
 *
 * Relaxed: references are added by who has one.
 */
#include "tmpi/coll/op.h"

#include <stdlib.h>

#include "base/atomic.h"
#include "tmpi/mpi/errors.h"
#include "tmpi/mpi/request.h"

enum { MAGIC = 0x0b };

struct tm_op {
  uint32_t magic;
  uint32_t refs; /* [atomic] of the program's: the handle, and nonblocking collectives */
  bool commutes;
  MPI_Op predefined; /* MPI_OP_NULL: the function is the program's */
  MPI_User_function *function;
};

/* The handles of the ABI, in a row. */
static const struct tm_op predefined[] = {
#define ROW(name) [(uintptr_t)0x##name - 0x20]
    ROW(21) = {MAGIC, 1, true, MPI_SUM, NULL},      ROW(22) = {MAGIC, 1, true, MPI_MIN, NULL},
    ROW(23) = {MAGIC, 1, true, MPI_MAX, NULL},      ROW(24) = {MAGIC, 1, true, MPI_PROD, NULL},
    ROW(28) = {MAGIC, 1, true, MPI_BAND, NULL},     ROW(29) = {MAGIC, 1, true, MPI_BOR, NULL},
    ROW(2a) = {MAGIC, 1, true, MPI_BXOR, NULL},     ROW(30) = {MAGIC, 1, true, MPI_LAND, NULL},
    ROW(31) = {MAGIC, 1, true, MPI_LOR, NULL},      ROW(32) = {MAGIC, 1, true, MPI_LXOR, NULL},
    ROW(38) = {MAGIC, 1, true, MPI_MINLOC, NULL},   ROW(39) = {MAGIC, 1, true, MPI_MAXLOC, NULL},
    ROW(3c) = {MAGIC, 1, false, MPI_REPLACE, NULL}, ROW(3d) = {MAGIC, 1, false, MPI_NO_OP, NULL},
#undef ROW
};

const struct tm_op *tm_op_of(MPI_Op handle) {
  uintptr_t index = (uintptr_t)handle - 0x20;
  if (index < sizeof predefined / sizeof predefined[0])
    return predefined[index].magic == MAGIC ? &predefined[index] : NULL;
  if ((uintptr_t)handle < 0x1000) return NULL;
  const struct tm_op *op = (const struct tm_op *)handle;
  return op->magic == MAGIC ? op : NULL;
}

static bool is_predefined(const struct tm_op *op) {
  return op >= predefined && op < predefined + sizeof predefined / sizeof predefined[0];
}

void tm_op_hold(const struct tm_op *op) {
  if (!is_predefined(op)) mt_add_relaxed(&((struct tm_op *)(uintptr_t)op)->refs, 1);
}

void tm_op_release(const struct tm_op *constant) {
  struct tm_op *op = (struct tm_op *)(uintptr_t)constant;
  /* OP-1 acq_rel: whoever used it has done so; pairs OP-1 */
  if (is_predefined(op) || mt_add_acq_rel(&op->refs, (uint32_t)-1) != 1) return;
  op->magic = 0;
  free(op);
}

bool tm_op_fits(const struct tm_op *op, const struct tm_type *type) {
  return op->function != NULL || tm_combine_of(op->predefined, (enum tm_basic)type->basic) != NULL;
}

void tm_op_apply(const struct tm_op *op, const void *in, void *inout, size_t count,
                 struct tm_type *type) {
  if (op->function == NULL) {
    tm_combine_of(op->predefined, (enum tm_basic)type->basic)(in, inout, count);
    return;
  }
  MPI_Datatype handle = tm_type_handle(type);
  int length = (int)count;
  op->function((void *)(uintptr_t)in, inout, &length, &handle);
}

#pragma weak MPI_Op_create = PMPI_Op_create
int PMPI_Op_create(MPI_User_function *function, int commute, MPI_Op *handle) {
  tm_enter("MPI_Op_create");
  struct tm_op *op = malloc(sizeof *op);
  if (function == NULL || op == NULL) {
    free(op);
    return tm_fail(NULL, "MPI_Op_create", function == NULL ? MPI_ERR_ARG : MPI_ERR_NO_MEM,
                   "no function, or no memory");
  }
  *op = (struct tm_op){MAGIC, 1, commute != 0, MPI_OP_NULL, function};
  *handle = (MPI_Op)op;
  return MPI_SUCCESS;
}

static int get(const char *call, MPI_Op handle, const struct tm_op **op) {
  tm_enter(call);
  *op = tm_op_of(handle);
  return *op != NULL
             ? MPI_SUCCESS
             : tm_fail(NULL, call, MPI_ERR_OP, "the operation is %s",
                       handle == MPI_OP_NULL ? "MPI_OP_NULL" : "not valid: freed, or never made");
}

#pragma weak MPI_Op_free = PMPI_Op_free
int PMPI_Op_free(MPI_Op *handle) {
  const struct tm_op *op;
  int error = get("MPI_Op_free", *handle, &op);
  if (error != MPI_SUCCESS) return error;
  if (op->function == NULL)
    return tm_fail(NULL, "MPI_Op_free", MPI_ERR_OP, "a predefined operation cannot be freed");
  tm_op_release(op);
  *handle = MPI_OP_NULL;
  return MPI_SUCCESS;
}

#pragma weak MPI_Op_commutative = PMPI_Op_commutative
int PMPI_Op_commutative(MPI_Op handle, int *commute) {
  const struct tm_op *op;
  int error = get("MPI_Op_commutative", handle, &op);
  if (error == MPI_SUCCESS) *commute = op->commutes;
  return error;
}

#pragma weak MPI_Reduce_local = PMPI_Reduce_local
int PMPI_Reduce_local(const void *in, void *inout, int count, MPI_Datatype handle,
                      MPI_Op op_handle) {
  const struct tm_op *op;
  struct tm_type *type;
  int error = get("MPI_Reduce_local", op_handle, &op);
  if (error == MPI_SUCCESS && count < 0)
    error = tm_fail(NULL, "MPI_Reduce_local", MPI_ERR_COUNT, "count %d is negative", count);
  if (error == MPI_SUCCESS) error = tm_get_type(NULL, "MPI_Reduce_local", handle, &type);
  if (error == MPI_SUCCESS && !tm_op_fits(op, type))
    error = tm_fail(NULL, "MPI_Reduce_local", MPI_ERR_OP, "the operation is not one for this type");
  if (error == MPI_SUCCESS && count > 0) tm_op_apply(op, in, inout, (size_t)count, type);
  return error;
}
