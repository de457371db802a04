/* SPDX-License-Identifier: Apache-2.0 */
/* Latches, wait groups, once. */
#include "primitives.h"

static int come, gone;

/* In each of the ways to wait. */
void *with_latch(void *p0) {
  come++;
  switch ((long)p0) {
    case 0:
      EXPECT(mltp_latch_count_down(&latch, 1) == 0);
      EXPECT(mltp_latch_wait(&latch) == 0);
      break;
    case 1:
      EXPECT(mltp_latch_count_down(&latch, 1) == 0);
      EXPECT(mltp_latch_wait_timed(&latch, MLTP_NEVER) == 0);
      break;
    default: EXPECT(mltp_latch_arrive_and_wait(&latch) == 0);
  }
  EXPECT(come == THREADS);
  EXPECT(mltp_latch_wait_try(&latch) == 0);
  return p0;
}

/* Whether or not the deadline comes first, the next wait is not for it. */
void *with_timed_latch(void *p0) {
  EXPECT(mltp_latch_count_down(&latch, 1) == 0);
  int error = mltp_latch_wait_timed(&latch, mltp_after(20000));
  EXPECT(error == 0 || error == ETIMEDOUT);
  come++;
  for (int i = 0; p0 == NULL && i < 30; i++) mltp_explore_point();
  EXPECT(mltp_latch_arrive_and_wait(&second) == 0);
  EXPECT(come == THREADS);
  return p0;
}

/* Each task adds one and does both; two wait for all. */
void *with_waitgroup(void *p0) {
  EXPECT(mltp_waitgroup_add(&group, 1) == 0);
  come++;
  EXPECT(mltp_waitgroup_done(&group) == 0);
  gone++;
  EXPECT(mltp_waitgroup_done(&group) == 0);
  if (p0 == NULL) return p0;
  EXPECT((p0 == (void *)1L ? mltp_waitgroup_wait(&group)
                           : mltp_waitgroup_wait_timed(&group, MLTP_NEVER)) == 0);
  EXPECT(come == THREADS && gone == THREADS);
  return p0;
}

static mltp_once_t once = MLTP_ONCE_INIT;

static void in_two_steps(void *p0) {
  (void)p0;
  section();
  section();
}

void *with_once(void *p0) {
  EXPECT(mltp_once(&once, in_two_steps, NULL) == 0);
  EXPECT(entered == 2);
  return p0;
}

/* The first to come leaves by mltp_exit(): the next has to do it. */
static void do_or_leave(void *p0) {
  section();
  if (come++ == 0) mltp_exit(p0);
  gone = 1;
}

void *with_once_left(void *p0) {
  EXPECT(mltp_once(&once, do_or_leave, p0) == 0);
  EXPECT(gone == 1 && entered == 2);
  return p0;
}
