/* SPDX-License-Identifier: Apache-2.0 */
/* Time and sleeping. */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "support/support.h"

#define MS 1000000ull

static void mltp_now_is_the_monotonic_clock(void) {
  struct timespec before, after;
  clock_gettime(CLOCK_MONOTONIC, &before);
  uint64_t now = mltp_now();
  clock_gettime(CLOCK_MONOTONIC, &after);
  CHECK(now >= (uint64_t)before.tv_sec * 1000000000 + (uint64_t)before.tv_nsec);
  CHECK(now <= (uint64_t)after.tv_sec * 1000000000 + (uint64_t)after.tv_nsec);
}

static void mltp_after_saturates(void) {
  uint64_t before = mltp_now();
  uint64_t deadline = mltp_after(5 * MS);
  CHECK(deadline >= before + 5 * MS);
  CHECK(deadline <= mltp_now() + 5 * MS);
  CHECK(mltp_after(UINT64_MAX) == MLTP_NEVER);
  CHECK(mltp_after(UINT64_MAX - 1) == MLTP_NEVER);
}

static void *sleep_both_ways(void *p0) {
  (void)p0;
  for (uint64_t ns = 0; ns <= 2 * MS; ns += MS / 2) {
    uint64_t start = mltp_now();
    mltp_sleep(ns);
    CHECK(mltp_now() >= start + ns);
    uint64_t deadline = mltp_after(ns);
    mltp_sleep_until(deadline);
    CHECK(mltp_now() >= deadline);
  }
  mltp_sleep_until(0);
  return NULL;
}

static void mltp_sleep_is_never_early(void) {
  for (int kind = 0; kind < KINDS; kind++) {
    check_case("%s", kind_names[kind]);
    workers_run(3, (enum kind)kind, sleep_both_ways, NULL);
  }
}

enum { SLEEPERS = 40 };

static struct {
  uint64_t start;
  int deadlines[SLEEPERS]; /* in steps, in the order of waking */
  int woken;
  int late; /* how many came when it had begun: a busy machine, the run says nothing */
} dormitory;

static void *sleep_for_steps(void *p0) {
  int steps = (int)(intptr_t)p0;
  dormitory.late += mltp_now() >= dormitory.start;
  mltp_sleep_until(dormitory.start + (uint64_t)steps * MS / 4);
  dormitory.deadlines[dormitory.woken++] = steps;
  return NULL;
}

static void sleep_all(void) {
  mltp_t *threads[SLEEPERS];
  dormitory.woken = 0;
  dormitory.late = 0;
  dormitory.start = mltp_after(SANITIZED ? 1000 * MS : 10 * MS); /* time to get to bed */
  for (int i = 0; i < SLEEPERS; i++) {
    threads[i] = spawn(sleep_for_steps, (void *)(intptr_t)(i * 17 % SLEEPERS));
  }
  for (int i = 0; i < SLEEPERS; i++) mltp_join(threads[i], NULL);
}

static void sleepers_wake_in_the_order_of_their_deadlines(void) {
  do {
    sleep_all();
  } while (dormitory.late > 0);
  CHECK_EQUAL(dormitory.woken, SLEEPERS);
  for (int i = 0; i < SLEEPERS; i++) CHECK_EQUAL(dormitory.deadlines[i], i);
}

static atomic_int steps_done;

static void *count_steps(void *p0) {
  (void)p0;
  for (int i = 0; i < 100; i++) {
    atomic_fetch_add(&steps_done, 1);
    mltp_yield();
  }
  return NULL;
}

/* A sleeper's VP continues with other threads, and a busy VP does not forget a sleeper. */
static void mltp_sleep_leaves_the_vp_to_others(void) {
  atomic_store(&steps_done, 0);
  mltp_t *thread = spawn(count_steps, NULL);
  while (atomic_load(&steps_done) < 100) mltp_sleep(MS);
  mltp_join(thread, NULL);
}

static atomic_int stop_yielding;

static void *yield_for_ever(void *p0) {
  while (!atomic_load(&stop_yielding)) mltp_yield();
  return p0;
}

