/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting on a condition until a deadline, with a lock and without. */
#include <stdatomic.h>

#include "support/support.h"

#define MS 1000000ull

struct timed {
  mltp_lock_t lock;
  mltp_cond_t cond;
  int with_lock;
};

static int wait_until(mltp_cond_t *cond, mltp_lock_t *lock, uint64_t deadline) {
  return lock != NULL ? mltp_cond_wait_timed(cond, lock, deadline)
                      : mltp_cond_wait_unlocked_timed(cond, deadline);
}

static void *wait_in_vain(void *p0) {
  struct timed *t = p0;
  uint64_t deadline = mltp_after(3 * MS);
  if (t->with_lock) mltp_lock(&t->lock);
  CHECK_EQUAL(wait_until(&t->cond, t->with_lock ? &t->lock : NULL, deadline), ETIMEDOUT);
  CHECK(mltp_now() >= deadline);
  if (t->with_lock) {
    CHECK_EQUAL(mltp_lock_try(&t->lock), EBUSY); /* held all the same */
    CHECK_EQUAL(mltp_unlock(&t->lock), 0);
  }
  return NULL;
}

static void mltp_cond_wait_timed_times_out_and_not_early(void) {
  for (int kind = 0; kind < MIXED; kind++) {
    for (int with_lock = 0; with_lock < 2; with_lock++) {
      check_case("%s, %s lock", kind_names[kind], with_lock ? "with" : "without");
      struct timed t = {.lock = MLTP_LOCK_INIT, .cond = MLTP_COND_INIT, .with_lock = with_lock};
      workers_run(1, (enum kind)kind, wait_in_vain, &t);
      CHECK_EQUAL(mltp_cond_destroy(&t.cond), 0);
    }
  }
}

struct late {
  mltp_lock_t lock;
  mltp_cond_t cond;
  int waits; /* protected by the lock */
};

static void *wait_and_relock(void *p0) {
  struct late *late = p0;
  mltp_lock(&late->lock);
  late->waits = 1;
  int error = mltp_cond_wait_timed(&late->cond, &late->lock, mltp_after(20 * MS));
  CHECK_EQUAL(mltp_unlock(&late->lock), 0); /* it held the lock */
  return (void *)(intptr_t)error;
}

/* The deadline is the condition's: once signalled, the waiter gets its lock however long
 * that takes. */
static void mltp_cond_wait_timed_gets_its_lock_after_the_deadline(void) {
  for (int kind = 0; kind < MIXED; kind++) {
    struct late late = {.lock = MLTP_LOCK_INIT, .cond = MLTP_COND_INIT};
    struct worker worker;
    check_case("%s", kind_names[kind]);
    worker_start(&worker, (enum kind)kind, wait_and_relock, &late);
    mltp_lock(&late.lock);
    while (!late.waits) {
      mltp_unlock(&late.lock);
      mltp_yield();
      mltp_lock(&late.lock);
    }
    uint64_t signalled = mltp_now();
    mltp_cond_signal(&late.cond);
    while (mltp_now() < signalled + 30 * MS) mltp_sleep(5 * MS);
    mltp_unlock(&late.lock);
    int error = (int)(intptr_t)worker_join(&worker);
    CHECK(error == 0 || error == ETIMEDOUT); /* ETIMEDOUT: a busy machine, signalled too late */
    CHECK_EQUAL(mltp_cond_destroy(&late.cond), 0);
  }
}

/* A wait that times out while it is signalled ends one way or the other: no more
 * threads wake than there are signals, and none stays behind. */
struct race {
  mltp_cond_t cond;
  mltp_lock_t lock;
  atomic_long woken, timed_out, running;
};

static void *wait_briefly(void *p0) {
  struct race *race = p0;
  for (int i = 0; i < scaled(200); i++) {
    int with_lock = i % 2;
    if (with_lock) mltp_lock(&race->lock);
    int error = wait_until(&race->cond, with_lock ? &race->lock : NULL,
                           mltp_after((uint64_t)(i % 8) * 10000));
    if (with_lock) CHECK_EQUAL(mltp_unlock(&race->lock), 0);
    CHECK(error == 0 || error == ETIMEDOUT);
    atomic_fetch_add(error == 0 ? &race->woken : &race->timed_out, 1);
  }
  atomic_fetch_sub(&race->running, 1);
  return NULL;
}

static void mltp_cond_wait_timed_races_with_signal(void) {
  enum { WAITERS = 6 };
  struct race race = {.cond = MLTP_COND_INIT, .lock = MLTP_LOCK_INIT, .running = WAITERS};
  struct worker workers[WAITERS];
  for (int i = 0; i < WAITERS; i++) {
    worker_start(&workers[i], (enum kind)(i % MIXED), wait_briefly, &race);
  }
  long signals = 0;
  while (atomic_load(&race.running) > 0) {
    mltp_cond_signal(&race.cond);
    signals++;
    if (signals % 4 == 0) mltp_sleep(5000);
  }
  for (int i = 0; i < WAITERS; i++) worker_join(&workers[i]);
  CHECK_EQUAL(atomic_load(&race.woken) + atomic_load(&race.timed_out), (long)WAITERS * scaled(200));
  CHECK(atomic_load(&race.woken) <= signals);
  CHECK_EQUAL(mltp_cond_destroy(&race.cond), 0); /* nobody is left in the queue */
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(mltp_cond_wait_timed_times_out_and_not_early),
      TEST(mltp_cond_wait_timed_gets_its_lock_after_the_deadline),
      TEST(mltp_cond_wait_timed_races_with_signal),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
