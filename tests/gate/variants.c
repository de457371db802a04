/* SPDX-License-Identifier: Apache-2.0 */
/* A stock pthread program that uses the rarer calls: each has to wait, by the clock it was given,
 * and gets what POSIX and C11 promise. It knows nothing of the gate, and runs without it, too. */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#define CHECK(condition)                                                                           \
  ((condition) ? (void)0 : failed(__LINE__, #condition)) /* not assert(): NDEBUG may be set */

enum { SHORT_MS = 10, LONG_MS = 3600000 };

static void failed(int line, const char *what) {
  fprintf(stderr, "variants.c:%d: not true: %s\n", line, what);
  _exit(1);
}

static struct timespec in_ms(clockid_t clock, long ms) {
  struct timespec t;
  clock_gettime(clock, &t);
  t.tv_sec += ms / 1000;
  t.tv_nsec += ms % 1000 * 1000000;
  t.tv_sec += t.tv_nsec / 1000000000;
  t.tv_nsec %= 1000000000;
  return t;
}

static const struct timespec no_time = {.tv_sec = 1, .tv_nsec = 1000000000};

/* ---- a holder: takes an object, says so, and gives it back a moment after it was asked for */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static sem_t sem, taken, wanted;

struct hold {
  void (*take)(void);
  void (*give)(void);
};

static void *holds(void *arg) {
  const struct hold *hold = arg;
  hold->take();
  sem_post(&taken);
  while (sem_wait(&wanted) != 0) CHECK(errno == EINTR);
  usleep(2000);
  hold->give();
  return NULL;
}

/* Runs what waits while another thread holds the object: it fails while nothing is asked for, and
 * then succeeds. */
static void while_held(struct hold hold, void (*fails)(void), void (*succeeds)(void)) {
  pthread_t holder;
  CHECK(pthread_create(&holder, NULL, holds, &hold) == 0);
  while (sem_wait(&taken) != 0) CHECK(errno == EINTR);
  fails();
  sem_post(&wanted);
  succeeds();
  CHECK(pthread_join(holder, NULL) == 0);
}

/* ---- mutexes */

static void take_mutex(void) { CHECK(pthread_mutex_lock(&mutex) == 0); }
static void give_mutex(void) { CHECK(pthread_mutex_unlock(&mutex) == 0); }

static void mutex_is_held(void) {
  struct timespec real = in_ms(CLOCK_REALTIME, SHORT_MS), mono = in_ms(CLOCK_MONOTONIC, SHORT_MS);
  CHECK(pthread_mutex_trylock(&mutex) == EBUSY);
  CHECK(pthread_mutex_timedlock(&mutex, &real) == ETIMEDOUT);
  CHECK(pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &mono) == ETIMEDOUT);
  CHECK(pthread_mutex_clocklock(&mutex, CLOCK_REALTIME, &real) == ETIMEDOUT);
  CHECK(pthread_mutex_timedlock(&mutex, &no_time) == EINVAL);
  CHECK(pthread_mutex_clocklock(&mutex, CLOCK_PROCESS_CPUTIME_ID, &mono) == EINVAL);
}

static void mutex_comes(void) {
  struct timespec mono = in_ms(CLOCK_MONOTONIC, LONG_MS);
  CHECK(pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &mono) == 0);
  give_mutex();
}

static void mutex_comes_in_real_time(void) {
  struct timespec real = in_ms(CLOCK_REALTIME, LONG_MS);
  CHECK(pthread_mutex_timedlock(&mutex, &real) == 0);
  give_mutex();
}

static void test_mutexes(void) {
  const struct hold hold = {take_mutex, give_mutex};
  while_held(hold, mutex_is_held, mutex_comes);
  while_held(hold, mutex_is_held, mutex_comes_in_real_time);
}

/* A thread that ends with a robust mutex leaves it to the next; one of priorities is another kind.
 */
static void *dies_with(void *m) {
  CHECK(pthread_mutex_lock(m) == 0);
  return NULL;
}

static void *waits_for(void *m) {
  CHECK(pthread_mutex_lock(m) == 0 && pthread_mutex_unlock(m) == 0);
  return NULL;
}

