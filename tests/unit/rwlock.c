/* SPDX-License-Identifier: Apache-2.0 */
/* Readers-writer locks, for every kind of thread: exclusion, fairness, deadlines. */
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "support/support.h"

enum { WORKERS = 8, SHORT_NS = 3000000 };

/* -------------------------------------------------------------- exclusion */

/* What the lock protects: not atomic, and the two are equal outside of a writer. */
struct guarded {
  mltp_rwlock_t lock;
  long first, second;
  int rounds;
  atomic_long written, violations, next_index;
};

static void violation(struct guarded *g) { atomic_fetch_add(&g->violations, 1); }

static void write_inside(struct guarded *g, int round) {
  if (g->first != g->second) violation(g);
  g->first++;
  if (round % 8 == 0) mltp_yield();
  g->second++;
  atomic_fetch_add(&g->written, 1);
  if (mltp_rwlock_unlock(&g->lock) != 0) violation(g);
}

static void read_inside(struct guarded *g, int round) {
  long first = g->first;
  if (round % 8 == 0) mltp_yield();
  if (first != g->second) violation(g);
  if (mltp_rwlock_unlock(&g->lock) != 0) violation(g);
}

static void *read_and_write(void *p0) {
  struct guarded *g = p0;
  long me = atomic_fetch_add(&g->next_index, 1);
  for (int i = 0; i < g->rounds; i++) {
    if ((i + me) % 4 == 0) {
      if (mltp_rwlock_wrlock(&g->lock) != 0) violation(g);
      write_inside(g, i);
    } else {
      if (mltp_rwlock_rdlock(&g->lock) != 0) violation(g);
      read_inside(g, i);
    }
  }
  return NULL;
}

/* The same, but by attempts and with deadlines that run out at any time. */
static void *read_and_write_impatiently(void *p0) {
  struct guarded *g = p0;
  long me = atomic_fetch_add(&g->next_index, 1);
  for (int i = 0; i < g->rounds; i++) {
    uint64_t deadline = mltp_after((uint64_t)(i % 10) * 5000);
    int error;
    switch ((i + me) % 4) {
      case 0:
        error = mltp_rwlock_wrlock_timed(&g->lock, deadline);
        if (error == 0) write_inside(g, i);
        break;
      case 1:
        error = mltp_rwlock_wrlock_try(&g->lock);
        if (error == 0) write_inside(g, i);
        break;
      case 2:
        error = mltp_rwlock_rdlock_timed(&g->lock, deadline);
        if (error == 0) read_inside(g, i);
        break;
      default:
        error = mltp_rwlock_rdlock_try(&g->lock);
        if (error == 0) read_inside(g, i);
    }
    if (error != 0 && error != ((i + me) % 2 == 0 ? ETIMEDOUT : EBUSY)) violation(g);
  }
  return NULL;
}

static void check_exclusion(mltp_userf_t *func, int rounds) {
  for (int kind = 0; kind < KINDS; kind++) {
    check_case("%s threads", kind_names[kind]);
    struct guarded g = {.rounds = scaled(rounds)};
    CHECK_EQUAL(mltp_rwlock_init(&g.lock, "guard"), 0);
    workers_run(WORKERS, (enum kind)kind, func, &g);
    CHECK_EQUAL(atomic_load(&g.violations), 0);
    CHECK_EQUAL(g.first, atomic_load(&g.written));
    CHECK_EQUAL(g.second, atomic_load(&g.written));
    CHECK_EQUAL(mltp_rwlock_wrlock_try(&g.lock), 0); /* it is free again */
    CHECK_EQUAL(mltp_rwlock_unlock(&g.lock), 0);
    CHECK_EQUAL(mltp_rwlock_destroy(&g.lock), 0);
  }
}

static void mltp_rwlock_excludes_writers_from_all(void) { check_exclusion(read_and_write, 500); }

static void mltp_rwlock_deadlines_race_with_unlock(void) {
  check_exclusion(read_and_write_impatiently, 300);
}

struct party {
  mltp_rwlock_t lock;
  mltp_barrier_t all_inside;
};

static void *meet_inside(void *p0) {
  struct party *party = p0;
  mltp_rwlock_rdlock(&party->lock);
  mltp_barrier_wait(&party->all_inside);
  mltp_rwlock_unlock(&party->lock);
  return NULL;
}

/* Readers are inside together, or this hangs; so also when they had to wait first. */
static void mltp_rwlock_lets_readers_in_together(void) {
  for (int kind = 0; kind < KINDS; kind++) {
    struct party party = {MLTP_RWLOCK_INIT, MLTP_BARRIER_INIT(WORKERS)};
    struct worker workers[WORKERS];
    mltp_rwlock_wrlock(&party.lock);
    for (int i = 0; i < WORKERS; i++)
      worker_start(&workers[i], kind == MIXED ? (enum kind)(i % MIXED) : (enum kind)kind,
                   meet_inside, &party);
    mltp_yield();
    mltp_rwlock_unlock(&party.lock);
    for (int i = 0; i < WORKERS; i++) worker_join(&workers[i]);
    CHECK_EQUAL(mltp_rwlock_destroy(&party.lock), 0);
  }
}

