/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Teams come and go: found by the context and the first member.
 */
#include "tmpi/coll/team.h"

#include <stdlib.h>
#include <string.h>

#include "core/seam.h"

enum { BUCKETS = 256 };

static struct {
  uint32_t guard;
  struct tm_team *teams[BUCKETS];
} table;

static struct tm_team **bucket_of(uint64_t context, int first) {
  return &table.teams[((context + (uint64_t)first) * 0x9e3779b97f4a7c15u) >> 56];
}

static void init_gate(struct tm_gate *gate, int members) {
  gate->missing = gate->members = members;
}

/* The home that members from first on, below end, have in common. */
static int common_home(const struct tm_group *group, int first, int end) {
  int home = tm_rank_home(group->ranks[first]);
  for (int i = first + 1; i < end; i++)
    if (tm_rank_home(group->ranks[i]) != home) return -1;
  return home;
}

/* Where ranks have kernel threads, a crew is a block: few come to the same gate. */
static void make_crews(struct tm_team *team, const struct tm_group *group) {
  int count = team->crews_count, blocks = team->blocks_count;
  init_gate(&team->top, count);
  for (int i = 0; i < count; i++) {
    struct tm_crew *crew = &team->crews[i];
    crew->first = (int)((long)i * blocks / count);
    crew->end = (int)((long)(i + 1) * blocks / count);
    int first = tm_block_first(team, crew->first), end = tm_block_first(team, crew->end);
    init_gate(&crew->gate, end - first);
    crew->home = common_home(group, first, end);
  }
}

static struct tm_team *make(uint64_t context, const struct tm_group *group) {
  int size = group->size, blocks = 1; /* a power of 2, so that crews are of a size */
  while (4 * blocks * blocks <= size) blocks *= 2;
  int crews = tm_job.places > 0 && tm_job.places < blocks ? tm_job.places : blocks;
  size_t slots = (size_t)size * sizeof(struct tm_slot);
  size_t fixed = sizeof(struct tm_team) + (size_t)crews * sizeof(struct tm_crew);
  size_t bytes = fixed + (size_t)blocks * sizeof(struct tm_team_block);
  struct tm_team *team =
      aligned_alloc(TM_LINE, (bytes + 2 * slots + TM_LINE - 1) & -(size_t)TM_LINE);
  if (team == NULL) return NULL;
  memset(team, 0, bytes);
  team->context = context;
  team->first = group->ranks[0];
  team->size = team->members = size;
  team->blocks_count = blocks;
  team->crews_count = crews;
  team->blocks = (struct tm_team_block *)((char *)team + fixed);
  team->slots[0] = (struct tm_slot *)((char *)team + bytes);
  team->slots[1] = team->slots[0] + size;
  make_crews(team, group);
  return team;
}

struct tm_crew *tm_team_crew(struct tm_team *team, int rank) {
  struct tm_crew *crew = team->crews;
  while (rank >= tm_block_first(team, crew->end)) crew++;
  return crew;
}

struct tm_team *tm_team_join(uint64_t context, const struct tm_group *group) {
  struct tm_team **bucket = bucket_of(context, group->ranks[0]);
  mt_seam_lock(&table.guard);
  struct tm_team *team = *bucket;
  while (team != NULL && (team->context != context || team->first != group->ranks[0]))
    team = team->next;
  if (team == NULL && (team = make(context, group)) != NULL) {
    team->next = *bucket;
    *bucket = team;
  }
  mt_seam_unlock(&table.guard);
  return team;
}

void tm_team_leave(struct tm_team *team) {
  mt_seam_lock(&table.guard);
  bool last = --team->members == 0;
  if (last) {
    struct tm_team **link = bucket_of(team->context, team->first);
    while (*link != team) link = &(*link)->next;
    *link = team->next;
  }
  mt_seam_unlock(&table.guard);
  if (last) free(team);
}
