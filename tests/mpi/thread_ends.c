/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ends of ranks' pthreads, call by call (src/tmpi/run/threads.c): joins, threads of C11,
 * destructors of thread-local objects. And by which number and which stack a thread is known.
 */
#include "rank_threads.h"

/* ---- joins */

typedef int join_function(pthread_t, void **);

static void test_joins(void **state) {
  (void)state;
  void *result;
  join_function *wait = (join_function *)row("pthread_join"),
                *look = (join_function *)row("pthread_tryjoin_np");
  assert_int_equal(wait(9, &result), 0);
  check_trace("take:9 wait:taken [ join:9 ] forget:taken ");
  join_error = ESRCH;
  assert_int_equal(wait(9, NULL), ESRCH);
  check_trace("take:9 wait:taken [ join:9 ] put_back:taken ");
  assert_int_equal(look(9, NULL), ESRCH);
  check_trace("take:9 tryjoin:9 put_back:taken ");
  join_error = 0;
  assert_int_equal(look(9, NULL), 0);
  check_trace("take:9 tryjoin:9 forget:taken ");
}

/* A signal may have to interrupt the wait of a rank that handles some: it waits in the kernel. */
static void test_joins_that_signals_interrupt(void **state) {
  (void)state;
  join_function *wait = (join_function *)row("pthread_join");
  processes[1].signals = (struct tm_signals *)text;
  assert_int_equal(wait(9, NULL), 0);
  check_trace("take:9 [ join:9 ] forget:taken ");
  struct tm_locals before = tm_locals_exchange((struct tm_locals){.is_pthread = true});
  assert_int_equal(wait(9, NULL), 0);
  check_trace("take:9 wait:taken [ join:9 ] forget:taken ");
  assert_int_equal(wait(100, NULL), 0); /* itself: libc says that it is wrong */
  check_trace("wait:none [ join:100 ] forget:none ");
  tm_locals_exchange(before);
  caller = NULL;
  assert_int_equal(wait(9, NULL), 0);
  check_trace("take:9 wait:taken [ join:9 ] forget:taken ");
}

static void test_joins_with_deadlines(void **state) {
  (void)state;
  typedef int timed(pthread_t, void **, const struct timespec *);
  typedef int clocked(pthread_t, void **, clockid_t, const struct timespec *);
  const struct timespec time = {77, 0};
  assert_int_equal(((timed *)row("pthread_timedjoin_np"))(9, NULL, &time), 0);
  check_trace("take:9 [ clockjoin:9,0,77 ] forget:taken ");
  join_error = ETIMEDOUT;
  assert_int_equal(((clocked *)row("pthread_clockjoin_np"))(9, NULL, CLOCK_MONOTONIC, &time),
                   ETIMEDOUT);
  check_trace("take:9 [ clockjoin:9,1,77 ] put_back:taken ");
}

static void test_detached_pthreads(void **state) {
  (void)state;
  typedef int function(pthread_t);
  assert_int_equal(((function *)row("pthread_detach"))(9), 0);
  check_trace("take:9 forget:taken detach:9 ");
  assert_int_equal(((function *)row("thrd_detach"))(9), thrd_success);
  join_error = EINVAL;
  assert_int_equal(((function *)row("thrd_detach"))(9), thrd_error);
}

static void test_ends_by_pthread_exit(void **state) {
  (void)state;
  typedef void function(void *);
  function *leave = (function *)row("pthread_exit");
  if (setjmp(left) == 0) leave((void *)9);
  check_trace("pthread_exit:9 "); /* a pthread of the rank */
  processes[1].thread = mltp_self();
  if (setjmp(left) == 0) leave((void *)9);
  check_trace("rank_exits:1 ");
  caller = NULL;
  if (setjmp(left) == 0) leave((void *)9);
  check_trace("pthread_exit:9 ");
}

/* ---- threads of C11 */

static int work_c11(void *argument) {
  note("works");
  return argument == text ? -7 : 0;
}

