/* SPDX-License-Identifier: Apache-2.0 */
/* Mistakes that people make, each of which its argument names, and right programs that look like
 * one: causes.py has what a person would say of each. */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

enum { LARGE = 1 << 20, SILENT = 5, PAUSE_US = 300000, PAUSE_MS = PAUSE_US / 1000 };

static int rank, size, value;
static char large[LARGE];

static void send_to(int other, int tag) { MPI_Send(&rank, 1, MPI_INT, other, tag, MPI_COMM_WORLD); }

static void receive_from(int other, int tag) {
  MPI_Recv(&value, 1, MPI_INT, other, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* ---- Messages. */

static void unreceived(void) {
  if (rank == 0) MPI_Ssend(&value, 1, MPI_INT, 1, 3, MPI_COMM_WORLD);
}

static void large_to_oneself(void) {
  if (rank == 0) MPI_Send(large, LARGE, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
}

static void too_many_receives(void) {
  for (int i = 0; rank == 0 && i < size; i++) receive_from(MPI_ANY_SOURCE, 0);
  if (rank != 0) send_to(0, 0);
}

/* Each rank sends to the next one, rank 500 with another tag. */
static void one_tag_of_many(void) {
  MPI_Request request;
  MPI_Irecv(&value, 1, MPI_INT, (rank + size - 1) % size, 7, MPI_COMM_WORLD, &request);
  send_to((rank + 1) % size, rank == 500 ? 8 : 7);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Barrier(MPI_COMM_WORLD);
}

/* Rank 0 waits for all others, in some way, and one of them does not send. */
static MPI_Request requests[8];
static int values[8];

static void all_but_one(void (*wait)(int count)) {
  if (rank != 0 && rank != SILENT) send_to(0, 0);
  if (rank != 0) return;
  for (int i = 1; i < size; i++)
    MPI_Irecv(&values[i], 1, MPI_INT, i, 0, MPI_COMM_WORLD, &requests[i - 1]);
  wait(size - 1);
}

static void for_all(int count) { MPI_Waitall(count, requests, MPI_STATUSES_IGNORE); }

static void for_all_late(int count) {
  usleep(PAUSE_US); /* all messages that are sent have come then */
  for_all(count);
}

static void for_any(int count) {
  for (int i = 0; i < count; i++) {
    int index;
    MPI_Waitany(count, requests, &index, MPI_STATUS_IGNORE);
  }
}

static void for_each(int count) {
  for (int i = 0; i < count; i++) MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
}

static void silent_all(void) { all_but_one(for_all); }
static void silent_late(void) { all_but_one(for_all_late); }
static void silent_any(void) { all_but_one(for_any); }
static void silent_each(void) { all_but_one(for_each); }

/* The rank that does not send has gone on to a barrier; two others wait for each other, and send.
 */
static void elsewhere(void) {
  if (rank == SILENT) MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) receive_from(2, 1);
  all_but_one(for_all);
  if (rank == 2) send_to(1, 1);
}

/* ---- Collectives and windows. */

static void half_of_a_half(void) {
  MPI_Comm half;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  if (rank != 3) MPI_Barrier(half);
  MPI_Comm_free(&half);
}

static void lonely_fence(void) {
  MPI_Win win;
  MPI_Win_create(values, sizeof values, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  if (rank == 0) MPI_Win_fence(0, win);
}

static void named_window(void) {
  MPI_Win win;
  MPI_Win_create(values, sizeof values, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_set_name(win, "the table");
  if (rank == 0) MPI_Win_fence(0, win);
}

static void lonely_sync(void) {
  static char null[] = "/dev/null";
  MPI_File file;
  MPI_File_open(MPI_COMM_WORLD, null, MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  if (rank != 2) MPI_File_sync(file);
}

/* ---- Ends. */

static void exits(void) {
  if (rank == 2) exit(0);
  MPI_Barrier(MPI_COMM_WORLD);
}

static void exits_with_status(void) {
  if (rank == 1) exit(3);
  MPI_Barrier(MPI_COMM_WORLD);
}

static int *volatile nowhere;

__attribute__((noinline)) static void store(int number) {
  if (number == 7) *nowhere = number;
}

static void crashes(void) {
  store(rank);
  MPI_Barrier(MPI_COMM_WORLD);
}

static void print(void) { printf("rank %d has printed\n", rank); }

static void prints_and_waits(void) {
  print();
  receive_from((rank + 1) % size, 0);
}

static void prints_and_aborts(void) {
  print();
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) abort();
  MPI_Barrier(MPI_COMM_WORLD);
}

static void prints_and_ends_the_job(void) {
  print();
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) MPI_Abort(MPI_COMM_WORLD, 3);
  MPI_Barrier(MPI_COMM_WORLD);
}

/* ---- Right programs, in which for a while no rank runs: something else ends the wait. */

static void sleeps(void) {
  if (rank == 1) usleep(PAUSE_US);
}

static void reads(void) {
  char byte;
  if (rank == 1) CHECK(read(STDIN_FILENO, &byte, 1) == 1);
}

static void polls(void) {
  if (rank == 1) CHECK(poll(NULL, 0, PAUSE_MS) == 0);
}

static void forks(void) {
  int status;
  if (rank != 1) return;
  pid_t child = fork();
  if (child == 0) {
    usleep(PAUSE_US);
    _exit(4);
  }
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 4);
}

static void calls_a_shell(void) {
  if (rank == 1) CHECK(system("sleep 0.3") == 0);
}

static volatile sig_atomic_t alarmed;

static void handler(int signo) {
  (void)signo;
  alarmed = 1;
}

static void waits_for_an_alarm(void) {
  const struct itimerval soon = {.it_value = {.tv_usec = PAUSE_US}};
  sigset_t alarm, before;
  if (rank != 1) return;
  sigemptyset(&alarm);
  sigaddset(&alarm, SIGALRM);
  pthread_sigmask(SIG_BLOCK, &alarm, &before);
  signal(SIGALRM, handler);
  setitimer(ITIMER_REAL, &soon, NULL);
  while (!alarmed) sigsuspend(&before);
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int ready;

static void *send_later(void *arg) {
  usleep(PAUSE_US);
  send_to(0, 0);
  return arg;
}

static void *signal_later(void *arg) {
  usleep(PAUSE_US);
  pthread_mutex_lock(&mutex);
  ready = 1;
  pthread_cond_signal(&changed);
  pthread_mutex_unlock(&mutex);
  return arg;
}

static void thread_sends(void) {
  pthread_t thread;
  if (rank == 0) receive_from(1, 0);
  if (rank == 0) send_to(1, 5);
  if (rank != 1) return;
  CHECK(pthread_create(&thread, NULL, send_later, NULL) == 0);
  receive_from(0, 5);
  pthread_join(thread, NULL);
}

static void thread_signals(void) {
  pthread_t thread;
  if (rank != 1) return;
  CHECK(pthread_create(&thread, NULL, signal_later, NULL) == 0);
  pthread_mutex_lock(&mutex);
  while (!ready) pthread_cond_wait(&changed, &mutex);
  pthread_mutex_unlock(&mutex);
  pthread_join(thread, NULL);
}

/* ---- A rank that reads has locked its stream; another one flushes the rest. */

static void flushes(void) {
  if (rank == 1) CHECK(getchar() == 'x');
  if (rank != 0) return;
  while (ftrylockfile(stdin) == 0) {
    funlockfile(stdin);
    usleep(1000);
  }
  CHECK(fflush(NULL) == 0);
  printf("flushed");
  CHECK(fflush(stdout) == 0);
}

static void aborts_beside_a_reader(void) {
  if (rank == 1) CHECK(getchar() == 'x');
  if (rank != 0) return;
  while (ftrylockfile(stdin) == 0) {
    funlockfile(stdin);
    usleep(1000);
  }
  print();
  MPI_Abort(MPI_COMM_WORLD, 3);
}

/* ---- A rank that asks for a message again and again. */

static void probes(void) {
  int there;
  if (rank != 0) return;
  puts("on its way");
  fflush(stdout);
  for (;;) MPI_Iprobe(1, 0, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
}

static const struct {
  const char *name;
  void (*run)(void);
} ways[] = {
    {"unreceived", unreceived},
    {"large-to-oneself", large_to_oneself},
    {"too-many-receives", too_many_receives},
    {"one-tag-of-many", one_tag_of_many},
    {"silent-all", silent_all},
    {"silent-late", silent_late},
    {"silent-any", silent_any},
    {"silent-each", silent_each},
    {"elsewhere", elsewhere},
    {"half-of-a-half", half_of_a_half},
    {"lonely-fence", lonely_fence},
    {"named-window", named_window},
    {"lonely-sync", lonely_sync},
    {"exits", exits},
    {"exits-with-status", exits_with_status},
    {"crashes", crashes},
    {"prints-and-waits", prints_and_waits},
    {"prints-and-aborts", prints_and_aborts},
    {"prints-and-ends-the-job", prints_and_ends_the_job},
    {"sleeps", sleeps},
    {"reads", reads},
    {"polls", polls},
    {"forks", forks},
    {"calls-a-shell", calls_a_shell},
    {"waits-for-an-alarm", waits_for_an_alarm},
    {"thread-sends", thread_sends},
    {"thread-signals", thread_signals},
    {"flushes", flushes},
    {"aborts-beside-a-reader", aborts_beside_a_reader},
    {"probes", probes},
};

/* ---- Without MPI_Init(): nobody sends. */
static void wait_in_a_session(void) {
  MPI_Session session;
  MPI_Group group;
  MPI_Comm comm;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Comm_create_from_group(group, "causes", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
  MPI_Comm_rank(comm, &rank);
  MPI_Recv(&value, 1, MPI_INT, 1 - rank, 0, comm, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv) {
  int provided;
  if (argc > 1 && strcmp(argv[1], "session") == 0) wait_in_a_session();
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (size_t i = 0; argc > 1 && i < sizeof ways / sizeof ways[0]; i++)
    if (strcmp(ways[i].name, argv[1]) == 0) ways[i].run();
  MPI_Finalize();
  return 0;
}
