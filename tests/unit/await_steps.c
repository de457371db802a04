/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waits for words, step by step (src/core/wait/await.c): how a thread parks in its bucket, and
 * which ones a store takes out of it. No thread is switched to, and the clock is the test's.
 */
#define _GNU_SOURCE /* the runtime's headers want it */
#include "core/wait/await.c"

#include <stdarg.h>
#include <stdio.h>

#include "support/noted.h"
#include "support/support.h"
#include "support/vp_stage.h"

enum { THREADS = 10 };

static struct mltp_thread threads[THREADS];
static struct mltp_thread *const self = &threads[0];
static struct mt_await predicates[THREADS];
static uint32_t words[512]; /* of many buckets */

/* ---- what others are asked */

static int wait_result;
static void (*meanwhile)(void);
static mltp_waitq_t *queue_seen;
static uint64_t sleeps_ns;

int __wrap_mt_wait(struct mltp_thread *t, mltp_waitq_t *queue, bool front, enum mt_why why,
                   struct mt_timer *timer);
int __wrap_mt_wait(struct mltp_thread *t, mltp_waitq_t *queue, bool front, enum mt_why why,
                   struct mt_timer *timer) {
  CHECK(t == self && queue->ilock_ != 0 && !front && timer != NULL);
  note(why == MT_WHY_AWAIT ? "wait" : "sleep");
  queue_seen = queue;
  mt_ilock_unlock(&queue->ilock_);
  if (meanwhile != NULL) meanwhile();
  return wait_result;
}

void __wrap_mt_timer_arm(struct mt_timer *timer, struct mltp_thread *t, uint64_t deadline);
void __wrap_mt_timer_arm(struct mt_timer *timer, struct mltp_thread *t, uint64_t deadline) {
  CHECK(timer != NULL && t == self);
  note("arm:%d", (int)deadline);
}

int __wrap_mt_timer_disarm(struct mt_timer *timer, int error);
int __wrap_mt_timer_disarm(struct mt_timer *timer, int error) {
  CHECK(timer != NULL);
  note("disarm:%d", error);
  return error;
}

void __wrap_mt_resume(struct mltp_thread *t);
void __wrap_mt_resume(struct mltp_thread *t) { note("resume:%d", (int)(t - threads)); }

void __wrap_mt_resume_chain(struct mltp_thread *first);
void __wrap_mt_resume_chain(struct mltp_thread *first) {
  note("chain");
  for (const struct mltp_thread *t = first; t != NULL; t = t->next) note("%d", (int)(t - threads));
}

void __wrap_mt_tuning_know(enum mt_tunable which, uint64_t value);
void __wrap_mt_tuning_know(enum mt_tunable which, uint64_t value) {
  CHECK_EQUAL(which, MT_PARK_NS);
  note("know:%d", (int)value);
}

int __wrap_os_futex_wait(uint32_t *word, uint32_t expected, uint64_t deadline);
int __wrap_os_futex_wait(uint32_t *word, uint32_t expected, uint64_t deadline) {
  CHECK(*word == expected && deadline == 1);
  note("futex");
  now += sleeps_ns;
  return ETIMEDOUT;
}

void __wrap_mt_det_preempt(const char *call);
void __wrap_mt_det_preempt(const char *call) { CHECK(call != NULL); }

static void stage_await(void) {
  stage(2, 2, 2);
  memset(threads, 0, sizeof threads);
  memset(words, 0, sizeof words);
  mt_await_forget();
  mt_set_current(self);
  wait_result = 0;
  meanwhile = NULL;
  mt_options.await_spin_ns = 0;
  mt_await_init();
  trace[0] = '\0';
}

/* A thread that waits already. */
static void add(int thread, uint32_t *word, uint32_t value, bool equal) {
  struct mt_await_bucket *bucket = mt_await_bucket(word);
  predicates[thread] = (struct mt_await){word, value, equal};
  threads[thread].awaits = &predicates[thread];
  threads[thread].wait_mode = 0;
  threads[thread].waitq = &bucket->queue;
  mt_waitq_append(&bucket->queue, &threads[thread]);
  bucket->waiters++;
}

static void check_bucket(const uint32_t *word, const char *expected, uint32_t indexed) {
  const struct mt_await_bucket *bucket = mt_await_bucket(word);
  const struct mltp_thread *at = bucket->queue.head_;
  for (const char *c = expected; *c != '\0'; c++) {
    CHECK(at == &threads[*c - '0']);
    at = at != NULL ? at->next : NULL;
  }
  CHECK(at == NULL);
  CHECK_EQUAL(bucket->waiters, strlen(expected));
  CHECK_EQUAL(bucket->indexed, indexed);
  CHECK_EQUAL(bucket->queue.ilock_, 0);
}

