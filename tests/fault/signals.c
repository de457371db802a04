/* SPDX-License-Identifier: Apache-2.0 */
/* Handlers on small stacks, storms of signals, other people's handlers. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/support.h"

static struct outcome outcome;

static void handle(int signo, void (*handler)(int), int flags) {
  struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
  sigaction(signo, &action, NULL);
}

static void run(void (*body)(void)) {
  static const char *const no_settings[] = {NULL};
  run_child(&outcome, body, no_settings);
  print_message("%s", outcome.said);
}

static void check_ends_well(void (*body)(void)) {
  run(body);
  assert_int_equal(outcome.status, 0);
}

/* ------------------------------------------------------------------- small stacks */

static volatile sig_atomic_t handled;

/* Uses 64 KiB, from the top down, as nested calls would. */
static __attribute__((noinline)) void dig(int left) {
  volatile char frame[1024];
  for (size_t i = 0; i < sizeof frame; i++) frame[i] = (char)left;
  if (left > 0) dig(left - 1);
  handled = frame[512] == left;
}

static void greedy(int signo) {
  (void)signo;
  dig(64);
}

static void *interrupted(void *p0) {
  raise(SIGUSR1);
  return p0;
}

static void run_small(void) {
  mltp_attr_t attr = MLTP_ATTR_INIT;
  attr.name = "small";
  attr.stack_size = 16 << 10;
  mltp_t *thread;
  for (int bound = 0; bound < 2; bound++) {
    handled = 0;
    attr.bound = bound;
    if (mltp_init(0) != 0 || mltp_create(&thread, &attr, interrupted, NULL) != 0) _exit(1);
    mltp_join(thread, NULL);
    if (mltp_finalize() != 0 || !handled) _exit(2);
  }
}

static void on_the_signal_stack(void) {
  handle(SIGUSR1, greedy, SA_ONSTACK);
  run_small();
}

static void on_the_thread_s_stack(void) {
  handle(SIGUSR1, greedy, 0);
  run_small();
}

static void a_greedy_handler_fits_on_the_signal_stack(void) {
  check_ends_well(on_the_signal_stack);
}

static void a_greedy_handler_on_a_small_stack_is_an_overflow_of_that_thread(void) {
  if (!has_guards()) skip();
  if (on_kernel_backend() && sysconf(_SC_THREAD_STACK_MIN) > 64 << 10)
    skip();                     /* libc's are larger */
  if (THREAD_SANITIZED) skip(); /* it blocks SIGSEGV in handlers: the kernel ends the process */
  run(on_the_thread_s_stack);
  assert_true(WIFSIGNALED(outcome.status));
  assert_int_equal(WTERMSIG(outcome.status), SIGABRT);
  assert_non_null(strstr(outcome.said, "stack overflow: thread"));
  assert_non_null(strstr(outcome.said, "'small'"));
}

/* --------------------------------------------------------------------------- storm */

static mltp_lock_t lock;
static mltp_cond_t cond;
static mltp_barrier_t barrier;
static mltp_sem_t sem;
static long turn;

/* What mltp-signals(7) allows. */
static void ask(int signo) {
  (void)signo;
  volatile uint64_t asked = mltp_now() + mltp_after(5);
  asked += (uint64_t)mltp_vp() + (uint64_t)mltp_vps() + (uint64_t)mltp_vps_active();
  (void)asked;
}

enum { WORKERS = 8 };

static void *all_primitives(void *rounds) {
  for (int i = 0; i < *(int *)rounds; i++) {
    CHECK_EQUAL(mltp_lock(&lock), 0);
    long mine = ++turn;
    if (mine % WORKERS == 0)
      CHECK_EQUAL(mltp_cond_broadcast(&cond), 0);
    else
      while (turn / WORKERS == mine / WORKERS) CHECK_EQUAL(mltp_cond_wait(&cond, &lock), 0);
    CHECK_EQUAL(mltp_unlock(&lock), 0);
    int serial = mltp_barrier_wait(&barrier);
    CHECK(serial == 0 || serial == MLTP_BARRIER_SERIAL);
    CHECK_EQUAL(mltp_sem_post(&sem), 0);
    CHECK_EQUAL(mltp_sem_wait(&sem), 0);
    uint64_t deadline = mltp_after(20000);
    mltp_sleep_until(deadline);
    CHECK(mltp_now() >= deadline);
  }
  return NULL;
}

static void no_wait_is_disturbed_by_a_storm(void) {
  int rounds = scaled(300);
  struct itimerval often = {{0, 1000}, {0, 1000}}, never = {{0, 0}, {0, 0}};
  handle(SIGALRM, ask, SA_ONSTACK); /* without SA_RESTART: calls end with EINTR */
  setitimer(ITIMER_REAL, &often, NULL);
  for (int class = 0; lock_classes[class].id < MLTP_LOCK_ALT_EXCHANGE; class ++)
    for (int kind = UNBOUND; kind < KINDS; kind++) {
      check_case("%s lock, %s", lock_classes[class].name, kind_names[kind]);
      turn = 0;
      mltp_lock_init(&lock, lock_classes[class].id, NULL);
      mltp_cond_init(&cond, NULL);
      mltp_barrier_init(&barrier, WORKERS, NULL);
      mltp_sem_init(&sem, 0, NULL);
      workers_run(WORKERS, (enum kind)kind, all_primitives, &(int){rounds / 20 + 1});
      CHECK_EQUAL(mltp_sem_value(&sem), 0);
      mltp_sem_destroy(&sem);
    }
  setitimer(ITIMER_REAL, &never, NULL);
  handle(SIGALRM, SIG_IGN, 0); /* one may still be on its way */
}

