/* SPDX-License-Identifier: Apache-2.0 */
/* Signal stacks and handlers (src/os/signals.c): the program's own are left alone, and signals that
 * are not the library's have the effect that they have without it. */
#define _GNU_SOURCE /* gettid */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/os.h"
#include "support/support.h"

enum { STACK = 256 << 10, NOBODY = 1 << 22 /* no thread has so high a number */ };

/* ---- signal stacks */

static bool is_readable(const char *address) {
  char byte;
  return os_peek(&byte, address, 1) == 1;
}

/* @return the signal stack of the calling kernel thread; NULL: none. */
static char *stack_now(void) {
  stack_t now;
  CHECK_EQUAL(sigaltstack(NULL, &now), 0);
  if (now.ss_flags & SS_DISABLE) return NULL;
  CHECK_EQUAL(now.ss_flags, 0);
  CHECK_EQUAL(now.ss_size, STACK);
  return now.ss_sp;
}

static void use(void *stack) {
  stack_t new = {.ss_sp = stack, .ss_size = STACK, .ss_flags = stack == NULL ? SS_DISABLE : 0};
  CHECK_EQUAL(sigaltstack(&new, NULL), 0);
}

static void *make_and_free(void *own) {
  use(NULL); /* a sanitizer may have made one */
  errno = EDOM;
  os_sigstack_free(); /* there is none */
  CHECK(stack_now() == NULL);
  os_sigstack_make();
  char *ours = stack_now();
  CHECK(ours != NULL && is_readable(ours) && is_readable(ours + STACK - 1));
  CHECK(!is_readable(ours - 1) && !is_readable(ours - os_page_size()));
  os_sigstack_make(); /* it is there */
  CHECK(stack_now() == ours);
  use(NULL);
  os_sigstack_make(); /* the same again */
  CHECK(stack_now() == ours);
  os_sigstack_free();
  CHECK(stack_now() == NULL);
  CHECK(!is_readable(ours) && !is_readable(ours + STACK - 1));
  os_sigstack_free();
  use(own); /* the program's */
  os_sigstack_make();
  CHECK(stack_now() == own);
  os_sigstack_free();
  CHECK(stack_now() == own);
  use(NULL);
  os_sigstack_make();
  ours = stack_now();
  use(own); /* in its place */
  os_sigstack_free();
  CHECK(stack_now() == own && is_readable(own) && !is_readable(ours));
  use(NULL);
  CHECK_EQUAL(errno, EDOM);
  return NULL;
}

static void a_signal_stack_is_the_programs_or_ours(void) {
  pthread_t thread;
  void *own = malloc(STACK);
  CHECK_EQUAL(pthread_create(&thread, NULL, make_and_free, own), 0);
  pthread_join(thread, NULL);
  free(own);
}

/* ---- handlers */

static siginfo_t got;
static void *context_got;
static volatile int handled, plain;

static void note(int signo, siginfo_t *info, void *context) {
  handled = signo;
  got = *info;
  context_got = context;
}

static void note_plain(int signo) { plain = signo; }

static struct sigaction action_of(int signo) {
  struct sigaction now;
  CHECK_EQUAL(sigaction(signo, NULL, &now), 0);
  return now;
}

static void check_ours(int on_stack) {
  struct sigaction now = action_of(SIGUSR1);
  CHECK(now.sa_sigaction == note);
  CHECK_EQUAL(now.sa_flags & (SA_SIGINFO | SA_RESTART | SA_ONSTACK | SA_NODEFER | SA_RESETHAND),
              SA_SIGINFO | SA_RESTART | on_stack);
  for (int signo = 1; signo < 32; signo++) CHECK_EQUAL(sigismember(&now.sa_mask, signo), 0);
}

static void handlers_are_installed_and_taken_back(void) {
  struct sigaction old, plain_one = {.sa_handler = note_plain, .sa_flags = SA_NODEFER};
  sigaddset(&plain_one.sa_mask, SIGUSR2);
  CHECK_EQUAL(sigaction(SIGUSR1, &plain_one, NULL), 0);
  errno = EDOM;
  CHECK_EQUAL(os_signal_install(SIGUSR1, note, &old), 0);
  CHECK(old.sa_handler == note_plain);
  check_ours(SA_ONSTACK);
  os_signal_restore(SIGUSR1, note, &old);
  CHECK(action_of(SIGUSR1).sa_handler == note_plain);
  struct sigaction now = action_of(SIGUSR1);
  CHECK_EQUAL(sigismember(&now.sa_mask, SIGUSR2), 1);
  os_signal_restore(SIGUSR1, note, &(struct sigaction){.sa_handler = SIG_IGN}); /* not ours */
  CHECK(action_of(SIGUSR1).sa_handler == note_plain);
  CHECK_EQUAL(os_signal_handle(SIGUSR1, note, true), 0);
  check_ours(SA_ONSTACK);
  CHECK_EQUAL(os_signal_handle(SIGUSR1, note, false), 0);
  check_ours(0);
  CHECK_EQUAL(os_signal_install(SIGKILL, note, &old), EINVAL);
  CHECK_EQUAL(os_signal_handle(SIGSTOP, note, false), EINVAL);
  os_signal_default(SIGUSR1);
  CHECK(action_of(SIGUSR1).sa_handler == SIG_DFL);
  CHECK_EQUAL(errno, EDOM);
}

