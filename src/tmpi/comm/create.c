/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Communicators made of others. One member makes what all have in common, the group and the
 * context, and tells the others where it is: all ranks share memory.
 */
#include <stdlib.h>
#include <string.h>

#include "tmpi/attr/attribute.h"
#include "tmpi/coll/coll.h"
#include "tmpi/error/errors.h"
#include "tmpi/object/info.h"
#include "tmpi/object/topology.h"

/* What members have in common. group NULL: this rank is no member. */
struct common {
  uint64_t context;
  struct tm_group *group;
};

static void hold_for_all(struct tm_group *group) {
  for (int i = 0; i < group->size; i++) tm_group_hold(group);
}

/* Makes the rank's view. */
static int finish(struct tm_comm *parent, const char *call, const struct common *common,
                  MPI_Comm *result) {
  *result = MPI_COMM_NULL;
  if (common->group == NULL) return MPI_SUCCESS;
  struct tm_comm *comm = tm_comm_new(common->context, common->group, NULL);
  if (comm == NULL) return tm_fail_code(parent, call, MPI_ERR_NO_MEM);
  tm_comm_inherit(comm, parent);
  *result = (MPI_Comm)comm;
  return MPI_SUCCESS;
}

/* ---- dup */

static int dup(const char *call, MPI_Comm handle, MPI_Info info, bool own_info, MPI_Comm *copy) {
  struct tm_comm *old;
  int error = tm_get_comm(call, handle, &old);
  if (error != MPI_SUCCESS) return error;
  *copy = MPI_COMM_NULL;
  struct tm_attributes *attributes;
  error = tm_attributes_copy(&attributes, &old->attributes, handle, MPI_DATATYPE_NULL);
  uint64_t context = tm_context_agree(old, call);
  if (error != MPI_SUCCESS) return tm_fail_code(old, call, error);
  tm_group_hold(old->group);
  if (old->inter) tm_group_hold(old->remote);
  struct tm_comm *comm = tm_comm_new(context, old->group, old->inter ? old->remote : NULL);
  if (comm == NULL) return tm_fail_code(old, call, MPI_ERR_NO_MEM);
  tm_comm_inherit(comm, old);
  comm->attributes = attributes;
  if (!tm_comm_add_local(comm)) return tm_fail_code(old, call, MPI_ERR_NO_MEM);
  if (old->topology != NULL) comm->topology = tm_topology_copy(old->topology);
  const struct tm_info *hints = own_info ? tm_info_of(info) : old->info;
  if (hints != NULL) comm->info = tm_info_hints(hints);
  *copy = (MPI_Comm)comm;
  return MPI_SUCCESS;
}

#pragma weak MPI_Comm_dup = PMPI_Comm_dup
int PMPI_Comm_dup(MPI_Comm comm, MPI_Comm *copy) {
  return dup("MPI_Comm_dup", comm, MPI_INFO_NULL, false, copy);
}

#pragma weak MPI_Comm_dup_with_info = PMPI_Comm_dup_with_info
int PMPI_Comm_dup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm *copy) {
  return dup("MPI_Comm_dup_with_info", comm, info, true, copy);
}

#pragma weak MPI_Comm_set_info = PMPI_Comm_set_info
int PMPI_Comm_set_info(MPI_Comm handle, MPI_Info info_handle) {
  struct tm_comm *comm;
  int error = tm_get_comm("MPI_Comm_set_info", handle, &comm);
  if (error != MPI_SUCCESS) return error;
  struct tm_info *info = tm_info_of(info_handle);
  if (info == NULL)
    return tm_fail(comm, "MPI_Comm_set_info", MPI_ERR_INFO, "the info is not valid");
  tm_info_free(comm->info);
  comm->info = tm_info_hints(info);
  return MPI_SUCCESS;
}

#pragma weak MPI_Comm_get_info = PMPI_Comm_get_info
int PMPI_Comm_get_info(MPI_Comm handle, MPI_Info *result) {
  struct tm_comm *comm;
  int error = tm_get_comm("MPI_Comm_get_info", handle, &comm);
  if (error != MPI_SUCCESS) return error;
  struct tm_info *info = tm_info_copy(comm->info);
  if (info == NULL) return tm_fail_code(comm, "MPI_Comm_get_info", MPI_ERR_NO_MEM);
  *result = (MPI_Info)info;
  return MPI_SUCCESS;
}

/* ---- create */

