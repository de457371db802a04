/* SPDX-License-Identifier: Apache-2.0 */
/* Latches and wait groups, for every kind of thread. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "support/support.h"

enum { WORKERS = 6, SHORT_NS = 3000000 };

/* -------------------------------------------------------------- latches */

struct start {
  mltp_latch_t latch;
  long plain[WORKERS]; /* written before, read by all after: needs the latch's ordering */
  atomic_int next_index, went_early, errors;
};

static void check_all_wrote(struct start *start) {
  for (int i = 0; i < WORKERS; i++) {
    if (start->plain[i] != 1) atomic_fetch_add(&start->went_early, 1);
  }
}

static void *arrive_and_wait(void *p0) {
  struct start *start = p0;
  start->plain[atomic_fetch_add(&start->next_index, 1)] = 1;
  if (mltp_latch_arrive_and_wait(&start->latch) != 0) atomic_fetch_add(&start->errors, 1);
  check_all_wrote(start);
  return NULL;
}

static void *count_down_then_look(void *p0) {
  struct start *start = p0;
  start->plain[atomic_fetch_add(&start->next_index, 1)] = 1;
  if (mltp_latch_count_down(&start->latch, 1) != 0) atomic_fetch_add(&start->errors, 1);
  while (mltp_latch_wait_try(&start->latch) == EAGAIN) mltp_yield();
  check_all_wrote(start);
  return NULL;
}

static void *count_down_then_wait(void *p0) {
  struct start *start = p0;
  start->plain[atomic_fetch_add(&start->next_index, 1)] = 1;
  if (mltp_latch_count_down(&start->latch, 1) != 0) atomic_fetch_add(&start->errors, 1);
  int error = mltp_latch_wait_timed(&start->latch, MLTP_NEVER);
  if (error != 0 || mltp_latch_wait(&start->latch) != 0) atomic_fetch_add(&start->errors, 1);
  check_all_wrote(start);
  return NULL;
}

/* Nobody passes before all have come, and all pass then. */
static void check_start(mltp_userf_t *take_part) {
  for (int round = 0; round < scaled(50); round++) {
    for (int kind = 0; kind < KINDS; kind++) {
      check_case("%s", kind_names[kind]);
      struct start start = {.next_index = 0};
      CHECK_EQUAL(mltp_latch_init(&start.latch, WORKERS, "start"), 0);
      workers_run(WORKERS, (enum kind)kind, take_part, &start);
      CHECK_EQUAL(atomic_load(&start.went_early), 0);
      CHECK_EQUAL(atomic_load(&start.errors), 0);
      CHECK_EQUAL(mltp_latch_destroy(&start.latch), 0);
    }
  }
}

static void mltp_latch_arrive_and_wait_passes_when_all_have_come(void) {
  check_start(arrive_and_wait);
}

static void mltp_latch_wait_passes_when_all_have_come(void) { check_start(count_down_then_wait); }

static void mltp_latch_wait_try_passes_when_all_have_come(void) {
  check_start(count_down_then_look);
}

struct door {
  mltp_latch_t latch;
  int passed;
};

static void *pass(void *p0) {
  struct door *door = p0;
  mltp_latch_wait(&door->latch);
  door->passed++;
  return NULL;
}

static void mltp_latch_opens_at_zero_and_not_before(void) {
  struct door door = {.latch = MLTP_LATCH_INIT(2)};
  mltp_t *threads[3];
  for (int i = 0; i < 3; i++) threads[i] = spawn(pass, &door);
  mltp_yield(); /* on one VP: they wait */
  for (int left = 1; left >= 0; left--) {
    mltp_latch_count_down(&door.latch, 1);
    mltp_yield();
    CHECK_EQUAL(door.passed, left == 0 ? 3 : 0);
  }
  for (int i = 0; i < 3; i++) mltp_join(threads[i], NULL);
}

