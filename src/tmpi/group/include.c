/* SPDX-License-Identifier: Apache-2.0 */
/* Groups made of some ranks of another. */
#include <stdlib.h>

#include "tmpi/error/errors.h"
#include "tmpi/group/build.h"

/* Ranks first, first + stride, ... up to last. */
struct range {
  int first, last, stride;
};

static int bad_range(const char *call, const struct tm_group *group, struct range range) {
  bool backwards = range.stride != 0 && (range.last - range.first) / range.stride < 0;
  bool outside =
      range.first < 0 || range.first >= group->size || range.last < 0 || range.last >= group->size;
  if (range.stride == 0) return tm_fail(NULL, call, MPI_ERR_ARG, "the stride of a range is 0");
  if (outside && !backwards)
    return tm_fail(NULL, call, MPI_ERR_RANK, "ranks %d to %d are not all of the group's %d",
                   range.first, range.last, group->size);
  return MPI_SUCCESS;
}

/* Marks the ranks of the ranges, in the order they are named. *order: their ranks. */
static int select_ranks(const char *call, const struct tm_group *group, int count,
                        const struct range *ranges, bool *chosen, int *order, int *chosen_count) {
  *chosen_count = 0;
  for (int i = 0; i < count; i++) {
    int error = bad_range(call, group, ranges[i]);
    if (error != MPI_SUCCESS) return error;
    int step = ranges[i].stride;
    for (int r = ranges[i].first; step > 0 ? r <= ranges[i].last : r >= ranges[i].last; r += step) {
      if (chosen[r]) return tm_fail(NULL, call, MPI_ERR_RANK, "rank %d is named twice", r);
      chosen[r] = true;
      order[(*chosen_count)++] = r;
    }
  }
  return MPI_SUCCESS;
}

/* What the four calls that choose ranks share. include: the chosen ones, or else the others. */
static int choose(const char *call, MPI_Group handle, int count, const struct range *ranges,
                  bool include, MPI_Group *result) {
  struct tm_group *from, *group = NULL;
  int chosen_count;
  int error = tm_group_get(call, handle, &from);
  if (error == MPI_SUCCESS) error = tm_group_place(call, result);
  if (error != MPI_SUCCESS) return error;
  if (count < 0) return tm_fail(NULL, call, MPI_ERR_ARG, "count %d is negative", count);
  bool *chosen = calloc((size_t)from->size + 1, sizeof *chosen);
  int *order = calloc((size_t)from->size + 1, sizeof *order);
  error = chosen != NULL && order != NULL
              ? select_ranks(call, from, count, ranges, chosen, order, &chosen_count)
              : tm_fail_code(NULL, call, MPI_ERR_NO_MEM);
  if (error == MPI_SUCCESS) error = tm_group_begin(call, from, from->size, &group);
  for (int i = 0; error == MPI_SUCCESS && include && i < chosen_count; i++)
    tm_group_add(group, from->ranks[order[i]]);
  for (int i = 0; error == MPI_SUCCESS && !include && i < from->size; i++)
    if (!chosen[i]) tm_group_add(group, from->ranks[i]);
  free(chosen);
  free(order);
  return error == MPI_SUCCESS ? tm_group_finish(group, result) : error;
}

/* The same for single ranks. */
static int choose_ranks(const char *call, MPI_Group handle, int count, const int ranks[],
                        bool include, MPI_Group *result) {
  struct range *ranges = calloc((size_t)(count > 0 ? count : 0) + 1, sizeof *ranges);
  if (ranges == NULL) return tm_fail_code(NULL, call, MPI_ERR_NO_MEM);
  for (int i = 0; i < count; i++) ranges[i] = (struct range){ranks[i], ranks[i], 1};
  int error = choose(call, handle, count, ranges, include, result);
  free(ranges);
  return error;
}

#pragma weak MPI_Group_incl = PMPI_Group_incl
int PMPI_Group_incl(MPI_Group group, int count, const int ranks[], MPI_Group *result) {
  return choose_ranks("MPI_Group_incl", group, count, ranks, true, result);
}

#pragma weak MPI_Group_excl = PMPI_Group_excl
int PMPI_Group_excl(MPI_Group group, int count, const int ranks[], MPI_Group *result) {
  return choose_ranks("MPI_Group_excl", group, count, ranks, false, result);
}

_Static_assert(sizeof(struct range) == sizeof(int[3]), "a range is what programs pass");

#pragma weak MPI_Group_range_incl = PMPI_Group_range_incl
int PMPI_Group_range_incl(MPI_Group group, int count, int ranges[][3], MPI_Group *result) {
  return choose("MPI_Group_range_incl", group, count, (const struct range *)ranges, true, result);
}

#pragma weak MPI_Group_range_excl = PMPI_Group_range_excl
int PMPI_Group_range_excl(MPI_Group group, int count, int ranges[][3], MPI_Group *result) {
  return choose("MPI_Group_range_excl", group, count, (const struct range *)ranges, false, result);
}