/* ------------------------------------------------- order, seen on one VP */

struct queue {
  mltp_rwlock_t lock;
  uint64_t timeout; /* of the timed thread */
  atomic_bool seen; /* a thread waits */
  char order[32];
};

static void enter_name(struct queue *queue) { strcat(queue->order, mltp_name(mltp_self())); }

static void *read_once(void *p0) {
  struct queue *queue = p0;
  mltp_rwlock_rdlock(&queue->lock);
  enter_name(queue);
  mltp_rwlock_unlock(&queue->lock);
  return NULL;
}

static void *write_once(void *p0) {
  struct queue *queue = p0;
  mltp_rwlock_wrlock(&queue->lock);
  enter_name(queue);
  mltp_rwlock_unlock(&queue->lock);
  return NULL;
}

static mltp_t *start(const char *name, mltp_userf_t *func, struct queue *queue) {
  mltp_attr_t attr = MLTP_ATTR_INIT;
  attr.name = name;
  mltp_t *thread = NULL;
  CHECK_EQUAL(mltp_create(&thread, &attr, func, queue), 0);
  mltp_yield(); /* it waits for the lock */
  return thread;
}

/* Lower case reads, upper case writes: queued in that order, they enter as expected. */
static void check_order(bool main_writes, const char *names, const char *expected) {
  struct queue queue = {.lock = MLTP_RWLOCK_INIT};
  mltp_t *threads[8];
  static char texts[8][2];
  int count = (int)strlen(names);
  check_case("%s behind a %s", names, main_writes ? "writer" : "reader");
  CHECK_EQUAL((main_writes ? mltp_rwlock_wrlock : mltp_rwlock_rdlock)(&queue.lock), 0);
  for (int i = 0; i < count; i++) {
    texts[i][0] = names[i];
    threads[i] = start(texts[i], names[i] < 'a' ? write_once : read_once, &queue);
  }
  CHECK_TEXT(queue.order, "");
  mltp_rwlock_unlock(&queue.lock);
  for (int i = 0; i < count; i++) mltp_join(threads[i], NULL);
  CHECK_TEXT(queue.order, expected);
}

/* The contract: writers in their order; readers after one writer, all at once. */
static void mltp_rwlock_is_phase_fair(void) {
  check_order(true, "ABC", "ABC");
  check_order(true, "aABb", "abAB");    /* both before the next writer */
  check_order(false, "AaBbC", "AabBC"); /* none before the first writer, all after it */
  check_order(true, "AaBbCc", "abcABC");
}

/* ---------------------------------------------------------- nobody starves */

struct stream {
  mltp_rwlock_t lock;
  atomic_int stop;
};

static void *read_on(void *p0) {
  struct stream *stream = p0;
  while (!atomic_load(&stream->stop)) {
    mltp_rwlock_rdlock(&stream->lock);
    mltp_yield();
    mltp_rwlock_unlock(&stream->lock);
  }
  return NULL;
}

static void *write_on(void *p0) {
  struct stream *stream = p0;
  while (!atomic_load(&stream->stop)) {
    mltp_rwlock_wrlock(&stream->lock);
    mltp_yield();
    mltp_rwlock_unlock(&stream->lock);
  }
  return NULL;
}

/* Others hold the lock nearly always, on one VP even without a gap: a thread that waits
 * for a gap starves, and this hangs. */
static void check_against_stream(mltp_userf_t *others, int (*acquire)(mltp_rwlock_t *lock)) {
  struct stream stream = {.lock = MLTP_RWLOCK_INIT};
  struct worker workers[4];
  for (int i = 0; i < 4; i++) worker_start(&workers[i], UNBOUND, others, &stream);
  for (int i = 0; i < 20; i++) {
    mltp_yield();
    CHECK_EQUAL(acquire(&stream.lock), 0);
    CHECK_EQUAL(mltp_rwlock_unlock(&stream.lock), 0);
  }
  atomic_store(&stream.stop, 1);
  for (int i = 0; i < 4; i++) worker_join(&workers[i]);
}

static void mltp_rwlock_writers_do_not_starve(void) {
  check_against_stream(read_on, mltp_rwlock_wrlock);
}

static void mltp_rwlock_readers_do_not_starve(void) {
  check_against_stream(write_on, mltp_rwlock_rdlock);
}

/* ------------------------------------------------------ attempts, deadlines */

static void *try_to_read(void *p0) {
  int error = mltp_rwlock_rdlock_try(p0);
  if (error == 0) mltp_rwlock_unlock(p0);
  return (void *)(intptr_t)error;
}

