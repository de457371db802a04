/* SPDX-License-Identifier: Apache-2.0 */
/* What belongs to a thread: handle, number, name, errno. */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "support/support.h"

/* ----------------------------------------------------------- handle, id, name */

static void *stay_oneself(void *p0) {
  mltp_t *self = mltp_self();
  uint64_t id = mltp_id(self);
  CHECK(self != NULL);
  for (int i = 0; i < 20; i++) {
    mltp_yield();
    if (i % 5 == 0) mltp_sleep(10000);
    CHECK(mltp_self() == self);
    CHECK_EQUAL(mltp_id(mltp_self()), id);
  }
  (void)p0;
  return self;
}

static void mltp_self_is_the_same_throughout(void) {
  for (int kind = 0; kind < KINDS; kind++) {
    check_case("%s", kind_names[kind]);
    workers_run(9, (enum kind)kind, stay_oneself, NULL);
  }
}

static void mltp_self_is_what_create_returned(void) {
  for (int kind = 0; kind < FOREIGN; kind++) {
    struct worker worker;
    check_case("%s", kind_names[kind]);
    worker_start(&worker, (enum kind)kind, stay_oneself, NULL);
    mltp_t *created = worker.thread;
    CHECK(worker_join(&worker) == created);
  }
}

struct roll {
  uint64_t ids[WORKERS_MAX];
  atomic_int next;
  mltp_barrier_t all_here;
};

static void *enrol(void *p0) {
  struct roll *roll = p0;
  roll->ids[atomic_fetch_add(&roll->next, 1)] = mltp_id(mltp_self());
  mltp_barrier_wait(&roll->all_here);
  return NULL;
}

static void mltp_id_is_unique(void) {
  enum { COUNT = 30 };
  struct roll roll = {.all_here = MLTP_BARRIER_INIT(COUNT)};
  workers_run(COUNT, MIXED, enrol, &roll);
  for (int i = 0; i < COUNT; i++) {
    CHECK(roll.ids[i] != mltp_id(mltp_self()));
    for (int j = 0; j < i; j++) CHECK(roll.ids[i] != roll.ids[j]);
  }
}

static void *no_longer_anonymous(void *p0) {
  mltp_t *self = mltp_self();
  mltp_set_name(self, "first");
  CHECK_TEXT(mltp_name(self), "first");
  mltp_yield();
  mltp_set_name(self, p0);
  mltp_yield();
  CHECK_TEXT(mltp_name(self), p0);
  mltp_set_name(self, NULL);
  CHECK_TEXT(mltp_name(self), "");
  return NULL;
}

static void mltp_set_name_renames(void) {
  char name[] = "second";
  for (int kind = 0; kind < KINDS; kind++) {
    check_case("%s", kind_names[kind]);
    workers_run(3, (enum kind)kind, no_longer_anonymous, name);
  }
}

/* A foreign thread's handle goes with it; there may be any number in the end. */
static void foreign_threads_come_and_go(void) {
  uint64_t last = 0;
  for (int i = 0; i < scaled(500); i++) {
    struct roll roll = {.all_here = MLTP_BARRIER_INIT(1)};
    workers_run(1, FOREIGN, enrol, &roll);
    CHECK(roll.ids[0] != last);
    last = roll.ids[0];
  }
}

/* ------------------------------------------------------------------- errno */

/* Compilers may keep errno's address across a call, as if a thread could not move to
 * another kernel thread in it; so ask for it, by a pointer they know nothing of. */
static int *(*volatile errno_now)(void) = __errno_location;

static void set_errno(int value) { *errno_now() = value; }

static int get_errno(void) { return *errno_now(); }

struct mixer {
  atomic_int next, wrong, moves;
  mltp_lock_t lock;
  mltp_barrier_t barrier;
};

enum { KEEPERS = 8 };

static void *keep_errno(void *p0) {
  struct mixer *mixer = p0;
  int mine = 1000 + atomic_fetch_add(&mixer->next, 1);
  int vp = mltp_vp();
  set_errno(mine);
  for (int i = 0; i < scaled(200); i++) {
    switch (i % 5) {
      case 0: mltp_yield(); break;
      case 1:
        mltp_lock(&mixer->lock);
        mltp_yield();
        mltp_unlock(&mixer->lock);
        break;
      case 2: mltp_barrier_wait(&mixer->barrier); break;
      case 3: mltp_sleep(1000); break;
      default: mltp_yield_to_first();
    }
    if (get_errno() != mine) atomic_fetch_add(&mixer->wrong, 1);
    if (mltp_vp() != vp) atomic_fetch_add(&mixer->moves, 1);
    vp = mltp_vp();
  }
  return NULL;
}

static void errno_belongs_to_the_thread(void) {
  for (int kind = 0; kind < KINDS; kind++) {
    struct mixer mixer = {.lock = MLTP_LOCK_INIT, .barrier = MLTP_BARRIER_INIT(KEEPERS)};
    check_case("%s", kind_names[kind]);
    workers_run(KEEPERS, (enum kind)kind, keep_errno, &mixer);
    CHECK_EQUAL(atomic_load(&mixer.wrong), 0);
    /* Nobody can order a thread to move; the count says what the run was worth. */
    printf("errno: %s threads moved %d times\n", kind_names[kind], atomic_load(&mixer.moves));
  }
}

static void calls_do_not_touch_errno(void) {
  mltp_lock_t lock = MLTP_LOCK_INIT;
  mltp_sem_t sem = MLTP_SEM_INIT(0);
  set_errno(77);
  mltp_lock(&lock);
  CHECK_EQUAL(mltp_lock_try(&lock), EBUSY);
  mltp_unlock(&lock);
  CHECK_EQUAL(mltp_sem_wait_timed(&sem, mltp_after(100000)), ETIMEDOUT);
  CHECK_EQUAL(mltp_sem_destroy(&sem), 0);
  CHECK_EQUAL(mltp_join(mltp_self(), NULL), EDEADLK);
  CHECK_EQUAL(mltp_join(spawn_bound(stay_oneself, NULL), NULL), 0);
  CHECK_EQUAL(mltp_set_vps(0), EINVAL);
  CHECK_EQUAL(mltp_set_vps(mltp_vps() + 1), 0);
  CHECK_EQUAL(get_errno(), 77);
}

static void *errno_at_start(void *p0) {
  (void)p0;
  return (void *)(intptr_t)get_errno();
}

/* A new thread starts with errno 0, as a new pthread does. */
static void errno_is_0_at_the_start(void) {
  set_errno(55);
  for (int kind = 0; kind < MIXED; kind++) {
    for (int i = 0; i < 3; i++) {
      struct worker worker;
      check_case("%s", kind_names[kind]);
      worker_start(&worker, (enum kind)kind, errno_at_start, NULL);
      CHECK_EQUAL((intptr_t)worker_join(&worker), 0);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(mltp_self_is_the_same_throughout),
      TEST(mltp_self_is_what_create_returned),
      TEST(mltp_id_is_unique),
      TEST(foreign_threads_come_and_go),
      TEST(mltp_set_name_renames),
      TEST(errno_belongs_to_the_thread),
      TEST(calls_do_not_touch_errno),
      TEST(errno_is_0_at_the_start),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
