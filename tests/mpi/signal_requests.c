/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a rank asks for about signals, step by step: handlers and their flags, masks, what is caught
 * before a rank can block it, and waits for signals.
 */
#include "signal_calls.h"

/* ---- handlers */

static void a_handler_is_set_and_found(void **state) {
  struct sigaction new = {.sa_flags = SA_ONSTACK}, old;
  (void)state;
  new.sa_handler = handle;
  new.sa_mask = set_of(SIGUSR2, SIGKILL); /* nobody can block that */
  memset(&old, 0xa5, sizeof old);
  assert_int_equal(set_action(SIGUSR1, &new, &old), 0);
  check_trace("prepare flusher change:10,1 catch:10,1 ");
  assert_true(old.sa_handler == SIG_DFL && old.sa_flags == 0 && word_of(&old.sa_mask) == 0);
  assert_true(action.handler == (uintptr_t)handle && action.flags == SA_ONSTACK &&
              action.mask == tm_signal_bit(SIGUSR2));
  assert_int_equal(set_action(SIGUSR1, NULL, &old), 0);
  check_trace("change:10,0 ");
  assert_true(old.sa_handler == handle && old.sa_flags == SA_ONSTACK);
  assert_true(word_of(&old.sa_mask) == tm_signal_bit(SIGUSR2));
  for (int i = 0; i < 2; i++) {
    new = (struct sigaction){.sa_handler = i == 0 ? SIG_DFL : SIG_IGN};
    assert_int_equal(set_action(SIGUSR1, &new, NULL), 0);
    check_trace("prepare change:10,1 catch:10,0 ");
  }
}

static void a_handler_that_is_refused(void **state) {
  static const int wrong[] = {0, NSIG, SIGKILL, SIGSTOP};
  const struct sigaction new = {.sa_handler = SIG_IGN};
  (void)state;
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    errno = 0;
    assert_int_equal(set_action(wrong[i], &new, NULL), -1);
    assert_int_equal(errno, EINVAL);
    assert_true(set_signal("signal", wrong[i], SIG_IGN) == SIG_ERR);
  }
  check_trace("");
  catch_error = EPERM;
  assert_int_equal(set_action(1, &new, NULL), -1);
  assert_int_equal(errno, EPERM);
  assert_true(set_signal("signal", NSIG - 1, SIG_IGN) == SIG_ERR);
}

static void no_memory_ends_the_job(void **state) {
  char text[TEXT];
  (void)state;
  has_memory = false;
  struct captured captured = captured_begin();
  if (setjmp(left) == 0) set_action(SIGUSR1, NULL, NULL);
  captured_end(&captured, text, sizeof text);
  assert_string_equal(text, "tmpirun: rank 3: no memory for its signals (fewer ranks)\n");
  check_trace("abort:1 ");
}

static void functions_with_flags_of_their_own(void **state) {
  (void)state;
  action.handler = (uintptr_t)SIG_IGN;
  assert_true(set_signal("signal", SIGUSR1, handle) == SIG_IGN);
  assert_true(action.handler == (uintptr_t)handle && action.flags == SA_RESTART);
  assert_true(set_signal("sysv_signal", SIGUSR1, SIG_IGN) == handle);
  assert_true(action.flags == (SA_RESETHAND | SA_NODEFER));
  assert_int_equal(by_number("sigignore", SIGUSR1), 0);
  assert_true(action.handler == (uintptr_t)SIG_IGN && action.flags == 0);
  assert_int_equal(by_number("sigignore", NSIG), -1);
}

static void handlers_that_interrupt_calls(void **state) {
  (void)state;
  assert_int_equal(set_interrupts(SIGUSR1, 1), 0);
  check_trace("change:10,0 "); /* there is no handler yet */
  assert_true(interrupting == tm_signal_bit(SIGUSR1));
  set_signal("signal", SIGUSR1, handle);
  assert_int_equal(action.flags, 0);
  set_signal("signal", SIGUSR2, handle);
  assert_int_equal(action.flags, SA_RESTART);
  trace[0] = '\0';
  assert_int_equal(set_interrupts(SIGUSR1, 0), 0);
  check_trace("change:10,0 prepare flusher change:10,1 catch:10,0 ");
  assert_true(interrupting == 0 && action.flags == SA_RESTART);
  assert_int_equal(set_interrupts(SIGUSR1, 1), 0);
  assert_int_equal(action.flags, 0);
  action.handler = (uintptr_t)SIG_IGN;
  trace[0] = '\0';
  assert_int_equal(set_interrupts(SIGUSR1, 0), 0);
  check_trace("change:10,0 ");
  assert_int_equal(set_interrupts(NSIG, 0), -1);
}

