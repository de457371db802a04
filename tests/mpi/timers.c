/* SPDX-License-Identifier: Apache-2.0 */
/* Timers of ranks: each has its own, whose signal comes to no other rank. */
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

enum { MILLISECOND = 1000, TICKS = 5 };

static int rank, size;
static volatile sig_atomic_t alarms, others, of_rank;

static void step(void) { MPI_Barrier(MPI_COMM_WORLD); }

static void count_alarm(int signo) {
  int own = -1;
  (void)signo;
  MPI_Comm_rank(MPI_COMM_WORLD, &own); /* a handler runs as its rank */
  of_rank = own;
  alarms++;
}

static void count_other(int signo, siginfo_t *info, void *context) {
  (void)signo, (void)context;
  others += info->si_value.sival_int;
}

static void start_timer(int first, int then) {
  struct itimerval value = {{0, then * MILLISECOND}, {0, first * MILLISECOND}};
  CHECK(setitimer(ITIMER_REAL, &value, NULL) == 0);
}

/* ---- what the calls say */

static int is_off(const struct itimerval *timer) {
  return timer->it_interval.tv_sec == 0 && timer->it_interval.tv_usec == 0 &&
         timer->it_value.tv_sec == 0 && timer->it_value.tv_usec == 0;
}

/* Before the rank has any timer. */
static void check_values(void) {
  const struct itimerval slow = {{3, 999999}, {2000000, 7}}, wrong = {{0, 0}, {0, 1000000}};
  struct itimerval found = {{7, 7}, {7, 7}};
  CHECK(getitimer(ITIMER_PROF, &found) == 0 && is_off(&found));
  found = slow;
  CHECK(setitimer(ITIMER_REAL, &slow, &found) == 0 && is_off(&found));
  CHECK(getitimer(ITIMER_REAL, &found) == 0);
  CHECK(found.it_interval.tv_sec == 3 && found.it_interval.tv_usec == 999999);
  CHECK(found.it_value.tv_sec > 1990000 && found.it_value.tv_sec <= 2000000);
  CHECK(getitimer(ITIMER_VIRTUAL, &found) == 0 && is_off(&found)); /* another timer */
  CHECK(setitimer(ITIMER_REAL, &wrong, NULL) == -1 && errno == EINVAL);
  CHECK(setitimer(ITIMER_REAL, NULL, &found) == 0 && found.it_interval.tv_sec == 3);
  CHECK(getitimer(ITIMER_REAL, &found) == 0 && is_off(&found));
  errno = 0;
  CHECK(setitimer((__itimer_which_t)9, &slow, NULL) == -1 && errno == EINVAL);
  errno = 0;
  CHECK(getitimer((__itimer_which_t)9, &found) == -1 && errno == EINVAL);
}

/* What is left is rounded to seconds, but never to 0. On a busy machine some time may be over. */
static void check_rounding(void) {
  static const struct {
    struct timeval time;
    unsigned seconds;
  } cases[] = {{{0, 400000}, 1}, {{2, 600000}, 3}, {{2, 400000}, 2}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const struct itimerval timer = {{0, 0}, cases[i].time};
    unsigned left;
    do {
      CHECK(setitimer(ITIMER_REAL, &timer, NULL) == 0);
      left = alarm(0);
      CHECK(left <= cases[i].seconds);
    } while (left != cases[i].seconds);
  }
}

/* Those of CPU time, which is that of all ranks. The signal is the rank's. */
static void check_cpu_time(void) {
  static const struct {
    __itimer_which_t kind;
    int signo;
  } kinds[] = {{ITIMER_VIRTUAL, SIGVTALRM}, {ITIMER_PROF, SIGPROF}};
  const struct itimerval often = {{0, MILLISECOND}, {0, MILLISECOND}}, off = {{0, 0}, {0, 0}};
  struct itimerval found;
  for (int i = 0; i < 2; i++) {
    CHECK(signal(kinds[i].signo, count_alarm) == SIG_DFL);
    alarms = 0;
    step();
    if (rank == 1) {
      CHECK(setitimer(kinds[i].kind, &often, NULL) == 0);
      while (alarms < TICKS) continue;
      CHECK(of_rank == 1);
      CHECK(getitimer(kinds[1 - i].kind, &found) == 0 && is_off(&found));
      CHECK(setitimer(kinds[i].kind, &off, &found) == 0);
      CHECK(found.it_interval.tv_sec == 0 && found.it_interval.tv_usec == MILLISECOND);
      CHECK(getitimer(kinds[i].kind, &found) == 0 && is_off(&found));
    }
    step();
    CHECK(rank == 1 || alarms == 0);
  }
}

/* A timer that was deleted leaves its entry to the next one. A sanitizer's allocator does not count
 * for mallinfo2(). */
static void check_memory(void) {
  enum { TIMES = 20000 };
  struct sigevent none = {.sigev_notify = SIGEV_NONE};
  timer_t timer;
  step();
  size_t before = rank == 0 ? mallinfo2().uordblks : 0;
  step();
  for (int i = 0; i < TIMES && rank == 0; i++) {
    CHECK(timer_create(CLOCK_MONOTONIC, NULL, &timer) == 0 && timer_delete(timer) == 0);
    CHECK(i % 100 != 0 ||
          (timer_create(CLOCK_MONOTONIC, &none, &timer) == 0 && timer_delete(timer) == 0));
  }
  CHECK(rank != 0 || mallinfo2().uordblks < before + 8 * TIMES);
  step();
  CHECK(timer_create(-1000, NULL, &timer) == -1 && errno == EINVAL);
}