typedef int create_c11(thrd_t *, thrd_start_t, void *);

static void test_threads_of_c11(void **state) {
  (void)state;
  typedef int function(thrd_t, int *);
  thrd_t thread;
  int result = 0;
  create_c11 *make = (create_c11 *)row("thrd_create");
  assert_int_equal(make(&thread, work_c11, text), thrd_success);
  check_trace(STARTS "mask:0 works " ENDS CREATED);
  assert_ptr_equal(pthread.result, (void *)(intptr_t)-7);
  assert_int_equal(((function *)row("thrd_join"))(9, &result), thrd_success);
  assert_int_equal(result, -7);
  assert_int_equal(((function *)row("thrd_join"))(9, NULL), thrd_success);
  join_error = ESRCH;
  assert_int_equal(((function *)row("thrd_join"))(9, &result), thrd_error);
  create_error = EAGAIN;
  assert_int_equal(make(&thread, work_c11, text), thrd_error);
  caller = NULL;
  create_error = ENOMEM;
  assert_int_equal(make(&thread, work_c11, text), thrd_nomem);
  memory_is_out = true;
  assert_int_equal(make(&thread, work_c11, text), thrd_nomem);
  typedef void leave(int);
  trace[0] = '\0';
  if (setjmp(left) == 0) ((leave *)row("thrd_exit"))(-3);
  check_trace("pthread_exit:-3 ");
}

/* ---- destructors of thread-local objects, numbers and stacks */

static void test_destructors_of_a_rank_s_own_thread(void **state) {
  (void)state;
  typedef int function(void (*)(void *), void *, void *);
  function *add = (function *)row("__cxa_thread_atexit");
  assert_int_equal(add(free, text, locals), 31);
  check_trace("push:1 ");
  assert_int_equal(add(free, text, text), 0); /* of a library that ranks share */
  struct tm_locals before = tm_locals_exchange((struct tm_locals){.is_pthread = true});
  assert_int_equal(add(free, text, locals), 0);
  tm_locals_exchange(before);
  ends = 0;
  caller = NULL;
  assert_int_equal(add(free, text, locals), 0);
  ends = 0;
  check_trace("");
}

static void test_numbers_of_threads(void **state) {
  (void)state;
  typedef pthread_t function(void);
  function *self = (function *)row("pthread_self");
  assert_int_equal(self(), FIRST);
  is_native = false;
  assert_int_equal(self(), 100);
  is_native = true;
  struct tm_locals before = tm_locals_exchange((struct tm_locals){.is_pthread = true});
  assert_int_equal(self(), 100);
  tm_locals_exchange(before);
  caller = NULL;
  assert_int_equal(self(), 100);
}

static void test_the_stack_of_a_rank(void **state) {
  (void)state;
  typedef int function(pthread_t, pthread_attr_t *);
  function *ask = (function *)row("pthread_getattr_np");
  pthread_attr_t attr;
  void *low;
  size_t size, guard = 1;
  static const pthread_t own[] = {FIRST, 100};
  for (int i = 0; i < 2; i++) {
    assert_int_equal(ask(own[i], &attr), 0);
    assert_int_equal(pthread_attr_getstack(&attr, &low, &size), 0);
    assert_int_equal(pthread_attr_getguardsize(&attr, &guard), 0);
    assert_true(low == rank_stack && size == 1 << 20 && guard == 0);
  }
  assert_int_equal(ask(OTHER, &attr), 44);
  has_stack = false;
  assert_int_equal(ask(FIRST, &attr), 44);
  caller = NULL;
  assert_int_equal(ask(FIRST, &attr), 44);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      ROW(test_joins),
      ROW(test_joins_that_signals_interrupt),
      ROW(test_joins_with_deadlines),
      ROW(test_detached_pthreads),
      ROW(test_ends_by_pthread_exit),
      ROW(test_threads_of_c11),
      ROW(test_destructors_of_a_rank_s_own_thread),
      ROW(test_numbers_of_threads),
      ROW(test_the_stack_of_a_rank),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
