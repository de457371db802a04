/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file attribute.h
 * Attributes: what programs store with communicators and types under key values of their own.
 */
#ifndef TM_ATTR_ATTRIBUTE_H
#define TM_ATTR_ATTRIBUTE_H

#include "tmpi/mpi.h"

struct tm_attributes;
struct tm_comm;

/** Copies the attributes that the copy functions want copied. Either comm or type is the old
 * object, the other one null. @return MPI_SUCCESS, or what a copy function returned; then *to is
 * empty. */
int tm_attributes_copy(struct tm_attributes **to, struct tm_attributes *const *from, MPI_Comm comm,
                       MPI_Datatype type);

/** Calls the delete functions, the newest attribute's first. @return MPI_SUCCESS, or what the
 * first that failed returned: that attribute and older ones stay. */
int tm_attributes_delete(struct tm_attributes **attributes, MPI_Comm comm, MPI_Datatype type);

/** The object that has attributes: a communicator or a type, the other one null. */
struct tm_attribute_holder {
  struct tm_attributes **list;
  MPI_Comm comm;
  MPI_Datatype type;
  struct tm_comm *fails_on;
};

/* Each returns MPI_SUCCESS or what tm_fail() returned. */
int tm_attribute_set(const char *call, const struct tm_attribute_holder *holder, int keyval,
                     void *value);
int tm_attribute_get(const char *call, const struct tm_attribute_holder *holder, int keyval,
                     void *value, int *flag);
int tm_attribute_delete(const char *call, const struct tm_attribute_holder *holder, int keyval);

#endif
