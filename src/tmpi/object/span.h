/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file span.h
 * A communicator whose members are on several nodes. It has no team, because its members do not
 * share memory. The members of one node have a communicator of their own with one, `local_comm`.
 * The first member of each node speaks for its node.
 */
#ifndef TM_OBJECT_SPAN_H
#define TM_OBJECT_SPAN_H

#include <stdbool.h>

#include "tmpi/object/group.h"

struct tm_span {
  int nodes;      /* [const] that have members, in the order of their first members */
  int own;        /* [const] index of this node */
  bool in_order;  /* [const] the ranks of each node follow one another, node by node */
  int speakers[]; /* [const] by index of a node: the rank of its first member */
};

/** @return whether a group has ranks of several nodes. */
bool tm_group_spans(const struct tm_group *group);

/** @return the ranks of a group that are on this node; NULL: no memory. */
struct tm_group *tm_group_local(const struct tm_group *group);

/** The span of a group, for one of its ranks. NULL: no memory. */
struct tm_span *tm_span_new(const struct tm_group *group, int rank);

/** @return the index of the node that has a rank of the group. */
int tm_span_index(const struct tm_span *span, const struct tm_group *group, int rank);

#endif
