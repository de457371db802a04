/* SPDX-License-Identifier: Apache-2.0 */
/** @file setup.c Makes the ocean: memory, constants, operators, first eddies. */
#include <math.h>
#include <stdio.h>

#include "ocean.h"

/** Visits every grid. */
static int for_each_grid(struct ocean *o, int (*visit)(struct grid *g, long n)) {
  struct grid *all[] = {
      &o->psi[0],
      &o->psi[1],
      &o->psi_before[0],
      &o->psi_before[1],
      &o->psi_now[0],
      &o->psi_now[1],
      &o->vorticity[0],
      &o->vorticity[1],
      &o->psi_diff,
      &o->psi_mid,
      &o->lap4[0],
      &o->lap4[1],
      &o->advection[0],
      &o->advection[1],
      &o->stretching,
      &o->drag[0],
      &o->drag[1],
      &o->rhs_a,
      &o->rhs_b,
      &o->gamma_a,
      &o->gamma_b,
      &o->psi_b,
      NULL,
  };
  int err = 0;
  for (struct grid **g = all; *g != NULL; g++) err |= visit(*g, o->n);
  for (int l = 1; l < o->levels; l++) {
    err |= visit(&o->coarse[l], (o->inner >> l) + 2);
    err |= visit(&o->coarse_rhs[l], (o->inner >> l) + 2);
  }
  return err;
}

static int create_grid(struct grid *g, long n) {
  *g = grid_create(n);
  return g->data == NULL;
}

static int destroy_grid(struct grid *g, long n) {
  (void)n;
  grid_destroy(*g);
  return 0;
}

/**
 * Coarse points lie in the middle of 2 x 2 finer ones, so the outermost are (H+h)/2
 * from the coast, h being the finest spacing and H theirs. Continuing the line from
 * such a point through 0 on the coast gives the value beyond it: -edge times the point's.
 */
static int create_operator(const struct ocean *o, struct elliptic *op, double lambda2) {
  op->lambda2 = lambda2;
  for (int l = 0; l < o->levels; l++) {
    struct elliptic_level *level = &op->level[l];
    const long inner = o->inner >> l;
    const double spacing = o->spacing * (double)(1L << l);
    level->h2 = spacing * spacing;
    level->edge = (spacing - o->spacing) / (spacing + o->spacing);
    level->middle = calloc((size_t)inner + 2, sizeof(double));
    level->coast = calloc((size_t)inner + 2, sizeof(double));
    if (level->middle == NULL || level->coast == NULL) return 1;
    for (long j = 1; j <= inner; j++) {
      const double side = j == 1 || j == inner ? level->edge : 0;
      level->middle[j] = 4 + level->h2 * lambda2 + side;
      level->coast[j] = level->middle[j] + level->edge;
    }
  }
  return 0;
}

static void destroy_operator(struct elliptic *op) {
  for (int l = 0; l < OCEAN_LEVELS_MAX; l++) {
    free(op->level[l].middle);
    free(op->level[l].coast);
  }
}

/** Eddies of some 0.3 m/s in the upper layer and weaker ones below. */
static void stir(struct ocean *o) {
  const double step = M_PI / (double)(o->n - 1);
  for (long i = 1; i <= o->inner; i++) {
    const double y = (double)i * step;
    for (long j = 1; j <= o->inner; j++) {
      const double x = (double)j * step;
      const double gyres = sin(x) * sin(2 * y);
      const double eddies = sin(5 * x) * sin(4 * y) + 0.5 * sin(9 * x) * sin(11 * y);
      const double psi = 4e4 * (gyres + eddies);
      for (int layer = 0; layer < 2; layer++) {
        const double value = layer == 0 ? psi : 0.2 * psi;
        grid_row(o->psi[layer], i)[j] = value;
        grid_row(o->psi_before[layer], i)[j] = value;
      }
    }
  }
}

static void set_constants(struct ocean *o) {
  const double grid_scale = o->spacing / 20e3;
  /* As long as stability allows: Rossby waves bound it from above, currents by the grid. */
  o->dt = 14400 * fmin(1, grid_scale);
  /* Wears down waves of twice the grid spacing in about a day, whatever the grid. */
  o->lateral = 8e9 * pow(grid_scale, 4);
  for (long i = 0; i < o->n; i++) {
    const double y = (double)i * o->spacing / OCEAN_WIDTH;
    o->f[i] = OCEAN_F0 + OCEAN_BETA * OCEAN_WIDTH * (y - 0.5);
    o->wind[i] = -OCEAN_WIND * (2 * M_PI / OCEAN_WIDTH) * sin(2 * M_PI * y) / OCEAN_H1;
  }
}

