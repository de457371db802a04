/* SPDX-License-Identifier: Apache-2.0 */
/* What the calls on mutexes, spin locks and conditions ask of libc and of the lot, in which order,
 * and what they return (traced.h). */
#include <limits.h>
#include <threads.h>

#include "traced.h"

int gt_create(struct gt_thread *me, pthread_t *thread, const pthread_attr_t *attr,
              const struct gt_start *start) {
  (void)me, (void)thread, (void)attr, (void)start;
  return EAGAIN;
}

NOTED(mutex_lock, (pthread_mutex_t * m))
NOTED(mutex_trylock, (pthread_mutex_t * m))
NOTED(mutex_unlock, (pthread_mutex_t * m))
NOTED(mutex_timedlock, (pthread_mutex_t * m, const struct timespec *until))
NOTED(cond_wait, (pthread_cond_t * c, pthread_mutex_t *m))
NOTED(cond_signal, (pthread_cond_t * c))
NOTED(cond_broadcast, (pthread_cond_t * c))
NOTED(spin_lock, (pthread_spinlock_t * l))
NOTED(spin_trylock, (pthread_spinlock_t * l))
NOTED(spin_unlock, (pthread_spinlock_t * l))

static int libc_mutex_clocklock(pthread_mutex_t *m, clockid_t clock, const struct timespec *until) {
  (void)m;
  return with_clock("mutex_clocklock", clock, until);
}

static int libc_cond_clockwait(pthread_cond_t *c, pthread_mutex_t *m, clockid_t clock,
                               const struct timespec *until) {
  (void)c, (void)m;
  return with_clock("cond_clockwait", clock, until);
}

static void libc_cleanup_push(struct _pthread_cleanup_buffer *buffer, void (*routine)(void *),
                              void *arg) {
  CHECK(buffer != NULL && routine != NULL && arg != NULL);
  note("push");
}

static void libc_cleanup_pop(struct _pthread_cleanup_buffer *buffer, int executes) {
  CHECK(buffer != NULL && executes == 0);
  note("pop");
}

static struct timespec until = {7, 9}, bad = {7, 1000000000}, negative = {7, -1};

/* ---- mutexes */

static pthread_mutex_t mutex;

static void mutex_of(int type, int robust) {
  pthread_mutexattr_t attr;
  pthread_mutexattr_init(&attr);
  pthread_mutexattr_settype(&attr, type);
  if (robust) pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(&mutex, &attr);
}

