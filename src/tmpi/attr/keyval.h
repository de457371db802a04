/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file keyval.h
 * Key values: the functions of a kind of attributes. A key value is an index into the rank's table,
 * above those the ABI has. A freed one stays in the table until no attribute uses it.
 *
 * Lock: the rank's attributes_ilock protects the table, and the lists of attributes of all objects
 * of the rank, which its threads may use at once. It is never held while a function of the program
 * runs.
 */
#ifndef TM_ATTR_KEYVAL_H
#define TM_ATTR_KEYVAL_H

#include <stdbool.h>

#include "tmpi/attr/integer.h"
#include "tmpi/rank/rank.h"

/** The program's functions differ in the type of the handle that they get. */
typedef int tm_copy_attribute(void *old, int keyval, void *extra, void *value, void *copy,
                              int *flag);
typedef int tm_delete_attribute(void *object, int keyval, void *value, void *extra);

/** What MPI_COMM_DUP_FN, MPI_TYPE_DUP_FN and MPI_WIN_DUP_FN are. */
#define TM_DUP_ATTRIBUTE ((tm_copy_attribute *)1)

struct tm_keyval {
  bool used, freed;
  bool fortran;  /* the functions are Fortran's */
  int next_free; /* of one that is not used: the next such index and one; 0: none */
  enum tm_attributes_of of;
  int uses; /* attributes that have it, and calls that run its functions */
  tm_copy_attribute *copy;
  tm_delete_attribute *del;
  void *extra;
};

/** Each returns MPI_SUCCESS or what tm_fail() returned. */
int tm_keyval_create(const char *call, const struct tm_keyval *functions, int *keyval);
int tm_keyval_free(const char *call, int *keyval);

/* The caller holds the lock. */

/** @return the functions of a key value, NULL: it is not valid. Valid until the lock is released.
 */
struct tm_keyval *tm_keyval_find(struct tm_rank *rank, int keyval);
/** One use fewer. */
void tm_keyval_release(struct tm_rank *rank, int keyval);

#endif
