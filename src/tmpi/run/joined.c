/* SPDX-License-Identifier: Apache-2.0 */
/* See joined.h. Several processes of a launcher would be as many jobs, each with all ranks. */
#include "tmpi/run/joined.h"

#include <dlfcn.h>
#include <mltp/mltp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tmpi/nodes/nodes.h"
#include "tmpi/run/modules.h"

enum { SECONDS = 60 };

/* @return false after a message. */
static bool same_everywhere(const struct tm_nodes *nodes) {
  const struct tm_node *first = &nodes->list[0];
  for (int i = 1; i < nodes->size; i++) {
    const struct tm_node *node = &nodes->list[i];
    const char *what = strcmp(first->version, node->version) != 0   ? "versions"
                       : strcmp(first->program, node->program) != 0 ? "programs"
                       : first->ranks != node->ranks                ? "values of -n"
                                                                    : NULL;
    if (what == NULL) continue;
    fprintf(stderr,
            "tmpirun: nodes 0 (%s) and %d (%s) have different %s: tmpirun %s -n %d %s, tmpirun %s "
            "-n %d %s (give all nodes the same)\n",
            first->host, i, node->host, what, first->version, first->ranks, first->program,
            node->version, node->ranks, node->program);
    return false;
  }
  return true;
}

/* Node 0 speaks for all. */
static void refuse(const struct tm_nodes *nodes) {
  int ranks = nodes->list[0].ranks;
  if (!same_everywhere(nodes)) return;
  if (ranks % nodes->size != 0) {
    fprintf(stderr,
            "tmpirun: -n %d: the launcher has started %d nodes, and each must have as many ranks "
            "(choose a multiple of %d)\n",
            ranks, nodes->size, nodes->size);
    return;
  }
  for (int i = 0; i < nodes->size; i++)
    fprintf(stderr, "tmpirun: node %d (%s): ranks %d to %d\n", i, nodes->list[i].host,
            tm_node_first(nodes, ranks, i), tm_node_first(nodes, ranks, i + 1) - 1);
  fprintf(stderr,
          "tmpirun: a job of %d ranks on %d nodes cannot run: no messages go from node to node "
          "(on one machine, without a launcher: "
          "tmpirun -n %d %s)\n",
          ranks, nodes->size, ranks, nodes->list[0].program);
}

bool tm_joined_alone(int ranks, const char *program) {
  if (getenv("PMIX_NAMESPACE") == NULL || getenv("PMIX_RANK") == NULL) return true;
  const char *slash = strrchr(program, '/');
  struct tm_node own = {.ranks = ranks};
  struct tm_nodes nodes = {.size = 1};
  char why[256];
  tm_nodes_meet *meet = (tm_nodes_meet *)(uintptr_t)tm_module("nodes", "tm_nodes_meet_all");
  gethostname(own.host, sizeof own.host - 1);
  snprintf(own.version, sizeof own.version, "%s", mltp_version());
  snprintf(own.program, sizeof own.program, "%s", slash != NULL ? slash + 1 : program);
  if (meet == NULL) snprintf(why, sizeof why, "%s (build with libpmix-dev)", dlerror());
  enum tm_met met =
      meet != NULL ? meet(&own, SECONDS, refuse, &nodes, why, sizeof why) : TM_NO_PMIX;
  if (met == TM_NO_PMIX)
    fprintf(stderr,
            "tmpirun: warning: this process is a job of its own, although the launcher may have "
            "started others: %s\n",
            why);
  if (met == TM_NOT_MET)
    fprintf(stderr,
            "tmpirun: the nodes of this job do not find each other: %s (for a job of this process "
            "alone: env -u PMIX_NAMESPACE tmpirun)\n",
            why);
  free(nodes.list);
  return met != TM_NOT_MET && nodes.size == 1;
}
