/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How threads park and are resumed, and wait for stacks, step by step (src/core/wait/park.c,
 * src/core/sched/stack_wait.c): no thread is switched to. A number behind a name is a thread, or a
 * time since the begin in milliseconds.
 */
#define _GNU_SOURCE /* the runtime's headers want it */
#define mt_debug noted_debug
#include "core/wait/park.c"

#include "core/sched/stack_wait.c"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "support/noted.h"
#include "support/noted_message.h"
#include "support/support.h"
#include "support/vp_stage.h"

enum { THREADS = 8, ROUNDS = 4 };

static struct mltp_thread threads[THREADS];
static struct mltp_thread *const self = &threads[0]; /* the caller, which has no VP */

/* ---- what others are asked */

static void note_chain(const char *word, const struct mltp_thread *first) {
  note("%s", word);
  for (const struct mltp_thread *t = first; t != NULL; t = t->next) note("%d", (int)(t - threads));
}

/* What happens in each sleep, and how it ends. */
static struct {
  void (*meanwhile)(void);
  int result;
} sleeps[ROUNDS];
static int slept;
static uint32_t *word_seen;

static void suspected(void) { note("deadlock"); }

const struct mt_debug_hooks noted_debug = {.deadlock_suspected = suspected};

static void sleep_once(void) {
  CHECK(slept < ROUNDS);
  if (sleeps[slept].meanwhile != NULL) sleeps[slept].meanwhile();
}

int __wrap_os_futex_wait(uint32_t *word, uint32_t expected, uint64_t deadline);
int __wrap_os_futex_wait(uint32_t *word, uint32_t expected, uint64_t deadline) {
  CHECK_EQUAL(*word, expected);
  word_seen = word;
  if (deadline == MLTP_NEVER)
    note("sleep");
  else
    note("sleep:%d", (int)((deadline - begin) / ms));
  sleep_once();
  return sleeps[slept++].result;
}

void __wrap_os_nap(uint64_t ns);
void __wrap_os_nap(uint64_t ns) {
  CHECK_EQUAL(ns, MT_DEADLOCK_NS);
  note("nap");
  sleep_once();
  slept++;
}

void __wrap_mt_ready(struct mltp_thread *t);
void __wrap_mt_ready(struct mltp_thread *t) { note("ready:%d", (int)(t - threads)); }

void __wrap_mt_ready_chain(struct mltp_thread *first);
void __wrap_mt_ready_chain(struct mltp_thread *first) { note_chain("chain", first); }

void __wrap_mt_post_whole(struct mt_vp *to, struct mltp_thread *first);
void __wrap_mt_post_whole(struct mt_vp *to, struct mltp_thread *first) {
  note("post:%d", (int)(to - vps));
  note_chain("of", first);
}

void __wrap_mt_timers_flush(void);
void __wrap_mt_timers_flush(void) { note("flush"); }

int __wrap_mt_misuse(int error, const char *call, uint64_t id, const char *name, const char *format,
                     ...);
int __wrap_mt_misuse(int error, const char *call, uint64_t id, const char *name, const char *format,
                     ...) {
  va_list list;
  CHECK_TEXT(call, "mltp_x_destroy");
  CHECK(id == 7 && name != NULL);
  va_start(list, format);
  vsnprintf(message, sizeof message, format, list);
  va_end(list);
  note("misuse");
  return error;
}

bool __wrap_mt_stack_is_left(const struct mt_vp *vp, int class_log2);
static int class_left; /* log2 of the one size of which there is a free stack */
bool __wrap_mt_stack_is_left(const struct mt_vp *vp, int class_log2) {
  CHECK(vp == &vps[2]);
  return class_left == class_log2;
}

static void stage_waits(int count) {
  stage(count, count, count);
  memset(threads, 0, sizeof threads);
  memset(sleeps, 0, sizeof sleeps);
  slept = 0;
  trace[0] = '\0';
  mt_set_current(self);
  mt_rt.running = 1;
}

static void let_wait(mltp_waitq_t *queue, int thread) {
  mt_waitq_append(queue, &threads[thread]);
  threads[thread].waitq = queue;
}