static void *try_to_write(void *p0) {
  int error = mltp_rwlock_wrlock_try(p0);
  if (error == 0) mltp_rwlock_unlock(p0);
  return (void *)(intptr_t)error;
}

static void *time_reading(void *p0) {
  uint64_t deadline = mltp_after(SHORT_NS);
  int error = mltp_rwlock_rdlock_timed(p0, deadline);
  CHECK(error == 0 || mltp_now() >= deadline);
  if (error == 0) mltp_rwlock_unlock(p0);
  return (void *)(intptr_t)error;
}

static void *time_writing(void *p0) {
  uint64_t deadline = mltp_after(SHORT_NS);
  int error = mltp_rwlock_wrlock_timed(p0, deadline);
  CHECK(error == 0 || mltp_now() >= deadline);
  if (error == 0) mltp_rwlock_unlock(p0);
  return (void *)(intptr_t)error;
}

static int run_one(enum kind kind, mltp_userf_t *func, mltp_rwlock_t *lock) {
  struct worker worker;
  worker_start(&worker, kind, func, lock);
  return (int)(intptr_t)worker_join(&worker);
}

static void mltp_rwlock_attempts_and_deadlines_respect_the_holder(void) {
  static const struct {
    int (*hold)(mltp_rwlock_t *lock);
    int read, write, time_read, time_write;
  } cases[] = {
      {NULL, 0, 0, 0, 0},
      {mltp_rwlock_rdlock, 0, EBUSY, 0, ETIMEDOUT},
      {mltp_rwlock_wrlock, EBUSY, EBUSY, ETIMEDOUT, ETIMEDOUT},
  };
  for (int i = 0; i < 3; i++) {
    for (int kind = 0; kind < MIXED; kind++) {
      check_case("case %d, %s", i, kind_names[kind]);
      mltp_rwlock_t lock = MLTP_RWLOCK_INIT;
      if (cases[i].hold != NULL) cases[i].hold(&lock);
      CHECK_EQUAL(run_one((enum kind)kind, time_reading, &lock), cases[i].time_read);
      CHECK_EQUAL(run_one((enum kind)kind, time_writing, &lock), cases[i].time_write);
      CHECK_EQUAL(run_one((enum kind)kind, try_to_read, &lock), cases[i].read);
      CHECK_EQUAL(run_one((enum kind)kind, try_to_write, &lock), cases[i].write);
      if (cases[i].hold != NULL) mltp_rwlock_unlock(&lock);
      CHECK_EQUAL(lock.word_, 0);
      CHECK_EQUAL(mltp_rwlock_destroy(&lock), 0);
    }
  }
}

static void *write_in_vain(void *p0) {
  struct queue *queue = p0;
  int error;
  do {
    error = mltp_rwlock_wrlock_timed(&queue->lock, mltp_after(queue->timeout));
  } while (error == ETIMEDOUT && !queue->seen);
  return (void *)(intptr_t)error;
}

static void *read_in_time(void *p0) {
  struct queue *queue = p0;
  mltp_rwlock_rdlock(&queue->lock);
  mltp_rwlock_unlock(&queue->lock);
  return NULL;
}

/* Readers that wait only because a writer did continue when it gives up: the main thread
 * reads all the while. */
static void mltp_rwlock_writer_that_gives_up_lets_readers_pass(void) {
  struct queue queue = {.lock = MLTP_RWLOCK_INIT, .timeout = 50000000};
  mltp_rwlock_rdlock(&queue.lock);
  mltp_t *writer = start("writer", write_in_vain, &queue);
  while (mltp_rwlock_rdlock_try(&queue.lock) == 0) { /* not queued yet */
    mltp_rwlock_unlock(&queue.lock);
    mltp_yield();
  }
  queue.seen = true;
  mltp_t *readers[3];
  for (int i = 0; i < 3; i++) readers[i] = start("reader", read_in_time, &queue);
  for (int i = 0; i < 3; i++) mltp_join(readers[i], NULL);
  void *error;
  mltp_join(writer, &error);
  CHECK_EQUAL((intptr_t)error, ETIMEDOUT);
  mltp_rwlock_unlock(&queue.lock);
  CHECK_EQUAL(mltp_rwlock_destroy(&queue.lock), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(mltp_rwlock_excludes_writers_from_all),
      TEST(mltp_rwlock_deadlines_race_with_unlock),
      TEST(mltp_rwlock_lets_readers_in_together),
      TEST_ONE_VP(mltp_rwlock_is_phase_fair),
      TEST_ONE_VP(mltp_rwlock_writers_do_not_starve),
      TEST(mltp_rwlock_writers_do_not_starve),
      TEST_ONE_VP(mltp_rwlock_readers_do_not_starve),
      TEST(mltp_rwlock_readers_do_not_starve),
      TEST(mltp_rwlock_attempts_and_deadlines_respect_the_holder),
      TEST(mltp_rwlock_writer_that_gives_up_lets_readers_pass),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
