/* SPDX-License-Identifier: Apache-2.0 */
/* What the calls on other objects ask of libc and of the lot, in which order, and what they return
 * (traced.h). */
#include <limits.h>

#include "traced.h"

NOTED(rdlock, (pthread_rwlock_t * l))
NOTED(tryrdlock, (pthread_rwlock_t * l))
NOTED(wrlock, (pthread_rwlock_t * l))
NOTED(trywrlock, (pthread_rwlock_t * l))
NOTED(rwlock_unlock, (pthread_rwlock_t * l))
NOTED(barrier_wait, (pthread_barrier_t * b))
NOTED(sem_wait, (sem_t * s))
NOTED(sem_trywait, (sem_t * s))
NOTED(sem_post, (sem_t * s))

static int libc_clockrdlock(pthread_rwlock_t *l, clockid_t clock, const struct timespec *until) {
  (void)l;
  return with_clock("clockrdlock", clock, until);
}

static int libc_clockwrlock(pthread_rwlock_t *l, clockid_t clock, const struct timespec *until) {
  (void)l;
  return with_clock("clockwrlock", clock, until);
}

static int libc_sem_clockwait(sem_t *s, clockid_t clock, const struct timespec *until) {
  (void)s;
  return with_clock("sem_clockwait", clock, until);
}

/* As libc: the control word becomes another while a routine runs. */
static int libc_once(pthread_once_t *control, void (*routine)(void)) {
  note("once");
  *control = 5;
  routine();
  *control = 2;
  return 0;
}

static struct timespec until = {7, 9}, bad = {7, 1000000000};

/* Stands before libc's: calls that look for a cancellation, of which there is none. */
static int looks;

void pthread_testcancel(void) { looks++; }

/* ---- readers and writers */

static pthread_rwlock_t rwlock;

static void readers_and_writers(void) {
  pthread_rwlockattr_t attr;
  begin();
  pthread_rwlock_init(&rwlock, NULL);
  rwlock.__data.__cur_writer = TID + 1;
  EQUAL(pthread_rwlock_rdlock(&rwlock) + pthread_rwlock_wrlock(&rwlock), 0);
  TRACE("@pthread_rwlock_rdlock tryrdlock @pthread_rwlock_wrlock trywrlock");
  ANSWER(EAGAIN);
  EQUAL(pthread_rwlock_rdlock(&rwlock), EAGAIN);
  trace[0] = '\0';
  for (int i = 0; i < 6; i++) {
    bool write = i % 2 != 0;
    gt_me.at = NULL;
    ANSWER(EBUSY, EBUSY, ETIMEDOUT, EBUSY);
    int error = i == 0   ? pthread_rwlock_rdlock(&rwlock)
                : i == 1 ? pthread_rwlock_wrlock(&rwlock)
                : i == 2 ? pthread_rwlock_timedrdlock(&rwlock, &until)
                : i == 3 ? pthread_rwlock_timedwrlock(&rwlock, &until)
                : i == 4 ? pthread_rwlock_clockrdlock(&rwlock, CLOCK_MONOTONIC, &until)
                         : pthread_rwlock_clockwrlock(&rwlock, CLOCK_MONOTONIC, &until);
    EQUAL(error, ETIMEDOUT);
    if (write)
      TRACE("@pthread_rwlock_wrlock trywrlock ( in trywrlock wait:write trywrlock");
    else
      TRACE("@pthread_rwlock_rdlock tryrdlock ( in tryrdlock wait:read tryrdlock");
    check_limit(i < 2 ? NULL : &until, i < 4 ? CLOCK_REALTIME : CLOCK_MONOTONIC, false, false);
    CHECK(gt_me.at != NULL && key_seen == &rwlock);
  }
  EQUAL(pthread_rwlock_clockrdlock(&rwlock, CLOCK_PROCESS_CPUTIME_ID, &until), EINVAL);
  EQUAL(pthread_rwlock_clockwrlock(&rwlock, CLOCK_PROCESS_CPUTIME_ID, &until), EINVAL);
  EQUAL(pthread_rwlock_timedrdlock(&rwlock, &bad), EINVAL);
  TRACE("");
  EQUAL(pthread_rwlock_tryrdlock(&rwlock) + pthread_rwlock_trywrlock(&rwlock) +
            pthread_rwlock_unlock(&rwlock),
        0);
  TRACE(
      "@pthread_rwlock_tryrdlock tryrdlock @pthread_rwlock_trywrlock trywrlock rwlock_unlock "
      "@pthread_rwlock_unlock");
  let_wait(&rwlock, 1);
  ANSWER(EPERM);
  EQUAL(pthread_rwlock_unlock(&rwlock), EPERM);
  TRACE("rwlock_unlock wakes:2147483647 @pthread_rwlock_unlock");
  rwlock.__data.__cur_writer = TID; /* the caller has it to write: libc reports that */
  ANSWER(EBUSY, EDEADLK, EBUSY, EDEADLK);
  EQUAL(pthread_rwlock_rdlock(&rwlock), EDEADLK);
  EQUAL(pthread_rwlock_timedwrlock(&rwlock, &until), EDEADLK);
  TRACE("@pthread_rwlock_rdlock tryrdlock rdlock @pthread_rwlock_wrlock trywrlock clockwrlock");
  pthread_rwlockattr_init(&attr);
  pthread_rwlockattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
  pthread_rwlock_init(&rwlock, &attr);
  rwlock.__data.__cur_writer = TID + 1;
  ANSWER(EBUSY, 0, EBUSY, 0, EBUSY, ETIMEDOUT);
  EQUAL(pthread_rwlock_rdlock(&rwlock) + pthread_rwlock_wrlock(&rwlock), 0);
  EQUAL(pthread_rwlock_clockrdlock(&rwlock, CLOCK_MONOTONIC, &until), ETIMEDOUT);
  TRACE(
      "@pthread_rwlock_rdlock tryrdlock leave rdlock back @pthread_rwlock_wrlock trywrlock leave "
      "wrlock back "
      "@pthread_rwlock_rdlock tryrdlock leave clockrdlock back");
  CHECK(libc_until == &until && libc_clock == CLOCK_MONOTONIC);
  refuses = true;
  gt_me.open = 0;
  EQUAL(pthread_rwlock_rdlock(&rwlock) + pthread_rwlock_wrlock(&rwlock) +
            pthread_rwlock_timedrdlock(&rwlock, &until) +
            pthread_rwlock_timedwrlock(&rwlock, &until) + pthread_rwlock_tryrdlock(&rwlock) +
            pthread_rwlock_trywrlock(&rwlock) + pthread_rwlock_unlock(&rwlock),
        0);
  TRACE("rdlock wrlock clockrdlock clockwrlock tryrdlock trywrlock rwlock_unlock");
}

