/* SPDX-License-Identifier: Apache-2.0 */
/* Fairness: a ready thread runs within a bounded number of scheduling points, whatever
 * the others do. A scheduler that starves it makes these tests hang. */
#include <stdatomic.h>
#include <unistd.h>

#include "support/support.h"

static void *set_flag(void *p0) {
  atomic_store((atomic_int *)p0, 1);
  return NULL;
}

struct rally {
  mltp_sem_t sems[2];
  atomic_int patient_ran; /* what the players wait for */
  atomic_int over;        /* no more balls will come back */
};

static void *return_the_ball(void *p0) {
  struct rally *rally = p0;
  while (!atomic_load(&rally->over)) {
    mltp_sem_wait(&rally->sems[0]);
    mltp_sem_post(&rally->sems[1]);
  }
  return NULL;
}

/* Two threads that wake each other do not keep the VP among themselves. */
static void wakers_starve_nobody(void) {
  struct rally rally = {.sems = {MLTP_SEM_INIT(0), MLTP_SEM_INIT(0)}};
  mltp_t *partner = spawn(return_the_ball, &rally);
  mltp_yield();
  mltp_t *patient = spawn(set_flag, &rally.patient_ran);
  while (!atomic_load(&rally.patient_ran)) {
    mltp_sem_post(&rally.sems[0]);
    mltp_sem_wait(&rally.sems[1]);
  }
  atomic_store(&rally.over, 1);
  mltp_sem_post(&rally.sems[0]);
  mltp_join(partner, NULL);
  mltp_join(patient, NULL);
}

static void *nothing(void *p0) { return p0; }

/* Nor does a thread that creates others and waits for each. */
static void creators_starve_nobody(void) {
  atomic_int over = 0;
  mltp_t *patient = spawn(set_flag, &over);
  while (!atomic_load(&over)) mltp_join(spawn(nothing, NULL), NULL);
  mltp_join(patient, NULL);
}

static atomic_int stop;

static void *yield_until_stopped(void *p0) {
  while (!atomic_load(&stop)) mltp_yield();
  return p0;
}

static void *yield_to_first_until_stopped(void *p0) {
  while (!atomic_load(&stop)) {
    for (int i = 0; i < 7; i++) mltp_yield_to_first();
    mltp_yield();
  }
  return p0;
}

static void *take_and_tell(void *p0) {
  struct rally *rally = p0;
  for (int i = 0; i < 20; i++) {
    mltp_sem_wait(&rally->sems[0]);
    mltp_sem_post(&rally->sems[1]);
  }
  return NULL;
}

static void *throw_the_ball(void *p0) {
  struct rally *rally = p0;
  for (int i = 0; i < 20; i++) {
    mltp_sem_post(&rally->sems[0]);
    mltp_sem_wait(&rally->sems[1]);
  }
  atomic_int ran = 0;
  mltp_t *thread = spawn(set_flag, &ran);
  CHECK_EQUAL(mltp_join(thread, NULL), 0);
  CHECK_EQUAL(atomic_load(&ran), 1);
  return NULL;
}

/* What comes from outside, woken or created by threads that have no VP, runs although
 * every VP has more than enough to do. */
static void check_busy_vps(mltp_userf_t *busy) {
  enum { BUSY = 20 };
  for (int kind = 0; kind < MIXED; kind++) {
    struct rally rally = {.sems = {MLTP_SEM_INIT(0), MLTP_SEM_INIT(0)}};
    struct worker workers[BUSY], taker, thrower;
    check_case("%s", kind_names[kind]);
    atomic_store(&stop, 0);
    for (int i = 0; i < BUSY; i++) worker_start(&workers[i], UNBOUND, busy, NULL);
    worker_start(&taker, UNBOUND, take_and_tell, &rally);
    worker_start(&thrower, (enum kind)kind, throw_the_ball, &rally);
    worker_join(&taker);
    worker_join(&thrower);
    atomic_store(&stop, 1);
    for (int i = 0; i < BUSY; i++) worker_join(&workers[i]);
  }
}

static void busy_vps_serve_others(void) { check_busy_vps(yield_until_stopped); }

static void vps_busy_at_the_front_serve_others(void) {
  check_busy_vps(yield_to_first_until_stopped);
}

static void *sleep_and_stop(void *p0) {
  mltp_sleep(10000000);
  atomic_store(&stop, 1);
  return p0;
}

static _Atomic(mltp_t *) pair[2];

static void *yield_to_the_other(void *p0) {
  while (!atomic_load(&stop)) {
    mltp_t *other = atomic_load(&pair[p0 == NULL]);
    if (other != NULL)
      mltp_yield_to(other);
    else
      mltp_yield(); /* it has not been created yet */
  }
  return p0;
}

/* Two threads that yield to each other do not keep the VP among themselves, nor from its timers. */
static void partners_starve_nobody(void) {
  atomic_store(&stop, 0);
  for (int i = 0; i < 2; i++) atomic_store(&pair[i], NULL);
  mltp_t *sleeper = spawn(sleep_and_stop, NULL);
  mltp_yield();
  mltp_t *threads[] = {spawn(yield_to_the_other, NULL), spawn(yield_to_the_other, &pair)};
  for (int i = 0; i < 2; i++) atomic_store(&pair[i], threads[i]);
  for (int i = 0; i < 2; i++) mltp_join(threads[i], NULL);
  mltp_join(sleeper, NULL);
}

static int ends[2]; /* of a pipe */

static void *yield_then_write(void *p0) {
  while (!atomic_load(&stop)) mltp_yield();
  CHECK_EQUAL(write(ends[1], "x", 1), 1);
  return p0;
}

/* A sleeper wakes although the VP that has its timer is blocked and another never rests. */
static void blocked_vps_have_their_timers_served(void) {
  char byte;
  if (seeded()) return; /* there is one VP, and none to take its place */
  CHECK_EQUAL(pipe(ends), 0);
  atomic_store(&stop, 0);
  mltp_t *sleeper = spawn(sleep_and_stop, NULL);
  mltp_yield();
  mltp_t *writer = spawn(yield_then_write, NULL);
  mltp_blocking_begin();
  CHECK_EQUAL(read(ends[0], &byte, 1), 1);
  mltp_blocking_end();
  mltp_join(writer, NULL);
  mltp_join(sleeper, NULL);
  close(ends[0]);
  close(ends[1]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST_ONE_VP(wakers_starve_nobody),
      TEST(wakers_starve_nobody),
      TEST_ONE_VP(creators_starve_nobody),
      TEST(creators_starve_nobody),
      TEST(busy_vps_serve_others),
      TEST(vps_busy_at_the_front_serve_others),
      TEST_ONE_VP(partners_starve_nobody),
      TEST(partners_starve_nobody),
      TEST(blocked_vps_have_their_timers_served),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
