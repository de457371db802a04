/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which thread of which rank gets a signal, step by step: a pthread, the rank's own thread wherever
 * it is, or all ranks; and what ends a wait for signals.
 */
#include "ranks_signals.h"

/* ---- pthreads of a rank */

static void a_pthread_handles_what_it_was_sent(void **state) {
  (void)state;
  on_pthread = notes_masks = true;
  assert_false(give_own(SIGUSR1)); /* the rank has changed nothing */
  signals();
  assert_false(give_own(SIGUSR1));
  assert_true(give_own(SIGHUP));
  notes_masks = false;
  set_action(SIGUSR1, SA_SIGINFO, tm_signal_bit(SIGUSR1) | 8);
  notes_masks = true;
  kernels_mask = tm_signal_bit(SIGUSR1);
  check_trace("");
  uint32_t calls = tm_signals_calls(signals());
  assert_true(give_own(SIGUSR1) && wakes == 1);
  check_trace("mask:208 i10:-6,1 h10:0,1 fails:1 ");
  assert_int_equal(tm_signals_calls(signals()), calls + 1);
  assert_int_equal(tm_signals_failures(signals()), 0);
}

static void flags_of_a_handler_on_a_pthread(void **state) {
  (void)state;
  on_pthread = true;
  set_action(SIGUSR1, SA_RESTART | SA_NODEFER | SA_RESETHAND, 0x10);
  kernels_mask = tm_signal_bit(SIGUSR1);
  notes_masks = true;
  assert_true(give_own(SIGUSR1));
  check_trace("mask:fffffffe7fffffff mask:200 mask:210 mask:10 h10:0,1 ");
  assert_true(handler_of(SIGUSR1) == (uintptr_t)SIG_DFL);
  set_action(SIGUSR1, SA_NODEFER, tm_signal_bit(SIGUSR1));
  trace[0] = '\0';
  kernels_mask = 0;
  assert_true(give_own(SIGUSR1));
  check_trace("mask:200 mask:200 h10:0,1 fails:1 ");
}

static void a_fault_of_a_pthread(void **state) {
  (void)state;
  on_pthread = true;
  set_action(SIGSEGV, 0, 0);
  tm_signals_set_mask(process, tm_signal_bit(SIGSEGV)); /* of the rank's own thread */
  assert_true(fault(SIGSEGV));
  check_trace("h11:400,1 fails:1 ");
}

/* ---- which ranks get a signal */

static bool come(int signo, int code, pid_t sender) {
  siginfo_t info = {.si_signo = signo, .si_code = code, .si_pid = sender};
  char context;
  return tm_signal_to_ranks(signo, &info, &context);
}

static void a_signal_from_outside_comes_to_all(void **state) {
  const struct tm_action ignored = {.handler = (uintptr_t)SIG_IGN};
  const struct tm_action handled = {.handler = (uintptr_t)handle};
  (void)state;
  assert_false(come(SIGUSR1, SI_USER, 1));
  assert_true(come(SIGHUP, SI_USER, 1)); /* all ranks began with it ignored */
  tm_signals_change(tm_signals_of(&processes[0]), SIGUSR1, &ignored, NULL);
  tm_signals_change(signals(), SIGUSR1, &ignored, NULL);
  assert_false(come(SIGUSR1, SI_USER, 1)); /* one of them dies of it */
  tm_signals_change(tm_signals_of(&processes[OTHER]), SIGUSR1, &ignored, NULL);
  assert_true(come(SIGUSR1, SI_USER, 1));
  check_trace("");
  tm_signals_change(tm_signals_of(&processes[0]), SIGUSR1, &handled, NULL);
  tm_signals_change(tm_signals_of(&processes[OTHER]), SIGUSR1, &handled, NULL);
  assert_true(come(SIGUSR1, SI_TKILL, getpid() + 1)); /* of another process */
  check_trace(
      "lend:1 locals:0 h10:0,0 locals:70 return:7,2 end:0,0,1 "
      "lend:3 locals:0 h10:0,2 locals:70 return:7,2 end:2,0,1 ");
}

