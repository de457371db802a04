/* SPDX-License-Identifier: Apache-2.0 */
/* The start of a job (src/tmpi/env/job.c): which ranks have intakes, what the nodes of a job have,
 * how ranks wait, and what is given back where memory is short. */
#include <errno.h>
#include <malloc.h>
#include <mltp/mltp.h>
#include <stdlib.h>

#include "core/internal/park.h"
#include "core/internal/placement.h"
#include "core/internal/process.h"
#include "counted_blocks.h"
#include "tmpi/env/job.h"
#include "tmpi/layout/predefined.h"
#include "tmpi/mailbox/intake.h"
#include "tmpi/object/comm.h"
#include "tmpi/object/group.h"
#include "tmpi/object/world.h"
#include "tmpi/report/report.h"
#include "traced_calls.h"

struct tm_job tm_job;

static int vps;          /* that run ranks; 0: ranks have kernel threads */
static uint64_t park_ns; /* that a park takes; 0: it is not known */
static bool group_fails, worlds_fail;
static union {
  struct tm_group group;
  char bytes[sizeof(struct tm_group) + 16 * sizeof(int)];
} all;

int mltp_vp(void) { return vps > 0 ? 0 : -1; }
int mltp_vps_active(void) { return vps; }
uint64_t mti_park_ns(void) { return park_ns; }

void mti_touch(void *address, size_t size) {
  assert_int_equal((uintptr_t)address % TM_LINE, 0);
  note("touch:%zu", size / sizeof(struct tm_rank));
  memset(address, 0, size); /* the memory is there */
}

void mti_move_ranks(void) { note("move"); }
void tm_types_start(void) { note("types"); }
void tm_report_start(void) { note("reports"); }

struct tm_group *tm_group_new(int size) {
  memset(&all, -1, sizeof all);
  all.group.size = size;
  return group_fails ? NULL : &all.group;
}

bool tm_worlds_start(int local) {
  note("worlds:%d", local);
  return !worlds_fail;
}

/* Jobs of former cases, whose memory lives as long as their process. */
static struct tm_job former[32];

static void forget(void) {
  static int count;
  former[count++] = tm_job;
  assert_true(count < (int)(sizeof former / sizeof former[0]));
  tm_job = (struct tm_job){.size = -1};
  trace[0] = '\0';
  blocks = 0;
}

static int setup(void **state) {
  (void)state;
  forget();
  vps = 4;
  park_ns = 0;
  return 0;
}

static int with_intakes(void) {
  int count = 0;
  for (int i = 0; i < tm_job.size; i++) {
    const struct tm_intake *intake = tm_job.ranks[i].intake;
    if (intake == NULL) continue;
    assert_true(tm_rank_is_here(i));
    assert_int_equal((uintptr_t)intake % TM_LINE, 0);
    for (size_t b = 0; b < sizeof *intake; b++) assert_int_equal(((const char *)intake)[b], 0);
    count++;
  }
  return count;
}

static void a_job_of_one_node(void **state) {
  (void)state;
  assert_int_equal(tm_job_start(3, 5, 0, 3), 0);
  check_trace("worlds:3 touch:3 move types reports ");
  assert_true(tm_job.size == 3 && tm_job.first_size == 3 && tm_job.most == 5);
  assert_true(tm_job.universe == 5 && tm_job.first == 0 && tm_job.local == 3 && tm_job.here == 3);
  assert_true(tm_job.vp_count == 4 && tm_job.next_context == 4 && tm_job.spawned_on == NULL);
  assert_ptr_equal(tm_job.all, &all.group);
  for (int i = 0; i < 3; i++) {
    const struct tm_rank *rank = &tm_job.ranks[i];
    assert_true(rank->number == i && tm_job.all->ranks[i] == i && rank->box.home == i);
    assert_int_equal(rank->thread_level, MPI_THREAD_MULTIPLE);
  }
  assert_int_equal(tm_job.ranks[3].thread_level, 0); /* there is room, and no rank yet */
}

static void a_job_starts_once(void **state) {
  (void)state;
  assert_int_equal(tm_job_start(2, 2, 0, 2), 0);
  trace[0] = '\0';
  assert_int_equal(tm_job_start(3, 3, 0, 3), EINVAL);
  check_trace("");
  assert_int_equal(tm_job.size, 2);
}

static void a_job_of_two_nodes(void **state) {
  (void)state;
  vps = 0;
  assert_int_equal(tm_job_start(4, 4, 2, 2), 0);
  assert_true(tm_job.first == 2 && tm_job.local == 2 && tm_job.here == 2);
  assert_true(tm_job.past_mailboxes && tm_job.vp_count == 0 && with_intakes() == 0);
  assert_true(tm_job.spawned_on == NULL); /* none can be spawned */
  assert_true(tm_job.next_context == 4 + (1ULL << TM_CONTEXTS_OF_NODE));
  for (int i = 0; i < 4; i++)
    assert_int_equal(tm_job.ranks[i].box.home, MLTP_NODES && i < 2 ? 0 : -1);
}

