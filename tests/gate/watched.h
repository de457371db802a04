/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file watched.h
 * The monitor (src/gate/monitor.c) in a program of its own: the clock, the threads' CPU times and
 * their states are the test's.
 */
#ifndef TESTS_GATE_WATCHED_H
#define TESTS_GATE_WATCHED_H

#include "gate/monitor.c"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "support/plain.h"

enum { MS = 1000000, MANY = 70, FIRST = 100 /* tid of t[0] */, NAPS = 32 };

static struct gt_thread t[MANY];
static struct {
  enum os_task_state state[MANY];
  uint64_t cpu_ns[MANY];
} kernel;

static struct {
  uint64_t now, cpu_ns, aside, passed, aside_began, naps[NAPS];
  int locks, caught[MANY], caught_count, grants, counts, looks_aside, asides_ended, watches,
      nap_count, states_read, messages, waits, wakes, masks, creates, client_looks, create_error;
  bool turn_meanwhile, steps, all_blocked, has_until;
  struct timespec until_then;
  uint32_t duty;
  void (*meanwhile)(void); /* while the monitor sleeps */
} seen;

struct gt_gate gt_gate;
__thread struct gt_thread gt_me;
struct gt_next gt_next;
struct mt_options mt_options;
bool gt_seeded;

void gt_lock(struct gt_thread *me) {
  CHECK(me == &gt_me);
  EQUAL(seen.locks++, 0);
}

void gt_unlock(struct gt_thread *me) {
  CHECK(me == &gt_me);
  EQUAL(--seen.locks, 0);
}

void gt_catch(struct gt_thread *which) {
  EQUAL(seen.locks, 1);
  seen.caught[seen.caught_count++] = (int)(which - t);
}

void gt_grant(void) {
  EQUAL(seen.locks, 1);
  seen.grants++;
}

void gt_count_early(void) { seen.counts++; }

void gt_aside_watch(void) { seen.watches++; }

uint64_t gt_aside_look(uint64_t passed) {
  seen.passed = passed;
  seen.looks_aside++;
  return seen.aside;
}

void gt_aside_begin(uint64_t now) { seen.aside_began = now; }

void gt_aside_end(void) { seen.asides_ended++; }

bool gt_step_is_on(void) { return seen.steps; }

void mt_client_look(uint64_t now) {
  EQUAL(now, seen.now);
  seen.client_looks++;
}

uint64_t __wrap_os_now(void);
uint64_t __wrap_os_now(void) { return seen.now; }

uint64_t __wrap_os_cpu_time(void);
uint64_t __wrap_os_cpu_time(void) { return seen.cpu_ns; }

void __wrap_os_nap(uint64_t ns);
void __wrap_os_nap(uint64_t ns) {
  CHECK(seen.nap_count < NAPS);
  seen.naps[seen.nap_count++] = ns;
  seen.now += ns;
  if (seen.meanwhile != NULL) seen.meanwhile();
}

uint64_t __wrap_os_task_cpu_time(const struct os_task *task);
uint64_t __wrap_os_task_cpu_time(const struct os_task *task) {
  EQUAL(seen.locks, 0);
  return kernel.cpu_ns[task->tid - FIRST];
}

enum os_task_state __wrap_os_task_state(const struct os_task *task);
enum os_task_state __wrap_os_task_state(const struct os_task *task) {
  EQUAL(seen.locks, 0);
  seen.states_read++;
  gt_gate.turns += seen.turn_meanwhile;
  return kernel.state[task->tid - FIRST];
}

void __wrap_os_futex_wake(uint32_t *word, int count);
void __wrap_os_futex_wake(uint32_t *word, int count) {
  CHECK(word == &watching && count == 1);
  seen.wakes++;
}

void __wrap_mt_message(const char *format, ...);
void __wrap_mt_message(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  CHECK(strcmp(format, "%s: this run may not replay") == 0 &&
        strncmp(va_arg(arguments, const char *), "a thread ", 9) == 0);
  va_end(arguments);
  seen.messages++;
}

int gt_futex_wait(uint32_t *word, uint32_t expected, clockid_t clock,
                  const struct timespec *until) {
  CHECK(word == &watching && clock == CLOCK_MONOTONIC && seen.waits++ < 10);
  EQUAL(expected, watching);
  seen.has_until = until != NULL;
  seen.duty = expected;
  if (until != NULL) seen.until_then = *until;
  if (until != NULL) return ETIMEDOUT;
  seen.meanwhile();
  return 0;
}

/* t[0], t[1] and so on have permits: `running` of them. ready: three more wait for one. */
static inline void begin(int running, bool ready) {
  memset(&seen, 0, sizeof seen);
  memset(&kernel, 0, sizeof kernel);
  memset(t, 0, sizeof t);
  gt_gate = (struct gt_gate){.permits = 2, .most = 2, .turns = 10, .ready = ready ? 3 : 0};
  if (ready) gt_gate.queue.first = &t[MANY - 1];
  for (int i = 0; i < MANY; i++) {
    t[i].tid = FIRST + i;
    t[i].counted = true;
    t[i].turn = gt_gate.turns;
    if (i + 1 < running) t[i].after = &t[i + 1];
  }
  gt_gate.runs = running > 0 ? &t[0] : NULL;
  last = ticked = begun = (struct times){.at = 0};
  seen.now = 1000 * MS;
  gt_seeded = all_have_run = false;
  calm = 0;
  ask_ns = ASK_NS;
  watching = WATCHES;
  aside_until = 0;
  mt_options.monitor = 1;
  started = wanted = false;
}

#endif
