/* SPDX-License-Identifier: Apache-2.0 */
/* Dumps without a pause, by a bound thread and in a signal handler, for MLTP_STRESS_SECONDS (1)
 * in all, while threads of all kinds wait for objects that are gone a moment later: on stacks, from
 * malloc() and in mappings that are taken away, each with its name beside it. A dump may say
 * what is out of date; it must come to its end. Nothing else is checked. Then the same while
 * whole runtimes come and go. */
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "support/support.h"

enum { WORKERS = 9 };

/* What is waited for, and its name. */
struct prop {
  union {
    mltp_lock_t lock;
    mltp_rwlock_t rwlock;
    mltp_sem_t sem;
    mltp_latch_t latch;
    mltp_barrier_t barrier;
    mltp_channel_t *channel;
  };
  char name[24];
};

/* wait() returns once end() was called; that waits for nobody but the waiter. */
struct scene {
  void (*begin)(struct prop *prop);
  mltp_userf_t *wait;
  void (*end)(struct prop *prop);
  void (*destroy)(struct prop *prop);
};

static struct {
  uint64_t end;
  int nowhere;
  atomic_uint next_worker;
  atomic_long waits, dumps;
} world;

/* -------------------------------------------------------------------- scenes */

static void lock_begin(struct prop *prop) {
  mltp_lock_init(&prop->lock, MLTP_LOCK_REACTIVE, prop->name);
  mltp_lock(&prop->lock);
}

static void *lock_wait(void *p0) {
  mltp_lock_t *lock = &((struct prop *)p0)->lock;
  mltp_lock(lock);
  mltp_unlock(lock);
  return NULL;
}

static void lock_end(struct prop *prop) { mltp_unlock(&prop->lock); }
static void lock_destroy(struct prop *prop) { mltp_lock_destroy(&prop->lock); }

static void rwlock_begin(struct prop *prop) {
  mltp_rwlock_init(&prop->rwlock, prop->name);
  mltp_rwlock_wrlock(&prop->rwlock);
}

static void *rwlock_wait(void *p0) {
  mltp_rwlock_t *lock = &((struct prop *)p0)->rwlock;
  mltp_rwlock_rdlock(lock);
  mltp_rwlock_unlock(lock);
  return NULL;
}

static void rwlock_end(struct prop *prop) { mltp_rwlock_unlock(&prop->rwlock); }
static void rwlock_destroy(struct prop *prop) { mltp_rwlock_destroy(&prop->rwlock); }

static void sem_begin(struct prop *prop) { mltp_sem_init(&prop->sem, 0, prop->name); }

static void *sem_wait(void *p0) {
  mltp_sem_wait(&((struct prop *)p0)->sem);
  return NULL;
}

static void sem_end(struct prop *prop) { mltp_sem_post(&prop->sem); }
static void sem_destroy(struct prop *prop) { mltp_sem_destroy(&prop->sem); }

static void latch_begin(struct prop *prop) { mltp_latch_init(&prop->latch, 1, prop->name); }

static void *latch_wait(void *p0) {
  mltp_latch_wait(&((struct prop *)p0)->latch);
  return NULL;
}

static void latch_end(struct prop *prop) { mltp_latch_count_down(&prop->latch, 1); }
static void latch_destroy(struct prop *prop) { mltp_latch_destroy(&prop->latch); }

static void barrier_begin(struct prop *prop) { mltp_barrier_init(&prop->barrier, 2, prop->name); }

static void *barrier_wait(void *p0) {
  mltp_barrier_wait(&((struct prop *)p0)->barrier);
  return NULL;
}

static void barrier_end(struct prop *prop) { mltp_barrier_wait(&prop->barrier); }
static void barrier_destroy(struct prop *prop) { mltp_barrier_destroy(&prop->barrier); }

static void channel_begin(struct prop *prop) {
  prop->channel = new_channel(0, sizeof(int), prop->name);
  CHECK(prop->channel != NULL);
}

static void *channel_wait(void *p0) {
  int number;
  mltp_channel_recv(((struct prop *)p0)->channel, &number);
  return NULL;
}

static void channel_end(struct prop *prop) { mltp_channel_send(prop->channel, &(int){1}); }
static void channel_destroy(struct prop *prop) { mltp_channel_destroy(prop->channel); }

static const struct scene scenes[] = {
    {lock_begin, lock_wait, lock_end, lock_destroy},
    {rwlock_begin, rwlock_wait, rwlock_end, rwlock_destroy},
    {sem_begin, sem_wait, sem_end, sem_destroy},
    {latch_begin, latch_wait, latch_end, latch_destroy},
    {barrier_begin, barrier_wait, barrier_end, barrier_destroy},
    {channel_begin, channel_wait, channel_end, channel_destroy},
};
enum { SCENES = sizeof scenes / sizeof scenes[0] };

