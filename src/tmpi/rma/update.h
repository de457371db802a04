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

/** Does what an accumulate usually is: few elements of one predefined type, at both sides aligned.
 * The target has been checked. @return false: it is not such a one, and nothing was done. */
bool tm_update_usual(const struct tm_access_call *c, const struct tm_access *a);

/** @return where elements lie as they do when packed, and aligned; NULL: they do not. The part has
 * bytes. */
char *tm_update_together(const struct tm_access_part *part, const struct tm_type *element);

enum { TM_ELEMENT_MAX = 32 /* bytes: a complex number of 16-byte parts */ };

/** Stores an element if the one that is there is what is compared. old: gets what was there. */
void tm_update_swap(struct tm_win *target, void *at, size_t bytes, const void *element,
                    const void *compare, void *old);

/** Checks an operation for elements of a type. @return MPI_SUCCESS or what tm_win_fail() returned.
 */
int tm_update_check_op(const struct tm_access_call *c, const struct tm_access *a,
                       const struct tm_type *element);

#endif
