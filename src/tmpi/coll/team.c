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

/* As many blocks as members in one, or half as many. */
static struct tm_team *make(uint64_t context, const struct tm_group *group) {
  int size = group->size, shift = 0;
  while (1 << (2 * shift) < size) shift++;
  int blocks = ((size - 1) >> shift) + 1;
  size_t slots = (size_t)size * sizeof(struct tm_slot);
  size_t bytes = sizeof(struct tm_team) + (size_t)blocks * sizeof(struct tm_team_block);
  struct tm_team *team =
      aligned_alloc(TM_LINE, (bytes + 2 * slots + TM_LINE - 1) & -(size_t)TM_LINE);
  if (team == NULL) return NULL;
  memset(team, 0, bytes);
  team->context = context;
  team->first = group->ranks[0];
  team->size = team->members = size;
  team->shift = shift;
  team->blocks_count = blocks;
  team->slots[0] = (struct tm_slot *)((char *)team + bytes);
  team->slots[1] = team->slots[0] + size;
  init_gate(&team->top, blocks);
  for (int i = 0; i < blocks; i++) {
    int left = size - (i << shift);
    init_gate(&team->blocks[i].gate, left < 1 << shift ? left : 1 << shift);
  }
  return team;
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
