/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file attribute.h
 * Attributes: what programs store with communicators, types and windows under key values of their
 * own.
 */
#ifndef TM_ATTR_ATTRIBUTE_H
#define TM_ATTR_ATTRIBUTE_H

#include "tmpi/attr/keyval.h"
#include "tmpi/mpi.h"

struct tm_attributes;
struct tm_comm;

/** Copies the attributes that the copy functions want copied. old: the handle of their object.
 * @return MPI_SUCCESS, or what a copy function returned; then *to is empty. */
int tm_attributes_copy(struct tm_attributes **to, struct tm_attributes *const *from, void *old);

/** Calls the delete functions, the newest attribute's first. @return MPI_SUCCESS, or what the
 * first that failed returned: that attribute and older ones stay. */
int tm_attributes_delete(struct tm_attributes **attributes, void *object);

struct tm_type;

/** @return where the calling rank has a type's attributes. Predefined types are shared by all
 * ranks, so each rank has a list of its own for them. NULL: no memory for these lists. */
struct tm_attributes **tm_type_attributes(MPI_Datatype handle, struct tm_type *type);

struct tm_win;

/** The object that has attributes. Errors are its window's if that is not NULL, else those of the
 * communicator fails_on. */
struct tm_attribute_holder {
  struct tm_attributes **list;
  enum tm_attributes_of of;
  void *object; /* its handle */
  struct tm_comm *fails_on;
  struct tm_win *win;
};

/* Each returns MPI_SUCCESS or what tm_fail() returned. */
int tm_attribute_set(const char *call, const struct tm_attribute_holder *holder, int keyval,
                     void *value);
int tm_attribute_get(const char *call, const struct tm_attribute_holder *holder, int keyval,
                     void *value, int *flag);
int tm_attribute_delete(const char *call, const struct tm_attribute_holder *holder, int keyval);

#endif