static void a_signal_arrives_with_its_info(void) {
  siginfo_t info = {.si_signo = SIGUSR1, .si_code = SI_QUEUE};
  info.si_value.sival_int = 42;
  CHECK_EQUAL(os_signal_handle(SIGUSR1, note, false), 0);
  handled = 0;
  errno = EDOM;
  CHECK_EQUAL(os_signal_send(gettid(), SIGUSR1, &info), 0);
  CHECK_EQUAL(errno, EDOM);
  while (handled == 0) usleep(1000); /* ThreadSanitizer delivers it here */
  CHECK_EQUAL(handled, SIGUSR1);
  CHECK_EQUAL(got.si_code, SI_QUEUE);
  CHECK_EQUAL(got.si_value.sival_int, 42);
  errno = EDOM;
  CHECK_EQUAL(os_signal_send(NOBODY, SIGUSR1, &info), ESRCH);
  CHECK_EQUAL(errno, EDOM);
  os_signal_default(SIGUSR1);
}

static void *turn_off(void *p0) {
  sigset_t now;
  os_signals_off();
  pthread_sigmask(SIG_SETMASK, NULL, &now);
  for (int signo = 1; signo < 32; signo++)
    CHECK_EQUAL(sigismember(&now, signo), signo != SIGKILL && signo != SIGSTOP);
  return p0;
}

static void a_thread_gets_no_signals(void) {
  pthread_t thread;
  CHECK_EQUAL(pthread_create(&thread, NULL, turn_off, NULL), 0);
  pthread_join(thread, NULL);
}

/* ---- what happens to a signal that is not ours */

enum end { CONTINUES, IS_DEFAULT, DIES };

static const struct forwarded {
  const char *name;
  struct sigaction to;
  int code; /* above 0: an instruction faulted */
  enum end end;
} rows[] = {
    {"with info", {.sa_sigaction = note, .sa_flags = SA_SIGINFO}, SI_USER, CONTINUES},
    {"with info, fault", {.sa_sigaction = note, .sa_flags = SA_SIGINFO}, 1, CONTINUES},
    {"plain", {.sa_handler = note_plain}, SI_USER, CONTINUES},
    {"plain, fault", {.sa_handler = note_plain}, 1, CONTINUES},
    {"ignored", {.sa_handler = SIG_IGN}, SI_USER, CONTINUES},
    {"ignored, sent by a thread", {.sa_handler = SIG_IGN}, SI_TKILL, CONTINUES},
    {"ignored, fault", {.sa_handler = SIG_IGN}, 1, IS_DEFAULT},
    {"default, fault", {.sa_handler = SIG_DFL}, 1, IS_DEFAULT},
    {"default", {.sa_handler = SIG_DFL}, SI_USER, DIES},
    {"default, sent by a thread", {.sa_handler = SIG_DFL}, SI_TKILL, DIES},
};

static const struct forwarded *row;

/* In a child. */
static void forward(void) {
  siginfo_t info = {.si_signo = SIGUSR2, .si_code = row->code};
  signal(SIGUSR2, note_plain);
  handled = plain = 0;
  os_signal_forward(SIGUSR2, &info, &info, &row->to);
  bool with_info = row->to.sa_flags != 0, default_now = action_of(SIGUSR2).sa_handler == SIG_DFL;
  if (handled != (with_info ? SIGUSR2 : 0) || (with_info && context_got != &info)) _exit(1);
  if (plain != (!with_info && row->to.sa_handler == note_plain ? SIGUSR2 : 0)) _exit(2);
  if (default_now != (row->end == IS_DEFAULT)) _exit(3);
}

static void signals_are_handed_on(void) {
  static const char *const no_settings[] = {NULL};
  static struct outcome outcome;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    row = &rows[i];
    run_child(&outcome, forward, no_settings);
    check_case("%s", row->name);
    if (row->end == DIES)
      CHECK(WIFSIGNALED(outcome.status) && WTERMSIG(outcome.status) == SIGUSR2);
    else
      CHECK_EQUAL(outcome.status, 0);
  }
}

static void an_alarm_of_the_programs_is_seen(void) {
  struct itimerval hour = {.it_value.tv_sec = 3600}, off = {.it_value.tv_sec = 0};
  errno = EDOM;
  CHECK(!os_alarm_is_set());
  CHECK_EQUAL(setitimer(ITIMER_REAL, &hour, NULL), 0);
  CHECK(os_alarm_is_set());
  CHECK_EQUAL(setitimer(ITIMER_REAL, &off, NULL), 0);
  CHECK(!os_alarm_is_set());
  CHECK_EQUAL(errno, EDOM);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST_BARE(a_signal_stack_is_the_programs_or_ours),
      TEST_BARE(handlers_are_installed_and_taken_back),
      TEST_BARE(a_signal_arrives_with_its_info),
      TEST_BARE(a_thread_gets_no_signals),
      TEST_BARE(signals_are_handed_on),
      TEST_BARE(an_alarm_of_the_programs_is_seen),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
