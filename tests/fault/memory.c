/* SPDX-License-Identifier: Apache-2.0 */
/* When memory or kernel threads are short, calls say so; nothing crashes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/support.h"

#define MIB ((size_t)1 << 20)
#define GIB ((size_t)1 << 30)

static struct outcome outcome;

/* @return bytes of address space in use */
static size_t address_space(void) {
  unsigned long pages = 0;
  FILE *statm = fopen("/proc/self/statm", "r");
  if (statm == NULL || fscanf(statm, "%lu", &pages) != 1) _exit(100);
  fclose(statm);
  return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static void limit_address_space(size_t more) {
  size_t limit = address_space() + more;
  if (setrlimit(RLIMIT_AS, &(struct rlimit){limit, limit}) != 0) _exit(101);
}

/* The runtime starts in little memory, or says why not. */
static void init_in_little_memory(void) {
  limit_address_space(MIB / 4);
  int error = mltp_init(0);
  if (error == 0) {
    mltp_finalize();
  } else if (error != ENOMEM && error != EAGAIN) {
    _exit(1);
  }
  _exit(error == 0 ? 0 : 2);
}

static void mltp_init_in_little_memory(void) {
  static const char *const no_settings[] = {NULL};
  run_child(&outcome, init_in_little_memory, no_settings);
  print_message("%s", outcome.said);
  assert_true(WIFEXITED(outcome.status));
  int refused = WEXITSTATUS(outcome.status) == 2;
  assert_true(refused || WEXITSTATUS(outcome.status) == 0);
  assert_int_equal(refused, strstr(outcome.said, "mltp") != NULL);
}

static void *same(void *p0) { return p0; }

/* @return how much more address space mltp_init() has taken */
static size_t taken_by_init(void) {
  size_t before = address_space();
  if (mltp_init(1) != 0) _exit(1);
  return address_space() - before;
}

/* Half of a limit, or more, is left to the heap and kernel threads. */
static void init_under_a_limit(void) {
  size_t limit = 6 * GIB + address_space();
  if (setrlimit(RLIMIT_AS, &(struct rlimit){limit, limit}) != 0) _exit(101);
  size_t taken = taken_by_init();
  if (taken < GIB || taken > 3 * GIB + 64 * MIB) _exit(2);
  if (mltp_finalize() != 0) _exit(3);
}

/* Stacks have what the option says, and threads live in it. */
static void init_in_given_space(void) {
  size_t taken = taken_by_init();
  if (taken < 256 * MIB || taken > 384 * MIB) _exit(2);
  if (mltp_join(spawn(same, NULL), NULL) != 0) _exit(4);
  if (mltp_finalize() != 0) _exit(3);
}

/* More stacks of a GiB than the first reservation has room for, and all usable. */
static void *touch_stack(void *p0) {
  volatile char text[4096];
  memset((char *)text, 1, sizeof text);
  mltp_yield();
  return text[100] == 1 ? p0 : NULL;
}

static void space_grows(void) {
  enum { MANY = 40 };
  mltp_t *threads[MANY];
  mltp_attr_t attr = MLTP_ATTR_INIT;
  attr.stack_size = GIB;
  if (taken_by_init() > 32 * GIB) _exit(2);
  for (int i = 0; i < MANY; i++)
    if (mltp_create(&threads[i], &attr, touch_stack, &threads[i]) != 0) _exit(3);
  for (int i = 0; i < MANY; i++) {
    void *result = NULL;
    if (mltp_join(threads[i], &result) != 0 || result != &threads[i]) _exit(4);
  }
  size_t most = address_space();
  if (mltp_finalize() != 0 || address_space() + 30 * GIB > most) _exit(5);
}

static void check_child(void (*body)(void), const char *setting) {
  const char *const settings[] = {setting, NULL};
  run_child(&outcome, body, settings);
  print_message("%s", outcome.said);
  assert_true(WIFEXITED(outcome.status));
  assert_int_equal(WEXITSTATUS(outcome.status), 0);
}

static void stacks_leave_half_of_a_limited_address_space(void) {
  check_child(init_under_a_limit, "MLTP_STACK_SPACE");
}

static void stacks_take_the_given_address_space(void) {
  check_child(init_in_given_space, "MLTP_STACK_SPACE=300000000");
}

static void stacks_reserve_what_they_need(void) {
  if (on_kernel_backend()) skip();
  check_child(space_grows, "MLTP_STACK_SPACE");
}

/* Creates threads until one is refused, then joins them all. */
static void create_until_refused(mltp_t *(*create)(mltp_userf_t *, void *), size_t most) {
  mltp_t **threads = malloc(most * sizeof(mltp_t *));
  if (threads == NULL || mltp_init(1) != 0) _exit(1);
  limit_address_space(8 * MIB);
  size_t count = 0;
  while (count < most && (threads[count] = create(same, &threads[count])) != NULL) count++;
  if (count == most) _exit(2); /* the limit was not reached: the test shows nothing */
  for (size_t i = 0; i < count; i++) {
    void *result = NULL;
    if (mltp_join(threads[i], &result) != 0 || result != &threads[i]) _exit(3);
  }
  mltp_t *again = create(same, NULL); /* what was freed can be used again */
  if (again == NULL || mltp_join(again, NULL) != 0) _exit(4);
  if (mltp_finalize() != 0) _exit(5);
}

static void create_unbound(void) { create_until_refused(spawn, 1000000); }

static void create_bound(void) { create_until_refused(spawn_bound, 10000); }

static void mltp_create_until_memory_is_short(void) { check_child(create_unbound, NULL); }

static void mltp_create_bound_until_memory_is_short(void) { check_child(create_bound, NULL); }

/* Refused stacks are reported as documented. */
static void create_large(void) {
  mltp_attr_t attr = MLTP_ATTR_INIT;
  mltp_t *thread = NULL;
  attr.stack_size = (size_t)1 << 30;
  attr.bound = 1;
  if (mltp_init(1) != 0) _exit(1);
  limit_address_space(8 * MIB);
  if (mltp_create(&thread, &attr, same, NULL) != EAGAIN) _exit(2);
  if (mltp_finalize() != 0) _exit(3);
}

static void mltp_create_says_eagain(void) { check_child(create_large, NULL); }

/* What a program locks in memory, with all that it will map, is no more than it uses. */
static void create_locked(void) {
  enum { THREADS = 1000 };
  static mltp_t *threads[THREADS];
  struct rusage usage;
  if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0) _exit(0); /* not allowed here */
  if (mltp_init(0) != 0) _exit(1);
  for (int i = 0; i < THREADS; i++)
    if ((threads[i] = spawn(same, &threads[i])) == NULL) _exit(2);
  for (int i = 0; i < THREADS; i++) {
    void *result = NULL;
    if (mltp_join(threads[i], &result) != 0 || result != &threads[i]) _exit(3);
  }
  if (mltp_finalize() != 0 || getrusage(RUSAGE_SELF, &usage) != 0) _exit(4);
  if ((size_t)usage.ru_maxrss > GIB / 1024) _exit(5);
}

static void mltp_create_in_locked_memory(void) {
  if (on_kernel_backend()) skip(); /* libc's stacks are whole in memory then */
  check_child(create_locked, NULL);
}

int main(void) {
  if (SANITIZED || EMULATED) {
    fprintf(stderr, "skipped: sanitizers and emulators need address space of their own\n");
    return 77;
  }
  const struct CMUnitTest tests[] = {
      TEST_BARE(mltp_init_in_little_memory),
      TEST_BARE(stacks_leave_half_of_a_limited_address_space),
      TEST_BARE(stacks_take_the_given_address_space),
      TEST_BARE(stacks_reserve_what_they_need),
      TEST_BARE(mltp_create_until_memory_is_short),
      TEST_BARE(mltp_create_bound_until_memory_is_short),
      TEST_BARE(mltp_create_says_eagain),
      TEST_BARE(mltp_create_in_locked_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
