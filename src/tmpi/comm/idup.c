/* SPDX-License-Identifier: Apache-2.0 */
/* MPI_Comm_idup() and its kin: copies of communicators made by a thread, as collectives are. */
#include "tmpi/coll/collective.h"
#include "tmpi/error/errors.h"
#include "tmpi/object/info.h"

static int dup(const struct tm_collective *c) { return PMPI_Comm_dup(c->comm, c->result); }

#pragma weak MPI_Comm_idup = PMPI_Comm_idup
int PMPI_Comm_idup(MPI_Comm comm, MPI_Comm *copy, MPI_Request *request) {
  static const struct tm_collective_kind kind = {.perform = dup};
  struct tm_collective c = {.call = "MPI_Comm_idup", .kind = &kind, .comm = comm, .result = copy};
  return tm_collective_start(&c, request);
}

static int dup_with_info(const struct tm_collective *c) {
  MPI_Info info = c->info;
  int error = PMPI_Comm_dup_with_info(c->comm, info, c->result);
  PMPI_Info_free(&info);
  return error;
}

/* The info may be freed when this returns: the thread has a copy. */
#pragma weak MPI_Comm_idup_with_info = PMPI_Comm_idup_with_info
int PMPI_Comm_idup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm *copy, MPI_Request *request) {
  static const struct tm_collective_kind kind = {.perform = dup_with_info};
  static const char call[] = "MPI_Comm_idup_with_info";
  tm_enter(call);
  if (info != MPI_INFO_NULL && tm_info_of(info) == NULL)
    return tm_fail(NULL, call, MPI_ERR_INFO, "the info is not valid");
  struct tm_info *own = tm_info_copy(info != MPI_INFO_NULL ? tm_info_of(info) : NULL);
  if (own == NULL) return tm_fail_code(NULL, call, MPI_ERR_NO_MEM);
  struct tm_collective c = {
      .call = call, .kind = &kind, .comm = comm, .result = copy, .info = (MPI_Info)own};
  int error = tm_collective_start(&c, request);
  if (error != MPI_SUCCESS) tm_info_free(own);
  return error;
}
