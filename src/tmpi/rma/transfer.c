/* SPDX-License-Identifier: Apache-2.0 */
/* MPI_Put(), MPI_Get() and their forms: one copy, from type to type, by the origin. */
#include "tmpi/rma/access.h"

/* tm_type_copy(), with the usual element in line. */
static inline void copy(const struct tm_access_part *to, const struct tm_access_part *from,
                        size_t bytes) {
  if (bytes == sizeof(uint64_t) && to->type->dense && from->type->dense)
    memmove((char *)to->at + to->type->blocks[0].at, (char *)from->at + from->type->blocks[0].at,
            sizeof(uint64_t));
  else
    tm_type_copy(to->at, to->type, from->at, from->type, bytes);
}

int tm_call_put(const struct tm_access_call *c) {
  struct tm_access a;
  int error = tm_access_begin(c, &a);
  if (error != MPI_SUCCESS) return error;
  if (a.target == NULL) return tm_far_put(c, &a);
  error = tm_access_part(c, &a, c->origin, c->origin_count, c->origin_type, &a.origin);
  if (error == MPI_SUCCESS) error = tm_access_fits(c, &a, a.origin.bytes, a.memory.bytes);
  if (error != MPI_SUCCESS) return error;
  copy(&a.memory, &a.origin, a.origin.bytes);
  return tm_access_end(c, &a);
}

int tm_call_get(const struct tm_access_call *c) {
  struct tm_access a;
  int error = tm_access_begin(c, &a);
  if (error != MPI_SUCCESS) return error;
  if (a.target == NULL) return tm_far_get(c, &a);
  error = tm_access_part(c, &a, c->origin, c->origin_count, c->origin_type, &a.origin);
  if (error == MPI_SUCCESS) error = tm_access_fits(c, &a, a.memory.bytes, a.origin.bytes);
  if (error != MPI_SUCCESS) return error;
  copy(&a.origin, &a.memory, a.memory.bytes);
  return tm_access_end(c, &a);
}
