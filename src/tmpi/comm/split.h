/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file split.h
 * Splits of communicators, with arguments known to be good.
 */
#ifndef TM_COMM_SPLIT_H
#define TM_COMM_SPLIT_H

#include "tmpi/coll/coll.h"
#include "tmpi/comm/common.h"

/** Finds out what the members of the caller's color have in common. Of no color, MPI_UNDEFINED, it
 * has no group. If a member of any color can have no more communicators, no context is made. */
void tm_split(struct tm_coll *coll, int color, int key, struct tm_common *common);

/** MPI_Comm_split() of an intracommunicator. */
int tm_comm_split(struct tm_comm *comm, const char *call, int color, int key, MPI_Comm *result);

/** intercomm.c: the same of an intercommunicator. Ranks of a color that only one of the groups has
 * get none. */
int tm_intercomm_split(struct tm_comm *comm, const char *call, int color, int key,
                       MPI_Comm *result);

#endif
