/* SPDX-License-Identifier: Apache-2.0 */
/* The module of nodes.h. */
#include <dlfcn.h>
#include <errno.h>
#include <pmix.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tmpi/nodes/nodes.h"

/* The functions of PMIx that the module calls. */
#define FUNCTIONS(F) F(Init) F(Finalize) F(Get) F(Put) F(Commit) F(Fence_nb) F(Error_string)
#define MEMBER(name) __typeof__(PMIx_##name) *(name);
#define OPEN(name)                                                                                 \
  if ((*(void **)&pmix.name = dlsym(library, "PMIx_" #name)) == NULL) return dlerror();

static struct {
  FUNCTIONS(MEMBER)
} pmix;

static const char key[] = "mltp.node";

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

static pmix_status_t wait_for_all(const char *job, int seconds) {
  pmix_proc_t all = {.rank = PMIX_RANK_WILDCARD};
  pmix_info_t collect = {.key = PMIX_COLLECT_DATA, .value = {.type = PMIX_BOOL, .data.flag = true}};
  struct timespec end;
  snprintf(all.nspace, sizeof all.nspace, "%s", job);
  sem_init(&fence.done, 0, 0);
  pmix_status_t status = pmix.Fence_nb(&all, 1, &collect, 1, fence_ended, NULL);
  if (status == PMIX_OPERATION_SUCCEEDED) return PMIX_SUCCESS;
  if (status != PMIX_SUCCESS) return status;
  clock_gettime(CLOCK_REALTIME, &end);
  end.tv_sec += seconds;
  while (sem_timedwait(&fence.done, &end) != 0)
    if (errno != EINTR) return PMIX_ERR_TIMEOUT;
  return fence.status;
}

static pmix_status_t find_size(const pmix_proc_t *self, int *size) {
  pmix_proc_t job = *self;
  pmix_value_t *value = NULL;
  job.rank = PMIX_RANK_WILDCARD;
  pmix_status_t status = pmix.Get(&job, PMIX_JOB_SIZE, NULL, 0, &value);
  if (status == PMIX_SUCCESS) *size = (int)value->data.uint32;
  return status; /* the value is small, and the process has one */
}

static pmix_status_t publish(const struct tm_node *own) {
  pmix_value_t value = {.type = PMIX_BYTE_OBJECT};
  struct tm_node copy = *own;
  value.data.bo.bytes = (char *)&copy;
  value.data.bo.size = sizeof copy;
  pmix_status_t status = pmix.Put(PMIX_GLOBAL, key, &value);
  return status == PMIX_SUCCESS ? pmix.Commit() : status;
}

static pmix_status_t read_node(const pmix_proc_t *self, int number, struct tm_node *node) {
  pmix_proc_t other = *self;
  pmix_value_t *value = NULL;
  other.rank = (pmix_rank_t)number;
  pmix_status_t status = pmix.Get(&other, key, NULL, 0, &value);
  if (status != PMIX_SUCCESS) return status;
  if (value->type != PMIX_BYTE_OBJECT || value->data.bo.size != sizeof *node)
    return PMIX_ERR_TYPE_MISMATCH; /* another version */
  memcpy(node, value->data.bo.bytes, sizeof *node);
  return PMIX_SUCCESS;
}

static enum tm_met give_up(char *why, size_t room, const char *what, pmix_status_t status) {
  snprintf(why, room, "%s: %s", what, pmix.Error_string(status));
  return TM_NOT_MET;
}

__attribute__((visibility("default"))) tm_nodes_meet tm_nodes_meet_all;

enum tm_met tm_nodes_meet_all(const struct tm_node *own, int seconds, tm_nodes_speak *speak,
                              struct tm_nodes *nodes, char *why, size_t room) {
  pmix_proc_t self;
  const char *missing = open_pmix();
  if (missing != NULL) {
    snprintf(why, room, "no library of PMIx: %s", missing);
    return TM_NO_PMIX;
  }
  pmix_status_t status = pmix.Init(&self, NULL, 0);
  if (status != PMIX_SUCCESS) {
    snprintf(why, room, "no server of PMIx: %s", pmix.Error_string(status));
    return TM_NO_PMIX;
  }
  *nodes = (struct tm_nodes){.size = 1, .own = (int)self.rank};
  status = find_size(&self, &nodes->size);
  if (status != PMIX_SUCCESS) return give_up(why, room, "size of the job", status);
  if (nodes->size > 1) {
    status = publish(own);
    if (status == PMIX_SUCCESS) status = wait_for_all(self.nspace, seconds);
    if (status != PMIX_SUCCESS) return give_up(why, room, "other nodes have not come", status);
    nodes->list = calloc((size_t)nodes->size, sizeof *nodes->list);
    if (nodes->list == NULL) return give_up(why, room, "list of nodes", PMIX_ERR_NOMEM);
    for (int i = 0; i < nodes->size && status == PMIX_SUCCESS; i++)
      status = read_node(&self, i, &nodes->list[i]);
    if (status != PMIX_SUCCESS) return give_up(why, room, "what a node is", status);
    if (nodes->own == 0) speak(nodes);
    wait_for_all(self.nspace, seconds); /* the nodes end in any case */
  }
  pmix.Finalize(NULL, 0);
  return TM_MET;
}
