/* SPDX-License-Identifier: Apache-2.0 */
/* Locks of libc that a rank holds over waits: it continues on another kernel thread, and libc takes
 * the kernel thread for the owner. And waits of a rank for its own pthread, which waits for another
 * rank. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

enum { ROUNDS = 300 };

static int rank, size;

/* Others run on this kernel thread meanwhile, and the rank may continue on another one. */
static void wait_for_others(int round) {
  if (round % 16 == rank) usleep(1);
  MPI_Barrier(MPI_COMM_WORLD);
}

/* ---- owners */

static void check_mutex(int type, int protocol, int again) {
  pthread_mutex_t mutex;
  pthread_mutexattr_t attr;
  pthread_mutexattr_init(&attr);
  pthread_mutexattr_settype(&attr, type);
  CHECK(pthread_mutexattr_setprotocol(&attr, protocol) == 0);
  CHECK(pthread_mutex_init(&mutex, &attr) == 0);
  for (int i = 0; i < ROUNDS; i++) {
    CHECK((i % 2 == 0 ? pthread_mutex_lock : pthread_mutex_trylock)(&mutex) == 0);
    wait_for_others(i);
    CHECK(pthread_mutex_lock(&mutex) == again);
    if (again == 0) CHECK(pthread_mutex_unlock(&mutex) == 0);
    wait_for_others(i);
    CHECK(pthread_mutex_unlock(&mutex) == 0);
    CHECK(pthread_mutex_unlock(&mutex) == EPERM);
  }
  CHECK(pthread_mutex_destroy(&mutex) == 0);
}

static void *try_mutex(void *mutex) { return pthread_mutex_trylock(mutex) == EBUSY ? mutex : NULL; }

static int is_busy(pthread_mutex_t *mutex) {
  pthread_t thread;
  void *got;
  CHECK(pthread_create(&thread, NULL, try_mutex, mutex) == 0);
  CHECK(pthread_join(thread, &got) == 0);
  return got == mutex;
}

/* A recursive mutex is free when it was released as often as it was locked, by whatever calls. */
static void check_depth(void) {
  pthread_mutex_t mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
  struct timespec past = {1, 0};
  for (int depth = 1; depth <= 4; depth++) {
    for (int i = 0; i < depth; i++) {
      if (i % 4 == 0) CHECK(pthread_mutex_lock(&mutex) == 0);
      if (i % 4 == 1) CHECK(pthread_mutex_trylock(&mutex) == 0);
      if (i % 4 == 2) CHECK(pthread_mutex_timedlock(&mutex, &past) == 0);
      if (i % 4 == 3) CHECK(pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &past) == 0);
    }
    for (int i = 0; i < depth; i++) {
      CHECK(is_busy(&mutex));
      CHECK(pthread_mutex_unlock(&mutex) == 0);
    }
    CHECK(pthread_mutex_unlock(&mutex) == EPERM);
  }
  CHECK(pthread_mutex_lock(&mutex) == 0);
  mutex.__data.__count = UINT_MAX; /* nobody locks one so often */
  CHECK(pthread_mutex_lock(&mutex) == EAGAIN && pthread_mutex_trylock(&mutex) == EAGAIN);
  mutex.__data.__count = 1;
  CHECK(pthread_mutex_unlock(&mutex) == 0 && pthread_mutex_destroy(&mutex) == 0);
}

/* A lock that the rank itself has, or that another thread has. */
static void check_refusals(void) {
  pthread_mutex_t mutex = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
  pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER;
  pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
  struct timespec past = {1, 0};
  CHECK(pthread_mutex_unlock(&mutex) == EPERM);
  CHECK(pthread_mutex_lock(&mutex) == 0 && pthread_mutex_lock(&mutex) == EDEADLK);
  CHECK(pthread_mutex_trylock(&mutex) == EBUSY);
  CHECK(pthread_mutex_timedlock(&mutex, &past) == EDEADLK);
  CHECK(is_busy(&mutex) && pthread_mutex_unlock(&mutex) == 0 && !is_busy(&plain));
  CHECK(pthread_mutex_trylock(&plain) == EBUSY); /* that pthread has it, and has ended */
  CHECK(pthread_mutex_timedlock(&plain, &past) == ETIMEDOUT);
  CHECK(pthread_rwlock_trywrlock(&lock) == 0 && pthread_rwlock_trywrlock(&lock) == EBUSY);
  CHECK(pthread_rwlock_wrlock(&lock) == EDEADLK && pthread_rwlock_unlock(&lock) == 0);
  CHECK(pthread_rwlock_rdlock(&lock) == 0 && pthread_rwlock_trywrlock(&lock) == EBUSY);
  CHECK(pthread_rwlock_timedwrlock(&lock, &past) == ETIMEDOUT);
  CHECK(pthread_rwlock_rdlock(&lock) == 0 && pthread_rwlock_unlock(&lock) == 0);
  CHECK(pthread_rwlock_unlock(&lock) == 0 && pthread_rwlock_wrlock(&lock) == 0);
  CHECK(pthread_rwlock_unlock(&lock) == 0);
}

