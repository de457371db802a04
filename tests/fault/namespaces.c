/* SPDX-License-Identifier: Apache-2.0 */
/* A libc in a namespace of its own (dlmopen()) makes a thread that the program's libc does not
 * know. It takes our locks as any foreign thread does. ThreadSanitizer crashes in such a thread, so
 * mltp_init() says what will happen. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/support.h"

enum { ROUNDS = 20000 };

static struct outcome outcome;
static mltp_lock_t lock = MLTP_LOCK_INIT;
static long sum; /* under the lock; not atomic, so that two holders are seen */

static void *add(void *unused) {
  (void)unused;
  for (int i = 0; i < ROUNDS; i++) {
    mltp_lock(&lock);
    long seen = sum;
    __asm__ volatile("" ::: "memory");
    sum = seen + 1;
    mltp_unlock(&lock);
  }
  return NULL;
}

static void start_thread_of(void *libc) {
  pthread_t thread;
  int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
  int (*join)(pthread_t, void **);
  *(void **)&create = dlsym(libc, "pthread_create");
  *(void **)&join = dlsym(libc, "pthread_join");
  if (create == NULL || join == NULL || create(&thread, NULL, add, NULL) != 0) _exit(3);
  add(NULL);
  if (join(thread, NULL) != 0 || sum != 2 * ROUNDS) _exit(4);
}

static void two_libcs(void) {
  void *libc = dlmopen(LM_ID_NEWLM, "libc.so.6", RTLD_NOW);
  if (libc == NULL || mltp_init(0) != 0) _exit(2);
  if (!THREAD_SANITIZED) start_thread_of(libc);
  mltp_finalize();
}

static void another_libc_makes_a_thread(void) {
  run_child(&outcome, two_libcs, (const char *const[]){NULL});
  CHECK(WIFEXITED(outcome.status));
  CHECK_EQUAL(WEXITSTATUS(outcome.status), 0);
  if (THREAD_SANITIZED)
    CHECK(strstr(outcome.said, "ThreadSanitizer does not see threads of a second libc") != NULL);
  else
    CHECK_TEXT(outcome.said, "");
}

static void one_libc(void) {
  if (dlopen("libm.so.6", RTLD_NOW) == NULL || mltp_init(0) != 0) _exit(2);
  mltp_finalize();
}

static void one_libc_needs_no_word(void) {
  run_child(&outcome, one_libc, (const char *const[]){NULL});
  CHECK_EQUAL(outcome.status, 0);
  CHECK_TEXT(outcome.said, "");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST_BARE(another_libc_makes_a_thread),
      TEST_BARE(one_libc_needs_no_word),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