static void mutexes_by_libc(void) {
  begin();
  mutex_of(PTHREAD_MUTEX_NORMAL, 0);
  EQUAL(pthread_mutex_lock(&mutex), 0);
  TRACE("@pthread_mutex_lock mutex_trylock");
  ANSWER(EOWNERDEAD);
  EQUAL(pthread_mutex_lock(&mutex), EOWNERDEAD);
  TRACE("@pthread_mutex_lock mutex_trylock");
  ANSWER(EBUSY, EBUSY, 0, EBUSY, 0, 0);
  EQUAL(pthread_mutex_lock(&mutex), 0);
  TRACE(
      "@pthread_mutex_lock mutex_trylock ( in mutex_trylock wait:mutex ( in mutex_trylock "
      "wait!:mutex ( in mutex_trylock out )");
  CHECK(key_seen == &mutex && gt_me.at != NULL);
  check_limit(NULL, 0, false, false);
  ANSWER(EBUSY, EBUSY, EAGAIN, 0); /* it left the wait in a handler */
  EQUAL(pthread_mutex_lock(&mutex), 0);
  TRACE("@pthread_mutex_lock mutex_trylock ( in mutex_trylock wait:mutex ( in mutex_trylock out )");
  ANSWER(EBUSY);
  EQUAL(pthread_mutex_trylock(&mutex), EBUSY);
  TRACE("@pthread_mutex_trylock mutex_trylock");
  for (int clock = CLOCK_REALTIME; clock <= CLOCK_MONOTONIC; clock++) {
    gt_me.at = NULL;
    ANSWER(EBUSY, EBUSY, ETIMEDOUT, EBUSY);
    EQUAL(clock == CLOCK_REALTIME ? pthread_mutex_timedlock(&mutex, &until)
                                  : pthread_mutex_clocklock(&mutex, clock, &until),
          ETIMEDOUT);
    CHECK(strstr(trace, clock == CLOCK_REALTIME ? "@pthread_mutex_timedlock "
                                                : "@pthread_mutex_clocklock ") == trace);
    memmove(trace, strchr(trace, ' ') + 1, strlen(strchr(trace, ' ')));
    TRACE("mutex_trylock ( in mutex_trylock wait:mutex mutex_trylock");
    check_limit(&until, clock, false, false);
    CHECK(gt_me.at != NULL);
  }
  ANSWER(EBUSY, EBUSY, ETIMEDOUT, 0); /* it became free at the same time */
  EQUAL(pthread_mutex_timedlock(&mutex, &until), 0);
  TRACE("@pthread_mutex_timedlock mutex_trylock ( in mutex_trylock wait:mutex mutex_trylock");
  struct timespec *const times[] = {&bad, &negative};
  for (int i = 0; i < 2; i++) {
    ANSWER(EBUSY, EBUSY);
    EQUAL(pthread_mutex_timedlock(&mutex, times[i]), EINVAL);
    TRACE("@pthread_mutex_timedlock mutex_trylock ( in mutex_trylock out )");
  }
  EQUAL(pthread_mutex_clocklock(&mutex, CLOCK_PROCESS_CPUTIME_ID, &until), 0); /* libc reports it */
  TRACE("mutex_clocklock");
  EQUAL(pthread_mutex_unlock(&mutex), 0);
  TRACE("mutex_unlock @pthread_mutex_unlock");
  let_wait(&mutex, 1);
  ANSWER(EPERM);
  EQUAL(pthread_mutex_unlock(&mutex), EPERM);
  TRACE("mutex_unlock wakes:1 @pthread_mutex_unlock");
  CHECK(key_seen == &mutex);
}

static void other_kinds_of_mutexes(void) {
  begin();
  mutex_of(PTHREAD_MUTEX_ERRORCHECK, 0);
  mutex.__data.__owner = TID; /* libc reports it */
  ANSWER(EBUSY, EDEADLK);
  EQUAL(pthread_mutex_lock(&mutex), EDEADLK);
  TRACE("@pthread_mutex_lock mutex_trylock mutex_lock");
  mutex.__data.__owner = TID + 1;
  ANSWER(EBUSY, 0);
  EQUAL(pthread_mutex_lock(&mutex), 0);
  TRACE("@pthread_mutex_lock mutex_trylock ( in mutex_trylock out )");
  mutex_of(PTHREAD_MUTEX_NORMAL, 0);
  mutex.__data.__owner = TID; /* it waits forever */
  ANSWER(EBUSY, 0);
  EQUAL(pthread_mutex_lock(&mutex), 0);
  TRACE("@pthread_mutex_lock mutex_trylock ( in mutex_trylock out )");
  mutex_of(PTHREAD_MUTEX_NORMAL, 1);
  ANSWER(EBUSY, EOWNERDEAD);
  EQUAL(pthread_mutex_lock(&mutex), EOWNERDEAD);
  TRACE("@pthread_mutex_lock mutex_trylock leave mutex_lock back");
  ANSWER(EBUSY, ETIMEDOUT);
  EQUAL(pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &until), ETIMEDOUT);
  TRACE("@pthread_mutex_clocklock mutex_trylock leave mutex_clocklock back");
  CHECK(libc_until == &until && libc_clock == CLOCK_MONOTONIC);
  refuses = true;
  gt_me.open = 0;
  EQUAL(pthread_mutex_lock(&mutex) + pthread_mutex_trylock(&mutex) +
            pthread_mutex_timedlock(&mutex, &until) +
            pthread_mutex_clocklock(&mutex, CLOCK_REALTIME, &until) + pthread_mutex_unlock(&mutex),
        0);
  TRACE("mutex_lock mutex_trylock mutex_timedlock mutex_clocklock mutex_unlock");
}

