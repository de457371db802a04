/* SPDX-License-Identifier: Apache-2.0 */
/* Priority is a hint: the order of threads, and that none starves. */
#include <stdatomic.h>
#include <string.h>

#include "support/support.h"

static char order[16];

static void *enter_name(void *p0) {
  strcat(order, mltp_name(mltp_self()));
  return p0;
}

static void *wait_then_enter_name(void *p0) {
  mltp_sem_wait(p0);
  return enter_name(p0);
}

static mltp_t *start(const char *name, int priority, mltp_userf_t *func, void *p0) {
  mltp_attr_t attr = MLTP_ATTR_INIT;
  attr.name = name;
  attr.priority = priority;
  mltp_t *thread = NULL;
  CHECK_EQUAL(mltp_create(&thread, &attr, func, p0), 0);
  return thread;
}

/* So that the VP has seen no thread of high priority lately. */
static void pass_time(void) {
  for (int i = 0; i < 8; i++) mltp_yield();
}

static void check_woken(int priority, const char *expected) {
  mltp_sem_t sem = MLTP_SEM_INIT(0);
  mltp_t *threads[4];
  order[0] = '\0';
  threads[0] = start("X", priority, wait_then_enter_name, &sem);
  pass_time(); /* it waits */
  threads[1] = start("A", 0, enter_name, NULL);
  mltp_sem_post(&sem);
  threads[2] = start("B", 0, enter_name, NULL);
  threads[3] = start("C", 0, enter_name, NULL);
  pass_time();
  CHECK_TEXT(order, expected);
  for (int i = 0; i < 4; i++) mltp_join(threads[i], NULL);
}

static void woken_thread_takes_its_turn_by_priority(void) {
  check_woken(MLTP_PRIORITY_HIGH, "XABC");
  check_woken(0, "AXBC");
  check_woken(MLTP_PRIORITY_LOW, "ABCX");
}

static void check_created(int priority, const char *expected) {
  mltp_t *threads[3];
  order[0] = '\0';
  pass_time();
  threads[0] = start("A", 0, enter_name, NULL);
  threads[1] = start("X", priority, enter_name, NULL);
  threads[2] = start("B", 0, enter_name, NULL);
  pass_time();
  CHECK_TEXT(order, expected);
  for (int i = 0; i < 3; i++) mltp_join(threads[i], NULL);
}

static void new_thread_takes_its_turn_by_priority(void) {
  check_created(MLTP_PRIORITY_HIGH, "XAB");
  check_created(0, "AXB");
  check_created(MLTP_PRIORITY_LOW, "ABX");
}

/* What is asked for by name comes, whatever its priority. */
static void mltp_yield_to_a_low_thread_runs_it(void) {
  order[0] = '\0';
  mltp_t *other = start("A", 0, enter_name, NULL);
  mltp_t *low = start("X", MLTP_PRIORITY_LOW, enter_name, NULL);
  CHECK_EQUAL(mltp_yield_to(low), 0);
  mltp_join(other, NULL);
  mltp_join(low, NULL);
  CHECK_TEXT(order, "XA");
}

/* ---------------------------------------------------------- nobody starves */

struct rally {
  mltp_sem_t sems[2];
  atomic_int over; /* the outsider has run */
  int last;        /* no more balls will come */
};

static void *serve(void *p0) {
  struct rally *rally = p0;
  while (!atomic_load(&rally->over)) {
    mltp_sem_post(&rally->sems[0]);
    mltp_sem_wait(&rally->sems[1]);
  }
  rally->last = 1;
  mltp_sem_post(&rally->sems[0]);
  return NULL;
}

static void *return_ball(void *p0) {
  struct rally *rally = p0;
  while (mltp_sem_wait(&rally->sems[0]) == 0 && !rally->last) mltp_sem_post(&rally->sems[1]);
  return NULL;
}

static void *end_it(void *p0) {
  struct rally *rally = p0;
  atomic_store(&rally->over, 1);
  return NULL;
}

/* Two threads of high priority wake each other until one of normal priority has run; then
 * two normal ones until a low one has. Else this hangs. */
static void check_outsider(int players, int outsider) {
  struct rally rally = {.sems = {MLTP_SEM_INIT(0), MLTP_SEM_INIT(0)}};
  mltp_t *threads[3];
  threads[0] = start("return", players, return_ball, &rally);
  threads[1] = start("serve", players, serve, &rally);
  pass_time();
  threads[2] = start("outsider", outsider, end_it, &rally);
  for (int i = 2; i >= 0; i--) mltp_join(threads[i], NULL);
}

static void high_threads_starve_nobody(void) { check_outsider(MLTP_PRIORITY_HIGH, 0); }

static void low_threads_do_not_starve(void) {
  check_outsider(0, MLTP_PRIORITY_LOW);
  check_outsider(MLTP_PRIORITY_HIGH, MLTP_PRIORITY_LOW);
}

static void *yield_often(void *p0) {
  for (int i = 0; i < 200; i++) mltp_yield();
  return p0;
}

/* All priorities, on all VPs, to the end. */
static void priorities_mix(void) {
  mltp_t *threads[30];
  for (int round = 0; round < scaled(20); round++) {
    for (int i = 0; i < 30; i++) threads[i] = start("mixed", i % 3 - 1, yield_often, NULL);
    for (int i = 0; i < 30; i++) CHECK_EQUAL(mltp_join(threads[i], NULL), 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST_ONE_VP(woken_thread_takes_its_turn_by_priority),
      TEST_ONE_VP(new_thread_takes_its_turn_by_priority),
      TEST_ONE_VP(mltp_yield_to_a_low_thread_runs_it),
      TEST_ONE_VP(high_threads_starve_nobody),
      TEST(high_threads_starve_nobody),
      TEST_ONE_VP(low_threads_do_not_starve),
      TEST(low_threads_do_not_starve),
      TEST(priorities_mix),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
