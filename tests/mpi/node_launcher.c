/* SPDX-License-Identifier: Apache-2.0 */
#include "node_launcher.h"

#include <errno.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "stand_in_library.h"

/* ---- PMIx */

const char *missing_function; /* NULL: none */
bool has_library;
pmix_status_t init_status, size_status, commit_status;
pmix_status_t begin_status, end_status; /* of a fence */
int waits_left;                         /* of a fence; NEVER: it does not end */
int interrupted;                        /* waits that a signal ends */
int size;
const char *bad_put, *bad_get; /* what cannot be put, or got of: */
int bad_node;
bool other_type, other_size; /* what has come of bad_node */
struct timespec wait_end;    /* of the last wait for a fence */
struct tm_node nodes_list[NODES];
struct tm_link_address links[NODES];
char addresses[NODES][16];
bool has_link[NODES]; /* it has come */
bool hosts_known, host_is_number;
void (*fence_ended)(pmix_status_t status, void *data);

static pmix_status_t init(pmix_proc_t *proc, pmix_info_t *info, size_t count) {
  assert_null(info);
  assert_int_equal(count, 0);
  strcpy(proc->nspace, "space");
  proc->rank = OWN;
  note("init ");
  return init_status;
}

static pmix_status_t finalize(const pmix_info_t *info, size_t count) {
  assert_null(info);
  assert_int_equal(count, 0);
  note("finalize ");
  return PMIX_SUCCESS;
}

static void give_bytes(pmix_value_t *value, void *bytes, size_t count) {
  *value = (pmix_value_t){.type = PMIX_BYTE_OBJECT};
  value->data.bo.bytes = bytes;
  value->data.bo.size = count;
}

static pmix_status_t get_of_job(pmix_value_t *value) {
  if (size_status != PMIX_SUCCESS) return size_status;
  *value = (pmix_value_t){.type = PMIX_UINT32, .data.uint32 = (uint32_t)size};
  return PMIX_SUCCESS;
}

/* What the process has already. */
static pmix_status_t look_up(int node, const char *key, const pmix_info_t *info,
                             pmix_value_t *value) {
  assert_string_equal(info->key, PMIX_OPTIONAL);
  assert_int_equal(info->value.type, PMIX_BOOL);
  assert_true(info->value.data.flag);
  if (strcmp(key, PMIX_HOSTNAME) == 0) {
    *value = (pmix_value_t){.type = host_is_number ? PMIX_UINT32 : PMIX_STRING};
    if (!host_is_number) value->data.string = nodes_list[node].host;
    return hosts_known ? PMIX_SUCCESS : PMIX_ERR_NOT_FOUND;
  }
  assert_string_equal(key, "mltp.link");
  assert_int_not_equal(node, OWN);
  give_bytes(value, &links[node], sizeof links[node] - (node == bad_node && other_size));
  return has_link[node] ? PMIX_SUCCESS : PMIX_ERR_NOT_FOUND;
}

static pmix_status_t get(const pmix_proc_t *proc, const char *key, const pmix_info_t *info,
                         size_t count, pmix_value_t **value) {
  static pmix_value_t values[64];
  static int used;
  assert_string_equal(proc->nspace, "space");
  assert_true((info != NULL) == (count == 1));
  pmix_value_t *made = *value = &values[used++ % 64];
  if (strcmp(key, PMIX_JOB_SIZE) == 0) {
    assert_int_equal(proc->rank, PMIX_RANK_WILDCARD);
    assert_int_equal(count, 0);
    return get_of_job(made);
  }
  int node = (int)proc->rank;
  assert_in_range(node, 0, NODES - 1);
  if (count == 1) return look_up(node, key, info, made);
  bool bad = node == bad_node && bad_get != NULL && strcmp(key, bad_get) == 0;
  if (strcmp(key, "mltp.node") == 0)
    give_bytes(made, &nodes_list[node], sizeof nodes_list[node] + (bad && other_size));
  else if (strcmp(key, "mltp.link") == 0)
    give_bytes(made, &links[node], sizeof links[node]);
  else
    give_bytes(made, addresses[node], sizeof addresses[node]);
  if (bad && other_type) made->type = PMIX_STRING;
  return bad && !other_type && !other_size ? PMIX_ERR_NOT_FOUND : PMIX_SUCCESS;
}

