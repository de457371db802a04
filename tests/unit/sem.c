/* SPDX-License-Identifier: Apache-2.0 */
/* Counting semaphores for every kind of thread: no unit is lost and none is made up. */
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "support/support.h"

#define MS 1000000ull

struct traffic {
  mltp_sem_t sem;
  atomic_int next_role;
  atomic_long taken, timed_out, errors;
};

enum { POSTS = 1000 };

static void *post_or_take(void *p0) {
  struct traffic *t = p0;
  int takes = atomic_fetch_add(&t->next_role, 1) % 2;
  for (int i = 0; i < scaled(POSTS); i++) {
    int error = takes ? mltp_sem_wait(&t->sem) : mltp_sem_post(&t->sem);
    if (error != 0) atomic_fetch_add(&t->errors, 1);
    if (i % 32 == 0) mltp_yield();
  }
  return NULL;
}

static void mltp_sem_conserves_units(void) {
  for (int kind = 0; kind < KINDS; kind++) {
    check_case("%s", kind_names[kind]);
    struct traffic t = {.sem = MLTP_SEM_INIT(5)};
    workers_run(6, (enum kind)kind, post_or_take, &t);
    CHECK_EQUAL(atomic_load(&t.errors), 0);
    CHECK_EQUAL(mltp_sem_value(&t.sem), 5);
    CHECK_EQUAL(mltp_sem_destroy(&t.sem), 0);
  }
}

static void *take_with_every_call(void *p0) {
  struct traffic *t = p0;
  for (int i = 0; i < scaled(400); i++) {
    int error = i % 3 == 0 ? mltp_sem_wait_try(&t->sem)
                           : mltp_sem_wait_timed(&t->sem, mltp_after((uint64_t)(i % 8) * 5000));
    if (error == 0) {
      atomic_fetch_add(&t->taken, 1);
    } else if (error != (i % 3 == 0 ? EAGAIN : ETIMEDOUT)) {
      atomic_fetch_add(&t->errors, 1);
    }
    if (i % 2) CHECK_EQUAL(mltp_sem_post(&t->sem), 0);
  }
  return NULL;
}

/* Deadlines that run out just when a unit is handed over: it is either taken or stays. */
static void mltp_sem_wait_timed_races_with_post(void) {
  for (int kind = 0; kind < KINDS; kind++) {
    check_case("%s", kind_names[kind]);
    struct traffic t = {.sem = MLTP_SEM_INIT(0)};
    workers_run(6, (enum kind)kind, take_with_every_call, &t);
    CHECK_EQUAL(atomic_load(&t.errors), 0);
    CHECK_EQUAL(atomic_load(&t.taken) + mltp_sem_value(&t.sem), 6 * (scaled(400) / 2));
    CHECK_EQUAL(mltp_sem_destroy(&t.sem), 0);
  }
}

static void *time_out(void *p0) {
  uint64_t deadline = mltp_after(3 * MS);
  CHECK_EQUAL(mltp_sem_wait_timed(p0, deadline), ETIMEDOUT);
  CHECK(mltp_now() >= deadline);
  return NULL;
}

static void mltp_sem_wait_timed_times_out_and_not_early(void) {
  for (int kind = 0; kind < MIXED; kind++) {
    check_case("%s", kind_names[kind]);
    mltp_sem_t sem = MLTP_SEM_INIT(0);
    workers_run(1, (enum kind)kind, time_out, &sem);
    CHECK_EQUAL(mltp_sem_value(&sem), 0);
    CHECK_EQUAL(mltp_sem_destroy(&sem), 0);
  }
}

struct queue {
  mltp_sem_t sem;
  char order[16];
};

static void *append_when_given(void *p0) {
  struct queue *queue = p0;
  mltp_sem_wait(&queue->sem);
  strcat(queue->order, mltp_name(mltp_self()));
  return NULL;
}

static void mltp_sem_is_first_come_first_served(void) {
  static const char *const names[] = {"A", "B", "C", "D"};
  struct queue queue = {.sem = MLTP_SEM_INIT(0)};
  mltp_t *threads[4];
  for (int i = 0; i < 4; i++) {
    mltp_attr_t attr = MLTP_ATTR_INIT;
    attr.name = names[i];
    CHECK_EQUAL(mltp_create(&threads[i], &attr, append_when_given, &queue), 0);
    mltp_yield(); /* on one VP: it waits now */
  }
  mltp_sem_post(&queue.sem);
  CHECK_EQUAL(mltp_sem_wait_try(&queue.sem), EAGAIN); /* given to A, even before it runs */
  for (int i = 1; i < 4; i++) {
    for (int round = 0; round < 10; round++) mltp_yield();
    CHECK_EQUAL(strlen(queue.order), i);
    mltp_sem_post(&queue.sem);
  }
  for (int i = 0; i < 4; i++) mltp_join(threads[i], NULL);
  CHECK_TEXT(queue.order, "ABCD");
}

static void mltp_sem_counts(void) {
  mltp_sem_t sem;
  CHECK_EQUAL(mltp_sem_init(&sem, 2, "two"), 0);
  CHECK_EQUAL(mltp_sem_value(&sem), 2);
  CHECK_EQUAL(mltp_sem_wait(&sem), 0);
  CHECK_EQUAL(mltp_sem_wait_timed(&sem, MLTP_NEVER), 0);
  CHECK_EQUAL(mltp_sem_wait_try(&sem), EAGAIN);
  CHECK_EQUAL(mltp_sem_post(&sem), 0);
  CHECK_EQUAL(mltp_sem_wait_try(&sem), 0);
  CHECK_EQUAL(mltp_sem_value(&sem), 0);
  CHECK_EQUAL(mltp_sem_destroy(&sem), 0);
}

static void mltp_sem_post_overflows(void) {
  mltp_sem_t sem;
  CHECK_EQUAL(mltp_sem_init(&sem, UINT32_MAX - 1, NULL), 0);
  CHECK_EQUAL(mltp_sem_post(&sem), 0);
  CHECK_EQUAL(mltp_sem_post(&sem), EOVERFLOW);
  CHECK_EQUAL(mltp_sem_value(&sem), UINT32_MAX);
}

static void *post_late(void *p0) {
  usleep(20000); /* the library has not seen this thread when all others wait already */
  mltp_sem_post(p0);
  return NULL;
}

/* Waiting for a foreign thread is no deadlock. */
static void mltp_sem_post_by_a_foreign_thread_not_seen_before(void) {
  mltp_sem_t sem = MLTP_SEM_INIT(0);
  pthread_t foreign;
  CHECK_EQUAL(pthread_create(&foreign, NULL, post_late, &sem), 0);
  CHECK_EQUAL(mltp_sem_wait(&sem), 0);
  pthread_join(foreign, NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(mltp_sem_conserves_units),
      TEST(mltp_sem_wait_timed_races_with_post),
      TEST(mltp_sem_wait_timed_times_out_and_not_early),
      TEST_ONE_VP(mltp_sem_is_first_come_first_served),
      TEST(mltp_sem_counts),
      TEST(mltp_sem_post_overflows),
      TEST(mltp_sem_post_by_a_foreign_thread_not_seen_before),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
