/* SPDX-License-Identifier: Apache-2.0 */
/** @file experiments.c The table of experiments: one line each. */
#include "experiment.h"

#include "micro.h"

const struct experiment *const bench_experiments[] = {
    &bench_pi, &bench_matmul, &bench_ocean, &bench_micro, &bench_calibrate, NULL,
};
