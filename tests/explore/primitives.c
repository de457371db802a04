/* SPDX-License-Identifier: Apache-2.0 */
/* One primitive at a time, with two or three threads and no more steps than its protocol needs:
 * for `mltp explore` to go through all their orders, in checked builds between atomic steps, too.
 * usage: primitives NAME */
#include <errno.h>
#include <mltp/mltp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 3, ROUNDS = 2 };

static int inside, entered, wrong;
static mltp_lock_t lock;
static mltp_sem_t sem;
static mltp_cond_t cond;
static mltp_barrier_t barrier;

/* Ends with a message when all is over and something was not as it should be. */
#define EXPECT(condition)                                                                          \
  do                                                                                               \
    if (!(condition)) {                                                                            \
      fprintf(stderr, "primitives: not so: %s\n", #condition);                                     \
      wrong = 1;                                                                                   \
    }                                                                                              \
  while (0)

static void section(void) {
  EXPECT(inside++ == 0);
  mltp_explore_point();
  entered++;
  inside--;
}

static void *with_lock(void *p0) {
  for (int i = 0; i < ROUNDS; i++) {
    EXPECT(mltp_lock(&lock) == 0);
    section();
    EXPECT(mltp_unlock(&lock) == 0);
  }
  return p0;
}

static void *with_trylock(void *p0) {
  while (mltp_trylock(&lock) != 0) mltp_yield();
  section();
  EXPECT(mltp_unlock(&lock) == 0);
  return with_lock(p0);
}

static void *with_timedlock(void *p0) {
  if (mltp_timedlock(&lock, mltp_after(5000)) == 0) {
    section();
    EXPECT(mltp_unlock(&lock) == 0);
  } else {
    entered++;
  }
  return with_lock(p0);
}

static void *with_sem(void *p0) {
  for (int i = 0; i < ROUNDS; i++) {
    EXPECT(mltp_sem_wait(&sem) == 0);
    section();
    EXPECT(mltp_sem_post(&sem) == 0);
  }
  return p0;
}

static void *with_timed_sem(void *p0) {
  if (mltp_sem_timedwait(&sem, mltp_after(5000)) == 0) {
    section();
    mltp_sem_post(&sem);
  } else {
    entered++;
  }
  return with_sem(p0);
}

static void *with_barrier(void *p0) {
  static int come[ROUNDS];
  for (int i = 0; i < ROUNDS; i++) {
    come[i]++;
    mltp_barrier_wait(&barrier);
    EXPECT(come[i] == THREADS);
  }
  return p0;
}

/* A token that goes round. */
static void *with_cond(void *p0) {
  long me = (long)p0;
  for (int i = 0; i < ROUNDS; i++) {
    mltp_lock(&lock);
    while (entered % THREADS != me) mltp_cond_wait_with(&cond, &lock);
    section();
    mltp_cond_broadcast(&cond);
    mltp_unlock(&lock);
  }
  return p0;
}

/* One that waits may be signalled, and then wait for the lock when its time has come. */
static void *with_timed_cond(void *p0) {
  mltp_lock(&lock);
  if (p0 != NULL) {
    int error = mltp_cond_timedwait(&cond, &lock, mltp_after(8000));
    EXPECT(error == 0 || error == ETIMEDOUT);
  }
  mltp_cond_signal(&cond);
  for (int i = 0; i < 5; i++) mltp_explore_point();
  section();
  mltp_unlock(&lock);
  return p0;
}

static void *sleeper(void *p0) {
  uint64_t until = mltp_after(3000);
  mltp_sleep_until(until);
  EXPECT(mltp_now() >= until);
  return p0;
}

static const struct {
  const char *name;
  mltp_userf_t *func;
  mltp_lock_class_t lock_class;
  int sections; /* of all threads together; 0: it has none */
} cases[] = {
    {"reactive", with_lock, MLTP_LOCK_REACTIVE, THREADS *ROUNDS},
    {"spin", with_lock, MLTP_LOCK_SPIN, THREADS *ROUNDS},
    {"yield-end", with_lock, MLTP_LOCK_YIELD_END, THREADS *ROUNDS},
    {"yield-front", with_lock, MLTP_LOCK_YIELD_FRONT, THREADS *ROUNDS},
    {"semaphore-lock", with_lock, MLTP_LOCK_SEMAPHORE, THREADS *ROUNDS},
    {"try-reactive", with_trylock, MLTP_LOCK_REACTIVE, THREADS *(ROUNDS + 1)},
    {"try-spin", with_trylock, MLTP_LOCK_SPIN, THREADS *(ROUNDS + 1)},
    {"timed-reactive", with_timedlock, MLTP_LOCK_REACTIVE, THREADS *(ROUNDS + 1)},
    {"sem", with_sem, MLTP_LOCK_STANDARD, THREADS *ROUNDS},
    {"timed-sem", with_timed_sem, MLTP_LOCK_STANDARD, THREADS *(ROUNDS + 1)},
    {"barrier", with_barrier, MLTP_LOCK_STANDARD, 0},
    {"cond", with_cond, MLTP_LOCK_STANDARD, THREADS *ROUNDS},
    {"timed-cond", with_timed_cond, MLTP_LOCK_STANDARD, THREADS},
    {"sleep", sleeper, MLTP_LOCK_STANDARD, 0},
};

static int run(size_t i) {
  mltp_t *threads[THREADS];
  if (mltp_init(1) != 0) return 1;
  mltp_lock_init(&lock, cases[i].lock_class, "lock");
  mltp_sem_init(&sem, 1, "sem");
  mltp_barrier_init(&barrier, THREADS, "barrier");
  mltp_cond_init(&cond, "cond");
  for (long t = 0; t < THREADS; t++) threads[t] = mltp_create(cases[i].func, (void *)t);
  for (long t = 0; t < THREADS; t++) {
    void *result = NULL;
    EXPECT(mltp_join(threads[t], &result) == 0 && result == (void *)t);
  }
  EXPECT(entered == cases[i].sections);
  EXPECT(mltp_sem_value(&sem) == 1);
  EXPECT(mltp_lock_destroy(&lock) == 0 && mltp_sem_destroy(&sem) == 0);
  EXPECT(mltp_cond_destroy(&cond) == 0 && mltp_barrier_destroy(&barrier) == 0);
  EXPECT(mltp_finalize() == 0);
  return wrong;
}

int main(int argc, char **argv) {
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    if (argc == 1) puts(cases[i].name);
    if (argc == 2 && strcmp(argv[1], cases[i].name) == 0) return run(i);
  }
  return argc == 1 ? 0 : 2;
}
