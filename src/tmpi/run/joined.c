/* SPDX-License-Identifier: Apache-2.0 */
/* See joined.h. Otherwise several processes of a launcher would be as many jobs, each with all
 * ranks. */
#include "tmpi/run/joined.h"

#include <dlfcn.h>
#include <mltp/mltp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/internal/process.h"
#include "os/os.h"
#include "tmpi/env/launch.h"
#include "tmpi/nodes/nodes.h"
#include "tmpi/rank/rank.h"
#include "tmpi/run/modules.h"
#include "tmpi/run/process.h"

enum { SECONDS = 60, LEAVE_SECONDS = 10 };
#define READ_NS 5000000000 /* at most, until the launcher has read a message */

static const struct tm_nodes_module *module; /* [const] NULL: the job has one node */
static uint32_t threads;         /* [const] kernel threads of PMIx, UCX and the module */
static int size = 1, own_number; /* [const] of nodes; of this one */
static struct tm_node *list;     /* [const] all nodes; NULL if there is one */
static bool has_ended;           /* all nodes have */

/* A launcher that learns that this process has failed may drop what is still in the pipe. */
static void end_words(void) { os_wait_read(2, READ_NS); }

/* Node 0 speaks for all. */
__attribute__((format(printf, 2, 3))) static void print(const struct tm_nodes *nodes,
                                                        const char *format, ...) {
  va_list values;
  if (nodes->own != 0) return;
  va_start(values, format);
  vfprintf(stderr, format, values);
  va_end(values);
}

static bool same_everywhere(const struct tm_nodes *nodes) {
  const struct tm_node *first = &nodes->list[0];
  for (int i = 1; i < nodes->size; i++) {
    const struct tm_node *node = &nodes->list[i];
    const char *what = strcmp(first->version, node->version) != 0   ? "versions"
                       : strcmp(first->program, node->program) != 0 ? "programs"
                       : first->ranks != node->ranks                ? "values of -n"
                       : first->check != node->check                ? "words for --check"
                       : first->report != node->report              ? "words for --report"
                                                                    : NULL;
    if (what == NULL) continue;
    print(nodes,
          "tmpirun: nodes 0 (%s) and %d (%s) have different %s: tmpirun %s -n %d %s, tmpirun %s "
          "-n %d %s (give all nodes the same)\n",
          first->host, i, node->host, what, first->version, first->ranks, first->program,
          node->version, node->ranks, node->program);
    return false;
  }
  return true;
}

/* Says for all nodes why the job cannot run; only node 0 prints. @return whether it can. */
static bool can_run(const struct tm_nodes *nodes) {
  int ranks = nodes->list[0].ranks;
  if (!same_everywhere(nodes)) return false;
  if (ranks % nodes->size != 0) {
    print(nodes,
          "tmpirun: -n %d: the launcher has started %d nodes, and each must have as many ranks "
          "(choose a multiple of %d)\n",
          ranks, nodes->size, nodes->size);
    return false;
  }
  for (int i = 0; i < nodes->size; i++) {
    const struct tm_node *node = &nodes->list[i];
    if (node->option[0] != '\0')
      print(nodes,
            "tmpirun: node %d (%s): %s is not available in a job of %d nodes (leave it out)\n", i,
            node->host, node->option, nodes->size);
    else if (node->no_transport[0] != '\0')
      print(nodes, "tmpirun: node %d (%s) cannot carry messages to other nodes: %s\n", i,
            node->host, node->no_transport);
    else
      continue;
    return false;
  }
  return true;
}

/* Whether this process is one of a job. What a rank starts has the launcher's variables, too. */
static bool is_launched(void) {
  return getenv("PMIX_NAMESPACE") != NULL && getenv("PMIX_RANK") != NULL && getenv(TM_JOB) == NULL;
}

static void describe(struct tm_node *own, const struct tm_asked *asked) {
  const char *slash = strrchr(asked->program, '/');
  *own = (struct tm_node){.ranks = asked->ranks,
                          .mark = tm_job_new_mark(),
                          .check = asked->check,
                          .report = asked->report};
  gethostname(own->host, sizeof own->host - 1);
  if (os_read_text("/proc/sys/kernel/random/boot_id", own->machine, sizeof own->machine) != 0)
    own->machine[0] = '\0';
  snprintf(own->version, sizeof own->version, "%s", mltp_version());
  snprintf(own->program, sizeof own->program, "%s", slash != NULL ? slash + 1 : asked->program);
  if (asked->option != NULL) snprintf(own->option, sizeof own->option, "%s", asked->option);
  if (sched_getaffinity(0, sizeof own->cpus, &own->cpus) != 0) CPU_ZERO(&own->cpus);
}

/* Whether nodes outnumber the CPUs that they have on this machine. A launcher may have given each
 * node CPUs of its own, and those of a container may have fewer than the machine. */
static bool is_crowded(const struct tm_nodes *nodes) {
  const char *own = nodes->list[nodes->own].machine;
  cpu_set_t all;
  int here = 0;
  CPU_ZERO(&all);
  if (own[0] == '\0') return false;
  for (int i = 0; i < nodes->size; i++) {
    if (strcmp(nodes->list[i].machine, own) != 0) continue;
    CPU_OR(&all, &all, &nodes->list[i].cpus);
    here++;
  }
  int cpus = CPU_COUNT(&all);
  return (cpus > 0 && here > cpus) || here > os_cpu_quota();
}