static void test_kinds(void) {
  pthread_mutexattr_t attr;
  pthread_mutex_t robust, inherits;
  pthread_t thread;
  pthread_mutexattr_init(&attr);
  pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
  CHECK(pthread_mutex_init(&robust, &attr) == 0);
  CHECK(pthread_create(&thread, NULL, dies_with, &robust) == 0 && pthread_join(thread, NULL) == 0);
  CHECK(pthread_mutex_lock(&robust) == EOWNERDEAD && pthread_mutex_consistent(&robust) == 0);
  CHECK(pthread_mutex_unlock(&robust) == 0);
  pthread_mutexattr_init(&attr);
  pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
  CHECK(pthread_mutex_init(&inherits, &attr) == 0 && pthread_mutex_lock(&inherits) == 0);
  CHECK(pthread_create(&thread, NULL, waits_for, &inherits) == 0);
  usleep(SHORT_MS * 1000);
  CHECK(pthread_mutex_unlock(&inherits) == 0 && pthread_join(thread, NULL) == 0);
}

/* ---- readers and writers */

static void take_to_write(void) { CHECK(pthread_rwlock_wrlock(&rwlock) == 0); }
static void take_to_read(void) { CHECK(pthread_rwlock_rdlock(&rwlock) == 0); }
static void give_rwlock(void) { CHECK(pthread_rwlock_unlock(&rwlock) == 0); }

static void nobody_writes(void) {
  struct timespec real = in_ms(CLOCK_REALTIME, SHORT_MS), mono = in_ms(CLOCK_MONOTONIC, SHORT_MS);
  CHECK(pthread_rwlock_trywrlock(&rwlock) == EBUSY);
  CHECK(pthread_rwlock_timedwrlock(&rwlock, &real) == ETIMEDOUT);
  CHECK(pthread_rwlock_clockwrlock(&rwlock, CLOCK_MONOTONIC, &mono) == ETIMEDOUT);
  CHECK(pthread_rwlock_clockwrlock(&rwlock, CLOCK_PROCESS_CPUTIME_ID, &mono) == EINVAL);
}

static void nobody_reads(void) {
  struct timespec real = in_ms(CLOCK_REALTIME, SHORT_MS), mono = in_ms(CLOCK_MONOTONIC, SHORT_MS);
  nobody_writes();
  CHECK(pthread_rwlock_tryrdlock(&rwlock) == EBUSY);
  CHECK(pthread_rwlock_timedrdlock(&rwlock, &real) == ETIMEDOUT);
  CHECK(pthread_rwlock_clockrdlock(&rwlock, CLOCK_MONOTONIC, &mono) == ETIMEDOUT);
  CHECK(pthread_rwlock_clockrdlock(&rwlock, CLOCK_PROCESS_CPUTIME_ID, &mono) == EINVAL);
}

static void a_reader_comes(void) {
  struct timespec mono = in_ms(CLOCK_MONOTONIC, LONG_MS);
  CHECK(pthread_rwlock_clockrdlock(&rwlock, CLOCK_MONOTONIC, &mono) == 0);
  give_rwlock();
}

static void a_writer_comes(void) {
  struct timespec mono = in_ms(CLOCK_MONOTONIC, LONG_MS);
  CHECK(pthread_rwlock_clockwrlock(&rwlock, CLOCK_MONOTONIC, &mono) == 0);
  CHECK(pthread_rwlock_rdlock(&rwlock) == EDEADLK && pthread_rwlock_wrlock(&rwlock) == EDEADLK);
  give_rwlock();
}

static void test_rwlocks(void) {
  while_held((struct hold){take_to_write, give_rwlock}, nobody_reads, a_reader_comes);
  while_held((struct hold){take_to_read, give_rwlock}, nobody_writes, a_writer_comes);
}

static pthread_rwlock_t fair;
static int order; /* 1: the writer was first */

static void *writes(void *arg) {
  CHECK(pthread_rwlock_wrlock(&fair) == 0);
  if (order == 0) order = 1;
  CHECK(pthread_rwlock_unlock(&fair) == 0);
  return arg;
}

static void *reads(void *arg) {
  CHECK(pthread_rwlock_rdlock(&fair) == 0);
  if (order == 0) order = 2;
  CHECK(pthread_rwlock_unlock(&fair) == 0);
  return arg;
}

