/* SPDX-License-Identifier: Apache-2.0 */
/* Does what its argument says, most of it in rank 1: what abuse.py looks at. */
#define _GNU_SOURCE /* gettid() */
#include <err.h>
#include <errno.h>
#include <error.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

enum { GIB = 1 << 30 };

static char large[GIB];
static int after_large = 3;

static void fill_large(int rank) {
  static const size_t places[] = {0, 12345, GIB / 2, GIB - 1};
  for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) large[places[i]] = (char)rank;
  MPI_Barrier(MPI_COMM_WORLD);
  for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
    CHECK(large[places[i]] == (char)rank && large[(places[i] + 100) % GIB] == 0);
  CHECK(after_large == 3);
}

__attribute__((noinline)) void write_to(volatile int *where);
void write_to(volatile int *where) { *where = 1; }

int descend(int depth);
int descend(int depth) {
  volatile char room[10000];
  memset((char *)room, depth, sizeof room);
  return depth == 0 ? 0 : descend(depth - 1) + room[depth % 10000];
}

static void first_handler(void) { fputs("first registered\n", stderr); }
static void exit_again(void) {
  fputs("registered last\n", stderr);
  exit(5);
}

static void quick_handler(void) { fputs("quick handler\n", stderr); }

static void divide_handler(int signo) {
  fprintf(stderr, "caught %d\n", signo);
  exit(6);
}

static void bad_buffer(void) {
  MPI_Sendrecv(&after_large, 1, MPI_INT, 1, 0, (void *)8, 1, MPI_INT, 1, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
}

/* moves: the rank holds the mutex until it continues on another kernel thread, as the first of
 * these ranks does once another VP takes one of them. Otherwise it waits with it, and has one
 * kernel thread. */
static void hold_robust(bool moves) {
  pthread_mutex_t mutex;
  pthread_mutexattr_t attr;
  pthread_mutexattr_init(&attr);
  CHECK(pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST) == 0);
  CHECK(pthread_mutex_init(&mutex, &attr) == 0);
  CHECK(pthread_mutex_lock(&mutex) == 0);
  pid_t home = gettid();
  for (int i = 0; moves ? gettid() == home : i < 100; i++) sched_yield();
  CHECK(pthread_mutex_unlock(&mutex) == 0);
}

/* As a collector of garbage stops threads: here the rank's own thread, which waits in MPI. */
static pthread_t stopper;

static void stop(int signo) {
  sigset_t none;
  (void)signo;
  sigemptyset(&none);
  if (pthread_equal(pthread_self(), stopper)) sigsuspend(&none);
}

static void *stop_again(void *first) {
  stopper = pthread_self();
  for (;;) { /* until the other thread has come to its wait */
    pthread_kill(*(pthread_t *)first, SIGUSR2);
    usleep(1000);
  }
  return NULL;
}

static void stop_waiting(int rank) {
  pthread_t thread, self = pthread_self();
  signal(SIGUSR2, stop);
  if (rank == 1) CHECK(pthread_create(&thread, NULL, stop_again, &self) == 0);
  MPI_Recv(&rank, 1, MPI_INT, (rank + 1) % 2, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* NAME(9, ...) for a function of err.h that takes a list of arguments. */
static void fail_by(void (*call)(int, const char *, va_list), const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  call(9, format, arguments);
  va_end(arguments);
}

static void in_rank_1(const char *how) {
  volatile int zero = 0;
  if (strcmp(how, "segv") == 0) write_to((int *)8);
  if (strcmp(how, "overflow") == 0) descend(1000000);
  if (strcmp(how, "divide") == 0) zero = 7 / zero;
  if (strcmp(how, "divide-caught") == 0) {
    signal(SIGFPE, divide_handler);
    zero = 7 / zero;
  }
  if (strcmp(how, "raise") == 0) raise(SIGTERM);
  if (strcmp(how, "abort") == 0) abort();
  if (strcmp(how, "_exit") == 0) _exit(4);
  if (strcmp(how, "err") == 0) errx(9, "no such thing");
  if (strcmp(how, "error") == 0) error(10, 0, "no such %s", "other thing");
  if (strcmp(how, "verr") == 0) {
    errno = ENOENT;
    fail_by(verr, "no %s", "such thing");
  }
  if (strcmp(how, "verrx") == 0) fail_by(verrx, "no %s", "such thing");
  if (strcmp(how, "error-at-line") == 0) error_at_line(10, 0, "some.c", 7, "no such %s", "thing");
  if (strcmp(how, "chdir") == 0) CHECK(chdir("/") == 0);
  if (strcmp(how, "exit-in-handler") == 0) {
    atexit(first_handler);
    atexit(exit_again);
    exit(4);
  }
  if (strcmp(how, "quick") == 0) {
    atexit(first_handler);
    at_quick_exit(quick_handler);
    quick_exit(4);
  }
  if (strcmp(how, "pthread-exit") == 0) pthread_exit(NULL);
}

int main(int argc, char **argv) {
  const char *how = argc > 1 ? argv[1] : "";
  int size, rank = check_start(&argc, &argv, &size);
  if (strcmp(how, "robust") == 0) hold_robust(true);
  if (strcmp(how, "robust-stays") == 0) hold_robust(false);
  if (strcmp(how, "large") == 0) fill_large(rank);
  if (strcmp(how, "stop-waiting") == 0) stop_waiting(rank);
  if (strcmp(how, "unflushed") == 0) printf("rank %d", rank); /* no end of line */
  if (strcmp(how, "bad-buffer") == 0 && rank == 1) bad_buffer();
  MPI_Finalize();
  if (rank == 1) in_rank_1(how);
  return 0;
}