/* The group's first rank makes it and tells the others. */
static void share(struct tm_coll *coll, const struct tm_group *group, struct common *common) {
  struct tm_type *byte = tm_type_of(MPI_BYTE);
  int self = tm_rank_number();
  if (self != group->ranks[0]) {
    int first = tm_group_find(coll->comm->group, group->ranks[0]);
    tm_coll_recv(coll, common, sizeof *common, byte, first);
    return;
  }
  common->context = tm_context_new();
  common->group = tm_group_new(group->size);
  if (common->group == NULL) tm_panic("no memory for a group of %d ranks", group->size);
  memcpy(common->group->ranks, group->ranks, (size_t)group->size * sizeof group->ranks[0]);
  hold_for_all(common->group);
  tm_group_release(common->group);
  for (int i = 1; i < group->size; i++)
    tm_coll_send(coll, common, sizeof *common, byte,
                 tm_group_find(coll->comm->group, group->ranks[i]));
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
  struct common common = {0, NULL};
  int error = tm_get_comm(call, handle, &comm);
  if (error == MPI_SUCCESS) error = check_group(comm, call, group_handle, &group);
  if (error != MPI_SUCCESS) return error;
  if (comm->inter) {
    int rank = tm_group_find(group, tm_rank_number());
    return tm_intercomm_split(comm, call, rank != MPI_UNDEFINED ? 0 : MPI_UNDEFINED, rank, result);
  }
  struct tm_coll coll = tag < 0 ? tm_coll_begin(comm, call) : tm_coll_tagged(comm, call, tag);
  if (tm_group_find(group, tm_rank_number()) != MPI_UNDEFINED) share(&coll, group, &common);
  return finish(comm, call, &common, result);
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

/* ---- split */

struct wish {
  int color, key, rank;
};

static int by_color_and_key(const void *a_, const void *b_) {
  const struct wish *a = a_, *b = b_;
  if (a->color != b->color) return a->color < b->color ? -1 : 1;
  if (a->key != b->key) return a->key < b->key ? -1 : 1;
  return a->rank - b->rank;
}

/* Rank 0 has all wishes, sorted: makes the groups and tells each rank which is its own. */
static void deal_out(struct tm_coll *coll, const struct wish *wishes, struct common *own) {
  int size = coll->comm->size;
  for (int from = 0, to; from < size; from = to) {
    for (to = from; to < size && wishes[to].color == wishes[from].color;) to++;
    struct common common = {0, NULL};
    if (wishes[from].color != MPI_UNDEFINED) {
      common.context = tm_context_new();
      common.group = tm_group_new(to - from);
      if (common.group == NULL) tm_panic("no memory for a group of %d ranks", to - from);
      for (int i = from; i < to; i++)
        common.group->ranks[i - from] = coll->comm->group->ranks[wishes[i].rank];
      hold_for_all(common.group);
      tm_group_release(common.group);
    }
    for (int i = from; i < to; i++) {
      if (wishes[i].rank == 0)
        *own = common;
      else
        tm_coll_send(coll, &common, sizeof common, tm_type_of(MPI_BYTE), wishes[i].rank);
    }
  }
}

int tm_comm_split(struct tm_comm *comm, const char *call, int color, int key, MPI_Comm *result) {
  struct tm_coll coll = tm_coll_begin(comm, call);
  struct tm_type *byte = tm_type_of(MPI_BYTE);
  struct wish wish = {color, key, comm->rank};
  struct common common = {0, NULL};
  if (comm->rank != 0) {
    tm_coll_send(&coll, &wish, sizeof wish, byte, 0);
    tm_coll_recv(&coll, &common, sizeof common, byte, 0);
    return finish(comm, call, &common, result);
  }
  struct wish *wishes = malloc((size_t)comm->size * sizeof *wishes);
  if (wishes == NULL) tm_panic("no memory to split a communicator of %d ranks", comm->size);
  wishes[0] = wish;
  for (int i = 1; i < comm->size; i++) tm_coll_recv(&coll, &wishes[i], sizeof wish, byte, i);
  qsort(wishes, (size_t)comm->size, sizeof *wishes, by_color_and_key);
  deal_out(&coll, wishes, &common);
  free(wishes);
  return finish(comm, call, &common, result);
}

static int split_checked(const char *call, MPI_Comm handle, int color, int key, MPI_Comm *result) {
  struct tm_comm *comm;
  int error = tm_get_comm(call, handle, &comm);
  if (error != MPI_SUCCESS) return error;
  if (color < 0 && color != MPI_UNDEFINED)
    return tm_fail(comm, call, MPI_ERR_ARG, "color %d is negative", color);
  if (comm->inter) return tm_intercomm_split(comm, call, color, key, result);
  return tm_comm_split(comm, call, color, key, result);
}

#pragma weak MPI_Comm_split = PMPI_Comm_split
int PMPI_Comm_split(MPI_Comm handle, int color, int key, MPI_Comm *result) {
  return split_checked("MPI_Comm_split", handle, color, key, result);
}

/* All ranks are on one machine; guided by hardware, there is one resource: the whole of it. */
#pragma weak MPI_Comm_split_type = PMPI_Comm_split_type
int PMPI_Comm_split_type(MPI_Comm handle, int kind, int key, MPI_Info info, MPI_Comm *result) {
  static const char call[] = "MPI_Comm_split_type";
  (void)info;
  bool known = kind == MPI_UNDEFINED ||
               (kind >= MPI_COMM_TYPE_SHARED && kind <= MPI_COMM_TYPE_RESOURCE_GUIDED);
  tm_enter(call);
  if (!known) return tm_fail(NULL, call, MPI_ERR_ARG, "%d is no kind of split", kind);
  int color = kind == MPI_COMM_TYPE_SHARED ? 0 : MPI_UNDEFINED;
  return split_checked(call, handle, color, key, result);
}
