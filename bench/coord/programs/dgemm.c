/* SPDX-License-Identifier: Apache-2.0 */
/* A program of BLAS as others write it: dgemm SIZE TIMES. The product of a matrix and twice the
 * unit matrix is twice the matrix. */
#include <cblas.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 200, times = argc > 2 ? atoi(argv[2]) : 10, wrong = 0;
  size_t count = (size_t)n * (size_t)n;
  double *a = calloc(count, sizeof *a), *b = calloc(count, sizeof *b),
         *c = calloc(count, sizeof *c);
  if (n < 1 || a == NULL || b == NULL || c == NULL) return 2;
  for (size_t i = 0; i < count; i++) {
    a[i] = (double)(i % 1000);
    b[i] = i % ((size_t)n + 1) == 0 ? 2 : 0;
  }
  for (int k = 0; k < times; k++)
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, a, n, b, n, 0, c, n);
  for (size_t i = 0; i < count; i++) wrong += c[i] != 2 * a[i];
  printf("%s\n", wrong == 0 ? "right" : "wrong");
  return wrong != 0;
}
