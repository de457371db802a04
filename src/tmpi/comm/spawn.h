/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file spawn.h
 * Spawning in a job of several nodes: the new ranks are shared out over them. Either all nodes
 * start their part of a spawn, or none does.
 *
 * turn     one spawn of the job takes place at a time, since it gives out numbers on all nodes
 * leader   the root of MPI_Comm_spawn(), once it has the turn, which node 0 gives
 * order    what the leader sends to each other node: the commands, where each new rank will be, the
 *          parents
 * service  a thread of each node, which prepares the ranks of an order; the ones on the leader's
 *          node are prepared by the leader itself
 *
 * 1. The leader chooses a node for each rank, and sends the order to all other nodes. Each notes
 *    where the ranks will be, so messages reach them from then on. A node that gets ranks makes
 *    their copies and threads, which wait. All nodes answer: prepared, refused, or ended.
 * 2. The leader sends its decision. At once, or when the service has it, a node adds the ranks to
 *    the job and lets its threads run, or forgets the order. All nodes answer again.
 * 3. The leader gives the turn back.
 *
 * Takers of notes never wait, so they hand to the service what may take long.
 *
 * Rejected: numbers that each node gives out by itself, which needs no turn. The numbers of a world
 * would have gaps, and reports would not know how many ranks there are.
 */
#ifndef TM_COMM_SPAWN_H
#define TM_COMM_SPAWN_H

#include "tmpi/object/world.h"

/** Starts the ranks of a spawn on the nodes of the job. call: for reports; the caller waits.
 * @return false, and why, if no rank is started. */
bool tm_spawn_on_nodes(struct tm_spawn *spawn, const char *call);

/** A note of another node. */
void tm_spawn_take(int source, const void *data, size_t bytes);

/* ---- spawn_order.c */

/** An order that has come. Its texts are in what has come. */
struct tm_order {
  struct tm_spawn spawn; /* its world is not in the job yet; NULL: no memory for it */
  struct tm_command *commands;
  char **words; /* of all commands */
};

/** Writes an order. nodes: of each new rank. @return what is to be sent, to be freed; NULL: no
 * memory. */
char *tm_order_write(const struct tm_spawn *spawn, const int *nodes, size_t *bytes);

/** @return the nodes of the new ranks; *first: the number of the first one; *count: of them. */
const int *tm_order_nodes(const char *data, int *first, int *count);

/** Reads the rest. @return false: no memory. */
bool tm_order_read(struct tm_order *order, const char *data);

/** Frees what tm_order_read() has made, but for the world. */
void tm_order_drop(struct tm_order *order);

/* ---- spawn_service.c */

/** How a node answers the leader. */
enum tm_spawn_answer {
  TM_SPAWN_DONE,   /**< its ranks are prepared, or the decision is carried out */
  TM_SPAWN_ENDED,  /**< its ranks have ended, so it starts no others */
  TM_SPAWN_REFUSED /**< and why */
};

/** Answers a leader, which is a rank. asker: what its note said. inside: in a taker. */
void tm_spawn_answer(enum tm_spawn_answer answer, const char *why, int leader, uint64_t asker,
                     bool inside);

/** Hands an order to the service, which answers, and frees the data. In a taker. @return false:
 * the ranks of this node have ended. */
bool tm_spawn_service_order(char *data, int leader, uint64_t asker);

/** Hands the decision on the order to the service, which answers. In a taker. @return false: it
 * has no order. */
bool tm_spawn_service_decide(bool go, uint64_t asker);

#endif
