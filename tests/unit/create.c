/* SPDX-License-Identifier: Apache-2.0 */
/* Thread creation, thesis 3.3.1, and the end of a thread, 3.3.2. */
#define _GNU_SOURCE /* gettid */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "support/support.h"

static void *plus_one(void *p0) { return (void *)((intptr_t)p0 + 1); }

static void mltp_create_runs_the_function(void) {
  for (intptr_t i = 0; i < 100; i++) {
    mltp_t *thread = mltp_create(plus_one, (void *)i);
    void *result = NULL;
    CHECK(thread != NULL);
    CHECK_EQUAL(mltp_join(thread, &result), 0);
    CHECK_EQUAL((intptr_t)result, i + 1);
  }
}

static char log_text[64];

static void *append(void *p0) {
  strncat(log_text, p0, 1);
  return NULL;
}

/* "placed at the end of the run-queue": so they start in the order of creation, after
 * the creator has let go of the VP. */
static void mltp_create_queues_at_the_end(void) {
  log_text[0] = '\0';
  mltp_t *threads[3];
  char letters[] = "ABC";
  for (int i = 0; i < 3; i++) {
    threads[i] = mltp_create(append, &letters[i]);
  }
  CHECK_TEXT(log_text, "");
  mltp_yield();
  CHECK_TEXT(log_text, "ABC");
  for (int i = 0; i < 3; i++) mltp_join(threads[i], NULL);
}

/* ------------------------------------------------------------ mltp_vcreate */

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

static intptr_t joined(mltp_t *thread) {
  void *result = (void *)-1;
  CHECK(thread != NULL);
  if (thread != NULL) CHECK_EQUAL(mltp_join(thread, &result), 0);
  return (intptr_t)result;
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

/* ------------------------------------------------------------ bound threads */

static void *kernel_thread(void *p0) {
  *(int *)p0 = mltp_vp();
  return (void *)(intptr_t)gettid();
}

static void mltp_create_bound_has_its_own_kernel_thread(void) {
  enum { COUNT = 8 };
  mltp_t *threads[COUNT];
  int vps[COUNT];
  intptr_t ids[COUNT];
  for (int i = 0; i < COUNT; i++) threads[i] = mltp_create_bound(kernel_thread, &vps[i]);
  for (int i = 0; i < COUNT; i++) {
    ids[i] = joined(threads[i]);
    CHECK_EQUAL(vps[i], -1);
  }
  /* The ids of those that lived at the same time would differ; none is the caller's. */
  for (int i = 0; i < COUNT; i++) CHECK(ids[i] != gettid());
}

static void *stay_on_kernel_thread(void *p0) {
  (void)p0;
  pid_t before = gettid();
  intptr_t moves = 0;
  for (int i = 0; i < 50; i++) {
    mltp_yield();
    moves += gettid() != before;
  }
  mltp_sleep(1000000);
  moves += gettid() != before;
  return (void *)moves;
}

static void mltp_create_bound_never_moves(void) {
  mltp_t *threads[4];
  for (int i = 0; i < 4; i++) threads[i] = mltp_create_bound(stay_on_kernel_thread, NULL);
  for (int i = 0; i < 4; i++) CHECK_EQUAL(joined(threads[i]), 0);
}

static void *vp_in_range(void *p0) {
  (void)p0;
  int vp = mltp_vp();
  return (void *)(intptr_t)(vp >= 0 && vp < mltp_vps());
}

static void mltp_create_unbound_runs_on_a_vp(void) {
  if (on_kernel_backend()) return;
  for (int i = 0; i < 20; i++) CHECK_EQUAL(joined(mltp_create(vp_in_range, NULL)), 1);
  CHECK(vp_in_range(NULL) != NULL);
}

/* --------------------------------------------------------------- attributes */

static atomic_int detached_ran;

static void *count_detached(void *p0) {
  atomic_fetch_add(&detached_ran, 1);
  return p0;
}

static void mltp_create_with_attributes(void) {
  mltp_t *thread = NULL;
  void *result = NULL;
  CHECK_EQUAL(mltp_create_with(&thread, NULL, plus_one, (void *)41), 0);
  CHECK_TEXT(mltp_name(thread), "");
  CHECK_EQUAL(mltp_join(thread, &result), 0);
  CHECK_EQUAL((intptr_t)result, 42);

  mltp_attr_t named = MLTP_ATTR_INIT;
  named.name = "washer";
  CHECK_EQUAL(mltp_create_with(&thread, &named, plus_one, NULL), 0);
  CHECK_TEXT(mltp_name(thread), "washer");
  CHECK_EQUAL(joined(thread), 1);

  mltp_attr_t bound = MLTP_ATTR_INIT;
  bound.bound = 1;
  int vp = 0;
  CHECK_EQUAL(mltp_create_with(&thread, &bound, kernel_thread, &vp), 0);
  CHECK(joined(thread) > 0);
  CHECK_EQUAL(vp, -1);
}

static void mltp_create_with_detached(void) {
  mltp_attr_t detached = MLTP_ATTR_INIT;
  detached.detached = 1;
  atomic_store(&detached_ran, 0);
  for (int i = 0; i < 20; i++) {
    mltp_t *thread = NULL;
    detached.bound = i % 4 == 0;
    CHECK_EQUAL(mltp_create_with(i % 2 ? &thread : NULL, &detached, count_detached, NULL), 0);
  }
  while (atomic_load(&detached_ran) < 20) mltp_yield();
}

static void mltp_create_with_refuses(void) {
  mltp_t *thread = NULL;
  mltp_attr_t attr = MLTP_ATTR_INIT;
  CHECK_EQUAL(mltp_create_with(NULL, NULL, plus_one, NULL), EINVAL);
  CHECK_EQUAL(mltp_create_with(NULL, &attr, plus_one, NULL), EINVAL);
  attr.stack_size = ((size_t)1 << 30) + 1;
  CHECK_EQUAL(mltp_create_with(&thread, &attr, plus_one, NULL), EINVAL);
  attr.stack_size = SIZE_MAX;
  CHECK_EQUAL(mltp_create_with(&thread, &attr, plus_one, NULL), EINVAL);
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
  CHECK_EQUAL(joined(mltp_create_bound(abort_and_go_on, (void *)1)), (intptr_t)NULL);
  CHECK_EQUAL(reached, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(mltp_create_runs_the_function),
      TEST_ONE_VP(mltp_create_queues_at_the_end),
      TEST(mltp_vcreate_passes_0_to_12_arguments),
      TEST(mltp_vcreate_passes_mixtures),
      TEST(mltp_vcreate_passes_8_doubles),
      TEST(mltp_vcreate_limits),
      TEST(mltp_create_bound_has_its_own_kernel_thread),
      TEST(mltp_create_bound_never_moves),
      TEST(mltp_create_unbound_runs_on_a_vp),
      TEST(mltp_create_with_attributes),
      TEST(mltp_create_with_detached),
      TEST(mltp_create_with_refuses),
      TEST(mltp_abort_ends_the_thread),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
