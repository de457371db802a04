/* SPDX-License-Identifier: Apache-2.0 */
/* Taking a lock without waiting, or not forever: every class, every kind of thread. */
#include <stdatomic.h>

#include "support/support.h"

struct attempt {
  mltp_lock_t lock;
  uint64_t limit;
  uint64_t early_by; /* how long before its deadline a timed out call returned */
};

static void *try_it(void *p0) {
  struct attempt *attempt = p0;
  int error = mltp_lock_try(&attempt->lock);
  if (error == 0) mltp_unlock(&attempt->lock);
  return (void *)(intptr_t)error;
}

static void *time_it(void *p0) {
  struct attempt *attempt = p0;
  uint64_t deadline = mltp_after(attempt->limit);
  int error = mltp_lock_timed(&attempt->lock, deadline);
  uint64_t now = mltp_now();
  if (error == 0) mltp_unlock(&attempt->lock);
  if (error == ETIMEDOUT && now < deadline) attempt->early_by = deadline - now;
  return (void *)(intptr_t)error;
}

static int run_one(enum kind kind, mltp_userf_t *func, struct attempt *attempt) {
  struct worker worker;
  worker_start(&worker, kind, func, attempt);
  return (int)(intptr_t)worker_join(&worker);
}

/* Runs check for every class and every kind but MIXED, with a fresh lock. */
static void for_each_case(void (*check)(struct attempt *attempt, enum kind kind)) {
  for (int class = 0; class < LOCK_CLASSES; class ++) {
    for (int kind = 0; kind < MIXED; kind++) {
      struct attempt attempt = {.limit = 0};
      check_case("%s lock, %s", lock_classes[class].name, kind_names[kind]);
      CHECK_EQUAL(mltp_lock_init(&attempt.lock, lock_classes[class].id, NULL), 0);
      check(&attempt, (enum kind)kind);
      CHECK_EQUAL(mltp_lock_destroy(&attempt.lock), 0);
    }
  }
}

static void check_trylock(struct attempt *attempt, enum kind kind) {
  CHECK_EQUAL(run_one(kind, try_it, attempt), 0);
  mltp_lock(&attempt->lock);
  CHECK_EQUAL(run_one(kind, try_it, attempt), EBUSY);
  mltp_unlock(&attempt->lock);
  CHECK_EQUAL(run_one(kind, try_it, attempt), 0);
}

static void mltp_lock_try_tells_whether_it_is_held(void) { for_each_case(check_trylock); }

static void check_times_out(struct attempt *attempt, enum kind kind) {
  mltp_lock(&attempt->lock);
  attempt->limit = 3000000;
  CHECK_EQUAL(run_one(kind, time_it, attempt), ETIMEDOUT);
  CHECK_EQUAL(attempt->early_by, 0);
  mltp_unlock(&attempt->lock);
}

static void mltp_lock_timed_times_out_and_not_early(void) { for_each_case(check_times_out); }

static void check_free(struct attempt *attempt, enum kind kind) {
  attempt->limit = 10ull * 1000 * 1000 * 1000;
  CHECK_EQUAL(run_one(kind, time_it, attempt), 0);
}

static void mltp_lock_timed_takes_a_free_lock(void) { for_each_case(check_free); }

static void check_released(struct attempt *attempt, enum kind kind) {
  struct worker worker;
  attempt->limit = 60ull * 1000 * 1000 * 1000;
  mltp_lock(&attempt->lock);
  worker_start(&worker, kind, time_it, attempt);
  mltp_sleep(1000000); /* so that it waits by then, most likely */
  mltp_unlock(&attempt->lock);
  CHECK_EQUAL((intptr_t)worker_join(&worker), 0);
}

static void mltp_lock_timed_gets_it_in_time(void) { for_each_case(check_released); }

/* Deadlines that run out while the lock is handed over: each call either got the lock
 * or did not, and the lock is free at the end. */
struct race {
  mltp_lock_t lock;
  long inside; /* protected by the lock */
  atomic_long acquired, errors;
};

static void *race_the_clock(void *p0) {
  struct race *race = p0;
  for (int i = 0; i < scaled(100); i++) {
    int error = mltp_lock_timed(&race->lock, mltp_after((uint64_t)(i % 10) * 5000));
    if (error == 0) {
      race->inside++;
      if (i % 4 == 0) mltp_sleep(10000);
      mltp_unlock(&race->lock);
      atomic_fetch_add(&race->acquired, 1);
    } else if (error != ETIMEDOUT) {
      atomic_fetch_add(&race->errors, 1);
    }
  }
  return NULL;
}

static void mltp_lock_timed_races_with_unlock(void) {
  for (int class = 0; class < LOCK_CLASSES; class ++) {
    check_case("%s lock", lock_classes[class].name);
    struct race race = {.inside = 0};
    mltp_lock_init(&race.lock, lock_classes[class].id, NULL);
    workers_run(6, MIXED, race_the_clock, &race);
    CHECK_EQUAL(atomic_load(&race.errors), 0);
    CHECK_EQUAL(race.inside, atomic_load(&race.acquired));
    CHECK(race.inside > 0);
    CHECK_EQUAL(mltp_lock_try(&race.lock), 0);
    CHECK_EQUAL(mltp_unlock(&race.lock), 0);
    CHECK_EQUAL(mltp_lock_destroy(&race.lock), 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(mltp_lock_try_tells_whether_it_is_held), TEST(mltp_lock_timed_times_out_and_not_early),
      TEST(mltp_lock_timed_takes_a_free_lock),      TEST(mltp_lock_timed_gets_it_in_time),
      TEST(mltp_lock_timed_races_with_unlock),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
