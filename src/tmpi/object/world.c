/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See world.h.
 *
 * Relaxed: the node of a rank, since its number is passed on after it is stored; the numbers of
 * ranks, which the lock orders.
 */
#include "tmpi/object/world.h"

#include <stdlib.h>
#include <string.h>

#include "base/atomic.h"
#include "core/internal/locks.h"

static struct tm_world *worlds; /* [lock:size_ilock] the newest one first */

struct tm_world *tm_world_new(int size, struct tm_group *parents) {
  struct tm_world *world = calloc(1, sizeof *world);
  if (world == NULL) return NULL;
  world->group = tm_group_new(size);
  world->to_parents = calloc((size_t)size, sizeof(struct tm_comm *));
  tm_group_hold(parents);
  world->parents = parents;
  if (world->group != NULL && world->to_parents != NULL) {
    world->context = tm_context_new();
    world->parent_context = tm_context_new();
    return world;
  }
  tm_world_drop(world);
  return NULL;
}

void tm_world_drop(struct tm_world *world) {
  if (world->group != NULL) tm_group_release(world->group);
  tm_group_release(world->parents);
  free(world->to_parents);
  free(world);
}

void tm_ranks_place(int first, int count, const int *nodes) {
  for (int i = 0; i < count; i++) {
    tm_job.ranks[first + i].number = first + i;
    mt_store_relaxed(&tm_job.spawned_on[first + i - tm_job.first_size], nodes[i]);
  }
}

/* The lock is held. */
static void add_ranks(int count) {
  int here = tm_job.here, end = tm_job.size + count;
  for (int i = tm_job.size; i < end; i++) here += tm_rank_is_here(i);
  mt_store_relaxed(&tm_job.here, here);
  mt_store_relaxed(&tm_job.size, end);
}

void tm_ranks_add(int count) {
  mti_lock(&tm_job.size_ilock);
  add_ranks(count);
  mti_unlock(&tm_job.size_ilock);
}

void tm_world_add(struct tm_world *world, const int *part) {
  int size = world->group->size;
  mti_lock(&tm_job.size_ilock);
  world->first = tm_job.size;
  for (int i = 0; i < size; i++) {
    struct tm_rank *rank = &tm_job.ranks[world->first + i];
    rank->number = world->group->ranks[i] = world->first + i;
    rank->thread_level = MPI_THREAD_MULTIPLE;
    if (tm_rank_is_here(rank->number)) rank->box.home = tm_rank_home(rank->number);
    rank->part = part[i];
  }
  world->next = worlds;
  worlds = world;
  add_ranks(size);
  mti_unlock(&tm_job.size_ilock);
}

struct tm_world *tm_world_of(int number) {
  if (number < tm_job.first_size) return NULL;
  mti_lock(&tm_job.size_ilock);
  struct tm_world *world = worlds;
  while (world != NULL && number < world->first) world = world->next;
  mti_unlock(&tm_job.size_ilock);
  return world;
}

struct tm_comm **tm_world_to_parents(const struct tm_rank *rank) {
  struct tm_world *world = tm_world_of(rank->number);
  return world != NULL ? &world->to_parents[rank->number - world->first] : NULL;
}

/* ---- a rank begins */

static struct tm_comm *new_comm(const struct tm_world *world, uint64_t context,
                                struct tm_group *group, struct tm_group *remote, const char *name) {
  struct tm_comm *comm = tm_comm_add_local(tm_comm_new(context, group, remote));
  if (comm == NULL) return NULL;
  strcpy(comm->name, name);
  if (world != NULL && world->handler != NULL) tm_comm_set_handler(comm, world->handler);
  return comm;
}

static bool start_parents(struct tm_rank *rank, struct tm_world *world) {
  tm_group_hold(world->group);
  tm_group_hold(world->parents);
  struct tm_comm *comm =
      new_comm(world, world->parent_context, world->group, world->parents, "MPI_COMM_PARENT");
  if (comm == NULL) return false;
  world->to_parents[rank->number - world->first] = comm;
  return true;
}

/* Most programs never use it, and it would take a twentieth of a rank's memory and start. The first
 * world's context is 0, and all ranks' selves share 2: only the rank itself sends there. Of two
 * threads that make it at once the first one's counts. */
struct tm_comm *tm_comm_make_self(void) {
  struct tm_rank *rank = tm_rank_self();
  struct tm_group *own = rank->world != NULL ? tm_group_new(1) : NULL;
  if (own == NULL) return NULL;
  own->ranks[0] = rank->number;
  struct tm_comm *none = NULL,
                 *self = new_comm(tm_world_of(rank->number), 2, own, NULL, "MPI_COMM_SELF");
  if (self == NULL) return NULL;
  self->lasting = true;
  /* SE-2 acq_rel: its fields; pairs SE-1 SE-3 SE-4 */
  if (mt_cas_acq_rel(&rank->self, &none, self)) return self;
  self->lasting = false;
  tm_comm_release(self);
  /* SE-3 acquire: the other thread's, since a CAS that fails is relaxed; pairs SE-2 */
  return mt_load_acquire(&rank->self);
}

/* [const] Zeroes: room for MPI_COMM_WORLD of each rank that the job begins with here. */
static char *room;

bool tm_worlds_start(int local) {
  size_t size = sizeof(struct tm_comm);
  room = calloc(1, (size_t)local * size + size); /* aligned_alloc() would have to write to it */
  return room != NULL;
}

static struct tm_comm *room_of(const struct tm_rank *rank) {
  char *first = room + (-(uintptr_t)room & (TM_LINE - 1));
  return (void *)(first + (size_t)(rank->number - tm_job.first) * sizeof(struct tm_comm));
}

static bool start_first(struct tm_rank *rank) {
  struct tm_comm *comm = room_of(rank);
  tm_group_hold(tm_job.all);
  if (!tm_comm_begin(comm, rank, 0, tm_job.all, NULL)) return false;
  strcpy(comm->name, "MPI_COMM_WORLD");
  rank->world = comm;
  return true;
}

static bool start_spawned(struct tm_rank *rank, struct tm_world *world) {
  tm_group_hold(world->group);
  rank->world = new_comm(world, world->context, world->group, NULL, "MPI_COMM_WORLD");
  return rank->world != NULL && tm_comm_self(rank) != NULL && start_parents(rank, world);
}

bool tm_world_start(struct tm_rank *rank) {
  struct tm_world *world = tm_world_of(rank->number);
  if (!(world != NULL ? start_spawned(rank, world) : start_first(rank))) return false;
  rank->world->lasting = true;
  return true;
}