/* Half of all ends come at once, the others when the waiter waits, most likely. */
static void play(struct prop *prop, unsigned *random) {
  const struct scene *scene = &scenes[(unsigned)rand_r(random) % SCENES];
  struct worker waiter;
  snprintf(prop->name, sizeof prop->name, "prop %p", (void *)prop);
  scene->begin(prop);
  worker_start(&waiter, rand_r(random) % 4 == 0 ? BOUND : UNBOUND, scene->wait, prop);
  if (rand_r(random) % 2) mltp_sleep((uint64_t)(rand_r(random) % 200000));
  scene->end(prop);
  worker_join(&waiter);
  scene->destroy(prop);
  memset(prop, 1, sizeof *prop); /* no pointer, no name */
  atomic_fetch_add(&world.waits, 1);
}

static void play_on_stack(unsigned *random) {
  struct prop prop;
  play(&prop, random);
}

static void play_in_heap(unsigned *random) {
  struct prop *prop = malloc(sizeof *prop);
  CHECK(prop != NULL);
  if (prop != NULL) play(prop, random);
  free(prop);
}

static void play_in_mapping(unsigned *random) {
  void *page =
      mmap(NULL, sizeof(struct prop), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(page != MAP_FAILED);
  if (page == MAP_FAILED) return;
  play(page, random);
  munmap(page, sizeof(struct prop));
}

static void *act(void *p0) {
  static void (*const places[])(unsigned *) = {play_on_stack, play_in_heap, play_in_mapping};
  unsigned random = atomic_fetch_add(&world.next_worker, 1) * 7919u;
  do places[rand_r(&random) % 3](&random);
  while (mltp_now() < world.end);
  return p0;
}

/* --------------------------------------------------------------------- dumps */

static void *dump(void *p0) {
  do {
    mltp_dump(world.nowhere);
    kill(getpid(), SIGUSR1);
    atomic_fetch_add(&world.dumps, 1);
  } while (mltp_now() < world.end);
  return p0;
}

/* The deadline of a test that gets half of the time. */
static uint64_t half_time(void) {
  const char *seconds = getenv("MLTP_STRESS_SECONDS");
  long ns = (seconds != NULL && *seconds != '\0' ? strtol(seconds, NULL, 10) : 1) * 1000000000;
  return mltp_after((uint64_t)ns / 2);
}

/* cmocka's handlers end the process without a word when another kernel thread crashes. */
static void crash_as_usual(void) {
  signal(SIGSEGV, SIG_DFL);
  signal(SIGBUS, SIG_DFL);
}

static void dump_while_objects_come_and_go(void) {
  struct worker dumper;
  char number[16];
  int standard_error = dup(STDERR_FILENO);
  crash_as_usual();
  snprintf(number, sizeof number, "%d", SIGUSR1);
  setenv("MLTP_DUMP_SIGNAL", number, 1);
  world.end = half_time();
  world.nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  CHECK(standard_error >= 0 && world.nowhere >= 0);
  if (standard_error < 0 || world.nowhere < 0) return;
  dup2(world.nowhere, STDERR_FILENO); /* where the handler writes to */
  CHECK_EQUAL(mltp_init(0), 0);
  worker_start(&dumper, BOUND, dump, NULL);
  workers_run(WORKERS, MIXED, act, NULL);
  worker_join(&dumper);
  CHECK_EQUAL(mltp_finalize(), 0);
  dup2(standard_error, STDERR_FILENO);
  close(standard_error);
  close(world.nowhere);
  unsetenv("MLTP_DUMP_SIGNAL");
  printf("%ld waits, %ld dumps\n", atomic_load(&world.waits), atomic_load(&world.dumps));
}

/* A pthread that is no thread of the library, and outlives its runtimes. */
static void *dump_all_the_time(void *nowhere) {
  while (mltp_now() < world.end) mltp_dump(*(int *)nowhere);
  return NULL;
}

static void dump_while_runtimes_come_and_go(void) {
  int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  pthread_t dumper;
  unsigned random = 1;
  long lives = 0;
  if (THREAD_SANITIZED) skip(); /* it sees mltp_init() clear what the dump reads */
  crash_as_usual();
  world.end = half_time();
  CHECK_EQUAL(pthread_create(&dumper, NULL, dump_all_the_time, &nowhere), 0);
  do {
    CHECK_EQUAL(mltp_init(0), 0);
    play_on_stack(&random);
    CHECK_EQUAL(mltp_finalize(), 0);
    lives++;
  } while (mltp_now() < world.end);
  pthread_join(dumper, NULL);
  close(nowhere);
  printf("%ld lives\n", lives);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST_BARE(dump_while_objects_come_and_go),
      TEST_BARE(dump_while_runtimes_come_and_go),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
