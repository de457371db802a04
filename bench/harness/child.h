/* SPDX-License-Identifier: Apache-2.0 */
/** @file child.h One run of an experiment in a process of its own. */
#ifndef BENCH_CHILD_H
#define BENCH_CHILD_H

#include <limits.h>

#include "experiment.h"

/** Performs a run in a fresh child process, so that no run inherits another's threads,
 * heap or crash. What goes wrong (an exit, a signal, more than `timeout` seconds) is a
 * failed run with the reason in the outcome. */
struct bench_outcome bench_child(const struct experiment *experiment, const struct par *par,
                                 const struct bench_params *params, int timeout);

/** Finds a program by its name, seen from this program's folder. @return whether it is there. */
bool bench_find(const char *name, char path[PATH_MAX]);

#endif
