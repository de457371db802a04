/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program whose first call of a function that the gate replaces comes before the gate has
 * started: from .preinit_array, which runs before the constructors of libraries.
 *   early list      prints the names of the functions
 *   early NAME      calls that one first, then has a thread
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spinlock;
static pthread_key_t key;
static tss_t key_c11;
static sem_t sem;
static sigset_t usual; /* SIGUSR1 alone */
static int value;

static void *add_one(void *unused) {
  value++;
  return unused;
}

static void start_once(void) { value++; }

static bool creates(void) {
  pthread_t thread;
  return pthread_create(&thread, NULL, add_one, NULL) == 0 && pthread_join(thread, NULL) == 0;
}

static int return_none(void *unused) { return unused == NULL; }

static bool creates_c11(void) {
  thrd_t thread;
  int result = 0;
  return thrd_create(&thread, return_none, NULL) == thrd_success &&
         thrd_join(thread, &result) == thrd_success && result == 1;
}

static bool locks(void) {
  return pthread_mutex_lock(&mutex) == 0 && pthread_mutex_unlock(&mutex) == 0;
}

static bool tries_lock(void) {
  return pthread_mutex_trylock(&mutex) == 0 && pthread_mutex_unlock(&mutex) == 0;
}

static struct timespec now_by(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return now;
}

static bool locks_by_clock(void) {
  struct timespec now = now_by(CLOCK_MONOTONIC);
  return pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &now) == 0 &&
         pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &now) == ETIMEDOUT &&
         pthread_mutex_unlock(&mutex) == 0;
}

static bool waits_by_clock(void) {
  struct timespec now = now_by(CLOCK_MONOTONIC);
  return pthread_mutex_lock(&mutex) == 0 &&
         pthread_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC, &now) == ETIMEDOUT &&
         pthread_mutex_unlock(&mutex) == 0;
}

static bool reads_by_clock(void) {
  struct timespec now = now_by(CLOCK_MONOTONIC);
  return pthread_rwlock_wrlock(&rwlock) == 0 && pthread_rwlock_unlock(&rwlock) == 0 &&
         pthread_rwlock_clockrdlock(&rwlock, CLOCK_MONOTONIC, &now) == 0 &&
         pthread_rwlock_clockwrlock(&rwlock, CLOCK_MONOTONIC, &now) == ETIMEDOUT &&
         pthread_rwlock_unlock(&rwlock) == 0;
}

static bool takes_by_clock(void) {
  struct timespec now = now_by(CLOCK_MONOTONIC);
  return sem_init(&sem, 0, 1) == 0 && sem_clockwait(&sem, CLOCK_MONOTONIC, &now) == 0 &&
         sem_clockwait(&sem, CLOCK_MONOTONIC, &now) == -1 && errno == ETIMEDOUT;
}

static bool sleeps_by_clock(void) {
  const struct timespec no_time = {0, 0};
  return clock_nanosleep(CLOCK_MONOTONIC, 0, &no_time, NULL) == 0;
}

static bool sleeps_seconds(void) { return sleep(0) == 0; }

static bool makes_call(void) { return syscall(SYS_gettid) == gettid(); }

static bool signals(void) { return pthread_cond_signal(&cond) == 0; }
static bool broadcasts(void) { return pthread_cond_broadcast(&cond) == 0; }

static bool reads(void) {
  return pthread_rwlock_rdlock(&rwlock) == 0 && pthread_rwlock_unlock(&rwlock) == 0;
}

static bool writes(void) {
  return pthread_rwlock_wrlock(&rwlock) == 0 && pthread_rwlock_unlock(&rwlock) == 0;
}

static bool spins(void) {
  return pthread_spin_init(&spinlock, 0) == 0 && pthread_spin_lock(&spinlock) == 0 &&
         pthread_spin_unlock(&spinlock) == 0;
}

static bool posts(void) {
  return sem_init(&sem, 0, 0) == 0 && sem_post(&sem) == 0 && sem_wait(&sem) == 0;
}

static bool does_once(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  return pthread_once(&once, start_once) == 0 && value > 0;
}

void *__libc_malloc(size_t);
static volatile int allocations; /* the compiler takes no call of libc for one of malloc() */

void *malloc(size_t size) {
  allocations++;
  return __libc_malloc(size);
}

/* An allocator that starts makes one with its lock held: the gate must not allocate then. */
static bool makes_key(void) {
  int before = allocations;
  return pthread_key_create(&key, NULL) == 0 && allocations == before;
}
static bool makes_key_c11(void) { return tss_create(&key_c11, NULL) == thrd_success; }

