/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups: their life.
 *
 * Relaxed: references are added by holders.
 */
#include "tmpi/object/group.h"

#include <stdlib.h>

#include "base/atomic.h"
#include "tmpi/object/session.h"
#include "tmpi/rank/handle.h"

static struct tm_group empty = {TM_GROUP_MAGIC, 1, 0, NULL};

struct tm_group *tm_group_of(MPI_Group handle) {
  if (handle == MPI_GROUP_EMPTY) return &empty;
  if (!tm_handle_is_address(handle)) return NULL;
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
  /* GR-1 acq_rel: all uses are over; pairs GR-1 */
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

/* MPI_IDENT but for the contexts. */
int tm_group_compare(const struct tm_group *a, const struct tm_group *b) {
  int result = MPI_IDENT;
  if (a->size != b->size) return MPI_UNEQUAL;
  for (int i = 0; i < a->size; i++) {
    if (a->ranks[i] == b->ranks[i]) continue;
    if (tm_group_find(b, a->ranks[i]) == MPI_UNDEFINED) return MPI_UNEQUAL;
    result = MPI_SIMILAR;
  }
  return result;
}
