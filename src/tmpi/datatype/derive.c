/* SPDX-License-Identifier: Apache-2.0 */
/* What the calls that make datatypes share. */
#include "tmpi/datatype/derive.h"

#include "tmpi/error/errors.h"

int tm_derive_get(const char *call, MPI_Datatype handle, struct tm_type **type) {
  tm_enter(call);
  *type = tm_type_of(handle);
  return *type != NULL ? MPI_SUCCESS
                       : tm_fail(NULL, call, MPI_ERR_TYPE, "the datatype is %s",
                                 handle == MPI_DATATYPE_NULL ? "MPI_DATATYPE_NULL"
                                                             : "not valid: freed, or never made");
}

int tm_derive_check(const char *call, MPI_Count count, struct tm_counts lengths) {
  if (count < 0)
    return tm_fail(NULL, call, MPI_ERR_COUNT, "count %lld is negative", (long long)count);
  for (MPI_Count i = 0; tm_counts_given(lengths) && i < count; i++)
    if (tm_counts_at(lengths, i) < 0)
      return tm_fail(NULL, call, MPI_ERR_ARG, "block length %lld is negative",
                     (long long)tm_counts_at(lengths, i));
  return MPI_SUCCESS;
}

int tm_derive_end(const char *call, struct tm_type *type, bool ok, MPI_Datatype *result) {
  if (ok && !type->recipe.failed) {
    *result = (MPI_Datatype)type;
    return MPI_SUCCESS;
  }
  bool too_large = type != NULL && type->too_large;
  if (type != NULL) tm_type_release(type);
  if (too_large)
    return tm_fail(NULL, call, MPI_ERR_COUNT,
                   "the datatype would have more bytes than an address space has");
  return tm_fail_code(NULL, call, MPI_ERR_NO_MEM);
}
