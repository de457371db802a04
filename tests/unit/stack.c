/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks have the size asked for, and keep what is on them. */
#define _GNU_SOURCE /* the runtime's headers want it */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/options.h"
#include "core/memory/stack.h"
#include "core/vp/vp.h"
#include "support/support.h"

#define KIB ((size_t)1024)
#define MIB (1024 * KIB)
#define FRAME KIB

/* Fills bytes of stack frame by frame, yields at the bottom, and checks every frame on
 * the way back. @return how many bytes were wrong */
static __attribute__((noinline)) size_t fill_and_check(size_t bytes, char pattern) {
  volatile char frame[FRAME];
  size_t wrong = 0;
  memset((char *)frame, pattern, sizeof frame);
  if (bytes > 2 * FRAME) {
    wrong = fill_and_check(bytes - FRAME - 64, (char)(pattern + 1)); /* 64: the call itself */
  } else {
    mltp_yield();
  }
  for (size_t i = 0; i < sizeof frame; i += 64) wrong += frame[i] != pattern;
  return wrong;
}

static void *use_stack(void *p0) { return (void *)fill_and_check((size_t)p0, 1); }

/* Instrumented frames are larger: then half of what is asked for proves enough. A context of
 * libc's takes 4.5 KiB on 64-bit Arm, and there are two on a stack that was switched away from. */
static size_t most_of(size_t size) {
  size_t spare = size / 8 > 16 * KIB ? size / 8 : 16 * KIB;
  return SANITIZED ? size / 4 : size - spare;
}

static void check_size(size_t size, size_t touched, int bound) {
  enum { COUNT = 3 };
  /* A sanitizer's thread-local data, about a megabyte, lies in a bound thread's stack. */
  if (SANITIZED && bound && size < 4 * MIB) return;
  mltp_t *threads[COUNT];
  mltp_attr_t attr = MLTP_ATTR_INIT;
  attr.stack_size = size;
  attr.bound = bound;
  check_case("%zu KiB, %s", size / KIB, bound ? "bound" : "unbound");
  for (int i = 0; i < COUNT; i++) {
    CHECK_EQUAL(mltp_create(&threads[i], &attr, use_stack, (void *)touched), 0);
  }
  for (int i = 0; i < COUNT; i++) {
    void *wrong = (void *)1;
    CHECK_EQUAL(mltp_join(threads[i], &wrong), 0);
    CHECK_EQUAL((intptr_t)wrong, 0);
  }
}

static void stack_size_is_honoured(void) {
  const size_t sizes[] = {64 * KIB, 256 * KIB, MIB, 64 * MIB};
  for (int bound = 0; bound < 2; bound++) {
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
      check_size(sizes[i], most_of(sizes[i]), bound);
    }
  }
}

static void stack_size_default(void) {
  check_size(0, most_of(256 * KIB), 0);
  check_size(0, most_of(256 * KIB), 1);
}

/* With larger pages there is as much behind the guard page. */
static void stack_classes_for_large_pages(void) {
  for (size_t size = 1; size < 16 * MIB; size = 2 * size + 1) {
    for (size_t page = 4 * KIB; page <= 64 * KIB; page *= 4) {
      size_t usual = (size_t)1 << mt_stack_class_for(size, 4 * KIB);
      size_t whole = (size_t)1 << mt_stack_class_for(size, page);
      check_case("%zu bytes, pages of %zu", size, page);
      CHECK(usual >= size && usual >= 16 * KIB);
      CHECK(whole >= 2 * page && whole - page + 4 * KIB >= size);
    }
  }
  CHECK_EQUAL(mt_stack_class_for(64 * KIB, 64 * KIB), 17);
  CHECK_EQUAL(mt_stack_class_for(64 * MIB, 64 * KIB), 26);
  CHECK_EQUAL(mt_stack_class_for((size_t)2 << 30, 4 * KIB), -1);
}

static void stack_size_is_rounded_up(void) { check_size(MIB + 1, most_of(2 * MIB), 0); }

