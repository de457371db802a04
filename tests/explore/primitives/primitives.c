/* SPDX-License-Identifier: Apache-2.0 */
/* One primitive at a time, with two or three threads and no more steps than its protocol needs:
 * for `mltp explore` to go through all their orders, in checked builds between atomic steps, too.
 * usage: primitives NAME */
#include "primitives.h"

#include <mltp/alternatives.h>
#include <stdio.h>
#include <string.h>

enum { ANY = -1 };

static int inside, wrong;
int entered;
mltp_lock_t lock;
mltp_rwlock_t rwlock;
mltp_sem_t sem;
mltp_cond_t cond;
mltp_barrier_t barrier;
mltp_latch_t latch, second;
mltp_waitgroup_t group;
mltp_channel_t *channels[CHANNELS];

void expect(int holds, const char *what) {
  if (holds) return;
  fprintf(stderr, "primitives: not so: %s\n", what);
  wrong = 1;
}

void section(void) {
  EXPECT(inside++ == 0);
  mltp_explore_point();
  entered++;
  inside--;
}

static const struct {
  const char *name;
  mltp_userf_t *func;
  mltp_lock_class_t lock_class;
  int sections; /* of all threads together; ANY: that depends on their order */
} cases[] = {
    {"reactive", with_lock, MLTP_LOCK_REACTIVE, THREADS *ROUNDS},
    {"spin", with_lock, MLTP_LOCK_SPIN, THREADS *ROUNDS},
    {"yield-end", with_lock, MLTP_LOCK_ALT_YIELD_END, THREADS *ROUNDS},
    {"yield-front", with_lock, MLTP_LOCK_ALT_YIELD_FRONT, THREADS *ROUNDS},
    {"semaphore-lock", with_lock, MLTP_LOCK_SEMAPHORE, THREADS *ROUNDS},
    {"queue", with_lock, MLTP_LOCK_QUEUE, THREADS *ROUNDS},
    {"exchange", with_lock, MLTP_LOCK_ALT_EXCHANGE, THREADS *ROUNDS},
    {"read", with_lock, MLTP_LOCK_ALT_READ, THREADS *ROUNDS},
    {"backoff", with_lock, MLTP_LOCK_ALT_BACKOFF, THREADS *ROUNDS},
    {"persistent", with_lock, MLTP_LOCK_ALT_PERSISTENT, THREADS *ROUNDS},
    {"array", with_lock, MLTP_LOCK_ALT_ARRAY, THREADS *ROUNDS},
    {"mcs", with_lock, MLTP_LOCK_ALT_MCS, THREADS *ROUNDS},
    {"clh", with_lock, MLTP_LOCK_ALT_CLH, THREADS *ROUNDS},
    {"try-reactive", with_trylock, MLTP_LOCK_REACTIVE, THREADS *(ROUNDS + 1)},
    {"try-spin", with_trylock, MLTP_LOCK_SPIN, THREADS *(ROUNDS + 1)},
    {"try-queue", with_trylock, MLTP_LOCK_QUEUE, THREADS *(ROUNDS + 1)},
    {"timed-reactive", with_timedlock, MLTP_LOCK_REACTIVE, THREADS *(ROUNDS + 1)},
    {"timed-queue", with_timedlock, MLTP_LOCK_QUEUE, THREADS *(ROUNDS + 1)},
    {"try-mcs", with_trylock, MLTP_LOCK_ALT_MCS, THREADS *(ROUNDS + 1)},
    {"timed-array", with_timedlock, MLTP_LOCK_ALT_ARRAY, THREADS *(ROUNDS + 1)},
    {"timed-mcs", with_timedlock, MLTP_LOCK_ALT_MCS, THREADS *(ROUNDS + 1)},
    {"timed-clh", with_timedlock, MLTP_LOCK_ALT_CLH, THREADS *(ROUNDS + 1)},
    {"rwlock", with_rwlock, MLTP_LOCK_STANDARD, 2 * THREADS},
    {"timed-rwlock", with_timed_rwlock, MLTP_LOCK_STANDARD, ANY},
    {"sem", with_sem, MLTP_LOCK_STANDARD, THREADS *ROUNDS},
    {"timed-sem", with_timed_sem, MLTP_LOCK_STANDARD, THREADS *(ROUNDS + 1)},
    {"barrier", with_barrier, MLTP_LOCK_STANDARD, 0},
    {"cond", with_cond, MLTP_LOCK_STANDARD, THREADS *ROUNDS},
    {"timed-cond", with_timed_cond, MLTP_LOCK_STANDARD, THREADS},
    {"latch", with_latch, MLTP_LOCK_STANDARD, 0},
    {"timed-latch", with_timed_latch, MLTP_LOCK_STANDARD, 0},
    {"waitgroup", with_waitgroup, MLTP_LOCK_STANDARD, 0},
    {"once", with_once, MLTP_LOCK_STANDARD, 2},
    {"once-left", with_once_left, MLTP_LOCK_STANDARD, 2},
    {"channel", with_channel, MLTP_LOCK_STANDARD, 0},
    {"buffer", with_buffer, MLTP_LOCK_STANDARD, 0},
    {"timed-channel", with_timed_channel, MLTP_LOCK_STANDARD, 0},
    {"close", with_close, MLTP_LOCK_STANDARD, 0},
    {"select", with_select, MLTP_LOCK_STANDARD, 0},
    {"two-selects", with_two_selects, MLTP_LOCK_STANDARD, 0},
    {"await", with_await, MLTP_LOCK_STANDARD, THREADS *ROUNDS},
    {"timed-await", with_timed_await, MLTP_LOCK_STANDARD, 0},
    {"sleep", with_sleep, MLTP_LOCK_STANDARD, 0},
};