static void check_queue(const mltp_waitq_t *queue, const char *expected) {
  const struct mltp_thread *at = queue->head_, *last = NULL;
  for (const char *c = expected; *c != '\0'; c++) {
    CHECK(at == &threads[*c - '0'] && at->prev == last);
    last = at;
    at = at->next;
  }
  CHECK(at == NULL && queue->tail_ == last && queue->count_ == strlen(expected));
  CHECK_EQUAL(queue->ilock_, 0);
}

/* ---- queues */

static void all_waiters_are_taken(void) {
  mltp_waitq_t queue = {0, 0, NULL, NULL};
  stage_waits(1);
  CHECK(mt_waitq_take_all(&queue) == NULL);
  for (int i = 1; i < 4; i++) let_wait(&queue, i);
  struct mltp_thread *first = mt_waitq_take_all(&queue);
  check_queue(&queue, "");
  for (int i = 1; i < 4; i++, first = first->next)
    CHECK(first == &threads[i] && first->waitq == NULL);
  CHECK(first == NULL);
}

static void a_waiter_alone_is_taken(void) {
  mltp_waitq_t queue = {0, 0, NULL, NULL};
  stage_waits(1);
  CHECK(mt_wait_take(&threads[1]) == NULL);
  let_wait(&queue, 1);
  CHECK(mt_wait_take(&threads[1]) == &threads[1]);
  check_queue(&queue, "");
  threads[1].waitq = &queue; /* its deadline comes at the same moment */
  CHECK(mt_wait_take(&threads[1]) == NULL);
  CHECK_EQUAL(queue.ilock_, 0);
}

static void a_deadline_takes_its_thread_out(void) {
  mltp_waitq_t queue = {0, 0, NULL, NULL};
  stage_waits(1);
  threads[2].vp = &vps[0];
  CHECK(!mt_park_timeout(&threads[2]));
  for (int i = 1; i < 4; i++) let_wait(&queue, i);
  CHECK(mt_park_timeout(&threads[2]));
  TRACE("ready:2");
  CHECK(threads[2].timed_out == 1 && threads[1].timed_out == 0 && threads[2].waitq == NULL);
  check_queue(&queue, "13");
  CHECK(!mt_park_timeout(&threads[2]));
  TRACE("");
}

static void objects_with_waiters_are_not_destroyed(void) {
  mltp_waitq_t queue = {0, 0, NULL, NULL};
  stage_waits(1);
  self->id = 7;
  CHECK_EQUAL(mt_waitq_destroy("mltp_x_destroy", &queue, "lock", "it"), 0);
  TRACE("flush");
  let_wait(&queue, 1);
  let_wait(&queue, 2);
  CHECK_EQUAL(mt_waitq_destroy("mltp_x_destroy", &queue, "lock", "it"), EBUSY);
  TRACE("misuse");
  CHECK(strstr(message, "2 threads wait for lock ") != NULL && strstr(message, "'it'") != NULL);
  CHECK_EQUAL(mt_waitq_destroy("mltp_x_destroy", &queue, "lock", NULL), EBUSY);
  CHECK(strstr(message, "''") != NULL);
  check_queue(&queue, "12");
  trace[0] = '\0';
  mt_rt.running = 0; /* nobody waits */
  CHECK_EQUAL(mt_waitq_destroy("mltp_x_destroy", &queue, "lock", "it"), 0);
  TRACE("");
}

/* ---- threads with kernel threads of their own */

/* All others are parked, and the caller. */
static void stage_outside(int bound, int foreign, int parked) {
  stage_waits(0);
  mt_rt.outside.bound_live = (uint32_t)bound;
  mt_rt.outside.foreign_live = (uint32_t)foreign;
  mt_rt.outside.parked = (uint32_t)parked;
}

static void wake(void) { mt_resume(self); }

static void run_another(void) { mt_rt.outside.parked--; }

