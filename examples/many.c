/* SPDX-License-Identifier: Apache-2.0 */
/* A hundred thousand threads alive at once, all blocked in one barrier, then released. */
#include <mltp/mltp.h>
#include <stdio.h>

#ifdef __SANITIZE_THREAD__
enum { THREADS = 1000 }; /* ThreadSanitizer is slow with more, and knows some 8000 at most */
#else
enum { THREADS = 100000 };
#endif

static mltp_barrier_t gate = MLTP_BARRIER_INIT(THREADS + 1);
static mltp_lock_t lock = MLTP_LOCK_INIT;
static mltp_cond_t last_left = MLTP_COND_INIT;
static int left; /* under the lock */

static void *wait_at_gate(void *unused) {
  mltp_barrier_wait(&gate);
  mltp_lock(&lock);
  if (++left == THREADS) mltp_cond_signal(&last_left);
  mltp_unlock(&lock);
  return unused;
}

int main(void) {
  mltp_attr_t attr = MLTP_ATTR_INIT;
  attr.stack_size = 16384;
  attr.detached = 1; /* nobody joins: each is freed as it ends */
  if (mltp_init(0) != 0) return 1;
  uint64_t start = mltp_now();
  for (int i = 0; i < THREADS; i++)
    if (mltp_create(NULL, &attr, wait_at_gate, NULL) != 0) return 1;
  mltp_barrier_wait(&gate); /* returns when all have come */
  mltp_lock(&lock);
  while (left < THREADS) mltp_cond_wait(&last_left, &lock);
  mltp_unlock(&lock);
  double seconds = (double)(mltp_now() - start) / 1e9;
  mltp_finalize();
  printf("many: %d threads blocked, released and ended in %.2f s\n", left, seconds);
  return left == THREADS ? 0 : 1;
}