/* us: for each of them to begin to wait. @return which came first */
static int race(unsigned us) {
  pthread_t writer, reader;
  order = 0;
  CHECK(pthread_rwlock_rdlock(&fair) == 0);
  CHECK(pthread_create(&writer, NULL, writes, NULL) == 0);
  usleep(us);
  CHECK(pthread_create(&reader, NULL, reads, NULL) == 0);
  usleep(us);
  CHECK(pthread_rwlock_unlock(&fair) == 0);
  CHECK(pthread_join(writer, NULL) == 0 && pthread_join(reader, NULL) == 0);
  return order;
}

/* Where writers come first, a reader waits behind one that waits. On a loaded machine the reader
 * may be there before, so each race takes twice as long as the one before, up to some seconds. */
static void test_writers_first(void) {
  pthread_rwlockattr_t attr;
  pthread_rwlockattr_init(&attr);
  pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
  CHECK(pthread_rwlock_init(&fair, &attr) == 0);
  int first = 0;
  for (int i = 0; i < 20 && first != 1; i++) first = race(20000U << (i < 8 ? i : 8));
  CHECK(first == 1);
}

/* ---- spin locks and semaphores */

static void take_spin(void) { CHECK(pthread_spin_lock(&spin) == 0); }
static void give_spin(void) { CHECK(pthread_spin_unlock(&spin) == 0); }
static void spin_is_held(void) { CHECK(pthread_spin_trylock(&spin) == EBUSY); }

static void spin_comes(void) {
  take_spin();
  give_spin();
}

static void take_sem(void) {
  while (sem_wait(&sem) != 0) CHECK(errno == EINTR);
}
static void give_sem(void) { CHECK(sem_post(&sem) == 0); }

static void sem_is_held(void) {
  struct timespec real = in_ms(CLOCK_REALTIME, SHORT_MS), mono = in_ms(CLOCK_MONOTONIC, SHORT_MS);
  CHECK(sem_trywait(&sem) == -1 && errno == EAGAIN);
  CHECK(sem_timedwait(&sem, &real) == -1 && errno == ETIMEDOUT);
  CHECK(sem_clockwait(&sem, CLOCK_MONOTONIC, &mono) == -1 && errno == ETIMEDOUT);
  CHECK(sem_clockwait(&sem, CLOCK_PROCESS_CPUTIME_ID, &mono) == -1 && errno == EINVAL);
  CHECK(sem_timedwait(&sem, &no_time) == -1 && errno == EINVAL);
}

static void sem_comes(void) {
  struct timespec mono = in_ms(CLOCK_MONOTONIC, LONG_MS);
  CHECK(sem_clockwait(&sem, CLOCK_MONOTONIC, &mono) == 0);
  give_sem();
}

static void test_counts(void) {
  pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
  sem_init(&sem, 0, 1);
  while_held((struct hold){take_spin, give_spin}, spin_is_held, spin_comes);
  while_held((struct hold){take_sem, give_sem}, sem_is_held, sem_comes);
}

/* ---- conditions */

static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int passed;

static void *passes(void *arg) {
  usleep(2000);
  take_mutex();
  passed = 1;
  pthread_cond_broadcast(&cond);
  give_mutex();
  return arg;
}

static void test_conditions(void) {
  struct timespec mono = in_ms(CLOCK_MONOTONIC, SHORT_MS), later = in_ms(CLOCK_MONOTONIC, LONG_MS);
  pthread_t passer;
  int error = 0;
  take_mutex();
  while (error == 0) error = pthread_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC, &mono);
  CHECK(error == ETIMEDOUT);
  CHECK(pthread_cond_clockwait(&cond, &mutex, CLOCK_PROCESS_CPUTIME_ID, &mono) == EINVAL);
  CHECK(pthread_cond_timedwait(&cond, &mutex, &no_time) == EINVAL);
  CHECK(pthread_create(&passer, NULL, passes, NULL) == 0);
  while (passed == 0) CHECK(pthread_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC, &later) == 0);
  give_mutex();
  CHECK(pthread_join(passer, NULL) == 0);
}

/* ---- once: a routine that is left is tried again */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int tries;

static void leaves_once(void) {
  if (++tries == 1) pthread_exit(NULL);
}

static void *runs_once(void *arg) {
  pthread_once(&once, leaves_once);
  return arg;
}

