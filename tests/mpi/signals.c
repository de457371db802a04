/* SPDX-License-Identifier: Apache-2.0 */
/* Masks, pending signals and handlers of ranks, and what ends a sleep. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/time.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

static int rank;
static volatile sig_atomic_t got, count, raised;

static void handler(int signo) {
  got = signo;
  count++;
}

static void count_raised(int signo) {
  (void)signo;
  raised++;
}

static void step(void) { MPI_Barrier(MPI_COMM_WORLD); }

static sigset_t set_of(int signo) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signo);
  return set;
}

/* ---- masks */

static void check_masks(void) {
  sigset_t set = set_of(SIGTERM), now;
  if (rank == 0) CHECK(sigprocmask(SIG_BLOCK, &set, NULL) == 0);
  step();
  CHECK(sigprocmask(SIG_BLOCK, NULL, &now) == 0);
  CHECK(sigismember(&now, SIGTERM) == (rank == 0) && sigismember(&now, SIGINT) == 0);
  step();
  if (rank == 0) CHECK(pthread_sigmask(SIG_UNBLOCK, &set, &now) == 0);
  CHECK(sigismember(&now, SIGTERM) == (rank == 0));
  CHECK(sigprocmask(99, &set, NULL) == -1 && errno == EINVAL);
}

static void check_arguments(void) {
  static const int wrong[] = {0, -1, NSIG, SIGKILL, SIGSTOP};
  const struct sigaction action = {.sa_handler = handler};
  const struct timespec no_time = {0, 1000000000}, now = {0, 0};
  const stack_t stack = {.ss_flags = 77}, none = {.ss_flags = SS_DISABLE};
  sigset_t set = set_of(SIGUSR1);
  stack_t before;
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    errno = 0;
    CHECK(sigaction(wrong[i], &action, NULL) == -1 && errno == EINVAL);
    CHECK(signal(wrong[i], handler) == SIG_ERR);
  }
  CHECK(sigaltstack(&stack, &before) == -1 && errno == EINVAL && before.ss_flags == SS_DISABLE);
  CHECK(sigaltstack(&none, NULL) == 0 && sigaltstack(NULL, &before) == 0);
  CHECK(sigtimedwait(&set, NULL, &no_time) == -1 && errno == EINVAL);
  CHECK(sigtimedwait(&set, NULL, &now) == -1 && errno == EAGAIN);
}

/* What was set is reported again, and each call that looks leaves it. */
static void check_reported(void) {
  struct sigaction action = {.sa_sigaction = NULL, .sa_flags = SA_NODEFER | SA_RESTART}, found;
  sigset_t set = set_of(SIGHUP), now;
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  sigaddset(&action.sa_mask, SIGINT);
  sigaddset(&action.sa_mask, NSIG - 1);
  for (int signo = NSIG - 1; signo > 0; signo = signo == NSIG - 1 ? SIGHUP : 0) {
    memset(&found, 0xff, sizeof found);
    CHECK(sigaction(signo, &action, &found) == 0);
    CHECK(found.sa_handler == SIG_DFL && found.sa_flags == 0);
    for (int i = 1; i < NSIG; i++) CHECK(i == 32 || i == 33 || !sigismember(&found.sa_mask, i));
    for (int turn = 0; turn < 2; turn++) {
      memset(&found, 0xff, sizeof found);
      CHECK(sigaction(signo, NULL, &found) == 0 && found.sa_handler == handler);
      CHECK(found.sa_flags == (SA_NODEFER | SA_RESTART));
      for (int i = 1; i < NSIG; i++)
        CHECK(i == 32 || i == 33 ||
              sigismember(&found.sa_mask, i) == (i == SIGINT || i == NSIG - 1));
    }
    CHECK(signal(signo, SIG_DFL) == handler);
  }
  CHECK(sysv_signal(SIGHUP, handler) == SIG_DFL && sigaction(SIGHUP, NULL, &found) == 0);
  CHECK(found.sa_flags == (int)(SA_RESETHAND | SA_NODEFER) && signal(SIGHUP, SIG_DFL) == handler);
  CHECK(sigprocmask(SIG_SETMASK, &set, NULL) == 0);
  CHECK(sigprocmask(SIG_BLOCK, NULL, &now) == 0 && sigismember(&now, SIGHUP));
  set = set_of(SIGINT);
  CHECK(sigprocmask(SIG_SETMASK, &set, &now) == 0);
  CHECK(sigismember(&now, SIGHUP) && !sigismember(&now, SIGINT));
  CHECK(pthread_sigmask(99, &set, NULL) == EINVAL);
  set = set_of(SIGKILL); /* nobody can block it */
  CHECK(sigprocmask(SIG_SETMASK, &set, &now) == 0 && sigismember(&now, SIGINT));
  CHECK(sigprocmask(SIG_BLOCK, NULL, &now) == 0);
  for (int i = 1; i < NSIG; i++) CHECK(i == 32 || i == 33 || !sigismember(&now, i));
}

