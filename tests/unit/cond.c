/* SPDX-License-Identifier: Apache-2.0 */
/* Conditional waiting and signaling, thesis 3.3.5: with a lock and without. */
#include <stdatomic.h>
#include <string.h>

#include "support/support.h"

#define MS 1000000ull

/* ----------------------------------------------- the thesis's form: no lock */

struct thesis {
  mltp_cond_t cond;
  char woken[16]; /* in order; threads of one VP append */
};

static void *wait_and_append(void *p0) {
  struct thesis *thesis = p0;
  CHECK_EQUAL(mltp_cond_wait_unlocked(&thesis->cond), 0);
  strcat(thesis->woken, mltp_name(mltp_self()));
  return NULL;
}

static mltp_t *start_waiter(struct thesis *thesis, const char *name) {
  mltp_t *thread = NULL;
  mltp_attr_t attr = MLTP_ATTR_INIT;
  attr.name = name;
  CHECK_EQUAL(mltp_create(&thread, &attr, wait_and_append, thesis), 0);
  mltp_yield(); /* on one VP: it has entered the queue when this returns */
  return thread;
}

/* "Neither signaling or broadcasting have any effects on threads which enter the
 * conditional queue after they occur." */
static void mltp_cond_signal_before_wait_is_lost(void) {
  struct thesis thesis = {.cond = MLTP_COND_INIT};
  CHECK_EQUAL(mltp_cond_signal(&thesis.cond), 0);
  CHECK_EQUAL(mltp_cond_broadcast(&thesis.cond), 0);
  mltp_t *thread = start_waiter(&thesis, "A");
  for (int i = 0; i < 10; i++) mltp_yield();
  CHECK_TEXT(thesis.woken, "");
  mltp_cond_signal(&thesis.cond);
  mltp_join(thread, NULL);
  CHECK_TEXT(thesis.woken, "A");
}

static void mltp_cond_signal_wakes_the_first(void) {
  static const char *const names[] = {"A", "B", "C"};
  static const char *const expected[] = {"A", "AB", "ABC"};
  struct thesis thesis = {.cond = MLTP_COND_INIT};
  mltp_t *threads[3];
  for (int i = 0; i < 3; i++) threads[i] = start_waiter(&thesis, names[i]);
  for (int i = 0; i < 3; i++) {
    mltp_cond_signal(&thesis.cond);
    for (int round = 0; round < 10; round++) mltp_yield();
    CHECK_TEXT(thesis.woken, expected[i]);
  }
  for (int i = 0; i < 3; i++) mltp_join(threads[i], NULL);
}

static void mltp_cond_broadcast_wakes_all(void) {
  static const char *const names[] = {"A", "B", "C"};
  struct thesis thesis = {.cond = MLTP_COND_INIT};
  mltp_t *threads[3];
  for (int i = 0; i < 3; i++) threads[i] = start_waiter(&thesis, names[i]);
  mltp_cond_broadcast(&thesis.cond);
  for (int i = 0; i < 3; i++) mltp_join(threads[i], NULL);
  CHECK_EQUAL(strlen(thesis.woken), 3);
}

struct crowd {
  mltp_cond_t cond;
  atomic_int woken;
};

static void *wait_in_crowd(void *p0) {
  struct crowd *crowd = p0;
  mltp_cond_wait_unlocked(&crowd->cond);
  atomic_fetch_add(&crowd->woken, 1);
  return NULL;
}

/* Every kind waits without a lock; a signal may come too early, so they are repeated. */
static void mltp_cond_wait_by_every_kind(void) {
  for (int kind = 0; kind < KINDS; kind++) {
    check_case("%s", kind_names[kind]);
    struct crowd crowd = {.cond = MLTP_COND_INIT};
    struct worker workers[6];
    for (int i = 0; i < 6; i++) {
      worker_start(&workers[i], kind == MIXED ? (enum kind)(i % MIXED) : (enum kind)kind,
                   wait_in_crowd, &crowd);
    }
    for (int signals = 0; atomic_load(&crowd.woken) < 6; signals++) {
      if (signals % 2) {
        mltp_cond_signal(&crowd.cond);
      } else {
        mltp_cond_broadcast(&crowd.cond);
      }
      mltp_sleep(MS / 10);
    }
    for (int i = 0; i < 6; i++) worker_join(&workers[i]);
    CHECK_EQUAL(mltp_cond_destroy(&crowd.cond), 0);
  }
}

/* ---------------------------------------------------------------- with a lock */

enum { CAPACITY = 4, PER_PRODUCER = 300, PAIRS = 3 };

struct buffer {
  mltp_lock_t lock;
  mltp_cond_t not_full, not_empty;
  int slots[CAPACITY];
  int head, count;
  int left_to_take;
  long taken_sum;
  atomic_int next_role;
};

static void produce(struct buffer *b, int item) {
  mltp_lock(&b->lock);
  while (b->count == CAPACITY) CHECK_EQUAL(mltp_cond_wait(&b->not_full, &b->lock), 0);
  b->slots[(b->head + b->count++) % CAPACITY] = item;
  mltp_cond_signal(&b->not_empty);
  mltp_unlock(&b->lock);
}

/* @return whether there was anything left to take */
static int consume(struct buffer *b) {
  mltp_lock(&b->lock);
  int more = b->left_to_take > 0;
  if (more) {
    b->left_to_take--;
    while (b->count == 0) CHECK_EQUAL(mltp_cond_wait(&b->not_empty, &b->lock), 0);
    b->taken_sum += b->slots[b->head];
    b->head = (b->head + 1) % CAPACITY;
    b->count--;
    mltp_cond_signal(&b->not_full);
  }
  mltp_unlock(&b->lock);
  return more;
}

