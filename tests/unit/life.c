/* SPDX-License-Identifier: Apache-2.0 */
/* The runtime's life: start, orderly shutdown, start again. */
#define _GNU_SOURCE /* gettid */
#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <mltp/thesis.h>

#include "support/support.h"
#undef mltp_create /* here with mltp.h's meaning */

static atomic_int ended;

static void *yield_and_end(void *p0) {
  for (int i = 0; i < 10; i++) mltp_yield();
  atomic_fetch_add(&ended, 1);
  return p0;
}

static void start_detached(int bound) {
  mltp_attr_t attr = MLTP_ATTR_INIT;
  attr.detached = 1;
  attr.bound = bound;
  CHECK_EQUAL(mltp_create(NULL, &attr, yield_and_end, NULL), 0);
}

static void mltp_init_and_finalize_repeated(void) {
  for (int i = 0; i < 50; i++) {
    atomic_store(&ended, 0);
    CHECK_EQUAL(mltp_init(i % 3), 0); /* 0: the environment's number */
    for (int n = 0; n < 4; n++) start_detached(n == 3);
    CHECK_EQUAL(mltp_finalize(), 0);
    CHECK_EQUAL(atomic_load(&ended), 4);
  }
}

static void mltp_init_twice(void) {
  CHECK_EQUAL(mltp_init(0), 0);
  CHECK_EQUAL(mltp_init(0), EALREADY);
  CHECK_EQUAL(mltp_finalize(), 0);
}

static void mltp_init_takes_the_number_of_vps(void) {
  CHECK_EQUAL(mltp_init(3), 0);
  CHECK_EQUAL(mltp_vps(), 3);
  CHECK_EQUAL(mltp_finalize(), 0);
}

static void *finalize_elsewhere(void *p0) {
  (void)p0;
  return (void *)(intptr_t)mltp_finalize();
}

static void mltp_finalize_is_for_the_main_thread(void) {
  for (int kind = 0; kind < MIXED; kind++) {
    struct worker worker;
    check_case("%s", kind_names[kind]);
    worker_start(&worker, (enum kind)kind, finalize_elsewhere, NULL);
    CHECK_EQUAL((intptr_t)worker_join(&worker), EPERM);
  }
}

static void mltp_finalize_without_a_runtime(void) {
  CHECK_EQUAL(mltp_finalize(), EINVAL);
  CHECK_EQUAL(mltp_init(0), 0);
  CHECK_EQUAL(mltp_finalize(), 0);
  CHECK_EQUAL(mltp_finalize(), EINVAL);
}

static void *sleep_and_end(void *p0) {
  mltp_sleep(5000000);
  return yield_and_end(p0);
}

static void *start_a_successor(void *p0) {
  start_detached(0);
  return yield_and_end(p0);
}

/* Detached, joinable and joined by nobody, asleep, starting others: all end first. */
static void mltp_finalize_waits_for_everyone(void) {
  atomic_store(&ended, 0);
  CHECK_EQUAL(mltp_init(0), 0);
  for (int i = 0; i < 8; i++) start_detached(i % 2);
  for (int i = 0; i < 8; i++) CHECK(spawn(yield_and_end, NULL) != NULL);
  for (int i = 0; i < 4; i++) CHECK(spawn_bound(sleep_and_end, NULL) != NULL);
  for (int i = 0; i < 4; i++) CHECK(spawn(sleep_and_end, NULL) != NULL);
  for (int i = 0; i < 4; i++) CHECK(spawn(start_a_successor, NULL) != NULL);
  CHECK_EQUAL(mltp_finalize(), 0);
  CHECK_EQUAL(atomic_load(&ended), 32);
}

static void mltp_finalize_returns_to_the_first_kernel_thread(void) {
  pid_t before = gettid();
  for (int i = 0; i < 10; i++) {
    CHECK_EQUAL(mltp_init(0), 0);
    for (int n = 0; n < 20; n++) {
      start_detached(0);
      mltp_yield();
    }
    CHECK_EQUAL(mltp_finalize(), 0);
    CHECK_EQUAL(gettid(), before);
  }
}

static void main_is_a_thread_of_the_runtime(void) {
  mltp_t *self = mltp_self();
  CHECK(self != NULL);
  CHECK(mltp_self() == self);
  if (!on_kernel_backend()) CHECK(mltp_vp() >= 0);
  mltp_sem_t sem = MLTP_SEM_INIT(0);
  CHECK_EQUAL(mltp_sem_wait_timed(&sem, mltp_after(1000000)), ETIMEDOUT);
  CHECK_EQUAL(mltp_sem_destroy(&sem), 0);
  CHECK(mltp_self() == self);
}