/* With several permits a thread spins, if that has helped before. */
static void spins_for_mutexes(void) {
  begin();
  mutex_of(PTHREAD_MUTEX_NORMAL, 0);
  gt_gate.permits = 2;
  ANSWER(EBUSY, EBUSY, 0);
  EQUAL(pthread_mutex_lock(&mutex), 0);
  TRACE("@pthread_mutex_lock mutex_trylock mutex_trylock mutex_trylock"); /* while it looks free */
  mutex.__data.__lock = 1;
  for (int i = 0; i < 100; i++) {
    ANSWER(EBUSY, 0);
    EQUAL(pthread_mutex_lock(&mutex), 0);
    TRACE("@pthread_mutex_lock mutex_trylock ( in mutex_trylock out )");
  }
  mutex.__data.__lock = 0;
  int spins = 0;
  for (int i = 0; i < 2 * 32; i++) { /* it has not helped: now and then it is tried */
    ANSWER(EBUSY, 0);
    EQUAL(pthread_mutex_lock(&mutex), 0);
    bool spun = strchr(trace, '(') == NULL;
    spins += spun;
    trace[0] = '\0';
    if (spun) break; /* it helps: from now on each does */
  }
  EQUAL(spins, 1);
  ANSWER(EBUSY, 0);
  EQUAL(pthread_mutex_lock(&mutex), 0);
  TRACE("@pthread_mutex_lock mutex_trylock mutex_trylock");
}

static void quick_mutexes(void) {
  begin();
  mutex_of(PTHREAD_MUTEX_NORMAL, 0);
  gt_gate.attend = 0;
  gt_gate.quick = GT_QUICK_KINDS;
  EQUAL(pthread_mutex_lock(&mutex), 0);
  EQUAL(mutex.__data.__owner, TID);
  ANSWER(EBUSY);
  EQUAL(pthread_mutex_trylock(&mutex), EBUSY);
  TRACE("mutex_trylock");
  EQUAL(pthread_mutex_unlock(&mutex), 0);
  TRACE("");
  EQUAL(mutex.__data.__lock, 0);
  EQUAL(pthread_mutex_trylock(&mutex), 0);
  let_wait(&mutex, 1);
  EQUAL(pthread_mutex_unlock(&mutex), 0);
  TRACE("wakes:1");
  let_wait(&mutex, 0);
  __libc_single_threaded = 0;
  EQUAL(pthread_mutex_lock(&mutex), 0);
  mutex.__data.__lock = 2; /* a thread that has left the gate waits for the word */
  EQUAL(pthread_mutex_unlock(&mutex), 0);
  TRACE("futex");
  CHECK(key_seen == &mutex.__data.__lock);
  EQUAL(pthread_mutex_lock(&mutex), 0);
  mutex.__data.__lock = 2;
  gt_gate.attend = 1;
  EQUAL(pthread_mutex_unlock(&mutex), 0);
  TRACE("futex @pthread_mutex_unlock");
  gt_gate.attend = 0;
  EQUAL(pthread_mutex_unlock(&mutex), 0); /* not locked: libc reports it */
  TRACE("mutex_unlock");
  __libc_single_threaded = 1;
}