static void check_numbers(void) {
  static const int wrong[] = {-1, NSIG, 1000};
  const pthread_t self = pthread_self();
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    errno = 0;
    CHECK(raise(wrong[i]) != 0 && errno == EINVAL);
    errno = 0;
    CHECK(kill(getpid(), wrong[i]) == -1 && errno == EINVAL);
    CHECK(pthread_kill(self, wrong[i]) == EINVAL);
  }
  CHECK(pthread_kill(self, 0) == 0 && kill(getpid(), 0) == 0);
}

/* ---- handlers within handlers */

static char order[32];
static int inner; /* what the first handler raises */

static void trace(int signo) {
  char begins = signo == SIGUSR1 ? '(' : '[', ends = signo == SIGUSR1 ? ')' : ']';
  order[strlen(order)] = begins;
  if (strlen(order) == 1) CHECK(raise(inner) == 0);
  order[strlen(order)] = ends;
}

static void *raise_first(void *unused) {
  CHECK(raise(SIGUSR1) == 0);
  return unused;
}

static void check_order_on(int pthread, int flags, int masked, int raised_inside,
                           const char *expected) {
  pthread_t thread;
  struct sigaction action = {.sa_handler = trace, .sa_flags = flags};
  sigset_t now;
  sigemptyset(&action.sa_mask);
  if (masked != 0) sigaddset(&action.sa_mask, masked);
  CHECK(sigaction(SIGUSR1, &action, NULL) == 0 && signal(SIGUSR2, trace) != SIG_ERR);
  memset(order, 0, sizeof order);
  inner = raised_inside;
  if (pthread) CHECK(pthread_create(&thread, NULL, raise_first, NULL) == 0);
  if (pthread) CHECK(pthread_join(thread, NULL) == 0);
  if (!pthread) raise_first(NULL);
  CHECK(strcmp(order, expected) == 0);
  CHECK(sigprocmask(SIG_BLOCK, NULL, &now) == 0);
  CHECK(!sigismember(&now, SIGUSR1) && !sigismember(&now, SIGUSR2));
  CHECK(signal(SIGUSR1, SIG_DFL) == ((flags & (int)SA_RESETHAND) != 0 ? SIG_DFL : trace));
  CHECK(signal(SIGUSR2, SIG_DFL) == trace);
}

static void check_order(int flags, int masked, int raised_inside, const char *expected) {
  check_order_on(0, flags, masked, raised_inside, expected);
  check_order_on(1, flags, masked, raised_inside, expected);
}

/* A handler's own signal and those of its mask wait until it ends. */
static void check_orders(void) {
  check_order(0, 0, SIGUSR1, "()()");
  check_order(SA_NODEFER, 0, SIGUSR1, "(())");
  check_order(0, 0, SIGUSR2, "([])");
  check_order(0, SIGUSR2, SIGUSR2, "()[]");
  check_order(SA_NODEFER, SIGUSR1, SIGUSR1, "()()");
  check_order((int)SA_RESETHAND, 0, SIGUSR2, "([])");
}

/* The handler of System V is for one signal, and does not block others. */
static void check_once(void) {
  got = 0;
  CHECK(sysv_signal(SIGUSR1, handler) == SIG_DFL && raise(SIGUSR1) == 0 && got == SIGUSR1);
  CHECK(signal(SIGUSR1, SIG_DFL) == SIG_DFL);
}

/* The first number is a signal, and 0 is none. */
static void check_raise(void) {
  got = 0;
  CHECK(signal(SIGHUP, handler) == SIG_DFL);
  CHECK(raise(0) == 0 && got == 0);
  CHECK(raise(SIGHUP) == 0 && got == SIGHUP);
  CHECK(signal(SIGHUP, SIG_DFL) == handler);
}

static void *mask_of_pthread(void *mask) {
  return pthread_sigmask(SIG_BLOCK, NULL, mask) == 0 ? mask : NULL;
}