static void *read_lock(void *lock) { return pthread_rwlock_tryrdlock(lock) == 0 ? lock : NULL; }

/* libc would take the writer for a reader, and the lock would never be free again. */
static void check_rwlock(void) {
  pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
  for (int i = 0; i < ROUNDS; i++) {
    CHECK(pthread_rwlock_wrlock(&lock) == 0);
    wait_for_others(i);
    CHECK(pthread_rwlock_rdlock(&lock) == EDEADLK);
    CHECK(pthread_rwlock_unlock(&lock) == 0);
    CHECK(pthread_rwlock_rdlock(&lock) == 0);
    wait_for_others(i);
    CHECK(pthread_rwlock_unlock(&lock) == 0);
  }
  pthread_t thread;
  void *got;
  CHECK(pthread_create(&thread, NULL, read_lock, &lock) == 0);
  CHECK(pthread_join(thread, &got) == 0 && got == &lock);
}

/* A condition variable releases a recursive mutex, and has it again. */
static void check_cond(void) {
  pthread_mutex_t mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
  pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
  struct timespec past = {1, 0};
  CHECK(pthread_mutex_lock(&mutex) == 0);
  wait_for_others(0);
  CHECK(pthread_cond_timedwait(&cond, &mutex, &past) == ETIMEDOUT);
  CHECK(pthread_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC, &past) == ETIMEDOUT);
  wait_for_others(1);
  CHECK(pthread_mutex_unlock(&mutex) == 0);
}

/* ---- deadlines */

static struct timespec in_ms(int ms) {
  struct timespec time;
  clock_gettime(CLOCK_REALTIME, &time);
  time.tv_nsec += 1000000L * ms;
  time.tv_sec += time.tv_nsec / 1000000000;
  time.tv_nsec %= 1000000000;
  return time;
}

static int tried; /* the pthread has met the lock of its rank */

static void *try_all(void *lock) {
  struct timespec soon = in_ms(1), late = in_ms(3600000);
  CHECK(pthread_rwlock_timedrdlock(lock, &soon) == ETIMEDOUT);
  soon = in_ms(1);
  CHECK(pthread_rwlock_timedwrlock(lock, &soon) == ETIMEDOUT);
  CHECK(pthread_rwlock_trywrlock(lock) == EBUSY && pthread_rwlock_tryrdlock(lock) == EBUSY);
  __atomic_store_n(&tried, 1, __ATOMIC_RELEASE);
  CHECK(pthread_rwlock_timedwrlock(lock, &late) == 0 && pthread_rwlock_unlock(lock) == 0);
  CHECK(pthread_rwlock_timedrdlock(lock, &late) == 0 && pthread_rwlock_unlock(lock) == 0);
  return lock;
}

