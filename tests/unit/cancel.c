/* SPDX-License-Identifier: Apache-2.0 */
/* Cancellation, at once or by a deadline, of every call that can be cancelled; and the
 * others are unchanged. */
#include <stdatomic.h>

#include "support/support.h"

#define MS 1000000ull

/* ------------------------------------------- the calls that can be cancelled */

static struct {
  mltp_lock_t lock[LOCK_CLASSES]; /* as in lock_classes, held */
  mltp_lock_t free_lock;
  mltp_cond_t cond;
  mltp_sem_t sem;
  mltp_channel_t *empty, *full;
  mltp_t *other; /* does not end */
  mltp_sem_t end_other;
} world;

static void *wait_for_end(void *p0) {
  mltp_sem_wait(&world.end_other);
  return p0;
}

static void set_up(void) {
  long element = 0;
  for (int class = 0; class < LOCK_CLASSES; class ++) {
    mltp_lock_init(&world.lock[class], lock_classes[class].id, "held");
    mltp_lock(&world.lock[class]);
  }
  mltp_lock_init(&world.free_lock, MLTP_LOCK_STANDARD, "free");
  mltp_cond_init(&world.cond, "never");
  mltp_sem_init(&world.sem, 0, "none");
  mltp_sem_init(&world.end_other, 0, "end");
  world.empty = new_channel(1, sizeof element, "empty");
  world.full = new_channel(1, sizeof element, "full");
  mltp_channel_send(world.full, &element);
  world.other = spawn(wait_for_end, NULL);
}

/* Nothing happened to any of the objects. */
static void tear_down(void) {
  for (int class = 0; class < LOCK_CLASSES; class ++) {
    CHECK_EQUAL(mltp_unlock(&world.lock[class]), 0);
    CHECK_EQUAL(mltp_lock_destroy(&world.lock[class]), 0);
  }
  CHECK_EQUAL(mltp_lock_destroy(&world.free_lock), 0);
  CHECK_EQUAL(mltp_cond_destroy(&world.cond), 0);
  CHECK_EQUAL(mltp_sem_destroy(&world.sem), 0);
  CHECK_EQUAL(mltp_channel_length(world.empty), 0);
  CHECK_EQUAL(mltp_channel_length(world.full), 1);
  CHECK_EQUAL(mltp_channel_destroy(world.empty), 0);
  CHECK_EQUAL(mltp_channel_destroy(world.full), 0);
  mltp_sem_post(&world.end_other);
  CHECK_EQUAL(mltp_join(world.other, NULL), 0);
  CHECK_EQUAL(mltp_sem_destroy(&world.end_other), 0);
}

static int lock_held(mltp_lock_class_t lock_class, uint64_t deadline) {
  int class = 0;
  while (lock_classes[class].id != lock_class) class ++;
  return mltp_lock_timed(&world.lock[class], deadline);
}

static int lock_reactive(uint64_t deadline) { return lock_held(MLTP_LOCK_REACTIVE, deadline); }
static int lock_spin(uint64_t deadline) { return lock_held(MLTP_LOCK_SPIN, deadline); }
static int lock_yield_end(uint64_t deadline) {
  return lock_held(MLTP_LOCK_ALT_YIELD_END, deadline);
}
static int lock_yield_front(uint64_t deadline) {
  return lock_held(MLTP_LOCK_ALT_YIELD_FRONT, deadline);
}

static int wait_for_sem(uint64_t deadline) { return mltp_sem_wait_timed(&world.sem, deadline); }

static int wait_for_cond(uint64_t deadline) {
  return mltp_cond_wait_unlocked_timed(&world.cond, deadline);
}

static int wait_for_cond_with_lock(uint64_t deadline) {
  mltp_lock(&world.free_lock);
  int error = mltp_cond_wait_timed(&world.cond, &world.free_lock, deadline);
  CHECK_EQUAL(mltp_unlock(&world.free_lock), 0); /* held all the same */
  return error;
}

static int join_other(uint64_t deadline) { return mltp_join_timed(world.other, NULL, deadline); }

static int send(uint64_t deadline) {
  long element = 1;
  return deadline == MLTP_NEVER ? mltp_channel_send(world.full, &element)
                                : mltp_channel_send_timed(world.full, &element, deadline);
}

static int receive(uint64_t deadline) {
  long element;
  return deadline == MLTP_NEVER ? mltp_channel_recv(world.empty, &element)
                                : mltp_channel_recv_timed(world.empty, &element, deadline);
}

static int select_either(uint64_t deadline) {
  long in, out = 1;
  mltp_case_t cases[] = {MLTP_CASE_RECV(world.empty, &in), MLTP_CASE_SEND(world.full, &out)};
  size_t chosen;
  return mltp_select_timed(cases, 2, &chosen, deadline);
}

