/* SPDX-License-Identifier: Apache-2.0 */
/* The thesis's own names (mltp/thesis.h), and its figures as programs. */
#define _GNU_SOURCE /* gettid */
#include <mltp/thesis.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "support/support.h"

/* ------------------------------------------------------- programs of the thesis */

/* Figure 6: the barrier, with the thesis's own calls only. */
struct thesis_barrier {
  mltp_lock_t lock;
  atomic_int episode; /* volatile in the figure, and read without the lock */
  int waiters;
};

static void thesis_barrier_wait(struct thesis_barrier *barrier, int count) {
  mltp_lock(&(barrier->lock));
  int episode = barrier->episode;
  barrier->waiters++;
  if (barrier->waiters == count) {
    barrier->episode++;
    barrier->waiters = 0;
    mltp_unlock(&(barrier->lock));
  } else {
    mltp_unlock(&(barrier->lock));
    while (episode == barrier->episode) mltp_yield();
  }
}

enum { PARTY = 5, EPISODES = 50 };

static struct thesis_barrier barrier;
static int arrivals[EPISODES]; /* under the barrier's lock */
static atomic_int too_early;

static void *meet_often(void *p0) {
  for (int i = 0; i < EPISODES; i++) {
    mltp_lock(&barrier.lock);
    arrivals[i]++;
    mltp_unlock(&barrier.lock);
    thesis_barrier_wait(&barrier, PARTY);
    mltp_lock(&barrier.lock);
    if (arrivals[i] != PARTY) atomic_fetch_add(&too_early, 1);
    mltp_unlock(&barrier.lock);
  }
  return p0;
}

static void figure_6_is_a_barrier(void) {
  barrier = (struct thesis_barrier){.lock = MLTP_LOCK_INIT};
  memset(arrivals, 0, sizeof arrivals);
  mltp_t *threads[PARTY];
  for (intptr_t i = 0; i < PARTY; i++) threads[i] = mltp_create(meet_often, (void *)i);
  for (intptr_t i = 0; i < PARTY; i++) {
    void *result = NULL;
    CHECK_EQUAL(mltp_join(threads[i], &result), 0);
    CHECK_EQUAL((intptr_t)result, i);
  }
  CHECK_EQUAL(atomic_load(&too_early), 0);
}

/* Figure 5: a yielding lock. */
static int now_serving;
static long in_section;

static void *enter_by_figure_5(void *p0) {
  for (int i = 0; i < 100; i++) {
    while (!mltp_compare_and_swap(0, 1, &(now_serving))) {
      if (p0 == NULL)
        mltp_yield_to_first();
      else
        mltp_yield();
    }
    in_section++;
    mltp_yield();
    CHECK(mltp_compare_and_swap(1, 0, &(now_serving)));
  }
  return NULL;
}

static void figure_5_is_a_lock(void) {
  mltp_t *threads[PARTY];
  in_section = 0;
  for (int i = 0; i < PARTY; i++) threads[i] = mltp_create(enter_by_figure_5, &in_section);
  for (int i = 0; i < PARTY; i++) mltp_join(threads[i], NULL);
  CHECK_EQUAL(in_section, PARTY * 100);
}

/* The wait without a lock: signals again until the waiter has come. */
static mltp_cond_t cond = MLTP_COND_INIT;
static atomic_int woken;

static void *wait_once(void *p0) {
  mltp_cond_wait(&cond);
  atomic_store(&woken, 1);
  return p0;
}

static void mltp_cond_wait_takes_no_lock(void) {
  atomic_store(&woken, 0);
  mltp_t *thread = mltp_create(wait_once, NULL);
  while (!atomic_load(&woken)) {
    mltp_cond_signal(&cond);
    mltp_yield();
  }
  CHECK_EQUAL(mltp_join(thread, NULL), 0);
}

/* ------------------------------------------------------------ mltp_vcreate */

static intptr_t joined(mltp_t *thread) {
  void *result = (void *)-1;
  CHECK(thread != NULL);
  if (thread != NULL) CHECK_EQUAL(mltp_join(thread, &result), 0);
  return (intptr_t)result;
}

