/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file nodes.h
 * Processes that one launcher has started as one job: one process is a node, its ranks are threads.
 * The module nodes.so lets each know all others, by PMIx, and carries messages between them, by
 * UCX. It opens the libraries of both itself.
 *
 * meet -> connect -> start -> end -> leave, or meet -> part if the job cannot run.
 */
#ifndef TM_NODES_NODES_H
#define TM_NODES_NODES_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TM_NODE_TEXT = 128, TM_NODE_WHY = 256 };

/** What each node says of itself. */
struct tm_node {
  char host[TM_NODE_TEXT];
  char machine[TM_NODE_TEXT]; /**< the same of all nodes of a machine; "": not known */
  char version[TM_NODE_TEXT];
  char program[TM_NODE_TEXT];     /**< its name without the folder */
  char option[TM_NODE_TEXT];      /**< of tmpirun, that only one node has; "": none was given */
  char no_transport[TM_NODE_WHY]; /**< why it cannot carry messages; "": it can. Of the module */
  int ranks;                      /**< of the whole job */
  uint64_t mark;                  /**< node 0's tells the job from others */
  bool check, report;             /**< tmpirun --check, --report */
  cpu_set_t cpus;                 /**< on which it may run; empty: not known */
};

struct tm_nodes {
  int size, own;        /**< number of nodes; own number */
  struct tm_node *list; /**< all nodes, by number; NULL if there is one */
};

enum tm_met {
  TM_MET,
  TM_NO_PMIX,   /**< its library is not there */
  TM_NO_SERVER, /**< the launcher offers no PMIx, or is gone */
  TM_NOT_MET
};

struct tm_nodes_module {
  /** Says what `own` is, and learns what the others are. Waits for them, for at most `seconds`. One
   * process alone has left PMIx when this returns. why: text for what failed. */
  enum tm_met (*meet)(struct tm_node *own, int seconds, struct tm_nodes *nodes, char *why,
                      size_t room);
  /** The job cannot run: waits until all nodes say so, since a launcher ends all when one ends. */
  void (*part)(int seconds);
  /** Connects each node to each. @return false: why tells which, and what failed. */
  bool (*connect)(const struct tm_nodes *nodes, int seconds, char *why, size_t room);
  /** tm_job is there: messages go and come when all nodes have called it. late: of node 0, reports
   * a time-out of all ranks, and ends the job. */
  bool (*start)(int seconds, void (*late)(void), char *why, size_t room);
  /** The time of the job is over: node 0 is to report for all nodes and end them. Returns if it
   * does not. */
  void (*late)(void);
  /** The ranks of this node have ended, and it is not node 0: what it has counted for --report. */
  void (*send_counts)(const void *data, size_t bytes);
  /** Of node 0, after end(): what another node has counted, which is the caller's then. waits: it
   * will come. @return NULL: it has not come. */
  void *(*take_counts)(int node, bool waits, size_t *bytes);
  /** The ranks of this node have ended: waits until those of all nodes have. */
  bool (*end)(char *why, size_t room);
  /** After end(). seconds: at most, until all have come here; 0: does not wait. */
  void (*leave)(int seconds);
  /** @return what fails in place of a function of MPI that needs one node; NULL: it needs none. */
  const void *(*refusal)(const char *name);
};

/* ---- between pmix.c, ucx.c and links.c. What returns text: NULL, or what failed. */

/** Opens UCX. @return the address of this node, and its size; NULL: why tells. */
const void *tm_ucx_open(size_t *size, char *why, size_t room);
/** Begins to connect to a node, by its address. */
const char *tm_ucx_connect(const struct tm_nodes *nodes, int node, const void *address);
/** Waits until all nodes are connected. */
const char *tm_ucx_settle(int seconds);
/** Sees to what the other nodes still need to connect. */
void tm_ucx_progress(void);
bool tm_ucx_start(void);
/** From now on nodes may go away. @return the first that has; -1: none. */
int tm_ucx_lost(void);
/** From now on no thread calls UCX. */
void tm_ucx_stop(void);

enum { TM_LINK_ADDRESSES = 16 };

