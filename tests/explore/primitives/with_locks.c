/* SPDX-License-Identifier: Apache-2.0 */
/* Locks of any class, and readers-writer locks. */
#include "primitives.h"

void *with_lock(void *p0) {
  for (int i = 0; i < ROUNDS; i++) {
    EXPECT(mltp_lock(&lock) == 0);
    section();
    EXPECT(mltp_unlock(&lock) == 0);
  }
  return p0;
}

void *with_trylock(void *p0) {
  while (mltp_lock_try(&lock) != 0) mltp_yield();
  section();
  EXPECT(mltp_unlock(&lock) == 0);
  return with_lock(p0);
}

void *with_timedlock(void *p0) {
  if (mltp_lock_timed(&lock, mltp_after(5000)) == 0) {
    section();
    EXPECT(mltp_unlock(&lock) == 0);
  } else {
    entered++;
  }
  return with_lock(p0);
}

static int reading;

static void read_inside(void) {
  reading++;
  mltp_explore_point();
  EXPECT(entered % 2 == 0); /* no writer is half-way */
  reading--;
  EXPECT(mltp_rwlock_unlock(&rwlock) == 0);
}

static void write_inside(void) {
  section();
  EXPECT(reading == 0);
  section();
  EXPECT(mltp_rwlock_unlock(&rwlock) == 0);
}

/* Each thread writes once, and reads before or after. */
void *with_rwlock(void *p0) {
  for (long i = 0; i < ROUNDS; i++) {
    if ((i + (long)p0) % ROUNDS == 0) {
      EXPECT(mltp_rwlock_wrlock(&rwlock) == 0);
      write_inside();
    } else {
      EXPECT(mltp_rwlock_rdlock(&rwlock) == 0);
      read_inside();
    }
  }
  return p0;
}

/* One reader waits inside for the other: a writer may keep them apart until it gives up. */
void *with_timed_rwlock(void *p0) {
  if (p0 == (void *)1L) {
    int error = mltp_rwlock_wrlock_timed(&rwlock, mltp_after(8000));
    EXPECT(error == 0 || error == ETIMEDOUT);
    if (error == 0) write_inside();
    mltp_latch_arrive_and_wait(&latch);
    return with_rwlock(p0);
  }
  EXPECT(mltp_rwlock_rdlock(&rwlock) == 0);
  if (p0 == NULL)
    mltp_latch_arrive_and_wait(&latch);
  else
    mltp_latch_count_down(&latch, 1);
  read_inside();
  return with_rwlock(p0);
}
