/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Worlds (src/tmpi/object/world.c): which numbers and homes spawned ranks get, what is known of
 * ranks on other nodes, and which communicators a rank begins with, step by step.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "counted_blocks.h"
#include "internal_locks.h"
#include "tmpi/object/session.h"
#include "tmpi/object/world.h"

enum { LOCAL = 4, NODES = 2, FIRST_SIZE = LOCAL * NODES, MOST = 20, MADE = 4, PART = 7 };

struct tm_job tm_job;
static struct tm_rank ranks[MOST], *self;
static int nodes_of[MOST]; /* of spawned ranks */
static struct tm_group *parents, *all;
static struct tm_comm made[MADE]; /* by tm_comm_new() */
static int made_count, fails_at;  /* which communicator there is no memory for; -1: none */
static struct tm_comm *released;
static struct tm_comm other_self; /* that another thread makes */
static bool races;                /* it does, while the caller makes one */

struct tm_rank *tm_rank_self(void) { return self; }
void tm_session_release(struct tm_session *session) { assert_null(session); }
uint64_t tm_context_new(void) { return tm_job.next_context += 2; }

struct tm_comm *tm_comm_new(uint64_t context, struct tm_group *group, struct tm_group *remote) {
  assert_true(group != NULL && made_count < MADE);
  if (made_count == fails_at) {
    tm_group_release(group);
    if (remote != NULL) tm_group_release(remote);
    return NULL;
  }
  struct tm_comm *comm = &made[made_count++];
  *comm = (struct tm_comm){.context = context,
                           .group = group,
                           .remote = remote != NULL ? remote : group,
                           .inter = remote != NULL,
                           .owner = self,
                           .size = group->size};
  if (races) self->self = &other_self;
  return comm;
}

/* Only what the function has: an intercommunicator needs its own side. */
static int with_local;
struct tm_comm *tm_comm_add_local(struct tm_comm *comm) {
  if (comm != NULL) with_local++;
  return comm;
}

bool tm_comm_begin(struct tm_comm *comm, struct tm_rank *owner, uint64_t context,
                   struct tm_group *group, struct tm_group *remote) {
  assert_true(owner == self && context == 0 && group == all && remote == NULL);
  comm->owner = owner;
  return fails_at < 0;
}

void tm_comm_set_handler(struct tm_comm *comm, struct tm_errhandler *handler) {
  comm->handler = handler;
}

static void end_comm(struct tm_comm *comm) {
  if (comm->inter) tm_group_release(comm->remote);
  tm_group_release(comm->group);
}

void tm_comm_release(struct tm_comm *comm) {
  assert_false(comm->lasting);
  released = comm;
  end_comm(comm);
}

/* The second of two nodes; ranks 8 and up are spawned. */
static int start(void **state) {
  (void)state;
  tm_job = (struct tm_job){.first = LOCAL,
                           .local = LOCAL,
                           .first_size = FIRST_SIZE,
                           .size = FIRST_SIZE,
                           .here = LOCAL,
                           .most = MOST,
                           .vp_count = 2,
                           .ranks = ranks,
                           .spawned_on = nodes_of};
  memset(ranks, 0, sizeof ranks);
  for (int i = 0; i < FIRST_SIZE; i++) ranks[i].number = i;
  self = &ranks[LOCAL + 1];
  fails_at = allocations_left = -1;
  memory_is_out = races = false;
  made_count = with_local = 0;
  released = NULL;
  parents = tm_group_new(1);
  all = tm_group_new(FIRST_SIZE);
  tm_job.all = all;
  return parents == NULL || all == NULL;
}

static int end(void **state) {
  (void)state;
  for (int i = 0; i < made_count; i++)
    if (&made[i] != released) end_comm(&made[i]);
  tm_group_release(parents);
  tm_group_release(all);
  assert_int_equal(locked, 0);
  assert_int_equal(blocks, 0);
  return 0;
}

