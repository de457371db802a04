/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a signal does to a rank, step by step: when its handler runs and with which mask, what stays
 * pending, that handlers run on one kernel thread at a time, how one is left, and what a fault
 * does.
 */
#include "ranks_signals.h"

/* ---- the state of a rank */

static void a_rank_begins_with_what_tmpirun_ignores(void **state) {
  (void)state;
  for (int signo = 1; signo < NSIG; signo++)
    assert_true(handler_of(signo) ==
                (uintptr_t)(signo == SIGHUP || signo == LAST ? SIG_IGN : SIG_DFL));
  assert_ptr_equal(signals(), process->signals);
  assert_int_equal(blocks, 1);
}

static void a_state_takes_memory(void **state) {
  (void)state;
  memory_is_out = true;
  assert_null(signals());
  memory_is_out = false;
  assert_false(give(SIGUSR1) || tm_fault_has_stack(process, SIGUSR1));
  assert_int_equal(tm_signals_calls(NULL) + tm_signals_failures(NULL), 0);
}

/* No signal comes to the kernel thread that writes an action. */
static void an_action_is_written_with_signals_off(void **state) {
  struct tm_action before, action = {1, 2, 3};
  (void)state;
  notes_masks = true;
  kernels_mask = 4;
  tm_signals_change(signals(), LAST, &action, &before);
  check_trace("mask:fffffffe7fffffff mask:4 ");
  assert_true(before.handler == (uintptr_t)SIG_IGN && before.flags == 0);
  tm_signals_change(signals(), LAST, NULL, &before);
  assert_memory_equal(&before, &action, sizeof action);
}

/* ---- a signal comes to a rank */

static void what_a_rank_does_with_a_signal(void **state) {
  (void)state;
  signals();
  assert_false(give(SIGUSR1)); /* its default effect is the process's */
  assert_true(give(SIGHUP));
  assert_int_equal(wakes, 0);
  set_action(SIGUSR1, SA_SIGINFO, 0);
  assert_true(give(SIGUSR1));
  check_trace("i10:-1,1 h10:200,1 end:1,0,1 ");
  assert_true(wakes == 1 && pending() == 0 && tm_signals_mask(signals()) == 0);
  assert_true(tm_signals_calls(signals()) == 1 && tm_signals_failures(signals()) == 1);
  set_action(SIGUSR1, SA_RESTART, 0);
  assert_true(give(SIGUSR1));
  check_trace("h10:200,1 end:1,1,1 ");
  assert_true(tm_signals_calls(signals()) == 2 && tm_signals_failures(signals()) == 1);
}

static void the_mask_of_a_handler(void **state) {
  (void)state;
  tm_signals_set_mask((signals(), process), 0x80);
  set_action(SIGUSR1, 0, 0x10);
  assert_true(give(SIGUSR1));
  check_trace("h10:290,1 end:1,0,1 ");
  set_action(SIGUSR1, SA_NODEFER, 0x10);
  assert_true(give(SIGUSR1));
  check_trace("h10:90,1 end:1,0,1 ");
  assert_true(tm_signals_mask(signals()) == 0x80 && handler_of(SIGUSR1) == (uintptr_t)handle);
}

static void a_handler_for_once(void **state) {
  (void)state;
  set_action(SIGUSR1, SA_RESETHAND, 0);
  assert_true(give(SIGUSR1));
  assert_true(handler_of(SIGUSR1) == (uintptr_t)SIG_DFL);
  assert_false(give(SIGUSR1));
}

/* It comes when the rank no longer blocks it; then nothing is known of its sender. */
static void a_blocked_signal_stays_pending(void **state) {
  (void)state;
  set_action(SIGUSR1, SA_SIGINFO, 0);
  tm_signals_set_mask(process, tm_signal_bit(SIGUSR1) | tm_signal_bit(SIGHUP));
  assert_true(give(SIGUSR1) && give(SIGHUP));
  assert_int_equal(wakes, 2);
  assert_true(pending() == (tm_signal_bit(SIGUSR1) | tm_signal_bit(SIGHUP)));
  check_trace("");
  tm_signals_set_mask(process, 0);
  check_trace("i10:0,0 h10:200,1 end:1,0,0 ");
  assert_true(pending() == 0);
}