/* @return how many CPUs the nodes have; those of one machine may share them. */
static int count_cpus(const struct tm_nodes *nodes) {
  int cpus = 0;
  for (int i = 0; i < nodes->size; i++) {
    const struct tm_node *node = &nodes->list[i];
    cpu_set_t own = node->cpus, others;
    for (int k = 0; node->machine[0] != '\0' && k < i; k++) {
      if (strcmp(nodes->list[k].machine, node->machine) != 0) continue;
      CPU_AND(&others, &own, &nodes->list[k].cpus);
      CPU_XOR(&own, &own, &others);
    }
    cpus += CPU_COUNT(&own);
  }
  return cpus;
}

/* While an idle VP searches, it keeps its CPU. Where nodes are crowded, the node that will bring
 * work needs that CPU. A wake-up then takes long, and VPs learn from that to search even longer. */
static void search_briefly_where_crowded(const struct tm_nodes *nodes) {
  if (is_crowded(nodes)) setenv("MLTP_SPIN_US", "10", 0);
}

/* @return false after a message. */
static bool join(const struct tm_nodes *nodes, struct tm_joined *joined) {
  char why[TM_NODE_WHY];
  if (!can_run(nodes)) {
    end_words();
    module->part(SECONDS);
    return false;
  }
  if (!module->connect(nodes, SECONDS, why, sizeof why)) {
    fprintf(stderr,
            "tmpirun: node %d (%s) cannot connect to the other nodes: %s (UCX_TLS, "
            "UCX_NET_DEVICES)\n",
            nodes->own, nodes->list[nodes->own].host, why);
    tm_job_tell(1, "it cannot connect to the other nodes: %s", why);
    end_words();
    return false;
  }
  search_briefly_where_crowded(nodes);
  joined->local = nodes->list[0].ranks / nodes->size;
  joined->first = tm_node_first(nodes, nodes->list[0].ranks, nodes->own);
  joined->cpus = count_cpus(nodes);
  joined->mark = nodes->list[0].mark;
  size = nodes->size;
  own_number = nodes->own;
  return true;
}

/* @return whether this process would do the work of several, and they would not know of each
 * other, after a message. with_pmix: of a launcher with PMIx, which has no library here. */
static bool is_one_of_several(bool with_pmix, const char *why) {
  const char *variable = getenv(TM_JOB) == NULL ? tm_launch_several(with_pmix) : NULL;
  if (variable == NULL) return false;
  fprintf(stderr,
          "tmpirun: the launcher has started %s processes of one job, and each would be a job of "
          "its own: %s (for jobs of their own: env -u %s tmpirun)\n",
          getenv(variable), why, variable);
  return true;
}

bool tm_joined_start(const struct tm_asked *asked, struct tm_joined *joined) {
  *joined = (struct tm_joined){.local = asked->ranks};
  if (!is_launched())
    return !is_one_of_several(false,
                              "it offers no PMIx, as mpirun of Open MPI, prterun and "
                              "srun --mpi=pmix do");
  struct tm_node own;
  struct tm_nodes nodes = {.size = 1};
  char why[TM_NODE_WHY];
  int before = os_task_count();
  describe(&own, asked);
  module = tm_module("nodes", "tm_nodes_module");
  if (module == NULL)
    snprintf(why, sizeof why, "%s (build with libpmix-dev and libucx-dev)", dlerror());
  enum tm_met met =
      module != NULL ? module->meet(&own, SECONDS, &nodes, why, sizeof why) : TM_NO_PMIX;
  if (met == TM_NO_PMIX && is_one_of_several(true, why)) return false;
  if (met == TM_NO_PMIX || met == TM_NO_SERVER)
    fprintf(stderr,
            "tmpirun: warning: this process is a job of its own, although the launcher may have "
            "started others: %s\n",
            why);
  if (met == TM_NOT_MET) {
    fprintf(stderr,
            "tmpirun: the nodes of this job do not find each other: %s (for a job of this process "
            "alone: env -u PMIX_NAMESPACE tmpirun)\n",
            why);
    end_words();
  }
  bool may_run = met != TM_NOT_MET && (nodes.size == 1 || join(&nodes, joined));
  if (nodes.size == 1) module = NULL;
  threads = (uint32_t)(os_task_count() - before);
  if (may_run)
    list = nodes.list;
  else
    free(nodes.list);
  return may_run;
}

const void *tm_joined_override(const char *name) {
  bool is_mpi = strncmp(name, "MPI_", 4) == 0 || strncmp(name, "PMPI_", 5) == 0;
  return module != NULL && is_mpi ? module->refusal(name) : NULL;
}

bool tm_joined_begin(void) {
  char why[TM_NODE_WHY];
  if (module == NULL) return true;
  mti_add_bystanders(threads + 1); /* start() begins one more */
  if (module->start(SECONDS, tm_watch_late, why, sizeof why)) return true;
  fprintf(stderr, "tmpirun: this node cannot begin with the others: %s (see their messages)\n",
          why);
  tm_job_tell(1, "it cannot begin with the others: %s", why);
  end_words();
  return false;
}

void tm_joined_late(void) {
  if (module != NULL) module->late();
}

int tm_joined_nodes(int *own) {
  *own = own_number;
  return size;
}

const char *tm_joined_host(int node) { return list[node].host; }

void tm_joined_send_counts(const void *data, size_t bytes) { module->send_counts(data, bytes); }

void *tm_joined_take_counts(int node, size_t *bytes) {
  return module->take_counts(node, has_ended, bytes);
}

int tm_joined_end(int status) {
  char why[TM_NODE_WHY];
  has_ended = module == NULL || module->end(why, sizeof why);
  if (has_ended) return status;
  fprintf(stderr, "tmpirun: the job has not ended on all nodes: %s (see their messages)\n", why);
  end_words();
  return status != 0 ? status : 1;
}

void tm_joined_leave(bool together) {
  if (module != NULL && has_ended) module->leave(together ? LEAVE_SECONDS : 0);
}