static void test_once(void) {
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, runs_once, NULL) == 0 && pthread_join(thread, NULL) == 0);
  CHECK(tries == 1);
  CHECK(pthread_once(&once, leaves_once) == 0 && tries == 2);
  CHECK(pthread_once(&once, leaves_once) == 0 && tries == 2);
}

/* ---- sleeps and clocks */

static void test_time(void) {
  struct timespec before = in_ms(CLOCK_MONOTONIC, 0), until = in_ms(CLOCK_MONOTONIC, SHORT_MS),
                  after;
  struct timespec some = {0, SHORT_MS * 1000000L}, none = {-1, 0};
  struct timeval day;
  time_t now, again = time(&now);
  CHECK(again == now && gettimeofday(&day, NULL) == 0 && day.tv_sec >= now);
  CHECK(nanosleep(&some, NULL) == 0);
  CHECK(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == 0);
  CHECK(clock_nanosleep(CLOCK_MONOTONIC, 0, &some, NULL) == 0);
  CHECK(nanosleep(&none, NULL) == -1 && errno == EINVAL);
  CHECK(clock_nanosleep(CLOCK_MONOTONIC, 0, &no_time, NULL) == EINVAL);
  CHECK(sleep(1) == 0);
  CHECK(clock_gettime(CLOCK_MONOTONIC, &after) == 0 && after.tv_sec > before.tv_sec);
}

/* ---- C11 */

static mtx_t mtx;
static cnd_t cnd;
static once_flag flag = ONCE_FLAG_INIT;
static int begun, signalled;

static void begin(void) { begun++; }

static int c11(void *arg) {
  call_once(&flag, begin);
  thrd_yield();
  CHECK(mtx_trylock(&mtx) == thrd_busy);
  struct timespec soon = in_ms(CLOCK_REALTIME, SHORT_MS), later = in_ms(CLOCK_REALTIME, LONG_MS);
  CHECK(mtx_timedlock(&mtx, &soon) == thrd_timedout);
  sem_post(arg);
  CHECK(mtx_timedlock(&mtx, &later) == thrd_success);
  signalled = 1;
  CHECK(cnd_broadcast(&cnd) == thrd_success && mtx_unlock(&mtx) == thrd_success);
  thrd_exit(5);
}

static void test_c11(void) {
  thrd_t thread;
  int result;
  const struct timespec some = {0, 1000000};
  CHECK(mtx_init(&mtx, mtx_timed) == thrd_success && cnd_init(&cnd) == thrd_success);
  call_once(&flag, begin);
  CHECK(mtx_lock(&mtx) == thrd_success);
  struct timespec soon = in_ms(CLOCK_REALTIME, SHORT_MS), later = in_ms(CLOCK_REALTIME, LONG_MS);
  CHECK(cnd_timedwait(&cnd, &mtx, &soon) == thrd_timedout);
  CHECK(thrd_create(&thread, c11, &taken) == thrd_success);
  while (sem_wait(&taken) != 0) CHECK(errno == EINTR);
  while (signalled == 0) CHECK(cnd_timedwait(&cnd, &mtx, &later) == thrd_success);
  CHECK(mtx_unlock(&mtx) == thrd_success);
  CHECK(thrd_join(thread, &result) == thrd_success && result == 5 && begun == 1);
  CHECK(thrd_sleep(&some, NULL) == 0 && thrd_sleep(&no_time, NULL) < -1);
}

/* ---- objects that another process has, too */

struct shared {
  pthread_mutex_t mutex;
  pthread_cond_t cond;
  pthread_rwlock_t rwlock;
  pthread_barrier_t barrier;
  sem_t sem;
  int turn;
};

static struct shared *share(void) {
  struct shared *s =
      mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  pthread_mutexattr_t m;
  pthread_condattr_t c;
  pthread_rwlockattr_t r;
  pthread_barrierattr_t b;
  CHECK(s != MAP_FAILED);
  pthread_mutexattr_init(&m);
  pthread_condattr_init(&c);
  pthread_rwlockattr_init(&r);
  pthread_barrierattr_init(&b);
  pthread_mutexattr_setpshared(&m, PTHREAD_PROCESS_SHARED);
  pthread_condattr_setpshared(&c, PTHREAD_PROCESS_SHARED);
  pthread_rwlockattr_setpshared(&r, PTHREAD_PROCESS_SHARED);
  pthread_barrierattr_setpshared(&b, PTHREAD_PROCESS_SHARED);
  CHECK(pthread_mutex_init(&s->mutex, &m) == 0 && pthread_cond_init(&s->cond, &c) == 0);
  CHECK(pthread_rwlock_init(&s->rwlock, &r) == 0);
  CHECK(pthread_barrier_init(&s->barrier, &b, 2) == 0 && sem_init(&s->sem, 1, 0) == 0);
  return s;
}

