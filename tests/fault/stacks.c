/* SPDX-License-Identifier: Apache-2.0 */
/* More threads than there is room for stacks: some wait until others end, and all end right. */
#define _GNU_SOURCE /* memfd_create() */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/support.h"

/* Room for 256 stacks of the default size. */
static const char *const little_room[] = {"MLTP_STACK_SPACE=67108864", "MLTP_BACKEND=native", NULL};
static const char *const little_seeded[] = {"MLTP_STACK_SPACE=67108864", "MLTP_BACKEND=native",
                                            "MLTP_SEED=7", NULL};
static const char *const little_single[] = {"MLTP_STACK_SPACE=67108864", "MLTP_BACKEND=native",
                                            "MLTP_SCHED=single", NULL};
static const char *const little_multi[] = {"MLTP_STACK_SPACE=67108864", "MLTP_BACKEND=native",
                                           "MLTP_SCHED=multi", NULL};
static const char *const little_freelist[] = {"MLTP_STACK_SPACE=67108864", "MLTP_BACKEND=native",
                                              "MLTP_SCHED=freelist", NULL};
static const char *const little_idleq[] = {"MLTP_STACK_SPACE=67108864", "MLTP_BACKEND=native",
                                           "MLTP_SCHED=idleq", NULL};
static const char *const little_local[] = {"MLTP_STACK_SPACE=67108864", "MLTP_BACKEND=native",
                                           "MLTP_SCHED=local", NULL};
static const char *const *const strategies[] = {little_single, little_multi, little_freelist,
                                                little_idleq, little_local};
static struct outcome outcome;
static unsigned vps;

/* Each thread gets the address of its handle, and returns it. */
static void create_all(mltp_t **threads, int count, mltp_userf_t *function) {
  if (mltp_init(vps) != 0) _exit(1);
  for (int i = 0; i < count; i++)
    if (mltp_create(&threads[i], NULL, function, &threads[i]) != 0) _exit(2);
}

static void join(mltp_t **thread) {
  void *result = NULL;
  if (mltp_join(*thread, &result) != 0 || result != thread) _exit(3);
}

static void join_all(mltp_t **threads, int count) {
  for (int i = 0; i < count; i++) join(&threads[i]);
  if (mltp_finalize() != 0) _exit(4);
}

static void *yield_often(void *arg) {
  for (int i = 0; i < 50; i++) mltp_yield();
  return arg;
}

/* Eight times as many as there is room for; twice as many under a sanitizer, where a stack takes
 * longest. */
static void run_many(void) {
  enum { MANY = SANITIZED ? 600 : 2000 };
  static mltp_t *threads[MANY];
  create_all(threads, MANY, yield_often);
  join_all(threads, MANY);
}

/* Threads of all priorities that start at all times while the room is full. */
static void *create_and_join(void *arg) {
  mltp_attr_t attr = MLTP_ATTR_INIT;
  mltp_t *children[4];
  for (int i = 0; i < 4; i++) {
    attr.priority = i % 3 - 1;
    if (mltp_create(&children[i], &attr, yield_often, &children[i]) != 0) _exit(5);
    mltp_yield();
  }
  for (int i = 0; i < 4; i++) join(&children[i]);
  return arg;
}

static void run_families(void) {
  enum { FAMILIES = SANITIZED ? 120 : 200 };
  static mltp_t *parents[FAMILIES];
  create_all(parents, FAMILIES, create_and_join);
  join_all(parents, FAMILIES);
}

/* All that have started sleep, so no thread runs while others wait for their stacks. */
static void *sleep_a_little(void *arg) {
  mltp_sleep(2000000);
  return arg;
}

static void run_sleepers(void) {
  enum { MANY = 1000 };
  static mltp_t *threads[MANY];
  create_all(threads, MANY, sleep_a_little);
  for (int i = MANY - 1; i >= 0; i--) join(&threads[i]);
  if (mltp_finalize() != 0) _exit(4);
}

/* Threads that have started wait for the main thread, which waits for none of them. */
static mltp_sem_t go = MLTP_SEM_INIT(0);

static void *wait_to_go(void *arg) {
  mltp_sem_wait(&go);
  return arg;
}

