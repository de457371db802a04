/* SPDX-License-Identifier: Apache-2.0 */
/* A stock pthread program that finds functions of libc by a handle, as runtimes of languages do.
 * They are the functions that it calls by their names: what these wait for, the others end. It
 * knows nothing of the gate, and runs without it, too. With arguments, it compares functions of
 * these names.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define CHECK(condition)                                                                           \
  ((condition) ? (void)0 : failed(__LINE__, #condition)) /* not assert(): NDEBUG may be set */

static void failed(int line, const char *what) {
  fprintf(stderr, "found.c:%d: not true: %s\n", line, what);
  _exit(1);
}

static void *libc;

/* ---- a library */

extern int yields; /* follower.c */
void *next_of(const char *name);

/* It stands before libc, and behind the gate. */
static void test_follower(void) {
  CHECK(sched_yield() == 0 && yields == 1);
  CHECK(next_of("pthread_cond_signal") == (void *)pthread_cond_signal);
  CHECK(next_of("sched_yield") != (void *)sched_yield);
  CHECK(dlsym(libc, "sched_yield") == next_of("sched_yield"));
}

/* The follower has one of them itself. */
static void compare(const char *name) {
  void *called = dlsym(RTLD_DEFAULT, name), *found = dlsym(libc, name);
  if ((found == called && called != NULL) || strcmp(name, "sched_yield") == 0) return;
  fprintf(stderr, "found.c: %s: %p is called, %p found\n", name, called, found);
  _exit(1);
}

/* ---- a waiter by one function, and its waker by the other */

static struct {
  __typeof__(pthread_mutex_lock) *lock;
  __typeof__(pthread_mutex_unlock) *unlock;
  __typeof__(pthread_cond_wait) *wait;
  __typeof__(pthread_cond_signal) *signal;
  __typeof__(sem_wait) *sem_wait;
  __typeof__(sem_post) *sem_post;
} found;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static sem_t asked, answered;
static int waits, woken;

static void *wait_by_name(void *arg) {
  pthread_mutex_lock(&mutex);
  waits = 1;
  while (woken == 0) CHECK(pthread_cond_wait(&cond, &mutex) == 0);
  pthread_mutex_unlock(&mutex);
  CHECK(found.sem_post(&asked) == 0 && sem_wait(&answered) == 0);
  return arg;
}

static void *wait_by_handle(void *arg) {
  found.lock(&mutex);
  waits = 1;
  while (woken == 0) CHECK(found.wait(&cond, &mutex) == 0);
  found.unlock(&mutex);
  CHECK(sem_post(&asked) == 0 && found.sem_wait(&answered) == 0);
  return arg;
}

static int is_waiting(void) {
  pthread_mutex_lock(&mutex);
  int now = waits;
  pthread_mutex_unlock(&mutex);
  return now;
}

static void wake(int by_handle) {
  if (by_handle) {
    found.lock(&mutex);
    woken = 1;
    CHECK(found.signal(&cond) == 0);
    found.unlock(&mutex);
  } else {
    pthread_mutex_lock(&mutex);
    woken = 1;
    CHECK(pthread_cond_signal(&cond) == 0);
    pthread_mutex_unlock(&mutex);
  }
  CHECK((by_handle ? sem_wait : found.sem_wait)(&asked) == 0);
  CHECK((by_handle ? found.sem_post : sem_post)(&answered) == 0);
}

static void test_waits(void) {
  for (int by_handle = 0; by_handle < 2; by_handle++) {
    pthread_t thread;
    waits = woken = 0;
    CHECK(pthread_create(&thread, NULL, by_handle ? wait_by_name : wait_by_handle, NULL) == 0);
    while (!is_waiting()) usleep(1000);
    wake(by_handle);
    CHECK(pthread_join(thread, NULL) == 0);
  }
}

static void find_all(void) {
  *(void **)&found.lock = dlsym(libc, "pthread_mutex_lock");
  *(void **)&found.unlock = dlsym(libc, "pthread_mutex_unlock");
  *(void **)&found.wait = dlsym(libc, "pthread_cond_wait");
  *(void **)&found.signal = dlsym(libc, "pthread_cond_signal");
  *(void **)&found.sem_wait = dlsym(libc, "sem_wait");
  *(void **)&found.sem_post = dlsym(libc, "sem_post");
}

/* ---- what does not concern the gate is as before */

int is_first(void); /* this program's, and one of its name may follow */
int is_first(void) { return 1; }

static void test_others(void) {
  void *self = dlopen(NULL, RTLD_NOW);
  CHECK(dlsym(libc, "strlen") == dlsym(RTLD_DEFAULT, "strlen"));
  CHECK(dlsym(self, "is_first") == (void *)is_first);
  CHECK(dlsym(RTLD_DEFAULT, "is_first") == (void *)is_first);
  CHECK(dlerror() == NULL);
  CHECK(dlsym(RTLD_NEXT, "is_first") == NULL && strstr(dlerror(), "is_first") != NULL);
  CHECK(dlsym(libc, "none") == NULL && strstr(dlerror(), "none") != NULL && dlerror() == NULL);
  CHECK(dlvsym(libc, "sem_post", "NONE") == NULL && strstr(dlerror(), "NONE") != NULL);
  CHECK(dlsym(libc, "sem_post") != NULL && dlerror() == NULL);
}

/* The version of today, and on x86-64 that of conditions as they were before 2003. */
static void test_versions(void) {
#if defined(__x86_64__)
  void *old = dlvsym(libc, "pthread_cond_signal", "GLIBC_2.2.5");
  CHECK(dlvsym(libc, "pthread_cond_signal", "GLIBC_2.3.2") == (void *)found.signal);
  CHECK(old != NULL && old != (void *)found.signal);
#elif defined(__aarch64__)
  CHECK(dlvsym(libc, "pthread_cond_signal", "GLIBC_2.17") == (void *)found.signal);
#endif
}

int main(int argc, char **argv) {
  libc = dlopen("libc.so.6", RTLD_NOW);
  CHECK(libc != NULL);
  for (int i = 1; i < argc; i++) compare(argv[i]);
  find_all();
  test_others();
  test_follower();
  test_versions();
  test_waits();
  puts("right");
  return 0;
}
