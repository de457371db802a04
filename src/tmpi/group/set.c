/* SPDX-License-Identifier: Apache-2.0 */
/* Groups made of two others: union, intersection, difference. */
#include "tmpi/error/errors.h"
#include "tmpi/group/build.h"

/* Adds those of a that are in b, or are not. */
static void add_if(struct tm_group *group, const struct tm_group *a, struct tm_group *b, bool in) {
  for (int i = 0; i < a->size; i++)
    if ((tm_group_find(b, a->ranks[i]) != MPI_UNDEFINED) == in) tm_group_add(group, a->ranks[i]);
}

#pragma weak MPI_Group_union = PMPI_Group_union
int PMPI_Group_union(MPI_Group a_handle, MPI_Group b_handle, MPI_Group *result) {
  struct tm_group *a, *b, *group = NULL;
  int error = tm_group_get_two("MPI_Group_union", a_handle, b_handle, &a, &b);
  if (error == MPI_SUCCESS) error = tm_group_place("MPI_Group_union", result);
  if (error == MPI_SUCCESS) error = tm_group_begin("MPI_Group_union", a, a->size + b->size, &group);
  if (error != MPI_SUCCESS) return error;
  add_if(group, a, a, true);
  add_if(group, b, a, false);
  return tm_group_finish(group, result);
}

#pragma weak MPI_Group_intersection = PMPI_Group_intersection
int PMPI_Group_intersection(MPI_Group a_handle, MPI_Group b_handle, MPI_Group *result) {
  struct tm_group *a, *b, *group = NULL;
  int error = tm_group_get_two("MPI_Group_intersection", a_handle, b_handle, &a, &b);
  if (error == MPI_SUCCESS) error = tm_group_place("MPI_Group_intersection", result);
  if (error == MPI_SUCCESS) error = tm_group_begin("MPI_Group_intersection", a, a->size, &group);
  if (error != MPI_SUCCESS) return error;
  add_if(group, a, b, true);
  return tm_group_finish(group, result);
}

#pragma weak MPI_Group_difference = PMPI_Group_difference
int PMPI_Group_difference(MPI_Group a_handle, MPI_Group b_handle, MPI_Group *result) {
  struct tm_group *a, *b, *group = NULL;
  int error = tm_group_get_two("MPI_Group_difference", a_handle, b_handle, &a, &b);
  if (error == MPI_SUCCESS) error = tm_group_place("MPI_Group_difference", result);
  if (error == MPI_SUCCESS) error = tm_group_begin("MPI_Group_difference", a, a->size, &group);
  if (error != MPI_SUCCESS) return error;
  add_if(group, a, b, false);
  return tm_group_finish(group, result);
}
