/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file phases.c
 * A time step in the ten phases of the thesis's Figure 12. Within a phase a thread
 * writes only rows it owns and reads others' rows only of grids nobody writes; a
 * barrier ends each. The two solvers (phases 6 and 9) have barriers of their own.
 */
#include <math.h>

#include "ocean.h"

/** A row of the Laplacian; 0 on the coast (the water slips along it freely). */
static void laplacian_row(double *restrict out, struct grid g, long i, long inner,
                          double inverse_h2) {
  const double *restrict south = grid_row(g, i - 1);
  const double *restrict row = grid_row(g, i);
  const double *restrict north = grid_row(g, i + 1);
  out[0] = out[inner + 1] = 0;
  for (long j = 1; j <= inner; j++) {
    out[j] = inverse_h2 * (south[j] + north[j] + row[j - 1] + row[j + 1] - 4 * row[j]);
  }
}

/** A row of the Jacobian da/dx db/dy - da/dy db/dx in Arakawa's form (1966), the mean
 * of three differences, which conserves energy and squared vorticity. */
static void jacobian_row(double *restrict out, struct grid a, struct grid b, long i, long inner,
                         double inverse_12h2) {
  const double *restrict as = grid_row(a, i - 1), *restrict bs = grid_row(b, i - 1);
  const double *restrict ar = grid_row(a, i), *restrict br = grid_row(b, i);
  const double *restrict an = grid_row(a, i + 1), *restrict bn = grid_row(b, i + 1);
  for (long j = 1; j <= inner; j++) {
    out[j] =
        inverse_12h2 *
        ((ar[j + 1] - ar[j - 1]) * (bn[j] - bs[j]) - (an[j] - as[j]) * (br[j + 1] - br[j - 1]) +
         ar[j + 1] * (bn[j + 1] - bs[j + 1]) - ar[j - 1] * (bn[j - 1] - bs[j - 1]) -
         an[j] * (bn[j + 1] - bn[j - 1]) + as[j] * (bs[j + 1] - bs[j - 1]) +
         an[j + 1] * (bn[j] - br[j + 1]) - as[j - 1] * (br[j - 1] - bs[j]) -
         an[j - 1] * (bn[j] - br[j - 1]) + as[j + 1] * (br[j + 1] - bs[j]));
  }
}

static void copy_row(struct grid to, struct grid from, long i, long n) {
  memcpy(grid_row(to, i), grid_row(from, i), (size_t)n * sizeof(double));
}

/** 1: vorticity; the present kept aside; difference and mean of the layers; the solvers'
 * first guesses, which are the solutions of the last step. */
static void phase_vorticity(struct member *member) {
  struct ocean *o = member->ocean;
  const double inverse_h2 = 1 / (o->spacing * o->spacing);
  for (long i = member->first_all; i < member->end_all; i++) {
    const double *restrict upper = grid_row(o->psi[0], i);
    const double *restrict lower = grid_row(o->psi[1], i);
    const double *restrict psi_b = grid_row(o->psi_b, i);
    double *restrict diff = grid_row(o->psi_diff, i);
    double *restrict mid = grid_row(o->psi_mid, i);
    double *restrict guess = grid_row(o->gamma_a, i);
    for (int layer = 0; layer < 2; layer++) {
      copy_row(o->psi_now[layer], o->psi[layer], i, o->n);
      double *vorticity = grid_row(o->vorticity[layer], i);
      if (i > 0 && i <= o->inner) {
        laplacian_row(vorticity, o->psi[layer], i, o->inner, inverse_h2);
      } else {
        memset(vorticity, 0, (size_t)o->n * sizeof(double));
      }
    }
    for (long j = 0; j < o->n; j++) {
      diff[j] = upper[j] - lower[j];
      mid[j] = (OCEAN_H3 / OCEAN_H) * upper[j] + (OCEAN_H1 / OCEAN_H) * lower[j];
      guess[j] -= member->coast_rate * psi_b[j];
    }
  }
  if (member->index == 0) o->shared->rhs_max[0] = o->shared->rhs_max[1] = 0;
}

/** 2: absolute vorticity; the start of the leap goes where its end will be; relative
 * vorticity a step ago, for friction. */
static void phase_coriolis(struct member *member, long step) {
  struct ocean *o = member->ocean;
  const double inverse_h2 = 1 / (o->spacing * o->spacing);
  for (long i = member->first_all; i < member->end_all; i++) {
    for (int layer = 0; layer < 2; layer++) {
      double *restrict vorticity = grid_row(o->vorticity[layer], i);
      for (long j = 0; j < o->n; j++) vorticity[j] += o->f[i];
      if (!ocean_restarts(step)) copy_row(o->psi[layer], o->psi_before[layer], i, o->n);
      if (i > 0 && i <= o->inner) {
        laplacian_row(grid_row(o->drag[layer], i), o->psi_before[layer], i, o->inner, inverse_h2);
      }
    }
  }
}

/** 3: advection of vorticity; the present becomes the past; friction's second Laplacian. */
static void phase_advection(struct member *member) {
  struct ocean *o = member->ocean;
  const double inverse_h2 = 1 / (o->spacing * o->spacing);
  for (long i = member->first_all; i < member->end_all; i++) {
    for (int layer = 0; layer < 2; layer++) {
      copy_row(o->psi_before[layer], o->psi_now[layer], i, o->n);
      if (i == 0 || i > o->inner) continue;
      jacobian_row(grid_row(o->advection[layer], i), o->vorticity[layer], o->psi_now[layer], i,
                   o->inner, inverse_h2 / 12);
      laplacian_row(grid_row(o->lap4[layer], i), o->drag[layer], i, o->inner, inverse_h2);
    }
  }
}

