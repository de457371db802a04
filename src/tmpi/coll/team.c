/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Teams come and go: found by the context and the first member. Gates whose members spin.
 */
#include "tmpi/coll/team.h"

#include <stdlib.h>
#include <string.h>

#include "core/internal/locks.h"
#include "core/internal/park.h"
#include "core/internal/placement.h"

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
  gate->spins = tm_job.wait == TM_WAIT_SPIN ||
                (tm_job.wait == TM_WAIT_CONSCIOUS && tm_job.size <= tm_job.places);
}

/* The crew at a home. Where ranks have kernel threads a crew is a block: few come to the same
 * gate. */
static struct tm_crew *crew_at(struct tm_team *team, int home) {
  for (int i = 0; home >= 0 && i < team->crews_count; i++)
    if (team->crews[i].home == home) return &team->crews[i];
  struct tm_crew *crew = &team->crews[team->crews_count++];
  crew->home = home;
  crew->openings = 1;
  return crew;
}

/* A block is at home where its first member is. */
static void make_crews(struct tm_team *team, const struct tm_group *group) {
  for (int b = 0; b < team->blocks_count; b++) {
    int first = tm_block_first(team, b), end = tm_block_first(team, b + 1);
    struct tm_crew *crew = crew_at(team, tm_rank_home(group->ranks[first]));
    team->crew_of[b] = (int)(crew - team->crews);
    crew->gate.members += end - first;
  }
  for (int i = 0; i < team->crews_count; i++)
    init_gate(&team->crews[i].gate, team->crews[i].gate.members);
  init_gate(&team->top, team->crews_count);
}

static struct tm_team *make(uint64_t context, const struct tm_group *group) {
  int size = group->size, blocks = 1; /* a power of 2, so that crews are of a size */
  while (4 * blocks * blocks <= size) blocks *= 2;
  size_t slots = (size_t)size * sizeof(struct tm_slot);
  size_t fixed = sizeof(struct tm_team) + (size_t)blocks * sizeof(struct tm_crew);
  size_t room = (size_t)size * TM_SMALL_EACH;
  room = room < TM_SMALL_MAX ? TM_SMALL_MAX : (room + TM_LINE - 1) & -(size_t)TM_LINE;
  size_t bytes = fixed + (size_t)blocks * sizeof(struct tm_team_block);
  size_t all = bytes + 2 * room + 2 * slots + (size_t)blocks * sizeof(int);
  struct tm_team *team = aligned_alloc(TM_LINE, (all + TM_LINE - 1) & -(size_t)TM_LINE);
  if (team == NULL) return NULL;
  memset(team, 0, bytes);
  team->context = context;
  team->first = group->ranks[0];
  team->size = team->members = size;
  team->blocks_count = blocks;
  team->blocks = (struct tm_team_block *)((char *)team + fixed);
  team->room = room;
  team->data[0] = (char *)team + bytes;
  team->data[1] = team->data[0] + room;
  team->slots[0] = (struct tm_slot *)(team->data[1] + room);
  team->slots[1] = team->slots[0] + size;
  team->crew_of = (int *)(team->slots[1] + size);
  make_crews(team, group);
  return team;
}

struct tm_crew *tm_team_crew(struct tm_team *team, int rank) {
  int block = 0;
  while (rank >= tm_block_first(team, block + 1)) block++;
  return &team->crews[team->crew_of[block]];
}

struct tm_team *tm_team_join(uint64_t context, const struct tm_group *group) {
  struct tm_team **bucket = bucket_of(context, group->ranks[0]);
  mti_lock(&table.guard);
  struct tm_team *team = *bucket;
  while (team != NULL && (team->context != context || team->first != group->ranks[0]))
    team = team->next;
  if (team == NULL && (team = make(context, group)) != NULL) {
    team->next = *bucket;
    *bucket = team;
  }
  mti_unlock(&table.guard);
  return team;
}

void tm_team_leave(struct tm_team *team) {
  mti_lock(&table.guard);
  bool last = --team->members == 0;
  if (last) {
    struct tm_team **link = bucket_of(team->context, team->first);
    while (*link != team) link = &(*link)->next;
    *link = team->next;
  }
  mti_unlock(&table.guard);
  if (last) free(team);
}

/* ---- gates */

/* When a member came to a gate. */
struct coming {
  const struct tm_gate *gate;
  uint32_t opened;
};

static bool is_open(const void *what) {
  const struct coming *coming = what;
  /* MG-2 acquire: what others have published; pairs MG-1 */
  return mt_load_acquire(&coming->gate->opened) != coming->opened;
}

void tm_gate_spin(struct tm_gate *gate, const struct tm_coll *coll) {
  const struct coming coming = {gate, gate->opened};
  if (!tm_may_spin(NULL)) {
    tm_gate_park(gate, coll);
    return;
  }
  mti_unlock(&gate->queue.ilock_);
  if (tm_spin(is_open, &coming, NULL)) return;
  mti_lock(&gate->queue.ilock_);
  if (is_open(&coming))
    mti_unlock(&gate->queue.ilock_);
  else
    tm_gate_park(gate, coll);
}

/* By a thread's number: rank.c. */
static int home_of(uint32_t number) { return number != 0 ? tm_rank_home((int)number - 1) : -1; }

void tm_gate_open(struct tm_gate *gate, bool at_home) {
  if (gate->spins) {
    mti_lock(&gate->queue.ilock_);
    /* MG-1 release: what was published before the last one came; pairs MG-2 */
    mt_store_release(&gate->opened, gate->opened + 1);
  }
  if (at_home)
    mti_resume_all_on(&gate->queue, home_of);
  else
    mti_resume_all(&gate->queue);
  if (gate->spins) mti_unlock(&gate->queue.ilock_);
}
