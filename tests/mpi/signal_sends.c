/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a rank sends, step by step: to itself, to its threads and to its process; what is said
 * before a signal ends the process; and which calls are libc's, since no rank makes them.
 */
#include "signal_calls.h"

/* ---- sending */

#define ENDS(signo, name)                                                                          \
  "alone 2:tmpirun: rank 3 sent SIG" name ": the job ends\n lines tell:" signo                     \
  ":rank 3: "                                                                                      \
  "SIG" name " "

static void what_a_rank_raises(void **state) {
  (void)state;
  assert_int_equal(by_number("raise", 0), 0);
  takes_faults = true;
  assert_int_equal(by_number("raise", SIGUSR1), 0);
  check_trace("fault:10 ");
  takes_faults = false;
  takes_signals = true;
  assert_int_equal(by_number("raise", SIGUSR1), 0);
  check_trace("fault:10 give:10 ");
  assert_true(by_number("raise", -1) == -1 && errno == EINVAL);
  errno = 0;
  assert_true(by_number("raise", NSIG) == -1 && errno == EINVAL);
  check_trace("");
  takes_signals = false;
  assert_int_equal(by_number("raise", SIGTERM), 0);
  check_trace("fault:15 give:15 " ENDS("143", "TERM") "libc-raise:15 ");
  on_pthread = true; /* which has a mask of the kernel's */
  assert_int_equal(by_number("raise", SIGTERM), 0);
  check_trace(ENDS("143", "TERM") "libc-raise:15 ");
}

static void signals_that_do_not_end_the_process(void **state) {
  static const int stays[] = {SIGCHLD, SIGSEGV, SIGTSTP, SIGTTIN, SIGTTOU, SIGSTOP};
  (void)state;
  on_pthread = true;
  for (size_t i = 0; i < sizeof stays / sizeof stays[0]; i++) {
    by_number("raise", stays[i]);
    assert_null(strstr(trace, "alone"));
  }
  kernels_action.sa_handler = handle;
  by_number("raise", SIGTERM);
  assert_null(strstr(trace, "alone"));
  kernels_action.sa_handler = SIG_DFL;
  kernels_mask = set_of(SIGTERM, 0);
  by_number("raise", SIGTERM);
  assert_null(strstr(trace, "alone"));
}

static int send_to(pid_t pid, int signo) { return CALL(int (*)(pid_t, int), "kill")(pid, signo); }

static void what_a_rank_sends_to_its_process(void **state) {
  const pid_t own[] = {getpid(), 0, -1, -getpgrp()};
  (void)state;
  for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) {
    send_to(own[i], SIGTERM);
    assert_non_null(strstr(trace, ENDS("143", "TERM")));
    trace[0] = '\0';
  }
  libc_result = -1;
  assert_int_equal(send_to(getppid(), SIGTERM), -1);
  check_trace("libc-kill:0,15 ");
  libc_result = 0;
  send_to(0, 0); /* no signals */
  send_to(0, NSIG);
  assert_null(strstr(trace, "alone"));
  trace[0] = '\0';
  send_to(getpid(), 1);
  send_to(getpid(), NSIG - 1);
  assert_non_null(strstr(trace, "SIGHUP"));
  assert_non_null(strstr(trace, "tell:192"));
}

typedef int thread_call(pthread_t, int);

static int send_thread(pthread_t thread, int signo) {
  return CALL(thread_call *, "pthread_kill")(thread, signo);
}

static void what_a_rank_sends_to_threads(void **state) {
  (void)state;
  takes_signals = true;
  assert_int_equal(send_thread(OWN, SIGUSR1), 0);
  assert_int_equal(send_thread(FIRST, SIGUSR1), 0);
  check_trace("fault:10 give:10 fault:10 give:10 ");
  assert_int_equal(send_thread(OWN, NSIG), EINVAL);
  assert_int_equal(send_thread(ANOTHER, SIGUSR1), 7);
  check_trace("libc-kill:3,10 ");
}

