/* SPDX-License-Identifier: Apache-2.0 */
/* Timers of ranks: each has its own, whose signal comes to no other rank. */
#define _GNU_SOURCE
#include <errno.h>
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

int main(int argc, char **argv) {
  rank = check_start(&argc, &argv, &size);
  CHECK(signal(SIGALRM, count_alarm) == SIG_DFL);
  check_alarm();
  check_intervals();
  check_sleep();
  check_microseconds();
  check_created();
  check_blocked();
  if (rank == 1) start_timer(900, 0); /* it ends with its rank */
  MPI_Finalize();
  return 0;
}
