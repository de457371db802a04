/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks that wait in the kernel, for objects of libc's: standstill.py says what follows. */
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

enum { LONG_S = 13 /* more than two looks of tmpirun's take */ };

static sem_t own;
static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both_hold;

static void wait_for(sem_t *semaphore) {
  while (sem_wait(semaphore) != 0) continue;
}

static void post_own(int signo) {
  (void)signo;
  sem_post(&own);
}

static void *take_second(void *unused) {
  pthread_mutex_lock(&second);
  pthread_barrier_wait(&both_hold);
  pthread_mutex_lock(&first);
  return unused;
}

static void take_crosswise(void) {
  pthread_t thread;
  pthread_barrier_init(&both_hold, NULL, 2);
  pthread_mutex_lock(&first);
  pthread_create(&thread, NULL, take_second, NULL);
  pthread_barrier_wait(&both_hold);
  pthread_mutex_lock(&second);
}

static void *post_later(void *unused) {
  nanosleep(&(struct timespec){LONG_S, 0}, NULL);
  sem_post(&own);
  return unused;
}

static void wait_for_pthread(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, post_later, NULL);
  wait_for(&own);
  pthread_join(thread, NULL);
}

static void wait_for_child(void) {
  enum { ACCESS = PROT_READ | PROT_WRITE, KIND = MAP_SHARED | MAP_ANONYMOUS };
  sem_t *shared = mmap(NULL, sizeof *shared, ACCESS, KIND, -1, 0);
  CHECK(shared != MAP_FAILED && sem_init(shared, 1, 0) == 0);
  pid_t child = fork();
  if (child == 0) {
    sleep(LONG_S);
    sem_post(shared);
    _exit(0);
  }
  wait_for(shared);
  waitpid(child, NULL, 0);
}

/* Short waits, one after the other. */
static void *answer(void *asked) {
  for (int i = 0; i < LONG_S * 10; i++) {
    wait_for(asked);
    nanosleep(&(struct timespec){0, 100000000}, NULL);
    sem_post(&own);
  }
  return NULL;
}

static void ask_often(void) {
  pthread_t thread;
  sem_t asked;
  sem_init(&asked, 0, 0);
  pthread_create(&thread, NULL, answer, &asked);
  for (int i = 0; i < LONG_S * 10; i++) {
    sem_post(&asked);
    wait_for(&own);
  }
  pthread_join(thread, NULL);
}

static const struct {
  const char *name;
  void (*wait)(void);
} ways[] = {{"crosswise", take_crosswise},
            {"pthread", wait_for_pthread},
            {"child", wait_for_child},
            {"often", ask_often}};

int main(int argc, char **argv) {
  int size, rank = check_start(&argc, &argv, &size);
  CHECK(argc == 2);
  sem_init(&own, 0, 0);
  if (strcmp(argv[1], "handler") == 0) signal(SIGUSR2, post_own);
  if (strcmp(argv[1], "alarm") == 0) {
    signal(SIGALRM, post_own);
    alarm(LONG_S);
  }
  bool found = false;
  for (size_t w = 0; w < sizeof ways / sizeof ways[0] && rank == 0; w++)
    if (strcmp(ways[w].name, argv[1]) == 0) {
      ways[w].wait();
      found = true;
    }
  if (rank == 0 && !found) wait_for(&own); /* "semaphore", too */
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) puts("continued");
  MPI_Finalize();
  return 0;
}
