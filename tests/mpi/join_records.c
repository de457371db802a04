/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of a rank's pthreads, by which others wait for their ends (src/tmpi/run/joins.c): which
 * pthreads have one, when it is found, and that its last user frees it whatever the order of their
 * ends. One thread plays the creator, the pthread and the joiner.
 */
#include "traced_calls.h"

#include <stdbool.h>

#include "counted_blocks.h"
#include "internal_locks.h"
#include "mltp/mltp.h"
#include "tmpi/run/joins.h"
#include "tmpi/run/process.h"

static const pthread_t first = 1, second = 2;
static bool is_child;

bool tm_process_is_child(void) { return is_child; }

int mltp_sem_init(mltp_sem_t *sem, unsigned value, const char *name) {
  note("init:%d", sem != NULL && value == 0 && name != NULL);
  return 0;
}

int mltp_sem_destroy(mltp_sem_t *sem) {
  note("destroy:%d", sem != NULL);
  return 0;
}

int mltp_sem_post(mltp_sem_t *sem) {
  note("post:%d", sem != NULL);
  return 0;
}

int mltp_sem_wait(mltp_sem_t *sem) {
  note("wait:%d", sem != NULL);
  return 0;
}

static struct tm_join *make(pthread_t thread) {
  struct tm_join *join = tm_join_new(NULL);
  assert_non_null(join);
  tm_join_exists(join, &thread);
  check_trace("init:1 ");
  return join;
}

static int begin(void **state) {
  (void)state;
  blocks = 0;
  trace[0] = '\0';
  return 0;
}

static int end(void **state) {
  (void)state;
  assert_int_equal(blocks, 0);
  assert_int_equal(locked, 0);
  return 0;
}

static struct tm_join *with_state(int detached) {
  pthread_attr_t attr;
  assert_int_equal(pthread_attr_init(&attr), 0);
  assert_int_equal(pthread_attr_setdetachstate(&attr, detached), 0);
  struct tm_join *join = tm_join_new(&attr);
  pthread_attr_destroy(&attr);
  return join;
}

static void which_pthreads_have_a_record(void **state) {
  (void)state;
  assert_null(with_state(PTHREAD_CREATE_DETACHED));
  struct tm_join *join = with_state(PTHREAD_CREATE_JOINABLE);
  assert_non_null(join);
  tm_join_cancel(join); /* the pthread could not be created */
  check_trace("init:1 destroy:1 ");
  memory_is_out = true;
  assert_null(tm_join_new(NULL));
  memory_is_out = false;
  check_trace("");
}

/* A pthread without a record is joined by libc. */
static void no_record_is_needed(void **state) {
  (void)state;
  tm_join_exists(NULL, &first);
  tm_join_created(NULL);
  tm_join_cancel(NULL);
  tm_join_ended(NULL);
  tm_join_wait(NULL);
  tm_join_put_back(NULL);
  tm_join_forget(NULL);
  assert_null(tm_join_take(first));
  check_trace("");
}

static void by_creator(struct tm_join *join) { tm_join_created(join); }
static void by_pthread(struct tm_join *join) { tm_join_ended(join); }

static void by_joiner(struct tm_join *join) {
  assert_ptr_equal(tm_join_take(first), join);
  tm_join_forget(join);
}

/* In each order, the last one frees it. */
static void the_last_user_frees_a_record(void **state) {
  static void (*const users[])(struct tm_join *) = {by_creator, by_pthread, by_joiner};
  (void)state;
  for (int one = 0; one < 3; one++)
    for (int two = 0; two < 3; two++) {
      if (two == one) continue;
      struct tm_join *join = make(first);
      users[one](join);
      users[two](join);
      assert_int_equal(blocks, 1);
      users[3 - one - two](join);
      assert_int_equal(blocks, 0);
      trace[0] = '\0';
    }
}

static void a_joiner_waits_for_the_end(void **state) {
  (void)state;
  struct tm_join *join = make(first);
  tm_join_created(join);
  assert_ptr_equal(tm_join_take(first), join);
  tm_join_wait(join);
  check_trace("wait:1 ");
  tm_join_ended(join);
  check_trace("post:1 ");
  tm_join_forget(join);
  check_trace("destroy:1 ");
}

static void drop(pthread_t thread) {
  struct tm_join *join = tm_join_take(thread);
  assert_non_null(join);
  tm_join_created(join);
  tm_join_ended(join);
  tm_join_forget(join);
  trace[0] = '\0';
}

/* Nobody else finds it meanwhile. */
static void a_record_is_taken_and_put_back(void **state) {
  (void)state;
  struct tm_join *one = make(first), *two = make(second);
  assert_ptr_equal(tm_join_take(first), one);
  assert_null(tm_join_take(first));
  tm_join_put_back(one);
  assert_ptr_equal(tm_join_take(second), two);
  tm_join_put_back(two);
  drop(first);
  drop(second);
  assert_null(tm_join_take(second));
}

/* The pthread says so, and its creator: once is enough. */
static void a_record_is_listed_once(void **state) {
  (void)state;
  struct tm_join *join = make(first);
  tm_join_exists(join, &second);
  assert_null(tm_join_take(second));
  assert_ptr_equal(tm_join_take(first), join);
  assert_null(tm_join_take(first));
  tm_join_put_back(join);
  drop(first);
}

/* libc gives numbers again: the newest pthread has it now. */
static void the_newest_pthread_of_a_number_counts(void **state) {
  (void)state;
  struct tm_join *older = make(first), *newer = make(first);
  assert_ptr_equal(tm_join_take(first), newer);
  tm_join_put_back(newer);
  drop(first);
  assert_ptr_equal(tm_join_take(first), older);
  tm_join_put_back(older);
  drop(first);
}

/* Its parent's pthreads do not exist there. */
static void a_child_of_fork_finds_none(void **state) {
  (void)state;
  make(first);
  is_child = true;
  assert_null(tm_join_take(first));
  is_child = false;
  drop(first);
}

#define JOIN_TEST(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void) {
  const struct CMUnitTest tests[] = {
      JOIN_TEST(which_pthreads_have_a_record),          JOIN_TEST(no_record_is_needed),
      JOIN_TEST(the_last_user_frees_a_record),          JOIN_TEST(a_joiner_waits_for_the_end),
      JOIN_TEST(a_record_is_taken_and_put_back),        JOIN_TEST(a_record_is_listed_once),
      JOIN_TEST(the_newest_pthread_of_a_number_counts), JOIN_TEST(a_child_of_fork_finds_none),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