static void a_job_of_nodes_notes_where_ranks_are_spawned(void **state) {
  (void)state;
  assert_int_equal(tm_job_start(4, 6, 0, 2), 0);
  assert_non_null(tm_job.spawned_on);
  assert_true(tm_job.spawned_on[0] == 0 && tm_job.spawned_on[1] == 0);
  assert_int_equal(tm_job.next_context, 4);
  assert_int_equal(with_intakes(), 2);
}

/* @return how many ranks of one node have intakes. */
static int intakes(int vp_count, int ranks, enum tm_wait wait) {
  forget();
  vps = vp_count;
  tm_job.wait = wait;
  tm_job.spin_ns = 1;
  assert_int_equal(tm_job_start(ranks, ranks, 0, ranks), 0);
  assert_int_equal(tm_job.past_mailboxes, with_intakes() > 0);
  return with_intakes();
}

static void ranks_with_a_vp_each_have_intakes(void **state) {
  (void)state;
  assert_int_equal(intakes(2, 2, TM_WAIT_CONSCIOUS), 2);
  assert_int_equal(intakes(8, 3, TM_WAIT_SPIN), 3);
  assert_int_equal(intakes(8, 3, TM_WAIT_PARK), 0);
  assert_int_equal(intakes(2, 3, TM_WAIT_CONSCIOUS), 0);
  assert_int_equal(intakes(1, 1, TM_WAIT_CONSCIOUS), 0);
  assert_int_equal(intakes(2, 1, TM_WAIT_CONSCIOUS), 0);
  assert_int_equal(intakes(0, 2, TM_WAIT_CONSCIOUS), 0);
}

static void ranks_without_memory_for_an_intake_have_none(void **state) {
  (void)state;
  allocations_left = 1; /* the ranks' own */
  assert_int_equal(intakes(4, 3, TM_WAIT_CONSCIOUS), 0);
  allocations_left = 2;
  assert_int_equal(intakes(4, 3, TM_WAIT_CONSCIOUS), 1);
  allocations_left = -1;
}

static void a_job_without_memory_does_not_start(void **state) {
  (void)state;
  for (int failing = 0; failing < 4; failing++) {
    allocations_left = failing < 2 ? failing : -1;
    group_fails = failing == 2;
    worlds_fail = failing == 3;
    assert_int_equal(tm_job_start(4, 6, 0, 2), ENOMEM);
    assert_null(tm_job.ranks);
    assert_int_equal(tm_job.size, -1);
    assert_int_equal(blocks, 0);
    check_trace(failing == 3 ? "worlds:2 " : "");
  }
  group_fails = worlds_fail = false;
  allocations_left = -1;
}

static void check_wait(enum tm_wait wait, uint64_t given, uint64_t park, enum tm_wait expected,
                       uint64_t ns) {
  forget();
  park_ns = park;
  tm_job.wait = wait;
  tm_job.spin_ns = given;
  assert_int_equal(tm_job_start(2, 2, 0, 2), 0);
  assert_int_equal(tm_job.wait, expected);
  assert_int_equal(tm_job.spin_ns, ns);
}

static void ranks_spin_as_long_as_they_should_or_as_a_park_takes(void **state) {
  (void)state;
  check_wait(TM_WAIT_SPIN, 300, 500, TM_WAIT_SPIN, 300);
  check_wait(TM_WAIT_SPIN, 0, 500, TM_WAIT_SPIN, 500);
  check_wait(TM_WAIT_SPIN, 0, 0, TM_WAIT_PARK, 0);
  check_wait(TM_WAIT_CONSCIOUS, 0, 500, TM_WAIT_CONSCIOUS, 0);
  check_wait(TM_WAIT_PARK, 0, 500, TM_WAIT_PARK, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(a_job_of_one_node, setup),
      cmocka_unit_test_setup(a_job_starts_once, setup),
      cmocka_unit_test_setup(a_job_of_two_nodes, setup),
      cmocka_unit_test_setup(a_job_of_nodes_notes_where_ranks_are_spawned, setup),
      cmocka_unit_test_setup(ranks_with_a_vp_each_have_intakes, setup),
      cmocka_unit_test_setup(ranks_without_memory_for_an_intake_have_none, setup),
      cmocka_unit_test_setup(a_job_without_memory_does_not_start, setup),
      cmocka_unit_test_setup(ranks_spin_as_long_as_they_should_or_as_a_park_takes, setup),
  };
  mallopt(M_PERTURB, 0xa5); /* new memory is not zero */
  return cmocka_run_group_tests(tests, NULL, NULL);
}
