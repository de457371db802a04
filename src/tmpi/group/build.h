/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file build.h
 * What the calls that make groups share.
 */
#ifndef TM_GROUP_BUILD_H
#define TM_GROUP_BUILD_H

#include "tmpi/object/group.h"

/** Looks a handle up. @return MPI_SUCCESS or what tm_fail() returned. */
int tm_group_get(const char *call, MPI_Group handle, struct tm_group **group);

/** The same for two. */
int tm_group_get_two(const char *call, MPI_Group a_handle, MPI_Group b_handle, struct tm_group **a,
                     struct tm_group **b);

/** @return MPI_SUCCESS, or what tm_fail() returned: the program has no place for a result. */
int tm_group_place(const char *call, const void *place);

/** *group: with room for as many ranks; none are in it yet. from: it is made of that one's. */
int tm_group_begin(const char *call, const struct tm_group *from, int most,
                   struct tm_group **group);

void tm_group_add(struct tm_group *group, int number);

/** Gives it a handle: an empty one is MPI_GROUP_EMPTY. @return MPI_SUCCESS. */
int tm_group_finish(struct tm_group *group, MPI_Group *result);

#endif
