/* SPDX-License-Identifier: Apache-2.0 */
/* The module of nodes.h: how nodes meet and part. */
#include <dlfcn.h>
#include <errno.h>
#include <pmix.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tmpi/nodes/nodes.h"

/* The functions of PMIx that the module calls. */
#define FUNCTIONS(F) F(Init) F(Finalize) F(Get) F(Put) F(Commit) F(Fence_nb) F(Error_string)
#define MEMBER(name) __typeof__(PMIx_##name) *(name);
#define OPEN(name)                                                                                 \
  if ((*(void **)&pmix.name = dlsym(library, "PMIx_" #name)) == NULL) return dlerror();

static struct {
  FUNCTIONS(MEMBER)
} pmix;

static const char node_key[] = "mltp.node", address_key[] = "mltp.address",
                  link_key[] = "mltp.link";

enum { LOOK_SECONDS = 5, KNOWN_AFTER_MS = 3000 };

static pmix_proc_t self; /* [const] since meet() */

/* A module is opened once, and the library of PMIx has threads: it stays until the process ends.
 * @return NULL, or why not. */
static const char *open_pmix(void) {
  void *library = dlopen("libpmix.so.2", RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) return dlerror();
  FUNCTIONS(OPEN)
  return NULL;
}

/* The end of a fence. It outlives a wait that was given up, so it is static. */
static struct {
  sem_t done;
  pmix_status_t status;
} fence;

static void fence_ended(pmix_status_t status, void *unused) {
  (void)unused;
  fence.status = status;
  sem_post(&fence.done);
}

/* @return whether it is over; *status: its result. */
static bool fence_is_over(int milliseconds, pmix_status_t *status) {
  struct timespec end;
  clock_gettime(CLOCK_REALTIME, &end);
  long ns = end.tv_nsec + milliseconds % 1000 * 1000000L;
  end.tv_sec += milliseconds / 1000 + ns / 1000000000;
  end.tv_nsec = ns % 1000000000;
  while (sem_timedwait(&fence.done, &end) != 0)
    if (errno != EINTR) return false;
  *status = fence.status;
  return true;
}

/* @return whether it has begun; otherwise *status is its result. */
static bool fence_begin(pmix_status_t *status) {
  pmix_proc_t all = {.rank = PMIX_RANK_WILDCARD};
  pmix_info_t collect = {.key = PMIX_COLLECT_DATA, .value = {.type = PMIX_BOOL, .data.flag = true}};
  snprintf(all.nspace, sizeof all.nspace, "%s", self.nspace);
  sem_init(&fence.done, 0, 0);
  *status = pmix.Fence_nb(&all, 1, &collect, 1, fence_ended, NULL);
  if (*status == PMIX_SUCCESS) return true;
  if (*status == PMIX_OPERATION_SUCCEEDED) *status = PMIX_SUCCESS;
  return false;
}

/* *begun: whether it has, so another node is the reason if it fails. */
static pmix_status_t wait_for_others(int seconds, bool *begun) {
  pmix_status_t status;
  *begun = fence_begin(&status);
  if (!*begun) return status;
  return fence_is_over(1000 * seconds, &status) ? status : PMIX_ERR_TIMEOUT;
}

static pmix_status_t wait_for_all(int seconds) {
  bool begun;
  return wait_for_others(seconds, &begun);
}

static pmix_status_t find_size(int *size) {
  pmix_proc_t job = self;
  pmix_value_t *value = NULL;
  job.rank = PMIX_RANK_WILDCARD;
  pmix_status_t status = pmix.Get(&job, PMIX_JOB_SIZE, NULL, 0, &value);
  if (status == PMIX_SUCCESS) *size = (int)value->data.uint32;
  return status; /* the value is small, and the process has one */
}

static pmix_status_t put(const char *name, const void *bytes, size_t size) {
  pmix_value_t value = {.type = PMIX_BYTE_OBJECT};
  value.data.bo.bytes = (char *)(uintptr_t)bytes;
  value.data.bo.size = size;
  return pmix.Put(PMIX_GLOBAL, name, &value);
}

static pmix_status_t publish(struct tm_node *own) {
  size_t size = 0;
  const void *address = tm_ucx_open(&size, own->no_transport, sizeof own->no_transport);
  const void *link =
      address != NULL ? tm_links_open(own->no_transport, sizeof own->no_transport) : NULL;
  pmix_status_t status = put(node_key, own, sizeof *own);
  if (status == PMIX_SUCCESS && address != NULL) status = put(address_key, address, size);
  if (status == PMIX_SUCCESS && link != NULL)
    status = put(link_key, link, sizeof(struct tm_link_address));
  return status == PMIX_SUCCESS ? pmix.Commit() : status;
}

/* The value stays: there is one for each node. NULL: *status tells. */
static const pmix_byte_object_t *get(int number, const char *name, pmix_status_t *status) {
  pmix_proc_t other = self;
  pmix_value_t *value = NULL;
  other.rank = (pmix_rank_t)number;
  *status = pmix.Get(&other, name, NULL, 0, &value);
  if (*status != PMIX_SUCCESS) return NULL;
  if (value->type == PMIX_BYTE_OBJECT) return &value->data.bo;
  *status = PMIX_ERR_TYPE_MISMATCH;
  return NULL;
}

static pmix_status_t read_node(int number, struct tm_node *node) {
  pmix_status_t status;
  const pmix_byte_object_t *object = get(number, node_key, &status);
  if (object == NULL) return status;
  if (object->size != sizeof *node) return PMIX_ERR_TYPE_MISMATCH; /* another version */
  memcpy(node, object->bytes, sizeof *node);
  return PMIX_SUCCESS;
}

static enum tm_met give_up(char *why, size_t room, const char *what, pmix_status_t status) {
  snprintf(why, room, "%s: %s", what, pmix.Error_string(status));
  return TM_NOT_MET;
}

/* What this process has of another one already; the server is not asked.
 * @return NULL: nothing. */
static const pmix_value_t *look_up(int number, const char *name) {
  const pmix_info_t here = {.key = PMIX_OPTIONAL, .value = {.type = PMIX_BOOL, .data.flag = true}};
  pmix_proc_t other = self;
  pmix_value_t *value = NULL;
  other.rank = (pmix_rank_t)number;
  return pmix.Get(&other, name, &here, 1, &value) == PMIX_SUCCESS ? value : NULL;
}

/* @return the name that the launcher has for a node's host. */
static const char *host_of(int number) {
  const pmix_value_t *value = look_up(number, PMIX_HOSTNAME);
  return value != NULL && value->type == PMIX_STRING ? value->data.string : "host unknown";
}

/* Nodes that have not come to the first fence. */
struct missing {
  int gone;   /* its address has come, but its process is gone; -1: none */
  int silent; /* the first one of which nothing has come; -1: none */
  int more;   /* of the same kind */
};

static struct missing find_missing(const struct tm_nodes *nodes) {
  struct missing missing = {-1, -1, 0};
  for (int i = 0; i < nodes->size; i++) {
    if (i == nodes->own) continue;
    const pmix_value_t *link = look_up(i, link_key);
    if (link == NULL && missing.silent < 0)
      missing.silent = i;
    else if (link == NULL)
      missing.more++;
    else if (link->data.bo.size == sizeof(struct tm_link_address) &&
             tm_links_is_gone((const void *)link->data.bo.bytes))
      missing.gone = i;
  }
  return missing;
}

static enum tm_met name_missing(const struct tm_nodes *nodes, char *why, size_t room,
                                pmix_status_t status) {
  const struct missing missing = find_missing(nodes);
  char what[TM_NODE_WHY], more[32] = "";
  if (missing.more > 0) snprintf(more, sizeof more, " and %d others", missing.more);
  if (missing.gone >= 0)
    snprintf(what, sizeof what, "the process of node %d (%s) is gone", missing.gone,
             host_of(missing.gone));
  else if (missing.silent >= 0)
    snprintf(what, sizeof what, "nothing has come from node %d (%s)%s", missing.silent,
             host_of(missing.silent), more);
  else
    snprintf(what, sizeof what,
             status == PMIX_ERR_PARTIAL_SUCCESS ? "the process of another node is gone"
                                                : "other nodes have not come");
  return give_up(why, room, what, status);
}

static enum tm_met exchange(struct tm_node *own, int seconds, struct tm_nodes *nodes, char *why,
                            size_t room) {
  bool begun = false;
  pmix_status_t status = publish(own);
  if (status == PMIX_SUCCESS) status = wait_for_others(seconds, &begun);
  if (status != PMIX_SUCCESS && begun) return name_missing(nodes, why, room, status);
  if (status != PMIX_SUCCESS) return give_up(why, room, "other nodes have not come", status);
  nodes->list = calloc((size_t)nodes->size, sizeof *nodes->list);
  if (nodes->list == NULL) return give_up(why, room, "list of nodes", PMIX_ERR_NOMEM);
  for (int i = 0; i < nodes->size && status == PMIX_SUCCESS; i++)
    status = read_node(i, &nodes->list[i]);
  if (status != PMIX_SUCCESS) return give_up(why, room, "what a node is", status);
  return TM_MET;
}

static enum tm_met meet(struct tm_node *own, int seconds, struct tm_nodes *nodes, char *why,
                        size_t room) {
  const char *missing = open_pmix();
  if (missing != NULL) {
    snprintf(why, room, "no library of PMIx: %s", missing);
    return TM_NO_PMIX;
  }
  pmix_status_t status = pmix.Init(&self, NULL, 0);
  if (status != PMIX_SUCCESS) {
    snprintf(why, room, "no server of PMIx: %s", pmix.Error_string(status));
    return TM_NO_SERVER;
  }
  *nodes = (struct tm_nodes){.size = 1, .own = (int)self.rank};
  status = find_size(&nodes->size);
  if (status != PMIX_SUCCESS) return give_up(why, room, "size of the job", status);
  if (nodes->size > 1) return exchange(own, seconds, nodes, why, room);
  pmix.Finalize(NULL, 0);
  return TM_MET;
}

static void part(int seconds) {
  wait_for_all(seconds); /* the nodes end in any case */
  pmix.Finalize(NULL, 0);
}

/* Another node may need this one to call UCX. The launcher may know first that a node is gone, and
 * does not say which. */
static pmix_status_t connected_by_all(int seconds) {
  pmix_status_t status;
  if (!fence_begin(&status)) return status;
  for (int left = 1000 * seconds; !fence_is_over(1, &status); left--) {
    if (left == 0) return PMIX_ERR_TIMEOUT;
    tm_ucx_progress();
  }
  if (status != PMIX_SUCCESS) tm_links_wait_for_reason();
  return status;
}

/* @return NULL, or what failed. */
static const char *connect_one(const struct tm_nodes *nodes, int node) {
  pmix_status_t status;
  struct tm_link_address link;
  const pmix_byte_object_t *address = get(node, link_key, &status);
  if (address == NULL) return pmix.Error_string(status);
  memcpy(&link, address->bytes, sizeof link);
  const char *missing = tm_links_connect(node, &link);
  if (missing != NULL) return missing;
  address = get(node, address_key, &status);
  return address != NULL ? tm_ucx_connect(nodes, node, address->bytes) : pmix.Error_string(status);
}

/* The failure of UCX may be that another node is gone. */
static const char *settle(int seconds) {
  const char *missing = tm_ucx_settle(seconds);
  if (missing != NULL) tm_links_wait_for_reason();
  return missing;
}

static bool connect_all(const struct tm_nodes *nodes, int seconds, char *why, size_t room) {
  const char *missing = tm_links_prepare(nodes);
  for (int i = 0; i < nodes->size && missing == NULL; i++) {
    if ((missing = connect_one(nodes, i)) == NULL) continue;
    snprintf(why, room, "node %d (%s): %s", i, nodes->list[i].host, missing);
    return false;
  }
  if (missing == NULL) missing = tm_links_start(seconds);
  if (missing == NULL) missing = settle(seconds);
  if (missing != NULL) {
    snprintf(why, room, "%s", missing);
    return false;
  }
  pmix_status_t status = connected_by_all(seconds);
  if (status != PMIX_SUCCESS) give_up(why, room, "another node has not connected", status);
  return status == PMIX_SUCCESS;
}

/* A node that has left connect_all() no longer needs this one to call UCX, so no message comes
 * before the job is there. */
static bool start(int seconds, void (*late)(void), char *why, size_t room) {
  if (!tm_ucx_start()) {
    snprintf(why, room, "no kernel thread for messages between nodes");
    return false;
  }
  tm_rest_start(late);
  bool begun;
  pmix_status_t status = wait_for_others(seconds, &begun);
  if (status != PMIX_SUCCESS && begun) tm_links_wait_for_reason();
  if (status != PMIX_SUCCESS) give_up(why, room, "another node has not started", status);
  return status == PMIX_SUCCESS;
}

/* From now on nodes may go away. @return the first that has; -1: none. */
static int find_lost(void) {
  int node = tm_links_lost(), lost = tm_ucx_lost();
  return node >= 0 ? node : lost;
}

/* A node whose ranks have ended waits as long as those of others run. If one goes away without
 * coming here, the launcher may not say so. */
static bool end(char *why, size_t room) {
  pmix_status_t status;
  int lost = find_lost(); /* from here on: the others may have come already, and end at once */
  bool begun = fence_begin(&status);
  tm_rest_ended();
  bool over = !begun, known = false;
  while (!over && !known) {
    known = lost >= 0;
    over = fence_is_over(1000 * LOOK_SECONDS, &status);
    if (!over && !known) lost = find_lost();
  }
  for (int i = 0; over && status != PMIX_SUCCESS && lost < 0 && i < KNOWN_AFTER_MS; i++) {
    lost = find_lost(); /* the launcher may know first */
    if (lost < 0) usleep(1000);
  }
  if (lost >= 0 && (!over || status != PMIX_SUCCESS)) {
    snprintf(why, room, "node %d (%s) has gone away before its ranks had ended", lost,
             tm_links_host(lost));
    tm_ucx_stop();
    return false;
  }
  tm_ucx_stop();
  if (status == PMIX_SUCCESS) return true;
  give_up(why, room, "the launcher does not answer", status);
  pmix.Finalize(NULL, 0);
  return false;
}

static void leave(int seconds) {
  if (seconds > 0) wait_for_all(seconds); /* a node that is gone ends the wait, too */
  pmix.Finalize(NULL, 0);
}

__attribute__((visibility("default"))) extern const struct tm_nodes_module tm_nodes_module;
const struct tm_nodes_module tm_nodes_module = {.meet = meet,
                                                .part = part,
                                                .connect = connect_all,
                                                .start = start,
                                                .late = tm_rest_late,
                                                .send_counts = tm_counts_send,
                                                .take_counts = tm_counts_take,
                                                .end = end,
                                                .leave = leave,
                                                .refusal = tm_nodes_refusal};
