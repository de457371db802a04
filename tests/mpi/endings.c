/* SPDX-License-Identifier: Apache-2.0 */
/* Ends as its argument says: what endings.py looks at. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"

static int value;

static int is(const char *word, const char *argument) { return strcmp(word, argument) == 0; }

static void said(void) { printf("handler of rank ran\n"); }

static void leave(void) { exit(3); }

/* "raise-SIGNAL" and the like: rank 1 sends a signal to itself, and would continue. */
static void send(const char *how) {
  int signo = atoi(strchr(how, '-') + 1);
  if (strncmp(how, "raise-", 6) == 0) raise(signo);
  if (strncmp(how, "kill-", 5) == 0) kill(getpid(), signo);
  if (strncmp(how, "pthread_kill-", 13) == 0) pthread_kill(pthread_self(), signo);
}

/* A stream that nobody writes. */
static void read_pipe(void) {
  int ends[2];
  char line[8];
  if (pipe(ends) != 0 || fgets(line, sizeof line, fdopen(ends[0], "r")) == NULL) exit(9);
}

/* "late WHAT": rank 0 holds stdin, or a stream of its own, or computes, when rank 1 ends. */
static void end_late(int rank, const char *what, const char *other) {
  char line[8];
  if (rank == 0 && is(other, "computing"))
    for (;;) sched_yield();
  if (rank == 0 && is(other, "waiting")) MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0 && is(other, "piped")) read_pipe();
  if (rank == 0 && fgets(line, sizeof line, stdin) == NULL) exit(9);
  usleep(100000);
  if (fflush(NULL) != 0) exit(9);
  if (is(what, "exit")) exit(4);
  if (is(what, "return")) return;
  if (is(what, "abort")) abort();
  if (is(what, "mpi-abort")) MPI_Abort(MPI_COMM_WORLD, 3);
}

/* "pthread WHAT": a pthread of rank 1 ends the rank, after MPI_Finalize(). */
static void *end_on_pthread(void *what) {
  if (is(what, "exit")) exit(5);
  if (is(what, "_exit")) _exit(5);
  if (is(what, "quick_exit")) quick_exit(5);
  return NULL;
}

static void on_pthread(void *what) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, end_on_pthread, what) != 0) abort();
  pthread_join(thread, NULL);
  printf("continued\n");
}

/* "last-pthread WHAT": the rank's own thread ends before a pthread, which then ends the rank, by
 * its own end or by WHAT. A destructor of a thread-specific value tells when the first has ended.
 */
static sem_t own_ended;
static pthread_key_t of_own_thread;

static void note_own_end(void *value) { sem_post(value); }

static void *end_last(void *what) {
  sem_wait(&own_ended);
  if (is(what, "exit")) exit(5);
  if (is(what, "waits")) MPI_Recv(&value, 1, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
  usleep(50000); /* a rank that has ended would not print this */
  printf("pthread was last\n");
  return NULL;
}

static void *start_last(void *what) {
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, end_last, what) == 0);
  CHECK(pthread_detach(thread) == 0);
  return NULL;
}

static void end_before_pthreads(char *what) {
  pthread_t thread;
  sem_init(&own_ended, 0, 0);
  CHECK(pthread_key_create(&of_own_thread, note_own_end) == 0);
  CHECK(pthread_setspecific(of_own_thread, &own_ended) == 0);
  atexit(said);
  CHECK(pthread_create(&thread, NULL, start_last, what) == 0); /* never joined */
  pthread_exit(NULL);
}

/* Rank 1 aborts the ranks of odd number, one of which waits. The others continue. */
static void abort_odd_ranks(int rank) {
  MPI_Comm part;
  int sum;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &part);
  if (rank == 1) MPI_Abort(part, 8);
  if (rank == 3) MPI_Recv(&value, 1, MPI_INT, 0, 0, part, MPI_STATUS_IGNORE);
  if (rank == 5) {
    usleep(100000);
    MPI_Comm_rank(part, &value);
  }
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, part);
  printf("rank %d continued to %d\n", rank, sum);
}