/* A pthread starts with the mask of the rank. */
static void check_mask_of_pthread(int signo) {
  sigset_t set = set_of(signo), mask;
  pthread_t thread;
  void *result;
  if (signo != 0) CHECK(sigprocmask(SIG_BLOCK, &set, NULL) == 0);
  CHECK(pthread_create(&thread, NULL, mask_of_pthread, &mask) == 0);
  CHECK(pthread_join(thread, &result) == 0 && result == &mask);
  for (int i = 1; i < NSIG; i++) CHECK(sigismember(&mask, i) == (i == signo) || i == 32 || i == 33);
  if (signo != 0) CHECK(sigprocmask(SIG_UNBLOCK, &set, NULL) == 0);
}

static void check_pending(void) {
  sigset_t set = set_of(SIGUSR2), now;
  got = 0;
  CHECK(signal(SIGUSR2, handler) == SIG_DFL);
  CHECK(sigprocmask(SIG_BLOCK, &set, NULL) == 0);
  if (rank == 0) raise(SIGUSR2);
  step();
  CHECK(got == 0 && sigpending(&now) == 0 && sigismember(&now, SIGUSR2) == (rank == 0));
  CHECK(sigprocmask(SIG_UNBLOCK, &set, NULL) == 0);
  CHECK(got == (rank == 0 ? SIGUSR2 : 0));
  CHECK(sigpending(&now) == 0 && sigismember(&now, SIGUSR2) == 0);
}

/* ---- waiting for signals */

static void check_sigwait(void) {
  sigset_t set = set_of(SIGUSR2);
  struct timespec moment = {0, 1000000};
  int signo = 0;
  CHECK(sigprocmask(SIG_BLOCK, &set, NULL) == 0);
  CHECK(sigtimedwait(&set, NULL, &moment) == -1 && errno == EAGAIN);
  step();
  raise(SIGUSR2);
  CHECK(sigwait(&set, &signo) == 0 && signo == SIGUSR2);
  step();
  if (rank == 0) kill(getpid(), SIGUSR2); /* from outside: it comes to all that block it */
  CHECK(sigwaitinfo(&set, NULL) == SIGUSR2);
  step();
  siginfo_t info = {.si_signo = 0};
  sigset_t pending;
  CHECK(raise(SIGUSR2) == 0 && sigpending(&pending) == 0 && sigismember(&pending, SIGUSR2));
  CHECK(sigtimedwait(&set, &info, &moment) == SIGUSR2 && info.si_signo == SIGUSR2);
  CHECK(sigpending(&pending) == 0 && !sigismember(&pending, SIGUSR2));
  CHECK(sigprocmask(SIG_UNBLOCK, &set, NULL) == 0);
}

static void *wait_for_signal(void *set) {
  static int signo;
  CHECK(sigwait(set, &signo) == 0);
  return &signo;
}

/* Blocks SIGUSR2 and makes a thread that waits for it. */
static pthread_t start_waiter(sigset_t *set) {
  pthread_t thread;
  *set = set_of(SIGUSR2);
  CHECK(sigprocmask(SIG_BLOCK, set, NULL) == 0);
  CHECK(pthread_create(&thread, NULL, wait_for_signal, set) == 0);
  return thread;
}

static void join_waiter(pthread_t thread) {
  void *signo;
  CHECK(pthread_join(thread, &signo) == 0 && *(int *)signo == SIGUSR2);
}

/* A program often has a thread for signals: the others inherit a mask that blocks them. */
static void check_signal_thread(void) {
  sigset_t set;
  pthread_t thread = start_waiter(&set);
  step();
  if (rank == 0) kill(getpid(), SIGUSR2);
  join_waiter(thread);
  step();
  CHECK(sigprocmask(SIG_UNBLOCK, &set, NULL) == 0);
}

static void check_suspend(void) {
  sigset_t set = set_of(SIGUSR2), none;
  sigemptyset(&none);
  got = 0;
  CHECK(sigprocmask(SIG_BLOCK, &set, NULL) == 0);
  raise(SIGUSR2);
  CHECK(sigsuspend(&none) == -1 && errno == EINTR && got == SIGUSR2);
  CHECK(sigprocmask(SIG_UNBLOCK, &set, &none) == 0 && sigismember(&none, SIGUSR2));
}

/* ---- a handler ends a sleep, and a pause */

/* Again and again: the first may come before a rank sleeps. */
static void alarm_every(int milliseconds) {
  struct itimerval timer = {{0, 1000 * milliseconds}, {0, 1000 * milliseconds}};
  CHECK(setitimer(ITIMER_REAL, &timer, NULL) == 0);
}

