/* SPDX-License-Identifier: Apache-2.0 */
/* The arguments of collectives. */
#include "tmpi/coll/coll.h"
#include "tmpi/coll/op.h"
#include "tmpi/error/errors.h"
#include "tmpi/request/request.h"

int tm_refuse_count(struct tm_comm *comm, const char *call, MPI_Count count) {
  return tm_fail(comm, call, MPI_ERR_COUNT, "count %lld is negative", (long long)count);
}

int tm_check_counts(struct tm_comm *comm, const char *call, const struct tm_parts *parts,
                    int many) {
  if (!tm_counts_given(parts->counts)) many = 1; /* all have the same */
  int error = MPI_SUCCESS;
  for (int i = 0; error == MPI_SUCCESS && i < many; i++)
    error = tm_check_count(comm, call, tm_parts_count(parts, i));
  return error;
}

int tm_check_bytes_of_all(struct tm_comm *comm, const char *call, const struct tm_parts *parts,
                          int many, const struct tm_type *type) {
  if (!tm_counts_given(parts->counts)) many = 1;
  int error = MPI_SUCCESS;
  for (int i = 0; error == MPI_SUCCESS && i < many; i++)
    error = tm_check_bytes(comm, call, tm_parts_count(parts, i), type);
  return error;
}

int tm_check_part(struct tm_comm *comm, const char *call, const struct tm_part *given,
                  MPI_Datatype type, struct tm_part *part) {
  *part = (struct tm_part){given->at, 0, NULL};
  if (given->at == MPI_IN_PLACE) return MPI_SUCCESS;
  int error = tm_check_count(comm, call, (MPI_Count)given->count);
  part->count = given->count;
  if (error == MPI_SUCCESS) error = tm_get_type(comm, call, type, &part->type);
  if (error != MPI_SUCCESS) return error;
  return tm_check_bytes(comm, call, (MPI_Count)part->count, part->type);
}

int tm_check_parts(struct tm_comm *comm, const char *call, const struct tm_parts *given,
                   MPI_Datatype type, struct tm_parts *parts) {
  *parts = *given;
  int many = comm->remote->size, error = tm_check_counts(comm, call, parts, many);
  if (error == MPI_SUCCESS) error = tm_get_type(comm, call, type, &parts->type);
  if (error != MPI_SUCCESS) return error;
  return tm_check_bytes_of_all(comm, call, parts, many, parts->type);
}

int tm_check_other_root(struct tm_comm *comm, const char *call, int root) {
  bool valid = root >= 0 && root < comm->remote->size;
  if (comm->inter) valid |= root == MPI_ROOT || root == MPI_PROC_NULL;
  return valid ? MPI_SUCCESS
               : tm_fail(comm, call, MPI_ERR_ROOT, "root %d is not one of the %d ranks", root,
                         comm->remote->size);
}

int tm_check_op(struct tm_comm *comm, const char *call, MPI_Op handle, const struct tm_type *type,
                const struct tm_op **op) {
  *op = tm_op_of(handle);
  if (*op == NULL)
    return tm_fail(comm, call, MPI_ERR_OP, "the operation is %s",
                   handle == MPI_OP_NULL ? "MPI_OP_NULL" : "not valid: freed, or never made");
  if (!tm_op_fits(*op, type))
    return tm_fail(comm, call, MPI_ERR_OP, "the operation is not one for this datatype");
  return MPI_SUCCESS;
}

int tm_check_alias(struct tm_comm *comm, const char *call, const struct tm_part *sent,
                   const struct tm_part *filled) {
  bool overlap = sent->at == filled->at && sent->at != MPI_BOTTOM && sent->type == filled->type &&
                 sent->count > 0 && filled->count > 0 && sent->type->size > 0;
  return !overlap ? MPI_SUCCESS
                  : tm_fail(comm, call, MPI_ERR_BUFFER,
                            "the data to send and the result are at the same address (give "
                            "MPI_IN_PLACE to have them there, or another buffer)");
}

int tm_coll_result(const struct tm_coll *coll) {
  if (coll->error == MPI_SUCCESS) return MPI_SUCCESS;
  if (coll->error == MPI_ERR_TRUNCATE && coll->sent > 0)
    return tm_fail(coll->comm, coll->call, coll->error,
                   "rank %d sent %zu bytes, and there is room for %zu (counts and types have to "
                   "agree)",
                   coll->sender, coll->sent, coll->room);
  return tm_fail(coll->comm, coll->call, coll->error,
                 "another rank sent more than there is room for (counts and types have to agree)");
}
