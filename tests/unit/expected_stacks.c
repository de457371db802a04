/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks that are expected get their guards all at once. Every stack has its guard then, and none
 * lies on a guard that was made for others, whatever sizes come between. */
#define _GNU_SOURCE /* syscall() */
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/internal/process.h"
#include "core/internal/thread.h"
#include "support/support.h"

#define KIB ((size_t)1024)
#define MIB (1024 * KIB)

enum { MOST = 40, NO_GUARD = 20, NO_STACK = 21 };

/* Beside qemu tests have little address space. */
#define ENOUGH_SPACE (EMULATED ? "MLTP_STACK_SPACE=4294967296" : NULL)

static const char *const large[] = {"MLTP_STACK_SIZE=67108864", "MLTP_BACKEND=native", ENOUGH_SPACE,
                                    NULL};
static const char *const advised[] = {"MLTP_STACK_SIZE=67108864", "MLTP_BACKEND=native",
                                      "MLTP_GUARD=madvise", ENOUGH_SPACE, NULL};
static const char *const small[] = {"MLTP_STACK_SIZE=65536", "MLTP_BACKEND=native", NULL};
static const char *const little_room[] = {"MLTP_STACK_SIZE=67108864", "MLTP_BACKEND=native",
                                          "MLTP_STACK_SPACE=1073741824", NULL};

struct stacks {
  const char *const *settings;
  int expected, threads;
  size_t other; /* the size of each fourth thread's stack; 0: the usual one */
};

static const struct stacks cases[] = {
    {large, 0, MOST, 0},
    {large, MOST, MOST, 0},
    {large, 3, MOST, 0},
    {large, MOST, 3, 0},
    {large, MOST, MOST, 256 * KIB},
    {large, MOST, MOST, 32 * MIB},
    {advised, MOST, MOST, 256 * KIB},
    {small, MOST, MOST, 32 * MIB},
    {little_room, 100, 10, 0},
};

static const struct stacks *stacks;
static mltp_barrier_t all_have_stacks;
static int probe; /* a pipe */

/* Where an access would end the process, the kernel says EFAULT. No interceptor looks first. */
static bool is_readable(const char *address) { return syscall(SYS_write, probe, address, 1) == 1; }

static void *look_at_stack(void *guard_size) {
  const char *low = NULL;
  size_t size = 0, guard = (size_t)guard_size;
  mltp_barrier_wait(&all_have_stacks);
  if (!mti_stack_of(mltp_self(), &low, &size)) _exit(1);
  if (is_readable(low - 1) || is_readable(low - guard)) _exit(NO_GUARD);
  if (!is_readable(low) || !is_readable(low + size / 2)) _exit(NO_STACK);
  mltp_barrier_wait(&all_have_stacks);
  return NULL;
}

static void run(void) {
  static mltp_t *threads[MOST];
  int ends[2];
  mti_expect_stacks((size_t)stacks->expected);
  if (mltp_init(2) != 0 || pipe(ends) != 0) _exit(1);
  probe = ends[1];
  mltp_barrier_init(&all_have_stacks, (unsigned)stacks->threads, NULL);
  size_t usual = strtoul(getenv("MLTP_STACK_SIZE"), NULL, 10);
  for (int i = 0; i < stacks->threads; i++) {
    mltp_attr_t attr = MLTP_ATTR_INIT;
    attr.stack_size = stacks->other != 0 && i % 4 == 3 ? stacks->other : usual;
    size_t guard = attr.stack_size >= 16 * MIB ? MIB : 4 * KIB;
    if (mltp_create(&threads[i], &attr, look_at_stack, (void *)guard) != 0) _exit(2);
  }
  for (int i = 0; i < stacks->threads; i++)
    if (mltp_join(threads[i], NULL) != 0) _exit(3);
  if (mltp_finalize() != 0) _exit(4);
}

static void every_stack_has_its_guard(void) {
  static struct outcome outcome;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    stacks = &cases[i];
    run_child(&outcome, run, stacks->settings);
    check_case("%d expected, %d threads, %zu KiB between: %s", stacks->expected, stacks->threads,
               stacks->other / KIB, outcome.said);
    CHECK(WIFEXITED(outcome.status));
    CHECK_EQUAL(WEXITSTATUS(outcome.status), 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {TEST_BARE(every_stack_has_its_guard)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