static void several_pending_signals_come_from_the_lowest(void **state) {
  (void)state;
  set_action(1, 0, 0);
  set_action(LAST, 0, 0);
  tm_signals_set_mask(process, UINT64_MAX);
  assert_true(give(LAST) && give(1));
  tm_signals_set_mask(process, 0);
  check_trace("h1:1,1 end:1,0,0 h64:8000000000000000,1 end:1,0,0 ");
}

static void default_effects(void **state) {
  static const int harmless[] = {SIGCHLD, SIGCONT, SIGURG, SIGWINCH};
  siginfo_t info = {.si_code = SI_TKILL, .si_pid = getpid()};
  (void)state;
  tm_signals_set_mask((signals(), process), UINT64_MAX);
  for (size_t i = 0; i < sizeof harmless / sizeof harmless[0]; i++) give(harmless[i]);
  give(SIGTERM);
  tm_signals_set_mask(process, 0);
  check_trace("default:15 raise:15 ");
  assert_true(pending() == 0);
  assert_int_equal(tm_signals_catch(SIGTERM, false), 0);
  errno = ERRNO;
  installed(SIGTERM, &info, NULL); /* the calling rank has sent it */
  check_trace("handle:15,0 announce:15 default:15 raise:15 ");
  info.si_pid++;
  installed(SIGTERM, &info, NULL);
  check_trace("default:15 raise:15 ");
  assert_int_equal(errno, ERRNO);
}

/* ---- handlers among one another */

static void send_low_elsewhere_then_high(int signo) {
  if (signo != SIGUSR1) return;
  tid = ELSEWHERE;
  give(SIGINT);
  tid = HERE;
  give(SIGUSR2);
}

/* Of what has just come, all is known. */
static void the_signal_that_comes_is_before_pending_ones(void **state) {
  (void)state;
  set_action(SIGUSR1, 0, 0);
  set_action(SIGINT, SA_SIGINFO, 0);
  set_action(SIGUSR2, SA_SIGINFO, 0);
  in_handler = send_low_elsewhere_then_high;
  assert_true(give(SIGUSR1));
  check_trace("h10:200,1 i12:-1,1 h12:a00,1 end:1,0,1 i2:0,0 h2:202,1 end:1,0,1 end:1,0,1 ");
}

static void send_another(int signo) {
  if (signo == SIGUSR1) give(SIGUSR2);
}

static void a_handler_is_interrupted_by_what_it_does_not_block(void **state) {
  (void)state;
  set_action(SIGUSR1, 0, 0);
  set_action(SIGUSR2, 0, 0);
  in_handler = send_another;
  assert_true(give(SIGUSR1));
  check_trace("h10:200,1 h12:a00,1 end:1,0,1 end:1,0,1 ");
  set_action(SIGUSR1, 0, tm_signal_bit(SIGUSR2));
  assert_true(give(SIGUSR1));
  check_trace("h10:a00,1 end:1,0,1 h12:800,1 end:1,0,1 ");
}

static void send_from_elsewhere(int signo) {
  tid = ELSEWHERE;
  assert_false(tm_signals_handles(process));
  send_another(signo);
  tid = HERE;
  assert_true(tm_signals_handles(process) && !tm_signals_acts_elsewhere(process));
}

/* The kernel thread that runs a handler runs the next one, too. */
static void handlers_run_on_one_thread_at_a_time(void **state) {
  (void)state;
  set_action(SIGUSR1, 0, 0);
  set_action(SIGUSR2, 0, 0);
  in_handler = send_from_elsewhere;
  assert_true(give(SIGUSR1));
  check_trace("h10:200,1 end:1,0,1 h12:800,1 end:1,0,1 ");
  assert_false(tm_signals_handles(process));
}