/* ---- masks */

static void the_mask_of_a_rank(void **state) {
  sigset_t one = set_of(SIGUSR1, 0), old;
  (void)state;
  rank_mask = 1;
  assert_int_equal(change("sigprocmask", SIG_BLOCK, &one, &old), 0);
  assert_true(rank_mask == 0x201 && word_of(&old) == 1);
  assert_int_equal(change("pthread_sigmask", SIG_UNBLOCK, &one, &old), 0);
  assert_true(rank_mask == 1 && word_of(&old) == 0x201);
  assert_int_equal(change("sigprocmask", SIG_SETMASK, &one, NULL), 0);
  assert_true(rank_mask == 0x200);
  trace[0] = '\0';
  assert_int_equal(change("sigprocmask", 77, NULL, &old), 0); /* it only looks */
  assert_true(word_of(&old) == 0x200 && change("sigprocmask", 77, NULL, NULL) == 0);
  errno = 0;
  assert_int_equal(change("sigprocmask", 77, &one, NULL), -1);
  assert_int_equal(errno, EINVAL);
  assert_int_equal(change("pthread_sigmask", 77, &one, NULL), EINVAL);
  check_trace("");
}

/* A signal that was never handled would end the process even while a rank blocks it. */
static void blocked_signals_are_caught_once(void **state) {
  sigset_t three = set_of(SIGTERM, SIGTSTP), four = set_of(SIGTERM, SIGALRM);
  (void)state;
  change("sigprocmask", SIG_BLOCK, &three, NULL);
  check_trace("catch:15,0 set:84000 ");
  kernels_action.sa_handler = SIG_IGN;
  change("sigprocmask", SIG_SETMASK, &four, NULL); /* which the process ignores */
  check_trace("set:6000 ");
  kernels_action.sa_handler = SIG_DFL;
  libc_result = -1;
  four = set_of(SIGPROF, 0);
  change("sigprocmask", SIG_SETMASK, &four, NULL); /* of which the kernel says nothing */
  check_trace("set:4000000 ");
}

static void pending_signals_are_those_that_are_blocked(void **state) {
  sigset_t set;
  (void)state;
  rank_mask = 6;
  rank_pending = 3;
  assert_int_equal(CALL(int (*)(sigset_t *), "sigpending")(&set), 0);
  assert_true(word_of(&set) == 2);
}

static void functions_of_system_v(void **state) {
  (void)state;
  assert_int_equal(by_number("sighold", SIGUSR1), 0);
  assert_true(rank_mask == 0x200);
  assert_true(set_signal("sigset", SIGUSR1, handle) == SIG_HOLD && rank_mask == 0);
  assert_true(action.handler == (uintptr_t)handle && action.flags == 0);
  assert_true(set_signal("sigset", SIGUSR1, SIG_HOLD) == handle && rank_mask == 0x200);
  assert_true(action.handler == (uintptr_t)handle);
  assert_int_equal(by_number("sigrelse", SIGUSR1), 0);
  assert_true(rank_mask == 0);
  assert_int_equal(by_number("sighold", NSIG + 1), -1);
  assert_true(set_signal("sigset", NSIG, handle) == SIG_ERR);
}

static void no_signal_stack_of_the_program(void **state) {
  const stack_t wrong = {.ss_flags = 77}, none = {.ss_flags = SS_DISABLE};
  stack_t old = {.ss_sp = &old};
  int (*call)(const stack_t *, stack_t *) =
      CALL(int (*)(const stack_t *, stack_t *), "sigaltstack");
  (void)state;
  assert_true(call(&none, &old) == 0 && old.ss_flags == SS_DISABLE && old.ss_sp == NULL);
  assert_true(call(NULL, NULL) == 0 && call(&wrong, NULL) == -1 && errno == EINVAL);
}

/* ---- waits */

static void a_pause(void **state) {
  (void)state;
  assert_int_equal(CALL(int (*)(void), "pause")(), -1);
  assert_int_equal(errno, EINTR);
  check_trace("pause:4 ");
}

static void a_wait_with_another_mask(void **state) {
  sigset_t set = set_of(SIGUSR2, 0);
  (void)state;
  rank_mask = 1;
  assert_int_equal(CALL(int (*)(const sigset_t *), "sigsuspend")(&set), -1);
  assert_int_equal(errno, EINTR);
  check_trace("catch:1,0 set:800 pause:4 set:1 ");
}

