/* SPDX-License-Identifier: Apache-2.0 */
/* Communicators are freed. */
#include "tmpi/attr/attribute.h"
#include "tmpi/coll/collective.h"
#include "tmpi/error/errors.h"
#include "tmpi/object/world.h"

static int free_comm(const char *call, MPI_Comm *handle, bool together) {
  struct tm_comm *comm;
  int error = tm_get_comm(call, *handle, &comm);
  if (error != MPI_SUCCESS) return error;
  if (*handle == MPI_COMM_WORLD || *handle == MPI_COMM_SELF)
    return tm_fail(comm, call, MPI_ERR_COMM, "%s cannot be freed", comm->name);
  if (together) tm_call_barrier(call, *handle);
  error = tm_attributes_delete(&comm->attributes, *handle);
  if (error != MPI_SUCCESS) return tm_fail_code(comm, call, error);
  struct tm_comm **to_parents = tm_world_to_parents(comm->owner);
  if (to_parents != NULL && *to_parents == comm) *to_parents = NULL;
  tm_comm_release(comm);
  *handle = MPI_COMM_NULL;
  return MPI_SUCCESS;
}

#pragma weak MPI_Comm_free = PMPI_Comm_free
int PMPI_Comm_free(MPI_Comm *comm) { return free_comm("MPI_Comm_free", comm, false); }

/* What is still under way completes by itself: ranks never come apart. */
#pragma weak MPI_Comm_disconnect = PMPI_Comm_disconnect
int PMPI_Comm_disconnect(MPI_Comm *comm) { return free_comm("MPI_Comm_disconnect", comm, true); }