/* Rank 0's alarm is rank 0's. Its seconds pass meanwhile where others use the CPUs. */
static void check_alarm(void) {
  alarms = 0;
  step();
  if (rank == 0) CHECK(alarm(1000000) == 0);
  step();
  unsigned left = alarm(rank == 0 ? 500000 : 0);
  CHECK(rank == 0 ? left > 990000 && left <= 1000000 : left == 0);
  step();
  left = alarm(0);
  CHECK(rank == 0 ? left > 490000 && left <= 500000 : left == 0);
  if (rank == 0) start_timer(1, 0);
  while (rank == 0 && alarms == 0) usleep(MILLISECOND);
  step();
  CHECK(alarms == (rank == 0) && (rank != 0 || of_rank == 0));
}

/* All at once, each with its own rate. */
static void check_intervals(void) {
  struct itimerval now, off = {{0, 0}, {0, 0}};
  alarms = 0;
  step();
  start_timer(rank + 1, 2 * rank + 1);
  while (alarms < TICKS) usleep(MILLISECOND);
  CHECK(getitimer(ITIMER_REAL, &now) == 0 &&
        now.it_interval.tv_usec == (2 * rank + 1) * MILLISECOND);
  CHECK(setitimer(ITIMER_REAL, &off, &now) == 0 && now.it_value.tv_usec > 0);
  int last = alarms;
  step();
  CHECK(alarms == last && getitimer(ITIMER_REAL, &now) == 0 && now.it_value.tv_usec == 0);
  step();
}

/* A sleep of hours, and a wait for a message, which continues. The first alarm may come before the
 * sleep. */
static void check_sleep(void) {
  int word = 0, next = (rank + 1) % size;
  alarms = 0;
  start_timer(20 + rank, 20 + rank);
  unsigned left = sleep(7200);
  CHECK(left > 6000 && left <= 7200 && alarms > 0);
  start_timer(5, 5);
  if (rank == 0) {
    while (alarms < TICKS) usleep(MILLISECOND);
    MPI_Send(&word, 1, MPI_INT, next, 0, MPI_COMM_WORLD);
    MPI_Recv(&word, 1, MPI_INT, size - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else {
    MPI_Recv(&word, 1, MPI_INT, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    word++;
    MPI_Send(&word, 1, MPI_INT, next, 0, MPI_COMM_WORLD);
  }
  CHECK(alarm(0) <= 1 && (rank != 0 || word == size - 1));
  step();
}

/* In microseconds, once and again. */
static void check_microseconds(void) {
  alarms = 0;
  step();
  CHECK(ualarm(1000 * (useconds_t)(rank + 1), 1000) == 0);
  while (alarms < TICKS) usleep(MILLISECOND);
  unsigned left;
  do { /* it may be over before it is stopped */
    CHECK(ualarm(900000, 0) <= 1000);
    left = ualarm(0, 0);
  } while (left == 0);
  CHECK(left <= 900000);
  step();
}

/* timer_create(): a value of the program's own, a signal that is waited for, more than one. */
static void check_created(void) {
  struct sigaction action = {.sa_sigaction = count_other, .sa_flags = SA_SIGINFO};
  struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR2};
  struct itimerspec soon = {{0, 0}, {0, 1000000}};
  timer_t first, second;
  event.sigev_value.sival_int = 100 + rank;
  CHECK(sigaction(SIGUSR2, &action, NULL) == 0);
  CHECK(timer_create(CLOCK_MONOTONIC, &event, &first) == 0);
  event.sigev_value.sival_int = 1000;
  CHECK(timer_create(CLOCK_REALTIME, &event, &second) == 0);
  step();
  CHECK(timer_settime(first, 0, &soon, NULL) == 0);
  while (others == 0) usleep(MILLISECOND);
  step();
  CHECK(others == 100 + rank);
  if (rank == 0) CHECK(timer_settime(second, 0, &soon, NULL) == 0);
  while (rank == 0 && others < 1000) usleep(MILLISECOND);
  step();
  CHECK(others == 100 + rank + (rank == 0 ? 1000 : 0));
  CHECK(timer_delete(first) == 0 && timer_delete(second) == 0);
  CHECK(timer_delete(first) == -1 && errno == EINVAL);
}

static void check_blocked(void) {
  struct timespec long_time = {3600, 0};
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGALRM);
  CHECK(sigprocmask(SIG_BLOCK, &set, NULL) == 0);
  alarms = 0;
  step();
  if (rank == 1) start_timer(1, 0);
  if (rank == 1) CHECK(sigtimedwait(&set, NULL, &long_time) == SIGALRM);
  step();
  sigset_t now;
  CHECK(sigpending(&now) == 0 && !sigismember(&now, SIGALRM));
  CHECK(sigprocmask(SIG_UNBLOCK, &set, NULL) == 0 && alarms == 0);
}

/* Where the user may have no signals pending, the kernel makes no timer. */
static int use_no_timer(void) {
  CHECK(alarm(0) == 0 && ualarm(0, 0) == 0); /* says nothing: no signal is wanted */
  CHECK(alarm(1) == 0 && alarm(0) == 0);
  MPI_Finalize();
  return 0;
}

int main(int argc, char **argv) {
  rank = check_start(&argc, &argv, &size);
  if (argc > 1) return use_no_timer();
  CHECK(signal(SIGALRM, count_alarm) == SIG_DFL);
  check_values();
  check_rounding();
  check_alarm();
  check_intervals();
  check_sleep();
  check_microseconds();
  check_created();
  check_cpu_time();
  check_memory();
  check_blocked();
  if (rank == 1) start_timer(900, 0); /* it ends with its rank */
  MPI_Finalize();
  return 0;
}