static void make_all(mltp_lock_class_t lock_class) {
  mltp_lock_init(&lock, lock_class, "lock");
  mltp_rwlock_init(&rwlock, "rwlock");
  mltp_sem_init(&sem, 1, "sem");
  mltp_barrier_init(&barrier, THREADS, "barrier");
  mltp_cond_init(&cond, "cond");
  mltp_latch_init(&latch, THREADS, "latch");
  mltp_latch_init(&second, THREADS, "second latch");
  mltp_waitgroup_init(&group, "group");
  mltp_waitgroup_add(&group, THREADS);
  for (int i = 0; i < CHANNELS; i++)
    EXPECT(mltp_channel_create(&channels[i], (size_t)i, sizeof(long), "channel") == 0);
}

static void end_all(void) {
  EXPECT(mltp_sem_value(&sem) == 1);
  EXPECT(mltp_lock_destroy(&lock) == 0 && mltp_rwlock_destroy(&rwlock) == 0);
  EXPECT(mltp_sem_destroy(&sem) == 0 && mltp_cond_destroy(&cond) == 0);
  EXPECT(mltp_barrier_destroy(&barrier) == 0 && mltp_latch_destroy(&latch) == 0);
  EXPECT(mltp_latch_destroy(&second) == 0 && mltp_waitgroup_destroy(&group) == 0);
  for (int i = 0; i < CHANNELS; i++)
    EXPECT(mltp_channel_length(channels[i]) == 0 && mltp_channel_destroy(channels[i]) == 0);
}

static int run(size_t i) {
  mltp_t *threads[THREADS];
  if (mltp_init(1) != 0) return 1;
  make_all(cases[i].lock_class);
  for (long t = 0; t < THREADS; t++)
    EXPECT(mltp_create(&threads[t], NULL, cases[i].func, (void *)t) == 0);
  for (long t = 0; t < THREADS; t++) {
    void *result = NULL;
    EXPECT(mltp_join(threads[t], &result) == 0 && result == (void *)t);
  }
  EXPECT(cases[i].sections == ANY || entered == cases[i].sections);
  end_all();
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
