/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file ocean.h
 * Eddy currents in a square ocean basin driven by wind (thesis 4.4): the model of
 * SPLASH-2's Ocean, written from its published description.
 *
 * Two layers of water, of depths H1 (upper) and H3 (lower), rotate with the
 * Earth. The flow of each is given by a streamfunction psi1, psi3; with the
 * interface between them at level 2, the quasi-geostrophic equations are
 *
 *   d/dt lap(psi1) = J(lap(psi1) + f, psi1) - f0/H1 w2 + wind - drag1
 *   d/dt lap(psi3) = J(lap(psi3) + f, psi3) + f0/H3 w2        - drag3
 *   d/dt (psi1 - psi3) = J(psi1 - psi3, psi2) - g'/f0 w2
 *
 * where J is the Jacobian (advection), w2 the vertical velocity of the interface
 * and psi2 = (H3 psi1 + H1 psi3)/H. Eliminating w2 leaves one elliptic equation
 * each for the rates of change of the two modes,
 *
 *   Psi = d/dt (psi1 - psi3):          (lap - lambda^2) Psi = gamma_a
 *   Phi = d/dt (H1 psi1 + H3 psi3)/H:              lap Phi  = gamma_b
 *
 * Phi is 0 on the coast. Psi is constant along the coast, with the constant such
 * that water is conserved: Psi = Psi_a + C(t) Psi_b, where Psi_a solves the
 * equation with 0 and Psi_b the homogeneous one with 1 on the coast, and C makes
 * the integral of Psi vanish. (Holland 1978 gives the model; Singh and Hennessy
 * 1992 and Woo et al. 1995 the parallel program.)
 *
 * Threads own strips of rows. Everything computed is independent of how many
 * strips there are: sums are kept per row and added in the order of rows, and
 * other reductions are maxima. So every run gives the same answer, bit by bit.
 */
#ifndef BENCH_OCEAN_H
#define BENCH_OCEAN_H

#include "grid.h"
#include "harness/experiment.h"

enum {
  OCEAN_LEVELS_MAX = 16,
  OCEAN_SIZE_MIN = 6,    /* 2^2 + 2 */
  OCEAN_SIZE_MAX = 8194, /* 2^13 + 2 */
};

/* The basin and its water, about those of a mid-latitude ocean (Holland 1978). */
#define OCEAN_WIDTH 5120e3 /* m */
#define OCEAN_H1 1000.0    /* m, upper layer */
#define OCEAN_H3 4000.0    /* m, lower layer */
#define OCEAN_H (OCEAN_H1 + OCEAN_H3)
#define OCEAN_F0 8.3e-5        /* 1/s, Coriolis parameter in the middle */
#define OCEAN_BETA 2e-11       /* 1/(m s), its change to the north */
#define OCEAN_GRAVITY 0.02     /* m/s^2, reduced by the layers' small difference in density */
#define OCEAN_WIND 1e-4        /* m^2/s^2, wind stress over the density of water */
#define OCEAN_BOTTOM_DRAG 1e-7 /* 1/s */

/** An elliptic operator lap - lambda^2 on every level of the multigrid. */
struct elliptic {
  double lambda2;
  struct elliptic_level {
    double h2;      /* square of the grid spacing */
    double edge;    /* a value beyond the coast is -edge times the one before it */
    double *middle; /* [n] diagonal by column, of rows away from the coast */
    double *coast;  /* [n] the same of the first and the last row */
  } level[OCEAN_LEVELS_MAX];
};

/** Data several threads write, each member on cache lines of its own. */
struct ocean_shared {
  _Alignas(64) union par_lock lock;
  _Alignas(64) double sweep_max[2]; /* [lock] residual of even and odd sweeps */
  _Alignas(64) double rhs_max[2];   /* [lock] largest |gamma_a|, |gamma_b| of the step */
  _Alignas(64) union par_barrier barrier;
};