/** Where a node listens for the connections of links.c. */
struct tm_link_address {
  uint64_t secret[2]; /**< what its callers say, and what it answers */
  uint16_t port;      /**< in the network's order, as: */
  int count;
  uint32_t ip[TM_LINK_ADDRESSES];
};

/** Listens. NULL: why tells. */
const struct tm_link_address *tm_links_open(char *why, size_t room);
/** Before the connections are made. */
const char *tm_links_prepare(const struct tm_nodes *nodes);
/** Connects to a node if it has a lower number. */
const char *tm_links_connect(int node, const struct tm_link_address *address);
/** Waits until the nodes with higher numbers have connected. From now on a node that ends early
 * tells the others, and they end. */
const char *tm_links_start(int seconds);
/** Another node may be the reason why this one fails. Then its connection tells which, and how it
 * ended, and this process ends. Returns if none tells in time. After tm_links_start(). */
void tm_links_wait_for_reason(void);
/** Before the connections are made. @return whether a node's process has listened at an address,
 * and no longer does. */
bool tm_links_is_gone(const struct tm_link_address *address);
/** @return the host of a node, after tm_links_prepare(). */
const char *tm_links_host(int node);
/** From now on nodes may go away. @return the first that has; -1: none. */
int tm_links_lost(void);
/** UCX has lost a node: ends the job, unless there is a better reason. */
void tm_links_suspect(int node, const char *what);

/** What nodes tell each other by these connections. */
enum tm_note_kind {
  TM_NOTE_END = 1,  /**< the job ends: status, why */
  TM_NOTE_SUSPECT,  /**< no rank of the node can run */
  TM_NOTE_ASK,      /**< does the node still rest? */
  TM_NOTE_STATE,    /**< the answer */
  TM_NOTE_GATHER,   /**< what do the ranks do? */
  TM_NOTE_GATHERED, /**< the answer: `bytes` of tm_report_gather() follow */
  TM_NOTE_LATE,     /**< the time of the job is over */
  TM_NOTE_COUNTS    /**< `bytes` that a node has counted follow */
};

struct tm_note {
  int32_t kind; /**< enum tm_note_kind */
  int32_t status;
  int32_t node; /**< that ends the job */
  uint32_t round;
  uint32_t rests, ended;
  uint64_t went, came;
  uint64_t bytes;
  char why[TM_NODE_TEXT];
};

/** Sends a note, also to the own node. A suspicion, which a VP sends, never waits. */
void tm_links_send(int node, const struct tm_note *note);
/** Sends a note to another node, and note->bytes of data that follow it. The node may be gone. */
void tm_links_write(int node, const struct tm_note *note, const void *data);
/** Gets what follows a note. @return false: the node is gone. */
bool tm_links_read(int node, void *data, size_t bytes);

/* rest.c: a deadlock over nodes. */
bool tm_rest_prepare(const struct tm_nodes *nodes);
/** From now on a deadlock is looked for. late: as of tm_nodes_module.start(). */
void tm_rest_start(void (*late)(void));
/** As tm_nodes_module.late(). */
void tm_rest_late(void);
/** The ranks of this node have ended. */
void tm_rest_ended(void);
/** A note of these has come. In the thread of links.c. */
void tm_rest_note(int node, const struct tm_note *note);

/* counts.c: as of tm_nodes_module. */
bool tm_counts_prepare(const struct tm_nodes *nodes);
void tm_counts_send(const void *data, size_t bytes);
void *tm_counts_take(int node, bool waits, size_t *bytes);
/** Counts have come, in `bytes`. In the thread of links.c. */
void tm_counts_note(int node, uint64_t bytes);

/** Counts what this node has sent so far that may make a thread of another one ready, and what has
 * come of that. A message counts, the end of a fetch, and the answer to a synchronous message. What
 * UCX does between two such events is known to the node that does it. @return whether it does
 * nothing now, and still() holds at that time. Not in threads of ranks. */
bool tm_ucx_rests(uint64_t *went, uint64_t *came, bool (*still)(void));

/** tools/mpi/refusals.py writes it. */
const void *tm_nodes_refusal(const char *name);

/** The first rank of a node, if the ranks are divided evenly. */
static inline int tm_node_first(const struct tm_nodes *nodes, int ranks, int node) {
  return ranks / nodes->size * node;
}

#endif
