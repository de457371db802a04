/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file joined.h
 * Whether a launcher (mpirun, prterun, srun) has started several tmpiruns as one job.
 */
#ifndef TM_RUN_JOINED_H
#define TM_RUN_JOINED_H

#include <stdbool.h>

/** Only asks the environment if no launcher is there.
 * @return false after a message: the launcher's job has other processes, so it has more nodes than
 * one. */
bool tm_joined_alone(int ranks, const char *program);

#endif