static pmix_status_t put(pmix_scope_t scope, const char *key, pmix_value_t *value) {
  assert_int_equal(scope, PMIX_GLOBAL);
  assert_int_equal(value->type, PMIX_BYTE_OBJECT);
  note("put %s %zu %.4s ", key, value->data.bo.size, value->data.bo.bytes);
  return bad_put != NULL && strcmp(key, bad_put) == 0 ? PMIX_ERR_NOMEM : PMIX_SUCCESS;
}

static pmix_status_t commit(void) {
  note("commit ");
  return commit_status;
}

static pmix_status_t begin_fence(const pmix_proc_t *procs, size_t proc_count,
                                 const pmix_info_t *info, size_t info_count, pmix_op_cbfunc_t ended,
                                 void *data) {
  assert_int_equal(proc_count, 1);
  assert_string_equal(procs->nspace, "space");
  assert_int_equal(procs->rank, PMIX_RANK_WILDCARD);
  assert_int_equal(info_count, 1);
  assert_string_equal(info->key, PMIX_COLLECT_DATA);
  assert_int_equal(info->value.type, PMIX_BOOL);
  assert_true(info->value.data.flag);
  assert_null(data);
  note("fence ");
  fence_ended = ended;
  if (begin_status == PMIX_SUCCESS && waits_left == 0) fence_ended(end_status, NULL);
  return begin_status;
}

static const char *text_of(pmix_status_t status) {
  return status == PMIX_SUCCESS               ? "SUCCESS"
         : status == PMIX_ERR_TIMEOUT         ? "TIMEOUT"
         : status == PMIX_ERR_NOMEM           ? "NOMEM"
         : status == PMIX_ERR_NOT_FOUND       ? "NOT_FOUND"
         : status == PMIX_ERR_TYPE_MISMATCH   ? "TYPE"
         : status == PMIX_ERR_PARTIAL_SUCCESS ? "PARTIAL"
                                              : "ERROR";
}

/* ---- libc */

void *__wrap_dlopen(const char *name, int flags);
void *__wrap_dlopen(const char *name, int flags) {
  (void)flags;
  assert_string_equal(name, "libpmix.so.2");
  return has_library ? events : NULL;
}

void *__wrap_dlsym(void *library, const char *name);
void *__wrap_dlsym(void *library, const char *name) {
  static const struct stand_in all[] = {{"PMIx_Init", (void (*)(void))init},
                                        {"PMIx_Finalize", (void (*)(void))finalize},
                                        {"PMIx_Get", (void (*)(void))get},
                                        {"PMIx_Put", (void (*)(void))put},
                                        {"PMIx_Commit", (void (*)(void))commit},
                                        {"PMIx_Fence_nb", (void (*)(void))begin_fence},
                                        {"PMIx_Error_string", (void (*)(void))text_of}};
  assert_ptr_equal(library, events);
  void *found = find_stand_in(all, sizeof all / sizeof all[0], name, missing_function);
  if (found == NULL && missing_function == NULL) fail_msg("%s is not PMIx's", name);
  return found;
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now) {
  assert_int_equal(clock, CLOCK_REALTIME);
  *now = (struct timespec){NOW, 999000000};
  return 0;
}

/* The time is over at once, unless the fence ends. */
int __wrap_sem_timedwait(sem_t *done, const struct timespec *end);
int __wrap_sem_timedwait(sem_t *done, const struct timespec *end) {
  wait_end = *end;
  if (interrupted > 0) {
    interrupted--;
    errno = EINTR;
    return -1;
  }
  bool last = waits_left == 1;
  waits_left -= waits_left > 0;
  if (last) fence_ended(end_status, NULL);
  if (sem_trywait(done) == 0) return 0;
  note("late ");
  errno = ETIMEDOUT;
  return -1;
}

