/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A signal comes while rank 1 of two is in some state; states.py has the tables. Built with
 * -DPROCESSES it is two processes and their pipes: what it prints then, and how it ends, is what
 * ranks have to do.
 *
 * usage: states STATE SOURCE ACTION
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SIGNAL_MS = 30, STATE_MS = 90, SETTLE_MS = 5000 };

/* ---- the two: processes, or ranks */

#ifdef PROCESSES
static int in, out; /* pipes from and to the other */

static int start(int *argc, char ***argv) {
  int pipes[2][2], status, result = 0;
  pid_t children[2];
  (void)argc, (void)argv;
  signal(SIGUSR2, SIG_IGN); /* states.py sends it to the group */
  if (pipe(pipes[0]) != 0 || pipe(pipes[1]) != 0) abort();
  for (int i = 0; i < 2; i++) {
    children[i] = fork();
    in = pipes[i][0];
    out = pipes[1 - i][1];
    if (children[i] != 0) continue;
    signal(SIGUSR2, SIG_DFL);
    return i;
  }
  close(pipes[0][0]), close(pipes[0][1]), close(pipes[1][0]), close(pipes[1][1]);
  for (int i = 0; i < 2; i++) {
    if (wait(&status) < 0) abort();
    if (result == 0 && status != 0) {
      result = status;
      kill(children[0], SIGKILL), kill(children[1], SIGKILL);
    }
  }
  if (WIFSIGNALED(result)) signal(WTERMSIG(result), SIG_DFL), kill(getpid(), WTERMSIG(result));
  _exit(WEXITSTATUS(result));
}

static void tell(void) {
  if (write(out, "", 1) != 1) abort();
}

static void hear(void) {
  char byte;
  if (read(in, &byte, 1) != 1) abort();
}

static void meet(void) {
  tell();
  hear();
}

static void finish(void) { meet(); }
#else
#include <mpi.h>

