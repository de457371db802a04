/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file common.h
 * Communicators made of others. On each node one member makes what all members there have in
 * common, the group and the context, and the others get its address, since the ranks of a node
 * share memory.
 */
#ifndef TM_COMM_COMMON_H
#define TM_COMM_COMMON_H

#include "tmpi/object/comm.h"

/** What members have in common. group NULL: this rank is no member. context 0: there is none, since
 * a member has as many communicators as the job allows. */
struct tm_common {
  uint64_t context;
  struct tm_group *group;
};

/** Makes it for the ranks of a parent that `members` lists. The group has one reference for each
 * member of this node, and one for the caller. */
struct tm_common tm_common_new(const struct tm_comm *parent, uint64_t context, const int *members,
                               int count);
/** Makes the rank's view. @return MPI_SUCCESS or what tm_fail() returned. */
int tm_common_finish(struct tm_comm *parent, const char *call, const struct tm_common *common,
                     MPI_Comm *result);
/** Gives a new communicator, made of the parent's ranks, its topology. NULL: there was no memory
 * for one; then the communicator is released, and *comm is MPI_COMM_NULL.
 * @return MPI_SUCCESS or what tm_fail() returned. */
int tm_comm_set_topology(struct tm_comm *parent, const char *call, MPI_Comm *comm,
                         struct tm_topology *topology);

#endif