/** @return the k of size = 2^k + 2, or -1. */
static int levels_of(long size) {
  for (int k = 2; k < OCEAN_LEVELS_MAX; k++) {
    if (size == (1L << k) + 2) return k;
  }
  return -1;
}

/** Frees the memory, of a half-made ocean too. */
static void release(struct ocean *o) {
  for_each_grid(o, destroy_grid);
  destroy_operator(&o->helmholtz);
  destroy_operator(&o->poisson);
  free(o->shared);
  free(o->row_sum);
  free(o->wind);
  free(o->f);
  free(o);
}

struct ocean *ocean_create(const struct par *par, const struct bench_params *params,
                           struct bench_outcome *outcome) {
  const long n = params->problem.size;
  if (n > OCEAN_SIZE_MAX || levels_of(n) < 0) {
    bench_fail(outcome, "size %ld is not 2^k + 2 within %d..%d", n, OCEAN_SIZE_MIN, OCEAN_SIZE_MAX);
    return NULL;
  }
  struct ocean *o = calloc(1, sizeof *o);
  if (o == NULL) goto no_memory;
  o->par = par;
  o->params = *params;
  o->n = n;
  o->inner = n - 2;
  o->levels = levels_of(n);
  o->spacing = OCEAN_WIDTH / (double)(n - 1);
  o->f = calloc((size_t)n, sizeof(double));
  o->wind = calloc((size_t)n, sizeof(double));
  o->row_sum = calloc((size_t)n, sizeof(double));
  o->shared = aligned_alloc(64, sizeof *o->shared);
  const double lambda2 = OCEAN_F0 * OCEAN_F0 * OCEAN_H / (OCEAN_GRAVITY * OCEAN_H1 * OCEAN_H3);
  if (o->f == NULL || o->wind == NULL || o->row_sum == NULL || o->shared == NULL ||
      create_operator(o, &o->helmholtz, lambda2) != 0 || create_operator(o, &o->poisson, 0) != 0 ||
      for_each_grid(o, create_grid) != 0) {
    goto no_memory;
  }
  memset(o->shared, 0, sizeof *o->shared);
  par->lock_init(&o->shared->lock);
  par->barrier_init(&o->shared->barrier, params->threads);
  set_constants(o);
  stir(o);
  o->psi_diff_integral = ocean_integral(o, o->psi[0]) - ocean_integral(o, o->psi[1]);
  return o;

no_memory:
  bench_fail(outcome, "no memory for an ocean of %ldx%ld points", n, n);
  if (o != NULL) release(o);
  return NULL;
}

void ocean_destroy(struct ocean *o) {
  o->par->lock_destroy(&o->shared->lock);
  o->par->barrier_destroy(&o->shared->barrier);
  release(o);
}

struct member ocean_member(struct ocean *o, int index) {
  const int threads = o->params.threads;
  struct member member = {.ocean = o,
                          .index = index,
                          .threads = threads,
                          .first = 1 + par_share(o->inner, threads, index),
                          .end = 1 + par_share(o->inner, threads, index + 1)};
  member.first_all = index == 0 ? 0 : member.first;
  member.end_all = index == threads - 1 ? o->n : member.end;
  return member;
}

void ocean_prepare(struct member *member) {
  struct ocean *o = member->ocean;
  /* With Psi_b = 1 + v, v is 0 on the coast and (lap - lambda^2) v = lambda^2. */
  for (long i = member->first; i < member->end; i++) {
    double *rhs = grid_row(o->rhs_a, i);
    for (long j = 1; j <= o->inner; j++) rhs[j] = o->helmholtz.lambda2;
  }
  ocean_barrier(member);
  ocean_solve(member, &o->helmholtz, o->gamma_a, o->rhs_a, o->helmholtz.lambda2,
              1e-3 * o->params.problem.tolerance);
  for (long i = member->first_all; i < member->end_all; i++) {
    double *psi_b = grid_row(o->psi_b, i);
    double *v = grid_row(o->gamma_a, i);
    for (long j = 0; j < o->n; j++) {
      psi_b[j] = 1 + v[j];
      v[j] = 0;
    }
  }
  ocean_barrier(member);
  if (member->index == 0) o->psi_b_integral = ocean_integral(o, o->psi_b);
  ocean_barrier(member);
}
