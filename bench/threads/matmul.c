/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file matmul.c
 * Product of two square matrices of doubles, in square tiles (thesis 4.3): either
 * every thread takes the next tile under a lock (dynamic self-scheduling, 4.3.1),
 * or tiles are shared out by thread number without any lock (fixed, 4.3.2).
 */
#include <math.h>
#include <stdlib.h>

#include "harness/experiment.h"
#include "harness/timer.h"

/** Elements a side of a tile: three tiles (24 KiB) fit a first-level cache. */
enum { TILE = 32 };

struct matmul {
  const struct par *par;
  double *a, *b, *c;
  long n;
  long tiles_a_side;
  int threads;
  bool fixed;
  _Alignas(64) union par_lock lock;
  long next; /* [lock] first tile nobody has taken */
};

static long min_long(long x, long y) { return x < y ? x : y; }

static void multiply_tile(const struct matmul *m, long tile) {
  const long n = m->n;
  const long i0 = tile / m->tiles_a_side * TILE, i1 = min_long(i0 + TILE, n);
  const long j0 = tile % m->tiles_a_side * TILE, j1 = min_long(j0 + TILE, n);
  for (long k0 = 0; k0 < n; k0 += TILE) {
    const long k1 = min_long(k0 + TILE, n);
    for (long i = i0; i < i1; i++) {
      double *restrict c = m->c + i * n;
      for (long k = k0; k < k1; k++) {
        const double a = m->a[i * n + k];
        const double *restrict b = m->b + k * n;
        for (long j = j0; j < j1; j++) c[j] += a * b[j];
      }
    }
  }
}

static void multiply(void *arg, int index) {
  struct matmul *m = arg;
  const long tiles = m->tiles_a_side * m->tiles_a_side;
  if (m->fixed) {
    const long end = par_share(tiles, m->threads, index + 1);
    for (long t = par_share(tiles, m->threads, index); t < end; t++) multiply_tile(m, t);
    return;
  }
  for (;;) {
    m->par->lock(&m->lock);
    const long tile = m->next;
    if (tile < tiles) m->next++;
    m->par->unlock(&m->lock);
    if (tile >= tiles) return;
    multiply_tile(m, tile);
  }
}

/** Compares with the definition of the product, in another order of operations. */
static void verify(const struct matmul *m, struct bench_outcome *outcome) {
  const long n = m->n;
  double checksum = 0;
  for (long i = 0; i < n; i++) {
    for (long j = 0; j < n; j++) {
      double sum = 0;
      for (long k = n - 1; k >= 0; k--) sum += m->a[i * n + k] * m->b[k * n + j];
      const double got = m->c[i * n + j];
      if (!(fabs(got - sum) <= 1e-12 * (double)n)) {
        bench_fail(outcome, "element %ld,%ld is %.15g, not %.15g", i, j, got, sum);
        return;
      }
      checksum += got * got;
    }
  }
  outcome->checksum = checksum;
}

/** The same matrices in each run: elements within -1..1 without a pattern. */
static void fill(double *matrix, long n, double phase) {
  for (long i = 0; i < n * n; i++) matrix[i] = sin(phase + 0.7 * (double)i);
}

static void run(const struct par *par, const struct bench_params *params,
                struct bench_outcome *outcome) {
  const long n = params->problem.size;
  const size_t elements = (size_t)n * (size_t)n;
  struct matmul m = {.par = par,
                     .a = malloc(elements * sizeof(double)),
                     .b = malloc(elements * sizeof(double)),
                     .c = calloc(elements, sizeof(double)),
                     .n = n,
                     .tiles_a_side = (n + TILE - 1) / TILE,
                     .threads = params->threads,
                     .fixed = params->problem.schedule == BENCH_FIXED};
  if (m.a == NULL || m.b == NULL || m.c == NULL) {
    bench_fail(outcome, "no memory for three %ldx%ld matrices", n, n);
    goto done;
  }
  fill(m.a, n, 0.1);
  fill(m.b, n, 0.2);

  par->lock_init(&m.lock);
  bench_timer_start(outcome);
  const int err = par->run(params->threads, multiply, &m);
  bench_timer_stop(outcome);
  par->lock_destroy(&m.lock);

  if (err != 0) {
    bench_fail(outcome, "thread creation failed: errno %d", err);
  } else {
    verify(&m, outcome);
  }
done:
  free(m.a);
  free(m.b);
  free(m.c);
}

const struct experiment bench_matmul = {
    .name = "matmul",
    .shows = "product of two matrices in tiles, --schedule dynamic (a lock per tile) or fixed",
    .section = "thesis 4.3",
    .impls = "mltp,mltp-kernel,pthreads",
    .threads = {5, {1, 2, 4, 8, 16}},
    .runs = 7,
    .problem = {.size = 256, .schedule = BENCH_DYNAMIC},
    .quick = {.size = 96, .schedule = BENCH_DYNAMIC},
    .run = run,
};
