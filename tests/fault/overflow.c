/* SPDX-License-Identifier: Apache-2.0 */
/* A stack overflow says whose stack it was, and how large, before it aborts. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "support/support.h"

/* Written by the child: the number of the thread that overflows. */
static uint64_t *culprit;

static __attribute__((noinline)) int dig(int depth) {
  volatile char frame[512];
  memset((char *)frame, depth, sizeof frame);
  int below = depth < 0 ? 0 : dig(depth + 1);
  return below + frame[depth & 511];
}

static void *overflow(void *p0) {
  *culprit = mltp_id(mltp_self());
  return (void *)(intptr_t)dig((int)(intptr_t)p0);
}

static void overflow_attr(const char *name, size_t size, int bound) {
  mltp_attr_t attr = MLTP_ATTR_INIT;
  attr.name = name;
  attr.stack_size = size;
  attr.bound = bound;
  mltp_t *thread;
  if (mltp_init(0) != 0 || mltp_create(&thread, &attr, overflow, NULL) != 0) _exit(1);
  mltp_join(thread, NULL);
}

static void overflow_unbound(void) { overflow_attr("deep-thinker", 64 * 1024, 0); }

static void overflow_default(void) { overflow_attr("deep-thinker", 0, 0); }

static void overflow_bound(void) { overflow_attr("deep-thinker", 64 * 1024, 1); }

/* Kilobytes and bytes are both good ways to say it. */
static int says_size(const char *said, size_t size) {
  char bytes[32], kib[32];
  snprintf(bytes, sizeof bytes, "%zu", size);
  snprintf(kib, sizeof kib, "%zu KiB", size / 1024);
  return strstr(said, bytes) != NULL || strstr(said, kib) != NULL;
}

static void check_overflow(void (*body)(void), size_t size) {
  static const char *const no_settings[] = {NULL};
  static struct outcome outcome;
  char id[32];
  culprit = shared_memory(sizeof *culprit);
  run_child(&outcome, body, no_settings);
  snprintf(id, sizeof id, "%" PRIu64, *culprit);
  print_message("%s", outcome.said);
  assert_true(WIFSIGNALED(outcome.status));
  assert_int_equal(WTERMSIG(outcome.status), SIGABRT);
  assert_non_null(strstr(outcome.said, "overflow"));
  assert_non_null(strstr(outcome.said, "deep-thinker"));
  assert_non_null(strstr(outcome.said, id));
  assert_non_null(strstr(outcome.said, "#1  overflow+")); /* where it went too deep */
  /* a sanitizer makes bound threads' stacks larger than asked for */
  assert_true((SANITIZED && body == overflow_bound) || says_size(outcome.said, size));
  assert_non_null(strstr(outcome.said, "MLTP_STACK_SIZE")); /* what to do */
}

/* @return what there is with the guard page, where a power of two bytes is asked for. */
static size_t whole(size_t size) { return sysconf(_SC_PAGESIZE) > 4096 ? 2 * size : size; }

static void stack_overflow_of_an_unbound_thread(void) {
  if (!has_guards()) skip();
  check_overflow(overflow_unbound, whole(64 * 1024));
}

static void stack_overflow_of_the_default_stack(void) {
  if (!has_guards()) skip();
  check_overflow(overflow_default, whole(256 * 1024));
}

static void stack_overflow_of_a_bound_thread(void) {
  check_overflow(overflow_bound, whole(64 * 1024));
}

/* Without a guard page it is found out when the thread ends, and all threads are shown. The
 * thread's first frames are in the topmost page of its 64 KiB, or below a context of libc's there.
 */
static void *write_to_the_end(void *p0) {
  size_t above = on_ucontext_backend() ? sizeof(ucontext_t) : 0;
  char *top = (char *)(((uintptr_t)__builtin_frame_address(0) + above) | 4095) + 1;
  memset(top - whole(0x10000), 0, 64);
  return p0;
}

static void overflow_onto_canary(void) {
  mltp_attr_t attr = MLTP_ATTR_INIT;
  attr.name = "deep-thinker";
  attr.stack_size = 0x10000;
  mltp_t *thread;
  if (mltp_init(0) != 0 || mltp_create(&thread, &attr, write_to_the_end, NULL) != 0) _exit(1);
  mltp_join(thread, NULL);
}