static void *nothing(void *p0) { return p0; }

/* However little is asked for, a thread that does little runs. */
static void stack_size_small(void) {
  const size_t sizes[] = {1, 4 * KIB, 16 * KIB};
  for (int bound = 0; bound < 2; bound++) {
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
      mltp_attr_t attr = MLTP_ATTR_INIT;
      attr.stack_size = sizes[i];
      attr.bound = bound;
      mltp_t *thread = NULL;
      check_case("%zu bytes, %s", sizes[i], bound ? "bound" : "unbound");
      CHECK_EQUAL(mltp_create(&thread, &attr, nothing, NULL), 0);
      CHECK_EQUAL(mltp_join(thread, NULL), 0);
    }
  }
}

static void *use_and_wait(void *p0) {
  size_t wrong = fill_and_check(8 * KIB, 9);
  mltp_barrier_wait(p0);
  return (void *)(wrong + fill_and_check(8 * KIB, 17));
}

/* Many sizes at a time do not get in each other's way, and stacks are used again. */
static void stacks_of_many_sizes_together(void) {
  enum { COUNT = 60 };
  mltp_t *threads[COUNT];
  for (int round = 0; round < 5; round++) {
    mltp_barrier_t barrier = MLTP_BARRIER_INIT(COUNT);
    for (int i = 0; i < COUNT; i++) {
      mltp_attr_t attr = MLTP_ATTR_INIT;
      attr.stack_size = (64 * KIB) << ((i + round) % 6);
      CHECK_EQUAL(mltp_create(&threads[i], &attr, use_and_wait, &barrier), 0);
    }
    for (int i = 0; i < COUNT; i++) {
      void *wrong = (void *)1;
      CHECK_EQUAL(mltp_join(threads[i], &wrong), 0);
      CHECK_EQUAL((intptr_t)wrong, 0);
    }
  }
}

static void *check_alignment(void *p0) {
  (void)p0;
  double aligned __attribute__((aligned(16)));
  volatile double *address = &aligned;
  *address = 1.5;
  return (void *)((uintptr_t)address % 16);
}

static void *frame_address(void *p0) {
  (void)p0;
  return (void *)((uintptr_t)__builtin_frame_address(0) % 16);
}

/* The psABI: the frame pointer of a function is 16-byte aligned on x86-64 and aarch64. */
static void stacks_are_aligned(void) {
  for (int bound = 0; bound < 2; bound++) {
    mltp_attr_t attr = MLTP_ATTR_INIT;
    attr.bound = bound;
    mltp_userf_t *const funcs[] = {check_alignment, frame_address};
    for (int i = 0; i < 2; i++) {
      mltp_t *thread = NULL;
      void *offset = (void *)1;
      CHECK_EQUAL(mltp_create(&thread, &attr, funcs[i], NULL), 0);
      CHECK_EQUAL(mltp_join(thread, &offset), 0);
      CHECK_EQUAL((intptr_t)offset, 0);
    }
  }
}

/* Stacks in powers of two begin at pages that a TLB keeps in one set. So their tops differ in the
 * low bits of the page number. */
static void *page_of_frame(void *all_began) {
  uintptr_t page = (uintptr_t)__builtin_frame_address(0) / (uintptr_t)sysconf(_SC_PAGESIZE);
  mltp_waitgroup_done(all_began);
  mltp_waitgroup_wait(all_began);
  return (void *)page;
}

static void tops_of_large_stacks_are_in_different_sets(void) {
  enum { THREADS = 64, SETS = 128 };
  if (on_kernel_backend()) return; /* the kernel's and libc's own stacks */
  mltp_t *threads[THREADS];
  size_t found = 0;
  bool seen[SETS] = {false};
  mltp_waitgroup_t all_began = MLTP_WAITGROUP_INIT;
  mltp_attr_t attr = MLTP_ATTR_INIT;
  attr.stack_size = MIB;
  mltp_waitgroup_add(&all_began, THREADS);
  for (int i = 0; i < THREADS; i++)
    CHECK_EQUAL(mltp_create(&threads[i], &attr, page_of_frame, &all_began), 0);
  for (int i = 0; i < THREADS; i++) {
    void *number = NULL;
    CHECK_EQUAL(mltp_join(threads[i], &number), 0);
    bool *set = &seen[(uintptr_t)number % SETS];
    found += !*set;
    *set = true;
  }
  CHECK(found >= THREADS / 2);
}