static void what_a_pthread_sends_to_the_own_thread(void **state) {
  (void)state;
  on_pthread = takes_signals = true;
  assert_int_equal(send_thread(FIRST, SIGUSR1), 0);
  check_trace("own:10 ");
  assert_int_equal(send_thread(FIRST, 0), 0);
  assert_int_equal(send_thread(FIRST, -1), EINVAL);
  assert_int_equal(send_thread(FIRST, NSIG), EINVAL);
  check_trace("");
  assert_int_equal(send_thread(OWN, SIGUSR1), 7);
  check_trace("libc-kill:2,10 ");
  is_native = false; /* --one-to-one: the kernel knows the thread */
  assert_int_equal(send_thread(FIRST, SIGUSR1), 7);
  check_trace("libc-kill:1,10 ");
  is_native = true;
  takes_signals = false; /* nobody handles it */
  assert_int_equal(send_thread(FIRST, SIGTERM), 0);
  check_trace("own:15 mask:1,4000 " ENDS("143", "TERM") "libc-raise:15 ");
}

static void a_handler_is_left(void **state) {
  static jmp_buf context;
  void (*jump)(jmp_buf, int) = CALL(void (*)(jmp_buf, int), "longjmp");
  (void)state;
  if (setjmp(left) == 0) jump(context, 5);
  check_trace("leave:3 jump:1,5 ");
  self = NULL;
  if (setjmp(left) == 0) jump(context, 6);
  check_trace("jump:1,6 ");
}

/* ---- a thread of no rank: its calls are libc's */

static void calls_of_other_threads(void **state) {
  struct sigaction new = {.sa_handler = SIG_IGN};
  const struct timespec time = {0, 0};
  sigset_t set = set_of(SIGUSR1, 0);
  siginfo_t info;
  int signo;
  (void)state;
  self = NULL;
  set_action(SIGUSR1, &new, NULL);
  set_signal("signal", SIGUSR1, SIG_IGN);
  check_trace("libc-action:10,1 libc-signal:10,1 ");
  assert_int_equal(by_number("sigignore", SIGUSR1), 0);
  check_trace("libc-signal:10,1 ");
  change("sigprocmask", SIG_BLOCK, &set, NULL);
  change("pthread_sigmask", SIG_BLOCK, &set, NULL);
  check_trace("libc-mask:0,200,0 mask:0,200 ");
  CALL(int (*)(sigset_t *), "sigpending")(&set);
  CALL(int (*)(void), "pause")();
  check_trace("libc-pending:1 libc-pause ");
  CALL(int (*)(const sigset_t *), "sigsuspend")(&set);
  CALL(int (*)(const sigset_t *, int *), "sigwait")(&set, &signo);
  CALL(wait_call *, "sigwaitinfo")(&set, &info);
  CALL(timed_call *, "sigtimedwait")(&set, &info, &time);
  check_trace("libc-suspend:200 libc-wait:1 libc-waitinfo:1 libc-timedwait:1 ");
  by_number("raise", SIGTERM);
  check_trace("libc-action:15,0 libc-raise:15 "); /* tmpirun's own end */
  assert_int_equal(send_thread(OWN, SIGUSR1), 7);
  check_trace("libc-kill:2,10 ");
  on_pthread = true;
  assert_int_equal(send_thread(FIRST, SIGUSR1), 7);
  check_trace("libc-kill:1,10 ");
  assert_int_equal(set_interrupts(SIGUSR1, 1), 0);
  assert_true(interrupting == 0);
  libc_result = -1;
  assert_int_equal(by_number("sigignore", SIGUSR1), -1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      REQUEST_TEST(what_a_rank_raises),
      REQUEST_TEST(signals_that_do_not_end_the_process),
      REQUEST_TEST(what_a_rank_sends_to_its_process),
      REQUEST_TEST(what_a_rank_sends_to_threads),
      REQUEST_TEST(what_a_pthread_sends_to_the_own_thread),
      REQUEST_TEST(a_handler_is_left),
      REQUEST_TEST(calls_of_other_threads),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