/* A writer that would wait for itself gets an error at once, also on another kernel thread. */
static void check_timed_rwlock(void) {
  pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
  pthread_t thread;
  struct timespec late = in_ms(3600000);
  CHECK(pthread_rwlock_timedwrlock(&lock, &late) == 0);
  CHECK(pthread_create(&thread, NULL, try_all, &lock) == 0);
  for (int i = 0; i < 40; i++) wait_for_others(i);
  CHECK(pthread_rwlock_timedrdlock(&lock, &late) == EDEADLK);
  CHECK(pthread_rwlock_timedwrlock(&lock, &late) == EDEADLK);
  while (__atomic_load_n(&tried, __ATOMIC_ACQUIRE) == 0) usleep(100);
  CHECK(pthread_rwlock_unlock(&lock) == 0 && pthread_join(thread, NULL) == 0);
  for (int i = 0; i < ROUNDS; i++) { /* libc would take the writer for a reader */
    clockid_t clock = i % 2 == 0 ? CLOCK_MONOTONIC : CLOCK_REALTIME;
    CHECK(pthread_rwlock_clockwrlock(&lock, clock, &late) == 0);
    wait_for_others(i);
    CHECK(pthread_rwlock_clockrdlock(&lock, clock, &late) == EDEADLK);
    CHECK(pthread_rwlock_unlock(&lock) == 0);
    CHECK(pthread_rwlock_clockrdlock(&lock, clock, &late) == 0);
    CHECK(pthread_rwlock_unlock(&lock) == 0);
  }
  CHECK(pthread_rwlock_trywrlock(&lock) == 0);
  wait_for_others(0);
  CHECK(pthread_rwlock_rdlock(&lock) == EDEADLK && pthread_rwlock_unlock(&lock) == 0);
}

/* ---- a writer that waits has the lock at the end */

static pthread_rwlock_t written = PTHREAD_RWLOCK_INITIALIZER;
static sem_t was_refused; /* by the rank's pthread */

static void *wait_and_write(void *unused) {
  CHECK(pthread_rwlock_trywrlock(&written) == EBUSY);
  CHECK(sem_post(&was_refused) == 0);
  CHECK(pthread_rwlock_wrlock(&written) == 0 && pthread_rwlock_unlock(&written) == 0);
  return unused;
}

static void check_waiting_writer(void) {
  pthread_t thread;
  CHECK(sem_init(&was_refused, 0, 0) == 0);
  for (int i = 0; i < 20; i++) {
    CHECK(pthread_rwlock_rdlock(&written) == 0);
    CHECK(pthread_create(&thread, NULL, wait_and_write, NULL) == 0);
    CHECK(sem_wait(&was_refused) == 0);
    sched_yield();
    CHECK(pthread_rwlock_unlock(&written) == 0 && pthread_join(thread, NULL) == 0);
  }
}

/* ---- semaphores, and calls by number: what they return, and errno */

static void check_semaphores(void) {
  sem_t semaphore;
  struct timespec past = {1, 0}, late = in_ms(3600000), wrong = {1, 1000000000};
  int value = -1;
  CHECK(sem_init(&semaphore, 0, 3) == 0);
  CHECK(sem_wait(&semaphore) == 0 && sem_timedwait(&semaphore, &past) == 0);
  CHECK(sem_clockwait(&semaphore, CLOCK_REALTIME, &late) == 0);
  CHECK(sem_getvalue(&semaphore, &value) == 0 && value == 0);
  errno = 0;
  CHECK(sem_timedwait(&semaphore, &past) == -1 && errno == ETIMEDOUT);
  errno = 0;
  CHECK(sem_clockwait(&semaphore, CLOCK_MONOTONIC, &past) == -1 && errno == ETIMEDOUT);
  errno = 0;
  CHECK(sem_timedwait(&semaphore, &wrong) == -1 && errno == EINVAL);
  CHECK(sem_destroy(&semaphore) == 0);
}

static void check_calls_by_number(void) {
  const struct timespec moment = {0, 1};
  static int word = 5;
  errno = 0;
  CHECK(syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 4, NULL, NULL, 0) == -1 && errno == EAGAIN);
  errno = 0;
  CHECK(syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 5, &moment, NULL, 0) == -1);
  CHECK(errno == ETIMEDOUT);
  errno = 0; /* the sixth word names no bit */
  CHECK(syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, 5, &moment, NULL, 0) == -1);
  CHECK(errno == EINVAL);
  errno = 0;
  CHECK(syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, 5, &moment, NULL, ~0) == -1);
  CHECK(errno == ETIMEDOUT);
  CHECK(syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0) == 0);
  CHECK(syscall(SYS_getpid) == getpid());
  char *page = (char *)syscall(SYS_mmap, NULL, 4096L, (long)(PROT_READ | PROT_WRITE),
                               (long)(MAP_PRIVATE | MAP_ANONYMOUS), -1L, 0L);
  CHECK(page != MAP_FAILED && page[0] == 0 && syscall(SYS_munmap, page, 4096L) == 0);
}

