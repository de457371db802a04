/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file dup.h
 * Copies of communicators.
 */
#ifndef TM_COMM_DUP_H
#define TM_COMM_DUP_H

#include "tmpi/object/comm.h"

/** Makes a copy. All members call it. attributes: the copy's, already made by the copy functions;
 * hints: the copy's, NULL: none. @return MPI_SUCCESS or what tm_fail() returned. */
int tm_comm_dup(const char *call, struct tm_comm *old, struct tm_attributes *attributes,
                const struct tm_info *hints, MPI_Comm *copy);

#endif
