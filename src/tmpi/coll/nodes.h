/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file nodes.h
 * Collectives of a communicator that spans nodes (object/span.h). Where one message for a node is
 * enough, one member acts for its node, and the members of a node meet in their team before and
 * after. The others are messages between all members.
 *
 * The functions take what those of coll.h take, and are called by them.
 */
#ifndef TM_COLL_NODES_H
#define TM_COLL_NODES_H

#include "tmpi/coll/coll.h"

void tm_nodes_barrier(struct tm_coll *coll);
/** Also of one rank alone. */
void tm_nodes_bcast(struct tm_coll *coll, void *buffer, size_t count, struct tm_type *type,
                    int root);
void tm_nodes_gather(struct tm_coll *coll, const struct tm_part *own, const struct tm_parts *all,
                     int root);
void tm_nodes_scatter(struct tm_coll *coll, const struct tm_parts *all, const struct tm_part *own,
                      int root);
void tm_nodes_allgather(struct tm_coll *coll, const struct tm_part *own,
                        const struct tm_parts *all);
/** Of the first member of each node: exchanges what the members of its node have with the other
 * nodes. parts: room for one of each member; the first ones are those of this node, in their order,
 * and the others come behind them, node by node. */
void tm_nodes_exchange(struct tm_coll *coll, void *parts, size_t part);
/** packed: what the caller sends, by rank, if it is not in `send`. */
void tm_nodes_alltoall(struct tm_coll *coll, const struct tm_parts *send,
                       const struct tm_part *packed, const struct tm_parts *recv);
/** root < 0: to all. */
void tm_nodes_reduce(struct tm_coll *coll, const void *from, void *to, size_t count,
                     struct tm_type *type, const struct tm_op *op, int root);
void tm_nodes_reduce_part(struct tm_coll *coll, const void *from, size_t first, size_t count,
                          void *to, struct tm_type *type, const struct tm_op *op);

#endif