/* Worlds that were added stay until the process ends; each test has its own numbers. */
static struct tm_world *added(int size, const int *nodes, const int *part) {
  struct tm_world *world = tm_world_new(size, parents);
  assert_non_null(world);
  tm_ranks_place(tm_job.size, size, nodes);
  tm_world_add(world, part);
  return world;
}

/* In place of the end of the process. */
static void forget(struct tm_world *world) {
  while (world->group->refs > 1) tm_group_release(world->group);
  tm_world_drop(world);
}

static void a_new_world_has_contexts_and_its_parents(void **state) {
  (void)state;
  struct tm_world *world = tm_world_new(3, parents);
  assert_true(world->group->size == 3 && world->parents == parents && parents->refs == 2);
  assert_true(world->context != 0 && world->parent_context != 0);
  assert_true(world->context != world->parent_context);
  for (int i = 0; i < 3; i++) assert_null(world->to_parents[i]);
  assert_null(world->handler);
  tm_world_drop(world);
  assert_true(parents->refs == 1 && blocks == 2);
}

static void without_memory_there_is_no_world(void **state) {
  (void)state;
  struct tm_world *world = NULL;
  for (int at = 0; world == NULL; at++) {
    allocations_left = at;
    world = tm_world_new(3, parents);
    if (world == NULL) assert_true(parents->refs == 1 && blocks == 2);
    assert_int_equal(world == NULL, allocations_left < 0);
  }
  allocations_left = -1;
  tm_world_drop(world);
}

static void spawned_ranks_continue_the_numbers(void **state) {
  static const int nodes[] = {0, 1, 1}, later_nodes[] = {1, 0}, part[] = {PART, PART + 1, PART + 2};
  (void)state;
  struct tm_world *world = added(3, nodes, part);
  assert_true(world->first == FIRST_SIZE && tm_job.size == FIRST_SIZE + 3);
  assert_int_equal(tm_job.here, LOCAL + 2);
  for (int i = 0; i < 3; i++) {
    const struct tm_rank *rank = &ranks[FIRST_SIZE + i];
    assert_true(rank->number == FIRST_SIZE + i && world->group->ranks[i] == rank->number);
    assert_true(rank->thread_level == MPI_THREAD_MULTIPLE && rank->part == PART + i);
    assert_int_equal(rank->box.home, i > 0 ? tm_rank_home(rank->number) : 0);
    assert_int_equal(tm_rank_node(rank->number), nodes[i]);
    assert_ptr_equal(tm_world_of(rank->number), world);
    assert_ptr_equal(tm_world_to_parents(rank), &world->to_parents[i]);
  }
  assert_true(ranks[FIRST_SIZE + 1].box.home != ranks[FIRST_SIZE + 2].box.home);
  struct tm_world *later = added(2, later_nodes, part);
  assert_true(later->first == FIRST_SIZE + 3 && tm_job.here == LOCAL + 3);
  assert_ptr_equal(tm_world_of(FIRST_SIZE + 3), later);
  assert_ptr_equal(tm_world_of(FIRST_SIZE + 4), later);
  for (int i = 0; i < 3; i++) assert_ptr_equal(tm_world_of(FIRST_SIZE + i), world);
  assert_null(tm_world_of(FIRST_SIZE - 1));
  assert_null(tm_world_to_parents(&ranks[0]));
  forget(later);
  forget(world);
}

static void ranks_of_other_nodes_are_counted(void **state) {
  static const int nodes[] = {0, 1, 0};
  (void)state;
  tm_ranks_place(FIRST_SIZE, 3, nodes);
  for (int i = 0; i < 3; i++) assert_int_equal(ranks[FIRST_SIZE + i].number, FIRST_SIZE + i);
  assert_int_equal(ranks[FIRST_SIZE + 3].number, 0);
  tm_ranks_add(3);
  assert_true(tm_job.size == FIRST_SIZE + 3 && tm_job.here == LOCAL + 1);
}

/* ---- a rank begins */

