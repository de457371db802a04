/* SPDX-License-Identifier: Apache-2.0 */
/* The dump on a signal, in the states in which one asks for it. A watcher that is no thread
 * of the library sends the signal and reads what comes, in a child process. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/support.h"

/* What a dump has to say; the watcher asks again until it does, TRIES times at most. */
struct wanted {
  int threads;
  const char *words[4];
};

enum { TRIES = 2000 };
#ifdef COUNTED /* counters of lines enlarge the frames of a dump */
enum { SMALL_STACK = 12288 };
#else
enum { SMALL_STACK = 8192 }; /* the size of SIGSTKSZ in old programs */
#endif

static char text[16 << 20];
static mltp_sem_t never;
static volatile int stop;

static int count_of(const char *word) {
  int count = 0;
  for (const char *at = text; (at = strstr(at, word)) != NULL; at++) count++;
  return count;
}

/* Reads one dump, which ends with a line that counts VPs. */
static void read_dump(int fd) {
  size_t used = 0;
  text[0] = '\0';
  do {
    ssize_t got = read(fd, text + used, sizeof text - 1 - used);
    if (got <= 0) _exit(2);
    used += (size_t)got;
    text[used] = '\0';
  } while (strstr(text + (used > 200 ? used - 200 : 0), " awake") == NULL ||
           text[used - 1] != '\n');
}

static int says(const struct wanted *wanted) {
  for (int i = 0; i < 4 && wanted->words[i] != NULL; i++)
    if (strstr(text, wanted->words[i]) == NULL) return 0;
  return count_of("\n  thread ") == wanted->threads;
}

struct watch {
  const struct wanted *wanted;
  pthread_t target; /* gets the signal; 0: the process does */
  int from, to;     /* of the pipe stderr goes to; stderr as it was */
};

static void *watch(void *arg) {
  const struct watch *w = arg;
  for (int i = 0; i < TRIES; i++) {
    if (w->target != 0)
      pthread_kill(w->target, SIGUSR1);
    else
      kill(getpid(), SIGUSR1);
    read_dump(w->from);
    if (says(w->wanted)) _exit(0);
    usleep(1000 << (i < 6 ? i : 6)); /* a signal that comes at once keeps the VP from its work */
  }
  dprintf(w->to, "the last dump:\n%.20000s", text);
  _exit(1);
}

/* Starts the watcher: from now on the process ends when a dump says what is wanted. */
static void start_watch(const struct wanted *wanted, pthread_t target) {
  static struct watch w;
  int ends[2];
  sigset_t usr1, old;
  pthread_t thread;
  if (pipe(ends) != 0) _exit(2);
  w = (struct watch){wanted, target, ends[0], dup(STDERR_FILENO)};
  dup2(ends[1], STDERR_FILENO);
  sigemptyset(&usr1);
  sigaddset(&usr1, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &usr1, &old);
  if (pthread_create(&thread, NULL, watch, &w) != 0) _exit(2);
  pthread_sigmask(SIG_SETMASK, &old, NULL);
}

static void *wait_for_ever(void *p0) {
  mltp_sem_wait(&never);
  return p0;
}

static void *spin(void *p0) {
  while (!stop) continue;
  return p0;
}

/* count threads that wait, on 16 KiB of stack each, and main, which does, too. */
static void all_wait(int count, pthread_t target) {
  static struct wanted wanted = {
      .words = {"'main'", "waits for semaphore", "'tickets', for ", " 0 awake"}};
  mltp_attr_t attr = MLTP_ATTR_INIT;
  attr.detached = 1;
  attr.stack_size = 16384;
  if (mltp_init(0) != 0) _exit(2);
  mltp_sem_init(&never, 0, "tickets");
  for (int i = 0; i < count; i++)
    if (mltp_create(NULL, &attr, wait_for_ever, NULL) != 0) _exit(2);
  wanted.threads = count + 1;
  start_watch(&wanted, target);
  wait_for_ever(NULL);
}

static void idle_body(void) { all_wait(5, 0); }

static void many_body(void) { all_wait(on_kernel_backend() ? 200 : scaled(10000), 0); }

static void small_stack_body(void) {
  stack_t stack = {.ss_sp = malloc(SMALL_STACK), .ss_size = SMALL_STACK};
  if (sigaltstack(&stack, NULL) != 0) _exit(2);
  all_wait(5, pthread_self());
}

static void busy_body(void) {
  enum { SPINNERS = 9 }; /* with main, more than VPs */
  static const struct wanted wanted = {SPINNERS + 1, {"'main'", " runs"}};
  if (mltp_init(0) != 0) _exit(2);
  for (int i = 0; i < SPINNERS; i++)
    if (spawn(spin, NULL) == NULL) _exit(2);
  start_watch(&wanted, 0);
  spin(NULL);
}

static void check_watch(void (*body)(void)) {
  static struct outcome outcome;
  if (THREAD_SANITIZED) skip(); /* it puts handlers off until a call of libc that may never come */
  static const char *const settings[] = {"MLTP_DUMP_SIGNAL=10", "MLTP_DEADLOCK=off", NULL};
  assert_int_equal(SIGUSR1, 10);
  run_child(&outcome, body, settings);
  if (outcome.status != 0) print_message("%s", outcome.said);
  assert_true(WIFEXITED(outcome.status));
  assert_int_equal(WEXITSTATUS(outcome.status), 0);
}

static void dump_while_all_vps_are_busy(void) { check_watch(busy_body); }

static void dump_while_all_are_idle(void) { check_watch(idle_body); }

static void dump_of_ten_thousand_threads(void) { check_watch(many_body); }

static void dump_on_a_small_signal_stack(void) {
  if (SANITIZED) skip(); /* their frames are larger */
  check_watch(small_stack_body);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST_BARE(dump_while_all_vps_are_busy),
      TEST_BARE(dump_while_all_are_idle),
      TEST_BARE(dump_of_ten_thousand_threads),
      TEST_BARE(dump_on_a_small_signal_stack),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
