/* SPDX-License-Identifier: Apache-2.0 */
/* A program to look into: threads that wait for each thing there is, and as many more as
 * asked for. It says "ready" when all wait, and runs until its input ends.
 * usage: scene THREADS */
#include <mltp/mltp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "support/asleep.h"

static mltp_lock_t props;
static mltp_cond_t curtain;
static mltp_barrier_t stage_door;
static mltp_sem_t tickets;
static atomic_bool spinning, over;
static atomic_int arrived; /* threads that are about to wait */

static void *wait_for_lock(void *p0) {
  arrived++;
  mltp_lock(&props);
  return p0;
}

static void *wait_for_condition(void *p0) {
  arrived++;
  mltp_cond_wait_unlocked(&curtain);
  return p0;
}

static void *wait_at_barrier(void *p0) {
  arrived++;
  mltp_barrier_wait(&stage_door);
  return p0;
}

static void *wait_for_ticket(void *p0) {
  arrived++;
  mltp_sem_wait(&tickets);
  return p0;
}

static void *join_given(void *p0) {
  arrived++;
  mltp_join(p0, NULL);
  return NULL;
}

static void *sleep_long(void *p0) {
  arrived++;
  mltp_sleep(3600ull * 1000 * 1000 * 1000);
  return p0;
}

static void *rehearse(void *p0) {
  spinning = true;
  while (!over) continue;
  return p0;
}

static void *be_foreign(void *p0) {
  mltp_set_name(mltp_self(), "visitor");
  return wait_for_ticket(p0);
}

static mltp_t *start(const char *name, mltp_userf_t *func, void *p0, int bound) {
  mltp_attr_t attr = MLTP_ATTR_INIT;
  attr.name = name;
  attr.bound = bound;
  attr.stack_size = 16384;
  mltp_t *thread;
  if (mltp_create(&thread, &attr, func, p0) != 0) exit(1);
  return thread;
}

/* Reports that all others wait, after the last one has arrived; then no thread runs any more. */
static void *usher(void *cast) {
  while (arrived < *(int *)cast) mltp_yield();
  mltp_yield(); /* threads queued after this one run */
  wait_until_asleep(1);
  puts("ready");
  fflush(stdout);
  return cast;
}

int main(int argc, char **argv) {
  int threads = argc > 1 ? atoi(argv[1]) : 0;
  pthread_t visitor;
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0); /* where debuggers are restrained */
  if (mltp_init(0) != 0) return 1;
  mltp_set_name(mltp_self(), "director");
  mltp_lock_init(&props, MLTP_LOCK_REACTIVE, "props");
  mltp_cond_init(&curtain, "curtain");
  mltp_barrier_init(&stage_door, 3, "stage-door");
  mltp_sem_init(&tickets, 0, "tickets");
  mltp_lock(&props);
  start("locked-out", wait_for_lock, NULL, 0);
  start("listening", wait_for_condition, NULL, 0);
  start("at-the-door", wait_at_barrier, NULL, 0);
  start("joining", join_given, start("queueing", wait_for_ticket, NULL, 0), 0);
  start("sleeping", sleep_long, NULL, 0);
  start("bound-one", wait_for_ticket, NULL, 1);
  start("busy", rehearse, NULL, 1);
  if (pthread_create(&visitor, NULL, be_foreign, NULL) != 0) return 1;
  for (int i = 0; i < threads; i++) start("extra", wait_for_ticket, NULL, 0);
  while (!spinning) mltp_yield();
  int cast = 8 + threads; /* all but the busy one and the usher */
  mltp_join(start("usher", usher, &cast, 0), NULL);
  char c;
  while (read(STDIN_FILENO, &c, 1) > 0) continue;
  exit(0); /* with all its threads */
}
