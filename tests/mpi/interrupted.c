/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that wait in the kernel end when a handler has run, as in a process, and read() and its
 * variants only if the handler was set without SA_RESTART. A handler finds the variables of its
 * rank. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* of System V's functions */

enum { PERIOD_US = 20000, AGAIN = 3 };

static int rank, ends[2]; /* of a pipe, which is empty */
static volatile sig_atomic_t alarms;

static void step(void) { MPI_Barrier(MPI_COMM_WORLD); }

static void count(int signo) { alarms += signo == SIGALRM; }

/* The call that it interrupts continues, and ends by this. */
static void write_at_last(int signo) {
  count(signo);
  if (alarms == AGAIN && write(ends[1], "x", 1) != 1) abort();
}

/* Again and again: the first may come before the call waits. */
static void begin_alarms(void (*handler)(int), int flags) {
  struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
  struct itimerval timer = {{0, PERIOD_US}, {0, PERIOD_US}};
  alarms = 0;
  CHECK(sigaction(SIGALRM, &action, NULL) == 0);
  CHECK(setitimer(ITIMER_REAL, &timer, NULL) == 0);
}

static void end_alarms(void) {
  struct itimerval never = {{0, 0}, {0, 0}};
  CHECK(setitimer(ITIMER_REAL, &never, NULL) == 0);
  CHECK(alarms > 0);
  step();
}

/* The call fails. It may do so once more by a signal that came just before it. */
#define FAILS(call)                                                                                \
  do CHECK((call) == -1 && errno == EINTR);                                                        \
  while (alarms == 0)

static void check_read_fails(void) {
  char byte;
  begin_alarms(count, 0);
  FAILS(read(ends[0], &byte, 1));
  end_alarms();
}

static void check_read_continues(void) {
  char byte = 0;
  begin_alarms(write_at_last, SA_RESTART);
  CHECK(read(ends[0], &byte, 1) == 1 && byte == 'x' && alarms >= AGAIN);
  end_alarms();
}

/* These fail whatever the flags are. */
static void check_polls(void) {
  struct pollfd one = {.fd = ends[0], .events = POLLIN};
  fd_set set;
  begin_alarms(count, SA_RESTART);
  FAILS(poll(&one, 1, -1));
  FD_ZERO(&set);
  FD_SET(ends[0], &set);
  CHECK(select(ends[0] + 1, &set, NULL, NULL, NULL) == -1 && errno == EINTR);
  end_alarms();
}

static volatile sig_atomic_t got;

static void note(int signo) { got = signo; }

static sigset_t set_of(int signo) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signo);
  return set;
}

/* A signal that is blocked until the call waits, so that none is lost before. */
static void check_masks_of_polls(void) {
  struct timespec no_time = {0, 0};
  sigset_t user = set_of(SIGUSR2), timer = set_of(SIGALRM), none, now;
  sigemptyset(&none);
  int epoll = epoll_create1(0);
  CHECK(epoll >= 0 && signal(SIGUSR2, note) == SIG_DFL);
  CHECK(sigprocmask(SIG_BLOCK, &user, NULL) == 0 && sigprocmask(SIG_BLOCK, &timer, NULL) == 0);
  CHECK(raise(SIGUSR2) == 0 && ppoll(NULL, 0, NULL, &none) == -1 && errno == EINTR);
  CHECK(got == SIGUSR2);
  for (int i = 0; i < 2; i++) {
    struct epoll_event event;
    begin_alarms(count, SA_RESTART);
    usleep(2 * PERIOD_US); /* one is pending now, and others come while the calls wait */
    CHECK(alarms == 0);
    FAILS(pselect(0, NULL, NULL, NULL, NULL, &none));
    alarms = 0;
    FAILS(ppoll(NULL, 0, NULL, &user));
    alarms = 0;
    FAILS(epoll_pwait(epoll, &event, 1, -1, &none));
    end_alarms();
  }
  CHECK(sigprocmask(SIG_BLOCK, NULL, &now) == 0 && ppoll(NULL, 0, &no_time, &now) == 0);
  CHECK(sigismember(&now, SIGUSR2) && sigismember(&now, SIGALRM));
  CHECK(sigprocmask(SIG_SETMASK, &none, NULL) == 0 && signal(SIGUSR2, SIG_DFL) == note);
  CHECK(close(epoll) == 0);
  step();
}

/* A handler that ends meanwhile on another kernel thread does not undo what the rank blocks. */
static void check_blocking(void) {
  enum { TIMES = 5000, SPINS = 2000 };
  struct itimerval often = {{0, 300}, {0, 300}};
  sigset_t timer = set_of(SIGALRM), now;
  begin_alarms(count, SA_RESTART);
  CHECK(setitimer(ITIMER_REAL, &often, NULL) == 0);
  for (int i = 0; i < TIMES || alarms == 0; i++) {
    CHECK(sigprocmask(SIG_BLOCK, &timer, NULL) == 0);
    int before = alarms;
    for (volatile int spin = 0; spin < SPINS; spin++) continue;
    CHECK(sigprocmask(SIG_BLOCK, NULL, &now) == 0 && sigismember(&now, SIGALRM));
    CHECK(alarms == before);
    CHECK(sigprocmask(SIG_UNBLOCK, &timer, NULL) == 0);
  }
  end_alarms();
}

static void check_waits_for_child(void) {
  int status;
  pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  begin_alarms(count, 0);
  FAILS(waitpid(child, &status, 0));
  alarms = 0;
  FAILS(wait(&status));
  end_alarms();
  CHECK(kill(child, SIGKILL) == 0);
  CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status));
}

