/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operations: predefined ones, and those a program makes.
 *
 * Relaxed: only a holder of a reference adds one.
 */
#include "tmpi/coll/op.h"

#include <stdlib.h>

#include "base/atomic.h"
#include "tmpi/coll/coll.h"
#include "tmpi/error/errors.h"
#include "tmpi/rank/handle.h"
#include "tmpi/rank/user_code.h"

enum { MAGIC = 0x0b };

struct tm_op {
  uint32_t magic;
  uint32_t refs; /* [atomic] of the program's: the handle, and nonblocking collectives */
  bool commutes;
  MPI_Op predefined;               /* MPI_OP_NULL: the function is the program's */
  MPI_User_function *function;     /* NULL: */
  MPI_User_function_c *function_c; /* with 64-bit counts; both NULL: predefined */
};

/* The handles of the ABI, in a row. */
static const struct tm_op predefined[] = {
#define ROW(name) [(uintptr_t)0x##name - 0x20]
    ROW(21) = {MAGIC, 1, true, MPI_SUM, NULL, NULL},
    ROW(22) = {MAGIC, 1, true, MPI_MIN, NULL, NULL},
    ROW(23) = {MAGIC, 1, true, MPI_MAX, NULL, NULL},
    ROW(24) = {MAGIC, 1, true, MPI_PROD, NULL, NULL},
    ROW(28) = {MAGIC, 1, true, MPI_BAND, NULL, NULL},
    ROW(29) = {MAGIC, 1, true, MPI_BOR, NULL, NULL},
    ROW(2a) = {MAGIC, 1, true, MPI_BXOR, NULL, NULL},
    ROW(30) = {MAGIC, 1, true, MPI_LAND, NULL, NULL},
    ROW(31) = {MAGIC, 1, true, MPI_LOR, NULL, NULL},
    ROW(32) = {MAGIC, 1, true, MPI_LXOR, NULL, NULL},
    ROW(38) = {MAGIC, 1, true, MPI_MINLOC, NULL, NULL},
    ROW(39) = {MAGIC, 1, true, MPI_MAXLOC, NULL, NULL},
    ROW(3c) = {MAGIC, 1, false, MPI_REPLACE, NULL, NULL},
    ROW(3d) = {MAGIC, 1, false, MPI_NO_OP, NULL, NULL},
#undef ROW
};

const struct tm_op *tm_op_of(MPI_Op handle) {
  uintptr_t index = (uintptr_t)handle - 0x20;
  if (index < sizeof predefined / sizeof predefined[0])
    return predefined[index].magic == MAGIC ? &predefined[index] : NULL;
  if (!tm_handle_is_address(handle)) return NULL;
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
  /* OP-1 acq_rel: all uses are over; pairs OP-1 */
  if (is_predefined(op) || mt_add_acq_rel(&op->refs, (uint32_t)-1) != 1) return;
  op->magic = 0;
  free(op);
}

bool tm_op_fits(const struct tm_op *op, const struct tm_type *type) {
  return !is_predefined(op) || tm_combine_of(op->predefined, (enum tm_basic)type->basic) != NULL;
}

/* A function with ints gets as many elements at a time as an int can tell. */
static void apply_user(const struct tm_op *op, const void *in, void *inout, size_t count,
                       struct tm_type *type) {
  MPI_Datatype handle = tm_type_handle(type);
  if (op->function_c != NULL) {
    MPI_Count all = (MPI_Count)count;
    op->function_c((void *)(uintptr_t)in, inout, &all, &handle);
    return;
  }
  for (size_t done = 0; done < count;) {
    int some = count - done < INT32_MAX ? (int)(count - done) : INT32_MAX, length = some;
    ptrdiff_t offset = (ptrdiff_t)done * tm_type_extent(type);
    op->function((char *)(uintptr_t)in + offset, (char *)inout + offset, &length, &handle);
    done += (size_t)some;
  }
}

/* The same, not beside the program's own thread if that is the only one. */
__attribute__((noinline)) static void apply_user_alone(const struct tm_op *op, const void *in,
                                                       void *inout, size_t count,
                                                       struct tm_type *type) {
  struct tm_rank *rank = tm_rank_self();
  bool waits = tm_user_code_needs_token(rank);
  if (waits) tm_user_code_take(rank);
  apply_user(op, in, inout, count, type);
  if (waits) tm_user_code_give(rank);
}

tm_combine *tm_op_combine(const struct tm_op *op, const struct tm_type *type) {
  return is_predefined(op) ? tm_combine_of(op->predefined, (enum tm_basic)type->basic) : NULL;
}

void tm_op_apply(const struct tm_op *op, const void *in, void *inout, size_t count,
                 struct tm_type *type) {
  tm_combine *combine = tm_op_combine(op, type);
  if (combine != NULL)
    combine(in, inout, count);
  else
    apply_user_alone(op, in, inout, count, type);
}

bool tm_op_is_user(const struct tm_op *op) { return !is_predefined(op); }

static int create(const char *call, MPI_User_function *function, MPI_User_function_c *function_c,
                  int commute, MPI_Op *handle) {
  tm_enter(call);
  if (function == NULL && function_c == NULL)
    return tm_fail(NULL, call, MPI_ERR_ARG, "there is no function");
  struct tm_op *op = malloc(sizeof *op);
  if (op == NULL) return tm_fail_code(NULL, call, MPI_ERR_NO_MEM);
  *op = (struct tm_op){MAGIC, 1, commute != 0, MPI_OP_NULL, function, function_c};
  *handle = (MPI_Op)op;
  return MPI_SUCCESS;
}

#pragma weak MPI_Op_create = PMPI_Op_create
int PMPI_Op_create(MPI_User_function *function, int commute, MPI_Op *op) {
  return create("MPI_Op_create", function, NULL, commute, op);
}

#pragma weak MPI_Op_create_c = PMPI_Op_create_c
int PMPI_Op_create_c(MPI_User_function_c *function, int commute, MPI_Op *op) {
  return create("MPI_Op_create_c", NULL, function, commute, op);
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
  if (is_predefined(op))
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

int tm_call_reduce_local(const char *call, const void *in, void *inout, MPI_Count count,
                         MPI_Datatype handle, MPI_Op op_handle) {
  const struct tm_op *op;
  struct tm_type *type;
  int error = get(call, op_handle, &op);
  if (error == MPI_SUCCESS && count < 0)
    error = tm_fail(NULL, call, MPI_ERR_COUNT, "count %lld is negative", (long long)count);
  if (error == MPI_SUCCESS) error = tm_get_type(NULL, call, handle, &type);
  if (error == MPI_SUCCESS) error = tm_check_bytes(NULL, call, count, type);
  if (error == MPI_SUCCESS && !tm_op_fits(op, type))
    error = tm_fail(NULL, call, MPI_ERR_OP, "the operation is not one for this type");
  if (error != MPI_SUCCESS || count == 0) return error;
  if (in == MPI_IN_PLACE || inout == MPI_IN_PLACE)
    return tm_fail(NULL, call, MPI_ERR_BUFFER, "MPI_IN_PLACE is for collectives only");
  struct tm_part sent = {tm_sendbuf(in), (size_t)count, type},
                 filled = {inout, (size_t)count, type};
  error = tm_check_alias(NULL, call, &sent, &filled);
  if (error == MPI_SUCCESS) tm_op_apply(op, in, inout, (size_t)count, type);
  return error;
}
