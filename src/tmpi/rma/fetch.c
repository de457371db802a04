/* SPDX-License-Identifier: Apache-2.0 */
/* MPI_Fetch_and_op() and MPI_Compare_and_swap(): one element of a predefined datatype. */
#include <string.h>

#include "tmpi/rma/element.h"
#include "tmpi/rma/update.h"

/* Fields that these calls do not have. Without values the compiler would clear the structure first,
 * which takes as long as the checks. */
#define NO_ORIGIN .origin = NULL, .origin_count = 0, .origin_type = MPI_DATATYPE_NULL
#define NO_RESULT_TYPE .result_count = 0, .result_type = MPI_DATATYPE_NULL

static bool is_null(const struct tm_access *a) { return a->target == NULL && a->far == NULL; }

static int begin(const struct tm_access_call *c, struct tm_access *a) {
  int error = tm_access_begin(c, a);
  if (error != MPI_SUCCESS || is_null(a)) return error;
  if (a->memory.type->predefined || a->memory.type->lasting) return MPI_SUCCESS;
  return tm_win_fail(a->win, c->call, MPI_ERR_TYPE, "the datatype is not a predefined one");
}

#pragma weak MPI_Fetch_and_op = PMPI_Fetch_and_op
int PMPI_Fetch_and_op(const void *origin_addr, void *result_addr, MPI_Datatype datatype,
                      int target_rank, MPI_Aint target_disp, MPI_Op op, MPI_Win win) {
  const struct tm_access_call c = {.call = "MPI_Fetch_and_op",
                                   .kind = TM_ACCESS_UPDATE,
                                   NO_ORIGIN,
                                   .result = result_addr,
                                   NO_RESULT_TYPE,
                                   .target = target_rank,
                                   .disp = target_disp,
                                   .target_count = 1,
                                   .target_type = datatype,
                                   .op = op,
                                   .win = win,
                                   .request = NULL};
  struct tm_access a;
  int error = begin(&c, &a);
  if (error == MPI_SUCCESS && !is_null(&a)) error = tm_update_check_op(&c, &a, a.memory.type);
  if (error != MPI_SUCCESS || is_null(&a)) return error;
  if (a.target == NULL) {
    a.origin =
        (struct tm_access_part){(void *)(uintptr_t)origin_addr, a.memory.type, a.memory.bytes};
    a.result = (struct tm_access_part){result_addr, a.memory.type, a.memory.bytes};
    return tm_far_update(&c, &a, a.memory.type, op != MPI_NO_OP, true);
  }
  char from[TM_ELEMENT_MAX], result[TM_ELEMENT_MAX];
  if (op != MPI_NO_OP) tm_type_pack(from, origin_addr, a.memory.type, 0, a.memory.bytes);
  tm_update(&a, a.memory.type, op, from, result);
  tm_type_unpack(result_addr, a.memory.type, 0, result, a.memory.bytes);
  return MPI_SUCCESS;
}

/* Integers, logicals and bytes: what the standard lets be compared. */
static bool can_compare(const struct tm_type *type) {
  switch (type->basic) {
    case TM_INT8:
    case TM_INT16:
    case TM_INT32:
    case TM_INT64:
    case TM_INT128:
    case TM_UINT8:
    case TM_UINT16:
    case TM_UINT32:
    case TM_UINT64:
    case TM_BOOL:
    case TM_LOGICAL:
    case TM_BYTE: return true;
    default: return false;
  }
}

#pragma weak MPI_Compare_and_swap = PMPI_Compare_and_swap
int PMPI_Compare_and_swap(const void *origin_addr, const void *compare_addr, void *result_addr,
                          MPI_Datatype datatype, int target_rank, MPI_Aint target_disp,
                          MPI_Win win) {
  const struct tm_access_call c = {.call = "MPI_Compare_and_swap",
                                   .kind = TM_ACCESS_UPDATE,
                                   NO_ORIGIN,
                                   .result = NULL,
                                   NO_RESULT_TYPE,
                                   .target = target_rank,
                                   .disp = target_disp,
                                   .target_count = 1,
                                   .target_type = datatype,
                                   .op = MPI_REPLACE,
                                   .win = win,
                                   .request = NULL};
  struct tm_access a;
  int error = begin(&c, &a);
  if (error != MPI_SUCCESS || is_null(&a)) return error;
  if (!can_compare(a.memory.type))
    return tm_win_fail(a.win, c.call, MPI_ERR_TYPE,
                       "the datatype is not one of integers, logicals or bytes");
  if (a.target == NULL) {
    a.origin.at = (void *)(uintptr_t)origin_addr;
    a.result = (struct tm_access_part){result_addr, a.memory.type, a.memory.bytes};
    return tm_far_swap(&c, &a, compare_addr);
  }
  char old[TM_ELEMENT_MAX];
  tm_update_swap(a.target, a.memory.at, a.memory.bytes, origin_addr, compare_addr, old);
  memcpy(result_addr, old, a.memory.bytes);
  return MPI_SUCCESS;
}
