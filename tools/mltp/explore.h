/* SPDX-License-Identifier: Apache-2.0 */
/** @file explore.h `mltp explore`: looks for an order of threads in which a program fails. */
#ifndef TOOLS_MLTP_EXPLORE_H
#define TOOLS_MLTP_EXPLORE_H

#include "trial.h"

/** The command. @return its exit status. */
int explore_main(int argc, char **argv);

/** Looks for a shorter schedule that ends as the failed trial does. *failed becomes
 * its trial. @return the runs it took; 0: the failure does not come again. */
unsigned shorten(const struct program *program, struct trial *failed);

/** Prints which thread ran at each point, and which choices were departures. */
void print_schedule(const struct trial *trial);

#endif
