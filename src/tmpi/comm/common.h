/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file common.h
 * Communicators made of others. One member makes what all have in common, the group and the
 * context, and sends the others its address: the ranks of a node share memory. Ranks of other nodes
 * get the numbers.
 */
#ifndef TM_COMM_COMMON_H
#define TM_COMM_COMMON_H

#include "tmpi/coll/coll.h"
#include "tmpi/object/comm.h"

/** What members have in common. group NULL: this rank is no member. */
struct tm_common {
  uint64_t context;
  struct tm_group *group;
};

/** Makes it for the ranks of a parent that `members` lists; one reference for each that gets the
 * address. */
struct tm_common tm_common_new(const struct tm_comm *parent, const int *members, int count);
/** Sends it to a rank of the parent, which receives it. */
void tm_common_send(struct tm_coll *coll, const struct tm_common *common, int dest);
void tm_common_recv(struct tm_coll *coll, struct tm_common *common, int source);
/** Makes the rank's view. @return MPI_SUCCESS or what tm_fail() returned. */
int tm_common_finish(struct tm_comm *parent, const char *call, const struct tm_common *common,
                     MPI_Comm *result);

#endif
