/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file attribute.h
 * What programs hang on communicators and types under key values of their own.
 */
#ifndef TM_ATTR_ATTRIBUTE_H
#define TM_ATTR_ATTRIBUTE_H

#include "tmpi/mpi.h"

struct tm_attributes;

/** Copies what the copy functions want copied. Either comm or type is the old object, the other
 * one null. @return MPI_SUCCESS, or what a copy function returned; then *to holds nothing. */
int tm_attributes_copy(struct tm_attributes **to, struct tm_attributes *const *from, MPI_Comm comm,
                       MPI_Datatype type);

/** Calls the delete functions, the newest attribute's first. @return MPI_SUCCESS, or what the
 * first that failed returned: that attribute and older ones stay. */
int tm_attributes_delete(struct tm_attributes **attributes, MPI_Comm comm, MPI_Datatype type);

#endif
