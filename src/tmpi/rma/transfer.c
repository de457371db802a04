/* SPDX-License-Identifier: Apache-2.0 */
/* MPI_Put(), MPI_Get() and their forms: one copy, from type to type, by the origin. */
#include "tmpi/rma/access.h"

int tm_call_put(const struct tm_access_call *c) {
  struct tm_access a;
  int error = tm_access_begin(c, &a);
  if (error != MPI_SUCCESS) return error;
  if (a.target == NULL) return tm_far_put(c, &a);
  error = tm_access_part(c, &a, c->origin, c->origin_count, c->origin_type, &a.origin);
  if (error == MPI_SUCCESS) error = tm_access_fits(c, &a, a.origin.bytes, a.memory.bytes);
  if (error != MPI_SUCCESS) return error;
  tm_type_copy(a.memory.at, a.memory.type, a.origin.at, a.origin.type, a.origin.bytes);
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
  tm_type_copy(a.origin.at, a.origin.type, a.memory.at, a.memory.type, a.memory.bytes);
  return tm_access_end(c, &a);
}