#define ARGS_MAX 12

static int ran_with_nothing;

static void *take_nothing(int arg0, ...) {
  (void)arg0;
  ran_with_nothing++;
  return &ran_with_nothing;
}

/* arg0 longs follow, counting up from 1000: the result is how many were right. */
static void *count_right(int arg0, ...) {
  intptr_t right = 0;
  va_list args;
  va_start(args, arg0);
  for (int i = 0; i < arg0; i++) right += va_arg(args, long) == 1000 + i;
  va_end(args);
  return (void *)right;
}

static void mltp_vcreate_passes_0_to_12_arguments(void) {
  ran_with_nothing = 0;
  CHECK_EQUAL(joined(mltp_vcreate(take_nothing, 0)), (intptr_t)&ran_with_nothing);
  CHECK_EQUAL(ran_with_nothing, 1);
  CHECK_EQUAL(joined(mltp_vcreate(count_right, 8, 0)), 0);
  CHECK_EQUAL(joined(mltp_vcreate(count_right, 16, 1, 1000L)), 1);
  CHECK_EQUAL(joined(mltp_vcreate(count_right, 24, 2, 1000L, 1001L)), 2);
  CHECK_EQUAL(joined(mltp_vcreate(count_right, 32, 3, 1000L, 1001L, 1002L)), 3);
  CHECK_EQUAL(joined(mltp_vcreate(count_right, 40, 4, 1000L, 1001L, 1002L, 1003L)), 4);
  CHECK_EQUAL(joined(mltp_vcreate(count_right, 48, 5, 1000L, 1001L, 1002L, 1003L, 1004L)), 5);
  CHECK_EQUAL(joined(mltp_vcreate(count_right, 56, 6, 1000L, 1001L, 1002L, 1003L, 1004L, 1005L)),
              6);
  CHECK_EQUAL(
      joined(mltp_vcreate(count_right, 64, 7, 1000L, 1001L, 1002L, 1003L, 1004L, 1005L, 1006L)), 7);
  CHECK_EQUAL(joined(mltp_vcreate(count_right, 72, 8, 1000L, 1001L, 1002L, 1003L, 1004L, 1005L,
                                  1006L, 1007L)),
              8);
  CHECK_EQUAL(joined(mltp_vcreate(count_right, 80, 9, 1000L, 1001L, 1002L, 1003L, 1004L, 1005L,
                                  1006L, 1007L, 1008L)),
              9);
  CHECK_EQUAL(joined(mltp_vcreate(count_right, 88, 10, 1000L, 1001L, 1002L, 1003L, 1004L, 1005L,
                                  1006L, 1007L, 1008L, 1009L)),
              10);
  CHECK_EQUAL(joined(mltp_vcreate(count_right, 96, 11, 1000L, 1001L, 1002L, 1003L, 1004L, 1005L,
                                  1006L, 1007L, 1008L, 1009L, 1010L)),
              11);
}

static char marker;

/* Integers, pointers and doubles interleaved: they travel in different registers, and
 * the later ones on the stack. */
static void *take_a_mixture(int arg0, ...) {
  va_list args;
  va_start(args, arg0);
  intptr_t right = arg0 == -7;
  right += va_arg(args, void *) == &marker;
  right += va_arg(args, double) == 0.5;
  right += va_arg(args, long) == 1L << 40;
  right += va_arg(args, int) == -2;
  right += va_arg(args, double) == -1e300;
  right += strcmp(va_arg(args, char *), "text") == 0;
  right += va_arg(args, unsigned) == UINT32_MAX;
  right += va_arg(args, double) == 3.25;
  right += va_arg(args, long) == -(1L << 41);
  right += va_arg(args, int) == 11;
  right += va_arg(args, double) == 12.0;
  va_end(args);
  return (void *)right;
}