static void timers_fire_on_busy_vps(void) {
  struct worker workers[12];
  atomic_store(&stop_yielding, 0);
  for (int i = 0; i < 12; i++) worker_start(&workers[i], UNBOUND, yield_for_ever, NULL);
  for (int i = 0; i < 5; i++) mltp_sleep(MS);
  atomic_store(&stop_yielding, 1);
  for (int i = 0; i < 12; i++) worker_join(&workers[i]);
}

static void *sleep_a_little(void *p0) {
  uint64_t deadline = mltp_after((uint64_t)(intptr_t)p0);
  mltp_sleep_until(deadline);
  CHECK(mltp_now() >= deadline);
  return NULL;
}

static void many_sleepers_of_every_kind(void) {
  enum { MANY = 60 };
  struct worker workers[MANY];
  for (int i = 0; i < MANY; i++) {
    worker_start(&workers[i], (enum kind)(i % MIXED), sleep_a_little,
                 (void *)(intptr_t)(i * 7919 % 5000 * 1000));
  }
  for (int i = 0; i < MANY; i++) worker_join(&workers[i]);
}

enum { NAPS = 100 };

static void nap_on_four_vps(void) {
  struct rusage before, after;
  if (mltp_init(4) != 0) _exit(1);
  getrusage(RUSAGE_SELF, &before);
  for (int i = 0; i < NAPS; i++) mltp_sleep(MS);
  getrusage(RUSAGE_SELF, &after);
  fprintf(stderr, "kernel sleeps %ld\n", after.ru_nvcsw - before.ru_nvcsw);
  if (mltp_finalize() != 0) _exit(2);
}

/* How often VPs went to sleep, and how often their kernel threads did: a watchdog that is roused
 * sleeps on. */
struct sleeps {
  unsigned long of_vps, in_kernel;
};

static struct sleeps count_sleeps(void) {
  static struct outcome outcome;
  const char *const settings[] = {"MLTP_STATS=1", "MLTP_BACKEND=native", "MLTP_SCHED=default",
                                  NULL};
  run_child(&outcome, nap_on_four_vps, settings);
  CHECK_EQUAL(outcome.status, 0);
  struct sleeps sleeps = {0, 0};
  unsigned long of_one;
  const char *at = outcome.said;
  while ((at = strstr(at, ", sleeps ")) != NULL) {
    CHECK_EQUAL(sscanf(at++, ", sleeps %lu", &of_one), 1);
    sleeps.of_vps += of_one;
  }
  at = strstr(outcome.said, "kernel sleeps ");
  CHECK(at != NULL && sscanf(at, "kernel sleeps %lu", &sleeps.in_kernel) == 1);
  return sleeps;
}

/* The VP at which a lone timer fires runs its thread, and wakes no other, not even to watch. A VP
 * that loses its CPU looks stuck, and others wake to help: the best of some tries counts. */
static void a_lone_sleeper_wakes_one_vp(void) {
  struct sleeps least = count_sleeps();
  for (int i = 0; i < 40 && (least.of_vps > NAPS * 5 / 4 || least.in_kernel > NAPS * 3 / 2); i++) {
    struct sleeps sleeps = count_sleeps();
    if (sleeps.of_vps < least.of_vps) least.of_vps = sleeps.of_vps;
    if (sleeps.in_kernel < least.in_kernel) least.in_kernel = sleeps.in_kernel;
  }
  print_message("%d naps of a thread, %lu of VPs, %lu of kernel threads\n", NAPS, least.of_vps,
                least.in_kernel);
  CHECK(least.of_vps >= NAPS / 2 && least.of_vps <= NAPS * 5 / 4);
  CHECK(least.in_kernel <= NAPS * 3 / 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      /* first: it forks, and a kernel thread that is ending may hold a lock of the sanitizer */
      TEST_BARE(a_lone_sleeper_wakes_one_vp),
      TEST(mltp_now_is_the_monotonic_clock),
      TEST(mltp_after_saturates),
      TEST(mltp_sleep_is_never_early),
      TEST_ONE_VP(sleepers_wake_in_the_order_of_their_deadlines),
      TEST(mltp_sleep_leaves_the_vp_to_others),
      TEST(timers_fire_on_busy_vps),
      TEST(many_sleepers_of_every_kind),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