static void readers_behind_writers(void) {
  pthread_rwlockattr_t attr;
  struct gt_thread waiter = {.key = &rwlock, .why = GT_WHY_WRLOCK};
  begin();
  pthread_rwlockattr_init(&attr);
  pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
  pthread_rwlock_init(&rwlock, &attr);
  EQUAL(pthread_rwlock_rdlock(&rwlock), 0);
  TRACE("@pthread_rwlock_rdlock tryrdlock");
  gt_queue_of(&rwlock)->first = &waiter;
  let_wait(&rwlock, 1);
  ANSWER(ETIMEDOUT);
  EQUAL(pthread_rwlock_timedrdlock(&rwlock, &until), ETIMEDOUT);
  TRACE("@pthread_rwlock_rdlock ( in wait:read");
  struct gt_thread others[] = {{.key = &rwlock, .why = GT_WHY_RDLOCK},
                               {.key = &until, .why = GT_WHY_WRLOCK}};
  for (int i = 0; i < 2; i++) {
    gt_queue_of(&rwlock)->first = &others[i];
    EQUAL(pthread_rwlock_rdlock(&rwlock), 0);
    TRACE("@pthread_rwlock_rdlock ( in tryrdlock out )");
  }
  EQUAL(pthread_rwlock_wrlock(&rwlock), 0);
  TRACE("@pthread_rwlock_wrlock trywrlock");
  pthread_rwlock_init(&rwlock, NULL); /* readers first */
  gt_queue_of(&rwlock)->first = &waiter;
  EQUAL(pthread_rwlock_rdlock(&rwlock), 0);
  TRACE("@pthread_rwlock_rdlock tryrdlock");
}

/* ---- barriers and once */

static void barriers(void) {
  pthread_barrierattr_t attr;
  pthread_barrier_t barrier;
  begin();
  pthread_barrier_init(&barrier, NULL, 3);
  waiting_there = 1;
  EQUAL(pthread_barrier_wait(&barrier), 0);
  TRACE("@pthread_barrier_wait ( in wait:barrier");
  check_limit(NULL, 0, false, false);
  ANSWER(EAGAIN, 0); /* it left the wait in a handler */
  EQUAL(pthread_barrier_wait(&barrier), 0);
  TRACE("@pthread_barrier_wait ( in wait:barrier ( in wait:barrier");
  waiting_there = 2;
  EQUAL(pthread_barrier_wait(&barrier), PTHREAD_BARRIER_SERIAL_THREAD);
  TRACE("@pthread_barrier_wait ( wake:2147483647 ) @pthread_barrier_wait");
  CHECK(key_seen == &barrier && woken_seen == &barrier && gt_me.at != NULL);
  pthread_barrierattr_init(&attr);
  pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
  pthread_barrier_init(&barrier, &attr, 3);
  ANSWER(PTHREAD_BARRIER_SERIAL_THREAD);
  EQUAL(pthread_barrier_wait(&barrier), PTHREAD_BARRIER_SERIAL_THREAD);
  TRACE("@pthread_barrier_wait leave barrier_wait back");
  refuses = true;
  gt_me.open = 0;
  EQUAL(pthread_barrier_wait(&barrier), 0);
  TRACE("barrier_wait");
}