static void the_last_to_park_looks_for_a_deadlock(void) {
  stage_outside(2, 1, 3);
  mt_park_last();
  TRACE("nap deadlock");
  CHECK_EQUAL(mt_rt.outside.parked, 3);
  stage_outside(2, 1, 3);
  sleeps[0].meanwhile = run_another;
  mt_park_last();
  TRACE("nap");
  for (int row = 0; row < 4; row++) { /* a thread runs */
    stage_outside(2 + (row == 0), 1 + (row == 1), 3 - (row == 2));
    if (row == 3) mt_rt.vp_count = 1;
    mt_park_last();
    TRACE("");
  }
}

static uint32_t parked_then, in_locks_then;

static void note_counts(void) {
  parked_then = mt_rt.outside.parked;
  in_locks_then = mt_rt.outside.in_locks;
}

static void note_and_run_another(void) {
  note_counts();
  run_another();
}

static void waits_for_locks_are_looked_at(void) {
  uint32_t futex = 5;
  stage_outside(1, 0, 0);
  sleeps[0].meanwhile = note_counts;
  mt_park_in_lock(&futex, 5);
  TRACE("sleep");
  CHECK(word_seen == &futex && parked_then == 1 && in_locks_then == 1);
  CHECK(mt_rt.outside.parked == 0 && mt_rt.outside.in_locks == 0);
  stage_outside(1, 0, 0);
  sleeps[0].result = ETIMEDOUT; /* of a deadline that it has not */
  mt_park_in_lock(&futex, 5);
  TRACE("sleep");
  stage_outside(1, 0, 1);
  mt_park_in_lock(&futex, 5);
  TRACE("sleep:100");
  stage_outside(1, 0, 1);
  sleeps[0].result = ETIMEDOUT;
  mt_park_in_lock(&futex, 5);
  TRACE("sleep:100 deadlock sleep");
  CHECK(word_seen == &futex && mt_rt.outside.parked == 1);
  stage_outside(1, 0, 1);
  sleeps[0].result = ETIMEDOUT;
  sleeps[0].meanwhile = note_and_run_another;
  mt_park_in_lock(&futex, 5);
  TRACE("sleep:100 sleep");
}

static mt_ilock released;

static void check_parked(void) {
  CHECK(released == 0 && mt_state(self) == MT_PARKED && self->for_ever == 1);
  CHECK_EQUAL(mt_rt.outside.parked, 1);
  CHECK_EQUAL(self->parked_at, mt_clock(begin));
}

static void check_and_wake(void) {
  check_parked();
  wake();
}

static void a_thread_outside_sleeps_until_it_is_woken(void) {
  stage_outside(3, 0, 0);
  released = 1;
  sleeps[0].meanwhile = check_parked; /* for no reason */
  sleeps[1].meanwhile = check_and_wake;
  sleeps[1].result = EINTR;
  threads[1].vp = &vps[0];
  mt_park_outside(self, &released, &threads[1], NULL);
  TRACE("ready:1 sleep sleep");
  CHECK(self->token == 0 && mt_state(self) == MT_RUNNING && mt_rt.outside.parked == 0);
  CHECK(word_seen == &self->token);
  stage_outside(3, 0, 0);
  self->token = 1; /* its waker was before it */
  mt_rt.outside.parked = 4;
  mt_park_outside(self, NULL, NULL, NULL);
  TRACE("");
  CHECK_EQUAL(self->token, 0);
}

static void all_parked_is_looked_at_once(void) {
  stage_outside(1, 0, 1);
  sleeps[0].result = ETIMEDOUT;
  sleeps[1].result = EINTR;
  sleeps[2].meanwhile = wake;
  mt_park_outside(self, NULL, NULL, NULL);
  TRACE("sleep:100 deadlock sleep sleep");
  stage_outside(1, 0, 1);
  sleeps[0].result = ETIMEDOUT;
  sleeps[0].meanwhile = run_another;
  sleeps[1].meanwhile = wake;
  mt_park_outside(self, NULL, NULL, NULL);
  TRACE("sleep:100 sleep");
}