static void check_sleep(void) {
  struct timespec hour = {3600, 0}, left;
  CHECK(signal(SIGALRM, handler) == SIG_DFL);
  step();
  alarm_every(20);
  CHECK(nanosleep(&hour, &left) == -1 && errno == EINTR && left.tv_sec > 3000);
  CHECK(sleep(3600) > 3000);
  CHECK(usleep(3600u * 1000000) == -1 && errno == EINTR);
  left.tv_sec = 0;
  CHECK(clock_nanosleep(CLOCK_MONOTONIC, 0, &hour, &left) == EINTR && left.tv_sec > 3000);
  left.tv_sec = 0;
  CHECK(thrd_sleep(&hour, &left) == -1 && left.tv_sec > 3000);
  got = 0;
  CHECK(pause() == -1 && errno == EINTR && got == SIGALRM);
  step();
  alarm_every(0);
  step();
}

/* ---- stopping threads, as collectors of garbage do: each handles the signal itself */

enum { STOPPED = 4, STOPS = 50 };

static pthread_t stopped[STOPPED]; /* the last one is the rank's own thread */
static int here[STOPPED], stops_begun, stops_ended;
static char *lows[STOPPED], *ends[STOPPED]; /* of their stacks */
static sem_t acknowledged, turn;

static void stop(int signo) {
  sigset_t all_but_one;
  char mark;
  int self = 0, number = __atomic_load_n(&stops_begun, __ATOMIC_ACQUIRE);
  while (!pthread_equal(stopped[self], pthread_self())) self++;
  CHECK(&mark >= lows[self] && &mark < ends[self]);
  here[self] = signo;
  sigfillset(&all_but_one);
  sigdelset(&all_but_one, SIGXCPU);
  sem_post(&acknowledged);
  do sigsuspend(&all_but_one);
  while (__atomic_load_n(&stops_ended, __ATOMIC_ACQUIRE) < number);
}

static void resume(int signo) { (void)signo; }

static void stop_others(int self) {
  __atomic_add_fetch(&stops_begun, 1, __ATOMIC_RELEASE);
  for (int i = 0; i < STOPPED; i++) {
    here[i] = 0;
    if (i != self) CHECK(pthread_kill(stopped[i], SIGPWR) == 0);
  }
  for (int i = 1; i < STOPPED; i++) CHECK(sem_wait(&acknowledged) == 0);
  for (int i = 0; i < STOPPED; i++) CHECK(here[i] == (i == self ? 0 : SIGPWR));
  __atomic_add_fetch(&stops_ended, 1, __ATOMIC_RELEASE);
  for (int i = 0; i < STOPPED; i++)
    if (i != self) CHECK(pthread_kill(stopped[i], SIGXCPU) == 0);
}

static void note_stack(int self) {
  pthread_attr_t attr;
  void *low;
  size_t size;
  CHECK(pthread_getattr_np(pthread_self(), &attr) == 0 &&
        pthread_attr_getstack(&attr, &low, &size) == 0);
  pthread_attr_destroy(&attr);
  lows[self] = low;
  ends[self] = lows[self] + size;
}

static void *stop_in_turn(void *number) {
  int self = (int)(intptr_t)number, stops = 0;
  while ((stops = __atomic_load_n(&stops_ended, __ATOMIC_ACQUIRE)) < STOPS) {
    if (stops % STOPPED == self && sem_trywait(&turn) == 0) {
      if (stops == __atomic_load_n(&stops_ended, __ATOMIC_ACQUIRE)) stop_others(self);
      sem_post(&turn);
    }
    sched_yield();
  }
  return NULL;
}

static void *begin(void *number) {
  note_stack((int)(intptr_t)number);
  sem_post(&acknowledged);
  return stop_in_turn(number);
}

static void check_stops(void) {
  struct sigaction action = {.sa_handler = stop, .sa_flags = SA_RESTART};
  sigfillset(&action.sa_mask);
  CHECK(sigaction(SIGPWR, &action, NULL) == 0);
  action.sa_handler = resume;
  CHECK(sigaction(SIGXCPU, &action, NULL) == 0);
  CHECK(sem_init(&acknowledged, 0, 0) == 0 && sem_init(&turn, 0, 0) == 0);
  stopped[STOPPED - 1] = pthread_self();
  note_stack(STOPPED - 1);
  for (int i = 0; i < STOPPED - 1; i++)
    CHECK(pthread_create(&stopped[i], NULL, begin, (void *)(intptr_t)i) == 0);
  for (int i = 0; i < STOPPED - 1; i++) CHECK(sem_wait(&acknowledged) == 0);
  sem_post(&turn);
  stop_in_turn((void *)(intptr_t)(STOPPED - 1));
  for (int i = 0; i < STOPPED - 1; i++) CHECK(pthread_join(stopped[i], NULL) == 0);
  step();
}

