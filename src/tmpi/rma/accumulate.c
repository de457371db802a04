/* SPDX-License-Identifier: Apache-2.0 */
/* MPI_Accumulate(), MPI_Get_accumulate() and their forms. */
#include <stdlib.h>

#include "tmpi/rma/element.h"
#include "tmpi/rma/update.h"

enum { ON_STACK = 1024 /* bytes of packed elements */ };

/* Checks that a buffer of the origin has the same elements as the target's memory. */
static int check_elements(const struct tm_access_call *c, const struct tm_access *a,
                          const struct tm_access_part *part, struct tm_type *element) {
  if (part->bytes > 0) {
    const struct tm_type *own = tm_type_element(part->type);
    if (own == NULL || !tm_element_same(own, element))
      return tm_win_fail(a->win, c->call, MPI_ERR_TYPE,
                         "origin and target are not elements of one predefined datatype");
  }
  if (part->bytes == a->memory.bytes) return MPI_SUCCESS;
  return tm_win_fail(a->win, c->call, MPI_ERR_TRUNCATE,
                     "%zu bytes at the origin are combined with %zu bytes of the target",
                     part->bytes, a->memory.bytes);
}

/* Both kinds of accumulate, within this node and to another, have this inline. */
#define INLINE __attribute__((always_inline)) static inline

/* Fills origin and result, and finds the element. */
INLINE int check(const struct tm_access_call *c, struct tm_access *a, bool fetches,
                 struct tm_type **element) {
  bool reads = !(fetches && c->op == MPI_NO_OP);
  int error = MPI_SUCCESS;
  *element = tm_type_element(a->memory.type);
  if (*element == NULL && a->memory.bytes > 0)
    return tm_win_fail(a->win, c->call, MPI_ERR_TYPE,
                       "the target's datatype has elements of several predefined datatypes");
  if (*element == NULL) *element = tm_type_of(MPI_BYTE);
  if (reads) error = tm_access_part(c, a, c->origin, c->origin_count, c->origin_type, &a->origin);
  if (error == MPI_SUCCESS && fetches)
    error = tm_access_part(c, a, c->result, c->result_count, c->result_type, &a->result);
  if (error == MPI_SUCCESS && a->memory.bytes > 0) error = tm_update_check_op(c, a, *element);
  if (error == MPI_SUCCESS && reads) error = check_elements(c, a, &a->origin, *element);
  if (error == MPI_SUCCESS && fetches) error = check_elements(c, a, &a->result, *element);
  return error;
}

/* @return memory for packed elements: on the stack if they are few, else to be freed. */
static char *room_for(size_t bytes, char stack[ON_STACK]) {
  return bytes <= ON_STACK ? stack : malloc(bytes);
}

/* Of a target on another node, or of MPI_PROC_NULL. */
__attribute__((noinline)) static int accumulate_elsewhere(const struct tm_access_call *c,
                                                          struct tm_access *a, bool fetches) {
  struct tm_type *element;
  if (a->far == NULL) return tm_access_end(c, a);
  int error = check(c, a, fetches, &element);
  if (error != MPI_SUCCESS) return error;
  return tm_far_update(c, a, element, !(fetches && c->op == MPI_NO_OP), fetches);
}

int tm_call_accumulate(const struct tm_access_call *c, bool fetches) {
  struct tm_access a;
  struct tm_type *element;
  int error = tm_access_begin(c, &a);
  if (error != MPI_SUCCESS) return error;
  if (a.target == NULL) return accumulate_elsewhere(c, &a, fetches);
  error = check(c, &a, fetches, &element);
  if (error != MPI_SUCCESS) return error;
  char origin_stack[ON_STACK], result_stack[ON_STACK];
  size_t bytes = a.memory.bytes;
  bool reads = !(fetches && c->op == MPI_NO_OP);
  char *origin = reads ? room_for(bytes, origin_stack) : NULL;
  char *result = fetches ? room_for(bytes, result_stack) : NULL;
  bool has_room = (!reads || origin != NULL) && (!fetches || result != NULL);
  if (has_room) {
    if (reads) tm_type_pack(origin, a.origin.at, a.origin.type, 0, bytes);
    tm_update(&a, element, c->op, origin, result);
    if (fetches) tm_type_unpack(a.result.at, a.result.type, 0, result, bytes);
  }
  if (origin != origin_stack) free(origin);
  if (result != result_stack) free(result);
  return has_room ? tm_access_end(c, &a) : tm_win_fail_code(a.win, c->call, MPI_ERR_NO_MEM);
}