/** 4: advection of the interface; friction: biharmonic in both layers, and of the bottom
 * in the lower one. */
static void phase_friction(struct member *member) {
  struct ocean *o = member->ocean;
  const double inverse_h2 = 1 / (o->spacing * o->spacing);
  for (long i = member->first; i < member->end; i++) {
    jacobian_row(grid_row(o->stretching, i), o->psi_diff, o->psi_mid, i, o->inner, inverse_h2 / 12);
    for (int layer = 0; layer < 2; layer++) {
      const double bottom = layer == 1 ? OCEAN_BOTTOM_DRAG : 0;
      const double *restrict south = grid_row(o->lap4[layer], i - 1);
      const double *restrict row = grid_row(o->lap4[layer], i);
      const double *restrict north = grid_row(o->lap4[layer], i + 1);
      double *restrict drag = grid_row(o->drag[layer], i);
      for (long j = 1; j <= o->inner; j++) {
        const double lap6 =
            inverse_h2 * (south[j] + north[j] + row[j - 1] + row[j + 1] - 4 * row[j]);
        drag[j] = o->lateral * lap6 + bottom * drag[j];
      }
    }
  }
}

/** 5: the right-hand sides of the two elliptic equations, and their largest values. */
static void phase_right_sides(struct member *member) {
  struct ocean *o = member->ocean;
  double max_a = 0, max_b = 0;
  for (long i = member->first; i < member->end; i++) {
    const double *restrict adv1 = grid_row(o->advection[0], i);
    const double *restrict adv3 = grid_row(o->advection[1], i);
    const double *restrict drag1 = grid_row(o->drag[0], i);
    const double *restrict drag3 = grid_row(o->drag[1], i);
    const double *restrict stretching = grid_row(o->stretching, i);
    double *restrict a = grid_row(o->rhs_a, i);
    double *restrict b = grid_row(o->rhs_b, i);
    for (long j = 1; j <= o->inner; j++) {
      const double upper = adv1[j] - drag1[j] + o->wind[i];
      const double lower = adv3[j] - drag3[j];
      a[j] = upper - lower - o->helmholtz.lambda2 * stretching[j];
      b[j] = (OCEAN_H1 / OCEAN_H) * upper + (OCEAN_H3 / OCEAN_H) * lower;
      max_a = fabs(a[j]) > max_a ? fabs(a[j]) : max_a;
      max_b = fabs(b[j]) > max_b ? fabs(b[j]) : max_b;
    }
  }
  ocean_raise(member, &o->shared->rhs_max[0], max_a);
  ocean_raise(member, &o->shared->rhs_max[1], max_b);
}

/** 7: the integral of Psi_a, by row. */
static void phase_integral(struct member *member) {
  struct ocean *o = member->ocean;
  for (long i = member->first; i < member->end; i++) {
    const double *restrict row = grid_row(o->gamma_a, i);
    double sum = 0;
    for (long j = 1; j <= o->inner; j++) sum += row[j];
    o->row_sum[i] = sum * o->spacing * o->spacing;
  }
}

/** 8: Psi = Psi_a + C Psi_b with the C that conserves water. */
static void phase_coast(struct member *member) {
  struct ocean *o = member->ocean;
  double integral = 0;
  for (long i = 1; i <= o->inner; i++) integral += o->row_sum[i];
  member->coast_rate = -integral / o->psi_b_integral;
  for (long i = member->first_all; i < member->end_all; i++) {
    const double *restrict psi_b = grid_row(o->psi_b, i);
    double *restrict row = grid_row(o->gamma_a, i);
    for (long j = 0; j < o->n; j++) row[j] += member->coast_rate * psi_b[j];
  }
}

/** 10: both layers a step on. */
static void phase_update(struct member *member, long step) {
  struct ocean *o = member->ocean;
  const double leap = ocean_restarts(step) ? o->dt : 2 * o->dt;
  for (long i = member->first_all; i < member->end_all; i++) {
    const double *restrict diff_rate = grid_row(o->gamma_a, i);
    const double *restrict mean_rate = grid_row(o->gamma_b, i);
    double *restrict upper = grid_row(o->psi[0], i);
    double *restrict lower = grid_row(o->psi[1], i);
    for (long j = 0; j < o->n; j++) {
      upper[j] += leap * (mean_rate[j] + (OCEAN_H3 / OCEAN_H) * diff_rate[j]);
      lower[j] += leap * (mean_rate[j] - (OCEAN_H1 / OCEAN_H) * diff_rate[j]);
    }
  }
}

void ocean_step(struct member *member, long step) {
  struct ocean *o = member->ocean;
  const double tolerance = o->params.problem.tolerance;
  phase_vorticity(member);
  ocean_barrier(member);
  phase_coriolis(member, step);
  ocean_barrier(member);
  phase_advection(member);
  ocean_barrier(member);
  phase_friction(member);
  ocean_barrier(member);
  phase_right_sides(member);
  ocean_barrier(member);
  ocean_solve(member, &o->helmholtz, o->gamma_a, o->rhs_a, o->shared->rhs_max[0], tolerance);
  phase_integral(member);
  ocean_barrier(member);
  phase_coast(member);
  ocean_barrier(member);
  ocean_solve(member, &o->poisson, o->gamma_b, o->rhs_b, o->shared->rhs_max[1], tolerance);
  phase_update(member, step);
  ocean_barrier(member);
}