static void deadlines_end_waits_outside(void) {
  struct mt_timer timer = {.node.key = begin + 30 * ms};
  mltp_waitq_t queue = {0, 0, NULL, NULL};
  stage_outside(1, 0, 1); /* the deadline comes, so it is no deadlock */
  mt_ilock_lock(&queue.ilock_);
  sleeps[0].result = ETIMEDOUT;
  CHECK_EQUAL(mt_wait(self, &queue, false, MT_WHY_SLEEP, &timer), ETIMEDOUT);
  TRACE("sleep:30");
  check_queue(&queue, "");
  CHECK(self->for_ever == 0 && self->token == 0 && self->why == MT_WHY_NOTHING);
  CHECK(mt_rt.outside.parked == 1 && mt_rt.outside.timeouts == 0);

  stage_outside(1, 0, 1); /* its waker has taken it out already, and wakes it later */
  sleeps[0].result = ETIMEDOUT;
  sleeps[1].meanwhile = wake;
  mt_park_outside(self, NULL, NULL, &timer);
  TRACE("sleep:30 sleep");
  CHECK_EQUAL(mt_rt.outside.timeouts, 0);
}

/* ---- waits */

static int why_then;
static const struct mltp_thread *head_then;
static mltp_waitq_t *queue_of_self;

static void note_wait(void) {
  why_then = self->why;
  head_then = queue_of_self->head_;
  CHECK(self->waitq == queue_of_self && queue_of_self->ilock_ == 0);
  wake();
}

static void a_wait_is_at_the_front_or_at_the_end(void) {
  for (int front = 0; front < 2; front++) {
    mltp_waitq_t queue = {0, 0, NULL, NULL};
    stage_outside(3, 0, 0);
    queue_of_self = &queue;
    let_wait(&queue, 5);
    mt_ilock_lock(&queue.ilock_);
    sleeps[0].meanwhile = note_wait;
    CHECK_EQUAL(mt_wait(self, &queue, front, MT_WHY_COND, NULL), 0);
    TRACE("sleep");
    check_queue(&queue, front ? "05" : "50");
    CHECK(why_then == MT_WHY_COND && self->why == MT_WHY_NOTHING);
    CHECK(head_then == &threads[front ? 0 : 5]);
  }
}

static void a_timer_that_has_fired_ends_the_wait(void) {
  struct mt_timer timer = {.node.key = begin, .fired = 1};
  mltp_waitq_t queue = {0, 0, NULL, NULL};
  stage_outside(3, 0, 0);
  let_wait(&queue, 5);
  mt_ilock_lock(&queue.ilock_);
  CHECK_EQUAL(mt_wait(self, &queue, false, MT_WHY_COND, &timer), ETIMEDOUT);
  TRACE("");
  check_queue(&queue, "5");
}

static struct mltp_thread *chain(const char *of) {
  for (const char *c = of; *c != '\0'; c++)
    threads[*c - '0'].next = c[1] != '\0' ? &threads[c[1] - '0'] : NULL;
  return &threads[of[0] - '0'];
}

static void chains_of_both_kinds_are_resumed(void) {
  stage_waits(2);
  mt_resume_chain(NULL);
  TRACE("");
  for (int i = 1; i < 6; i++) threads[i].vp = i % 2 ? &vps[0] : NULL;
  threads[2].for_ever = 1;
  mt_rt.outside.parked = 2;
  mt_resume_chain(chain("12345"));
  TRACE("chain 1 3 5");
  CHECK(threads[2].token == 1 && threads[4].token == 1 && mt_rt.outside.parked == 1);
  mt_resume_chain(chain("24"));
  TRACE("");
  mt_resume_chain(chain("1234")); /* the last one is no more in the chain */
  TRACE("chain 1 3");
}

static void threads_are_posted_to_their_homes(void) {
  const struct mt_home_chain chains[] = {
      {&vps[0], chain("1")}, {&vps[1], chain("23")}, {NULL, chain("4")}, {&vps[1], NULL}};
  stage_waits(2);
  for (int i = 0; i < 6; i++) threads[i].vp = &vps[0]; /* the caller, too */
  chain("23");
  mt_resume_homes(chains, 4);
  TRACE("post:1 of 2 3 chain 1 chain 4");
}