static const struct point {
  const char *name;
  int (*wait)(uint64_t deadline);
  int alone; /* for one thread at a time */
} points[] = {
    {"timedlock, reactive", lock_reactive, 0},
    {"timedlock, spin", lock_spin, 0},
    {"timedlock, yield-end", lock_yield_end, 0},
    {"timedlock, yield-front", lock_yield_front, 0},
    {"sem_timedwait", wait_for_sem, 0},
    {"cond_timedwait", wait_for_cond, 0},
    {"cond_timedwait with a lock", wait_for_cond_with_lock, 0},
    {"sleep_until", mltp_sleep_until, 0},
    {"join_timed", join_other, 1},
    {"channel_send", send, 0},
    {"channel_recv", receive, 0},
    {"select", select_either, 0},
};
enum { POINTS = sizeof points / sizeof points[0] };

static void for_each_point(mltp_userf_t *func) {
  set_up();
  for (int kind = 0; kind < KINDS; kind++) {
    for (int i = 0; i < POINTS; i++) {
      check_case("%s, %s", kind_names[kind], points[i].name);
      workers_run(points[i].alone ? 1 : 3, (enum kind)kind, func, (void *)&points[i]);
    }
  }
  tear_down();
}

/* ------------------------------------------------------------ cancelled before */

static void *wait_when_cancelled(void *p0) {
  const struct point *point = p0;
  CHECK_EQUAL(mltp_cancelled(), 0);
  CHECK_EQUAL(mltp_cancel(mltp_self()), 0);
  CHECK_EQUAL(mltp_cancelled(), 1);
  for (int i = 0; i < 2; i++) { /* it stays so */
    CHECK_EQUAL(point->wait(MLTP_NEVER), ECANCELED);
    CHECK_EQUAL(point->wait(mltp_after(1000000 * MS)), ECANCELED);
  }
  mltp_uncancel();
  CHECK_EQUAL(mltp_cancelled(), 0);
  if (point->wait != mltp_sleep_until) CHECK_EQUAL(point->wait(mltp_after(MS / 10)), ETIMEDOUT);
  return NULL;
}

static void cancelled_threads_do_not_wait(void) { for_each_point(wait_when_cancelled); }

/* ----------------------------------------------------------- cancelled meanwhile */

struct victim {
  const struct point *point;
  _Atomic(mltp_t *) thread;
  atomic_int stage; /* 1: is about to wait; 2: has waited */
};

static void *wait_to_be_cancelled(void *p0) {
  struct victim *victim = p0;
  atomic_store(&victim->thread, mltp_self());
  atomic_store(&victim->stage, 1);
  int error = victim->point->wait(MLTP_NEVER);
  atomic_store(&victim->stage, 2);
  return (void *)(intptr_t)error;
}

static void waiting_threads_are_cancelled(void) {
  set_up();
  for (int kind = 0; kind < MIXED; kind++) {
    for (int i = 0; i < POINTS; i++) {
      for (int waits_long = 0; waits_long < 2; waits_long++) { /* about to wait, or long there */
        check_case("%s, %s", kind_names[kind], points[i].name);
        struct victim victim = {.point = &points[i]};
        struct worker worker;
        worker_start(&worker, (enum kind)kind, wait_to_be_cancelled, &victim);
        while (atomic_load(&victim.stage) == 0) mltp_yield();
        if (waits_long) mltp_sleep(MS / 2);
        CHECK_EQUAL(atomic_load(&victim.stage), 1); /* it does not wake up by itself */
        CHECK_EQUAL(mltp_cancel(atomic_load(&victim.thread)), 0);
        CHECK_EQUAL((intptr_t)worker_join(&worker), ECANCELED);
      }
    }
  }
  tear_down();
}

/* --------------------------------------------------------------- by a deadline */

static void *wait_under_a_deadline(void *p0) {
  const struct point *point = p0;
  uint64_t own = mltp_after(2 * MS);
  CHECK_EQUAL(mltp_set_deadline(own), MLTP_NEVER);
  CHECK_EQUAL(point->wait(MLTP_NEVER), ECANCELED);
  CHECK(mltp_now() >= own);
  CHECK_EQUAL(mltp_cancelled(), 1);
  CHECK_EQUAL(point->wait(mltp_after(1000000 * MS)), ECANCELED); /* it stays so */
  CHECK_EQUAL(mltp_set_deadline(mltp_after(1000000 * MS)), own); /* a later one: not any more */
  CHECK_EQUAL(mltp_cancelled(), 0);
  if (point->wait != mltp_sleep_until) CHECK_EQUAL(point->wait(mltp_after(MS / 10)), ETIMEDOUT);
  mltp_uncancel();
  CHECK_EQUAL(mltp_set_deadline(MLTP_NEVER), MLTP_NEVER);
  return NULL;
}

