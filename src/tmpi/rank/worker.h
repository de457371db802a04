/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file worker.h
 * The end of a rank's worker; coll/gang.h has the rest.
 */
#ifndef TM_RANK_WORKER_H
#define TM_RANK_WORKER_H

#include "tmpi/rank/rank.h"

/** The rank has come through MPI_Finalize(): its worker ends, if it has one. */
void tm_worker_end(struct tm_rank *rank);

#endif