/* ---- waits for stacks */

static void threads_wait_for_stacks_in_their_order(void) {
  const int small = MT_STACK_CLASS_MIN, large = MT_STACK_CLASS_MAX;
  stage_waits(3);
  mt_stack_wait_forget();
  CHECK(!mt_stacks_are_awaited() && mt_stack_wait_end(small) == NULL);
  for (int i = 1; i < 5; i++) {
    threads[i].stack_class = (uint8_t)(i == 3 ? large : small);
    threads[i].next = &threads[7];
    threads[i].id = (uint64_t)i;
    mt_stack_await(&vps[2], &threads[i]);
    CHECK(threads[i].why == MT_WHY_STACK && mt_state(&threads[i]) == MT_PARKED &&
          threads[i].next == NULL);
    CHECK_EQUAL(threads[i].where >> MT_STATE_BITS, 2);
    CHECK_EQUAL(mt_stack_waiters, i);
    TRACE(i == 1 ? "message" : ""); /* once in a process */
  }
  CHECK(strstr(message, "thread 1 ") != NULL);
  CHECK(mt_stack_is_awaited(small) && mt_stack_is_awaited(large) &&
        !mt_stack_is_awaited(small + 1));
  CHECK(mt_stack_wait_end(small) == &threads[1] && mt_stack_wait_end(small) == &threads[2]);
  CHECK_EQUAL(mt_stack_waiters, 2);
  CHECK(mt_stack_wait_end(small) == &threads[4] && mt_stack_wait_end(small) == NULL);
  mt_stack_await(&vps[2], &threads[2]); /* behind the last of a list that was empty */
  CHECK(mt_stack_wait_end(small) == &threads[2] && !mt_stack_is_awaited(small));
  CHECK(mt_stack_wait_end(large) == &threads[3] && !mt_stacks_are_awaited());
  mt_stack_await(&vps[2], &threads[2]);
  mt_stack_wait_forget();
  CHECK(!mt_stacks_are_awaited() && !mt_stack_is_awaited(small));
}

/* A stack serves threads of its size and of smaller ones. */
static void a_larger_stack_can_be_given(void) {
  const int wanted = MT_STACK_CLASS_MIN + 2;
  stage_waits(3);
  mt_stack_wait_forget();
  threads[1].stack_class = (uint8_t)wanted;
  mt_stack_await(&vps[2], &threads[1]);
  for (class_left = MT_STACK_CLASS_MIN; class_left <= MT_STACK_CLASS_MAX; class_left++)
    CHECK_EQUAL(mt_stacks_can_be_given(&vps[2]), class_left >= wanted);
  mt_stack_wait_end(wanted);
  threads[1].stack_class = MT_STACK_CLASS_MIN;
  mt_stack_await(&vps[2], &threads[1]);
  class_left = MT_STACK_CLASS_MIN;
  CHECK(mt_stacks_can_be_given(&vps[2]));
  mt_stack_wait_forget();
  CHECK(!mt_stacks_can_be_given(&vps[2]));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST_BARE(all_waiters_are_taken),
      TEST_BARE(a_waiter_alone_is_taken),
      TEST_BARE(a_deadline_takes_its_thread_out),
      TEST_BARE(objects_with_waiters_are_not_destroyed),
      TEST_BARE(the_last_to_park_looks_for_a_deadlock),
      TEST_BARE(waits_for_locks_are_looked_at),
      TEST_BARE(a_thread_outside_sleeps_until_it_is_woken),
      TEST_BARE(all_parked_is_looked_at_once),
      TEST_BARE(deadlines_end_waits_outside),
      TEST_BARE(a_wait_is_at_the_front_or_at_the_end),
      TEST_BARE(a_timer_that_has_fired_ends_the_wait),
      TEST_BARE(chains_of_both_kinds_are_resumed),
      TEST_BARE(threads_are_posted_to_their_homes),
      TEST_BARE(threads_wait_for_stacks_in_their_order),
      TEST_BARE(a_larger_stack_can_be_given),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
