/* SPDX-License-Identifier: Apache-2.0 */
/* What the calls that make groups share. */
#include "tmpi/group/build.h"

#include "tmpi/error/errors.h"
#include "tmpi/object/session.h"

int tm_group_get(const char *call, MPI_Group handle, struct tm_group **group) {
  tm_enter(call);
  *group = tm_group_of(handle);
  return *group != NULL ? MPI_SUCCESS
                        : tm_fail(NULL, call, MPI_ERR_GROUP, "the group is %s",
                                  handle == MPI_GROUP_NULL ? "MPI_GROUP_NULL"
                                                           : "not valid: freed, or never made");
}

int tm_group_get_two(const char *call, MPI_Group a_handle, MPI_Group b_handle, struct tm_group **a,
                     struct tm_group **b) {
  int error = tm_group_get(call, a_handle, a);
  return error == MPI_SUCCESS ? tm_group_get(call, b_handle, b) : error;
}

int tm_group_place(const char *call, const void *place) {
  return place != NULL ? MPI_SUCCESS : tm_no_place(call, "the result");
}

int tm_group_begin(const char *call, const struct tm_group *from, int most,
                   struct tm_group **group) {
  *group = tm_group_new(most);
  if (*group == NULL) return tm_fail_code(NULL, call, MPI_ERR_NO_MEM);
  (*group)->size = 0;
  (*group)->session = from->session;
  tm_session_hold(from->session);
  return MPI_SUCCESS;
}

void tm_group_add(struct tm_group *group, int number) { group->ranks[group->size++] = number; }

int tm_group_finish(struct tm_group *group, MPI_Group *result) {
  if (group->size == 0) {
    tm_group_release(group);
    *result = MPI_GROUP_EMPTY;
  } else {
    *result = (MPI_Group)group;
  }
  return MPI_SUCCESS;
}
