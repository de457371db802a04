/* SPDX-License-Identifier: Apache-2.0 */
/* OpenBLAS has threads of its own, which all ranks share. */
#include <cblas.h>

#include "work.h"

enum { N = 60 };

int main(int argc, char **argv) {
  int rank = work_start(&argc, &argv);
  double a[N * N], b[N * N], c[N * N], sum = 0;
  for (int i = 0; i < N * N; i++) a[i] = i % 7 + rank, b[i] = i % 5 - 2;
  for (int step = 0; step < 5; step++) {
    work_mix();
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, N, N, N, 1, a, N, b, N, 0, c, N);
    sum += cblas_ddot(N * N, a, 1, c, 1);
  }
  return work_end(sum);
}
