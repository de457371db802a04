/* SPDX-License-Identifier: Apache-2.0 */
/* What a program may ask of a group; and its end. */
#include "tmpi/error/errors.h"
#include "tmpi/group/build.h"

#pragma weak MPI_Group_size = PMPI_Group_size
int PMPI_Group_size(MPI_Group handle, int *size) {
  struct tm_group *group;
  int error = tm_group_get("MPI_Group_size", handle, &group);
  if (error != MPI_SUCCESS) return error;
  if (size == NULL) return tm_fail(NULL, "MPI_Group_size", MPI_ERR_ARG, "no place for the size");
  *size = group->size;
  return MPI_SUCCESS;
}

#pragma weak MPI_Group_rank = PMPI_Group_rank
int PMPI_Group_rank(MPI_Group handle, int *rank) {
  struct tm_group *group;
  int error = tm_group_get("MPI_Group_rank", handle, &group);
  if (error != MPI_SUCCESS) return error;
  if (rank == NULL) return tm_fail(NULL, "MPI_Group_rank", MPI_ERR_ARG, "no place for the rank");
  *rank = tm_group_find(group, tm_rank_number());
  return MPI_SUCCESS;
}

#pragma weak MPI_Group_translate_ranks = PMPI_Group_translate_ranks
int PMPI_Group_translate_ranks(MPI_Group from_handle, int count, const int ranks[],
                               MPI_Group to_handle, int result[]) {
  static const char call[] = "MPI_Group_translate_ranks";
  struct tm_group *from, *to;
  int error = tm_group_get_two(call, from_handle, to_handle, &from, &to);
  if (error != MPI_SUCCESS) return error;
  if (count < 0) return tm_fail(NULL, call, MPI_ERR_ARG, "count %d is negative", count);
  if (count > 0 && (error = tm_group_place(call, result)) != MPI_SUCCESS) return error;
  for (int i = 0; i < count; i++) {
    if (ranks[i] == MPI_PROC_NULL) {
      result[i] = MPI_PROC_NULL;
      continue;
    }
    if (ranks[i] < 0 || ranks[i] >= from->size)
      return tm_fail(NULL, call, MPI_ERR_RANK, "rank %d is not one of the group's %d", ranks[i],
                     from->size);
    result[i] = tm_group_find(to, from->ranks[ranks[i]]);
  }
  return MPI_SUCCESS;
}

#pragma weak MPI_Group_compare = PMPI_Group_compare
int PMPI_Group_compare(MPI_Group a_handle, MPI_Group b_handle, int *result) {
  struct tm_group *a, *b;
  int error = tm_group_get_two("MPI_Group_compare", a_handle, b_handle, &a, &b);
  if (error == MPI_SUCCESS) error = tm_group_place("MPI_Group_compare", result);
  if (error == MPI_SUCCESS) *result = tm_group_compare(a, b);
  return error;
}

#pragma weak MPI_Group_free = PMPI_Group_free
int PMPI_Group_free(MPI_Group *handle) {
  struct tm_group *group = NULL;
  int error = handle != NULL ? tm_group_get("MPI_Group_free", *handle, &group)
                             : tm_fail(NULL, "MPI_Group_free", MPI_ERR_ARG, "no group");
  if (error != MPI_SUCCESS) return error;
  tm_group_release(group);
  *handle = MPI_GROUP_NULL;
  return MPI_SUCCESS;
}