/* Another word of the same bucket. */
static uint32_t *neighbour_of(const uint32_t *word) {
  for (int i = 0; i < 512; i++)
    if (&words[i] != word && mt_await_bucket(&words[i]) == mt_await_bucket(word)) return &words[i];
  CHECK(false);
  return NULL;
}

/* ---- parking */

static int await_word(uint32_t value, bool equal) {
  const struct mt_await predicate = {&words[0], value, equal};
  return mt_await_slow(self, &predicate, NULL, 9);
}

static void a_predicate_that_holds_needs_no_wait(void) {
  for (int equal = 0; equal < 2; equal++) {
    stage_await();
    words[0] = 5;
    CHECK_EQUAL(await_word(equal ? 5 : 6, equal), 0);
    TRACE("arm:9 disarm:0");
    check_bucket(&words[0], "", 0);
    CHECK_EQUAL(mt_rt.outside.awaits[MT_AWAIT_PARKED], 0);
  }
}

static uint32_t waiters_then, indexed_then;
static uint8_t mode_then;
static bool is_found_then;

static void note_wait(void) {
  const struct mt_await_bucket *bucket = mt_await_bucket(&words[0]);
  const struct mt_await key = {&words[0], 6, true};
  CHECK(queue_seen == &bucket->queue && self->awaits->word == &words[0] &&
        self->awaits->value == 6 && self->awaits->equal);
  waiters_then = bucket->waiters;
  indexed_then = bucket->indexed;
  mode_then = self->wait_mode;
  is_found_then = mt_await_index_find(index_of(bucket), &key) != NULL;
}

static void few_waiters_are_not_indexed(void) {
  for (int others = MT_AWAIT_FEW - 1; others < MT_AWAIT_FEW + 1; others++) {
    bool indexed = others == MT_AWAIT_FEW;
    stage_await();
    check_case("%d others", others);
    for (int i = 1; i <= others; i++) add(i, &words[0], 7, true);
    meanwhile = note_wait;
    wait_result = ETIMEDOUT;
    CHECK_EQUAL(await_word(6, true), ETIMEDOUT);
    TRACE("arm:9 wait disarm:110");
    CHECK(waiters_then == (uint32_t)others + 1 && indexed_then == indexed && mode_then == indexed &&
          is_found_then == indexed);
    check_bucket(&words[0], indexed ? "1234" : "123", 0);
    CHECK_EQUAL(mt_rt.outside.awaits[MT_AWAIT_PARKED], 1);
    const struct mt_await key = {&words[0], 6, true};
    CHECK(mt_await_index_find(index_of(mt_await_bucket(&words[0])), &key) == NULL);
  }
  stage_await(); /* one that is indexed makes the next ones so */
  mt_await_bucket(&words[0])->indexed = 1;
  meanwhile = note_wait;
  wait_result = ETIMEDOUT;
  await_word(6, true);
  CHECK(indexed_then == 2 && mode_then == 1 && is_found_then);
}

static void a_waker_has_uncounted_its_waiter(void) {
  stage_await();
  CHECK_EQUAL(await_word(6, true), 0);
  TRACE("arm:9 wait disarm:0");
  CHECK_EQUAL(mt_await_bucket(&words[0])->waiters, 1); /* the stand-in for a waker does not */
  CHECK_EQUAL(mt_await_bucket(&words[0])->queue.ilock_, 0);
}

/* ---- waking */

static void a_store_wakes_whose_predicate_holds(void) {
  stage_await();
  uint32_t *other = neighbour_of(&words[0]);
  add(1, &words[0], 5, true);
  add(2, &words[0], 5, false);
  add(3, other, 5, true);
  add(4, &words[0], 6, true);
  mt_await_store(&words[0], 7);
  TRACE("resume:2");
  check_bucket(&words[0], "134", 0);
  *other = 5;
  add(2, &words[0], 5, true);
  mltp_await_store(&words[0], 5);
  TRACE("chain 1 2");
  check_bucket(&words[0], "34", 0);
  mltp_await_store(&words[0], 8);
  TRACE("chain");
  mltp_await_wake(other);
  TRACE("resume:3");
  check_bucket(&words[0], "4", 0);
  words[0] = 6;
  mltp_await_wake(&words[0]);
  TRACE("resume:4");
  mltp_await_wake(&words[0]); /* nobody waits */
  TRACE("");
}

static struct mt_await_waiter waiters[THREADS];

