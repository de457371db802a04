/* SPDX-License-Identifier: Apache-2.0 */
/* Thread-locals and thread-specific values of ranks, and of pthreads that ranks make. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static int global = 5;
static _Thread_local int number = 7, zero;
static _Thread_local int *pointer = &global; /* an address within the rank's own copy */

static pthread_key_t key;
static int ended; /* pthreads whose value was given back */

static void end_value(void *value) { __atomic_add_fetch(&ended, value != NULL, __ATOMIC_RELAXED); }

/* A key made after another was deleted has no values, though it may get that one's number. */
static void check_new_key(void) {
  pthread_key_t old, new;
  CHECK(pthread_key_create(&old, NULL) == 0 && pthread_setspecific(old, &old) == 0);
  CHECK(pthread_getspecific(old) == &old && pthread_key_delete(old) == 0);
  CHECK(pthread_key_create(&new, NULL) == 0 && pthread_getspecific(new) == NULL);
  CHECK(pthread_key_delete(new) == 0);
}

struct job {
  int rank, index;
  int *where; /* of `number`, in that thread */
  sem_t *done;
};

static void *work(void *argument) {
  struct job *job = argument;
  CHECK(number == 7 && zero == 0 && pointer == &global);
  CHECK(pthread_getspecific(key) == NULL && pthread_setspecific(key, job) == 0);
  check_new_key();
  number = zero = 100 * job->rank + job->index;
  job->where = &number;
  int next = (job->index + 1) % 2, got;
  /* the rank's pthreads send to each other while it waits for them */
  MPI_Sendrecv(&number, 1, MPI_INT, job->rank, job->index, &got, 1, MPI_INT, job->rank, next,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK(got == 100 * job->rank + next);
  CHECK(number == 100 * job->rank + job->index && zero == number);
  CHECK(pthread_getspecific(key) == job);
  sem_post(job->done);
  return &number == job->where ? job : NULL;
}

/* The kernel would refuse to bind a kernel thread to a CPU that is not there: a call that succeeds
 * does nothing. A kernel thread of another rank may have ended. */
static void expect_ignored(pid_t task) {
  cpu_set_t absent;
  CPU_ZERO(&absent);
  CPU_SET(CPU_SETSIZE - 1, &absent);
  CHECK(sched_setaffinity(task, sizeof absent, &absent) == 0 || errno == ESRCH);
}

/* Libraries bind a process by the numbers of its kernel threads. */
static void check_all_tasks(void) {
  DIR *folder = opendir("/proc/self/task");
  CHECK(folder != NULL);
  for (const struct dirent *entry; (entry = readdir(folder)) != NULL;)
    if (entry->d_name[0] != '.') expect_ignored(atoi(entry->d_name));
  closedir(folder);
}

/* A process that a rank starts is bound. */
static void check_child(const cpu_set_t *one) {
  int status;
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    cpu_set_t now;
    bool bound = sched_setaffinity(0, sizeof *one, one) == 0 &&
                 sched_getaffinity(0, sizeof now, &now) == 0 && CPU_EQUAL(&now, one) &&
                 pthread_setaffinity_np(pthread_self(), sizeof *one, one) == 0;
    CPU_ZERO(&now);
    _exit(bound && sched_setaffinity(getpid(), sizeof now, &now) != 0 &&
                  pthread_setaffinity_np(pthread_self(), sizeof now, &now) == EINVAL
              ? 0
              : 1);
  }
  CHECK(waitpid(child, &status, 0) == child && status == 0);
}

/* A rank that binds itself to a CPU binds no other. */
static void check_affinity(int rank) {
  cpu_set_t before, one, after;
  CPU_ZERO(&one);
  CHECK(sched_getaffinity(0, sizeof before, &before) == 0);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; cpu++)
    if (CPU_ISSET(cpu, &before)) CPU_SET(cpu, &one);
  if (rank == 0) {
    CHECK(pthread_setaffinity_np(pthread_self(), sizeof one, &one) == 0);
    CHECK(sched_setaffinity(0, sizeof one, &one) == 0);
    expect_ignored(0);
    expect_ignored(getpid());
    expect_ignored(gettid());
    check_all_tasks();
    check_child(&one);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(sched_getaffinity(0, sizeof after, &after) == 0 && CPU_EQUAL(&before, &after));
}

int main(int argc, char **argv) {
  int size, rank, level;
  pthread_t threads[2];
  struct job jobs[2];
  sem_t done;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  CHECK(level == MPI_THREAD_MULTIPLE);
  CHECK(number == 7 && zero == 0 && pointer == &global);
  number = rank;
  CHECK(pthread_key_create(&key, end_value) == 0 && pthread_setspecific(key, &jobs[rank % 2]) == 0);
  check_new_key();
  check_affinity(rank);
  sem_init(&done, 0, 0);
  for (int i = 0; i < 2; i++) {
    jobs[i] = (struct job){rank, i, NULL, &done};
    CHECK(pthread_create(&threads[i], NULL, work, &jobs[i]) == 0);
  }
  for (int i = 0; i < 2; i++) sem_wait(&done);
  for (int i = 0; i < 2; i++) {
    void *result;
    CHECK(pthread_join(threads[i], &result) == 0 && result == &jobs[i]);
    CHECK(jobs[i].where != &number);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(pthread_getspecific(key) == &jobs[rank % 2] && ended == 2);
  CHECK(number == rank && zero == 0);
  MPI_Finalize();
  return 0;
}
