/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose turn it is to run a program's code (src/tmpi/rank/user_code.c), step by step: the token of
 * a rank below MPI_THREAD_SERIALIZED. One thread plays the main thread and threads of the library.
 */
#include <mltp/mltp.h>

#include "core/internal/park.h"
#include "core/internal/thread.h"
#include "internal_locks.h"
#include "tmpi/rank/user_code.h"
#include "traced_calls.h"

/* ---- what is around it */

static char threads[4];                  /* their addresses stand for them */
static int caller;                       /* the number of the calling thread */
static void (*while_it_is_parked)(void); /* what other threads do; NULL: a thread must not park */
static struct tm_rank rank;

static struct mltp_thread *thread(int number) { return (void *)&threads[number]; }

struct mltp_thread *mti_self(const char *call) {
  assert_non_null(call);
  return thread(caller);
}

mltp_t *mltp_self(void) { return thread(caller); }

void mti_park_unlock(uint32_t *lock, const char *text) {
  void (*others)(void) = while_it_is_parked;
  int parked = caller;
  assert_string_equal(text, "its turn to run the program's code");
  mti_unlock(lock);
  note("park-%d", caller);
  assert_non_null(others);
  while_it_is_parked = NULL;
  others();
  caller = parked;
}

void mti_resume(struct mltp_thread *t) {
  assert_int_equal(locked, 0);
  note("resume-%d", (int)((char *)t - threads));
}

static int start(void **state) {
  (void)state;
  memset(&rank, 0, sizeof rank);
  rank.thread = thread(0);
  rank.thread_level = MPI_THREAD_FUNNELED;
  only_lock = &rank.token.ilock;
  caller = 0;
  while_it_is_parked = NULL;
  trace[0] = '\0';
  return 0;
}

/* ---- the token */

static void give(void) { tm_user_code_give(&rank); }

static void test_a_token_that_is_lent_is_taken_at_once(void **state) {
  (void)state;
  give();
  caller = 1;
  tm_user_code_take(&rank);
  check_trace("");
  while_it_is_parked = give; /* it is nobody's any more */
  caller = 2;
  tm_user_code_take(&rank);
  check_trace("park-2 resume-2 ");
}

static void give_and_take(void) {
  give();
  caller = 2;
  while_it_is_parked = give;
  tm_user_code_take(&rank);
}

/* The token goes from hand to hand: a third thread does not overtake. */
static void test_a_waiter_gets_the_token_itself(void **state) {
  (void)state;
  caller = 1;
  while_it_is_parked = give_and_take;
  tm_user_code_take(&rank);
  check_trace("park-1 resume-1 park-2 resume-2 ");
}

static void give_to_three(void) {
  for (int i = 0; i < 3; i++) give();
  assert_false(rank.token.lent);
  give();
  assert_true(rank.token.lent);
}

static void take_as_third(void) {
  caller = 3;
  while_it_is_parked = give_to_three;
  tm_user_code_take(&rank);
}

static void take_as_second(void) {
  caller = 2;
  while_it_is_parked = take_as_third;
  tm_user_code_take(&rank);
}

static void test_waiters_get_it_in_the_order_they_came(void **state) {
  (void)state;
  caller = 1;
  while_it_is_parked = take_as_second;
  tm_user_code_take(&rank);
  check_trace("park-1 park-2 park-3 resume-1 resume-2 resume-3 ");
}

/* ---- when a thread needs it */

static void test_code_is_shared_while_threads_call_it(void **state) {
  (void)state;
  assert_false(tm_user_code_is_shared(&rank));
  tm_user_code_begin(&rank);
  tm_user_code_begin(&rank);
  tm_user_code_end(&rank);
  assert_true(tm_user_code_is_shared(&rank));
  tm_user_code_end(&rank);
  assert_false(tm_user_code_is_shared(&rank));
  rank.attention |= TM_DEFERRED; /* which is no thread */
  assert_false(tm_user_code_is_shared(&rank));
  tm_user_code_begin(&rank);
  assert_true(tm_user_code_is_shared(&rank));
}

static void test_the_main_thread_lends_it_where_code_is_shared(void **state) {
  (void)state;
  assert_false(tm_user_code_lend(&rank));
  rank.attention = TM_DEFERRED;
  assert_false(tm_user_code_lend(&rank));
  tm_user_code_begin(&rank);
  caller = 1;
  assert_false(tm_user_code_lend(&rank)); /* it has no token to lend */
  assert_false(rank.token.lent);
  caller = 0;
  assert_true(tm_user_code_lend(&rank));
  assert_true(rank.token.lent);
}

static void test_another_thread_needs_it_where_the_program_is_one_thread(void **state) {
  (void)state;
  assert_false(tm_user_code_needs_token(&rank)); /* the main thread has it */
  caller = 1;
  assert_true(tm_user_code_needs_token(&rank));
  rank.thread_level = MPI_THREAD_SERIALIZED;
  assert_false(tm_user_code_needs_token(&rank));
  rank.thread_level = MPI_THREAD_SINGLE;
  assert_true(tm_user_code_needs_token(&rank));
  rank.thread = NULL; /* the last session has ended */
  assert_false(tm_user_code_needs_token(&rank));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(test_a_token_that_is_lent_is_taken_at_once, start),
      cmocka_unit_test_setup(test_a_waiter_gets_the_token_itself, start),
      cmocka_unit_test_setup(test_waiters_get_it_in_the_order_they_came, start),
      cmocka_unit_test_setup(test_code_is_shared_while_threads_call_it, start),
      cmocka_unit_test_setup(test_the_main_thread_lends_it_where_code_is_shared, start),
      cmocka_unit_test_setup(test_another_thread_needs_it_where_the_program_is_one_thread, start),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
