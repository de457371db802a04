/* SPDX-License-Identifier: Apache-2.0 */
/* What all members of a new communicator have in common. */
#include "tmpi/comm/common.h"

#include "tmpi/error/errors.h"

static struct tm_group *new_group(int size) {
  struct tm_group *group = tm_group_new(size);
  if (group == NULL) tm_panic("no memory for a group of %d ranks", size);
  return group;
}

struct tm_common tm_common_new(const struct tm_comm *parent, const int *members, int count) {
  struct tm_common common = {tm_context_new_limited(), new_group(count)};
  for (int i = 0; i < count; i++) {
    int number = parent->group->ranks[members[i]];
    common.group->ranks[i] = number;
    if (tm_rank_is_here(number)) tm_group_hold(common.group);
  }
  return common;
}

static bool is_here(const struct tm_coll *coll, int rank) {
  return tm_rank_is_here(coll->comm->group->ranks[rank]);
}

/* Another node gets the size first, in place of the group's address. */
void tm_common_send(struct tm_coll *coll, const struct tm_common *common, int dest) {
  struct tm_type *byte = tm_type_of(MPI_BYTE);
  if (is_here(coll, dest)) {
    tm_coll_send(coll, common, sizeof *common, byte, dest);
    return;
  }
  const struct tm_group *group = common->group;
  uint64_t head[2] = {common->context, group != NULL ? (uint64_t)group->size : 0};
  tm_coll_send(coll, head, sizeof head, byte, dest);
  if (group != NULL)
    tm_coll_send(coll, group->ranks, (size_t)group->size * sizeof group->ranks[0], byte, dest);
}

void tm_common_recv(struct tm_coll *coll, struct tm_common *common, int source) {
  struct tm_type *byte = tm_type_of(MPI_BYTE);
  if (is_here(coll, source)) {
    tm_coll_recv(coll, common, sizeof *common, byte, source);
    return;
  }
  uint64_t head[2];
  tm_coll_recv(coll, head, sizeof head, byte, source);
  *common = (struct tm_common){head[0], NULL};
  if (head[1] == 0) return;
  common->group = new_group((int)head[1]);
  tm_coll_recv(coll, common->group->ranks, head[1] * sizeof common->group->ranks[0], byte, source);
}

int tm_common_finish(struct tm_comm *parent, const char *call, const struct tm_common *common,
                     MPI_Comm *result) {
  *result = MPI_COMM_NULL;
  if (common->group == NULL) return MPI_SUCCESS;
  if (common->context == 0) {
    tm_group_release(common->group);
    return tm_too_many_comms(parent, call);
  }
  struct tm_comm *comm = tm_comm_new(common->context, common->group, NULL);
  if (comm == NULL) return tm_fail_code(parent, call, MPI_ERR_NO_MEM);
  tm_comm_inherit(comm, parent);
  *result = (MPI_Comm)comm;
  return MPI_SUCCESS;
}
