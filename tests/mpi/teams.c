/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Teams, member by member (src/tmpi/object/team.c): all members of a communicator get one, and its
 * memory is given back when each of them has left it or forgone it, in any order.
 */
#include "counted_blocks.h"
#include "internal_locks.h"
#include "tmpi/object/team.h"

enum { MEMBERS = 3, FIRST = 5, CONTEXT = 8 };

struct tm_job tm_job;

static struct tm_group *group; /* of these members */
static alignas(struct tm_group) char room[sizeof *group + MEMBERS * sizeof(int)];

static int start(void **state) {
  (void)state;
  tm_job = (struct tm_job){.vp_count = 2, .local = 10, .here = 10};
  group = (struct tm_group *)room;
  group->size = MEMBERS;
  for (int i = 0; i < MEMBERS; i++) group->ranks[i] = FIRST + i;
  memory_is_out = false;
  allocations_left = -1;
  return 0;
}

static int end(void **state) {
  (void)state;
  assert_int_equal(blocks, 0);
  return 0;
}

/* The tables of hashes stay. */
static int fill_tables(void **state) {
  enum { MANY = 8 };
  struct tm_team *teams[MANY];
  start(state);
  for (int i = 0; i < MANY; i++) {
    teams[i] = tm_team_join(CONTEXT + 2 * (unsigned)i, group);
    tm_team_forgo(CONTEXT + 2 * MANY + 2 * (unsigned)i, group);
  }
  for (int i = 0; i < MANY; i++)
    for (int k = 0; k < MEMBERS; k++) {
      tm_team_leave(teams[i]);
      if (k > 0) tm_team_forgo(CONTEXT + 2 * MANY + 2 * (unsigned)i, group);
    }
  blocks = 0;
  return 0;
}

static void members_get_one_team(void **state) {
  struct tm_team *teams[MEMBERS];
  (void)state;
  for (int i = 0; i < MEMBERS; i++) {
    teams[i] = tm_team_join(CONTEXT, group);
    assert_true(teams[i] != NULL && teams[i] == teams[0]);
  }
  assert_int_equal(teams[0]->size, MEMBERS);
  struct tm_team *other = tm_team_join(CONTEXT + 2, group);
  assert_ptr_not_equal(other, teams[0]);
  for (int i = 0; i < MEMBERS; i++) {
    assert_int_equal(blocks, 2);
    tm_team_leave(teams[i]);
  }
  assert_int_equal(blocks, 1);
  for (int i = 0; i < MEMBERS; i++) {
    assert_ptr_equal(i == 0 ? other : tm_team_join(CONTEXT + 2, group), other);
    tm_team_leave(other);
  }
}

/* which: bit i says that the member that comes as number i has no memory. */
static void come(unsigned which, bool leave_at_once) {
  struct tm_team *teams[MEMBERS] = {NULL};
  for (int i = 0; i < MEMBERS; i++) {
    if ((which >> i & 1) != 0)
      tm_team_forgo(CONTEXT, group);
    else
      assert_non_null(teams[i] = tm_team_join(CONTEXT, group));
    if (teams[i] != NULL && leave_at_once) tm_team_leave(teams[i]);
  }
  for (int i = 0; i < MEMBERS && !leave_at_once; i++)
    if (teams[i] != NULL) tm_team_leave(teams[i]);
}

static void members_without_memory_forgo_it(void **state) {
  (void)state;
  for (unsigned which = 0; which < 1u << MEMBERS; which++)
    for (int at_once = 0; at_once < 2; at_once++) {
      come(which, at_once);
      assert_int_equal(blocks, 0);
    }
}

/* The members of another communicator, with another context or another first member, have a team of
 * their own. */
static void what_is_forgone_is_one_team(void **state) {
  (void)state;
  tm_team_forgo(CONTEXT, group);
  tm_team_forgo(CONTEXT + 2, group);
  group->ranks[0]--;
  come(0, false);
  group->ranks[0]++;
  for (int i = 1; i < MEMBERS; i++) {
    tm_team_leave(tm_team_join(CONTEXT, group));
    tm_team_forgo(CONTEXT + 2, group);
  }
}

static void no_memory_for_the_team(void **state) {
  (void)state;
  allocations_left = 0;
  assert_null(tm_team_join(CONTEXT, group));
  tm_team_forgo(CONTEXT, group);
  struct tm_team *team = tm_team_join(CONTEXT, group);
  assert_ptr_equal(tm_team_join(CONTEXT, group), team);
  tm_team_leave(team);
  tm_team_leave(team);
}

static void no_memory_to_note_it(void **state) {
  (void)state;
  memory_is_out = true;
  tm_team_forgo(CONTEXT, group);
  assert_int_equal(blocks, 0);
  memory_is_out = false;
  come(0, false); /* as if nothing had been */
}

#define TEAM(test) cmocka_unit_test_setup_teardown(test, start, end)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEAM(members_get_one_team),        TEAM(members_without_memory_forgo_it),
      TEAM(what_is_forgone_is_one_team), TEAM(no_memory_for_the_team),
      TEAM(no_memory_to_note_it),
  };
  return cmocka_run_group_tests(tests, fill_tables, NULL);
}
