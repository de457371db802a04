/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of communicators. */
#include "tmpi/comm/dup.h"

#include "tmpi/attr/attribute.h"
#include "tmpi/coll/coll.h"
#include "tmpi/error/errors.h"
#include "tmpi/object/info.h"
#include "tmpi/object/topology.h"

/* @return a communicator of the same groups and topology; NULL: no memory. */
static struct tm_comm *copy_of(const struct tm_comm *old, uint64_t context) {
  tm_group_hold(old->group);
  if (old->inter) tm_group_hold(old->remote);
  struct tm_comm *comm =
      tm_comm_add_local(tm_comm_new(context, old->group, old->inter ? old->remote : NULL));
  if (comm == NULL || old->topology == NULL) return comm;
  comm->topology = tm_topology_copy(old->topology);
  if (comm->topology != NULL) return comm;
  tm_comm_release(comm);
  return NULL;
}

int tm_comm_dup(const char *call, struct tm_comm *old, struct tm_attributes *attributes,
                const struct tm_info *hints, MPI_Comm *copy) {
  uint64_t context = tm_context_agree_limited(old, call);
  struct tm_comm *comm = context != 0 ? copy_of(old, context) : NULL;
  if (comm == NULL) {
    tm_attributes_delete(&attributes, tm_comm_handle(old));
    return context == 0 ? tm_too_many_comms(old, call) : tm_fail_code(old, call, MPI_ERR_NO_MEM);
  }
  tm_comm_inherit(comm, old);
  comm->attributes = attributes;
  if (hints != NULL) comm->info = tm_info_hints(hints);
  *copy = (MPI_Comm)comm;
  return MPI_SUCCESS;
}

static int dup(const char *call, MPI_Comm handle, MPI_Info info, bool own_info, MPI_Comm *copy) {
  struct tm_comm *old;
  struct tm_attributes *attributes;
  int error = tm_get_comm(call, handle, &old);
  if (error == MPI_SUCCESS) error = tm_check_info(old, call, info);
  if (error != MPI_SUCCESS) return error;
  *copy = MPI_COMM_NULL;
  error = tm_attributes_copy(&attributes, &old->attributes, handle);
  if (error == MPI_SUCCESS)
    return tm_comm_dup(call, old, attributes, own_info ? tm_info_of(info) : old->info, copy);
  tm_context_agree_limited(old, call); /* the other members make copies, and wait for this one */
  return tm_fail_code(old, call, error);
}

#pragma weak MPI_Comm_dup = PMPI_Comm_dup
int PMPI_Comm_dup(MPI_Comm comm, MPI_Comm *copy) {
  return dup("MPI_Comm_dup", comm, MPI_INFO_NULL, false, copy);
}

#pragma weak MPI_Comm_dup_with_info = PMPI_Comm_dup_with_info
int PMPI_Comm_dup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm *copy) {
  return dup("MPI_Comm_dup_with_info", comm, info, true, copy);
}
