/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file nodes.h
 * Processes that one launcher has started as one job: one process is a node, its ranks are threads.
 * The module nodes.so lets each know all others, by PMIx. It opens the library of PMIx itself.
 */
#ifndef TM_NODES_NODES_H
#define TM_NODES_NODES_H

#include <stddef.h>

enum { TM_NODE_TEXT = 128 };

/** What each node says of itself. */
struct tm_node {
  char host[TM_NODE_TEXT];
  char version[TM_NODE_TEXT];
  char program[TM_NODE_TEXT]; /**< its name without the folder */
  int ranks;                  /**< of the whole job */
};

struct tm_nodes {
  int size, own;        /**< number of nodes; own number */
  struct tm_node *list; /**< all nodes, by number; NULL if there is one */
};

enum tm_met {
  TM_MET,
  TM_NO_PMIX, /**< the launcher offers no PMIx, or its library is not there */
  TM_NOT_MET
};

typedef void tm_nodes_speak(const struct tm_nodes *nodes);

/** Says what `own` is, and learns what the others are. Waits for them, for at most `seconds`.
 * @param speak  called in node 0 while the other nodes wait: a launcher ends all when one of them
 * ends.
 * @param why  text for what failed. */
typedef enum tm_met tm_nodes_meet(const struct tm_node *own, int seconds, tm_nodes_speak *speak,
                                  struct tm_nodes *nodes, char *why, size_t room);

/** The first rank of a node, if the ranks are divided evenly. */
static inline int tm_node_first(const struct tm_nodes *nodes, int ranks, int node) {
  return ranks / nodes->size * node;
}

#endif