pthread_once_t control;

static void routine(void) {
  EQUAL(control, 5); /* as while libc's runs */
  note("routine");
}

static void onces(void) {
  begin();
  EQUAL(pthread_once(&control, routine), 0);
  EQUAL(control, 2);
  TRACE("@pthread_once once routine");
  EQUAL(pthread_once(&control, routine), 0);
  TRACE("");
  control = 0;
  let_wait(&control, 1);
  EQUAL(pthread_once(&control, routine), 0);
  TRACE("@pthread_once routine wakes:2147483647");
  CHECK(key_seen == &control);
  control = 9; /* another process's, before it forked */
  let_wait(&control, 0);
  EQUAL(pthread_once(&control, routine), 0);
  TRACE("@pthread_once routine");
  gt_once_forget();
  control = 0;
  EQUAL(pthread_once(&control, routine), 0);
  TRACE("@pthread_once once routine");
  gt_me.open = 0;
  refuses = true;
  control = 0;
  EQUAL(pthread_once(&control, routine), 0);
  TRACE("once routine");
  EQUAL(control, 2);
}

/* ---- semaphores */

static sem_t semaphore;

static void semaphores(void) {
  begin();
  sem_init(&semaphore, 0, 0);
  errno = ERANGE;
  ANSWER(0);
  EQUAL(sem_wait(&semaphore), 0);
  TRACE("@sem_wait sem_trywait");
  for (int i = 0; i < 3; i++) {
    gt_me.at = NULL;
    ANSWER(-1, -1, ETIMEDOUT, -1);
    errno = ERANGE;
    EQUAL(i == 0   ? sem_wait(&semaphore)
          : i == 1 ? sem_timedwait(&semaphore, &until)
                   : sem_clockwait(&semaphore, CLOCK_MONOTONIC, &until),
          -1);
    EQUAL(errno, ETIMEDOUT);
    TRACE("@sem_wait sem_trywait ( in sem_trywait wait:sem sem_trywait");
    check_limit(i == 0 ? NULL : &until, i == 1 ? CLOCK_REALTIME : CLOCK_MONOTONIC, true, true);
    CHECK(gt_me.at != NULL && key_seen == &semaphore);
  }
  ANSWER(-1, -1, 0, 0);
  errno = ERANGE;
  EQUAL(sem_wait(&semaphore), 0);
  EQUAL(errno, ERANGE);
  TRACE("@sem_wait sem_trywait ( in sem_trywait wait:sem ( in sem_trywait out )");
  EQUAL(sem_clockwait(&semaphore, CLOCK_PROCESS_CPUTIME_ID, &until), -1);
  EQUAL(errno, EINVAL);
  EQUAL(sem_timedwait(&semaphore, &bad), -1);
  EQUAL(errno, EINVAL);
  TRACE("");
  ANSWER(-1);
  EQUAL(sem_trywait(&semaphore), -1);
  TRACE("@sem_trywait sem_trywait");
  ANSWER(-1);
  EQUAL(sem_post(&semaphore), -1);
  TRACE("sem_post");
  EQUAL(sem_post(&semaphore), 0);
  TRACE("sem_post @sem_post");
  let_wait(&semaphore, 1);
  EQUAL(sem_post(&semaphore), 0);
  TRACE("sem_post wakes:1 @sem_post");
  gt_me.locked = true; /* in a handler that interrupted the gate */
  EQUAL(sem_post(&semaphore), 0);
  TRACE("sem_post");
  CHECK(gt_me.reposted);
  gt_me.locked = false;
  refuses = true;
  gt_me.open = 0;
  EQUAL(sem_wait(&semaphore) + sem_timedwait(&semaphore, &until) +
            sem_clockwait(&semaphore, CLOCK_MONOTONIC, &until) + sem_trywait(&semaphore),
        0);
  TRACE("sem_wait sem_clockwait sem_clockwait sem_trywait");
  EQUAL(libc_clock, CLOCK_MONOTONIC);
  EQUAL(sem_post(&semaphore), 0);
  TRACE("sem_post wakes:1"); /* others may wait in the lot */
}

