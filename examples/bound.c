/* SPDX-License-Identifier: Apache-2.0 */
/* A bound thread watches unbound workers: it has a kernel thread of its own, so it
 * looks on time however busy the VPs are. Both kinds use the same lock and condition. */
#include <mltp/mltp.h>
#include <stdio.h>

enum { WORKERS = 20, JOBS = 10, JOB_NS = 500000, WATCH_NS = 1000000 };

static mltp_lock_t lock = MLTP_LOCK_INIT;
static mltp_cond_t all_done = MLTP_COND_INIT;
static mltp_sem_t watching = MLTP_SEM_INIT(0);
static int done; /* jobs; under the lock */

static void *work(void *unused) {
  for (int i = 0; i < JOBS; i++) {
    mltp_sleep(JOB_NS); /* this thread waits, its VP does not */
    mltp_lock(&lock);
    if (++done == WORKERS * JOBS) mltp_cond_signal(&all_done);
    mltp_unlock(&lock);
  }
  return unused;
}

/* Looks once a millisecond, and at once when all is done. */
static void *watch(void *looks) {
  mltp_lock(&lock);
  mltp_sem_post(&watching);
  while (done < WORKERS * JOBS) {
    mltp_cond_wait_timed(&all_done, &lock, mltp_after(WATCH_NS));
    ++*(int *)looks;
  }
  mltp_unlock(&lock);
  return looks;
}

int main(void) {
  mltp_t *workers[WORKERS], *watcher;
  mltp_attr_t attr = MLTP_ATTR_INIT;
  int looks = 0;
  attr.name = "watcher";
  attr.bound = 1;
  if (mltp_init(0) != 0 || mltp_create(&watcher, &attr, watch, &looks) != 0) return 1;
  mltp_sem_wait(&watching); /* nothing is done before: it has the lock until it waits */
  for (int i = 0; i < WORKERS; i++)
    if (mltp_create(&workers[i], NULL, work, NULL) != 0) return 1;
  for (int i = 0; i < WORKERS; i++) mltp_join(workers[i], NULL);
  mltp_join(watcher, NULL);
  mltp_cond_destroy(&all_done); /* threads waited on it with a deadline */
  mltp_finalize();
  printf("bound: %d jobs done, watched %d times\n", done, looks);
  return done == WORKERS * JOBS && looks > 0 ? 0 : 1;
}
