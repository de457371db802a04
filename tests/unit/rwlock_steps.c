/* SPDX-License-Identifier: Apache-2.0 */
/* Readers-writer locks (src/sync/rwlock_queue.c), step by step: which threads have the lock after
 * each release and after each wait that is given up. The waiters run nowhere. */
#define _GNU_SOURCE /* the runtime's headers want it */
#include <string.h>

#include "core/sched/runq.h"
#include "core/timer/timer.h"
#include "support/support.h"
#include "support/vp_stage.h"
#include "sync/rwlock.h"

enum { THREADS = 8, QUEUE = 4 };

static struct mltp_thread threads[THREADS];
static mltp_rwlock_t lock;

/* The word: the number of readers, or the writer's. */
struct word {
  int readers, writer; /* 0: none */
  bool waiters;
};

static uint64_t word_of(struct word word) {
  uint64_t made = word.readers != 0 ? MT_RW_READERS + (uint64_t)word.readers * MT_RW_ONE_READER
                                    : (uintptr_t)(word.writer != 0 ? &threads[word.writer] : NULL);
  return made | (word.waiters ? MT_RW_WAITERS : 0);
}

/* Queues: numbers of threads from the front, below 0: that wait to read; 0 after the last. */
static void stage_lock(struct word word, const int *queue) {
  stage(1, 1, 1);
  memset(threads, 0, sizeof threads);
  lock = (mltp_rwlock_t)MLTP_RWLOCK_INIT;
  for (int i = 0; i < THREADS; i++) threads[i].vp = &vps[0];
  lock.word_ = word_of(word);
  for (; *queue != 0; queue++) {
    struct mltp_thread *t = &threads[*queue < 0 ? -*queue : *queue];
    t->wait_mode = *queue < 0 ? MT_RW_READ : MT_RW_WRITE;
    t->waitq = &lock.queue_;
    mt_waitq_append(&lock.queue_, t);
  }
}

static void check_lock(struct word word, const int *queue, const int *woken) {
  struct mltp_thread *last, *t;
  CHECK_EQUAL(lock.word_, word_of(word));
  uint32_t count = 0;
  for (t = lock.queue_.head_; *queue != 0; queue++, count++, t = t->next) {
    CHECK(t == &threads[*queue < 0 ? -*queue : *queue]);
    if (t == NULL) return;
  }
  CHECK(t == NULL);
  CHECK_EQUAL(lock.queue_.count_, count);
  CHECK_EQUAL(lock.queue_.ilock_, 0);
  for (t = mt_runq_take_inbox(&vps[0], &last); *woken != 0; woken++, t = t->next) {
    CHECK(t == &threads[*woken]);
    if (t == NULL) return;
    CHECK(t->waitq == NULL);
  }
  CHECK(t == NULL);
}

static const struct release {
  const char *name;
  struct word word;
  int queue[QUEUE], error;
  struct word after;
  int queue_after[QUEUE], woken[QUEUE];
} releases[] = {
    {"nobody has it", {0, 0, false}, {0}, EPERM, {0, 0, false}, {0}, {0}},
    {"another writes", {0, 2, false}, {0}, EPERM, {0, 2, false}, {0}, {0}},
    {"another writes, others wait", {0, 2, true}, {3}, EPERM, {0, 2, true}, {3}, {0}},
    {"one of three readers", {3, 0, false}, {0}, 0, {2, 0, false}, {0}, {0}},
    {"the last reader", {1, 0, false}, {0}, 0, {0, 0, false}, {0}, {0}},
    {"the writer", {0, 1, false}, {0}, 0, {0, 0, false}, {0}, {0}},
    {"one of two readers, a writer waits", {2, 0, true}, {3}, 0, {1, 0, true}, {3}, {0}},
    {"the last reader, a writer waits", {1, 0, true}, {3}, 0, {0, 3, false}, {0}, {3}},
    {"the last reader, two wait", {1, 0, true}, {3, 4}, 0, {0, 3, true}, {4}, {3}},
    {"the last reader, readers came later",
     {1, 0, true},
     {-5, -4, 3},
     0,
     {0, 3, true},
     {-5, -4},
     {3}},
    {"the last reader, the writer gave up", {1, 0, true}, {-5, -4}, 0, {2, 0, false}, {0}, {4, 5}},
    {"the last reader, all gave up", {1, 0, true}, {0}, 0, {0, 0, false}, {0}, {0}},
    {"the writer, readers wait", {0, 1, true}, {-5, -4}, 0, {2, 0, false}, {0}, {4, 5}},
    {"the writer, both wait", {0, 1, true}, {-5, -4, 3}, 0, {2, 0, true}, {3}, {4, 5}},
    {"the writer, writers wait", {0, 1, true}, {3, 4}, 0, {0, 3, true}, {4}, {3}},
    {"the writer, one waits", {0, 1, true}, {3}, 0, {0, 3, false}, {0}, {3}},
    {"the writer, all gave up", {0, 1, true}, {0}, 0, {0, 0, false}, {0}, {0}},
};

