/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file spawned_world.h
 * Groups and worlds in tests of spawns over nodes, without the rest of the library.
 */
#ifndef TESTS_MPI_SPAWNED_WORLD_H
#define TESTS_MPI_SPAWNED_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tmpi/comm/spawn.h"
#include "tmpi/object/errhandler.h"

static struct tm_errhandler returning;
static bool no_group, no_world; /* there is no memory for one */

struct tm_group *tm_group_new(int size) {
  if (no_group) return NULL;
  struct tm_group *group = calloc(1, sizeof *group + (size_t)size * sizeof(int));
  assert_non_null(group);
  group->size = size;
  group->refs = 1;
  return group;
}

void tm_group_release(struct tm_group *group) {
  if (--group->refs == 0) free(group);
}

struct tm_world *tm_world_new(int size, struct tm_group *parents) {
  if (no_world) return NULL;
  struct tm_world *made = calloc(1, sizeof *made);
  assert_non_null(made);
  made->group = tm_group_new(size);
  made->parents = parents;
  parents->refs++;
  return made;
}

static void world_drop(struct tm_world *old) {
  tm_group_release(old->group);
  tm_group_release(old->parents);
  free(old);
}

struct tm_errhandler *tm_errhandler_returning(void) { return &returning; }

/* @return a world of that many ranks, which two ranks have spawned. */
static struct tm_world *world_of_parents(int size, int first, int second) {
  struct tm_group *parents = tm_group_new(2);
  parents->ranks[0] = first;
  parents->ranks[1] = second;
  struct tm_world *world = tm_world_new(size, parents);
  tm_group_release(parents);
  world->context = 7;
  world->parent_context = 8;
  return world;
}

#endif