/* A file is locked against another open of it, of the same rank too. */
static void check_flock_errors(void) {
  int fd = open("/proc/self/exe", O_RDONLY), other = open("/proc/self/exe", O_RDONLY);
  CHECK(fd >= 0 && other >= 0 && flock(fd, LOCK_EX) == 0);
  errno = 0;
  CHECK(flock(other, LOCK_EX | LOCK_NB) == -1 && errno == EWOULDBLOCK);
  CHECK(flock(fd, LOCK_UN) == 0 && close(fd) == 0 && close(other) == 0);
  errno = 0;
  CHECK(flock(-1, LOCK_EX) == -1 && errno == EBADF);
}

static int try_c11(void *mutex) {
  struct timespec soon = in_ms(1);
  return mtx_trylock(mutex) == thrd_busy ? mtx_timedlock(mutex, &soon) : thrd_error;
}

static void check_timed_c11(void) {
  mtx_t mutex;
  cnd_t cond;
  thrd_t thread;
  int result;
  struct timespec soon = in_ms(1), late = in_ms(3600000);
  CHECK(mtx_init(&mutex, mtx_timed) == thrd_success && cnd_init(&cond) == thrd_success);
  CHECK(mtx_timedlock(&mutex, &late) == thrd_success);
  CHECK(cnd_timedwait(&cond, &mutex, &soon) == thrd_timedout);
  CHECK(thrd_create(&thread, try_c11, &mutex) == thrd_success);
  CHECK(thrd_join(thread, &result) == thrd_success && result == thrd_timedout);
  CHECK(mtx_unlock(&mutex) == thrd_success);
}

static int post_and_exit_c11(void *semaphore) {
  CHECK(sem_post(semaphore) == 0);
  thrd_exit(rank);
}

static void check_ends_c11(void) {
  thrd_t thread;
  sem_t semaphore;
  int result = -1;
  CHECK(sem_init(&semaphore, 0, 0) == 0);
  CHECK(thrd_create(&thread, post_and_exit_c11, &semaphore) == thrd_success);
  CHECK(thrd_join(thread, &result) == thrd_success && result == rank);
  CHECK(thrd_create(&thread, post_and_exit_c11, &semaphore) == thrd_success);
  CHECK(thrd_join(thread, NULL) == thrd_success);
  CHECK(thrd_create(&thread, post_and_exit_c11, &semaphore) == thrd_success);
  CHECK(thrd_detach(thread) == thrd_success);
  for (int i = 0; i < 3; i++) CHECK(sem_wait(&semaphore) == 0);
}

/* ---- waits for a pthread that waits for another rank */

static struct {
  pthread_mutex_t mutex;
  pthread_cond_t cond;
  pthread_rwlock_t lock;
  sem_t semaphore;
  int has, got;
} own = {.mutex = PTHREAD_MUTEX_INITIALIZER,
         .cond = PTHREAD_COND_INITIALIZER,
         .lock = PTHREAD_RWLOCK_INITIALIZER};

static void *receive(void *unused) {
  int token;
  pthread_rwlock_wrlock(&own.lock);
  pthread_mutex_lock(&own.mutex);
  __atomic_store_n(&own.has, 1, __ATOMIC_RELEASE);
  MPI_Recv(&token, 1, MPI_INT, (rank + 1) % size, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  own.got = 1;
  pthread_cond_signal(&own.cond);
  pthread_mutex_unlock(&own.mutex);
  sem_post(&own.semaphore);
  pthread_rwlock_unlock(&own.lock);
  return unused;
}

/* Each rank waits in the kernel for a message that the next one sends when its own has come. */
static void check_chain(void) {
  pthread_t thread;
  struct timespec late;
  clock_gettime(CLOCK_REALTIME, &late);
  late.tv_sec += 3600;
  CHECK(sem_init(&own.semaphore, 0, 0) == 0);
  CHECK(pthread_create(&thread, NULL, receive, NULL) == 0);
  while (__atomic_load_n(&own.has, __ATOMIC_ACQUIRE) == 0) sched_yield();
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) MPI_Send(&rank, 1, MPI_INT, size - 1, 7, MPI_COMM_WORLD);
  if (rank % 2 == 0) pthread_mutex_lock(&own.mutex);
  if (rank % 2 == 1) CHECK(pthread_mutex_timedlock(&own.mutex, &late) == 0);
  while (!own.got) CHECK(pthread_cond_timedwait(&own.cond, &own.mutex, &late) == 0);
  pthread_mutex_unlock(&own.mutex);
  CHECK(sem_timedwait(&own.semaphore, &late) == 0);
  CHECK(pthread_rwlock_rdlock(&own.lock) == 0 && pthread_rwlock_unlock(&own.lock) == 0);
  if (rank > 0) MPI_Send(&rank, 1, MPI_INT, rank - 1, 7, MPI_COMM_WORLD);
  CHECK(pthread_join(thread, NULL) == 0);
}