static void spin_locks(void) {
  pthread_spinlock_t lock = 0;
  const void *key = (const void *)(uintptr_t)&lock;
  begin();
  EQUAL(pthread_spin_lock(&lock), 0);
  TRACE("@pthread_spin_lock spin_trylock");
  int spun = 0;
  trace[0] = '\0';
  static int busy[ANSWERS];
  for (int i = 0; i < ANSWERS; i++) busy[i] = EBUSY;
  memcpy(answers, busy, sizeof busy);
  answer_count = 3;
  answers_given = 0;
  EQUAL(pthread_spin_lock(&lock), 0);
  for (const char *at = trace; (at = strstr(at, "spin_trylock")) != NULL; at++) spun++;
  EQUAL(spun, 4);
  trace[0] = '\0';
  EQUAL(pthread_spin_trylock(&lock), 0);
  EQUAL(pthread_spin_unlock(&lock), 0);
  let_wait(key, 1);
  EQUAL(pthread_spin_unlock(&lock), 0);
  answer_count = answers_given;
  TRACE(
      "@pthread_spin_trylock spin_trylock spin_unlock @pthread_spin_unlock spin_unlock wakes:1 "
      "@pthread_spin_unlock");
  CHECK(key_seen == key && gt_me.at != NULL);
  refuses = true;
  gt_me.open = 0;
  EQUAL(pthread_spin_lock(&lock) + pthread_spin_trylock(&lock) + pthread_spin_unlock(&lock), 0);
  TRACE("spin_lock spin_trylock spin_unlock");
}

/* ---- conditions */

static pthread_cond_t cond;

static void conditions(void) {
  pthread_condattr_t attr;
  begin();
  mutex_of(PTHREAD_MUTEX_NORMAL, 0);
  pthread_cond_init(&cond, NULL);
  ANSWER(0, 0, 0);
  EQUAL(pthread_cond_wait(&cond, &mutex), 0);
  TRACE("@pthread_cond_wait ( in mutex_unlock wake:1 push wait:cond pop mutex_trylock");
  check_limit(NULL, 0, true, false);
  CHECK(key_seen == &cond && woken_seen == &mutex);
  gt_me.at = NULL;
  ANSWER(EPERM);
  EQUAL(pthread_cond_wait(&cond, &mutex), EPERM);
  TRACE("@pthread_cond_wait ( in mutex_unlock out )");
  CHECK(gt_me.at != NULL);
  ANSWER(0, ETIMEDOUT, 0);
  EQUAL(pthread_cond_timedwait(&cond, &mutex, &until), ETIMEDOUT);
  TRACE("@pthread_cond_wait ( in mutex_unlock wake:1 push wait:cond pop mutex_trylock");
  check_limit(&until, CLOCK_REALTIME, true, false);
  ANSWER(0, ETIMEDOUT, EOWNERDEAD);
  EQUAL(pthread_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC, &until), EOWNERDEAD);
  TRACE("@pthread_cond_wait ( in mutex_unlock wake:1 push wait:cond pop mutex_trylock");
  check_limit(&until, CLOCK_MONOTONIC, true, false);
  ANSWER(0, ECANCELED, 0); /* and the cancellation is disabled */
  EQUAL(pthread_cond_wait(&cond, &mutex), 0);
  TRACE("@pthread_cond_wait ( in mutex_unlock wake:1 push wait:cond pop mutex_trylock");
  EQUAL(pthread_cond_timedwait(&cond, &mutex, &bad), EINVAL);
  EQUAL(pthread_cond_clockwait(&cond, &mutex, CLOCK_PROCESS_CPUTIME_ID, &until), EINVAL);
  TRACE("");
  EQUAL(pthread_cond_signal(&cond) + pthread_cond_broadcast(&cond), 0);
  TRACE("@pthread_cond_signal @pthread_cond_broadcast");
  let_wait(&cond, 2);
  EQUAL(pthread_cond_signal(&cond) + pthread_cond_broadcast(&cond), 0);
  TRACE("wakes:1 @pthread_cond_signal wakes:2147483647 @pthread_cond_broadcast");
  CHECK(key_seen == &cond);
  pthread_condattr_init(&attr);
  pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
  pthread_cond_init(&cond, &attr);
  ANSWER(0, ETIMEDOUT, 0);
  EQUAL(pthread_cond_timedwait(&cond, &mutex, &until), ETIMEDOUT);
  trace[0] = '\0';
  check_limit(&until, CLOCK_MONOTONIC, true, false);
  pthread_condattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
  pthread_cond_init(&cond, &attr);
  ANSWER(0, ETIMEDOUT);
  EQUAL(pthread_cond_wait(&cond, &mutex), 0);
  EQUAL(pthread_cond_timedwait(&cond, &mutex, &until), ETIMEDOUT);
  TRACE("@pthread_cond_wait leave cond_wait back @pthread_cond_wait leave cond_clockwait back");
  CHECK(libc_until == &until && libc_clock == CLOCK_MONOTONIC);
  EQUAL(pthread_cond_signal(&cond) + pthread_cond_broadcast(&cond), 0);
  TRACE("cond_signal cond_broadcast");
  refuses = true;
  gt_me.open = 0;
  EQUAL(pthread_cond_wait(&cond, &mutex) +
            pthread_cond_clockwait(&cond, &mutex, CLOCK_REALTIME, &until),
        0);
  EQUAL(pthread_cond_signal(&cond) + pthread_cond_broadcast(&cond), 0);
  TRACE("cond_wait cond_clockwait cond_signal cond_broadcast");
  EQUAL(libc_clock, CLOCK_REALTIME);
}

