/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Coverage builds link this into the tests, and into those programs and libraries that end a
 * process in other ways than by exit(): such an end would take the counts with it. Functions that
 * end one stand before libc's (--wrap) and write all counts first.
 *
 * Each program and each library has counts of its own, and knows only those: so they are in a list.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* RTLD_DEFAULT */
#endif
#include <dlfcn.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdnoreturn.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

void __gcov_dump(void);
void __gcov_reset(void);

struct counted {
  struct counted *next;
  void (*dump)(void);
  void (*reset)(void);
};

/* The list's head is the first in the process that can be seen: tmpirun's, or libmltp's
 * (shown.map). */
__attribute__((visibility("default"))) struct counted *mltp_counted;
static struct counted **all = &mltp_counted;

__attribute__((constructor)) static void enlist(void) {
  static struct counted own = {NULL, __gcov_dump, __gcov_reset};
  struct counted **first = dlsym(RTLD_DEFAULT, "mltp_counted");
  if (first != NULL) all = first;
  own.next = *all;
  *all = &own;
}

static pid_t writer;         /* the process that last wrote its counts */
static atomic_int writing;   /* threads of it that do now */
static volatile int gave_up; /* 1: a lock that writing needs is never free again */

/* Reset, so that what runs from here on is counted and can be written, too. In a child that was
 * forked meanwhile libgcov's lock is never free again. */
static void write_counts(void) {
  if (gave_up || (atomic_load(&writing) != 0 && writer != getpid())) return;
  writer = getpid();
  atomic_fetch_add(&writing, 1);
  void (*no_more)(void) = (void (*)(void))dlsym(RTLD_DEFAULT, "refuse_no_more");
  if (no_more != NULL) no_more(); /* tests/mpi/refuse.c: libgcov has to have its memory */
  for (const struct counted *c = *all; c != NULL; c = c->next) {
    c->dump();
    c->reset();
  }
  atomic_fetch_sub(&writing, 1);
}

#define WRAP __attribute__((visibility("hidden")))
noreturn void __real__exit(int status);
noreturn void __real_abort(void);
__attribute__((weak)) noreturn void __real_quick_exit(int status); /* tests have libc's, */
__attribute__((weak)) int __real_raise(int signo);                 /* and of these, too */
__attribute__((weak)) sighandler_t __real_signal(int signo, sighandler_t handler);
WRAP noreturn void __wrap__exit(int status);
WRAP noreturn void __wrap_abort(void);
WRAP noreturn void __wrap_quick_exit(int status);
WRAP int __wrap_raise(int signo);
WRAP sighandler_t __wrap_signal(int signo, sighandler_t handler);

static int ending;

static void exit_anyway(int signo) {
  (void)signo;
  __real__exit(ending);
}

static void abort_anyway(int signo) {
  (void)signo;
  gave_up = 1; /* the handler of SIGABRT takes it back, which writes */
  __real_abort();
}

/* A process that is ended because a thread of it hangs must not hang here: counts are written
 * under locks of libc, which a thread that reads a stream may hold. By a signal, since the caller
 * may be a child of vfork(); it comes to the caller, as tests look which thread ends the process.
 */
static void write_counts_or(void (*end_anyway)(int signo)) {
  const struct sigaction end = {.sa_handler = end_anyway};
  const struct itimerspec longest = {.it_value = {.tv_sec = 5}};
  struct sigevent to_me = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGALRM};
  to_me._sigev_un._tid = gettid();
  timer_t timer;
  sigset_t alarms;
  signal(SIGTERM, SIG_IGN); /* a launcher ends all processes of a job when one has ended */
  sigaction(SIGALRM, &end, NULL);
  sigemptyset(&alarms);
  sigaddset(&alarms, SIGALRM);
  pthread_sigmask(SIG_UNBLOCK, &alarms, NULL);
  bool timed = timer_create(CLOCK_MONOTONIC, &to_me, &timer) == 0;
  if (timed) timer_settime(timer, 0, &longest, NULL);
  write_counts();
  if (timed) timer_delete(timer); /* a handler of SIGABRT may continue */
}

/* Before libgcov writes at an ordinary end: a limit on the size of files is not for its files,
 * which it would leave damaged. */
__attribute__((destructor)) static void lift_limit(void) {
  struct rlimit limit;
  signal(SIGXFSZ, SIG_IGN);
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0) limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_FSIZE, &limit);
}

noreturn void __wrap__exit(int status) {
  ending = status;
  write_counts_or(exit_anyway);
  __real__exit(status);
}

noreturn void __wrap_abort(void) {
  write_counts_or(abort_anyway);
  __real_abort();
}

noreturn void __wrap_quick_exit(int status) {
  write_counts();
  __real_quick_exit(status);
}

/* A signal whose handler is taken away ends the process, at once or when the instruction is
 * repeated. Tests do that in children without ending by it, a thousand times. */
int __wrap_raise(int signo) {
  write_counts();
  return __real_raise(signo);
}

sighandler_t __wrap_signal(int signo, sighandler_t handler) {
  if (handler == SIG_DFL) write_counts();
  return __real_signal(signo, handler);
}
