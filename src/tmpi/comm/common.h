/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file common.h
 * Communicators made of others. One member makes what all have in common, the group and the
 * context, and sends the others its address: all ranks share memory.
 */
#ifndef TM_COMM_COMMON_H
#define TM_COMM_COMMON_H

#include "tmpi/object/comm.h"

/** What members have in common. group NULL: this rank is no member. */
struct tm_common {
  uint64_t context;
  struct tm_group *group;
};

/** One reference for each member. */
void tm_common_hold(struct tm_group *group);
/** Makes the rank's view. @return MPI_SUCCESS or what tm_fail() returned. */
int tm_common_finish(struct tm_comm *parent, const char *call, const struct tm_common *common,
                     MPI_Comm *result);

#endif
