/* SPDX-License-Identifier: Apache-2.0 */
/* Which nodes the members of a group are on. */
#include "tmpi/object/span.h"

#include <stdlib.h>

#include "tmpi/rank/rank.h"

static int node_of(const struct tm_group *group, int rank) {
  return tm_rank_node(group->ranks[rank]);
}

bool tm_group_spans(const struct tm_group *group) {
  if (tm_job.local == tm_job.first_size) return false;
  for (int i = 1; i < group->size; i++)
    if (node_of(group, i) != node_of(group, 0)) return true;
  return false;
}

struct tm_group *tm_group_local(const struct tm_group *group) {
  struct tm_group *local = tm_group_new(group->size);
  if (local == NULL) return NULL;
  local->size = 0;
  for (int i = 0; i < group->size; i++)
    if (tm_rank_is_here(group->ranks[i])) local->ranks[local->size++] = group->ranks[i];
  return local;
}

int tm_span_index(const struct tm_span *span, const struct tm_group *group, int rank) {
  int index = 0;
  while (index < span->nodes && node_of(group, span->speakers[index]) != node_of(group, rank))
    index++;
  return index;
}

/* Each node is noted at its first member. */
struct tm_span *tm_span_new(const struct tm_group *group, int rank) {
  size_t most = (size_t)tm_node_count();
  struct tm_span *span = malloc(sizeof *span + most * sizeof span->speakers[0]);
  if (span == NULL) return NULL;
  span->nodes = 0;
  span->in_order = true;
  for (int i = 0, last = -1; i < group->size; i++) {
    int index = tm_span_index(span, group, i);
    if (index == span->nodes) span->speakers[span->nodes++] = i;
    if (index < last) span->in_order = false;
    last = index;
  }
  span->own = tm_span_index(span, group, rank);
  return span;
}
