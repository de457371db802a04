/* SPDX-License-Identifier: Apache-2.0 */
/* A broadcast to threads that wait on more VPs than mt_ready_chain() has chains for. */
#include <stdatomic.h>
#include <stdlib.h>

#include "support/support.h"

enum { VPS = 24, VPS_MOST = 1024, CHAINS = 8, ROUNDS = 300 };

static pthread_barrier_t all;
static mltp_lock_t lock = MLTP_LOCK_INIT;
static mltp_cond_t cond = MLTP_COND_INIT;
static int waiting, woken, open_now; /* under the lock */
static atomic_int on_vp[VPS_MOST];   /* the monitor may add VPs */

/* All threads are in the kernel at the same time, so each has a VP of its own. */
static void *wait_on_a_vp(void *p0) {
  mltp_blocking_begin();
  pthread_barrier_wait(&all);
  mltp_blocking_end();
  mltp_lock(&lock);
  if (mltp_vp() >= 0) atomic_store(&on_vp[mltp_vp()], 1);
  waiting++;
  while (!open_now) mltp_cond_wait(&cond, &lock);
  woken++;
  mltp_unlock(&lock);
  return p0;
}

/* @return on how many VPs the threads waited. */
static int broadcast(void) {
  mltp_t *threads[VPS - 1];
  int vps = 0, ready = 0;
  for (int i = 0; i < VPS_MOST; i++) atomic_store(&on_vp[i], 0);
  waiting = woken = open_now = 0;
  for (int i = 0; i < VPS - 1; i++) threads[i] = spawn(wait_on_a_vp, NULL);
  while (ready < VPS - 1) {
    mltp_yield();
    mltp_lock(&lock);
    ready = waiting;
    mltp_unlock(&lock);
  }
  for (int i = 0; i < VPS_MOST; i++) vps += atomic_load(&on_vp[i]);
  mltp_lock(&lock);
  open_now = 1;
  mltp_cond_broadcast(&cond);
  mltp_unlock(&lock);
  for (int i = 0; i < VPS - 1; i++) mltp_join(threads[i], NULL);
  CHECK_EQUAL(woken, VPS - 1);
  return vps;
}

/* Where a thread returns from the kernel is up to chance, so until there were enough VPs. */
static void broadcast_to_many_vps(void) {
  int vps = 0;
  if (seeded()) skip(); /* one VP, which the barrier would block */
  setenv("MLTP_VPS", "24", 1);
  CHECK_EQUAL(mltp_init(VPS), 0);
  pthread_barrier_init(&all, NULL, VPS - 1);
  for (int round = 0; round < ROUNDS && vps <= CHAINS; round++) vps = broadcast();
  if (!on_kernel_backend() && getenv("MLTP_SCHED") == NULL) CHECK(vps > CHAINS);
  CHECK_EQUAL(mltp_finalize(), 0);
  pthread_barrier_destroy(&all);
}

int main(void) {
  const struct CMUnitTest tests[] = {TEST_BARE(broadcast_to_many_vps)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
