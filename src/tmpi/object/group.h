/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file group.h
 * Groups: lists of ranks of the job, which never change. All holders share one object. The first
 * look-up in a larger group whose ranks are not those of the job makes a table of all numbers.
 */
#ifndef TM_OBJECT_GROUP_H
#define TM_OBJECT_GROUP_H

#include <stdint.h>

#include "tmpi/mpi.h"

struct tm_session;

struct tm_group {
  uint32_t magic;
  uint32_t refs;              /* [atomic] */
  int size;                   /* [const] */
  struct tm_session *session; /* [const] that it comes from; NULL: none */
  int *inverse;               /* [atomic] by number in the job: the rank and one; NULL: not made */
  int ranks[];                /* [const] numbers in the job */
};

enum { TM_GROUP_MAGIC = 0x6f0e };

/** @return the group of a handle, NULL: no valid one. */
struct tm_group *tm_group_of(MPI_Group handle);
struct tm_group *tm_group_new(int size); /* NULL: no memory */
void tm_group_hold(struct tm_group *group);
void tm_group_release(struct tm_group *group);
/** @return MPI_IDENT, MPI_SIMILAR (another order) or MPI_UNEQUAL. */
int tm_group_compare(const struct tm_group *a, struct tm_group *b);
/** @return the rank in the group of a rank of the job; MPI_UNDEFINED: none. */
int tm_group_find(struct tm_group *group, int number);

#endif
