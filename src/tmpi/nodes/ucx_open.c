/* SPDX-License-Identifier: Apache-2.0 */
/* Opens UCX, and connects each node to each; ucx.h. */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "os/os.h"
#include "tmpi/nodes/ucx.h"

#define OPEN(name)                                                                                 \
  if ((*(void **)&tm_ucx.name = dlsym(library, #name)) == NULL) return dlerror();

struct tm_ucx tm_ucx;
ucp_worker_h tm_ucx_worker;
struct tm_peer *tm_ucx_peers;

static const char *open_libraries(void) {
  void *library = dlopen("libucp.so.0", RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) return dlerror();
  TM_UCX_FUNCTIONS(OPEN)
  return NULL;
}

static ucs_status_t make_worker(void) {
  ucp_config_t *config;
  ucp_context_h context;
  ucs_status_t status = tm_ucx.ucp_config_read(NULL, NULL, &config);
  if (status != UCS_OK) return status;
  const ucp_params_t params = {.field_mask = UCP_PARAM_FIELD_FEATURES,
                               .features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP};
  status = tm_ucx.ucp_init_version(UCP_API_MAJOR, UCP_API_MINOR, &params, config, &context);
  tm_ucx.ucp_config_release(config);
  if (status != UCS_OK) return status;
  const ucp_worker_params_t of_worker = {.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
                                         .thread_mode = UCS_THREAD_MODE_SERIALIZED};
  return tm_ucx.ucp_worker_create(context, &of_worker, &tm_ucx_worker);
}

static ucs_status_t listen_for(enum tm_ucx_kind kind) {
  const ucp_am_handler_param_t param = {.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID |
                                                      UCP_AM_HANDLER_PARAM_FIELD_CB |
                                                      UCP_AM_HANDLER_PARAM_FIELD_FLAGS,
                                        .id = kind,
                                        .flags = UCP_AM_FLAG_WHOLE_MSG,
                                        .cb = tm_ucx_takers[kind]};
  return tm_ucx.ucp_worker_set_am_recv_handler(tm_ucx_worker, &param);
}

/* UCX would print to stdout, which is the program's, and handle crashes in place of tmpirun. */
static void choose_settings(void) {
  setenv("UCX_LOG_FILE", "stderr", 0);
  setenv("UCX_LOG_LEVEL", "fatal", 0);
  setenv("UCX_HANDLE_ERRORS", "none", 0);
}

const void *tm_ucx_open(size_t *size, char *why, size_t room) {
  ucp_address_t *address = NULL;
  sigset_t all, before; /* threads of UCX inherit the mask: no signal is for them */
  choose_settings();
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const char *missing = open_libraries();
  ucs_status_t status = missing == NULL ? make_worker() : UCS_OK;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (missing != NULL) {
    snprintf(why, room, "no UCX: %s (install libucx0)", missing);
    return NULL;
  }
  for (enum tm_ucx_kind kind = 0; kind < TM_UCX_KINDS && status == UCS_OK; kind++)
    status = listen_for(kind);
  if (status == UCS_OK) status = tm_ucx.ucp_worker_get_address(tm_ucx_worker, &address, size);
  if (status == UCS_OK) return address;
  snprintf(why, room, "no UCX: %s (UCX_TLS, UCX_NET_DEVICES)", tm_ucx.ucs_status_string(status));
  return NULL;
}

/* The handler is called without UCP_ERR_HANDLING_MODE_PEER, too. With it UCX would copy large data
 * by buffers of its own where a transport cannot revoke its access to memory, as TCP. There is
 * nothing to revoke it for: a job ends when it has lost a node. */
const char *tm_ucx_connect(const struct tm_nodes *nodes, int node, const void *address) {
  if (tm_ucx_peers == NULL) tm_ucx_peers = calloc((size_t)nodes->size, sizeof *tm_ucx_peers);
  if (tm_ucx_peers == NULL) return "no memory";
  struct tm_peer *peer = &tm_ucx_peers[node];
  peer->number = node;
  strcpy(peer->host, nodes->list[node].host);
  if (node == nodes->own) return NULL;
  const ucp_ep_params_t params = {
      .field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLER,
      .address = address,
      .err_handler = {.cb = tm_ucx_on_failure, .arg = peer}};
  ucs_status_t status = tm_ucx.ucp_ep_create(tm_ucx_worker, &params, &peer->ep);
  return status == UCS_OK ? NULL : tm_ucx.ucs_status_string(status);
}

static double seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* A flush goes to each node and back. */
const char *tm_ucx_settle(int seconds) {
  const ucp_request_param_t param = {0};
  double end = seconds_now() + seconds;
  ucs_status_t status = UCS_OK;
  ucs_status_ptr_t request = tm_ucx.ucp_worker_flush_nbx(tm_ucx_worker, &param);
  if (UCS_PTR_IS_PTR(request)) {
    do {
      tm_ucx.ucp_worker_progress(tm_ucx_worker);
      os_yield(); /* another node may need this CPU to answer */
      status = tm_ucx.ucp_request_check_status(request);
    } while (status == UCS_INPROGRESS && seconds_now() < end);
    if (status == UCS_INPROGRESS) return "nodes do not answer";
    tm_ucx.ucp_request_free(request);
  } else {
    status = UCS_PTR_STATUS(request);
  }
  return status == UCS_OK ? NULL : tm_ucx.ucs_status_string(status);
}

void tm_ucx_progress(void) { tm_ucx.ucp_worker_progress(tm_ucx_worker); }