static void *start_runtime(void *p0) {
  *(int *)p0 = mltp_init(0);
  if (*(int *)p0 == 0) *(int *)p0 = mltp_finalize();
  return NULL;
}

/* "normally the process's first thread", but any will do */
static void mltp_init_from_another_pthread(void) {
  pthread_t other;
  int error = -1;
  CHECK_EQUAL(pthread_create(&other, NULL, start_runtime, &error), 0);
  pthread_join(other, NULL);
  CHECK_EQUAL(error, 0);
}

/* ------------------------------------------- foreign threads outlive the runtime */

struct guest {
  pthread_barrier_t visit; /* pthreads': not part of any runtime */
  mltp_lock_t lock;
  mltp_sem_t came;
  int visits;
};

enum { VISITS = 5 };

static void *visit_each_runtime(void *p0) {
  struct guest *guest = p0;
  for (int i = 0; i < VISITS; i++) {
    pthread_barrier_wait(&guest->visit); /* a runtime is up */
    mltp_lock(&guest->lock);
    guest->visits++;
    mltp_unlock(&guest->lock);
    mltp_sem_post(&guest->came);
    pthread_barrier_wait(&guest->visit); /* and may go down */
  }
  return NULL;
}

static void foreign_threads_visit_one_runtime_after_another(void) {
  struct guest guest = {.lock = MLTP_LOCK_INIT, .came = MLTP_SEM_INIT(0)};
  pthread_t foreign;
  pthread_barrier_init(&guest.visit, NULL, 2);
  CHECK_EQUAL(pthread_create(&foreign, NULL, visit_each_runtime, &guest), 0);
  for (int i = 0; i < VISITS; i++) {
    CHECK_EQUAL(mltp_init(0), 0);
    pthread_barrier_wait(&guest.visit);
    mltp_sem_wait(&guest.came);
    pthread_barrier_wait(&guest.visit);
    CHECK_EQUAL(mltp_finalize(), 0);
  }
  pthread_join(foreign, NULL);
  pthread_barrier_destroy(&guest.visit);
  CHECK_EQUAL(guest.visits, VISITS);
}

/* ------------------------------------------- several want to start it */

enum { STARTERS = 4, STARTS = 50 };

static struct start {
  pthread_barrier_t all;
  mltp_sem_t used;
  atomic_int first, later, wrong;
} starts;

/* The others may use the runtime at once. */
static void *start_or_visit(void *p0) {
  pthread_barrier_wait(&starts.all);
  int error = mltp_init(2);
  if (error == 0) {
    for (int i = 1; i < STARTERS; i++) mltp_sem_wait(&starts.used);
    pthread_barrier_wait(&starts.all); /* the others have returned from their last call */
    atomic_fetch_add(&starts.first, 1);
    if (mltp_finalize() != 0) atomic_fetch_add(&starts.wrong, 1);
  } else if (error == EALREADY) {
    mltp_t *thread;
    if (mltp_create(&thread, NULL, yield_and_end, NULL) != 0 || mltp_join(thread, NULL) != 0)
      atomic_fetch_add(&starts.wrong, 1);
    atomic_fetch_add(&starts.later, 1);
    mltp_sem_post(&starts.used);
    pthread_barrier_wait(&starts.all);
  } else {
    atomic_fetch_add(&starts.wrong, 1);
    pthread_barrier_wait(&starts.all);
  }
  return p0;
}

static void mltp_init_of_several_kernel_threads_at_once(void) {
  pthread_t threads[STARTERS];
  mltp_sem_init(&starts.used, 0, "used");
  pthread_barrier_init(&starts.all, NULL, STARTERS);
  for (int i = 0; i < STARTS; i++) {
    for (int k = 0; k < STARTERS; k++)
      CHECK_EQUAL(pthread_create(&threads[k], NULL, start_or_visit, NULL), 0);
    for (int k = 0; k < STARTERS; k++) pthread_join(threads[k], NULL);
  }
  pthread_barrier_destroy(&starts.all);
  CHECK_EQUAL(starts.wrong, 0);
  CHECK_EQUAL(starts.first, STARTS);
  CHECK_EQUAL(starts.later, STARTS * (STARTERS - 1));
}

/* ------------------------------------------------- the main thread's mltp_exit */

static atomic_int *ended_in_child;

static void *end_in_child(void *p0) {
  mltp_sleep(2000000);
  for (int i = 0; i < 5; i++) mltp_yield();
  atomic_fetch_add(ended_in_child, 1);
  return p0;
}