static void look_elsewhere(int signo) {
  (void)signo;
  note("elsewhere:%d", tm_signals_acts_elsewhere(process));
}

static void a_handler_interrupts_another_rank(void **state) {
  (void)state;
  acting = OTHER + 1;
  in_handler = look_elsewhere;
  set_action(SIGUSR1, 0, 0);
  assert_true(give(SIGUSR1));
  check_trace("lend:2 locals:0 h10:200,1 elsewhere:1 locals:70 return:7,3 end:1,0,1 ");
  assert_int_equal(acting, OTHER + 1);
  acting = RANK + 1;
  assert_true(give(SIGUSR1));
  check_trace("h10:200,1 elsewhere:0 end:1,0,1 ");
}

/* ---- a handler runs on a kernel thread, and has not ended */

/* By longjmp(). */
static void it_leaves(void) {
  int before = tid;
  tid = ELSEWHERE;
  tm_signals_leave_handler(process);
  tid = before;
}

static void a_change_of_the_mask_waits_for_handlers(void **state) {
  (void)state;
  handler_stays(ELSEWHERE);
  at_yield = it_leaves;
  tm_signals_set_mask(process, 8);
  check_trace("yield ");
  assert_true(tm_signals_mask(signals()) == 8);
  handler_stays(HERE);
  tm_signals_set_mask(process, 16); /* in the handler: at once */
  assert_true(tm_signals_mask(signals()) == 16 && tm_signals_handles(process));
  check_trace("");
}

static void a_handler_is_left(void **state) {
  (void)state;
  tm_signals_leave_handler(process); /* no rank has one */
  tm_signals_set_mask((signals(), process), 8);
  tm_signals_leave_handler(process);
  handler_stays(HERE);
  kernels_mask = tm_signal_bit(SIGUSR1) | 1;
  assert_true(tm_signals_mask(signals()) == (tm_signal_bit(SIGUSR1) | 8));
  tm_signals_leave_handler(process);
  assert_true(tm_signals_mask(signals()) == 8 && !tm_signals_handles(process));
  assert_int_equal(kernels_mask, 1); /* the kernel thread serves other ranks, too */
  give(SIGUSR1);
  check_trace("h10:208,1 end:1,0,1 ");
}

static void stay_in_second(int signo) {
  in_handler = stay;
  if (signo == SIGUSR1) give(SIGUSR2);
}

/* The mask becomes that before the first of them. */
static void several_handlers_are_left_at_once(void **state) {
  (void)state;
  set_action(SIGUSR1, 0, 0);
  set_action(SIGUSR2, 0, 0);
  in_handler = stay_in_second;
  if (setjmp(left) == 0) give(SIGUSR1);
  kernels_mask = tm_signal_bit(SIGUSR1) | tm_signal_bit(SIGUSR2);
  tm_signals_leave_handler(process);
  assert_true(tm_signals_mask(signals()) == 0 && kernels_mask == tm_signal_bit(SIGUSR1));
  tm_signals_set_mask(process, 8);
  handler_stays(HERE);
  tm_signals_leave_handler(process);
  assert_true(tm_signals_mask(signals()) == 8);
}

static void the_handler_of_another_ranks_thread_cannot_be_left(void **state) {
  char text[TEXT];
  (void)state;
  acting = OTHER + 1;
  handler_stays(HERE);
  struct captured captured = captured_begin();
  if (setjmp(left) == 0) tm_signals_leave_handler(process);
  captured_end(&captured, text, sizeof text);
  assert_string_equal(text,
                      "tmpirun: rank 1: longjmp() out of a handler of SIGUSR1, which has "
                      "interrupted another rank's thread (set a flag in the handler, or run with "
                      "--one-to-one)\n");
  check_trace("abort:1 ");
}