static void check_semaphore(void) {
  sem_t semaphore;
  CHECK(sem_init(&semaphore, 0, 0) == 0);
  begin_alarms(count, 0);
  FAILS(sem_wait(&semaphore));
  end_alarms();
}

/* ---- older ways to say it */

static int flags_of(int signo) {
  struct sigaction now;
  CHECK(sigaction(signo, NULL, &now) == 0);
  return now.sa_flags;
}

static void check_siginterrupt(void) {
  CHECK(signal(SIGALRM, count) != SIG_ERR && (flags_of(SIGALRM) & SA_RESTART) != 0);
  CHECK(siginterrupt(SIGALRM, 1) == 0 && (flags_of(SIGALRM) & SA_RESTART) == 0);
  CHECK(signal(SIGALRM, count) == count && (flags_of(SIGALRM) & SA_RESTART) == 0);
  CHECK(siginterrupt(SIGALRM, 0) == 0 && (flags_of(SIGALRM) & SA_RESTART) != 0);
  CHECK(siginterrupt(NSIG, 1) == -1 && errno == EINVAL);
}

static sighandler_t handler_of(int signo) {
  struct sigaction now;
  CHECK(sigaction(signo, NULL, &now) == 0);
  return now.sa_handler;
}

/* Only rank 0 changes what it does on the signal. */
static void check_system_v(void) {
  sigset_t now;
  got = 0;
  if (rank == 0) {
    CHECK(sigset(SIGVTALRM, note) == SIG_DFL && sighold(SIGVTALRM) == 0);
    CHECK(raise(SIGVTALRM) == 0 && got == 0 && sigset(SIGVTALRM, SIG_HOLD) == SIG_HOLD);
    CHECK(sigrelse(SIGVTALRM) == 0 && got == SIGVTALRM);
    CHECK(sigset(SIGVTALRM, SIG_HOLD) == note && sigset(SIGVTALRM, note) == SIG_HOLD);
    CHECK(sigignore(SIGVTALRM) == 0 && sigignore(NSIG) == -1 && sighold(NSIG) == -1);
  }
  step();
  CHECK(handler_of(SIGVTALRM) == (rank == 0 ? SIG_IGN : SIG_DFL));
  CHECK(sigprocmask(SIG_BLOCK, NULL, &now) == 0 && !sigismember(&now, SIGVTALRM));
  step();
}

/* ---- pthreads */

static int pthread_failed; /* [atomic] */

static void *read_in_pthread(void *unused) {
  char byte;
  if (read(ends[0], &byte, 1) == -1 && errno == EINTR)
    __atomic_store_n(&pthread_failed, 1, __ATOMIC_RELEASE);
  return unused;
}

static void check_pthread(void) {
  struct sigaction action = {.sa_handler = note};
  pthread_t thread;
  CHECK(sigaction(SIGUSR2, &action, NULL) == 0);
  CHECK(pthread_create(&thread, NULL, read_in_pthread, NULL) == 0);
  while (__atomic_load_n(&pthread_failed, __ATOMIC_ACQUIRE) ==
         0) { /* the first may come too soon */
    CHECK(pthread_kill(thread, SIGUSR2) == 0);
    usleep(PERIOD_US);
  }
  CHECK(pthread_join(thread, NULL) == 0);
  CHECK(signal(SIGUSR2, SIG_DFL) == note);
  step();
}

/* A signal from outside comes to any kernel thread: here to a pthread of rank 1. */
static _Thread_local int local;
static int *found_local; /* [atomic] */
static void *found_value;
static pthread_key_t key;

static void find(int signo) {
  (void)signo;
  found_value = pthread_getspecific(key);
  __atomic_store_n(&found_local, &local, __ATOMIC_RELEASE);
}

static void *get_from_outside(void *unused) {
  siginfo_t info = {.si_signo = SIGUSR2, .si_code = SI_QUEUE};
  local = 1;
  CHECK(pthread_setspecific(key, &info) == 0);
  info.si_pid = getpid();
  CHECK(syscall(SYS_rt_tgsigqueueinfo, getpid(), gettid(), SIGUSR2, &info) == 0);
  CHECK(local == 1 && pthread_getspecific(key) == &info);
  return unused;
}

static void check_variables(void) {
  pthread_t thread;
  CHECK(pthread_key_create(&key, NULL) == 0 && pthread_setspecific(key, &rank) == 0);
  if (rank == 0) CHECK(signal(SIGUSR2, find) == SIG_DFL);
  step();
  if (rank == 1) {
    CHECK(pthread_create(&thread, NULL, get_from_outside, NULL) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
  }
  while (rank == 0 && __atomic_load_n(&found_local, __ATOMIC_ACQUIRE) == NULL) sched_yield();
  step();
  CHECK(found_local == (rank == 0 ? &local : NULL) && local == 0);
  if (rank == 0) CHECK(found_value == &rank);
  CHECK(signal(SIGUSR2, SIG_DFL) != SIG_ERR);
}

int main(int argc, char **argv) {
  int size;
  rank = check_start(&argc, &argv, &size);
  CHECK(pipe(ends) == 0);
  check_read_fails();
  check_read_continues();
  check_polls();
  check_blocking();
  check_masks_of_polls();
  check_waits_for_child();
  check_semaphore();
  check_siginterrupt();
  check_system_v();
  check_pthread();
  check_variables();
  MPI_Finalize();
  return 0;
}
