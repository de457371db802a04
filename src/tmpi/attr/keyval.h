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

#include "tmpi/rank/rank.h"

/** Functions of communicators and of types differ in their first argument only. */
struct tm_keyval {
  bool used, freed, of_types;
  int uses; /* attributes that have it, and calls that run its functions */
  union {
    MPI_Comm_copy_attr_function *comm_copy;
    MPI_Type_copy_attr_function *type_copy;
  };
  union {
    MPI_Comm_delete_attr_function *comm_delete;
    MPI_Type_delete_attr_function *type_delete;
  };
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
