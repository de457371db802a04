/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file played.h
 * Permits, the ready queue and the lot (src/gate/permits.c, lot.c) in a program in which one kernel
 * thread plays all others: the kernel, mltpd, the monitor and the seed are the test's own. What
 * happens while a thread sleeps is a function of the test's.
 */
#ifndef TESTS_GATE_PLAYED_H
#define TESTS_GATE_PLAYED_H

#include "gate/permits.c"

#include "gate/lot.c"
#include "support/plain.h"

enum {
  MANY = 40,
  HERE = 3,
  ELSEWHERE = 4,
  AWAKE = 32 /* threads that a call wakes when the lock is free */
};

static struct gt_thread t[MANY];

/* What the others do, and what they were asked for. */
static struct {
  int watches, monitor_wakes, rings, turns, asides_ended, children, handlers, seed_points,
      seed_picks, seed_yields;
  bool takes_monitor, rings_back, picks;
  int reports;
  uint32_t active, demand;
  uint64_t now;
  uint32_t *woken[2 * MANY];
  int woken_count, cpu;
  uint64_t cpu_ns;
  void (*meanwhile)(void); /* while the caller sleeps */
  int sleeps, sleep_error;
  clockid_t clock;
  const struct timespec *until;
} others;

static uint32_t granted; /* by mltpd */
struct mt_client_view mt_client_view = {.granted = &granted};
bool gt_seeded, gt_aside_allowed;

void gt_monitor_watch(void) { others.watches++; }

bool gt_monitor_take(void) {
  EQUAL(lock, 1);
  return others.takes_monitor;
}

void gt_monitor_wake(void) {
  CHECK(lock == 0);
  others.monitor_wakes++;
}

void gt_aside_turn(void) { others.turns++; }

void gt_aside_end(void) { others.asides_ended++; }

void gt_begin_child(void) {
  others.children++;
  *gt_mark = 1;
}

void gt_handlers_run(struct gt_thread *me) {
  CHECK(me == &gt_me && !me->locked && lock == 0);
  me->put_off = false;
  others.handlers++;
}

bool gt_seed_pick(void) {
  others.seed_picks++;
  return others.picks;
}

void gt_seed_yield(struct gt_thread *me) { others.seed_yields += me == &gt_me; }

void gt_seed_point(struct gt_thread *me, const char *call) {
  CHECK(me == &gt_me && strcmp(call, "call") == 0 && lock == 0);
  others.seed_points++;
}

uint64_t gt_seed_deadline(const struct timespec *until, clockid_t clock) {
  return (uint64_t)until->tv_sec + (uint64_t)clock;
}

void gt_priority_refresh(struct gt_thread *me) { me->asked_for++; }

bool mt_client_report(uint32_t active, uint32_t demand) {
  others.reports++;
  others.active = active;
  others.demand = demand;
  return others.rings_back;
}

void mt_client_ring(void) {
  CHECK(lock == 0);
  others.rings++;
}

uint32_t mt_client_follow(void) {
  mt_client_view.seen = granted;
  return granted;
}

void __wrap_os_futex_wake(uint32_t *word, int count);
void __wrap_os_futex_wake(uint32_t *word, int count) {
  EQUAL(count, 1);
  others.woken[others.woken_count++] = word;
}

int __wrap_sched_getcpu(void);
int __wrap_sched_getcpu(void) {
  errno = ENOSYS; /* no call of the program's shows it */
  return others.cpu;
}

uint64_t __wrap_os_now(void);
uint64_t __wrap_os_now(void) { return others.now; }

uint64_t __wrap_os_task_cpu_time(const struct os_task *task);
uint64_t __wrap_os_task_cpu_time(const struct os_task *task) {
  EQUAL(task->tid, 77);
  return others.cpu_ns;
}

int gt_futex_wait(uint32_t *word, uint32_t expected, clockid_t clock,
                  const struct timespec *until) {
  CHECK(word == &gt_me.wake && expected == GT_NO_PERMIT && lock == 0);
  EQUAL(gt_me.sleeps, 1);
  EQUAL(gt_me.open, 0);
  others.clock = clock;
  others.until = until;
  others.sleeps++;
  CHECK(others.sleeps < 10); /* nobody would wake it */
  if (others.meanwhile != NULL) others.meanwhile();
  return others.sleep_error;
}

static inline void begin(int permits, int most) {
  memset(t, 0, sizeof t);
  memset(&others, 0, sizeof others);
  memset(gt_slots, 0, sizeof gt_slots);
  memset(gt_waiters, 0, sizeof gt_waiters);
  gt_me = (struct gt_thread){.tid = 77};
  gt_gate = (struct gt_gate){.permits = permits, .most = most};
  due.count = 0;
  due.ring = false;
  gt_seeded = gt_aside_allowed = false;
  granted = mt_client_view.seen = 0;
  others.cpu = HERE;
}

static inline void make_ready(int from, int to) {
  gt_lock(&gt_me);
  for (int i = from; i <= to; i++) gt_make_ready(&t[i]);
  gt_unlock(&gt_me);
}

/* The caller has a permit, and calls go through the gate. */
static inline void caller_runs(void) {
  gt_lock(&gt_me);
  gt_make_ready(&gt_me);
  gt_unlock(&gt_me);
  gt_await_permit(&gt_me);
  EQUAL(gt_me.state, GT_RUNS);
}

/* The threads of a queue in both directions: digits of t[], '-' for the caller. */
static inline void check_queue(const struct gt_queue *queue, const char *expected) {
  const struct gt_thread *at = queue->first, *last = NULL;
  for (const char *c = expected; *c != '\0'; c++) {
    CHECK(at == (*c == '-' ? &gt_me : &t[*c - '0']) && at->prev == last);
    last = at;
    at = at->next;
  }
  CHECK(at == NULL && queue->last == last);
}

/* The same of a list of threads that run, or were caught. */
static inline void check_list(const struct gt_thread *first, const char *expected) {
  const struct gt_thread *at = first, *last = NULL;
  for (const char *c = expected; *c != '\0'; c++) {
    CHECK(at == (*c == '-' ? &gt_me : &t[*c - '0']) && at->before == last);
    last = at;
    at = at->after;
  }
  CHECK(at == NULL);
}

static inline void check_counts(int running, int ready, int eager) {
  EQUAL(gt_gate.running, running);
  EQUAL(gt_gate.ready, ready);
  EQUAL(gt_gate.eager, eager);
}

#endif
