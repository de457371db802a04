/* SPDX-License-Identifier: Apache-2.0 */
/* Running sums in log2(N) phases: thread i owns element i. In each phase it reads what
 * the phase before wrote, and a barrier keeps the phases apart. */
#include <mltp/mltp.h>
#include <stdio.h>

enum { N = 256 };

static mltp_barrier_t phase_ends = MLTP_BARRIER_INIT(N);
static long sums[2][N];
static int phases; /* counted by the one thread that each barrier singles out */

static void *run(void *number) {
  long i = (long)number;
  int now = 0;
  for (long distance = 1; distance < N; distance *= 2, now = !now) {
    sums[!now][i] = sums[now][i] + (i >= distance ? sums[now][i - distance] : 0);
    if (mltp_barrier_wait(&phase_ends) == MLTP_BARRIER_SERIAL) phases++;
  }
  return &sums[now][i];
}

int main(void) {
  mltp_t *threads[N];
  int wrong = 0;
  if (mltp_init(0) != 0) return 1;
  for (long i = 0; i < N; i++) sums[0][i] = i + 1;
  for (long i = 0; i < N; i++)
    if (mltp_create(&threads[i], NULL, run, (void *)i) != 0) return 1;
  for (long i = 0; i < N; i++) {
    void *result;
    mltp_join(threads[i], &result);
    wrong += *(long *)result != (i + 1) * (i + 2) / 2;
  }
  mltp_barrier_destroy(&phase_ends);
  mltp_finalize();
  printf("barrier: %d threads made running sums in %d phases, %d wrong\n", N, phases, wrong);
  return wrong == 0 && 1 << phases == N ? 0 : 1;
}