/* ---- faults */

static void a_fault_is_handled_at_once(void **state) {
  (void)state;
  assert_false(fault(SIGSEGV));
  signals();
  assert_false(fault(SIGSEGV));
  set_plain(SIGSEGV, SIG_IGN);
  assert_false(fault(SIGSEGV));
  set_action(SIGSEGV, SA_SIGINFO, 0);
  set_action(SIGUSR2, 0, 0);
  in_handler = send_another;
  assert_true(fault(SIGSEGV));
  check_trace("i11:1,1 h11:400,1 ");
  assert_false(tm_signals_handles(process));
  tm_signals_set_mask(process, tm_signal_bit(SIGSEGV));
  assert_false(fault(SIGSEGV));
}

static void send_user(int signo) {
  if (signo == SIGSEGV) give(SIGUSR2);
}

static void what_is_pending_after_a_fault(void **state) {
  (void)state;
  set_action(SIGSEGV, 0, tm_signal_bit(SIGUSR2));
  set_action(SIGUSR2, 0, 0);
  in_handler = send_user;
  assert_true(fault(SIGSEGV));
  check_trace("h11:c00,1 h12:800,1 end:1,0,0 ");
}

static void a_fault_while_another_thread_runs_a_handler(void **state) {
  (void)state;
  set_action(SIGSEGV, 0, 0);
  handler_stays(ELSEWHERE);
  at_yield = it_leaves;
  assert_true(fault(SIGSEGV));
  check_trace("yield h11:400,1 ");
  handler_stays(HERE); /* the handler itself has caused it */
  assert_true(fault(SIGSEGV) && tm_signals_handles(process));
  check_trace("h11:600,1 ");
}

static void a_handler_with_a_stack_of_its_own(void **state) {
  (void)state;
  set_plain(SIGSEGV, SIG_IGN);
  assert_false(tm_fault_has_stack(process, SIGSEGV));
  set_action(SIGSEGV, 0, 0);
  assert_false(tm_fault_has_stack(process, SIGSEGV));
  set_action(SIGSEGV, SA_ONSTACK, 0);
  assert_true(tm_fault_has_stack(process, SIGSEGV));
  tm_signals_set_mask(process, tm_signal_bit(SIGSEGV));
  assert_false(tm_fault_has_stack(process, SIGSEGV));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      SIGNALS_TEST(a_rank_begins_with_what_tmpirun_ignores),
      SIGNALS_TEST(a_state_takes_memory),
      SIGNALS_TEST(an_action_is_written_with_signals_off),
      SIGNALS_TEST(what_a_rank_does_with_a_signal),
      SIGNALS_TEST(the_mask_of_a_handler),
      SIGNALS_TEST(a_handler_for_once),
      SIGNALS_TEST(a_blocked_signal_stays_pending),
      SIGNALS_TEST(several_pending_signals_come_from_the_lowest),
      SIGNALS_TEST(default_effects),
      SIGNALS_TEST(the_signal_that_comes_is_before_pending_ones),
      SIGNALS_TEST(a_handler_is_interrupted_by_what_it_does_not_block),
      SIGNALS_TEST(handlers_run_on_one_thread_at_a_time),
      SIGNALS_TEST(a_handler_interrupts_another_rank),
      SIGNALS_TEST(a_change_of_the_mask_waits_for_handlers),
      SIGNALS_TEST(a_handler_is_left),
      SIGNALS_TEST(several_handlers_are_left_at_once),
      SIGNALS_TEST(the_handler_of_another_ranks_thread_cannot_be_left),
      SIGNALS_TEST(a_fault_is_handled_at_once),
      SIGNALS_TEST(what_is_pending_after_a_fault),
      SIGNALS_TEST(a_fault_while_another_thread_runs_a_handler),
      SIGNALS_TEST(a_handler_with_a_stack_of_its_own),
  };
  tm_signals_start();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
