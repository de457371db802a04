/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file multigrid.c
 * The elliptic solver: red-black Gauss-Seidel relaxation on a hierarchy of grids,
 * each level chosen as the work needs it (Brandt 1977, "Cycle C"). Relaxation goes
 * on while it pays. When it slows down, what remains is smooth, and the next
 * coarser grid computes a correction; when a level has converged, its correction
 * goes to the next finer grid.
 *
 * The whole team works on every level, with a barrier after each half sweep and
 * each transfer: coarse levels have little work between two barriers, which is
 * what makes synchronisation count in this program. Every thread sees the same
 * residual after a sweep and so takes the same decision.
 */
#include <math.h>

#include "ocean.h"

/** A sweep that leaves more than this share of the residual has ceased to pay. */
static const double slow = 0.5;
/** A correction need only be this good, relative to the residual it corrects. */
static const double correction = 0.2;
/** Sweeps after which a solution is given up; usual are some tens. */
static const int sweeps_max = 2000;

/** One level of one solution. */
struct level {
  const struct elliptic_level *op;
  struct grid q, rhs;
  long inner;      /* rows and columns within the coast */
  long first, end; /* rows of this thread */
};

/** Diagonal of the operator in row i, by column. */
static const double *diagonal(const struct level *level, long i) {
  return i == 1 || i == level->inner ? level->op->coast : level->op->middle;
}

/** Relaxes the points of one colour in the thread's rows. @return the largest residual
 * met, times h^2, or `largest` if that is more. */
static double relax(const struct level *level, int colour, double largest) {
  const double h2 = level->op->h2;
  for (long i = level->first; i < level->end; i++) {
    const double *restrict south = grid_row(level->q, i - 1);
    const double *restrict north = grid_row(level->q, i + 1);
    const double *restrict rhs = grid_row(level->rhs, i);
    const double *restrict diag = diagonal(level, i);
    double *restrict q = grid_row(level->q, i);
    for (long j = 1 + ((i + colour) & 1); j <= level->inner; j += 2) {
      const double sum = q[j - 1] + q[j + 1] + south[j] + north[j] - h2 * rhs[j];
      const double residual = fabs(sum - diag[j] * q[j]);
      q[j] = sum / diag[j];
      largest = residual > largest ? residual : largest;
    }
  }
  return largest;
}

/** Relaxes all points once. @return the largest residual met, of all threads. */
static double sweep(struct member *member, const struct level *level) {
  double *sweep_max = member->ocean->shared->sweep_max;
  const unsigned slot = member->sweep++ & 1;
  double largest = relax(level, 0, 0);
  ocean_barrier(member);
  /* Everybody is past the last sweep's end, so its maximum has been read. */
  if (member->index == 0) sweep_max[slot ^ 1] = 0;
  largest = relax(level, 1, largest);
  ocean_raise(member, &sweep_max[slot], largest);
  ocean_barrier(member);
  return sweep_max[slot] / level->op->h2;
}

/** A row of the residual rhs - (lap - lambda^2) q, added to out by pairs of columns. */
static void add_residual_row(double *restrict out, const struct level *fine, long i) {
  const double inverse_h2 = 1 / fine->op->h2;
  const double *restrict south = grid_row(fine->q, i - 1);
  const double *restrict north = grid_row(fine->q, i + 1);
  const double *restrict q = grid_row(fine->q, i);
  const double *restrict rhs = grid_row(fine->rhs, i);
  const double *restrict diag = diagonal(fine, i);
  for (long j = 1; j <= fine->inner; j++) {
    const double lap = inverse_h2 * (q[j - 1] + q[j + 1] + south[j] + north[j] - diag[j] * q[j]);
    out[(j + 1) / 2] += 0.25 * (rhs[j] - lap);
  }
}

/** Poses the coarse problem: its right-hand side is the mean residual of the 2 x 2 fine
 * points around each coarse one, its first guess 0. */
static void restrict_residual(const struct level *fine, const struct level *coarse) {
  const size_t bytes = (size_t)(coarse->inner + 2) * sizeof(double);
  for (long i = coarse->first; i < coarse->end; i++) {
    double *rhs = grid_row(coarse->rhs, i);
    memset(grid_row(coarse->q, i), 0, bytes);
    memset(rhs, 0, bytes);
    add_residual_row(rhs, fine, 2 * i - 1);
    add_residual_row(rhs, fine, 2 * i);
  }
}

/** Adds the coarse correction to the fine grid, by bilinear interpolation. */
static void add_correction(const struct level *fine, const struct level *coarse) {
  const double edge = coarse->op->edge;
  for (long i = fine->first; i < fine->end; i++) {
    /* Fine rows lie a quarter of the coarse spacing off the coarse row they belong to. */
    const long near = (i + 1) / 2;
    const long far = i % 2 == 1 ? near - 1 : near + 1;
    const bool coast = far == 0 || far > coarse->inner;
    const double near_weight = coast ? 0.75 - 0.25 * edge : 0.75;
    const double far_weight = coast ? 0 : 0.25;
    const double *restrict near_row = grid_row(coarse->q, near);
    const double *restrict far_row = grid_row(coarse->q, far);
    double *restrict q = grid_row(fine->q, i);
    double here = near_weight * near_row[1] + far_weight * far_row[1];
    double west = -edge * here;
    for (long j = 1; j <= coarse->inner; j++) {
      const double east = j == coarse->inner
                              ? -edge * here
                              : near_weight * near_row[j + 1] + far_weight * far_row[j + 1];
      q[2 * j - 1] += 0.75 * here + 0.25 * west;
      q[2 * j] += 0.75 * here + 0.25 * east;
      west = here;
      here = east;
    }
  }
}

static void set_levels(const struct member *member, const struct elliptic *op, struct grid q,
                       struct grid rhs, struct level *levels) {
  const struct ocean *o = member->ocean;
  for (int l = 0; l < o->levels; l++) {
    const long inner = o->inner >> l;
    levels[l] = (struct level){.op = &op->level[l],
                               .q = l == 0 ? q : o->coarse[l],
                               .rhs = l == 0 ? rhs : o->coarse_rhs[l],
                               .inner = inner,
                               .first = 1 + par_share(inner, member->threads, member->index),
                               .end = 1 + par_share(inner, member->threads, member->index + 1)};
  }
}

void ocean_solve(struct member *member, const struct elliptic *op, struct grid q, struct grid rhs,
                 double rhs_max, double tolerance) {
  struct ocean *o = member->ocean;
  struct level levels[OCEAN_LEVELS_MAX];
  double goal[OCEAN_LEVELS_MAX]; /* residual each level must reach */
  set_levels(member, op, q, rhs, levels);
  goal[0] = tolerance * rhs_max;

  int l = 0;
  double before = INFINITY;
  for (int sweeps = 0; sweeps < sweeps_max; sweeps++) {
    const double residual = sweep(member, &levels[l]);
    if (residual <= goal[l]) {
      if (l == 0) return;
      add_correction(&levels[l - 1], &levels[l]);
      l--;
      before = INFINITY;
      ocean_barrier(member);
    } else if (residual > slow * before && l + 1 < o->levels) {
      restrict_residual(&levels[l], &levels[l + 1]);
      goal[l + 1] = correction * residual;
      l++;
      before = INFINITY;
      ocean_barrier(member);
    } else {
      before = residual;
    }
  }
  if (member->index == 0) o->diverged = true;
}
