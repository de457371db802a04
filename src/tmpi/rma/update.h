/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file update.h
 * Reads and writes of a target's elements that are atomic towards each other.
 */
#ifndef TM_RMA_UPDATE_H
#define TM_RMA_UPDATE_H

#include "tmpi/rma/access.h"

/**
 * Combines elements with the target's, each atomically towards all other updates.
 * @param from   packed elements; NULL: of MPI_NO_OP
 * @param result gets the packed elements as they were before; NULL: not wanted
 */
void tm_update(const struct tm_access *a, struct tm_type *element, MPI_Op op, const char *from,
               char *result);

/** Checks an operation for elements of a type. @return MPI_SUCCESS or what tm_win_fail() returned.
 */
int tm_update_check_op(const struct tm_access_call *c, const struct tm_access *a,
                       const struct tm_type *element);

#endif