static void the_thread_that_would_wait_for_itself(void **state) {
  char text[TEXT];
  sigset_t set = set_of(SIGUSR2, 0);
  (void)state;
  stands_in = true;
  struct captured captured = captured_begin();
  if (setjmp(left) == 0) CALL(int (*)(const sigset_t *), "sigsuspend")(&set);
  captured_end(&captured, text, sizeof text);
  assert_string_equal(
      text,
      "tmpirun: rank 3: sigsuspend() in a handler that the sender of the signal runs, since the "
      "rank's own thread waits in MPI or sleeps (run with --one-to-one)\n");
  check_trace("abort:1 ");
}

static void a_signal_is_waited_for(void **state) {
  sigset_t set = set_of(SIGUSR1, SIGKILL);
  siginfo_t info;
  int signo;
  (void)state;
  taken = SIGUSR1;
  assert_int_equal(CALL(int (*)(const sigset_t *, int *), "sigwait")(&set, &signo), 0);
  assert_int_equal(signo, SIGUSR1);
  check_trace("catch:10,0 take:200,-1 ");
  assert_int_equal(CALL(wait_call *, "sigwaitinfo")(&set, &info), SIGUSR1);
  assert_true(info.si_signo == SIGUSR1 && info.si_code == SI_USER);
  assert_int_equal(CALL(wait_call *, "sigwaitinfo")(&set, NULL), SIGUSR1);
}

static void a_wait_with_a_time(void **state) {
  const struct timespec wrong[] = {{0, -1}, {0, 1000000000}, {-1, 0}};
  const struct timespec times[] = {{2, 999999999}, {0, 0}};
  sigset_t set = set_of(SIGUSR1, 0);
  timed_call *call = CALL(timed_call *, "sigtimedwait");
  (void)state;
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    errno = 0;
    assert_true(call(&set, NULL, &wrong[i]) == -1 && errno == EINVAL);
  }
  check_trace("");
  assert_true(call(&set, NULL, &times[0]) == -1 && errno == EAGAIN);
  check_trace("catch:10,0 take:200,3000000999 ");
  taken = SIGUSR1;
  assert_int_equal(call(&set, NULL, &times[1]), SIGUSR1);
  check_trace("catch:10,0 take:200,1000 ");
  assert_int_equal(call(&set, NULL, NULL), SIGUSR1);
  check_trace("catch:10,0 take:200,-1 ");
}

/* ---- a call of the kernel with another mask */

#define ALL_BUT_FAULTS "fffffffe7ffffbff"

static void a_call_with_another_mask(void **state) {
  sigset_t wanted = set_of(SIGUSR2, 0);
  const sigset_t *mask = &wanted;
  struct tm_masked masked;
  (void)state;
  rank_mask = 1;
  assert_true(tm_masked_begin(&masked, &mask) && mask != &wanted);
  check_trace("catch:12,0 set:800 mask:2," ALL_BUT_FAULTS " ");
  assert_true(word_of(mask) == 0);
  errno = ETIMEDOUT;
  tm_masked_end(&masked);
  assert_int_equal(errno, ETIMEDOUT);
  check_trace("set:1 mask:2,0 ");
  handler_runs = true; /* what was pending has been handled: no call is made */
  mask = &wanted;
  assert_false(tm_masked_begin(&masked, &mask));
  tm_masked_end(&masked);
  assert_int_equal(errno, EINTR);
}

static void a_call_with_the_mask_of_the_kernel(void **state) {
  sigset_t wanted = set_of(SIGUSR2, 0);
  const sigset_t *mask = NULL;
  struct tm_masked masked;
  (void)state;
  assert_true(tm_masked_begin(&masked, &mask) && mask == NULL);
  tm_masked_end(&masked);
  on_pthread = true;
  mask = &wanted;
  assert_true(tm_masked_begin(&masked, &mask) && mask == &wanted);
  tm_masked_end(&masked);
  check_trace("");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      REQUEST_TEST(a_handler_is_set_and_found),
      REQUEST_TEST(a_handler_that_is_refused),
      REQUEST_TEST(no_memory_ends_the_job),
      REQUEST_TEST(functions_with_flags_of_their_own),
      REQUEST_TEST(handlers_that_interrupt_calls),
      REQUEST_TEST(a_call_with_another_mask),
      REQUEST_TEST(a_wait_with_another_mask),
      REQUEST_TEST(blocked_signals_are_caught_once),
      REQUEST_TEST(the_mask_of_a_rank),
      REQUEST_TEST(pending_signals_are_those_that_are_blocked),
      REQUEST_TEST(functions_of_system_v),
      REQUEST_TEST(no_signal_stack_of_the_program),
      REQUEST_TEST(a_pause),
      REQUEST_TEST(the_thread_that_would_wait_for_itself),
      REQUEST_TEST(a_signal_is_waited_for),
      REQUEST_TEST(a_wait_with_a_time),
      REQUEST_TEST(a_call_with_the_mask_of_the_kernel),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