static void a_rank_that_blocks_a_signal_does_not_ignore_it(void **state) {
  (void)state;
  set_plain(SIGUSR1, SIG_IGN);
  tm_signals_set_mask(process, tm_signal_bit(SIGUSR1));
  assert_true(come(SIGUSR1, SI_USER, 1) && pending() == tm_signal_bit(SIGUSR1));
}

static void one_rank_may_ignore_a_signal(void **state) {
  (void)state;
  tm_job.size = 1;
  assert_true(come(SIGHUP, SI_USER, 1));
  tm_job.size = RANKS;
}

static void before_there_are_ranks_none_ignores_a_signal(void **state) {
  (void)state;
  tm_job.size = 0;
  assert_false(come(SIGHUP, SI_USER, 1));
  tm_job.size = RANKS;
}

static void what_a_thread_sends_itself_comes_to_its_rank(void **state) {
  static const int caused[] = {SIGPIPE, SIGXFSZ, SIGSYS, SIGTRAP};
  siginfo_t info = {.si_code = SI_TKILL, .si_pid = getpid()};
  (void)state;
  set_action(SIGUSR1, 0, 0);
  assert_true(give_own(SIGUSR1));
  check_trace("h10:200,1 end:1,0,1 ");
  assert_true(tm_signal_is_own(SIGUSR1, &info));
  info.si_code = SI_USER;
  assert_false(tm_signal_is_own(SIGUSR1, &info));
  for (size_t i = 0; i < sizeof caused / sizeof caused[0]; i++)
    assert_true(tm_signal_is_own(caused[i], &info));
  self = NULL;
  set_plain(SIGUSR2, SIG_IGN);
  assert_false(give_own(SIGUSR2)); /* of a thread of no rank: as from outside */
}

static void a_timer_comes_to_its_rank(void **state) {
  siginfo_t info = {.si_signo = SIGUSR1, .si_code = SI_TIMER, .si_timerid = TIMER};
  (void)state;
  set_action(SIGUSR1, 0, 0);
  timer_rank = RANK;
  assert_true(tm_signal_to_ranks(SIGUSR1, &info, NULL));
  check_trace("h10:200,1 end:1,0,0 ");
  timer_rank = OTHER;
  assert_false(tm_signal_to_ranks(SIGUSR1, &info, NULL));
  timer_rank = -1; /* it is gone */
  assert_true(tm_signal_to_ranks(SIGUSR1, &info, NULL));
  check_trace("");
  timer_rank = 0;
  assert_false(tm_signal_to_ranks(SIGUSR1, &info, NULL));
  timer_rank = TM_TIMER_UNKNOWN;
  assert_true(tm_signal_to_ranks(SIGUSR1, &info, NULL));
  check_trace("h10:200,1 end:1,0,0 ");
  assert_true(come(SIGURG, SI_USER, 1)); /* that ends a wait */
  assert_true(come(SIGUSR1, A_SAMPLE, 1));
  check_trace("");
}

/* ---- a pthread signals the rank's own thread */

static bool give_own_thread(int signo) {
  siginfo_t info = {.si_signo = signo, .si_code = SI_TKILL, .si_pid = getpid()};
  return tm_signal_to_own_thread(process, signo, &info);
}

static void note_stand_in(int signo) {
  (void)signo;
  note("stands-in:%d", tm_signals_stand_in());
}

static void a_parked_threads_handler_runs_on_the_sender(void **state) {
  (void)state;
  assert_false(give_own_thread(SIGUSR1));
  signals();
  assert_false(give_own_thread(SIGUSR1));
  assert_true(give_own_thread(SIGHUP));
  assert_int_equal(wakes, 0);
  set_action(SIGUSR1, 0, 0);
  in_handler = note_stand_in;
  assert_true(give_own_thread(SIGUSR1) && pending() == 0 && wakes == 2);
  check_trace("h10:200,1 stands-in:1 end:1,0,0 ");
  assert_false(tm_signals_stand_in());
  in_handler = stay;
  if (setjmp(left) == 0) give_own_thread(SIGUSR1);
  assert_true(tm_signals_stand_in());
  tm_signals_leave_handler(process);
  assert_false(tm_signals_stand_in());
}