/* ------------------------------------------------------------------- trimming */

#define BURST 200

/* Bytes of memory the process has now. */
static size_t resident(void) {
  size_t total = 0, pages = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  if (file == NULL || fscanf(file, "%zu %zu", &total, &pages) != 2) CHECK(!"/proc/self/statm");
  if (file != NULL) fclose(file);
  return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static void *use_much_and_wait(void *p0) {
  size_t wrong = fill_and_check(128 * KIB, 3);
  mltp_barrier_wait(p0);
  return (void *)wrong;
}

/* Threads that touch 128 KiB each and end. @return bytes of memory the process had before */
static size_t burst_of(unsigned count) {
  mltp_t *threads[BURST];
  mltp_barrier_t barrier = MLTP_BARRIER_INIT(count);
  size_t before = resident();
  for (unsigned i = 0; i < count; i++) threads[i] = spawn(use_much_and_wait, &barrier);
  for (unsigned i = 0; i < count; i++) {
    void *wrong = (void *)1;
    mltp_join(threads[i], &wrong);
    CHECK_EQUAL((intptr_t)wrong, 0);
  }
  return before;
}

static bool most_is_given_back(size_t before) {
  return resident() < before + BURST * 128 * KIB / 2;
}

static bool can_see_memory(void) { return !SANITIZED && !on_kernel_backend(); }

/* One VP is awake from now on, so no other has stacks that are not trimmed. Some strategies let
 * other VPs spin for a while. */
static void leave_one_vp_awake(void) {
  enum { MS = 1000000, TRIES = 10000 };
  CHECK_EQUAL(mltp_set_vps(1), 0);
  for (int i = 0; i < TRIES && mt_load_relaxed(&mt_rt.idle.awake) > 1; i++) mltp_sleep(MS);
}

static void mltp_trim_gives_memory_back(void) {
  if (!can_see_memory()) return;
  leave_one_vp_awake();
  size_t before = burst_of(BURST);
  mltp_trim();
  CHECK(most_is_given_back(before));
  burst_of(BURST); /* trimmed stacks work */
}

static void mltp_trim_of_any_number(void) {
  CHECK_EQUAL(mltp_set_vps(1), 0);
  for (unsigned count = 1; count < BURST; count = 2 * count + 1) {
    mltp_trim();
    burst_of(count);
    mltp_trim();
    burst_of(count + 1);
  }
}

/* Else this hangs. */
static void unused_stacks_are_trimmed(void) {
  if (!can_see_memory()) return;
  size_t before = burst_of(BURST);
  while (!most_is_given_back(before)) mltp_sleep(50000000);
  burst_of(BURST);
}

static mltp_sem_t given_back;

static void *post_when_given_back(void *before) {
  const struct timespec ten_ms = {.tv_nsec = 10000000};
  while (!most_is_given_back((size_t)before)) nanosleep(&ten_ms, NULL);
  mltp_sem_post(&given_back);
  return NULL;
}

/* Else this hangs: all VPs sleep, and the watchdog has no timer and no deadlock to look for. */
static void stacks_are_trimmed_while_all_wait(void) {
  pthread_t observer;
  if (!can_see_memory()) return;
  int64_t deadlock = mt_options.deadlock;
  mt_options.deadlock = MT_DEADLOCK_OFF;
  mltp_sem_init(&given_back, 0, NULL);
  size_t before = burst_of(BURST);
  CHECK_EQUAL(pthread_create(&observer, NULL, post_when_given_back, (void *)before), 0);
  mltp_sem_wait(&given_back);
  CHECK_EQUAL(pthread_join(observer, NULL), 0);
  mt_options.deadlock = deadlock;
}

static atomic_bool at_end;

static void *create_and_join(void *p0) {
  while (!atomic_load(&at_end)) mltp_join(spawn(nothing, NULL), NULL);
  return p0;
}

enum { MANY = 4000 };
static mltp_t *many[MANY];

static void *use_some_and_wait(void *p0) {
  size_t wrong = fill_and_check(16 * KIB, 5);
  mltp_barrier_wait(p0);
  return (void *)wrong;
}

static void *wait_for_all(void *p0) {
  mltp_barrier_wait(p0);
  return NULL;
}

static void run_many(mltp_userf_t *body) {
  mltp_barrier_t barrier = MLTP_BARRIER_INIT(MANY);
  for (int i = 0; i < MANY; i++) many[i] = spawn(body, &barrier);
  for (int i = 0; i < MANY; i++) mltp_join(many[i], NULL);
}

/* Else this hangs: no VP sleeps, so none is the watchdog. A VP that is awake keeps 512 stacks. */
static void busy_vps_trim(void) {
  enum { VPS = 2 };
  mltp_t *busy[VPS];
  /* Strategies have lists of their own, and some hardly get to the end beside busy threads. */
  if (!can_see_memory() || getenv("MLTP_SCHED") != NULL) return;
  CHECK_EQUAL(mltp_set_vps(VPS), 0);
  size_t before = resident();
  run_many(use_some_and_wait);
  for (int i = 0; i < VPS; i++) busy[i] = spawn(create_and_join, NULL);
  while (resident() > before + MANY * 16 * KIB / 2) mltp_yield();
  atomic_store(&at_end, true);
  for (int i = 0; i < VPS; i++) mltp_join(busy[i], NULL);
  atomic_store(&at_end, false);
  run_many(use_some_and_wait);
}

/* One of 64 keeps a page, and all of them work again. A descriptor is smaller than a KiB. */
static void trimmed_stacks_keep_no_page(void) {
  if (!can_see_memory()) return;
  leave_one_vp_awake();
  mltp_trim();
  size_t before = resident();
  for (int round = 0; round < 3; round++) {
    run_many(wait_for_all);
    mltp_trim();
    CHECK(resident() < before + MANY * 2 * KIB);
  }
}

/* What tmpirun counts for ranks: a large guard takes two mappings, until their share is used. Other
 * guards take none. */
static void mappings_of_guards(void) {
  size_t share = (size_t)os_max_mappings() / MT_STACK_LARGE_SHARE;
  size_t some = share / 5 * 2; /* three for each would be too many */
  CHECK_EQUAL(mltp_init(1), 0);
  CHECK_EQUAL(mt_stack_mappings(some), 0);
  CHECK_EQUAL(mltp_finalize(), 0);
  setenv("MLTP_STACK_SIZE", "16777216", 1);
  CHECK_EQUAL(mltp_init(1), 0);
  CHECK_EQUAL(mt_stack_mappings(1), 2);
  CHECK_EQUAL(mt_stack_mappings(some), 2 * some);
  CHECK_EQUAL(mt_stack_mappings(share), share);
  CHECK_EQUAL(mltp_finalize(), 0);
  unsetenv("MLTP_STACK_SIZE");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(stack_size_is_honoured),
      TEST(stack_size_default),
      TEST(stack_classes_for_large_pages),
      TEST(stack_size_is_rounded_up),
      TEST(stack_size_small),
      TEST(stacks_of_many_sizes_together),
      TEST(stacks_are_aligned),
      TEST(tops_of_large_stacks_are_in_different_sets),
      TEST_BARE(mappings_of_guards),
      TEST(mltp_trim_of_any_number),
      TEST_UNMONITORED(mltp_trim_gives_memory_back),
      TEST(unused_stacks_are_trimmed),
      TEST(stacks_are_trimmed_while_all_wait),
      TEST(busy_vps_trim),
      TEST_UNMONITORED(trimmed_stacks_keep_no_page),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