/* All want one file at once, and hold it over a wait. */
static void check_flock(void) {
  int fd = open("/proc/self/exe", O_RDONLY); /* any file that all can read */
  CHECK(fd >= 0);
  CHECK(flock(fd, LOCK_EX) == 0);
  usleep(1000);
  CHECK(flock(fd, LOCK_UN) == 0);
  close(fd);
}

/* ---- threads of C11 */

static thread_local int local = 7;
static mtx_t c11_mutex;
static cnd_t c11_cond;
static int c11_done;

static int work(void *of_main) {
  int own_rank = -1;
  CHECK(local == 7 && &local != of_main);
  local = 8;
  MPI_Comm_rank(MPI_COMM_WORLD, &own_rank);
  mtx_lock(&c11_mutex);
  c11_done = 1;
  cnd_signal(&c11_cond);
  mtx_unlock(&c11_mutex);
  thrd_exit(own_rank + 5);
}

static void check_c11(void) {
  thrd_t thread;
  int result;
  local = 9;
  CHECK(mtx_init(&c11_mutex, mtx_plain | mtx_recursive) == thrd_success);
  CHECK(cnd_init(&c11_cond) == thrd_success);
  CHECK(mtx_lock(&c11_mutex) == thrd_success && mtx_trylock(&c11_mutex) == thrd_success);
  CHECK(mtx_unlock(&c11_mutex) == thrd_success);
  CHECK(thrd_create(&thread, work, &local) == thrd_success);
  while (!c11_done) CHECK(cnd_wait(&c11_cond, &c11_mutex) == thrd_success);
  CHECK(mtx_unlock(&c11_mutex) == thrd_success);
  CHECK(thrd_join(thread, &result) == thrd_success && result == rank + 5);
  CHECK(mtx_unlock(&c11_mutex) == thrd_error); /* nobody has it */
  CHECK(local == 9);
}

static int count_c11(void *counter) {
  __atomic_add_fetch((int *)counter, 1, __ATOMIC_RELEASE);
  return 0;
}

static void check_detached_c11(void) {
  enum { THREADS = 3 };
  static int ended;
  thrd_t thread;
  for (int i = 0; i < THREADS; i++) {
    CHECK(thrd_create(&thread, count_c11, &ended) == thrd_success);
    CHECK(thrd_detach(thread) == thrd_success);
  }
  while (__atomic_load_n(&ended, __ATOMIC_ACQUIRE) < THREADS) thrd_yield();
}

/* ---- a robust mutex that no wait comes between */

static void check_robust(void) {
  pthread_mutexattr_t attr;
  pthread_mutex_t mutex;
  CHECK(pthread_mutexattr_init(&attr) == 0);
  CHECK(pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST) == 0);
  CHECK(pthread_mutex_init(&mutex, &attr) == 0);
  for (int i = 0; i < ROUNDS; i++) {
    CHECK(pthread_mutex_lock(&mutex) == 0);
    CHECK(pthread_mutex_unlock(&mutex) == 0);
    CHECK(pthread_mutex_trylock(&mutex) == 0);
    CHECK(pthread_mutex_unlock(&mutex) == 0);
    usleep(1); /* the rank may move to another kernel thread */
  }
  CHECK(pthread_mutex_destroy(&mutex) == 0 && pthread_mutexattr_destroy(&attr) == 0);
}

