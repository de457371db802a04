/* SPDX-License-Identifier: Apache-2.0 */
/* Everything at once, in random order, for MLTP_STRESS_SECONDS (1) per test: runtimes start,
 * workers of every kind do the operations of the table below, runtimes end and leave nothing
 * behind. A run prints its seed; MLTP_STRESS_SEED repeats its choices, though not its timing.
 * MLTP_STRESS_CASE names the one test to run. tests/stress/run.py runs many configurations. */
#define _GNU_SOURCE /* gettid() */
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "ops/ops.h"

static const struct operation *const operations[] = {
    &op_lock,  &op_sem,    &op_tokens,  &op_meet,   &op_crowd, &op_create, &op_pthread,
    &op_yield, &op_sleep,  &op_timeout, &op_resize, &op_block, &op_dump,   &op_channel,
    &op_pipe,  &op_rwlock, &op_tasks,   &op_cancel, &op_key,   &op_await,
};
enum { OPERATIONS = sizeof operations / sizeof operations[0], WORKERS_MOST = 40 };

static struct {
  unsigned seed;
  uint64_t end; /* of the life */
  atomic_uint next_worker;
  atomic_long done[OPERATIONS];
} world;

unsigned life_seed(void) { return world.seed; }

/* ------------------------------------------------------------------- workers */

static void act(unsigned *random, int leaves_only) {
  unsigned weights = 0;
  for (int i = 0; i < OPERATIONS; i++) {
    if (operations[i]->leaf || !leaves_only) weights += operations[i]->weight;
  }
  unsigned at = pick(random, weights);
  for (int i = 0; i < OPERATIONS; i++) {
    if (!operations[i]->leaf && leaves_only) continue;
    if (at < operations[i]->weight) {
      operations[i]->act(random);
      atomic_fetch_add_explicit(&world.done[i], 1, memory_order_relaxed);
      return;
    }
    at -= operations[i]->weight;
  }
}

void act_as_leaf(unsigned *random) { act(random, 1); }

static void *work(void *p0) {
  unsigned random = world.seed + atomic_fetch_add(&world.next_worker, 1) * 7919u;
  do act(&random, 0);
  while (mltp_now() < world.end);
  return p0;
}

/* --------------------------------------------------------------------- lives */

/* What a process must not lose, life after life. */
struct belongings {
  long kernel_threads, files, pages;
};

static long entries(const char *folder) {
  long count = 0;
  DIR *dir = opendir(folder);
  CHECK(dir != NULL);
  if (dir == NULL) return 0;
  while (readdir(dir) != NULL) count++;
  closedir(dir);
  return count;
}

static void *end_at_once(void *p0) { return p0; }

/* ThreadSanitizer starts a kernel thread of its own at the program's first. */
static void start_helpers(void) {
  pthread_t thread;
  CHECK_EQUAL(pthread_create(&thread, NULL, end_at_once, NULL), 0);
  CHECK_EQUAL(pthread_join(thread, NULL), 0);
}

static struct belongings belongings(void) {
  struct belongings b = {entries("/proc/self/task"), entries("/proc/self/fd"), 0};
  FILE *statm = fopen("/proc/self/statm", "re");
  CHECK(statm != NULL && fscanf(statm, "%*d %ld", &b.pages) == 1);
  if (statm != NULL) fclose(statm);
  return b;
}

/* Detached kernel threads need a moment to go once they have let go of the runtime. */
static void check_belongings(const struct belongings *before) {
  struct belongings now = belongings();
  while (now.kernel_threads > before->kernel_threads) {
    usleep(1000);
    now = belongings();
  }
  CHECK_EQUAL(now.files, before->files);
  /* libc keeps some stacks and heaps of threads that ended */
  if (!SANITIZED) CHECK(now.pages <= before->pages + (64 << 20) / sysconf(_SC_PAGESIZE));
}

static void live(unsigned seed) {
  unsigned random = seed;
  world.seed = seed;
  world.end = mltp_after(50000000 + (uint64_t)pick(&random, 1000) * 1000000);
  atomic_store(&world.next_worker, 0);
  int workers = 4 + (int)pick(&random, WORKERS_MOST - 4);
  enum kind kind = one_in(&random, 2) ? MIXED : (enum kind)pick(&random, MIXED);

  CHECK_EQUAL(mltp_init(0), 0);
  for (int i = 0; i < OPERATIONS; i++) {
    if (operations[i]->begin != NULL) operations[i]->begin();
  }
  workers_run(workers, kind, work, NULL);
  wait_for_children();
  for (int i = 0; i < OPERATIONS; i++) {
    if (operations[i]->end != NULL) operations[i]->end();
  }
  CHECK_EQUAL(mltp_finalize(), 0);
  CHECK_EQUAL(gettid(), getpid()); /* main is back on its kernel thread */
}

/* On a busy machine a life may be over before its workers have had the CPU. */
static int all_done(void) {
  for (int i = 0; i < OPERATIONS; i++) {
    if (atomic_load(&world.done[i]) == 0) return 0;
  }
  return 1;
}

static long environment_number(const char *name, long standard) {
  const char *text = getenv(name);
  return text != NULL && *text != '\0' ? strtol(text, NULL, 10) : standard;
}

static void mix(void) {
  unsigned seed = (unsigned)environment_number("MLTP_STRESS_SEED", time(NULL));
  printf("MLTP_STRESS_SEED=%u\n", seed);
  fflush(stdout);
  for (int i = 0; i < OPERATIONS; i++) atomic_store(&world.done[i], 0);
  uint64_t end = mltp_after((uint64_t)environment_number("MLTP_STRESS_SECONDS", 1) * 1000000000);
  /* cmocka's handlers end the process without a word when another kernel thread crashes */
  signal(SIGSEGV, SIG_DFL);
  signal(SIGBUS, SIG_DFL);
  start_helpers();
  struct belongings before = belongings();
  int lives = 0;
  do live(seed + 104729u * (unsigned)lives++);
  while (mltp_now() < end || !all_done());
  check_belongings(&before);

  printf("%d lives:", lives);
  for (int i = 0; i < OPERATIONS; i++)
    printf(" %s %ld", operations[i]->name, atomic_load(&world.done[i]));
  printf("\n");
}

/* --------------------------------------------------------------------- tests */

/* Busy processes take time slices away from VPs, at any place of the code. */
static void mix_under_load(void **state) {
  pid_t pids[4];
  load_start(pids, 4);
  test_bare(state);
  load_stop(pids, 4);
}

/* All VPs, lock holders and spinning waiters among them, share one CPU. */
static void mix_on_one_cpu(void **state) {
  pin_to_one_cpu();
  test_bare(state);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST_BARE(mix), cmocka_unit_test_prestate(mix_under_load, (void *)mix),
      cmocka_unit_test_prestate(mix_on_one_cpu, (void *)mix), /* last: it stays pinned */
  };
  const char *one = getenv("MLTP_STRESS_CASE");
  if (one != NULL && *one != '\0') cmocka_set_test_filter(one);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