static void exit_main_early(void) {
  mltp_init(0);
  for (int i = 0; i < 10; i++) {
    mltp_attr_t attr = MLTP_ATTR_INIT;
    attr.detached = i % 2;
    attr.bound = i % 3 == 0;
    mltp_t *thread;
    mltp_create(&thread, &attr, end_in_child, NULL);
  }
  mltp_exit((void *)7);
}

static void abort_main_early(void) {
  mltp_init(0);
  spawn(end_in_child, NULL);
  mltp_abort();
}

static void check_main_exit(void (*body)(void), int threads) {
  static const char *const no_settings[] = {NULL};
  static struct outcome outcome;
  ended_in_child = shared_memory(sizeof *ended_in_child);
  run_child(&outcome, body, no_settings);
  assert_true(WIFEXITED(outcome.status));
  assert_int_equal(WEXITSTATUS(outcome.status), 0);
  assert_int_equal(atomic_load(ended_in_child), threads);
}

static void mltp_exit_in_main_waits_for_all(void) { check_main_exit(exit_main_early, 10); }

static void mltp_abort_in_main_waits_for_all(void) { check_main_exit(abort_main_early, 1); }

/* ---- a child of the test gets no lock of AddressSanitizer's that an ending kernel thread holds */

enum { ENDING = 16, ROUNDS = SANITIZED ? 20 : 2, BLOCKS = 64, LARGEST = 8192 };

/* The more a kernel thread has freed, the longer it takes to end. */
static void *allocate(void *p0) {
  for (size_t size = 16; size <= LARGEST; size *= 2) {
    void *volatile blocks[BLOCKS];
    for (int i = 0; i < BLOCKS; i++) blocks[i] = malloc(size);
    for (int i = 0; i < BLOCKS; i++) free(blocks[i]);
  }
  return p0;
}

static void allocate_in_child(void) { allocate(NULL); }

static void run_child_after_bound_threads(void) {
  static const char *const no_settings[] = {NULL};
  static struct outcome outcome;
  for (int round = 0; round < ROUNDS; round++) {
    mltp_t *threads[ENDING];
    CHECK_EQUAL(mltp_init(0), 0);
    for (int i = 0; i < ENDING; i++) threads[i] = spawn_bound(allocate, NULL);
    for (int i = 0; i < ENDING; i++) CHECK_EQUAL(mltp_join(threads[i], NULL), 0);
    CHECK_EQUAL(mltp_finalize(), 0);
    run_child(&outcome, allocate_in_child, no_settings);
    CHECK_EQUAL(outcome.status, 0);
  }
}

/* VPs, with all that they keep, and objects on the heap. A sanitizer's allocator counts nothing. */
static void mltp_finalize_gives_memory_back(void) {
  enum { VPS = 8, WARM_UP = 5, LIVES = 40, MOST = 2048 /* bytes a life, of less than a VP has */ };
  const int lives = SANITIZED ? 1 : LIVES;
  size_t before = 0;
  for (int i = 0; i < WARM_UP + lives; i++) {
    if (i == WARM_UP) before = mallinfo2().uordblks;
    CHECK_EQUAL(mltp_init(VPS), 0);
    mltp_channel_t *channel = new_channel(1, MOST, "large");
    CHECK_EQUAL(mltp_channel_destroy(channel), 0);
    CHECK_EQUAL(mltp_finalize(), 0);
  }
  size_t after = mallinfo2().uordblks;
  CHECK(after < before + (size_t)lives * MOST);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST_BARE(mltp_init_and_finalize_repeated),
      TEST_BARE(mltp_init_twice),
      TEST_BARE(mltp_finalize_gives_memory_back),
      TEST_BARE(mltp_init_takes_the_number_of_vps),
      TEST(mltp_finalize_is_for_the_main_thread),
      TEST_BARE(mltp_finalize_without_a_runtime),
      TEST_BARE(mltp_finalize_waits_for_everyone),
      TEST_BARE(mltp_finalize_returns_to_the_first_kernel_thread),
      TEST(main_is_a_thread_of_the_runtime),
      TEST_BARE(mltp_init_from_another_pthread),
      TEST_BARE(foreign_threads_visit_one_runtime_after_another),
      TEST_BARE(mltp_init_of_several_kernel_threads_at_once),
      TEST_BARE(mltp_exit_in_main_waits_for_all),
      TEST_BARE(mltp_abort_in_main_waits_for_all),
      TEST_BARE(run_child_after_bound_threads),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