/* ---- C11 */

static void c11_says_it_in_its_own_words(void) {
  static const int errors[][2] = {{0, thrd_success},
                                  {EBUSY, thrd_busy},
                                  {ETIMEDOUT, thrd_timedout},
                                  {ENOMEM, thrd_nomem},
                                  {EINVAL, thrd_error}};
  mtx_t *m = (mtx_t *)&mutex;
  cnd_t *c = (cnd_t *)&cond;
  begin();
  mutex_of(PTHREAD_MUTEX_NORMAL, 0);
  pthread_cond_init(&cond, NULL);
  for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
    ANSWER(errors[i][0]);
    EQUAL(mtx_trylock(m), errors[i][1]);
    TRACE("@pthread_mutex_trylock mutex_trylock");
  }
  EQUAL(mtx_lock(m) + mtx_unlock(m) + mtx_timedlock(m, &until), 3 * thrd_success);
  TRACE(
      "@pthread_mutex_lock mutex_trylock mutex_unlock @pthread_mutex_unlock "
      "@pthread_mutex_timedlock mutex_trylock");
  ANSWER(0, 0, 0, 0, ETIMEDOUT, 0);
  EQUAL(cnd_wait(c, m), thrd_success);
  EQUAL(cnd_timedwait(c, m, &until), thrd_timedout);
  TRACE(
      "@pthread_cond_wait ( in mutex_unlock wake:1 push wait:cond pop mutex_trylock "
      "@pthread_cond_wait ( in mutex_unlock wake:1 push wait:cond pop mutex_trylock");
  check_limit(&until, CLOCK_REALTIME, true, false);
  thrd_t thread;
  EQUAL(thrd_create(&thread, NULL, NULL), thrd_error);
  let_wait(&cond, 1);
  EQUAL(cnd_signal(c) + cnd_broadcast(c), 2 * thrd_success);
  TRACE("wakes:1 @pthread_cond_signal wakes:2147483647 @pthread_cond_broadcast");
  once_flag flag = ONCE_FLAG_INIT;
  *(pthread_once_t *)&flag = 2; /* it is done */
  call_once(&flag, abort);
  TRACE("");
}

int main(void) {
  gt_next = (struct gt_next){
      .mutex_lock = libc_mutex_lock,
      .mutex_trylock = libc_mutex_trylock,
      .mutex_unlock = libc_mutex_unlock,
      .mutex_timedlock = libc_mutex_timedlock,
      .mutex_clocklock = libc_mutex_clocklock,
      .cond_wait = libc_cond_wait,
      .cond_clockwait = libc_cond_clockwait,
      .cond_signal = libc_cond_signal,
      .cond_broadcast = libc_cond_broadcast,
      .cleanup_push = libc_cleanup_push,
      .cleanup_pop = libc_cleanup_pop,
      .spin_lock = libc_spin_lock,
      .spin_trylock = libc_spin_trylock,
      .spin_unlock = libc_spin_unlock,
  };
  mutexes_by_libc();
  other_kinds_of_mutexes();
  spins_for_mutexes();
  quick_mutexes();
  spin_locks();
  conditions();
  c11_says_it_in_its_own_words();
}
