/* SPDX-License-Identifier: Apache-2.0 */
/* A program of OpenBLAS or BLIS that knows nothing of MLTP: products and factors of matrices, in
 * both spellings. Prints a line for each: its name, the library's number of threads after it, and
 * whether it is right. Matrices have one value on the diagonal and another beside it. */
#include <cblas.h>
#include <complex.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { N = 128, SMALL = 16 };

#ifdef USE_BLIS /* has no LAPACK; its header has other types for BLAS's functions than we have */
int64_t bli_thread_get_num_threads(void);
#define get_threads() ((int)bli_thread_get_num_threads())
#else
#define get_threads() openblas_get_num_threads()
#endif

/* Not in every cblas.h. */
#define MATRIX const void *, const int *
void dgemm_(const char *, const char *, const int *, const int *, const int *, const void *, MATRIX,
            MATRIX, const void *, MATRIX);
void sgemm_(const char *, const char *, const int *, const int *, const int *, const void *, MATRIX,
            MATRIX, const void *, MATRIX);
void zgemm_(const char *, const char *, const int *, const int *, const int *, const void *, MATRIX,
            MATRIX, const void *, MATRIX);
void dsymm_(const char *, const char *, const int *, const int *, const void *, MATRIX, MATRIX,
            const void *, MATRIX);
void dsyrk_(const char *, const char *, const int *, const int *, const void *, MATRIX,
            const void *, MATRIX);
void dsyr2k_(const char *, const char *, const int *, const int *, const void *, MATRIX, MATRIX,
             const void *, MATRIX);
void dtrmm_(const char *, const char *, const char *, const char *, const int *, const int *,
            const void *, MATRIX, MATRIX);
void dtrsm_(const char *, const char *, const char *, const char *, const int *, const int *,
            const void *, MATRIX, MATRIX);
void dgesv_(const int *, const int *, MATRIX, int *, MATRIX, int *);
void dgetrf_(const int *, const int *, MATRIX, int *, int *);
void dpotrf_(const char *, const int *, MATRIX, int *);

static const int n = N;
static const double one = 1, zero = 0;
static double twos[N * N], ones[N * N], c[N * N]; /* twos: of the diagonal alone */
static int info;

static void fill(double *matrix, double diagonal, double beside) {
  for (int i = 0; i < N * N; i++) matrix[i] = i % (N + 1) == 0 ? diagonal : beside;
}

static bool is(const double *matrix, double diagonal, double beside) {
  for (int i = 0; i < N * N; i++)
    if (matrix[i] != (i % (N + 1) == 0 ? diagonal : beside)) return false;
  return true;
}

/* Tells whether c is as expected, and clears it. */
static void tell(const char *name, double diagonal, double beside) {
  bool right = is(c, diagonal, beside) && info == 0;
  printf("%s %d %s\n", name, get_threads(), right ? "right" : "wrong");
  fill(c, 0, 0);
}

static void multiply_doubles(void) {
  dgemm_("N", "N", &n, &n, &n, &one, ones, &n, twos, &n, &zero, c, &n);
  tell("dgemm_", 2, 2);
  cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, ones, n, twos, n, 0, c, n);
  tell("cblas_dgemm", 2, 2);
  dsymm_("L", "U", &n, &n, &one, twos, &n, ones, &n, &zero, c, &n);
  tell("dsymm_", 2, 2);
  cblas_dsymm(CblasRowMajor, CblasLeft, CblasUpper, n, n, 1, twos, n, ones, n, 0, c, n);
  tell("cblas_dsymm", 2, 2);
  dsyrk_("U", "N", &n, &n, &one, twos, &n, &zero, c, &n);
  tell("dsyrk_", 4, 0);
  cblas_dsyrk(CblasRowMajor, CblasUpper, CblasNoTrans, n, n, 1, twos, n, 0, c, n);
  tell("cblas_dsyrk", 4, 0);
  dsyr2k_("U", "N", &n, &n, &one, twos, &n, twos, &n, &zero, c, &n);
  tell("dsyr2k_", 8, 0);
  cblas_dsyr2k(CblasRowMajor, CblasUpper, CblasNoTrans, n, n, 1, twos, n, twos, n, 0, c, n);
  tell("cblas_dsyr2k", 8, 0);
}