static bool masks(void) {
  sigset_t now;
  return pthread_sigmask(SIG_BLOCK, &usual, NULL) == 0 &&
         sigprocmask(SIG_UNBLOCK, &usual, &now) == 0 && sigismember(&now, SIGUSR1) == 1;
}

static bool masks_process(void) {
  sigset_t now;
  return sigprocmask(SIG_BLOCK, &usual, NULL) == 0 &&
         pthread_sigmask(SIG_UNBLOCK, &usual, &now) == 0 && sigismember(&now, SIGUSR1) == 1;
}

static bool handles(void) {
  struct sigaction action = {.sa_handler = SIG_IGN}, now;
  return sigaction(SIGUSR2, &action, NULL) == 0 && sigaction(SIGUSR2, NULL, &now) == 0 &&
         now.sa_handler == SIG_IGN;
}

static const struct sched_param normal;

static bool sets_policy(void) { return sched_setscheduler(0, SCHED_OTHER, &normal) == 0; }
static bool sets_parameters(void) { return sched_setparam(0, &normal) == 0; }

static bool sets_own_policy(void) {
  return pthread_setschedparam(pthread_self(), SCHED_OTHER, &normal) == 0;
}

static bool sets_priority(void) { return pthread_setschedprio(pthread_self(), 0) == 0; }

static bool sets_defaults(void) {
  pthread_attr_t attr;
  return pthread_attr_init(&attr) == 0 && pthread_setattr_default_np(&attr) == 0;
}

static bool sleeps(void) { return usleep(1) == 0; }
static bool yields(void) { return sched_yield() == 0; }

static bool reads_clock(void) {
  struct timespec now;
  return clock_gettime(CLOCK_REALTIME, &now) == 0 && now.tv_sec > 1000000000;
}

static bool reads_day(void) {
  struct timeval now;
  return gettimeofday(&now, NULL) == 0 && now.tv_sec > 1000000000;
}

static bool reads_time(void) {
  time_t now;
  return time(&now) > 1000000000 && now > 1000000000;
}

static const struct {
  const char *name;
  bool (*call)(void);
} calls[] = {
    {"pthread_create", creates},
    {"thrd_create", creates_c11},
    {"pthread_mutex_lock", locks},
    {"pthread_mutex_clocklock", locks_by_clock},
    {"pthread_cond_clockwait", waits_by_clock},
    {"pthread_rwlock_clockrdlock", reads_by_clock},
    {"sem_clockwait", takes_by_clock},
    {"clock_nanosleep", sleeps_by_clock},
    {"sleep", sleeps_seconds},
    {"pthread_mutex_trylock", tries_lock},
    {"pthread_cond_signal", signals},
    {"pthread_cond_broadcast", broadcasts},
    {"pthread_rwlock_rdlock", reads},
    {"pthread_rwlock_wrlock", writes},
    {"pthread_spin_lock", spins},
    {"sem_post", posts},
    {"pthread_once", does_once},
    {"pthread_key_create", makes_key},
    {"tss_create", makes_key_c11},
    {"pthread_sigmask", masks},
    {"sigprocmask", masks_process},
    {"sigaction", handles},
    {"sched_setscheduler", sets_policy},
    {"sched_setparam", sets_parameters},
    {"pthread_setschedparam", sets_own_policy},
    {"pthread_setschedprio", sets_priority},
    {"pthread_setattr_default_np", sets_defaults},
    {"syscall", makes_call},
    {"usleep", sleeps},
    {"sched_yield", yields},
    {"clock_gettime", reads_clock},
    {"gettimeofday", reads_day},
    {"time", reads_time},
};

enum { CALLS = sizeof calls / sizeof calls[0], UNASKED = -1, FAILED = 0, DONE = 1 };

static int first_call = UNASKED;

static void before_constructors(int argc, char **argv, char **environment) {
  (void)environment;
  sigemptyset(&usual);
  sigaddset(&usual, SIGUSR1);
  for (int i = 0; argc > 1 && i < CALLS; i++)
    if (strcmp(argv[1], calls[i].name) == 0) first_call = calls[i].call() ? DONE : FAILED;
}

typedef void preinit(int, char **, char **);
__attribute__((section(".preinit_array"), used)) static preinit *const preinit_entry =
    before_constructors;

int main(int argc, char **argv) {
  if (argc > 1 && strcmp(argv[1], "list") == 0) {
    for (int i = 0; i < CALLS; i++) puts(calls[i].name);
    return 0;
  }
  if (first_call != DONE || !creates()) return 1;
  puts("right");
  return 0;
}
