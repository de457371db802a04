/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Teams are made and freed. A table finds them by the context and the first member. So does another
 * table the members that forwent a team before it was made.
 */
#include "tmpi/object/team.h"

#include <stdlib.h>
#include <string.h>

#include "base/atomic.h"
#include "core/internal/locks.h"

/* Members that have forgone a team which nobody has made yet. */
struct forgone {
  struct tm_hash_node node; /* [ilock: table] */
  uint64_t context;         /* [const] */
  int first;                /* [const] */
  int members;              /* [ilock: table] */
};

static struct {
  uint32_t ilock;
  struct tm_hash teams;   /* [ilock] */
  struct tm_hash forgone; /* [ilock] */
} table;

/* The table's lock is held. */
static struct forgone *find_forgone(uint64_t hash, uint64_t context, int first) {
  struct tm_hash_node *node = tm_hash_first(&table.forgone, hash);
  for (; node != NULL; node = tm_hash_next(node)) {
    struct forgone *forgone = (struct forgone *)node; /* its first member */
    if (forgone->context == context && forgone->first == first) return forgone;
  }
  return NULL;
}

/* The table's lock is held. */
static struct tm_team *find(uint64_t hash, uint64_t context, int first) {
  struct tm_hash_node *node = tm_hash_first(&table.teams, hash);
  for (; node != NULL; node = tm_hash_next(node)) {
    struct tm_team *team = (struct tm_team *)node; /* its first member */
    if (team->context == context && team->first == first) return team;
  }
  return NULL;
}

static bool may_spin(void) {
  int here = mt_load_relaxed(&tm_job.here); /* relaxed: a hint */
  return tm_job.wait == TM_WAIT_SPIN ||
         (tm_job.wait == TM_WAIT_CONSCIOUS && here <= tm_job.vp_count);
}

static void init_barrier(struct tm_team_barrier *barrier, int members, bool spins) {
  barrier->missing = barrier->members = members;
  barrier->spins = members > 1 && spins;
}

/* The VP group at a home. Where ranks have kernel threads a VP group is a block: few come to the
 * same barrier. */
static struct tm_vp_group *vp_group_at(struct tm_team *team, int home) {
  for (int i = 0; home >= 0 && i < team->vp_group_count; i++)
    if (team->vp_groups[i].home == home) return &team->vp_groups[i];
  struct tm_vp_group *vp_group = &team->vp_groups[team->vp_group_count++];
  vp_group->home = home;
  vp_group->releases = 1;
  return vp_group;
}

/* A block is at home where its first member is. */
static void make_vp_groups(struct tm_team *team, const struct tm_group *group, bool spins) {
  for (int b = 0; b < team->blocks_count; b++) {
    int first = tm_block_first(team, b), end = tm_block_first(team, b + 1);
    struct tm_vp_group *vp_group = vp_group_at(team, tm_rank_home(group->ranks[first]));
    team->vp_group_of[b] = (int)(vp_group - team->vp_groups);
    vp_group->barrier.members += end - first;
  }
  for (int i = 0; i < team->vp_group_count; i++)
    init_barrier(&team->vp_groups[i].barrier, team->vp_groups[i].barrier.members, spins);
  init_barrier(&team->root_barrier, team->vp_group_count, spins);
}

/* @return the memory of both sets of slots. Those of a pair lie beside what they publish. */
static size_t slots_bytes(int size, bool pair) {
  return pair ? sizeof(struct tm_pair) : 2 * (size_t)size * sizeof(struct tm_publication);
}

/* The memory is zero, so each slot is of collective number 0, which is none. */
static void place_slots(struct tm_team *team, char *memory, bool is_pair) {
  struct tm_publication *slots = (struct tm_publication *)memory;
  if (is_pair) team->pair = (struct tm_pair *)memory;
  team->slot_stride = is_pair ? sizeof(struct tm_pair_side) : sizeof *slots;
  for (int set = 0; set < 2; set++)
    team->slots[set] = is_pair ? &team->pair->sides[set][0].slot : slots + set * team->size;
}