/* The signal comes to the kernel thread of the rank. */
static void it_is_interrupted(void) {
  char context;
  has_interrupted = true;
  assert_true(sent.si_signo == SIGUSR1 && sent.si_pid == getpid());
  assert_true(tm_signal_to_ranks(SIGUSR1, &sent, &context));
}

static int naps_left;

static void it_is_interrupted_later(void) {
  char context;
  has_interrupted = false;
  assert_true(tm_signal_to_ranks(SIGUSR1, &sent, &context)); /* a switch is under way */
  if (naps_left-- == 0) it_is_interrupted();
}

static void a_thread_that_runs_is_interrupted(void **state) {
  (void)state;
  set_action(SIGUSR1, SA_SIGINFO, 0);
  whereabouts.task = ELSEWHERE;
  at_nap = it_is_interrupted;
  assert_true(give_own_thread(SIGUSR1));
  check_trace("send:20,10 nap:20 i10:-6,1 h10:200,1 end:1,0,1 ");
  at_nap = it_is_interrupted_later;
  naps_left = 9;
  assert_true(give_own_thread(SIGUSR1));
  check_trace(
      "send:20,10 nap:20 send:20,10 nap:40 send:20,10 nap:80 send:20,10 nap:160 "
      "send:20,10 nap:320 send:20,10 nap:640 send:20,10 nap:1280 send:20,10 nap:2560 "
      "send:20,10 nap:2560 send:20,10 nap:2560 i10:-6,1 h10:200,1 end:1,0,1 ");
  sent.si_pid++;
  assert_false(tm_signal_to_ranks(SIGUSR2, &sent, NULL)); /* no signal of ours */
}

static void it_parks(void) { whereabouts.ready = false; }

static void a_thread_that_is_ready_is_waited_for(void **state) {
  (void)state;
  set_action(SIGUSR1, 0, 0);
  whereabouts.ready = true;
  at_nap = it_parks;
  assert_true(give_own_thread(SIGUSR1));
  check_trace("nap:20 h10:200,1 end:1,0,0 ");
  whereabouts.task = ELSEWHERE; /* its kernel thread ends */
  send_fails = true;
  assert_true(give_own_thread(SIGUSR1));
  check_trace("send:20,10 h10:200,1 end:1,0,0 ");
}

static void a_signal_that_the_own_thread_blocks(void **state) {
  (void)state;
  signals();
  tm_signals_set_mask(process, tm_signal_bit(SIGUSR1));
  assert_true(give_own_thread(SIGUSR1) && pending() == tm_signal_bit(SIGUSR1) && wakes == 1);
  check_trace("");
}

/* ---- the kernel's handler */

static void change_errno(int signo) { errno = signo; }

static void a_signal_is_caught(void **state) {
  (void)state;
  assert_int_equal(tm_signals_catch(SIGUSR2, false), EINVAL);
  is_crash_signal = true;
  assert_int_equal(tm_signals_catch(SIGSEGV, false), 0); /* crash.c has */
  is_crash_signal = false;
  assert_int_equal(tm_signals_catch(SIGALRM, true), 0);
  assert_int_equal(tm_signals_catch(SIGALRM, false), 0); /* one rank's handler needs no stack */
  assert_int_equal(tm_signals_catch(SIGPROF, false), 0);
  check_trace("handle:12,0 handle:14,1 handle:14,1 handle:27,0 ");
  set_action(SIGALRM, 0, 0);
  siginfo_t info = {.si_signo = SIGALRM};
  in_handler = change_errno;
  errno = ERRNO;
  installed(SIGALRM, &info, NULL);
  check_trace("h14:2000,1 end:1,0,0 ");
  assert_int_equal(errno, ERRNO);
}

/* ---- waits */

static void nothing(void) {}

static void a_handler_ran_elsewhere(void) {
  set_action(SIGUSR1, 0, 0);
  tid = ELSEWHERE;
  give(SIGUSR1);
  tid = HERE;
}

static void a_pause_ends_with_a_handler(void **state) {
  (void)state;
  at_wait = a_handler_ran_elsewhere;
  uint32_t calls = tm_signals_calls(signals());
  tm_signals_pause(process, calls);
  check_trace("begin wait:-1 h10:200,1 end:1,0,1 done ");
  tm_signals_set_mask(process, tm_signal_bit(SIGUSR1));
  give(SIGUSR1);
  tm_signals_pause(process, calls); /* one has run since the caller looked */
  check_trace("begin done ");
  assert_ptr_equal(tm_signals_interrupting(signals()), tm_signals_interrupting(signals()));
}

