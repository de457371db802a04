/* SPDX-License-Identifier: Apache-2.0 */
/** @file ocean.c The experiment: a team of threads steps the ocean. */
#include "ocean.h"

#include "harness/timer.h"

struct voyage {
  struct ocean *ocean;
  struct bench_outcome *outcome; /* [thread 0] */
};

static void sail(void *arg, int index) {
  struct voyage *voyage = arg;
  struct member member = ocean_member(voyage->ocean, index);
  ocean_prepare(&member);
  /* All threads wait in the second barrier when the clock starts. */
  if (index == 0) bench_timer_start(voyage->outcome);
  ocean_barrier(&member);
  const long steps = voyage->ocean->params.problem.steps;
  for (long step = 0; step < steps; step++) ocean_step(&member, step);
  if (index == 0) bench_timer_stop(voyage->outcome);
}

int ocean_sail(struct ocean *ocean, struct bench_outcome *outcome) {
  struct voyage voyage = {ocean, outcome};
  return ocean->par->run(ocean->params.threads, sail, &voyage);
}

static void run(const struct par *par, const struct bench_params *params,
                struct bench_outcome *outcome) {
  struct ocean *ocean = ocean_create(par, params, outcome);
  if (ocean == NULL) return;
  const int err = ocean_sail(ocean, outcome);
  if (err != 0) {
    bench_fail(outcome, "thread creation failed: errno %d", err);
    return;
  }
  ocean_check(ocean, outcome);
  ocean_destroy(ocean);
}

const struct experiment bench_ocean = {
    .name = "ocean",
    .shows = "eddy currents in an ocean basin: ten phases a step, hundreds of barriers",
    .section = "thesis 4.4",
    .impls = "mltp,mltp-kernel,pthreads",
    .threads = {5, {1, 2, 4, 8, 16}},
    .runs = 7,
    .problem = {.size = 258, .steps = 30, .tolerance = 1e-7},
    .quick = {.size = 66, .steps = 10, .tolerance = 1e-7},
    .run = run,
};
