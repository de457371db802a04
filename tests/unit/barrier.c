/* SPDX-License-Identifier: Apache-2.0 */
/* Barriers, thesis 3.3.4, for every kind of thread. */
#include <stdatomic.h>
#include <string.h>

#include "support/support.h"

enum { EPISODES_MAX = 200 };

struct phase {
  mltp_barrier_t barrier;
  int count, episodes;
  atomic_int arrived[EPISODES_MAX], serial[EPISODES_MAX];
  atomic_int went_early, bad_returns;
  long plain[WORKERS_MAX]; /* written before, read by all after: needs the barrier's ordering */
  atomic_int next_index;
};

static void *meet_often(void *p0) {
  struct phase *m = p0;
  int me = atomic_fetch_add(&m->next_index, 1);
  for (int e = 0; e < m->episodes; e++) {
    m->plain[me] = e;
    atomic_fetch_add(&m->arrived[e], 1);
    int result = mltp_barrier_wait(&m->barrier);
    if (result == MLTP_BARRIER_SERIAL) {
      atomic_fetch_add(&m->serial[e], 1);
    } else if (result != 0) {
      atomic_fetch_add(&m->bad_returns, 1);
    }
    if (atomic_load(&m->arrived[e]) != m->count) atomic_fetch_add(&m->went_early, 1);
    for (int i = 0; i < m->count; i++) {
      if (m->plain[i] != e) atomic_fetch_add(&m->went_early, 1);
    }
    mltp_barrier_wait(&m->barrier); /* all have read: plain may be written again */
  }
  return NULL;
}

static void check_phase(int count, enum kind kind, int episodes) {
  check_case("%d %s threads", count, kind_names[kind]);
  struct phase m = {.count = count, .episodes = episodes};
  CHECK_EQUAL(mltp_barrier_init(&m.barrier, (unsigned)count, "phase"), 0);
  workers_run(count, kind, meet_often, &m);
  CHECK_EQUAL(atomic_load(&m.went_early), 0);
  CHECK_EQUAL(atomic_load(&m.bad_returns), 0);
  for (int e = 0; e < episodes; e++) CHECK_EQUAL(atomic_load(&m.serial[e]), 1);
  CHECK_EQUAL(mltp_barrier_destroy(&m.barrier), 0);
}

static void mltp_barrier_wait_by_few(void) {
  for (int kind = 0; kind < KINDS; kind++) check_phase(3, (enum kind)kind, scaled(EPISODES_MAX));
}

static void mltp_barrier_wait_by_more_threads_than_vps(void) {
  for (int kind = 0; kind < KINDS; kind++) check_phase(20, (enum kind)kind, scaled(50));
}

/* Two halves in turn: the barrier's units follow the arrivals. */
static void *meet_in_turns(void *p0) {
  struct phase *m = p0;
  static mltp_barrier_t all = MLTP_BARRIER_INIT(16);
  int me = atomic_fetch_add(&m->next_index, 1);
  for (int e = 0; e < m->episodes; e++) {
    if ((me + e) % 2 == 0) {
      atomic_fetch_add(&m->arrived[e], 1);
      if (mltp_barrier_wait(&m->barrier) == MLTP_BARRIER_SERIAL) atomic_fetch_add(&m->serial[e], 1);
      if (atomic_load(&m->arrived[e]) != m->count) atomic_fetch_add(&m->went_early, 1);
    }
    mltp_barrier_wait(&all);
  }
  return NULL;
}

static void mltp_barrier_wait_by_others_each_time(void) {
  for (int kind = 0; kind < KINDS; kind++) {
    check_case("%s threads", kind_names[kind]);
    struct phase m = {.count = 8, .episodes = scaled(50)};
    CHECK_EQUAL(mltp_barrier_init(&m.barrier, 8, "turns"), 0);
    workers_run(16, (enum kind)kind, meet_in_turns, &m);
    CHECK_EQUAL(atomic_load(&m.went_early), 0);
    for (int e = 0; e < m.episodes; e++) CHECK_EQUAL(atomic_load(&m.serial[e]), 1);
    CHECK_EQUAL(mltp_barrier_destroy(&m.barrier), 0);
  }
}

static void mltp_barrier_of_one_never_waits(void) {
  mltp_barrier_t barrier = MLTP_BARRIER_INIT(1);
  for (int i = 0; i < 1000; i++) CHECK_EQUAL(mltp_barrier_wait(&barrier), MLTP_BARRIER_SERIAL);
  CHECK_EQUAL(mltp_barrier_destroy(&barrier), 0);
}

static void mltp_barrier_init_refuses_zero(void) {
  mltp_barrier_t barrier;
  CHECK_EQUAL(mltp_barrier_init(&barrier, 0, NULL), EINVAL);
}

static void *arrive(void *p0) { return (void *)(intptr_t)mltp_barrier_wait(p0); }

/* The last one to come is the serial one. */
static void mltp_barrier_serial_is_the_last(void) {
  mltp_barrier_t barrier = MLTP_BARRIER_INIT(4);
  mltp_t *threads[3];
  for (int i = 0; i < 3; i++) {
    threads[i] = spawn(arrive, &barrier);
    mltp_yield(); /* on one VP: it has arrived */
  }
  CHECK_EQUAL(mltp_barrier_wait(&barrier), MLTP_BARRIER_SERIAL);
  for (int i = 0; i < 3; i++) {
    void *result = (void *)1;
    mltp_join(threads[i], &result);
    CHECK_EQUAL((intptr_t)result, 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(mltp_barrier_wait_by_few),
      TEST(mltp_barrier_wait_by_more_threads_than_vps),
      TEST(mltp_barrier_wait_by_others_each_time),
      TEST(mltp_barrier_of_one_never_waits),
      TEST(mltp_barrier_init_refuses_zero),
      TEST_ONE_VP(mltp_barrier_serial_is_the_last),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
