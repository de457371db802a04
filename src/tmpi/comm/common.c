/* SPDX-License-Identifier: Apache-2.0 */
/* What all members of a new communicator have in common. */
#include "tmpi/comm/common.h"

#include "tmpi/error/errors.h"

struct tm_common tm_common_new(const struct tm_comm *parent, uint64_t context, const int *members,
                               int count) {
  struct tm_common common = {context, tm_group_new(count)};
  if (common.group == NULL) tm_panic("no memory for a group of %d ranks", count);
  for (int i = 0; i < count; i++) {
    int number = parent->group->ranks[members[i]];
    common.group->ranks[i] = number;
    if (tm_rank_is_here(number)) tm_group_hold(common.group);
  }
  return common;
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

int tm_comm_set_topology(struct tm_comm *parent, const char *call, MPI_Comm *comm,
                         struct tm_topology *topology) {
  struct tm_comm *made = tm_comm_of(*comm);
  made->topology = topology;
  if (topology != NULL) return MPI_SUCCESS;
  tm_comm_release(made);
  *comm = MPI_COMM_NULL;
  return tm_fail_code(parent, call, MPI_ERR_NO_MEM);
}
