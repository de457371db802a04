/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file split.h
 * Splits of communicators, with arguments known to be good.
 */
#ifndef TM_COMM_SPLIT_H
#define TM_COMM_SPLIT_H

#include "tmpi/object/comm.h"

/** MPI_Comm_split() of an intracommunicator. */
int tm_comm_split(struct tm_comm *comm, const char *call, int color, int key, MPI_Comm *result);

/** intercomm.c: the same of an intercommunicator. Ranks of a color that only one of the groups has
 * get none. */
int tm_intercomm_split(struct tm_comm *comm, const char *call, int color, int key,
                       MPI_Comm *result);

#endif
