/* SPDX-License-Identifier: Apache-2.0 */
/* What all members of a new communicator have in common. */
#include "tmpi/comm/common.h"

#include "tmpi/error/errors.h"

void tm_common_hold(struct tm_group *group) {
  for (int i = 0; i < group->size; i++) tm_group_hold(group);
}

int tm_common_finish(struct tm_comm *parent, const char *call, const struct tm_common *common,
                     MPI_Comm *result) {
  *result = MPI_COMM_NULL;
  if (common->group == NULL) return MPI_SUCCESS;
  struct tm_comm *comm = tm_comm_new(common->context, common->group, NULL);
  if (comm == NULL) return tm_fail_code(parent, call, MPI_ERR_NO_MEM);
  tm_comm_inherit(comm, parent);
  *result = (MPI_Comm)comm;
  return MPI_SUCCESS;
}
