/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file deltas.c
 * A simulation whose threads are all ready together, again and again, and compute for about
 * 20 us each: what mltp_sim_set_vps() is for. What they leave behind depends on the order of their
 * turns, which must be that of one VP.
 */
#include <errno.h>
#include <mltp/sim.h>
#include <stdlib.h>

#include "harness/experiment.h"
#include "harness/timer.h"
#include "harness/work.h"

enum { STEPS = 10000 /* of bench_work() */ };

static struct {
  long moments; /* of simulated time */
  int components;
  uint64_t left; /* behind, by all turns so far */
} world;

static void leave(uint64_t value) { world.left = world.left * 31 + value; }

static uint64_t compute(uintptr_t thread, long moment) {
  return bench_work(((uint64_t)moment << 20 | thread) + 1, STEPS);
}

static void component(void *number) {
  for (long moment = 0; moment < world.moments; moment++) {
    const uint64_t value = compute((uintptr_t)number, moment);
    mltp_sim_ordered();
    leave(value);
    mltp_sim_waitfor(1);
  }
}

static void model(void *children) { mltp_sim_par(children, (size_t)world.components); }

static int simulate(int vps) {
  mltp_sim_child_t *children = calloc((size_t)world.components, sizeof *children);
  if (children == NULL) return ENOMEM;
  for (int i = 0; i < world.components; i++)
    children[i] = (mltp_sim_child_t){component, (void *)(uintptr_t)i, NULL};
  int error = mltp_sim_set_vps(vps);
  if (error == 0) error = mltp_sim_run(model, children);
  free(children);
  return error;
}

static void run(const struct par *par, const struct bench_params *params,
                struct bench_outcome *outcome) {
  world.moments = params->problem.steps;
  world.components = (int)params->problem.size;
  int error = 0;
  bench_timer_start(outcome);
  if (par->has_vps) {
    error = simulate(params->vps);
  } else { /* the serial run */
    for (long moment = 0; moment < world.moments; moment++)
      for (int i = 0; i < world.components; i++) leave(compute((uintptr_t)i, moment));
  }
  bench_timer_stop(outcome);
  outcome->checksum = (double)(world.left >> 11);
  outcome->verified = error == 0;
  if (error != 0) bench_fail(outcome, "the simulation ended with error %d", error);
}

const struct experiment bench_deltas = {
    .name = "deltas",
    .shows = "a simulation of threads that compute in each delta, on several VPs",
    .section = "mltp/sim.h, mltp_sim_set_vps()",
    .impls = "mltp",
    .threads = {1, {1}}, /* the one that calls mltp_sim_run() */
    .runs = 5,
    .problem = {.size = 1000, .steps = 100},
    .quick = {.size = 100, .steps = 5},
    .run = run,
};
