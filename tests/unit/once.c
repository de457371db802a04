/* SPDX-License-Identifier: Apache-2.0 */
/* Doing something once, for every kind of thread. exceptions.cpp has what throws. */
#include <stdatomic.h>

#include "support/support.h"

enum { WORKERS = 6 };

struct work {
  mltp_once_t once;
  long result; /* not atomic: the once orders it */
  atomic_int calls, went_early;
};

static void do_slowly(void *p0) {
  struct work *work = p0;
  atomic_fetch_add(&work->calls, 1);
  for (int i = 0; i < 5; i++) mltp_yield(); /* so that others come, and wait */
  work->result = 1;
}

static void *have_it_done(void *p0) {
  struct work *work = p0;
  CHECK_EQUAL(mltp_once(&work->once, do_slowly, work), 0);
  if (work->result != 1) atomic_fetch_add(&work->went_early, 1);
  return NULL;
}

/* One call, and all have its result when they return. */
static void mltp_once_calls_once(void) {
  for (int round = 0; round < scaled(100); round++) {
    for (int kind = 0; kind < KINDS; kind++) {
      check_case("%s", kind_names[kind]);
      struct work work = {.once = MLTP_ONCE_INIT};
      workers_run(WORKERS, (enum kind)kind, have_it_done, &work);
      CHECK_EQUAL(atomic_load(&work.calls), 1);
      CHECK_EQUAL(atomic_load(&work.went_early), 0);
    }
  }
}

struct blocked {
  mltp_once_t once;
  mltp_sem_t go_on;
};

static void wait_to_go_on(void *p0) {
  struct blocked *blocked = p0;
  mltp_sem_wait(&blocked->go_on);
}

static void *call_blocked(void *p0) {
  struct blocked *blocked = p0;
  mltp_once(&blocked->once, wait_to_go_on, blocked);
  return NULL;
}

/* On one VP: callers that spun would never let the main thread post. */
static void mltp_once_blocks_callers_and_no_vp(void) {
  struct blocked blocked = {MLTP_ONCE_INIT, MLTP_SEM_INIT(0)};
  mltp_t *threads[3];
  for (int i = 0; i < 3; i++) threads[i] = spawn(call_blocked, &blocked);
  mltp_yield();
  mltp_sem_post(&blocked.go_on);
  for (int i = 0; i < 3; i++) mltp_join(threads[i], NULL);
}

struct leaver {
  mltp_once_t outer, inner;
  atomic_int outer_calls, inner_calls;
};

static void leave_twice(void *p0) {
  struct leaver *leaver = p0;
  mltp_yield(); /* so that others come, and wait */
  if (atomic_fetch_add(&leaver->inner_calls, 1) < 2) mltp_exit(NULL);
}

static void call_inner(void *p0) {
  struct leaver *leaver = p0;
  atomic_fetch_add(&leaver->outer_calls, 1);
  mltp_once(&leaver->inner, leave_twice, leaver);
}

static void *call_outer(void *p0) {
  struct leaver *leaver = p0;
  mltp_once(&leaver->outer, call_inner, leaver);
  return p0;
}

/* Threads that end inside of two nested ones have done neither: others take over. */
static void mltp_once_left_by_mltp_exit_is_not_done(void) {
  for (int bound = 0; bound < 2; bound++) {
    check_case("%s", bound ? "bound" : "unbound");
    struct leaver leaver = {.outer = MLTP_ONCE_INIT, .inner = MLTP_ONCE_INIT};
    struct worker workers[WORKERS];
    int stayed = 0;
    for (int i = 0; i < WORKERS; i++)
      worker_start(&workers[i], bound ? BOUND : UNBOUND, call_outer, &leaver);
    for (int i = 0; i < WORKERS; i++) stayed += worker_join(&workers[i]) == &leaver;
    CHECK_EQUAL(stayed, WORKERS - 2);
    CHECK_EQUAL(atomic_load(&leaver.inner_calls), 3);
    CHECK_EQUAL(atomic_load(&leaver.outer_calls), 3);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(mltp_once_calls_once),
      TEST_ONE_VP(mltp_once_blocks_callers_and_no_vp),
      TEST(mltp_once_left_by_mltp_exit_is_not_done),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
