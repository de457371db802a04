/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Teams, member by member (src/tmpi/object/team.c): all members of a communicator get one, and its
 * memory is given back when each of them has left it or forgone it, in any order. Each part of a
 * team has memory of its own, and each member has a VP group.
 */
#include <malloc.h>
#include <stdlib.h>

#include "counted_blocks.h"
#include "internal_locks.h"
#include "tmpi/object/team.h"

enum { MEMBERS = 3, FIRST = 5, CONTEXT = 8, MOST = 70 };

struct tm_job tm_job;

static struct tm_group *group; /* of these members */
static alignas(struct tm_group) char room[sizeof *group + MOST * sizeof(int)];

static int start(void **state) {
  (void)state;
  tm_job = (struct tm_job){.vp_count = 2, .local = 10, .here = 10};
  group = (struct tm_group *)room;
  group->size = MEMBERS;
  for (int i = 0; i < MOST; i++) group->ranks[i] = FIRST + i;
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

/* ---- the parts of a team */

/* Bytes that belong to one part. */
struct part {
  const char *at;
  size_t bytes;
};

static int by_address(const void *a_, const void *b_) {
  const struct part *a = a_, *b = b_;
  return (a->at > b->at) - (a->at < b->at);
}

/* No two parts share a byte, and all lie in the memory of the team. */
static void check_apart(const struct tm_team *team, struct part *parts, size_t count) {
  const char *end_of_last = (const char *)team;
  qsort(parts, count, sizeof *parts, by_address);
  for (size_t i = 0; i < count; i++) {
    assert_true(parts[i].at >= end_of_last);
    end_of_last = parts[i].at + parts[i].bytes;
  }
  assert_true(end_of_last <= (const char *)team + malloc_usable_size((void *)(uintptr_t)team));
}

static void check_parts(struct tm_team *team, int size) {
  const size_t blocks_count = (size_t)team->blocks_count;
  struct part parts[2 * MOST + 6];
  size_t count = 0;
  assert_true(team->room >= TM_SMALL_MAX && team->room >= (size_t)size * TM_SMALL_EACH);
  parts[count++] =
      (struct part){(char *)team, sizeof *team + blocks_count * sizeof team->vp_groups[0]};
  parts[count++] = (struct part){(char *)team->blocks, blocks_count * sizeof *team->blocks};
  parts[count++] =
      (struct part){(char *)team->vp_group_of, blocks_count * sizeof *team->vp_group_of};
  for (int set = 0; set < 2; set++) {
    parts[count++] = (struct part){(char *)team->data[set], sizeof *team->data[set] + team->room};
    assert_true((uintptr_t)team->blocks % TM_LINE == 0 &&
                (uintptr_t)team->data[set] % TM_LINE == 0);
    assert_true(team->data[set]->number == 0 && team->data[set]->exchange == 0);
    for (int rank = 0; rank < size; rank++) {
      const struct tm_publication *slot = tm_team_slot(team, set, rank);
      assert_true(slot->number == 0 && slot->exchange == 0); /* of no collective */
      parts[count] = (struct part){(const char *)slot, sizeof *slot};
      if (team->pair != NULL) {
        const struct tm_pair_side *side = &team->pair->sides[set][rank];
        assert_true(slot == &side->slot && side->word == 0 && (uintptr_t)side % TM_LINE == 0);
        parts[count] = (struct part){(const char *)side, sizeof *side};
      }
      count++;
    }
  }
  check_apart(team, parts, count);
}

static void check_barrier(const struct tm_team_barrier *barrier, int members, bool spins) {
  assert_int_equal(barrier->members, members);
  assert_int_equal(barrier->missing, members);
  assert_int_equal(barrier->spins, members > 1 && spins);
  assert_int_equal(barrier->epoch, 0);
}

/* Each member is in the VP group of its block, which is at home where the block's first member is.
 * Where ranks have kernel threads each block has a VP group. */
static void check_vp_groups(struct tm_team *team, int size, bool spins) {
  int members[MOST] = {0}, blocks_count = team->blocks_count;
  assert_true((blocks_count & (blocks_count - 1)) == 0);
  assert_true(blocks_count * blocks_count <= size && size < 4 * blocks_count * blocks_count);
  for (int b = 0; b < blocks_count; b++) {
    int home = tm_rank_home(group->ranks[tm_block_first(team, b)]);
    const struct tm_vp_group *vp_group = &team->vp_groups[team->vp_group_of[b]];
    assert_in_range(team->vp_group_of[b], 0, team->vp_group_count - 1);
    assert_int_equal(vp_group->home, home);
    if (home < 0) assert_int_equal(team->vp_group_of[b], b);
    for (int rank = tm_block_first(team, b); rank < tm_block_first(team, b + 1); rank++) {
      assert_ptr_equal(tm_team_vp_group(team, rank), vp_group);
      members[team->vp_group_of[b]]++;
    }
  }
  for (int i = 0; i < team->vp_group_count; i++) {
    check_barrier(&team->vp_groups[i].barrier, members[i], spins);
    assert_int_equal(team->vp_groups[i].releases, 1);
    for (int k = 0; k < i && team->vp_groups[i].home >= 0; k++)
      assert_int_not_equal(team->vp_groups[k].home, team->vp_groups[i].home);
  }
  check_barrier(&team->root_barrier, team->vp_group_count, spins);
}

/* spins: the members may spin while they wait. */
static void check_teams(bool spins) {
  for (int size = 2; size <= MOST; size++) {
    group->size = size;
    tm_job.local = FIRST + size;
    struct tm_team *team = tm_team_join(CONTEXT, group);
    assert_non_null(team);
    assert_true(team->size == size && team->first == FIRST && team->context == CONTEXT);
    assert_true((team->pair != NULL) == (size == 2 && spins));
    check_parts(team, size);
    check_vp_groups(team, size, spins);
    for (int i = 0; i < size; i++) tm_team_leave(team);
    assert_int_equal(blocks, 0);
  }
}

static void parts_are_apart_and_each_member_has_a_vp_group(void **state) {
  (void)state;
  for (int vps = 0; vps < 6; vps++) {
    tm_job.vp_count = vps;
    tm_job.wait = TM_WAIT_PARK;
    check_teams(false);
    tm_job.wait = TM_WAIT_SPIN;
    check_teams(true);
  }
}

/* A rank that shares its VP does not spin by itself: another one would have to wait. */
static void ranks_with_a_vp_each_spin(void **state) {
  (void)state;
  tm_job.wait = TM_WAIT_CONSCIOUS;
  for (int here = 1; here < 4; here++) {
    tm_job.here = here;
    check_teams(here <= tm_job.vp_count);
  }
}

#define TEAM(test) cmocka_unit_test_setup_teardown(test, start, end)

int main(void) {
  mallopt(M_PERTURB, 165); /* memory is not zero by chance */
  const struct CMUnitTest tests[] = {
      TEAM(members_get_one_team),        TEAM(members_without_memory_forgo_it),
      TEAM(what_is_forgone_is_one_team), TEAM(no_memory_for_the_team),
      TEAM(no_memory_to_note_it),        TEAM(parts_are_apart_and_each_member_has_a_vp_group),
      TEAM(ranks_with_a_vp_each_spin),
  };
  return cmocka_run_group_tests(tests, fill_tables, NULL);
}