/* A thread that is in the index as well. */
static void add_indexed(int thread, uint32_t *word, uint32_t value, bool equal) {
  struct mt_await_bucket *bucket = mt_await_bucket(word);
  add(thread, word, value, equal);
  threads[thread].wait_mode = 1;
  waiters[thread] =
      (struct mt_await_waiter){.thread = &threads[thread], .predicate = &predicates[thread]};
  mt_await_index_add(index_of(bucket), &waiters[thread]);
  bucket->indexed++;
}

static void indexed_waiters_are_woken_by_their_groups(void) {
  stage_await();
  uint32_t *other = neighbour_of(&words[0]);
  add(1, &words[0], 5, true);
  add_indexed(2, &words[0], 5, true);
  add_indexed(3, &words[0], 6, true);
  add_indexed(4, other, 5, true);
  add_indexed(5, &words[0], 4, false);
  add_indexed(6, &words[0], 5, false);
  add_indexed(7, &words[0], 5, true);
  mt_await_store(&words[0], 5);
  TRACE("chain 1 2 7 5");
  check_bucket(&words[0], "346", 3);
  mt_await_store(&words[0], 4);
  TRACE("resume:6");
  check_bucket(&words[0], "34", 2);
  threads[3].waitq = NULL; /* a timer has taken it out, and it removes itself */
  mt_await_store(&words[0], 6);
  TRACE("chain");
  CHECK_EQUAL(mt_await_bucket(&words[0])->indexed, 2);
  threads[3].waitq = &mt_await_bucket(&words[0])->queue;
  mt_await_wake_slow(mt_await_bucket(&words[0]), &words[0]);
  TRACE("resume:3");
  *other = 5;
  mt_await_wake_slow(mt_await_bucket(&words[0]), &words[0]); /* nobody waits for that one */
  TRACE("chain");
  mltp_await_wake(other);
  TRACE("resume:4");
  check_bucket(&words[0], "", 0);
}

/* ---- measuring */

static int trials;

static void take_some_time(void) {
  static const uint64_t times[] = {9, 4, 7, 6};
  now += times[trials++ % 4];
}

static void take_long(void) { now += 2 * SPIN_NS_MOST; }

static void the_shortest_of_some_trials_counts(void) {
  stage_await();
  trials = 0;
  CHECK_EQUAL(measure(take_some_time), 4);
  CHECK_EQUAL(trials, 4);
  CHECK_EQUAL(measure(take_long), SPIN_NS_MOST);
}

static void a_kernel_thread_of_ones_own_spins_as_long_as_it_sleeps(void) {
  stage_await();
  sleeps_ns = 300;
  mt_options.await_spin_ns = MT_MEASURED;
  mt_await_init(); /* the caller has no VP */
  TRACE("");
  CHECK_EQUAL(mt_await_spin_ns(self), 300);
  TRACE("futex futex futex futex");
  CHECK_EQUAL(mt_await_spin_ns(self), 300);
  TRACE("");
  mt_options.await_spin_ns = 70;
  mt_await_init();
  CHECK_EQUAL(mt_await_spin_ns(self), 70);
  mt_det_on = true;
  self->vp = &vps[1];
  mt_await_init();
  CHECK_EQUAL(mt_await_spin_ns(self), 0);
  mt_det_on = false;
  self->vp = NULL;
  CHECK_EQUAL(mt_await_spin_ns(self), 0);
  TRACE("");
}

static void park_for_some_time(void) { now += 40; }

static void a_vp_spins_as_long_as_it_parks(void) {
  stage_await();
  self->vp = &vps[1];
  meanwhile = park_for_some_time;
  mt_await_init();
  TRACE(
      "arm:1 sleep disarm:0 arm:1 sleep disarm:0 arm:1 sleep disarm:0 arm:1 sleep disarm:0 "
      "know:40");
  mt_tuning.value[MT_AWAIT_SPIN_NS] = 123;
  CHECK_EQUAL(mt_await_spin_ns(self), 123);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST_BARE(a_predicate_that_holds_needs_no_wait),
      TEST_BARE(few_waiters_are_not_indexed),
      TEST_BARE(a_waker_has_uncounted_its_waiter),
      TEST_BARE(a_store_wakes_whose_predicate_holds),
      TEST_BARE(indexed_waiters_are_woken_by_their_groups),
      TEST_BARE(the_shortest_of_some_trials_counts),
      TEST_BARE(a_kernel_thread_of_ones_own_spins_as_long_as_it_sleeps),
      TEST_BARE(a_vp_spins_as_long_as_it_parks),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