/* -------------------------------------------------------------- others' handlers */

static char *page;
static volatile sig_atomic_t repaired;

static void repair(int signo, siginfo_t *info, void *context) {
  (void)signo, (void)context;
  if ((char *)info->si_addr != page) _exit(5);
  mprotect(page, 4096, PROT_READ | PROT_WRITE);
  repaired++;
}

static void *touch(void *p0) {
  for (int i = 0; i < 3; i++) {
    mprotect(page, 4096, PROT_NONE);
    *(volatile char *)page = 1;
  }
  return p0;
}

/* Again and again, and overflows are still found. */
static void repairing(void) {
  struct sigaction action = {.sa_sigaction = repair, .sa_flags = SA_SIGINFO}, after;
  sigaction(SIGSEGV, &action, NULL);
  page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mltp_init(0) != 0) _exit(1);
  mltp_join(spawn(touch, NULL), NULL);
  if (repaired != 3 || mltp_finalize() != 0) _exit(2);
  sigaction(SIGSEGV, NULL, &after);
  if (after.sa_sigaction != repair) _exit(3);
}

static void the_program_s_handler_gets_its_faults(void) {
  if (SANITIZED) skip();
  check_ends_well(repairing);
}

static void replacing(void) {
  struct sigaction action = {.sa_sigaction = repair, .sa_flags = SA_SIGINFO}, after;
  if (mltp_init(0) != 0) _exit(1);
  sigaction(SIGSEGV, &action, NULL);
  mltp_finalize();
  sigaction(SIGSEGV, NULL, &after);
  if (after.sa_sigaction != repair) _exit(2);
}

static void a_handler_installed_meanwhile_stays(void) { check_ends_well(replacing); }

static void send_segv(void) {
  signal(SIGSEGV, SIG_DFL);
  if (mltp_init(0) != 0) _exit(1);
  kill(getpid(), SIGSEGV);
  pause();
}

static void a_fault_signal_that_was_sent_kills(void) {
  if (SANITIZED) skip();
  run(send_segv);
  assert_true(WIFSIGNALED(outcome.status));
  assert_int_equal(WTERMSIG(outcome.status), SIGSEGV);
}

static char own_stack[65536]; /* as large as ours might be */

static void with_own_stack(void) {
  stack_t mine = {.ss_sp = own_stack, .ss_size = sizeof own_stack}, after;
  sigaltstack(&mine, NULL);
  if (mltp_init(0) != 0 || mltp_finalize() != 0) _exit(1);
  if (sigaltstack(NULL, &after) != 0 || after.ss_sp != own_stack) _exit(2);
}

static void the_program_s_signal_stack_stays(void) { check_ends_well(with_own_stack); }

static void without_a_stack(void) {
  stack_t none = {.ss_flags = SS_DISABLE}, during, after; /* a sanitizer may have made one */
  if (sigaltstack(&none, NULL) != 0 || mltp_init(0) != 0) _exit(1);
  if (sigaltstack(NULL, &during) != 0 || during.ss_flags != 0) _exit(2);
  if (mltp_finalize() != 0) _exit(3);
  if (sigaltstack(NULL, &after) != 0 || after.ss_flags != SS_DISABLE) _exit(4);
}

static void the_library_s_signal_stack_goes(void) { check_ends_well(without_a_stack); }

/* -------------------------------------------------------------------- no stderr */

static void lose_stderr(int fd) {
  setenv("MLTP_STATS", "1", 1);
  dup2(fd, 2);
  close(fd);
  if (mltp_init(0) != 0) _exit(1);
  mltp_dump(2);
  if (mltp_finalize() != 0) _exit(2);
  _exit(42);
}

static void to_a_broken_pipe(void) {
  int ends[2];
  if (pipe(ends) != 0) _exit(3);
  close(ends[0]);
  lose_stderr(ends[1]);
}

static void to_a_full_disk(void) { lose_stderr(open("/dev/full", O_WRONLY)); }

static void to_nothing(void) {
  int fd = open("/dev/null", O_RDONLY); /* cannot be written */
  lose_stderr(fd);
}

static void messages_that_nobody_can_read_end_nothing(void) {
  void (*const losses[])(void) = {to_a_broken_pipe, to_a_full_disk, to_nothing};
  for (int i = 0; i < 3; i++) {
    run(losses[i]);
    assert_true(WIFEXITED(outcome.status));
    assert_int_equal(WEXITSTATUS(outcome.status), 42);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST_BARE(a_greedy_handler_fits_on_the_signal_stack),
      TEST_BARE(a_greedy_handler_on_a_small_stack_is_an_overflow_of_that_thread),
      TEST(no_wait_is_disturbed_by_a_storm),
      TEST_BARE(the_program_s_handler_gets_its_faults),
      TEST_BARE(a_handler_installed_meanwhile_stays),
      TEST_BARE(a_fault_signal_that_was_sent_kills),
      TEST_BARE(the_program_s_signal_stack_stays),
      TEST_BARE(the_library_s_signal_stack_goes),
      TEST_BARE(messages_that_nobody_can_read_end_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