/* Rank 0 waits for rank 2, which ends at its next call. */
static void wait_for_aborted(int rank) {
  MPI_Comm part;
  MPI_Comm_split(MPI_COMM_WORLD, rank != 0, 0, &part);
  if (rank == 1) MPI_Abort(part, 8);
  if (rank == 2) usleep(100000);
  if (rank == 0) MPI_Recv(&value, 1, MPI_INT, 2, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void print_status(int status, void *argument) {
  printf("%s of status %d ran\n", (const char *)argument, status);
}

static void leave_by_handler(int signo) { exit(signo + 20); }

/* "handler-in-malloc WHAT": what rank 1 does in its handler finds malloc()'s lock held by rank 0.
 */
static void leave_with_success(int signo) { exit(signo - SIGTERM); }

static void allocate_for_ever(void) {
  printf("ready\n");
  fflush(stdout);
  for (size_t size = 2000;; size = size % 50000 + 2000) { /* in no cache of a thread */
    void *volatile block = malloc(size), *volatile other = malloc(size);
    free(block);
    free(other);
  }
}

static void end_in_malloc(int rank, const char *what) {
  if (rank == 1) signal(SIGTERM, is(what, "success") ? leave_with_success : leave_by_handler);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) allocate_for_ever();
  MPI_Barrier(MPI_COMM_WORLD);
}

/* libc sends its signal of setgid() to each thread, and holds a lock of pthread_create() until all
 * have handled it. This one never does, and ends the rank when it has come. */
enum { SETXID = 33 /* glibc's */ };

static uint64_t call_of_signals(long number, uint64_t set) {
  bool blocks = number == SYS_rt_sigprocmask;
  long error = blocks ? syscall(number, SIG_BLOCK, &set, NULL, sizeof set)
                      : syscall(number, &set, sizeof set);
  CHECK(error == 0);
  return set;
}

static void *end_in_setgid(void *blocked) {
  const uint64_t setxid = UINT64_C(1) << (SETXID - 1);
  call_of_signals(SYS_rt_sigprocmask, setxid);
  pthread_barrier_wait(blocked);
  while ((call_of_signals(SYS_rt_sigpending, 0) & setxid) == 0) sched_yield();
  raise(SIGTERM);
  return blocked;
}

static void set_group(void) {
  pthread_t thread;
  pthread_barrier_t blocked;
  signal(SIGTERM, leave_by_handler);
  pthread_barrier_init(&blocked, NULL, 2);
  CHECK(pthread_create(&thread, NULL, end_in_setgid, &blocked) == 0);
  pthread_barrier_wait(&blocked);
  CHECK(setgid(getgid()) == 0);
}

/* The signals that a rank finds ignored, before and after it changes one. */
static void print_ignored(int rank) {
  struct sigaction now;
  for (int turn = 0; turn < 2; turn++) {
    char text[400] = "";
    if (turn == 1) signal(SIGUSR1, SIG_IGN);
    for (int signo = 1; signo < NSIG; signo++)
      if (sigaction(signo, NULL, &now) == 0 && now.sa_handler == SIG_IGN)
        snprintf(text + strlen(text), sizeof text - strlen(text), " %d", signo);
    printf("rank %d:%s\n", rank, text);
  }
}

/* "standard": @return which of the numbers 0 to 2 are as closed ones, in bits: no file has them,
 * and input and output fail. */
static int find_closed(void) {
  int found = 0;
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
    struct stat status;
    char byte = '\n';
    bool is_device = fstat(fd, &status) == 0 && S_ISCHR(status.st_mode);
    ssize_t moved = fd == STDIN_FILENO ? read(fd, &byte, 1) : write(fd, &byte, 1);
    if (is_device && moved == -1 && errno == EBADF) found |= 1 << fd;
  }
  return found;
}

/* ---- crashes in libraries */

struct frame {
  const void *caller, *return_address;
};

/* In libc, of a caller whose frames do not end: they lead back to one that the program has called
 * before. */
static void crash_among_wrong_frames(void) {
  static struct frame frames[2];
  frames[0] = (struct frame){NULL, (const char *)(uintptr_t)crash_among_wrong_frames + 1};
  frames[1] = (struct frame){&frames[0], (const void *)16};
  __asm__ volatile("movq %0, %%rbp\n\tmovq %1, %%rax\n\tjmpq *%%rax"
                   :
                   : "r"(&frames[1]), "r"(strlen), "D"(8)
                   : "rax", "memory");
}

int main(int argc, char **argv) {
  const char *how = argc > 1 ? argv[1] : "";
  int size, level, rank;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (is(how, "last-pthread") && is(argv[2], "waits")) end_before_pthreads(argv[2]);
  if (is(how, "handlers")) atexit(said);
  if (is(how, "on_exit")) on_exit(print_status, argv[1]);
  if (strncmp(how, "kill-", 5) == 0 && is(argc > 2 ? argv[2] : "", "ignored")) {
    if (rank == 0 || is(argv[3], "by all")) signal(atoi(strchr(how, '-') + 1), SIG_IGN);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  if (is(how, "signal-handler")) signal(SIGTERM, leave_by_handler);
  if (is(how, "handler-in-malloc")) end_in_malloc(rank, argv[2]);
  if (is(how, "handler-in-setgid") && rank == 0) set_group();
  if (is(how, "late")) {
    end_late(rank, argv[2], argv[3]);
    return 0;
  }
  if (is(how, "no-finalize")) return 0;
  if (is(how, "ignoring")) print_ignored(rank);
  if (is(how, "lines"))
    for (int i = 0; i < 20; i++) printf("line %d of rank %d\n", i, rank);
  if (is(how, "sleep") || is(how, "signal-handler")) {
    MPI_Barrier(MPI_COMM_WORLD); /* no rank is in MPI_Init() any more when the signal comes */
    printf("ready\n");
    fflush(stdout);
    sleep(60);
  }
  if (is(how, "abort") && rank == 1) abort();
  if (is(how, "mpi-abort") && rank == 1) MPI_Abort(MPI_COMM_WORLD, 5);
  if (is(how, "mpi-abort-256") && rank == 1) MPI_Abort(MPI_COMM_WORLD, 256);
  if (is(how, "odd-abort")) abort_odd_ranks(rank);
  if (is(how, "awaited-abort")) wait_for_aborted(rank);
  if (is(how, "crash") && rank == 1) *(volatile int *)8 = 1;
  if (is(how, "crash-in-mpi") && rank == 1)
    MPI_Reduce_local((void *)8, &value, 1, MPI_INT, MPI_SUM);
  if (is(how, "crash-among-wrong-frames") && rank == 1) crash_among_wrong_frames();
  if (is(how, "no-comm")) MPI_Barrier(MPI_COMM_NULL);
  if (is(how, "bad-rank")) MPI_Send(&value, 1, MPI_INT, size, 0, MPI_COMM_WORLD);
  if (strchr(how, '-') != NULL && rank == 1) send(how);
  MPI_Finalize();
  if (is(how, "pthread") && rank == 1) on_pthread(argv[2]);
  if (is(how, "standard")) return 32 + find_closed();
  if (is(how, "last-pthread")) end_before_pthreads(argv[2]);
  if (is(how, "callee") && rank == 2) leave();
  return (is(how, "status") || is(how, "on_exit")) && rank == 1 ? 7 : 0;
}
