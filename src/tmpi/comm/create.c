/* SPDX-License-Identifier: Apache-2.0 */
/* Communicators of a group of another one's members. */
#include <stdlib.h>

#include "tmpi/coll/coll.h"
#include "tmpi/coll/op.h"
#include "tmpi/comm/common.h"
#include "tmpi/comm/split.h"
#include "tmpi/error/errors.h"

/* The group's first rank makes it and tells the others. */
static void share(struct tm_coll *coll, const struct tm_group *group, struct tm_common *common) {
  int self = tm_rank_number();
  if (self != group->ranks[0]) {
    tm_common_recv(coll, common, tm_group_find(coll->comm->group, group->ranks[0]));
    return;
  }
  int *members = malloc((size_t)group->size * sizeof *members);
  if (members == NULL) tm_panic("no memory for a group of %d ranks", group->size);
  for (int i = 0; i < group->size; i++)
    members[i] = tm_group_find(coll->comm->group, group->ranks[i]);
  *common = tm_common_new(coll->comm, members, group->size);
  for (int i = 1; i < group->size; i++) tm_common_send(coll, common, members[i]);
  tm_group_release(common->group);
  free(members);
}

/* All ranks of the parent fail, or none: members and others would call different collectives next.
 */
static bool one_is_full(struct tm_comm *parent, const char *call, bool is_member) {
  struct tm_coll coll = tm_coll_begin(parent, call);
  int own = is_member && tm_comms_are_full(), any = 0;
  tm_allreduce(&coll, &own, &any, 1, tm_type_of(MPI_INT), tm_op_of(MPI_MAX));
  return any != 0;
}

static int check_group(struct tm_comm *comm, const char *call, MPI_Group handle,
                       struct tm_group **group) {
  *group = tm_group_of(handle);
  if (*group == NULL) return tm_fail(comm, call, MPI_ERR_GROUP, "the group is not valid");
  for (int i = 0; i < (*group)->size; i++)
    if (tm_group_find(comm->group, (*group)->ranks[i]) == MPI_UNDEFINED)
      return tm_fail(comm, call, MPI_ERR_GROUP, "rank %d of the group is not in the communicator",
                     i);
  return MPI_SUCCESS;
}

static int create(const char *call, MPI_Comm handle, MPI_Group group_handle, int tag,
                  MPI_Comm *result) {
  struct tm_comm *comm;
  struct tm_group *group;
  struct tm_common common = {0, NULL};
  int error = tm_get_comm(call, handle, &comm);
  if (error == MPI_SUCCESS && result == NULL)
    error = tm_fail(comm, call, MPI_ERR_ARG, "no place for the communicator");
  if (error == MPI_SUCCESS) error = check_group(comm, call, group_handle, &group);
  if (error != MPI_SUCCESS) return error;
  if (comm->inter) {
    int rank = tm_group_find(group, tm_rank_number());
    return tm_intercomm_split(comm, call, rank != MPI_UNDEFINED ? 0 : MPI_UNDEFINED, rank, result);
  }
  bool is_member = tm_group_find(group, tm_rank_number()) != MPI_UNDEFINED;
  if (tag < 0 && one_is_full(comm, call, is_member)) {
    *result = MPI_COMM_NULL;
    return tm_too_many_comms(comm, call);
  }
  struct tm_coll coll = tag < 0 ? tm_coll_begin(comm, call) : tm_coll_tagged(comm, call, tag);
  if (is_member) share(&coll, group, &common);
  return tm_common_finish(comm, call, &common, result);
}

#pragma weak MPI_Comm_create = PMPI_Comm_create
int PMPI_Comm_create(MPI_Comm handle, MPI_Group group, MPI_Comm *result) {
  return create("MPI_Comm_create", handle, group, -1, result);
}

#pragma weak MPI_Comm_create_group = PMPI_Comm_create_group
int PMPI_Comm_create_group(MPI_Comm handle, MPI_Group group, int tag, MPI_Comm *result) {
  tm_enter("MPI_Comm_create_group");
  if (tag < 0)
    return tm_fail(NULL, "MPI_Comm_create_group", MPI_ERR_TAG, "tag %d is negative", tag);
  return create("MPI_Comm_create_group", handle, group, tag, result);
}