static void mltp_latch_counts_down_by_more_than_one(void) {
  mltp_latch_t latch = MLTP_LATCH_INIT(5);
  CHECK_EQUAL(mltp_latch_count_down(&latch, 0), 0);
  CHECK_EQUAL(mltp_latch_count_down(&latch, 4), 0);
  CHECK_EQUAL(mltp_latch_wait_try(&latch), EAGAIN);
  CHECK_EQUAL(mltp_latch_count_down(&latch, 1), 0);
  CHECK_EQUAL(mltp_latch_wait_try(&latch), 0);
  CHECK_EQUAL(mltp_latch_wait(&latch), 0);
  CHECK_EQUAL(mltp_latch_wait_timed(&latch, 0), 0);
  CHECK_EQUAL(mltp_latch_destroy(&latch), 0);
}

static void mltp_latch_of_zero_is_open(void) {
  mltp_latch_t latch;
  CHECK_EQUAL(mltp_latch_init(&latch, 0, NULL), 0);
  CHECK_EQUAL(mltp_latch_wait_try(&latch), 0);
  CHECK_EQUAL(mltp_latch_wait(&latch), 0);
}

static void *latch_times_out(void *p0) {
  uint64_t deadline = mltp_after(SHORT_NS);
  int error = mltp_latch_wait_timed(p0, deadline);
  CHECK(mltp_now() >= deadline);
  return (void *)(intptr_t)error;
}

static void mltp_latch_wait_timed_times_out_and_not_early(void) {
  for (int kind = 0; kind < MIXED; kind++) {
    check_case("%s", kind_names[kind]);
    mltp_latch_t latch = MLTP_LATCH_INIT(1);
    struct worker worker;
    worker_start(&worker, (enum kind)kind, latch_times_out, &latch);
    CHECK_EQUAL((intptr_t)worker_join(&worker), ETIMEDOUT);
    CHECK_EQUAL(mltp_latch_count_down(&latch, 1), 0); /* it was not counted */
    CHECK_EQUAL(mltp_latch_destroy(&latch), 0);
  }
}

static void *open_it(void *p0) {
  mltp_latch_count_down(p0, 1);
  return NULL;
}

/* A waiter may free the memory at once, though the last to count down may not
 * have returned yet: it leaves alone what is written there. */
static void mltp_latch_may_be_freed_after_wait(void) {
  for (int round = 0; round < scaled(500); round++) {
    mltp_latch_t *latch = malloc(sizeof *latch);
    mltp_latch_init(latch, 1, NULL);
    struct worker worker;
    worker_start(&worker, (enum kind)(round % MIXED), open_it, latch);
    if (round % 2) {
      mltp_latch_wait(latch);
    } else {
      while (mltp_latch_wait_try(latch) != 0) mltp_yield();
    }
    memset(latch, 0x55, sizeof *latch);
    worker_join(&worker);
    CHECK_EQUAL(latch->queue_.ilock_, 0x55555555);
    free(latch);
  }
}

/* ---------------------------------------------------------- wait groups */

struct tree {
  mltp_waitgroup_t group;
  atomic_long leaves;
};

struct node {
  struct tree *tree;
  int depth;
};

static void grow(struct tree *tree, int depth);

static void *be_a_node(void *p0) {
  struct node node = *(struct node *)p0;
  free(p0);
  if (node.depth == 0) {
    atomic_fetch_add(&node.tree->leaves, 1);
  } else {
    grow(node.tree, node.depth - 1);
    grow(node.tree, node.depth - 1);
  }
  mltp_waitgroup_done(&node.tree->group);
  return NULL;
}

static void grow(struct tree *tree, int depth) {
  struct node *node = malloc(sizeof *node);
  *node = (struct node){tree, depth};
  mltp_attr_t attr = MLTP_ATTR_INIT;
  attr.detached = 1;
  mltp_waitgroup_add(&tree->group, 1);
  CHECK_EQUAL(mltp_create(NULL, &attr, be_a_node, node), 0);
}

static void *wait_for_tree(void *p0) {
  struct tree *tree = p0;
  CHECK_EQUAL(mltp_waitgroup_wait(&tree->group), 0);
  return (void *)(intptr_t)atomic_load(&tree->leaves);
}

