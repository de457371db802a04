/* SPDX-License-Identifier: Apache-2.0 */
/* A program of BLAS as others write it: dgemm SIZE TIMES. The product of a matrix and twice the
 * unit matrix is twice the matrix. */
#include <cblas.h>
#include <stdio.h>
#include <stdlib.h>

static double *numbers(size_t count) {
  double *all = calloc(count, sizeof *all);
  if (all == NULL) exit(2);
  return all;
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 200, times = argc > 2 ? atoi(argv[2]) : 10, wrong = 0;
  size_t count = (size_t)n * (size_t)n;
  double *a = numbers(count), *b = numbers(count), *c = numbers(count);
  for (size_t i = 0; i < count; i++) {
    a[i] = (double)(i % 1000);
    b[i] = i % ((size_t)n + 1) == 0 ? 2 : 0;
  }
  for (int k = 0; k < times; k++)
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, a, n, b, n, 0, c, n);
  for (size_t i = 0; i < count; i++) wrong += c[i] != 2 * a[i];
  printf("%s\n", wrong == 0 ? "right" : "wrong");
  free(a);
  free(b);
  free(c);
  return wrong != 0;
}