int naps;

int __wrap_usleep(useconds_t us);
int __wrap_usleep(useconds_t us) {
  assert_int_equal(us, 1000);
  naps++;
  return 0;
}

/* ---- the rest of the module */

bool ucx_opens, links_open, ucx_starts;
int bad_connect, bad_ucx_connect; /* nodes */
const char *no_prepare, *no_start, *no_settle;
int gone; /* its process is */
int links_lost, ucx_lost, looks;
int lost_after; /* looks */
void (*rest_late)(void);

const void *tm_ucx_open(size_t *bytes, char *why, size_t room) {
  assert_int_equal(room, TM_NODE_WHY);
  *bytes = sizeof addresses[OWN];
  if (ucx_opens) return addresses[OWN];
  snprintf(why, room, "no UCX");
  return NULL;
}

const struct tm_link_address *tm_links_open(char *why, size_t room) {
  assert_int_equal(room, TM_NODE_WHY);
  note("listen ");
  if (links_open) return &links[OWN];
  snprintf(why, room, "no port");
  return NULL;
}

const char *tm_links_prepare(const struct tm_nodes *nodes) {
  assert_int_equal(nodes->size, size);
  note("prepare ");
  return no_prepare;
}

const char *tm_links_connect(int node, const struct tm_link_address *address) {
  assert_memory_equal(address, &links[node], sizeof *address);
  note("link %d ", node);
  return node == bad_connect ? "no link" : NULL;
}

const char *tm_ucx_connect(const struct tm_nodes *nodes, int node, const void *address) {
  assert_int_equal(nodes->own, OWN);
  assert_ptr_equal(address, addresses[node]);
  note("ucx %d ", node);
  return node == bad_ucx_connect ? "no path" : NULL;
}

const char *tm_links_start(int seconds) {
  note("links %d ", seconds);
  return no_start;
}

const char *tm_ucx_settle(int seconds) {
  note("settle %d ", seconds);
  return no_settle;
}

void tm_ucx_progress(void) { note("progress "); }

void tm_links_wait_for_reason(void) { note("reason "); }

bool tm_links_is_gone(const struct tm_link_address *address) {
  return gone >= 0 && address == &links[gone];
}

const char *tm_links_host(int node) { return nodes_list[node].host; }

int tm_links_lost(void) { return looks++ >= lost_after ? links_lost : -1; }

int tm_ucx_lost(void) { return looks > lost_after ? ucx_lost : -1; }

bool tm_ucx_start(void) {
  note("serve ");
  return ucx_starts;
}

void tm_ucx_stop(void) { note("stop "); }

void tm_rest_start(void (*late)(void)) {
  rest_late = late;
  note("rest ");
}

void tm_rest_late(void) {}

void tm_rest_ended(void) { note("ended "); }

void tm_counts_send(const void *data, size_t bytes) { (void)data, (void)bytes; }

void *tm_counts_take(int node, bool waits, size_t *bytes) {
  (void)node, (void)waits, (void)bytes;
  return NULL;
}

const void *tm_nodes_refusal(const char *name) { return name; }

void stage_reset(void) {
  events[0] = '\0';
  strcpy(dl_error, "no file");
  missing_function = bad_put = bad_get = no_prepare = no_start = no_settle = NULL;
  has_library = hosts_known = ucx_opens = links_open = ucx_starts = true;
  init_status = size_status = commit_status = begin_status = end_status = PMIX_SUCCESS;
  waits_left = interrupted = naps = looks = lost_after = 0;
  bad_node = bad_connect = bad_ucx_connect = gone = links_lost = ucx_lost = -1;
  other_type = other_size = host_is_number = false;
  size = NODES;
  for (int i = 0; i < NODES; i++) {
    has_link[i] = true;
    snprintf(nodes_list[i].host, sizeof nodes_list[i].host, "host%d", i);
    snprintf(addresses[i], sizeof addresses[i], "at%d", i);
    memset(&links[i], 0, sizeof links[i]);
    snprintf((char *)&links[i], sizeof links[i], "ln%d", i);
  }
}
