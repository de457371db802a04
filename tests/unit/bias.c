/* SPDX-License-Identifier: Apache-2.0 */
/* The bias of internal locks (src/base/single_threaded.h): the one VP takes locks without locked
 * instructions, until another kernel thread comes. Each round is a process of its own, since the
 * bias is lost only once. */
#define _GNU_SOURCE /* the runtime's headers want it */
#include <sched.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/single_threaded.h"
#include "support/support.h"

static mltp_lock_t lock = MLTP_LOCK_INIT;
static mltp_sem_t sem;
static int here, come, gone; /* [atomic] the other runs; may come to the lock; has ended */
static long total;           /* under the lock; not atomic, so that two holders are seen */
static long taken;           /* [atomic] the semaphore's posts that were taken */

enum { SECTIONS = 20000 };

static int get(const int *flag) { return __atomic_load_n(flag, __ATOMIC_ACQUIRE); }

static void set(int *flag) { __atomic_store_n(flag, 1, __ATOMIC_RELEASE); }

static void section(void) {
  mltp_lock(&lock);
  long seen = total;
  __asm__ volatile("" ::: "memory");
  total = seen + 1;
  mltp_unlock(&lock);
}

/* Posts and takes under the semaphore's internal lock. */
static void handle(void) {
  mltp_sem_post(&sem);
  if (mltp_sem_wait_try(&sem) == 0) __atomic_add_fetch(&taken, 1, __ATOMIC_RELAXED);
}

static void *other(void *trying) {
  set(&here);
  while (!get(&come)) continue;
  if (trying != NULL) /* its first operation is a try */
    while (mltp_lock_try(&lock) != 0) continue;
  else
    mltp_lock(&lock);
  total++;
  mltp_unlock(&lock);
  for (int i = 1; i < SECTIONS; i++) {
    section();
    handle();
  }
  set(&gone);
  return NULL;
}

/* The owner of the bias is at work when the other comes. */
static void meet(int round) {
  pthread_t thread;
  long sections = 0;
  if (mltp_init(1) != 0 || mltp_sem_init(&sem, 0, NULL) != 0) _exit(2);
  if (pthread_create(&thread, NULL, other, round % 2 == 0 ? NULL : &lock) != 0) _exit(3);
  while (!get(&here)) sched_yield();
  for (; !get(&gone); sections++) {
    if (sections == round) set(&come);
    section();
    handle();
  }
  pthread_join(thread, NULL);
  long left = mltp_sem_value(&sem);
  if (mltp_finalize() != 0) _exit(4);
  if (total != sections + SECTIONS) _exit(5);
  _exit(taken + left == sections + SECTIONS - 1 ? 0 : 6);
}

static int in_process(void (*body)(int), int round) {
  int status = -1;
  fflush(NULL);
  pid_t pid = fork();
  if (pid == 0) body(round);
  if (pid > 0) waitpid(pid, &status, 0);
  return status;
}

static void revoked_at_work(void) {
  for (int round = 0; round < scaled(60); round++) {
    check_case("round %d", round);
    CHECK_EQUAL(in_process(meet, round), 0);
  }
}

/* @return whether the calling kernel thread has the bias. */
static int has_bias(void) {
  return __atomic_load_n(&mt_bias_block.share, __ATOMIC_RELAXED) == MT_BIAS_MINE;
}

static void *do_nothing(void *p0) { return p0; }

/* 1: the process has had another kernel thread before. */
static void take(int had_another) {
  pthread_t thread;
  if (had_another && pthread_create(&thread, NULL, do_nothing, NULL) == 0)
    pthread_join(thread, NULL);
  if (mltp_init(1) != 0) _exit(2);
  int has = has_bias(), may = mt_fence_asymmetric && !THREAD_SANITIZED && !on_kernel_backend();
  _exit(has == (may && !had_another) ? 0 : 3);
}

static void only_the_first_kernel_thread_has_it(void) {
  for (int had_another = 0; had_another < 2; had_another++) {
    check_case("%s", had_another ? "a process that had another one" : "one kernel thread");
    CHECK_EQUAL(in_process(take, had_another), 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST_BARE(only_the_first_kernel_thread_has_it),
      TEST_BARE(revoked_at_work),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