/* ---- errno is the rank's own: others set theirs while it computes */

static void *post(void *argument) {
  sem_t *both = argument;
  for (int i = 0; i < ROUNDS; i++) {
    sem_wait(&both[0]);
    sem_post(&both[1]);
  }
  return NULL;
}

static void wait_in_kernel(void) {
  pthread_t thread;
  sem_t both[2];
  for (int i = 0; i < 2; i++) CHECK(sem_init(&both[i], 0, 0) == 0);
  CHECK(pthread_create(&thread, NULL, post, both) == 0);
  for (int i = 0; i < ROUNDS; i++) {
    sem_post(&both[0]);
    sem_wait(&both[1]); /* sets errno on the way */
  }
  CHECK(pthread_join(thread, NULL) == 0);
}

static void keep_errno(void) {
  for (int i = 0; i < 10 * ROUNDS; i++) {
    int flag;
    errno = 1000 + rank;
    for (volatile int turn = 0; turn < 1000; turn++) continue;
    CHECK(errno == 1000 + rank);
    MPI_Iprobe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
  }
}

/* The compiler may keep the address of errno over the wait only if that stays right. */
static void check_errno_after_wait(void) {
  for (int i = 0; i < ROUNDS; i++) {
    errno = 0;
    wait_for_others(i);
    errno = 2000 + rank;
    wait_for_others(i);
    CHECK(errno == 2000 + rank);
  }
}

/* ---- children of fork(), where no rank is */

static void *nothing(void *argument) { return argument; }

static int in_child(pthread_key_t key, int starts) {
  pthread_t thread;
  void *result;
  pthread_key_t another;
  if (pthread_getspecific(key) != &rank) return 1;
  if (pthread_key_create(&another, NULL) != 0 || another == key) return 2;
  if (pthread_setspecific(another, &key) != 0 || pthread_getspecific(another) != &key) return 3;
  if (starts && pthread_create(&thread, NULL, nothing, &key) != 0) return 4;
  if (starts && (pthread_join(thread, &result) != 0 || result != &key)) return 5;
  if (usleep(1) != 0 || sched_yield() != 0) return 6;
  return 0;
}

static void check_children(int starts) {
  pthread_key_t key;
  int status = -1;
  CHECK(pthread_key_create(&key, NULL) == 0);
  CHECK(pthread_setspecific(key, &rank) == 0);
  fflush(NULL);
  pid_t child = rank % 2 == 0 ? fork() : vfork(); /* NOLINT(bugprone-unsafe-functions) */
  if (child == 0) _exit(in_child(key, starts));
  CHECK(child > 0 && waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void check_many_keys(void) {
  pthread_key_t keys[1000];
  for (int i = 0; i < 1000; i++) CHECK(pthread_key_create(&keys[i], NULL) == 0);
  CHECK(pthread_setspecific(keys[999], &rank) == 0 && pthread_getspecific(keys[999]) == &rank);
  for (int i = 0; i < 1000; i++) CHECK(pthread_key_delete(keys[i]) == 0);
}

int main(int argc, char **argv) {
  int level;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  check_mutex(PTHREAD_MUTEX_RECURSIVE, PTHREAD_PRIO_NONE, 0);
  check_mutex(PTHREAD_MUTEX_ERRORCHECK, PTHREAD_PRIO_NONE, EDEADLK);
  check_mutex(PTHREAD_MUTEX_RECURSIVE, PTHREAD_PRIO_INHERIT, 0);
  check_mutex(PTHREAD_MUTEX_ERRORCHECK, PTHREAD_PRIO_INHERIT, EDEADLK);
  check_depth();
  check_refusals();
  check_waiting_writer();
  check_rwlock();
  check_cond();
  check_timed_rwlock();
  check_timed_c11();
  check_ends_c11();
  check_semaphores();
  check_calls_by_number();
  check_chain();
  check_flock();
  check_flock_errors();
  check_c11();
  check_detached_c11();
  check_robust();
  (rank % 2 == 0 ? wait_in_kernel : keep_errno)();
  check_errno_after_wait();
  check_children(argc == 1); /* otherwise a sanitizer follows no threads of theirs */
  check_many_keys();
  MPI_Finalize();
  return 0;
}
