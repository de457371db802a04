/* SPDX-License-Identifier: Apache-2.0 */
/* Thread creation, thesis 3.3.1. */
#define _GNU_SOURCE /* gettid */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/support.h"

static void *plus_one(void *p0) { return (void *)((intptr_t)p0 + 1); }

static void mltp_create_runs_the_function(void) {
  for (intptr_t i = 0; i < 100; i++) {
    mltp_t *thread = spawn(plus_one, (void *)i);
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
    threads[i] = spawn(append, &letters[i]);
  }
  CHECK_TEXT(log_text, "");
  mltp_yield();
  CHECK_TEXT(log_text, "ABC");
  for (int i = 0; i < 3; i++) mltp_join(threads[i], NULL);
}

static intptr_t joined(mltp_t *thread) {
  void *result = (void *)-1;
  CHECK(thread != NULL);
  if (thread != NULL) CHECK_EQUAL(mltp_join(thread, &result), 0);
  return (intptr_t)result;
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
  for (int i = 0; i < COUNT; i++) threads[i] = spawn_bound(kernel_thread, &vps[i]);
  for (int i = 0; i < COUNT; i++) {
    ids[i] = joined(threads[i]);
    CHECK_EQUAL(vps[i], -1);
  }
  /* The ids of threads that lived at the same time would differ; none is the caller's. */
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
  for (int i = 0; i < 4; i++) threads[i] = spawn_bound(stay_on_kernel_thread, NULL);
  for (int i = 0; i < 4; i++) CHECK_EQUAL(joined(threads[i]), 0);
}

static void *vp_in_range(void *p0) {
  (void)p0;
  int vp = mltp_vp();
  return (void *)(intptr_t)(vp >= 0 && vp < mltp_vps());
}

static void mltp_create_unbound_runs_on_a_vp(void) {
  if (on_kernel_backend()) return;
  for (int i = 0; i < 20; i++) CHECK_EQUAL(joined(spawn(vp_in_range, NULL)), 1);
  CHECK(vp_in_range(NULL) != NULL);
}

/* --------------------------------------------------------------- attributes */

static atomic_int detached_ran;

static void *count_detached(void *p0) {
  atomic_fetch_add(&detached_ran, 1);
  return p0;
}

static void mltp_create_attributes(void) {
  mltp_t *thread = NULL;
  void *result = NULL;
  CHECK_EQUAL(mltp_create(&thread, NULL, plus_one, (void *)41), 0);
  CHECK_TEXT(mltp_name(thread), "");
  CHECK_EQUAL(mltp_join(thread, &result), 0);
  CHECK_EQUAL((intptr_t)result, 42);

  mltp_attr_t named = MLTP_ATTR_INIT;
  named.name = "washer";
  CHECK_EQUAL(mltp_create(&thread, &named, plus_one, NULL), 0);
  CHECK_TEXT(mltp_name(thread), "washer");
  CHECK_EQUAL(joined(thread), 1);

  mltp_attr_t bound = MLTP_ATTR_INIT;
  bound.bound = 1;
  int vp = 0;
  CHECK_EQUAL(mltp_create(&thread, &bound, kernel_thread, &vp), 0);
  CHECK(joined(thread) > 0);
  CHECK_EQUAL(vp, -1);
}

static void mltp_create_detached(void) {
  mltp_attr_t detached = MLTP_ATTR_INIT;
  detached.detached = 1;
  atomic_store(&detached_ran, 0);
  for (int i = 0; i < 20; i++) {
    mltp_t *thread = NULL;
    detached.bound = i % 4 == 0;
    CHECK_EQUAL(mltp_create(i % 2 ? &thread : NULL, &detached, count_detached, NULL), 0);
  }
  while (atomic_load(&detached_ran) < 20) mltp_yield();
}

static void mltp_create_refuses(void) {
  mltp_t *thread = NULL;
  mltp_attr_t attr = MLTP_ATTR_INIT;
  CHECK_EQUAL(mltp_create(NULL, NULL, plus_one, NULL), EINVAL);
  CHECK_EQUAL(mltp_create(NULL, &attr, plus_one, NULL), EINVAL);
  attr.stack_size = ((size_t)1 << 30) + 1;
  CHECK_EQUAL(mltp_create(&thread, &attr, plus_one, NULL), EINVAL);
  attr.stack_size = SIZE_MAX;
  CHECK_EQUAL(mltp_create(&thread, &attr, plus_one, NULL), EINVAL);
}

/* Attributes of a program that was compiled with a later version. */
static void mltp_create_takes_larger_attributes(void) {
  struct {
    mltp_attr_t known;
    long later;
  } attr = {{.size = sizeof attr, .name = "from the future"}, 0};
  mltp_t *thread = NULL;
  CHECK_EQUAL(mltp_create(&thread, &attr.known, plus_one, (void *)41), 0);
  CHECK_TEXT(mltp_name(thread), "from the future");
  CHECK_EQUAL(joined(thread), 42);
  attr.later = 1; /* it asks for something this version does not have */
  CHECK_EQUAL(mltp_create(&thread, &attr.known, plus_one, NULL), EINVAL);
}

/* No version has more bytes of them, and each that is not known here counts. */
static void mltp_create_knows_the_most_attributes(void) {
  enum { MOST = 4096 };
  union {
    mltp_attr_t known;
    char bytes[MOST + 1];
  } attr = {.known = MLTP_ATTR_INIT};
  mltp_t *thread = NULL;
  setenv("MLTP_MISUSE", "error", 1);
  CHECK_EQUAL(mltp_init(0), 0);
  attr.known.size = MOST;
  CHECK_EQUAL(mltp_create(&thread, &attr.known, plus_one, (void *)41), 0);
  CHECK_EQUAL(joined(thread), 42);
  thread = NULL;
  static const size_t places[] = {sizeof attr.known, MOST - 1};
  for (int i = 0; i < 2; i++) {
    attr.bytes[places[i]] = 1;
    CHECK_EQUAL(mltp_create(&thread, &attr.known, plus_one, NULL), EINVAL);
    attr.bytes[places[i]] = 0;
  }
  static const size_t sizes[] = {MOST + 1, sizeof attr.known - 1, 0};
  for (int i = 0; i < 3; i++) {
    attr.known.size = sizes[i];
    CHECK_EQUAL(mltp_create(&thread, &attr.known, plus_one, NULL), EINVAL);
  }
  CHECK(thread == NULL);
  CHECK_EQUAL(mltp_finalize(), 0);
  unsetenv("MLTP_MISUSE");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(mltp_create_runs_the_function),
      TEST_ONE_VP(mltp_create_queues_at_the_end),
      TEST(mltp_create_bound_has_its_own_kernel_thread),
      TEST(mltp_create_bound_never_moves),
      TEST_UNMONITORED(mltp_create_unbound_runs_on_a_vp),
      TEST(mltp_create_attributes),
      TEST(mltp_create_detached),
      TEST(mltp_create_refuses),
      TEST(mltp_create_takes_larger_attributes),
      TEST_BARE(mltp_create_knows_the_most_attributes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