/* One that waits for a signal gets what is sent to it alone. */
static void check_sent_to_waiter(void) {
  sigset_t set;
  pthread_t thread = start_waiter(&set);
  CHECK(pthread_kill(thread, SIGUSR2) == 0);
  join_waiter(thread);
  CHECK(sigprocmask(SIG_UNBLOCK, &set, NULL) == 0);
  step();
}

static void note_details(int signo, siginfo_t *info, void *context) {
  got = info->si_signo == signo && info->si_code == SI_TKILL && context != NULL ? signo : -1;
}

static void *call_handler(void *unused) {
  CHECK(pthread_kill(pthread_self(), SIGUSR1) == 0);
  return unused;
}

/* Also on a pthread a handler gets the details of its signal. */
static void check_details_on_pthread(void) {
  pthread_t thread;
  struct sigaction action = {.sa_sigaction = note_details, .sa_flags = SA_SIGINFO};
  got = 0;
  CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
  CHECK(pthread_create(&thread, NULL, call_handler, NULL) == 0);
  CHECK(pthread_join(thread, NULL) == 0);
  CHECK(got == SIGUSR1);
  CHECK(signal(SIGUSR1, SIG_DFL) != SIG_ERR);
  step();
}

/* ---- leaving a handler by a jump */

static sigjmp_buf before;

static void jump(int signo) {
  got = signo;
  siglongjmp(before, 1);
}

static void check_jumps(void) {
  sigset_t now;
  CHECK(signal(SIGSEGV, jump) == SIG_DFL && signal(SIGUSR2, jump) == handler);
  for (volatile int i = 0; i < 3; i++) {
    got = 0;
    if (sigsetjmp(before, 1) == 0) *(volatile int *)8 = 1;
    CHECK(got == SIGSEGV);
    step();
    if (sigsetjmp(before, 1) == 0) raise(SIGUSR2);
    CHECK(got == SIGUSR2);
    CHECK(sigprocmask(SIG_BLOCK, NULL, &now) == 0 && !sigismember(&now, SIGUSR2));
  }
  CHECK(signal(SIGSEGV, SIG_DFL) == jump && signal(SIGUSR2, handler) == jump);
}

/* ---- signals at once: a handler interrupts the code that calls others */

static timer_t storm_of(int signo, long ns) {
  timer_t timer;
  struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = signo};
  struct itimerspec often = {{0, ns}, {0, ns}};
  CHECK(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
  CHECK(timer_settime(timer, 0, &often, NULL) == 0);
  return timer;
}

static void check_storm(void) {
  enum { RAISED = 20000, ALARMS = 200 };
  static const int kinds[] = {SIGALRM, SIGPROF, SIGVTALRM};
  timer_t timers[3];
  for (int i = 0; i < 3; i++) signal(kinds[i], handler);
  step();
  for (int i = 0; i < 3; i++) timers[i] = storm_of(kinds[i], 1000000 + 70001 * (i + 3 * rank));
  count = 0;
  while (count < ALARMS) /* the others wait, or do the same */
    if (rank % 2 == 0)
      sched_yield();
    else
      usleep(100);
  step();
  for (int i = 0; i < 3; i++) CHECK(timer_delete(timers[i]) == 0);
  step();
  signal(SIGUSR2, count_raised); /* some alarms may still be on their way */
  for (int i = 0; i < RAISED; i++) raise(SIGUSR2);
  CHECK(raised == RAISED);
}

int main(int argc, char **argv) {
  int size;
  rank = check_start(&argc, &argv, &size);
  check_mask_of_pthread(0); /* before the rank has changed anything */
  check_arguments();
  check_reported();
  check_numbers();
  check_orders();
  check_once();
  check_raise();
  check_masks();
  check_mask_of_pthread(SIGTERM);
  check_pending();
  check_sigwait();
  check_signal_thread();
  check_suspend();
  check_sleep();
  check_sent_to_waiter();
  check_details_on_pthread();
  check_stops();
  check_jumps();
  check_storm();
  MPI_Finalize();
  return 0;
}
