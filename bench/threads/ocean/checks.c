/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file checks.c
 * What must hold at the end, whatever the answer: the elliptic equations are
 * solved, water is conserved, the coast is a streamline, and the water moves at a
 * speed water moves at.
 */
#include <math.h>

#include "ocean.h"

/** Trapezoid weight of point i of n: half at either end. */
static double weight(long i, long n) { return i == 0 || i == n - 1 ? 0.5 : 1.0; }

double ocean_integral(const struct ocean *o, struct grid g) {
  double sum = 0;
  for (long i = 0; i < o->n; i++) {
    const double *row = grid_row(g, i);
    double row_sum = 0;
    for (long j = 0; j < o->n; j++) row_sum += weight(j, o->n) * row[j];
    sum += weight(i, o->n) * row_sum;
  }
  return sum * o->spacing * o->spacing;
}

/** Largest |rhs - (lap - lambda^2) q| relative to the largest |rhs|, from the definition. */
static double residual(const struct ocean *o, double lambda2, struct grid q, struct grid rhs) {
  double largest = 0, scale = 0;
  for (long i = 1; i <= o->inner; i++) {
    for (long j = 1; j <= o->inner; j++) {
      const double centre = grid_row(q, i)[j];
      const double lap = (grid_row(q, i - 1)[j] + grid_row(q, i + 1)[j] + grid_row(q, i)[j - 1] +
                          grid_row(q, i)[j + 1] - 4 * centre) /
                         (o->spacing * o->spacing);
      largest = fmax(largest, fabs(grid_row(rhs, i)[j] - lap + lambda2 * centre));
      scale = fmax(scale, fabs(grid_row(rhs, i)[j]));
    }
  }
  return scale > 0 ? largest / scale : 0;
}

static void check_coast(const struct ocean *o, double scale, struct bench_outcome *outcome) {
  const double upper = grid_row(o->psi[0], 0)[0], lower = grid_row(o->psi[1], 0)[0];
  double off = fabs(OCEAN_H1 * upper + OCEAN_H3 * lower) / OCEAN_H;
  for (long k = 0; k < o->n; k++) {
    const long coast[][2] = {{0, k}, {o->n - 1, k}, {k, 0}, {k, o->n - 1}};
    for (int side = 0; side < 4; side++) {
      const long i = coast[side][0], j = coast[side][1];
      off = fmax(off, fabs(grid_row(o->psi[0], i)[j] - upper));
      off = fmax(off, fabs(grid_row(o->psi[1], i)[j] - lower));
    }
  }
  if (!(off <= 1e-12 * scale)) {
    bench_fail(outcome, "the coast is no streamline: off by %.3g of %.3g", off, scale);
  }
}

void ocean_check(const struct ocean *o, struct bench_outcome *outcome) {
  double scale = 0, fastest = 0, checksum = 0;
  for (int layer = 0; layer < 2; layer++) {
    for (long i = 0; i < o->n; i++) {
      const double *psi = grid_row(o->psi[layer], i);
      for (long j = 0; j < o->n; j++) {
        scale = fmax(scale, fabs(psi[j]));
        if (j > 0) fastest = fmax(fastest, fabs(psi[j] - psi[j - 1]) / o->spacing);
        /* Weights by place, so that values in the wrong place show. */
        checksum += psi[j] * psi[j] * (1 + (double)((7 * i + 3 * j + layer) % 11));
      }
    }
  }
  outcome->checksum = checksum;

  const double allowed = o->params.problem.tolerance;
  const double left_a = residual(o, o->helmholtz.lambda2, o->gamma_a, o->rhs_a);
  const double left_b = residual(o, 0, o->gamma_b, o->rhs_b);
  const double water = ocean_integral(o, o->psi[0]) - ocean_integral(o, o->psi[1]);
  const double lost = fabs(water - o->psi_diff_integral) / (scale * OCEAN_WIDTH * OCEAN_WIDTH);

  if (!isfinite(checksum) || !(fastest > 1e-3 && fastest < 10)) {
    bench_fail(outcome, "the water moves at %.3g m/s", fastest);
  } else if (o->diverged) {
    bench_fail(outcome, "an elliptic equation was not solved to %.3g", allowed);
  } else if (!(left_a <= 2 * allowed && left_b <= 2 * allowed)) {
    bench_fail(outcome, "residuals %.3g and %.3g exceed %.3g", left_a, left_b, allowed);
  } else if (!(lost <= 1e-12)) {
    bench_fail(outcome, "water is not conserved: %.3g of it is lost", lost);
  } else {
    check_coast(o, scale, outcome);
  }
}
