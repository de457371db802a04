/* SPDX-License-Identifier: Apache-2.0 */
/* FFTW keeps what it has learnt of sizes for the process. */
#include <fftw3.h>

#include "work.h"

int main(int argc, char **argv) {
  int rank = work_start(&argc, &argv);
  double sum = 0;
  for (int step = 0; step < 20; step++) {
    int n = 60 + (step * 7 + rank * 13) % 200;
    fftw_complex *in = fftw_alloc_complex((size_t)n), *out = fftw_alloc_complex((size_t)n);
    fftw_plan plan = fftw_plan_dft_1d(n, in, out, FFTW_FORWARD, FFTW_ESTIMATE);
    for (int i = 0; i < n; i++) in[i][0] = (i * rank) % 11, in[i][1] = 0;
    if (step % 5 == 0) work_mix();
    fftw_execute(plan);
    sum += out[n / 3][0] - out[n / 5][1];
    fftw_destroy_plan(plan);
    fftw_free(in);
    fftw_free(out);
  }
  return work_end(sum);
}