static void mltp_vcreate_passes_mixtures(void) {
  CHECK_EQUAL(joined(mltp_vcreate(take_a_mixture, ARGS_MAX * 8, -7, (void *)&marker, 0.5, 1L << 40,
                                  -2, -1e300, "text", UINT32_MAX, 3.25, -(1L << 41), 11, 12.0)),
              ARGS_MAX);
}

static void *sum_eight_doubles(int arg0, ...) {
  double sum = 0;
  va_list args;
  va_start(args, arg0);
  for (int i = 0; i < 8; i++) sum = sum * 2 + va_arg(args, double);
  va_end(args);
  return (void *)(intptr_t)sum;
}

static void mltp_vcreate_passes_8_doubles(void) {
  CHECK_EQUAL(
      joined(mltp_vcreate(sum_eight_doubles, 9 * 8, 0, 1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 0.0)),
      0xB2);
}

static void mltp_vcreate_limits(void) {
  CHECK_EQUAL(MLTP_VARGS_MAX, 256);
  CHECK_EQUAL(joined(mltp_vcreate(count_right, MLTP_VARGS_MAX, 31, 1000L, 1001L, 1002L, 1003L,
                                  1004L, 1005L, 1006L, 1007L, 1008L, 1009L, 1010L, 1011L, 1012L,
                                  1013L, 1014L, 1015L, 1016L, 1017L, 1018L, 1019L, 1020L, 1021L,
                                  1022L, 1023L, 1024L, 1025L, 1026L, 1027L, 1028L, 1029L, 1030L)),
              31);
  CHECK(mltp_vcreate(take_nothing, MLTP_VARGS_MAX + 8, 0) == NULL);
  CHECK(mltp_vcreate(take_nothing, -8, 0) == NULL);
}

/* --------------------------------------------------------- mltp_yield_bound */

static atomic_int turn;

static void *ping_pong(void *p0) {
  int me = (int)(intptr_t)p0;
  pid_t kernel_thread = gettid();
  intptr_t moves = 0;
  for (int i = 0; i < 200; i++) {
    while (atomic_load(&turn) != me) mltp_yield_bound();
    moves += gettid() != kernel_thread;
    atomic_store(&turn, 1 - me);
  }
  return (void *)moves;
}

static void mltp_yield_bound_lets_others_run(void) {
  atomic_store(&turn, 0);
  struct worker workers[2];
  worker_start(&workers[0], BOUND, ping_pong, (void *)0);
  worker_start(&workers[1], BOUND, ping_pong, (void *)1);
  for (int i = 0; i < 2; i++) CHECK_EQUAL((intptr_t)worker_join(&workers[i]), 0);
}

/* -------------------------------------------------------------- mltp_abort */

static int reached;

/* Through a pointer, so that the compiler does not know how it ends. */
static void (*volatile end_thread)(void) = mltp_abort;

static __attribute__((noinline)) void abort_deep(int depth) {
  volatile char frame[64];
  frame[0] = (char)depth;
  if (depth == 0) {
    end_thread();
  } else {
    abort_deep(depth - 1);
  }
  reached += 1 | frame[0]; /* not reached, and keeps the frame until here */
}

static void *abort_and_go_on(void *p0) {
  abort_deep(20);
  reached++;
  return p0;
}

static void mltp_abort_ends_the_thread(void) {
  reached = 0;
  for (int i = 0; i < 1000; i++) {
    CHECK_EQUAL(joined(mltp_create(abort_and_go_on, (void *)1)), (intptr_t)NULL);
  }
  CHECK_EQUAL(joined(spawn_bound(abort_and_go_on, (void *)1)), (intptr_t)NULL);
  CHECK_EQUAL(reached, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(figure_5_is_a_lock),           TEST(figure_6_is_a_barrier),
      TEST(mltp_cond_wait_takes_no_lock), TEST(mltp_vcreate_passes_0_to_12_arguments),
      TEST(mltp_vcreate_passes_mixtures), TEST(mltp_vcreate_passes_8_doubles),
      TEST(mltp_vcreate_limits),          TEST(mltp_yield_bound_lets_others_run),
      TEST(mltp_abort_ends_the_thread),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
