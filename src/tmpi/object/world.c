/* SPDX-License-Identifier: Apache-2.0 */
/* See world.h. */
#include "tmpi/object/world.h"

#include <stdlib.h>
#include <string.h>

#include "base/atomic.h"
#include "core/internal/locks.h"

static struct tm_world *worlds; /* [lock:size_ilock] the newest one first */
static tm_spawner *on_spawn;    /* [const] once ranks run */

void tm_job_on_spawn(tm_spawner *spawner) { on_spawn = spawner; }

tm_spawner *tm_job_spawner(void) { return on_spawn; }

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

void tm_world_add(struct tm_world *world, const int *part) {
  int size = world->group->size;
  mti_lock(&tm_job.size_ilock);
  world->first = tm_job.size;
  for (int i = 0; i < size; i++) {
    struct tm_rank *rank = &tm_job.ranks[world->first + i];
    rank->number = world->group->ranks[i] = world->first + i;
    rank->box.home = tm_rank_home(rank->number);
    rank->part = part[i];
  }
  world->next = worlds;
  worlds = world;
  mt_store_relaxed(&tm_job.here, world->first + size); /* relaxed: the lock orders the ranks */
  mt_store_relaxed(&tm_job.size, world->first + size); /* relaxed: as above */
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
  struct tm_comm *comm = tm_comm_new(context, group, remote);
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
  if (comm == NULL || !tm_comm_add_local(comm)) return false;
  world->to_parents[rank->number - world->first] = comm;
  return true;
}

/* The first world's context is 0, and all ranks' selves share 2: only the rank itself sends there.
 */
bool tm_world_start(struct tm_rank *rank) {
  struct tm_world *world = tm_world_of(rank->number);
  struct tm_group *own = tm_group_new(1), *all = world != NULL ? world->group : tm_job.all;
  if (own == NULL) return false;
  own->ranks[0] = rank->number;
  tm_group_hold(all);
  rank->world = new_comm(world, world != NULL ? world->context : 0, all, NULL, "MPI_COMM_WORLD");
  rank->self = new_comm(world, 2, own, NULL, "MPI_COMM_SELF");
  if (rank->world == NULL || rank->self == NULL) return false;
  rank->world->lasting = rank->self->lasting = true;
  return world == NULL || start_parents(rank, world);
}
