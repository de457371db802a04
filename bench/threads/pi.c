/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file pi.c
 * Pi by the rectangle rule (thesis 4.2): little memory, one lock per thread. The
 * slices are shared out by thread number; each thread adds its sum under a lock.
 */
#include <math.h>

#include "harness/experiment.h"
#include "harness/timer.h"

struct pi {
  const struct par *par;
  long slices;
  int threads;
  union par_lock lock;
  double sum; /* [lock] */
};

static void integrate(void *arg, int index) {
  struct pi *pi = arg;
  const long first = par_share(pi->slices, pi->threads, index);
  const long end = par_share(pi->slices, pi->threads, index + 1);
  const double width = 1.0 / (double)pi->slices;
  double sum = 0;
  for (long i = first; i < end; i++) {
    const double x = ((double)i + 0.5) * width;
    sum += 4.0 / (1.0 + x * x);
  }
  pi->par->lock(&pi->lock);
  pi->sum += sum * width;
  pi->par->unlock(&pi->lock);
}

static void run(const struct par *par, const struct bench_params *params,
                struct bench_outcome *outcome) {
  struct pi pi = {.par = par, .slices = params->problem.slices, .threads = params->threads};
  par->lock_init(&pi.lock);
  bench_timer_start(outcome);
  const int err = par->run(params->threads, integrate, &pi);
  bench_timer_stop(outcome);
  par->lock_destroy(&pi.lock);

  /* The midpoint rule is off by 1/(12 n^2) here; the rest is rounding. */
  const double n = (double)pi.slices;
  const double error = fabs(pi.sum - M_PI);
  outcome->checksum = pi.sum;
  if (err != 0) {
    bench_fail(outcome, "thread creation failed: errno %d", err);
  } else if (!(error < 1e-10 + 1.0 / (n * n))) {
    bench_fail(outcome, "%.15g is off pi by %.3g", pi.sum, error);
  }
}

const struct experiment bench_pi = {
    .name = "pi",
    .shows = "pi by the rectangle rule: much computing, one lock per thread",
    .section = "thesis 4.2",
    .impls = "mltp,mltp-kernel,pthreads",
    .threads = {5, {1, 2, 4, 8, 16}},
    .runs = 7,
    .problem = {.slices = 10000000},
    .quick = {.slices = 1000000},
    .run = run,
};
