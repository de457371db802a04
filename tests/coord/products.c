/* SPDX-License-Identifier: Apache-2.0 */
/* A program of OpenBLAS that knows nothing of MLTP: the four matrix products, in both spellings.
 * Prints a line for each: its name, OpenBLAS's number of threads after it, and whether it is right.
 */
#include <cblas.h>
#include <stdio.h>

enum { N = 128 };

/* Not in every cblas.h. */
void dgemm_(const char *, const char *, const int *, const int *, const int *, const double *,
            const double *, const int *, const double *, const int *, const double *, double *,
            const int *);
void sgemm_(const char *, const char *, const int *, const int *, const int *, const float *,
            const float *, const int *, const float *, const int *, const float *, float *,
            const int *);

static double a[N * N], b[N * N], c[N * N];
static float fa[N * N], fb[N * N], fc[N * N];

static void tell(const char *name, int right) {
  printf("%s %d %s\n", name, openblas_get_num_threads(), right ? "right" : "wrong");
}

/* The product of ones and twice the unit matrix: twos. */
static int are_twos(void) {
  for (int i = 0; i < N * N; i++)
    if (c[i] != 2) return 0;
  return 1;
}

static int are_float_twos(void) {
  for (int i = 0; i < N * N; i++)
    if (fc[i] != 2) return 0;
  return 1;
}

static void clear(void) {
  for (int i = 0; i < N * N; i++) c[i] = fc[i] = 0;
}

int main(void) {
  const int n = N;
  const double one = 1, zero = 0;
  const float float_one = 1, float_zero = 0;
  for (int i = 0; i < N * N; i++) {
    a[i] = fa[i] = 1;
    b[i] = fb[i] = i % (N + 1) == 0 ? 2 : 0;
  }
  dgemm_("N", "N", &n, &n, &n, &one, a, &n, b, &n, &zero, c, &n);
  tell("dgemm_", are_twos());
  clear();
  cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, a, n, b, n, 0, c, n);
  tell("cblas_dgemm", are_twos());
  sgemm_("N", "N", &n, &n, &n, &float_one, fa, &n, fb, &n, &float_zero, fc, &n);
  tell("sgemm_", are_float_twos());
  clear();
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, fa, n, fb, n, 0, fc, n);
  tell("cblas_sgemm", are_float_twos());
  return 0;
}
