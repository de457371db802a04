/* SPDX-License-Identifier: Apache-2.0 */
/* A thousand threads add their numbers to one sum. */
#include <mltp/mltp.h>
#include <stdio.h>

enum { THREADS = 1000 };

static mltp_lock_t lock = MLTP_LOCK_INIT;
static long sum;

static void *add(void *number) {
  mltp_lock(&lock);
  sum += (long)number;
  mltp_unlock(&lock);
  return NULL;
}

int main(void) {
  mltp_t *threads[THREADS];
  if (mltp_init(0) != 0) return 1; /* it has said why */
  for (long i = 0; i < THREADS; i++)
    if (mltp_create(&threads[i], NULL, add, (void *)(i + 1)) != 0) return 1;
  for (int i = 0; i < THREADS; i++) mltp_join(threads[i], NULL);
  mltp_finalize();
  printf("hello: %d threads made the sum %ld\n", THREADS, sum);
  return sum == THREADS * (THREADS + 1L) / 2 ? 0 : 1;
}
