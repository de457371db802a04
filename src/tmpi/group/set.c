/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups: their life, what they tell, and those made of two others.
 *
 * Relaxed: references are added by who has one.
 */
#include <stdlib.h>
#include <string.h>

#include "base/atomic.h"
#include "tmpi/error/errors.h"
#include "tmpi/group/build.h"
#include "tmpi/object/comm.h"
#include "tmpi/object/session.h"

static struct tm_group empty = {TM_GROUP_MAGIC, 1, 0, NULL};

struct tm_group *tm_group_of(MPI_Group handle) {
  if (handle == MPI_GROUP_EMPTY) return &empty;
  if ((uintptr_t)handle < 0x1000) return NULL;
  struct tm_group *group = (struct tm_group *)handle;
  return group->magic == TM_GROUP_MAGIC ? group : NULL;
}

struct tm_group *tm_group_new(int size) {
  struct tm_group *group = malloc(sizeof *group + (size_t)size * sizeof group->ranks[0]);
  if (group == NULL) return NULL;
  group->magic = TM_GROUP_MAGIC;
  group->refs = 1;
  group->size = size;
  group->session = NULL;
  return group;
}

void tm_group_hold(struct tm_group *group) { mt_add_relaxed(&group->refs, 1); }

void tm_group_release(struct tm_group *group) {
  /* GR-1 acq_rel: whoever used it has done so; pairs GR-1 */
  if (group == &empty || mt_add_acq_rel(&group->refs, (uint32_t)-1) != 1) return;
  tm_session_release(group->session);
  group->magic = 0;
  free(group);
}

int tm_group_find(const struct tm_group *group, int number) {
  if (number < group->size && number >= 0 && group->ranks[number] == number) return number;
  for (int i = 0; i < group->size; i++)
    if (group->ranks[i] == number) return i;
  return MPI_UNDEFINED;
}

int tm_group_get(const char *call, MPI_Group handle, struct tm_group **group) {
  tm_enter(call);
  *group = tm_group_of(handle);
  return *group != NULL ? MPI_SUCCESS
                        : tm_fail(NULL, call, MPI_ERR_GROUP, "the group is %s",
                                  handle == MPI_GROUP_NULL ? "MPI_GROUP_NULL"
                                                           : "not valid: freed, or never made");
}

static int get_two(const char *call, MPI_Group a_handle, MPI_Group b_handle, struct tm_group **a,
                   struct tm_group **b) {
  int error = tm_group_get(call, a_handle, a);
  return error == MPI_SUCCESS ? tm_group_get(call, b_handle, b) : error;
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

/* Adds those of a that are in b, or are not. */
static void add_if(struct tm_group *group, const struct tm_group *a, const struct tm_group *b,
                   bool in) {
  for (int i = 0; i < a->size; i++)
    if ((tm_group_find(b, a->ranks[i]) != MPI_UNDEFINED) == in) tm_group_add(group, a->ranks[i]);
}

/* ---- asking */

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
  int error = get_two(call, from_handle, to_handle, &from, &to);
  if (error != MPI_SUCCESS) return error;
  if (count < 0) return tm_fail(NULL, call, MPI_ERR_ARG, "count %d is negative", count);
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
  int error = get_two("MPI_Group_compare", a_handle, b_handle, &a, &b);
  if (error == MPI_SUCCESS) *result = tm_group_compare(a, b);
  return error;
}

/* ---- making */

#pragma weak MPI_Group_union = PMPI_Group_union
int PMPI_Group_union(MPI_Group a_handle, MPI_Group b_handle, MPI_Group *result) {
  struct tm_group *a, *b, *group = NULL;
  int error = get_two("MPI_Group_union", a_handle, b_handle, &a, &b);
  if (error == MPI_SUCCESS) error = tm_group_begin("MPI_Group_union", a, a->size + b->size, &group);
  if (error != MPI_SUCCESS) return error;
  add_if(group, a, a, true);
  add_if(group, b, a, false);
  return tm_group_finish(group, result);
}

#pragma weak MPI_Group_intersection = PMPI_Group_intersection
int PMPI_Group_intersection(MPI_Group a_handle, MPI_Group b_handle, MPI_Group *result) {
  struct tm_group *a, *b, *group = NULL;
  int error = get_two("MPI_Group_intersection", a_handle, b_handle, &a, &b);
  if (error == MPI_SUCCESS) error = tm_group_begin("MPI_Group_intersection", a, a->size, &group);
  if (error != MPI_SUCCESS) return error;
  add_if(group, a, b, true);
  return tm_group_finish(group, result);
}

#pragma weak MPI_Group_difference = PMPI_Group_difference
int PMPI_Group_difference(MPI_Group a_handle, MPI_Group b_handle, MPI_Group *result) {
  struct tm_group *a, *b, *group = NULL;
  int error = get_two("MPI_Group_difference", a_handle, b_handle, &a, &b);
  if (error == MPI_SUCCESS) error = tm_group_begin("MPI_Group_difference", a, a->size, &group);
  if (error != MPI_SUCCESS) return error;
  add_if(group, a, b, false);
  return tm_group_finish(group, result);
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