struct ocean {
  /* [const] once set up */
  const struct par *par;
  struct bench_params params;
  long n;         /* points a side, the coast included */
  long inner;     /* n - 2 = 2^levels */
  int levels;     /* of the multigrid; 0 is the finest */
  double spacing; /* metres between points */
  double dt;      /* seconds a step */
  double lateral; /* coefficient of biharmonic friction, m^4/s */
  double *f;      /* [n] Coriolis parameter by row */
  double *wind;   /* [n] curl of the wind stress over H1, by row */
  struct elliptic helmholtz, poisson;
  struct grid psi_b;
  double psi_b_integral;
  double psi_diff_integral; /* of psi1 - psi3 at the start: must not change */

  /* [row owner] written by the thread that owns the row, between barriers */
  struct grid psi[2], psi_before[2]; /* upper and lower layer: now and a step ago */
  struct grid psi_now[2];            /* T1, T3 of the thesis's Figure 12 */
  struct grid vorticity[2];          /* W1 */
  struct grid psi_diff, psi_mid;     /* W2: psi1 - psi3; W3: psi2 */
  struct grid lap4[2];               /* W4 */
  struct grid advection[2];          /* W5 */
  struct grid stretching;            /* W6 */
  struct grid drag[2];               /* W7 */
  struct grid rhs_a, rhs_b;          /* gamma_a, gamma_b */
  struct grid gamma_a, gamma_b;      /* their solutions Psi_a, then Psi; Phi */
  struct grid coarse[OCEAN_LEVELS_MAX], coarse_rhs[OCEAN_LEVELS_MAX]; /* from level 1 */
  double *row_sum; /* [n] integral of Psi_a by row */

  struct ocean_shared *shared;
  bool diverged; /* [thread 0] a solution missed its tolerance */
};

/** One thread's view of the work. */
struct member {
  struct ocean *ocean;
  int index, threads;
  long first, end;         /* inner rows it owns on the finest level */
  long first_all, end_all; /* the same, with the coast's rows for the outermost threads */
  unsigned sweep;          /* sweeps of the multigrid so far; the same in all threads */
  double coast_rate;       /* C of the last step */
};

/* setup.c */
/** @return the ocean at rest but for its first eddies, or NULL with the reason in outcome. */
struct ocean *ocean_create(const struct par *par, const struct bench_params *params,
                           struct bench_outcome *outcome);
void ocean_destroy(struct ocean *ocean);
struct member ocean_member(struct ocean *ocean, int index);
/** Finds Psi_b. All threads call it. */
void ocean_prepare(struct member *member);

/* ocean.c */
/** Runs the team through all steps; the outcome gets their times.
 * @return 0, or an errno value: a thread could not be created. */
int ocean_sail(struct ocean *ocean, struct bench_outcome *outcome);

/* phases.c */
/** One time step. All threads call it. */
void ocean_step(struct member *member, long step);

/* multigrid.c */
/** Solves (lap - lambda^2) q = rhs, q = 0 on the coast, from the guess in q, until no
 * residual exceeds tolerance * rhs_max. All threads call it; ends with a barrier. */
void ocean_solve(struct member *member, const struct elliptic *op, struct grid q, struct grid rhs,
                 double rhs_max, double tolerance);

/* checks.c */
/** Judges the state after the last step; sets the checksum. */
void ocean_check(const struct ocean *ocean, struct bench_outcome *outcome);
/** @return the integral of a grid over the basin (trapezoid rule). */
double ocean_integral(const struct ocean *ocean, struct grid g);

static inline void ocean_barrier(const struct member *member) {
  member->ocean->par->barrier_wait(&member->ocean->shared->barrier);
}

/** Raises *shared_max, which the ocean's lock protects, to value. */
static inline void ocean_raise(const struct member *member, double *shared_max, double value) {
  struct ocean *o = member->ocean;
  o->par->lock(&o->shared->lock);
  if (value > *shared_max) *shared_max = value;
  o->par->unlock(&o->shared->lock);
}

/** @return whether a step starts afresh from the present instead of leaping over it. */
static inline bool ocean_restarts(long step) { return step % 16 == 0; }

#endif
