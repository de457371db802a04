/* SPDX-License-Identifier: Apache-2.0 */
/* Everything at once, in random order, for MLTP_STRESS_SECONDS (2) per test. A run that
 * fails prints its seed; MLTP_STRESS_SEED repeats its choices, though not its timing. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "support/support.h"

enum { CLASSES = MLTP_LOCK_SEMAPHORE + 1, WORKERS = 24, UNITS = 5, VPS_MOST = 8 };

static struct world {
  uint64_t end;
  unsigned seed;
  atomic_uint next_worker;
  mltp_lock_t locks[CLASSES];
  long first[CLASSES], second[CLASSES]; /* each pair equal, under its lock */
  mltp_lock_t cond_lock;
  mltp_cond_t cond;
  mltp_sem_t units; /* taken and given back */
  atomic_long entered[CLASSES], violations, created, ended;
} world;

/* ------------------------------------------------------------------- actions */

static void enter(unsigned *random) {
  int class = rand_r(random) % CLASSES;
  mltp_lock_t *lock = &world.locks[class];
  int error;
  switch (rand_r(random) % 3) {
    case 0: error = mltp_lock(lock); break;
    case 1: error = mltp_trylock(lock); break;
    default: error = mltp_timedlock(lock, mltp_after((uint64_t)(rand_r(random) % 50000)));
  }
  if (error != 0) return;
  if (world.first[class] != world.second[class]) atomic_fetch_add(&world.violations, 1);
  world.first[class]++;
  if (rand_r(random) % 16 == 0) mltp_yield();
  if (rand_r(random) % 64 == 0) mltp_sleep(20000);
  world.second[class]++;
  atomic_fetch_add(&world.entered[class], 1);
  if (mltp_unlock(lock) != 0) atomic_fetch_add(&world.violations, 1);
}

static void use_unit(unsigned *random) {
  int error =
      rand_r(random) % 2
          ? mltp_sem_wait(&world.units)
          : mltp_sem_timedwait(&world.units, mltp_after((uint64_t)(rand_r(random) % 50000)));
  if (error != 0) return;
  if (rand_r(random) % 2) mltp_yield();
  mltp_sem_post(&world.units);
}

static void wait_or_signal(unsigned *random) {
  if (rand_r(random) % 2) {
    if (rand_r(random) % 4 == 0) {
      mltp_cond_broadcast(&world.cond);
    } else {
      mltp_cond_signal(&world.cond);
    }
    return;
  }
  uint64_t deadline = mltp_after((uint64_t)(rand_r(random) % 100000));
  mltp_lock(&world.cond_lock);
  mltp_cond_timedwait(&world.cond, &world.cond_lock, deadline);
  mltp_unlock(&world.cond_lock);
}

static void *child(void *p0) {
  unsigned random = (unsigned)(uintptr_t)p0;
  enter(&random);
  if (random % 2) mltp_yield();
  atomic_fetch_add(&world.ended, 1);
  return p0;
}

static void create_child(unsigned *random) {
  mltp_attr_t attr = MLTP_ATTR_INIT;
  attr.bound = rand_r(random) % 32 == 0;
  attr.detached = rand_r(random) % 4 == 0;
  attr.stack_size = rand_r(random) % 8 ? 0 : 65536;
  void *arg = (void *)(uintptr_t)rand_r(random);
  mltp_t *thread = NULL;
  if (mltp_create_with(&thread, &attr, child, arg) != 0) {
    atomic_fetch_add(&world.violations, 1);
    return;
  }
  atomic_fetch_add(&world.created, 1);
  if (attr.detached) return;
  if (rand_r(random) % 4 == 0) {
    mltp_detach(thread);
    return;
  }
  void *result = NULL;
  if (rand_r(random) % 2) mltp_yield();
  if (mltp_join(thread, &result) != 0 || result != arg) atomic_fetch_add(&world.violations, 1);
}

static void yield_somehow(unsigned *random) {
  if (rand_r(random) % 2) {
    mltp_yield();
  } else {
    mltp_yield_to_first();
  }
}

static void block_in_the_kernel(unsigned *random) {
  unsigned microseconds = (unsigned)rand_r(random) % 50;
  mltp_blocking_begin();
  usleep(microseconds);
  mltp_blocking_end();
}

static void sleep_a_little(unsigned *random) { mltp_sleep((uint64_t)(rand_r(random) % 100000)); }

static void move_vps(unsigned *random) {
  if (rand_r(random) % 8) return;
  if (mltp_set_vps(1 + rand_r(random) % VPS_MOST) != 0) atomic_fetch_add(&world.violations, 1);
}

static void *act_until_the_end(void *p0) {
  static void (*const actions[])(unsigned *) = {
      enter,          enter,        enter,         use_unit, use_unit,
      wait_or_signal, create_child, yield_somehow, move_vps, block_in_the_kernel,
      sleep_a_little,
  };
  unsigned random = world.seed + atomic_fetch_add(&world.next_worker, 1) * 7919u;
  while (mltp_now() < world.end) {
    actions[(size_t)rand_r(&random) % (sizeof actions / sizeof actions[0])](&random);
  }
  return p0;
}

/* ---------------------------------------------------------------------- runs */

static long environment_number(const char *name, long standard) {
  const char *text = getenv(name);
  return text != NULL && *text != '\0' ? strtol(text, NULL, 10) : standard;
}

static void mix(void) {
  world = (struct world){.seed = (unsigned)environment_number("MLTP_STRESS_SEED", time(NULL))};
  printf("MLTP_STRESS_SEED=%u\n", world.seed);
  for (int class = 0; class < CLASSES; class ++) {
    mltp_lock_init(&world.locks[class], (mltp_lock_class_t) class, "stress");
  }
  mltp_lock_init(&world.cond_lock, MLTP_LOCK_STANDARD, "condition's");
  mltp_cond_init(&world.cond, "stress");
  mltp_sem_init(&world.units, UNITS, "units");
  world.end = mltp_after((uint64_t)environment_number("MLTP_STRESS_SECONDS", 2) * 1000000000);

  crew_run(WORKERS, MIXED, act_until_the_end, NULL);
  while (atomic_load(&world.ended) < atomic_load(&world.created)) mltp_sleep(100000);

  CHECK_EQUAL(atomic_load(&world.violations), 0);
  CHECK_EQUAL(mltp_sem_value(&world.units), UNITS);
  CHECK_EQUAL(mltp_sem_destroy(&world.units), 0);
  CHECK_EQUAL(mltp_cond_destroy(&world.cond), 0);
  for (int class = 0; class < CLASSES; class ++) {
    check_case("lock class %d", class);
    CHECK_EQUAL(world.first[class], atomic_load(&world.entered[class]));
    CHECK_EQUAL(world.second[class], world.first[class]);
    CHECK(world.first[class] > 0);
    CHECK_EQUAL(mltp_lock_destroy(&world.locks[class]), 0);
  }
  printf("%ld threads created\n", atomic_load(&world.created));
}

/* Busy processes take time slices away from VPs, at any place of the code. */
static void mix_under_load(void **state) {
  pid_t pids[4];
  load_start(pids, 4);
  test_in_runtime(state);
  load_stop(pids, 4);
}

/* All VPs, lock holders and spinning waiters among them, share one CPU. */
static void mix_on_one_cpu(void **state) {
  pin_to_one_cpu();
  test_in_runtime(state);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(mix), cmocka_unit_test_prestate(mix_under_load, (void *)mix),
      cmocka_unit_test_prestate(mix_on_one_cpu, (void *)mix), /* last: it stays pinned */
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
