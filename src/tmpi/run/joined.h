/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file joined.h
 * Whether a launcher (mpirun, prterun, srun) has started several tmpiruns as one job.
 */
#ifndef TM_RUN_JOINED_H
#define TM_RUN_JOINED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** The ranks of this node. */
struct tm_joined {
  int first, local;
  int cpus;      /**< of all machines, as far as is known; 0: of this one alone */
  uint64_t mark; /**< of the job, of several nodes; 0: it has one */
};

/** What tmpirun was asked for, which has to be the same on all nodes. */
struct tm_asked {
  int ranks;
  const char *program;
  const char *option; /**< that only jobs of one node have; NULL: none */
  bool check, report;
};

/** Only asks the environment if no launcher is there. Otherwise the nodes of the job meet, and
 * connect. @return false after a message. */
bool tm_joined_start(const struct tm_asked *asked, struct tm_joined *joined);

/** @return what takes the place of a function that needs one node; NULL: nothing. */
const void *tm_joined_override(const char *name);

/** tm_job is there: messages go from node to node. @return false after a message. */
bool tm_joined_begin(void);

/** The time of the job is over: node 0 reports for all nodes, if there are several, and ends them.
 * Returns if there is one, or if node 0 does not. */
void tm_joined_late(void);

/** @return the number of nodes; *own: the number of this one. */
int tm_joined_nodes(int *own);

/** @return the host of a node, of several. */
const char *tm_joined_host(int node);

/** The ranks of this node have ended, and it is not node 0: what it has counted. */
void tm_joined_send_counts(const void *data, size_t bytes);

/** After tm_joined_end(), on node 0. @return what another node has counted, to be freed; NULL: that
 * has not come. */
void *tm_joined_take_counts(int node, size_t *bytes);

/** The ranks of this node have ended: waits for all others. @return the status of the process,
 * which was to be `status`. */
int tm_joined_end(int status);

/** After tm_joined_end(): the process is about to end. together: waits for all others, since a
 * launcher may end all when one has failed. */
void tm_joined_leave(bool together);

#endif