static int start(int *argc, char ***argv) {
  int rank;
  MPI_Init(argc, argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

static int other(void) {
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return 1 - rank;
}

static void tell(void) { MPI_Send(NULL, 0, MPI_INT, other(), 0, MPI_COMM_WORLD); }

static void hear(void) {
  MPI_Recv(NULL, 0, MPI_INT, other(), 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void meet(void) { MPI_Barrier(MPI_COMM_WORLD); }

static void finish(void) { MPI_Finalize(); }
#endif

static const char *state, *source, *action;
static volatile sig_atomic_t calls;
static pthread_t first;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int from_self[2];

static bool is(const char *word, const char *name) { return strcmp(word, name) == 0; }

static uint64_t now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void spin_for(uint64_t ms) {
  for (uint64_t end = now_ms() + ms; now_ms() < end;) continue;
}

/* Without libc's sleep, which a handler would end. */
static void wait_for(uint64_t ms) {
  for (uint64_t end = now_ms() + ms; now_ms() < end;) {
    struct timespec moment = {0, 1000000};
    nanosleep(&moment, NULL);
  }
}

/* ---- sources */

static int signal_of(void) {
  return is(source, "timer")   ? SIGALRM
         : is(source, "child") ? SIGCHLD
         : is(source, "pipe")  ? SIGPIPE
                               : SIGUSR2;
}

static void *send_later(void *unused) {
  (void)unused;
  wait_for(SIGNAL_MS);
  if (is(source, "kill")) kill(getpid(), SIGUSR2);
  if (is(source, "pthread_kill")) pthread_kill(first, SIGUSR2);
  return NULL;
}

static void start_source(void) {
  static pthread_t thread;
  struct itimerval soon = {{0, 0}, {0, SIGNAL_MS * 1000}};
  if (is(source, "timer")) setitimer(ITIMER_REAL, &soon, NULL);
  if (is(source, "raise")) raise(SIGUSR2);
  if (is(source, "self")) kill(getpid(), SIGUSR2);
  if (is(source, "kill") || is(source, "pthread_kill"))
    pthread_create(&thread, NULL, send_later, NULL);
  if (is(source, "child") && fork() == 0) {
    wait_for(SIGNAL_MS);
    _exit(0);
  }
  if (is(source, "pipe")) {
    int ends[2];
    if (pipe(ends) != 0) abort();
    close(ends[0]);
    if (write(ends[1], "", 1) == 1 || errno != EPIPE) abort();
  }
  if (is(source, "outside")) {
    puts("ready");
    fflush(stdout);
  }
}

/* ---- states */

static void *release_later(void *unused) {
  (void)unused;
  if (is(state, "mutex")) pthread_mutex_lock(&mutex);
  if (write(from_self[1], "", 1) != 1) abort(); /* it has begun */
  wait_for(STATE_MS);
  if (is(state, "mutex")) pthread_mutex_unlock(&mutex);
  if (is(state, "read") && write(from_self[1], "", 1) != 1) abort();
  return NULL;
}

static void be_blocked(void) {
  pthread_t thread;
  char byte;
  if (pipe(from_self) != 0 || pthread_create(&thread, NULL, release_later, NULL) != 0) abort();
  if (read(from_self[0], &byte, 1) != 1) abort();
  start_source();
  if (is(state, "read") && read(from_self[0], &byte, 1) != 1) abort();
  if (is(state, "mutex")) pthread_mutex_lock(&mutex);
  pthread_join(thread, NULL);
}

static void be_forking(void) {
  start_source();
  for (uint64_t end = now_ms() + STATE_MS; now_ms() < end;) {
    pid_t child = fork();
    if (child == 0) _exit(0);
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR) continue;
  }
}

static void in_other_handler(int signo) {
  (void)signo;
  start_source();
  spin_for(STATE_MS);
}

static void be_sleeping(void) {
  struct timespec left = {0, STATE_MS * 1000000};
  start_source();
  while (nanosleep(&left, &left) != 0 && errno == EINTR) continue;
}

static void be_in_state(void) {
  if (is(state, "read") || is(state, "mutex")) be_blocked();
  if (is(state, "fork")) be_forking();
  if (is(state, "sleep")) be_sleeping();
  if (is(state, "handler")) {
    signal(SIGURG, in_other_handler);
    raise(SIGURG);
  }
  if (is(state, "compute") || is(state, "exit")) {
    start_source();
    spin_for(STATE_MS);
  }
  if (is(state, "receive") || is(state, "barrier") || is(state, "finalize")) start_source();
  if (is(state, "receive")) hear();
  if (is(state, "barrier")) meet();
  if (is(state, "finalize")) finish();
}

/* ---- what rank 1 does */

static void count(int signo) { calls += signo == signal_of(); }

static bool is_pending(void) {
  sigset_t pending;
  sigpending(&pending);
  return sigismember(&pending, signal_of()) == 1;
}

/* On a busy machine a signal may still be on its way. */
static void settle(void) {
  bool comes = !is(action, "ignore") && !(is(action, "default") && is(source, "child"));
  for (uint64_t end = now_ms() + SETTLE_MS; comes && now_ms() < end;) {
    wait_for(1);
    comes = calls == 0 && !is_pending();
  }
}

static void report(void) {
  sigset_t set;
  settle();
  sigemptyset(&set);
  sigaddset(&set, signal_of());
  bool waits = is_pending();
  int before = calls;
  sigprocmask(SIG_UNBLOCK, &set, NULL);
  printf("%s: handler %s, %s, handler %s\n", state, before > 0 ? "called" : "not called",
         waits ? "pending" : "not pending", calls > 0 ? "called" : "not called");
  fflush(stdout);
}

static void at_exit(void) {
  be_in_state();
  report();
}

static void prepare(void) {
  sigset_t set;
  first = pthread_self();
  if (is(action, "handle") || is(action, "block")) signal(signal_of(), count);
  if (is(action, "ignore")) signal(signal_of(), SIG_IGN);
  sigemptyset(&set);
  sigaddset(&set, signal_of());
  if (is(action, "block")) sigprocmask(SIG_BLOCK, &set, NULL);
}

/* What is sent to a process comes to all ranks that handle it, and one that ignores it keeps it
 * from ranks that do nothing. The others are for rank 1 alone. */
static void prepare_other(void) {
  bool to_process =
      is(source, "self") || is(source, "kill") || is(source, "outside") || is(source, "child");
  if (to_process && !is(action, "default")) signal(signal_of(), SIG_IGN);
  if (!to_process) signal(signal_of(), count);
}

int main(int argc, char **argv) {
  bool is_subject = start(&argc, &argv) == 1;
  if (argc < 4) return 2;
  state = argv[1];
  source = argv[2];
  action = argv[3];
  if (is_subject) prepare();
  if (!is_subject) prepare_other();
  meet();
  if (!is_subject) {
    wait_for(STATE_MS);
    if (is(state, "receive")) tell();
    if (is(state, "barrier")) meet();
    finish();
    wait_for(STATE_MS); /* rank 1 may be in its exit() */
    if (calls > 0) puts("other: handler called");
    return 0;
  }
  if (is(state, "exit")) {
    finish();
    atexit(at_exit);
    exit(0);
  }
  be_in_state();
  report();
  if (!is(state, "finalize")) finish();
  return 0;
}