/* The handler may have interrupted the library, which must not be called then. */
static void a_pause_in_a_handler(void **state) {
  (void)state;
  handler_stays(HERE);
  set_action(SIGUSR2, 0, 0);
  at_wait = nothing;
  give(SIGUSR2);
  check_trace("h12:a00,1 end:1,0,1 ");
  uint32_t calls = tm_signals_calls(signals());
  tm_signals_pause(process, calls - 1);
  check_trace("");
  tid = ELSEWHERE; /* which may not run a handler now */
  give(SIGUSR2);
  tid = HERE;
  tm_signals_pause(process, calls);
  check_trace("h12:a00,1 end:1,0,0 ");
}

static void a_signal_comes(void) {
  tid = ELSEWHERE;
  give(SIGUSR2);
  tid = HERE;
}

static void a_signal_is_taken(void **state) {
  uint64_t two = tm_signal_bit(SIGUSR1) | tm_signal_bit(SIGUSR2);
  (void)state;
  set_action(SIGUSR2, 0, 0); /* whose handler does not run */
  tm_signals_set_mask(process, tm_signal_bit(SIGUSR1));
  give(SIGUSR1);
  assert_int_equal(tm_signals_take(process->signals, two, 5), SIGUSR1);
  check_trace("begin done ");
  assert_true(pending() == 0);
  at_wait = a_signal_comes;
  assert_int_equal(tm_signals_take(process->signals, two, 5), SIGUSR2);
  check_trace("begin wait:5 done ");
  at_wait = NULL;
  assert_int_equal(tm_signals_take(process->signals, two, 5), 0);
  check_trace("begin wait:5 done ");
  give(SIGUSR2); /* it is awaited no longer */
  check_trace("h12:a00,1 end:1,0,1 ");
}

static void a_pthread_is_sent_one(void) { assert_true(give_own(SIGUSR1) && wakes == 1); }

/* The kernel would keep what is sent to this pthread alone, if the pthread blocks it. */
static void a_pthread_takes_a_signal(void **state) {
  (void)state;
  signals();
  on_pthread = true;
  kernels_mask = tm_signal_bit(SIGUSR1) | 1;
  notes_masks = true;
  at_wait = a_pthread_is_sent_one;
  assert_int_equal(tm_signals_take(signals(), tm_signal_bit(SIGUSR1), UINT64_MAX), SIGUSR1);
  check_trace("mask:1 begin wait:-1 done mask:201 ");
  assert_false(give_own(SIGUSR1)); /* it is awaited no longer */
  assert_true(give_own(SIGHUP) && pending() == 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      SIGNALS_TEST(a_pthread_handles_what_it_was_sent),
      SIGNALS_TEST(flags_of_a_handler_on_a_pthread),
      SIGNALS_TEST(a_fault_of_a_pthread),
      SIGNALS_TEST(a_signal_from_outside_comes_to_all),
      SIGNALS_TEST(a_rank_that_blocks_a_signal_does_not_ignore_it),
      SIGNALS_TEST(one_rank_may_ignore_a_signal),
      SIGNALS_TEST(before_there_are_ranks_none_ignores_a_signal),
      SIGNALS_TEST(what_a_thread_sends_itself_comes_to_its_rank),
      SIGNALS_TEST(a_timer_comes_to_its_rank),
      SIGNALS_TEST(a_parked_threads_handler_runs_on_the_sender),
      SIGNALS_TEST(a_thread_that_runs_is_interrupted),
      SIGNALS_TEST(a_thread_that_is_ready_is_waited_for),
      SIGNALS_TEST(a_signal_that_the_own_thread_blocks),
      SIGNALS_TEST(a_signal_is_caught),
      SIGNALS_TEST(a_pause_ends_with_a_handler),
      SIGNALS_TEST(a_pause_in_a_handler),
      SIGNALS_TEST(a_signal_is_taken),
      SIGNALS_TEST(a_pthread_takes_a_signal),
  };
  tm_signals_start();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