static void *produce_or_consume(void *p0) {
  struct buffer *b = p0;
  if (atomic_fetch_add(&b->next_role, 1) % 2) {
    while (consume(b)) continue;
  } else {
    for (int i = 1; i <= scaled(PER_PRODUCER); i++) produce(b, i);
  }
  return NULL;
}

static void mltp_cond_wait_carries_a_bounded_buffer(void) {
  long n = scaled(PER_PRODUCER);
  for (int class = 0; class < LOCK_CLASSES; class ++) {
    for (int kind = 0; kind < KINDS; kind++) {
      check_case("lock class %s, %s", lock_classes[class].name, kind_names[kind]);
      struct buffer b = {.left_to_take = PAIRS * (int)n};
      mltp_lock_init(&b.lock, lock_classes[class].id, "buffer");
      mltp_cond_init(&b.not_full, "not full");
      mltp_cond_init(&b.not_empty, "not empty");
      workers_run(2 * PAIRS, (enum kind)kind, produce_or_consume, &b);
      CHECK_EQUAL(b.taken_sum, PAIRS * n * (n + 1) / 2);
      CHECK_EQUAL(b.count, 0);
      CHECK_EQUAL(mltp_cond_destroy(&b.not_full), 0);
      CHECK_EQUAL(mltp_cond_destroy(&b.not_empty), 0);
    }
  }
}

struct line {
  mltp_lock_t lock;
  mltp_cond_t cond;
  int entered, left;
  int order[8]; /* the thread that left at each step */
};

static void *stand_in_line(void *p0) {
  struct line *line = p0;
  mltp_lock(&line->lock);
  int place = line->entered++;
  mltp_cond_wait(&line->cond, &line->lock);
  line->order[line->left++] = place;
  mltp_unlock(&line->lock);
  return NULL;
}

static int read_locked(mltp_lock_t *lock, const int *value) {
  mltp_lock(lock);
  int now = *value;
  mltp_unlock(lock);
  return now;
}

/* A thread that sees entered grow under the lock knows that the waiter is in the queue. */
static void mltp_cond_signal_wakes_exactly_one_in_order(void) {
  enum { WAITERS = 6 };
  for (int kind = 0; kind < KINDS; kind++) {
    check_case("%s", kind_names[kind]);
    struct line line = {.lock = MLTP_LOCK_INIT, .cond = MLTP_COND_INIT};
    struct worker workers[WAITERS];
    for (int i = 0; i < WAITERS; i++) {
      worker_start(&workers[i], kind == MIXED ? (enum kind)(i % MIXED) : (enum kind)kind,
                   stand_in_line, &line);
      while (read_locked(&line.lock, &line.entered) <= i) mltp_yield();
    }
    for (int i = 0; i < WAITERS; i++) {
      mltp_cond_signal(&line.cond);
      while (read_locked(&line.lock, &line.left) <= i) mltp_yield();
      mltp_sleep(MS / 2); /* time for one too many */
      CHECK_EQUAL(read_locked(&line.lock, &line.left), i + 1);
      CHECK_EQUAL(line.order[i], i);
    }
    for (int i = 0; i < WAITERS; i++) worker_join(&workers[i]);
  }
}

struct storm {
  mltp_lock_t lock;
  mltp_cond_t changed, all_in;
  int generation, waiting, rounds;
  long woken;
};

enum { STORM_WAITERS = 12 };

static void *ride_the_storm(void *p0) {
  struct storm *s = p0;
  mltp_lock(&s->lock);
  for (int i = 0; i < s->rounds; i++) {
    int seen = s->generation;
    if (++s->waiting == STORM_WAITERS) mltp_cond_signal(&s->all_in);
    while (s->generation == seen) mltp_cond_wait(&s->changed, &s->lock);
    s->woken++;
  }
  mltp_unlock(&s->lock);
  return NULL;
}

static void mltp_cond_broadcast_storms(void) {
  for (int kind = 0; kind < KINDS; kind++) {
    check_case("%s", kind_names[kind]);
    struct storm s = {.lock = MLTP_LOCK_INIT,
                      .changed = MLTP_COND_INIT,
                      .all_in = MLTP_COND_INIT,
                      .rounds = scaled(60)};
    struct worker workers[STORM_WAITERS];
    for (int i = 0; i < STORM_WAITERS; i++) {
      worker_start(&workers[i], kind == MIXED ? (enum kind)(i % MIXED) : (enum kind)kind,
                   ride_the_storm, &s);
    }
    mltp_lock(&s.lock);
    for (int i = 0; i < s.rounds; i++) {
      while (s.waiting < STORM_WAITERS) mltp_cond_wait(&s.all_in, &s.lock);
      s.waiting = 0;
      s.generation++;
      mltp_cond_broadcast(&s.changed);
    }
    mltp_unlock(&s.lock);
    for (int i = 0; i < STORM_WAITERS; i++) worker_join(&workers[i]);
    CHECK_EQUAL(s.woken, (long)STORM_WAITERS * s.rounds);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST_ONE_VP(mltp_cond_signal_before_wait_is_lost),
      TEST_ONE_VP(mltp_cond_signal_wakes_the_first),
      TEST_ONE_VP(mltp_cond_broadcast_wakes_all),
      TEST(mltp_cond_wait_by_every_kind),
      TEST(mltp_cond_wait_carries_a_bounded_buffer),
      TEST(mltp_cond_signal_wakes_exactly_one_in_order),
      TEST(mltp_cond_broadcast_storms),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
