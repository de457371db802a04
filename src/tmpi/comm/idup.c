/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MPI_Comm_idup() and MPI_Comm_idup_with_info(): a thread makes the copy, as it performs
 * collectives. Attributes and hints are copied before: the copy has those of the time of the call.
 */
#include "tmpi/attr/attribute.h"
#include "tmpi/coll/collective.h"
#include "tmpi/comm/dup.h"
#include "tmpi/error/errors.h"
#include "tmpi/object/info.h"

/* The thread's part: c->comm is the shadow of the communicator. */
static int dup(const struct tm_collective *c) {
  struct tm_info *hints = (struct tm_info *)c->info;
  int error = tm_comm_dup(c->call, tm_comm_of(c->comm), c->attributes, hints, c->result);
  tm_info_free(hints);
  return error;
}

/* hints: to be copied; NULL: none. */
static int start(const char *call, struct tm_comm *comm, MPI_Comm handle,
                 const struct tm_info *hints, MPI_Comm *copy, MPI_Request *request) {
  static const struct tm_collective_kind kind = {.perform = dup};
  struct tm_collective c = {.call = call, .kind = &kind, .comm = handle, .result = copy};
  int error = tm_attributes_copy(&c.attributes, &comm->attributes, handle);
  if (error != MPI_SUCCESS) return tm_fail_code(comm, call, error);
  struct tm_info *own = hints != NULL ? tm_info_copy(hints) : NULL;
  c.info = (MPI_Info)own;
  error = hints == NULL || own != NULL ? tm_collective_start(&c, request)
                                       : tm_fail_code(comm, call, MPI_ERR_NO_MEM);
  if (error == MPI_SUCCESS) return error;
  tm_attributes_delete(&c.attributes, handle);
  tm_info_free(own);
  return error;
}

#pragma weak MPI_Comm_idup = PMPI_Comm_idup
int PMPI_Comm_idup(MPI_Comm handle, MPI_Comm *copy, MPI_Request *request) {
  struct tm_comm *comm;
  int error = tm_get_comm("MPI_Comm_idup", handle, &comm);
  if (error != MPI_SUCCESS) return error;
  return start("MPI_Comm_idup", comm, handle, comm->info, copy, request);
}

#pragma weak MPI_Comm_idup_with_info = PMPI_Comm_idup_with_info
int PMPI_Comm_idup_with_info(MPI_Comm handle, MPI_Info info, MPI_Comm *copy, MPI_Request *request) {
  static const char call[] = "MPI_Comm_idup_with_info";
  struct tm_comm *comm;
  int error = tm_get_comm(call, handle, &comm);
  if (error == MPI_SUCCESS) error = tm_check_info(comm, call, info);
  if (error != MPI_SUCCESS) return error;
  return start(call, comm, handle, info != MPI_INFO_NULL ? tm_info_of(info) : NULL, copy, request);
}
