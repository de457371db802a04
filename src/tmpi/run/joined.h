/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file joined.h
 * Whether a launcher (mpirun, prterun, srun) has started several tmpiruns as one job.
 */
#ifndef TM_RUN_JOINED_H
#define TM_RUN_JOINED_H

#include <stdbool.h>

/** The ranks of this node. */
struct tm_joined {
  int first, local;
};

/** Only asks the environment if no launcher is there. Otherwise the nodes of the job meet, and
 * connect. option: one of tmpirun's that only jobs of one node have; NULL: none was given.
 * @return false after a message. */
bool tm_joined_start(int ranks, const char *program, const char *option, struct tm_joined *joined);

/** @return what takes the place of a function that needs one node; NULL: nothing. */
const void *tm_joined_override(const char *name);

/** tm_job is there: messages go from node to node. @return false after a message. */
bool tm_joined_begin(void);

/** The time of the job is over: node 0 reports for all nodes, if there are several, and ends them.
 * Returns if there is one, or if node 0 does not. */
void tm_joined_late(void);

/** The ranks of this node have ended: waits for all others. @return the status of the process,
 * which was to be `status`. */
int tm_joined_end(int status);

#endif