static void a_release_hands_the_lock_over(void) {
  for (size_t i = 0; i < sizeof releases / sizeof releases[0]; i++) {
    const struct release *row = &releases[i];
    stage_lock(row->word, row->queue);
    check_case("%s", row->name);
    CHECK_EQUAL(mt_rw_release(&lock, &threads[1]), row->error);
    check_lock(row->after, row->queue_after, row->woken);
  }
}

/* Thread 1 waits, until a time that has come. */
static const struct wait {
  const char *name;
  enum mt_rw_mode mode;
  struct word word;
  int queue[QUEUE], error;
  struct word after;
  int queue_after[QUEUE], woken[QUEUE];
} waits[] = {
    {"free", MT_RW_WRITE, {0, 0, false}, {0}, 0, {0, 1, false}, {0}, {0}},
    {"free, to read", MT_RW_READ, {0, 0, false}, {0}, 0, {1, 0, false}, {0}, {0}},
    {"read with others", MT_RW_READ, {2, 0, false}, {0}, 0, {3, 0, false}, {0}, {0}},
    /* a deadline has left the mark: under the queue's lock it counts for nothing */
    {"marked", MT_RW_READ, {2, 0, true}, {0}, 0, {3, 0, false}, {0}, {0}},
    {"marked, free", MT_RW_WRITE, {0, 0, true}, {0}, 0, {0, 1, false}, {0}, {0}},
    /* the time is over: what it marked is taken back, unless others wait */
    {"written", MT_RW_READ, {0, 2, false}, {0}, ETIMEDOUT, {0, 2, false}, {0}, {0}},
    {"written, marked", MT_RW_WRITE, {0, 2, true}, {0}, ETIMEDOUT, {0, 2, false}, {0}, {0}},
    {"written, others wait", MT_RW_WRITE, {0, 2, true}, {-3}, ETIMEDOUT, {0, 2, true}, {-3}, {0}},
    {"read, a writer waits", MT_RW_READ, {2, 0, true}, {3}, ETIMEDOUT, {2, 0, true}, {3}, {0}},
    {"read, alone", MT_RW_WRITE, {2, 0, false}, {0}, ETIMEDOUT, {2, 0, false}, {0}, {0}},
    /* readers waited only because of this writer */
    {"read, readers behind it",
     MT_RW_WRITE,
     {2, 0, true},
     {-5, -4},
     ETIMEDOUT,
     {4, 0, false},
     {0},
     {4, 5}},
    {"read, another writer",
     MT_RW_WRITE,
     {2, 0, true},
     {-5, 3},
     ETIMEDOUT,
     {2, 0, true},
     {-5, 3},
     {0}},
};

static void a_wait_that_is_given_up_leaves_no_mark(void) {
  for (size_t i = 0; i < sizeof waits / sizeof waits[0]; i++) {
    const struct wait *row = &waits[i];
    struct mt_timer timer;
    stage_lock(row->word, row->queue);
    check_case("%s", row->name);
    mt_timer_arm(&timer, &threads[1], now);
    mt_timers_run_due(now);
    CHECK_EQUAL(mt_rw_wait(&lock, &threads[1], row->mode, &timer), row->error);
    CHECK_EQUAL(mt_timer_disarm(&timer, row->error), row->error);
    check_lock(row->after, row->queue_after, row->woken);
    CHECK(threads[1].waitq == NULL);
  }
}

/* What can be had at first sight. */
static void the_first_sight_is_of_the_word(void) {
  static const struct {
    enum mt_rw_mode mode;
    struct word word;
    bool taken;
  } rows[] = {
      {MT_RW_READ, {0, 0, false}, true},   {MT_RW_READ, {2, 0, false}, true},
      {MT_RW_READ, {2, 0, true}, false}, /* a writer waits */
      {MT_RW_READ, {0, 2, false}, false},  {MT_RW_READ, {0, 0, true}, false},
      {MT_RW_WRITE, {0, 0, false}, true},  {MT_RW_WRITE, {2, 0, false}, false},
      {MT_RW_WRITE, {0, 2, false}, false}, {MT_RW_WRITE, {0, 0, true}, false},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct word after = rows[i].word;
    stage_lock(rows[i].word, (const int[]){0});
    check_case("row %zu", i);
    CHECK_EQUAL(mt_rw_take(&lock, &threads[1], rows[i].mode), rows[i].taken);
    if (rows[i].taken && rows[i].mode == MT_RW_READ) after.readers++;
    if (rows[i].taken && rows[i].mode == MT_RW_WRITE) after.writer = 1;
    CHECK_EQUAL(lock.word_, word_of(after));
    CHECK_EQUAL(mt_rw_readers(lock.word_), after.readers);
    CHECK(mt_rw_writer(lock.word_) == (after.writer != 0 ? &threads[after.writer] : NULL));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST_BARE(a_release_hands_the_lock_over),
      TEST_BARE(a_wait_that_is_given_up_leaves_no_mark),
      TEST_BARE(the_first_sight_is_of_the_word),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
