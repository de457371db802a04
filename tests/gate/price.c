/* SPDX-License-Identifier: Apache-2.0 */
/* A stock pthread program that does one operation again and again: price OPERATION ROUNDS. price.py
 * counts its instructions. A second thread has been, so libc takes the process for one of several
 * threads. */
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

enum { HELD_NS = 200000, NAP_NS = 1000000 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static sem_t sem;

static void *wait_for_end(void *arg) {
  sem_wait(arg);
  return NULL;
}

static void use_mutex(void) {
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
}

static void use_recursive(void) {
  pthread_mutex_lock(&recursive);
  pthread_mutex_unlock(&recursive);
}

static void use_sem(void) {
  sem_wait(&sem);
  sem_post(&sem);
}

static void use_cond(void) { pthread_cond_signal(&cond); }

static void *end_at_once(void *arg) { return arg; }

static void make_thread(void) {
  pthread_t made;
  if (pthread_create(&made, NULL, end_at_once, NULL) != 0) exit(1);
  pthread_join(made, NULL);
}

static int end_c11(void *arg) { return arg != NULL; }

static void make_c11(void) {
  thrd_t made;
  if (thrd_create(&made, end_c11, NULL) != thrd_success) exit(1);
  thrd_join(made, NULL);
}

/* A mutex, while a thread has been caught in a call that the gate does not know. */
static int has_run;

static void *pause_for_ever(void *arg) {
  for (;;) pause();
  return arg;
}

static void *note(void *arg) {
  __atomic_store_n(&has_run, 1, __ATOMIC_RELEASE);
  return arg;
}

static void use_beside_stray(void) {
  static pthread_t paused, noting;
  if (paused == 0 && (pthread_create(&paused, NULL, pause_for_ever, NULL) != 0 ||
                      pthread_create(&noting, NULL, note, NULL) != 0))
    exit(1);
  while (__atomic_load_n(&has_run, __ATOMIC_ACQUIRE) == 0) /* all permits are in use until then */
    syscall(SYS_nanosleep, &(struct timespec){.tv_nsec = NAP_NS}, NULL);
  use_mutex();
}

static sem_t go, done;

static void *lock_busy(void *arg) {
  for (;;) {
    sem_wait(&go);
    use_mutex();
    sem_post(&done);
  }
  return arg;
}

/* Holds the mutex for long, while another thread tries it. */
static void make_wait(void) {
  static pthread_t other;
  if (other == 0 && pthread_create(&other, NULL, lock_busy, NULL) != 0) exit(1);
  pthread_mutex_lock(&mutex);
  sem_post(&go);
  nanosleep(&(struct timespec){.tv_nsec = HELD_NS}, NULL);
  pthread_mutex_unlock(&mutex);
  sem_wait(&done);
}

int main(int argc, char **argv) {
  static const struct {
    const char *name;
    void (*use)(void);
  } objects[] = {{"mutex", use_mutex}, {"recursive", use_recursive}, {"sem", use_sem},
                 {"cond", use_cond},   {"thread", make_thread},      {"c11", make_c11},
                 {"wait", make_wait},  {"stray", use_beside_stray}};
  if (argc < 3) return 2;
  sem_t end;
  pthread_t thread;
  sem_init(&sem, 0, 1);
  sem_init(&end, 0, 0);
  if (pthread_create(&thread, NULL, wait_for_end, &end) != 0) return 1;
  for (size_t i = 0; i < sizeof objects / sizeof objects[0]; i++)
    for (long rounds = strcmp(objects[i].name, argv[1]) == 0 ? atol(argv[2]) : 0; rounds > 0;
         rounds--)
      objects[i].use();
  sem_post(&end);
  pthread_join(thread, NULL);
  return 0;
}