/* These replace c. */
static void solve_triangles(void) {
  fill(c, 1, 1);
  dtrmm_("L", "U", "N", "N", &n, &n, &one, twos, &n, c, &n);
  tell("dtrmm_", 2, 2);
  fill(c, 1, 1);
  cblas_dtrmm(CblasRowMajor, CblasLeft, CblasUpper, CblasNoTrans, CblasNonUnit, n, n, 1, twos, n, c,
              n);
  tell("cblas_dtrmm", 2, 2);
  fill(c, 1, 1);
  dtrsm_("L", "U", "N", "N", &n, &n, &one, twos, &n, c, &n);
  tell("dtrsm_", .5, .5);
  fill(c, 1, 1);
  cblas_dtrsm(CblasRowMajor, CblasLeft, CblasUpper, CblasNoTrans, CblasNonUnit, n, n, 1, twos, n, c,
              n);
  tell("cblas_dtrsm", .5, .5);
}

#ifndef USE_BLIS
static void factor(void) {
  static int pivots[N];
  fill(c, 4, 0);
  dpotrf_("U", &n, c, &n, &info);
  tell("dpotrf_", 2, 0);
  fill(c, 2, 0);
  dgetrf_(&n, &n, c, &n, pivots, &info);
  tell("dgetrf_", 2, 0);
  fill(c, 1, 1);
  dgesv_(&n, &n, twos, &n, pivots, c, &n, &info); /* twos stays: it is its own factor */
  tell("dgesv_", .5, .5);
}
#endif

static void multiply_floats(void) {
  static float a[N * N], b[N * N], product[N * N];
  const float float_one = 1, float_zero = 0;
  for (int i = 0; i < N * N; i++) {
    a[i] = (float)ones[i];
    b[i] = (float)twos[i];
  }
  sgemm_("N", "N", &n, &n, &n, &float_one, a, &n, b, &n, &float_zero, product, &n);
  for (int i = 0; i < N * N; i++) c[i] = product[i];
  tell("sgemm_", 2, 2);
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, b, n, b, n, 0, product, n);
  for (int i = 0; i < N * N; i++) c[i] = product[i];
  tell("cblas_sgemm", 4, 0);
}

static void multiply_complexes(void) {
  static double complex a[N * N], product[N * N];
  const double complex complex_one = 1, complex_zero = 0;
  for (int i = 0; i < N * N; i++) a[i] = twos[i] * I;
  zgemm_("N", "N", &n, &n, &n, &complex_one, a, &n, a, &n, &complex_zero, product, &n);
  for (int i = 0; i < N * N; i++) c[i] = creal(product[i]);
  tell("zgemm_", -4, 0);
  cblas_zgemm(CblasRowMajor, CblasNoTrans, CblasConjTrans, n, n, n, &complex_one, a, n, a, n,
              &complex_zero, product, n);
  for (int i = 0; i < N * N; i++) c[i] = creal(product[i]);
  tell("cblas_zgemm", 4, 0);
}

/* A product so small that OpenBLAS takes one thread: its number of threads is left as it is. */
static void multiply_little(void) {
  const int small = SMALL;
  dgemm_("N", "N", &small, &small, &small, &one, ones, &n, twos, &n, &zero, c, &n);
  for (int i = 0; i < N * N; i++) c[i] -= i % N < SMALL && i / N < SMALL ? 2 : 0;
  tell("small", 0, 0);
}

int main(void) {
  fill(ones, 1, 1);
  fill(twos, 2, 0);
  multiply_little();
  multiply_doubles();
  solve_triangles();
#ifndef USE_BLIS
  factor();
#endif
  multiply_floats();
  multiply_complexes();
  return 0;
}