/* MPI_COMM_WORLD of each rank has memory of its own, in lines of its own. */
static void first_ranks_share_the_world(void **state) {
  (void)state;
  memory_is_out = true;
  assert_false(tm_worlds_start(LOCAL));
  memory_is_out = false;
  assert_true(tm_worlds_start(LOCAL));
  blocks--; /* it stays */
  const struct tm_comm *before = NULL;
  for (int i = LOCAL; i < FIRST_SIZE; i++) {
    self = &ranks[i];
    assert_true(tm_world_start(self));
    struct tm_comm *comm = self->world;
    assert_true(comm->owner == self && comm->lasting && (uintptr_t)comm % TM_LINE == 0);
    assert_string_equal(comm->name, "MPI_COMM_WORLD");
    if (before != NULL) assert_ptr_equal(comm, before + 1);
    before = comm;
    assert_int_equal(all->refs, 2);
    tm_group_release(all);
  }
  fails_at = 0;
  assert_false(tm_world_start(self));
  tm_group_release(all);
}

static void check_comm(const struct tm_comm *comm, uint64_t context, int size, bool inter,
                       const char *name) {
  assert_true(comm->context == context && comm->size == size && comm->inter == inter);
  assert_string_equal(comm->name, name);
  assert_ptr_equal(comm->handler, &fails_at);
}

static void spawned_ranks_have_a_world_and_parents(void **state) {
  static const int nodes[] = {1, 1}, part[] = {0, 0};
  (void)state;
  struct tm_world *world = added(2, nodes, part);
  world->handler = (struct tm_errhandler *)&fails_at; /* any */
  self = &ranks[world->first + 1];
  assert_true(tm_world_start(self));
  check_comm(self->world, world->context, 2, false, "MPI_COMM_WORLD");
  check_comm(self->self, 2, 1, false, "MPI_COMM_SELF");
  assert_int_equal(self->self->group->ranks[0], self->number);
  check_comm(world->to_parents[1], world->parent_context, 2, true, "MPI_COMM_PARENT");
  assert_true(world->to_parents[1]->remote == parents && world->to_parents[0] == NULL);
  assert_true(self->world->lasting && self->self->lasting && !world->to_parents[1]->lasting);
  assert_true(made_count == 3 && with_local == 3);
  assert_true(world->group->refs == 3 && parents->refs == 3);
  for (int i = 0; i < made_count; i++) end_comm(&made[i]);
  made_count = 0;
  forget(world);
}

static void a_rank_without_memory_does_not_begin(void **state) {
  static const int nodes[] = {1}, part[] = {0};
  (void)state;
  struct tm_world *world = added(1, nodes, part);
  self = &ranks[world->first];
  for (fails_at = 0; fails_at < 3; fails_at++) {
    assert_false(tm_world_start(self));
    assert_null(world->to_parents[0]);
    for (int i = 0; i < made_count; i++) end_comm(&made[i]);
    assert_true(world->group->refs == 1 && parents->refs == 2);
    made_count = 0;
    self->self = self->world = NULL;
  }
  forget(world);
}

static void self_is_made_once(void **state) {
  (void)state;
  assert_null(tm_comm_make_self()); /* MPI has not begun */
  self->world = &other_self;
  memory_is_out = true;
  assert_null(tm_comm_make_self());
  memory_is_out = false;
  struct tm_comm *comm = tm_comm_make_self();
  assert_true(comm == &made[0] && self->self == comm && comm->lasting && released == NULL);
  assert_null(comm->handler);
  self->self = NULL;
  races = true;
  assert_ptr_equal(tm_comm_make_self(), &other_self); /* another thread was first */
  assert_ptr_equal(released, &made[1]);
}

#define WORLD(test) cmocka_unit_test_setup_teardown(test, start, end)

int main(void) {
  const struct CMUnitTest tests[] = {
      WORLD(a_new_world_has_contexts_and_its_parents),
      WORLD(without_memory_there_is_no_world),
      WORLD(spawned_ranks_continue_the_numbers),
      WORLD(ranks_of_other_nodes_are_counted),
      WORLD(first_ranks_share_the_world),
      WORLD(spawned_ranks_have_a_world_and_parents),
      WORLD(a_rank_without_memory_does_not_begin),
      WORLD(self_is_made_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