static void deadlines_of_threads_cancel_their_waits(void) { for_each_point(wait_under_a_deadline); }

/* ------------------------------------------------------- what is not cancelled */

static void *do_without_waiting(void *p0) {
  mltp_lock_t lock = MLTP_LOCK_INIT;
  mltp_sem_t sem = MLTP_SEM_INIT(1);
  mltp_channel_t *channel = new_channel(1, sizeof(int), NULL);
  int number = 5;
  mltp_cancel(mltp_self());
  CHECK_EQUAL(mltp_lock_timed(&lock, MLTP_NEVER), 0);
  CHECK_EQUAL(mltp_sem_wait_timed(&sem, MLTP_NEVER), 0);
  CHECK_EQUAL(mltp_channel_send(channel, &number), 0);
  CHECK_EQUAL(mltp_channel_recv(channel, &number), 0);
  CHECK_EQUAL(mltp_unlock(&lock), 0);
  CHECK_EQUAL(mltp_channel_destroy(channel), 0);
  return p0;
}

static void what_need_not_wait_is_done(void) {
  for (int kind = 0; kind < MIXED; kind++) {
    check_case("%s", kind_names[kind]);
    workers_run(1, (enum kind)kind, do_without_waiting, NULL);
  }
}

static struct {
  mltp_lock_t lock;
  mltp_cond_t cond;
  mltp_sem_t sem;
  mltp_barrier_t barrier;
  int signalled; /* protected by the lock */
} plain;

static void *wait_although_cancelled(void *p0) {
  mltp_cancel(mltp_self());
  mltp_barrier_wait(&plain.barrier);
  CHECK_EQUAL(mltp_sem_wait(&plain.sem), 0);
  CHECK_EQUAL(mltp_lock(&plain.lock), 0);
  while (!plain.signalled) CHECK_EQUAL(mltp_cond_wait(&plain.cond, &plain.lock), 0);
  CHECK_EQUAL(mltp_unlock(&plain.lock), 0);
  CHECK_EQUAL(mltp_cancelled(), 1);
  return p0;
}

static void calls_without_a_deadline_are_not_cancelled(void) {
  for (int kind = 0; kind < MIXED; kind++) {
    check_case("%s", kind_names[kind]);
    struct worker worker;
    mltp_lock_init(&plain.lock, MLTP_LOCK_STANDARD, NULL);
    mltp_cond_init(&plain.cond, NULL);
    mltp_sem_init(&plain.sem, 0, NULL);
    mltp_barrier_init(&plain.barrier, 2, NULL);
    plain.signalled = 0;
    mltp_lock(&plain.lock);
    worker_start(&worker, (enum kind)kind, wait_although_cancelled, NULL);
    mltp_barrier_wait(&plain.barrier);
    for (int i = 0; i < 5; i++) mltp_yield();
    mltp_sem_post(&plain.sem);
    for (int i = 0; i < 5; i++) mltp_yield();
    mltp_unlock(&plain.lock);
    mltp_sleep(MS / 2);
    mltp_lock(&plain.lock);
    plain.signalled = 1;
    mltp_cond_signal(&plain.cond);
    mltp_unlock(&plain.lock);
    worker_join(&worker);
    CHECK_EQUAL(mltp_cond_destroy(&plain.cond), 0);
    CHECK_EQUAL(mltp_sem_destroy(&plain.sem), 0);
  }
}

static void *is_cancelled(void *p0) {
  (void)p0;
  return (void *)(intptr_t)mltp_cancelled();
}

/* Descriptors are used again. */
static void new_threads_are_not_cancelled(void) {
  for (int i = 0; i < 20; i++) {
    mltp_t *thread = spawn(is_cancelled, NULL);
    void *result = NULL;
    CHECK_EQUAL(mltp_join(thread, &result), 0);
    CHECK(result == NULL);
    thread = spawn(is_cancelled, NULL);
    CHECK_EQUAL(mltp_cancel(thread), 0);
    CHECK_EQUAL(mltp_join(thread, NULL), 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(cancelled_threads_do_not_wait),
      TEST(waiting_threads_are_cancelled),
      TEST(deadlines_of_threads_cancel_their_waits),
      TEST(what_need_not_wait_is_done),
      TEST(calls_without_a_deadline_are_not_cancelled),
      TEST(new_threads_are_not_cancelled),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