/* Tasks that add tasks: the wait ends when the last of all is done. */
static void mltp_waitgroup_waits_for_tasks_added_by_tasks(void) {
  enum { DEPTH = 5 };
  for (int kind = 0; kind < MIXED; kind++) {
    check_case("%s", kind_names[kind]);
    struct tree tree = {.leaves = 0};
    struct worker worker;
    mltp_waitgroup_init(&tree.group, "tree");
    grow(&tree, DEPTH);
    worker_start(&worker, (enum kind)kind, wait_for_tree, &tree);
    CHECK_EQUAL((intptr_t)worker_join(&worker), 1 << DEPTH);
    CHECK_EQUAL(mltp_waitgroup_destroy(&tree.group), 0);
  }
}

struct shift {
  mltp_waitgroup_t group;
  long done; /* not atomic: the group orders it */
};

static void *work_a_round(void *p0) {
  struct shift *shift = p0;
  shift->done++;
  mltp_waitgroup_done(&shift->group);
  return NULL;
}

static void mltp_waitgroup_may_be_used_again(void) {
  struct shift shift = {.group = MLTP_WAITGROUP_INIT};
  for (int round = 1; round <= scaled(200); round++) {
    struct worker worker;
    CHECK_EQUAL(mltp_waitgroup_add(&shift.group, 1), 0);
    worker_start(&worker, (enum kind)(round % MIXED), work_a_round, &shift);
    CHECK_EQUAL(mltp_waitgroup_wait(&shift.group), 0);
    CHECK_EQUAL(shift.done, round);
    worker_join(&worker);
  }
  CHECK_EQUAL(mltp_waitgroup_destroy(&shift.group), 0);
}

static void *group_times_out(void *p0) {
  uint64_t deadline = mltp_after(SHORT_NS);
  int error = mltp_waitgroup_wait_timed(p0, deadline);
  CHECK(mltp_now() >= deadline);
  return (void *)(intptr_t)error;
}

static void mltp_waitgroup_wait_timed_times_out_and_not_early(void) {
  for (int kind = 0; kind < MIXED; kind++) {
    check_case("%s", kind_names[kind]);
    mltp_waitgroup_t group = MLTP_WAITGROUP_INIT;
    struct worker worker;
    mltp_waitgroup_add(&group, 3);
    worker_start(&worker, (enum kind)kind, group_times_out, &group);
    CHECK_EQUAL((intptr_t)worker_join(&worker), ETIMEDOUT);
    mltp_waitgroup_add(&group, -3);
    CHECK_EQUAL(mltp_waitgroup_wait_timed(&group, 0), 0);
    CHECK_EQUAL(mltp_waitgroup_destroy(&group), 0);
  }
}

static void mltp_waitgroup_without_tasks_waits_for_nothing(void) {
  mltp_waitgroup_t group = MLTP_WAITGROUP_INIT;
  CHECK_EQUAL(mltp_waitgroup_wait(&group), 0);
  CHECK_EQUAL(mltp_waitgroup_wait_timed(&group, MLTP_NEVER), 0);
  CHECK_EQUAL(mltp_waitgroup_wait_try(&group), 0);
  CHECK_EQUAL(mltp_waitgroup_add(&group, 1), 0);
  CHECK_EQUAL(mltp_waitgroup_wait_try(&group), EAGAIN);
  CHECK_EQUAL(mltp_waitgroup_done(&group), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(mltp_latch_arrive_and_wait_passes_when_all_have_come),
      TEST(mltp_latch_wait_passes_when_all_have_come),
      TEST(mltp_latch_wait_try_passes_when_all_have_come),
      TEST_ONE_VP(mltp_latch_opens_at_zero_and_not_before),
      TEST(mltp_latch_counts_down_by_more_than_one),
      TEST(mltp_latch_of_zero_is_open),
      TEST(mltp_latch_wait_timed_times_out_and_not_early),
      TEST(mltp_latch_may_be_freed_after_wait),
      TEST(mltp_waitgroup_waits_for_tasks_added_by_tasks),
      TEST(mltp_waitgroup_may_be_used_again),
      TEST(mltp_waitgroup_wait_timed_times_out_and_not_early),
      TEST(mltp_waitgroup_without_tasks_waits_for_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
