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
#include "tmpi/rank/rank.h"

static struct tm_group empty = {.magic = TM_GROUP_MAGIC, .refs = 1};

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
  group->inverse = NULL;
  return group;
}

void tm_group_hold(struct tm_group *group) { mt_add_relaxed(&group->refs, 1); }

void tm_group_release(struct tm_group *group) {
  /* GR-1 acq_rel: all uses are over; pairs GR-1 */
  if (group == &empty || mt_add_acq_rel(&group->refs, (uint32_t)-1) != 1) return;
  tm_session_release(group->session);
  free(group->inverse);
  group->magic = 0;
  free(group);
}

/* @return the table of a group, NULL: no memory. Of two threads that make it at once the first
 * one's counts. */
static const int *inverse_of(struct tm_group *group) {
  int *inverse = mt_load_acquire(&group->inverse); /* GR-2 acquire: the table; pairs GR-3 */
  if (inverse != NULL) return inverse;
  int *made = calloc((size_t)tm_job.most, sizeof *made);
  if (made == NULL) return NULL;
  for (int i = 0; i < group->size; i++) made[group->ranks[i]] = i + 1;
  /* GR-3 acq_rel: the table; pairs GR-2 GR-4 */
  if (mt_cas_acq_rel(&group->inverse, &inverse, made)) return made;
  free(made);
  /* GR-4 acquire: the other thread's table, since a CAS that fails is relaxed; pairs GR-3 */
  return mt_load_acquire(&group->inverse);
}

int tm_group_find(struct tm_group *group, int number) {
  enum { FEW = 16 }; /* are looked at one by one */
  if (number < 0 || number >= tm_job.most) return MPI_UNDEFINED;
  if (number < group->size && group->ranks[number] == number) return number;
  const int *inverse = group->size > FEW ? inverse_of(group) : NULL;
  if (inverse != NULL) return inverse[number] > 0 ? inverse[number] - 1 : MPI_UNDEFINED;
  for (int i = 0; i < group->size; i++)
    if (group->ranks[i] == number) return i;
  return MPI_UNDEFINED;
}

/* MPI_IDENT but for the contexts. */
int tm_group_compare(const struct tm_group *a, struct tm_group *b) {
  int result = MPI_IDENT;
  if (a->size != b->size) return MPI_UNEQUAL;
  for (int i = 0; i < a->size; i++) {
    if (a->ranks[i] == b->ranks[i]) continue;
    if (tm_group_find(b, a->ranks[i]) == MPI_UNDEFINED) return MPI_UNEQUAL;
    result = MPI_SIMILAR;
  }
  return result;
}