/* Each side waits for the other at each object. @param side 0 or 1 */
static void play(struct shared *s, int side) {
  for (int i = 0; i < 50; i++) {
    CHECK(pthread_mutex_lock(&s->mutex) == 0);
    while (s->turn != side) CHECK(pthread_cond_wait(&s->cond, &s->mutex) == 0);
    s->turn = !side;
    CHECK(pthread_cond_signal(&s->cond) == 0 && pthread_mutex_unlock(&s->mutex) == 0);
    CHECK(pthread_rwlock_wrlock(&s->rwlock) == 0);
    usleep(100);
    CHECK(pthread_rwlock_unlock(&s->rwlock) == 0);
    if (side == 0) CHECK(sem_post(&s->sem) == 0);
    if (side == 1) CHECK(sem_wait(&s->sem) == 0);
    int met = pthread_barrier_wait(&s->barrier);
    CHECK(met == 0 || met == PTHREAD_BARRIER_SERIAL_THREAD);
  }
}

static void test_two_processes(void) {
  struct shared *s = share();
  pid_t child = fork();
  CHECK(child >= 0);
  play(s, child == 0);
  if (child == 0) _exit(0);
  int status;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
}

/* ---- waits for signals */

enum { AWAITED = SIGUSR1 };

static sigset_t awaited;

static void *awaits_signals(void *arg) {
  const struct timespec long_time = {LONG_MS / 1000, 0}, short_time = {0, SHORT_MS * 1000000};
  siginfo_t info;
  int signo = 0;
  CHECK(sigwait(&awaited, &signo) == 0 && signo == AWAITED);
  sem_post(&taken);
  CHECK(sigwaitinfo(&awaited, &info) == AWAITED && info.si_signo == AWAITED);
  sem_post(&taken);
  CHECK(sigtimedwait(&awaited, &info, &long_time) == AWAITED && info.si_signo == AWAITED);
  sem_post(&taken);
  CHECK(sigtimedwait(&awaited, &info, &short_time) == -1 && errno == EAGAIN);
  return arg;
}

static void *awaits_its_cancellation(void *arg) {
  int signo;
  sem_post(&taken);
  for (;;) CHECK(sigwait(&awaited, &signo) == 0);
  return arg;
}

static void test_signals(void) {
  pthread_t threads[8];
  void *result;
  sigemptyset(&awaited);
  sigaddset(&awaited, AWAITED);
  pthread_sigmask(SIG_BLOCK, &awaited, NULL);
  for (int i = 0; i < 8; i++) CHECK(pthread_create(&threads[i], NULL, awaits_signals, NULL) == 0);
  for (int round = 0; round < 3; round++) {
    for (int i = 0; i < 8; i++) CHECK(pthread_kill(threads[i], AWAITED) == 0);
    for (int i = 0; i < 8; i++) CHECK(sem_wait(&taken) == 0);
  }
  for (int i = 0; i < 8; i++) CHECK(pthread_join(threads[i], NULL) == 0);
  CHECK(pthread_create(&threads[0], NULL, awaits_its_cancellation, NULL) == 0);
  CHECK(sem_wait(&taken) == 0 && pthread_cancel(threads[0]) == 0);
  CHECK(pthread_join(threads[0], &result) == 0 && result == PTHREAD_CANCELED);
}

/* ---- joins of threads that have ended, that run, and of the caller; a join that is cancelled */

enum { JOINED = 300 };

static pthread_t joined[JOINED];

static void *gives_back(void *arg) { return arg; }

static void *gives_back_when_wanted(void *arg) {
  CHECK(sem_wait(&wanted) == 0);
  return arg;
}

static void *joins_the_first(void *arg) {
  sem_post(&taken);
  pthread_join(joined[0], NULL);
  failed(__LINE__, "a cancelled join does not return");
  return arg;
}