/* On one VP more threads than there is room for have been met by now. */
static void look_at_dump(void) {
  static char dump[1 << 18];
  int fd = memfd_create("dump", 0);
  mltp_dump(fd);
  if (pread(fd, dump, sizeof dump - 1, 0) <= 0) _exit(6);
  if (strstr(dump, "waits for memory for its stack of 256 KiB") == NULL) _exit(7);
  close(fd);
}

static void run_waiters(void) {
  enum { MANY = 400 };
  static mltp_t *threads[MANY];
  create_all(threads, MANY, wait_to_go);
  for (int i = 0; i < MANY; i++) mltp_yield();
  if (vps == 1 && getenv("MLTP_SCHED") == NULL && !seeded()) look_at_dump();
  for (int i = 0; i < MANY; i++) mltp_sem_post(&go);
  join_all(threads, MANY);
}

/* Stacks of other sizes than the threads have that come later. */
static void create_with(mltp_t **thread, size_t stack_size) {
  mltp_attr_t attr = MLTP_ATTR_INIT;
  attr.stack_size = stack_size;
  if (mltp_create(thread, &attr, yield_often, thread) != 0) _exit(2);
}

/* Large stacks take all of the room and become free. Small threads get them, and large ones that
 * come with these get them, too. */
static void run_sizes(void) {
  enum { LARGE = 4 << 20, SMALL = 64 << 10, FEW = 20, MANY = 500 };
  static mltp_t *threads[MANY];
  if (mltp_init(vps) != 0) _exit(1);
  for (int i = 0; i < FEW; i++) create_with(&threads[i], LARGE);
  for (int i = 0; i < FEW; i++) join(&threads[i]);
  for (int i = 0; i < MANY; i++) create_with(&threads[i], i % 10 == 0 ? LARGE : SMALL);
  join_all(threads, MANY);
}

/* fills: on one VP the room is full for certain. */
static void check_up_to(unsigned most, void (*body)(void), const char *const *settings,
                        bool fills) {
  for (vps = 1; vps <= most; vps *= 2) {
    run_child(&outcome, body, settings);
    if (!WIFEXITED(outcome.status) || WEXITSTATUS(outcome.status) != 0)
      print_message("%u VPs, status %#x: %s", vps, (unsigned)outcome.status, outcome.said);
    assert_true(WIFEXITED(outcome.status));
    assert_int_equal(WEXITSTATUS(outcome.status), 0);
    if (fills && vps == 1) assert_non_null(strstr(outcome.said, "no memory for its stack of "));
  }
}

static void check(void (*body)(void), const char *const *settings, bool fills) {
  check_up_to(8, body, settings, fills);
}

static void many_threads_take_turns(void **state) {
  (void)state;
  check(run_many, little_room, false);
}

static void families_take_turns(void **state) {
  (void)state;
  check(run_families, little_room, false);
}

static void waiters_take_turns(void **state) {
  (void)state;
  check(run_waiters, little_room, true);
}

static void sleepers_take_turns(void **state) {
  (void)state;
  check(run_sleepers, little_room, false);
}

static void seeded_threads_take_turns(void **state) {
  (void)state;
  check(run_waiters, little_seeded, true);
}

static void larger_stacks_serve_small_threads(void **state) {
  (void)state;
  check(run_sizes, little_room, true);
}

static void threads_of_strategies_take_turns(void **state) {
  (void)state;
  const unsigned most = SANITIZED ? 2 : 8; /* their VPs spin, for minutes under a sanitizer */
  for (size_t i = 0; MLTP_ALTERNATIVES && i < sizeof strategies / sizeof *strategies; i++) {
    check_up_to(most, run_many, strategies[i], false);
    check_up_to(most, run_families, strategies[i], false);
    check_up_to(most, run_waiters, strategies[i], true);
    check_up_to(most, run_sleepers, strategies[i], false);
    check_up_to(most, run_sizes, strategies[i], true);
  }
}

int main(void) {
  if (EMULATED) {
    fprintf(stderr, "skipped: an emulator needs address space of its own\n");
    return 77;
  }
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(many_threads_take_turns),
      cmocka_unit_test(families_take_turns),
      cmocka_unit_test(waiters_take_turns),
      cmocka_unit_test(sleepers_take_turns),
      cmocka_unit_test(seeded_threads_take_turns),
      cmocka_unit_test(larger_stacks_serve_small_threads),
      cmocka_unit_test(threads_of_strategies_take_turns),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
