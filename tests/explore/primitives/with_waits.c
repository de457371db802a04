/* SPDX-License-Identifier: Apache-2.0 */
/* Semaphores, barriers, conditions, sleeps. */
#include "primitives.h"

void *with_sem(void *p0) {
  for (int i = 0; i < ROUNDS; i++) {
    EXPECT(mltp_sem_wait(&sem) == 0);
    section();
    EXPECT(mltp_sem_post(&sem) == 0);
  }
  return p0;
}

void *with_timed_sem(void *p0) {
  if (mltp_sem_wait_timed(&sem, mltp_after(5000)) == 0) {
    section();
    mltp_sem_post(&sem);
  } else {
    entered++;
  }
  return with_sem(p0);
}

void *with_barrier(void *p0) {
  static int come[ROUNDS];
  for (int i = 0; i < ROUNDS; i++) {
    come[i]++;
    mltp_barrier_wait(&barrier);
    EXPECT(come[i] == THREADS);
  }
  return p0;
}

/* A token that goes round. */
void *with_cond(void *p0) {
  long me = (long)p0;
  for (int i = 0; i < ROUNDS; i++) {
    mltp_lock(&lock);
    while (entered % THREADS != me) mltp_cond_wait(&cond, &lock);
    section();
    mltp_cond_broadcast(&cond);
    mltp_unlock(&lock);
  }
  return p0;
}

/* One that waits may be signalled, and then wait for the lock when its time has come. */
void *with_timed_cond(void *p0) {
  mltp_lock(&lock);
  if (p0 != NULL) {
    int error = mltp_cond_wait_timed(&cond, &lock, mltp_after(8000));
    EXPECT(error == 0 || error == ETIMEDOUT);
  }
  mltp_cond_signal(&cond);
  for (int i = 0; i < 5; i++) mltp_explore_point();
  section();
  mltp_unlock(&lock);
  if (p0 != NULL) { /* its timer is not there any more to end other waits */
    uint64_t until = mltp_after(16000);
    mltp_sleep_until(until);
    EXPECT(mltp_now() >= until);
  }
  return p0;
}

void *with_sleep(void *p0) {
  uint64_t until = mltp_after(3000);
  mltp_sleep_until(until);
  EXPECT(mltp_now() >= until);
  return p0;
}