static void create_and_join(long pause_ms) {
  void *result;
  for (int i = 0; i < JOINED; i++)
    CHECK(pthread_create(&joined[i], NULL, gives_back, joined + i + 1) == 0);
  nanosleep(&(struct timespec){.tv_nsec = pause_ms * 1000000}, NULL);
  for (int i = 0; i < JOINED; i++)
    CHECK(pthread_join(joined[i], &result) == 0 && result == joined + i + 1);
}

static void test_joins(void) {
  pthread_t joiner;
  void *result;
  create_and_join(0);
  create_and_join(SHORT_MS);
  CHECK(pthread_join(pthread_self(), NULL) == EDEADLK);
  CHECK(pthread_create(&joined[0], NULL, gives_back_when_wanted, joined) == 0);
  const struct timespec soon = in_ms(CLOCK_REALTIME, SHORT_MS);
  CHECK(pthread_timedjoin_np(joined[0], &result, &soon) == ETIMEDOUT);
  CHECK(pthread_create(&joiner, NULL, joins_the_first, NULL) == 0);
  CHECK(sem_wait(&taken) == 0 && pthread_cancel(joiner) == 0);
  CHECK(pthread_join(joiner, &result) == 0 && result == PTHREAD_CANCELED);
  CHECK(sem_post(&wanted) == 0 && pthread_join(joined[0], &result) == 0 && result == joined);
}

/* ---- destructors of thread-specific values use objects as well */

static pthread_key_t leaving;

static void does_nothing(void) {}

static void *returns(void *arg) { return arg; }

static void rounds_again(void *rounds) {
  if ((intptr_t)rounds < PTHREAD_DESTRUCTOR_ITERATIONS) { /* the next ones come later */
    pthread_setspecific(leaving, (void *)((intptr_t)rounds + 1));
    return;
  }
  static pthread_once_t late = PTHREAD_ONCE_INIT;
  static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
  const struct timespec soon = in_ms(CLOCK_REALTIME, SHORT_MS);
  pthread_barrier_t alone;
  pthread_t other;
  void *result;
  CHECK(pthread_mutex_timedlock(&mutex, &soon) == 0);
  CHECK(pthread_cond_timedwait(&never, &mutex, &soon) == ETIMEDOUT);
  CHECK(pthread_mutex_unlock(&mutex) == 0);
  CHECK(pthread_rwlock_timedrdlock(&rwlock, &soon) == 0 && pthread_rwlock_unlock(&rwlock) == 0);
  CHECK(pthread_rwlock_timedwrlock(&rwlock, &soon) == 0 && pthread_rwlock_unlock(&rwlock) == 0);
  CHECK(pthread_spin_lock(&spin) == 0 && pthread_spin_unlock(&spin) == 0);
  CHECK(sem_timedwait(&sem, &soon) == -1 && errno == ETIMEDOUT);
  CHECK(pthread_barrier_init(&alone, NULL, 1) == 0);
  CHECK(pthread_barrier_wait(&alone) == PTHREAD_BARRIER_SERIAL_THREAD);
  CHECK(pthread_once(&late, does_nothing) == 0 && usleep(1) == 0 && sleep(0) == 0);
  CHECK(pthread_create(&other, NULL, returns, &alone) == 0);
  CHECK(pthread_join(other, &result) == 0 && result == &alone);
}

static void *leaves(void *arg) {
  pthread_setspecific(leaving, (void *)1);
  return arg;
}

static void test_destructors(void) {
  pthread_t thread;
  CHECK(sem_init(&sem, 0, 0) == 0 && pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE) == 0);
  CHECK(pthread_key_create(&leaving, rounds_again) == 0);
  CHECK(pthread_create(&thread, NULL, leaves, NULL) == 0 && pthread_join(thread, NULL) == 0);
}

int main(int argc, char **argv) {
  (void)argv;
  sem_init(&taken, 0, 0);
  sem_init(&wanted, 0, 0);
  test_mutexes();
  test_kinds();
  test_rwlocks();
  test_writers_first();
  test_counts();
  test_conditions();
  test_once();
  test_time();
  test_c11();
  if (argc == 1) {
    test_two_processes();
    test_signals();
    test_joins();
    test_destructors();
  }
  puts("right");
  return 0;
}