static struct tm_team *make(uint64_t context, const struct tm_group *group) {
  int size = group->size, blocks = 1; /* a power of 2, so that VP groups are of a size */
  while (4 * blocks * blocks <= size) blocks *= 2;
  bool spins = may_spin(), pair = size == 2 && spins;
  size_t slots = slots_bytes(size, pair);
  size_t fixed = sizeof(struct tm_team) + (size_t)blocks * sizeof(struct tm_vp_group);
  size_t room = (size_t)size * TM_SMALL_EACH;
  if (room < TM_SMALL_MAX) room = TM_SMALL_MAX;
  size_t data = (sizeof(struct tm_team_data) + room + TM_LINE - 1) & -(size_t)TM_LINE;
  size_t bytes = fixed + (size_t)blocks * sizeof(struct tm_team_block);
  size_t all = bytes + 2 * data + slots + (size_t)blocks * sizeof(int);
  struct tm_team *team = aligned_alloc(TM_LINE, (all + TM_LINE - 1) & -(size_t)TM_LINE);
  if (team == NULL) return NULL;
  memset(team, 0, bytes);
  team->context = context;
  team->first = group->ranks[0];
  team->size = team->members = size;
  team->blocks_count = blocks;
  team->blocks = (struct tm_team_block *)((char *)team + fixed);
  team->room = room;
  team->data[0] = (struct tm_team_data *)((char *)team + bytes);
  team->data[1] = (struct tm_team_data *)((char *)team + bytes + data);
  *team->data[0] = *team->data[1] = (struct tm_team_data){0, 0}; /* of no collective */
  char *of_slots = (char *)team + bytes + 2 * data;
  memset(of_slots, 0, slots);
  place_slots(team, of_slots, pair);
  team->vp_group_of = (int *)(of_slots + slots);
  make_vp_groups(team, group, spins);
  return team;
}

/* The last block that begins at the rank or before: tm_block_first(), solved for the block. */
struct tm_vp_group *tm_team_vp_group(struct tm_team *team, int rank) {
  long block = (((long)rank + 1) * team->blocks_count - 1) / team->size;
  return &team->vp_groups[team->vp_group_of[block]];
}

struct tm_team *tm_team_join(uint64_t context, const struct tm_group *group) {
  int first = group->ranks[0];
  uint64_t hash = tm_hash_words(context, (uint64_t)first);
  mti_lock(&table.ilock);
  struct tm_team *team = find(hash, context, first);
  if (team == NULL && (team = make(context, group)) != NULL) {
    tm_hash_add(&table.teams, &team->node, hash);
    struct forgone *forgone = find_forgone(hash, context, first);
    if (forgone != NULL) {
      team->members -= forgone->members;
      tm_hash_remove(&table.forgone, &forgone->node);
      free(forgone);
    }
  }
  mti_unlock(&table.ilock);
  return team;
}

/* The table's lock is held. @return whether the caller frees the team. */
static bool leave(struct tm_team *team) {
  if (--team->members > 0) return false;
  tm_hash_remove(&table.teams, &team->node);
  return true;
}

void tm_team_leave(struct tm_team *team) {
  mti_lock(&table.ilock);
  bool last = leave(team);
  mti_unlock(&table.ilock);
  if (last) free(team);
}

/* The table's lock is held. Without memory even for this the team of the others stays. */
static struct forgone *forgone_of(uint64_t hash, uint64_t context, int first) {
  struct forgone *forgone = find_forgone(hash, context, first);
  if (forgone != NULL || (forgone = malloc(sizeof *forgone)) == NULL) return forgone;
  *forgone = (struct forgone){.context = context, .first = first};
  tm_hash_add(&table.forgone, &forgone->node, hash);
  return forgone;
}

void tm_team_forgo(uint64_t context, const struct tm_group *group) {
  int first = group->ranks[0];
  uint64_t hash = tm_hash_words(context, (uint64_t)first);
  struct forgone *all = NULL;
  mti_lock(&table.ilock);
  struct tm_team *team = find(hash, context, first), *last = NULL;
  if (team != NULL) {
    if (leave(team)) last = team;
  } else {
    struct forgone *forgone = forgone_of(hash, context, first);
    if (forgone != NULL && ++forgone->members == group->size) {
      tm_hash_remove(&table.forgone, &forgone->node);
      all = forgone;
    }
  }
  mti_unlock(&table.ilock);
  free(last);
  free(all);
}
