/* SPDX-License-Identifier: Apache-2.0 */
/* Communicators of a group of another one's members. */
#include <stdlib.h>

#include "tmpi/coll/coll.h"
#include "tmpi/comm/common.h"
#include "tmpi/comm/split.h"
#include "tmpi/error/errors.h"
#include "tmpi/object/span.h"

/* The group's first rank makes the context and sends it to the first member of each other node. */
static uint64_t share_context(struct tm_coll *coll, const struct tm_group *group) {
  struct tm_type *byte = tm_type_of(MPI_BYTE);
  int first = group->ranks[0];
  uint64_t context = 0;
  if (first != tm_rank_number()) {
    tm_coll_recv(coll, &context, sizeof context, byte, tm_group_find(coll->comm->group, first));
    return context;
  }
  context = tm_context_new_limited();
  if (!tm_group_spans(group)) return context;
  struct tm_span *span = tm_span_new(group, 0);
  if (span == NULL) tm_panic("no memory for a group of %d ranks", group->size);
  for (int i = 1; i < span->nodes; i++)
    tm_coll_send(coll, &context, sizeof context, byte,
                 tm_group_find(coll->comm->group, group->ranks[span->speakers[i]]));
  free(span);
  return context;
}

/* Only the members take part. The first one of each node tells the others there. */
static void share(struct tm_coll *coll, const struct tm_group *group, struct tm_common *common) {
  struct tm_type *byte = tm_type_of(MPI_BYTE);
  int first = 0;
  while (!tm_rank_is_here(group->ranks[first])) first++;
  if (group->ranks[first] != tm_rank_number()) {
    tm_coll_recv(coll, common, sizeof *common, byte,
                 tm_group_find(coll->comm->group, group->ranks[first]));
    return;
  }
  uint64_t context = share_context(coll, group);
  int *members = malloc((size_t)group->size * sizeof *members);
  if (members == NULL) tm_panic("no memory for a group of %d ranks", group->size);
  for (int i = 0; i < group->size; i++)
    members[i] = tm_group_find(coll->comm->group, group->ranks[i]);
  *common = tm_common_new(coll->comm, context, members, group->size);
  for (int i = first + 1; i < group->size; i++)
    if (tm_rank_is_here(group->ranks[i]))
      tm_coll_send(coll, common, sizeof *common, byte, members[i]);
  tm_group_release(common->group);
  free(members);
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
  int rank = tm_group_find(group, tm_rank_number());
  if (comm->inter)
    return tm_intercomm_split(comm, call, rank != MPI_UNDEFINED ? 0 : MPI_UNDEFINED, rank, result);
  if (tag >= 0) {
    struct tm_coll coll = tm_coll_tagged(comm, call, tag);
    if (rank != MPI_UNDEFINED) share(&coll, group, &common);
    return tm_common_finish(comm, call, &common, result);
  }
  /* Groups of which no two have a member in common are made by one call. */
  int color = rank != MPI_UNDEFINED ? tm_group_find(comm->group, group->ranks[0]) : MPI_UNDEFINED;
  struct tm_coll coll = tm_coll_begin(comm, call);
  tm_split(&coll, color, rank, &common);
  if (common.group != NULL || common.context != 0)
    return tm_common_finish(comm, call, &common, result);
  *result = MPI_COMM_NULL; /* all ranks of the parent fail, or none */
  return tm_too_many_comms(comm, call);
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