/* What the calls return where the cancellation turns out to be disabled. */
static void cancellations_of_waits_for_semaphores(void) {
  begin();
  sem_init(&semaphore, 0, 0);
  looks = 0;
  ANSWER(-1, -1, EAGAIN,
         0); /* it left the wait in a handler, which may have disabled or enabled it */
  EQUAL(sem_wait(&semaphore), 0);
  TRACE("@sem_wait sem_trywait ( in sem_trywait wait:sem ( in sem_trywait out )");
  EQUAL(looks, 2); /* at the begin, and before it waits again */
  ANSWER(-1, -1, ECANCELED, -1, 0);
  EQUAL(sem_wait(&semaphore), 0); /* it waits on */
  TRACE("@sem_wait sem_trywait ( in sem_trywait wait:sem sem_trywait ( in sem_trywait out )");
  EQUAL(looks, 4);
  ANSWER(-1, -1, ECANCELED, 0); /* a post came at the same moment: it must not be lost */
  EQUAL(sem_wait(&semaphore), 0);
  TRACE("@sem_wait sem_trywait ( in sem_trywait wait:sem sem_trywait");
  EQUAL(looks, 5);
  ANSWER(-1, -1, EINTR, -1); /* a handler ran, and nothing else */
  EQUAL(sem_wait(&semaphore), -1);
  EQUAL(errno, EINTR);
  TRACE("@sem_wait sem_trywait ( in sem_trywait wait:sem sem_trywait");
  EQUAL(looks, 6);
}

/* Waits for locks are no points of cancellation, even where they are tried again. */
static void waits_for_locks_are_not_cancelled(void) {
  begin();
  pthread_rwlock_init(&rwlock, NULL);
  rwlock.__data.__cur_writer = TID + 1;
  looks = 0;
  ANSWER(EBUSY, EBUSY, EAGAIN, 0);
  EQUAL(pthread_rwlock_wrlock(&rwlock), 0);
  TRACE("@pthread_rwlock_wrlock trywrlock ( in trywrlock wait:write ( in trywrlock out )");
  EQUAL(looks, 0);
}

static void shared_and_quick_semaphores(void) {
  begin();
  sem_init(&semaphore, 1, 0);
  ANSWER(-1, 0, -1, -1);
  EQUAL(sem_wait(&semaphore), 0);
  EQUAL(sem_timedwait(&semaphore, &until), -1);
  TRACE("@sem_wait sem_trywait leave sem_wait back @sem_wait sem_trywait leave sem_clockwait back");
  CHECK(libc_until == &until && libc_clock == CLOCK_REALTIME);
  let_wait(&semaphore, 1);
  EQUAL(sem_post(&semaphore), 0);
  TRACE("sem_post");
  begin();
  gt_gate.attend = 0;
  gt_gate.quick = GT_QUICK_KINDS;
  sem_init(&semaphore, 0, 1);
  EQUAL(sem_wait(&semaphore), 0);
  TRACE("");
  ANSWER(-1);
  EQUAL(sem_trywait(&semaphore), -1);
  TRACE("sem_trywait");
  EQUAL(sem_post(&semaphore), 0);
  TRACE("");
  EQUAL(sem_trywait(&semaphore), 0);
  TRACE("");
  let_wait(&semaphore, 1);
  EQUAL(sem_post(&semaphore), 0);
  TRACE("wakes:1");
  gt_gate.cancels = 1; /* a call may have to end the thread */
  EQUAL(sem_wait(&semaphore), 0);
  TRACE("");
  EQUAL(gt_word(&semaphore, 0), 0);
  gt_gate.attend = 1;
  EQUAL(sem_post(&semaphore), 0);
  TRACE("wakes:1 @sem_post");
  EQUAL(sem_wait(&semaphore), 0);
  TRACE("@sem_wait");
}

int main(void) {
  gt_next = (struct gt_next){
      .rdlock = libc_rdlock,
      .tryrdlock = libc_tryrdlock,
      .clockrdlock = libc_clockrdlock,
      .wrlock = libc_wrlock,
      .trywrlock = libc_trywrlock,
      .clockwrlock = libc_clockwrlock,
      .rwlock_unlock = libc_rwlock_unlock,
      .barrier_wait = libc_barrier_wait,
      .once = libc_once,
      .sem_wait = libc_sem_wait,
      .sem_trywait = libc_sem_trywait,
      .sem_clockwait = libc_sem_clockwait,
      .sem_post = libc_sem_post,
  };
  readers_and_writers();
  readers_behind_writers();
  barriers();
  onces();
  semaphores();
  shared_and_quick_semaphores();
  cancellations_of_waits_for_semaphores();
  waits_for_locks_are_not_cancelled();
}