static void stack_overflow_onto_a_canary(void) {
  static const char *const settings[] = {"MLTP_GUARD=canary", NULL};
  static struct outcome outcome;
  if (on_kernel_backend()) skip(); /* its threads have libc's stacks, and guard pages */
  run_child(&outcome, overflow_onto_canary, settings);
  print_message("%s", outcome.said);
  assert_true(WIFSIGNALED(outcome.status));
  assert_int_equal(WTERMSIG(outcome.status), SIGABRT);
  assert_non_null(strstr(outcome.said, "panic"));
  assert_non_null(strstr(outcome.said, "stack overflow"));
  assert_non_null(strstr(outcome.said, "deep-thinker"));
  assert_non_null(strstr(outcome.said, "main")); /* all are listed */
}

static void overflow_main(void) {
  if (mltp_init(0) == 0) overflow((void *)(intptr_t)1);
}

/* Its stack is the kernel's: no attribute and no option makes it larger. */
static void stack_overflow_of_the_main_thread(void) {
  if (SANITIZED) skip(); /* the sanitizer reports those, in its own way */
  /* with pages that are not the machine's, libc under an emulator does not know where it ends */
  if (EMULATED && sysconf(_SC_PAGESIZE) > 4096) skip();
  static const char *const no_settings[] = {NULL};
  static struct outcome outcome;
  culprit = shared_memory(sizeof *culprit);
  run_child(&outcome, overflow_main, no_settings);
  assert_true(WIFSIGNALED(outcome.status));
  assert_int_equal(WTERMSIG(outcome.status), SIGABRT);
  assert_non_null(strstr(outcome.said, "'main' used all"));
  assert_non_null(strstr(outcome.said, "ulimit -s"));
  assert_null(strstr(outcome.said, "MLTP_STACK_SIZE"));
}

/* The child runs on the stack of the thread that forked, which a limit of the kernel's does not
 * make larger. */
static void *overflow_in_child(void *unused) {
  int status;
  pid_t child = fork();
  if (child == 0) overflow_main();
  if (waitpid(child, &status, 0) != child || !WIFSIGNALED(status)) _exit(1);
  raise(WTERMSIG(status));
  return unused;
}

static int is_bound; /* the thread that forks */

static void overflow_forked(void) {
  mltp_attr_t attr = MLTP_ATTR_INIT;
  mltp_t *thread;
  attr.bound = is_bound;
  attr.stack_size = 64 * 1024;
  if (mltp_init(0) != 0 || mltp_create(&thread, &attr, overflow_in_child, NULL) != 0) _exit(1);
  mltp_join(thread, NULL);
}

static void stack_overflow_of_a_forked_main_thread(void) {
  if (SANITIZED || !has_guards()) skip();
  static const char *const no_settings[] = {NULL};
  static struct outcome outcome;
  culprit = shared_memory(sizeof *culprit);
  for (is_bound = 0; is_bound < 2; is_bound++) {
    run_child(&outcome, overflow_forked, no_settings);
    print_message("%s", outcome.said);
    assert_true(WIFSIGNALED(outcome.status));
    assert_int_equal(WTERMSIG(outcome.status), SIGABRT);
    assert_non_null(strstr(outcome.said, "'main' used all"));
    assert_non_null(strstr(outcome.said, "the thread that calls fork()"));
    assert_non_null(strstr(outcome.said, "MLTP_STACK_SIZE"));
    assert_null(strstr(outcome.said, "ulimit -s"));
  }
}

/* A wild pointer is not a stack overflow: it stays the crash it was. */
static void *touch_nowhere(void *p0) {
  *(volatile char *)p0 = 1;
  return NULL;
}

static void crash_elsewhere(void) {
  mltp_init(0);
  mltp_join(spawn(touch_nowhere, (void *)8), NULL);
}

static void other_segmentation_faults_stay_what_they_are(void) {
  if (SANITIZED) skip(); /* the sanitizer reports those, in its own way */
  static const char *const no_settings[] = {NULL};
  static struct outcome outcome;
  run_child(&outcome, crash_elsewhere, no_settings);
  assert_true(WIFSIGNALED(outcome.status));
  assert_int_equal(WTERMSIG(outcome.status), SIGSEGV);
  assert_null(strstr(outcome.said, "overflow"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST_BARE(stack_overflow_of_an_unbound_thread),
      TEST_BARE(stack_overflow_of_the_default_stack),
      TEST_BARE(stack_overflow_of_a_bound_thread),
      TEST_BARE(stack_overflow_of_the_main_thread),
      TEST_BARE(stack_overflow_of_a_forked_main_thread),
      TEST_BARE(stack_overflow_onto_a_canary),
      TEST_BARE(other_segmentation_faults_stay_what_they_are),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
