/* SPDX-License-Identifier: Apache-2.0 */
/* MPI_Accumulate(), MPI_Get_accumulate() and their forms. */
#include <stdalign.h>
#include <stdlib.h>

#include "tmpi/rma/element.h"
#include "tmpi/rma/update.h"

enum { ON_STACK = 1024 /* bytes of packed elements */ };

/* Checks that a buffer of the origin has the same elements as the target's memory. */
static int check_elements(const struct tm_access_call *c, const struct tm_access *a,
                          const struct tm_access_part *part, struct tm_type *element) {
  if (part->bytes > 0 && part->type != element) {
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

/* A buffer of the origin, as packed elements. */
struct packed {
  char *at, *allocated; /* allocated: to be freed */
  bool copied;
  alignas(long double) char stack[ON_STACK];
};

/* Fills *packed: it is to be a copy when they lie otherwise. @return false: no memory.
 */
static bool find_packed(struct packed *packed, const struct tm_access_part *part,
                        const struct tm_type *element) {
  packed->allocated = NULL;
  packed->at = part->bytes > 0 ? tm_update_together(part, element) : NULL;
  packed->copied = packed->at == NULL;
  if (packed->copied && part->bytes > ON_STACK) packed->allocated = malloc(part->bytes);
  if (packed->copied) packed->at = part->bytes > ON_STACK ? packed->allocated : packed->stack;
  return packed->at != NULL;
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
  if (!fetches && tm_update_usual(c, &a)) return tm_access_end(c, &a);
  error = check(c, &a, fetches, &element);
  if (error != MPI_SUCCESS) return error;
  bool reads = !(fetches && c->op == MPI_NO_OP);
  struct packed origin, result;
  size_t bytes = a.memory.bytes;
  origin.allocated = result.allocated = NULL;
  bool has_room = !reads || find_packed(&origin, &a.origin, element);
  has_room = has_room && (!fetches || find_packed(&result, &a.result, element));
  if (has_room) {
    if (reads && origin.copied) tm_type_pack(origin.at, a.origin.at, a.origin.type, 0, bytes);
    tm_update(&a, element, c->op, reads ? origin.at : NULL, fetches ? result.at : NULL);
    if (fetches && result.copied) tm_type_unpack(a.result.at, a.result.type, 0, result.at, bytes);
  }
  free(origin.allocated);
  free(result.allocated);
  return has_room ? tm_access_end(c, &a) : tm_win_fail_code(a.win, c->call, MPI_ERR_NO_MEM);
}
