/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a node opens UCX and connects to others: what it asks for, what it says of each call that
 * fails, and how long it waits. And which descriptors wake the thread of the transport, with real
 * ones of epoll. UCX and the clock are stand-ins.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "noted_events.h"
#include "os/os.h"
#include "stand_in_library.h"
#include "tmpi/nodes/ucx.h"

enum { NODES = 3, OWN = 1, WHY = 200, ADDRESS_BYTES = 77, WATCHED_MAX = 16 };

static const char *bad; /* the call that fails, or the function that is missing; NULL: none */

static ucs_status_t called(const char *call) {
  note("%s ", call);
  return bad != NULL && strcmp(bad, call) == 0 ? UCS_ERR_NO_DEVICE : UCS_OK;
}

/* ---- UCX */

static char config, context, worker, address, flush;

static ucs_status_t read_config(const char *prefix, const char *file, ucp_config_t **read) {
  assert_true(prefix == NULL && file == NULL);
  *read = (ucp_config_t *)&config;
  return called("read");
}

static void release_config(ucp_config_t *released) {
  assert_ptr_equal(released, &config);
  called("release");
}

static ucs_status_t init(unsigned major, unsigned minor, const ucp_params_t *params,
                         const ucp_config_t *used, ucp_context_h *made) {
  assert_int_equal(major, UCP_API_MAJOR);
  assert_int_equal(minor, UCP_API_MINOR);
  assert_int_equal(params->field_mask, UCP_PARAM_FIELD_FEATURES);
  assert_int_equal(params->features, UCP_FEATURE_AM | UCP_FEATURE_WAKEUP);
  assert_ptr_equal(used, &config);
  *made = (ucp_context_h)&context;
  return called("init");
}

static ucs_status_t create_worker(ucp_context_h in, const ucp_worker_params_t *params,
                                  ucp_worker_h *made) {
  assert_ptr_equal(in, &context);
  assert_int_equal(params->field_mask, UCP_WORKER_PARAM_FIELD_THREAD_MODE);
  assert_int_equal(params->thread_mode, UCS_THREAD_MODE_SERIALIZED);
  *made = (ucp_worker_h)&worker;
  return called("worker");
}

static ucs_status_t listen_for(ucp_worker_h of, const ucp_am_handler_param_t *param) {
  char call[16];
  assert_ptr_equal(of, &worker);
  assert_int_equal(param->field_mask, UCP_AM_HANDLER_PARAM_FIELD_ID |
                                          UCP_AM_HANDLER_PARAM_FIELD_CB |
                                          UCP_AM_HANDLER_PARAM_FIELD_FLAGS);
  assert_int_equal(param->flags, UCP_AM_FLAG_WHOLE_MSG);
  assert_ptr_equal(param->cb, tm_ucx_takers[param->id]);
  snprintf(call, sizeof call, "listen%u", param->id);
  return called(call);
}

static ucs_status_t get_address(ucp_worker_h of, ucp_address_t **found, size_t *size) {
  assert_ptr_equal(of, &worker);
  *found = (ucp_address_t *)&address;
  *size = ADDRESS_BYTES;
  return called("address");
}

static ucp_ep_params_t connection;

static ucs_status_t create_connection(ucp_worker_h of, const ucp_ep_params_t *params,
                                      ucp_ep_h *made) {
  assert_ptr_equal(of, &worker);
  connection = *params;
  *made = (ucp_ep_h)&connection;
  return called("connect");
}

static ucs_status_ptr_t flushed; /* of the flush */
static int steps_left;           /* until it is over */
static ucs_status_t flush_status;
static double step_seconds, now;

static ucs_status_ptr_t begin_flush(ucp_worker_h of, const ucp_request_param_t *param) {
  assert_ptr_equal(of, &worker);
  assert_int_equal(param->op_attr_mask, 0);
  called("flush");
  return flushed;
}

static unsigned progress(ucp_worker_h of) {
  assert_ptr_equal(of, &worker);
  called("progress");
  steps_left--;
  now += step_seconds;
  return 0;
}

static ucs_status_t check_request(void *request) {
  assert_ptr_equal(request, &flush);
  return steps_left > 0 ? UCS_INPROGRESS : flush_status;
}

static void free_request(void *request) {
  assert_ptr_equal(request, &flush);
  called("free");
}

static const char *text_of(ucs_status_t status) {
  return status == UCS_ERR_NO_DEVICE ? "no device" : "other";
}

static void not_called(void) { fail(); }

const ucp_am_recv_callback_t tm_ucx_takers[TM_UCX_KINDS] = {
    (ucp_am_recv_callback_t)11, (ucp_am_recv_callback_t)12, (ucp_am_recv_callback_t)13};

void tm_ucx_on_failure(void *peer, ucp_ep_h ep, ucs_status_t status) {
  (void)peer, (void)ep, (void)status;
}

void os_yield(void) { called("yield"); }

/* ---- libc */

static bool has_memory = true;

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size) {
  return has_memory ? __real_calloc(count, size) : NULL;
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *time);
int __wrap_clock_gettime(clockid_t clock, struct timespec *time) {
  assert_int_equal(clock, CLOCK_MONOTONIC);
  time->tv_sec = (time_t)now;
  time->tv_nsec = (long)((now - (double)time->tv_sec) * 1e9);
  return 0;
}

static bool has_library;

void *__wrap_dlopen(const char *name, int flags);
void *__wrap_dlopen(const char *name, int flags) {
  sigset_t mask;
  (void)flags;
  assert_string_equal(name, "libucp.so.0");
  sigprocmask(SIG_SETMASK, NULL, &mask);
  assert_true(sigismember(&mask, SIGTERM) && sigismember(&mask, SIGUSR1));
  return has_library ? events : NULL;
}

void *__wrap_dlsym(void *library, const char *name);
void *__wrap_dlsym(void *library, const char *name) {
  static const struct stand_in all[] = {
      {"ucp_config_read", (void (*)(void))read_config},
      {"ucp_config_release", (void (*)(void))release_config},
      {"ucp_init_version", (void (*)(void))init},
      {"ucp_worker_create", (void (*)(void))create_worker},
      {"ucp_worker_get_address", (void (*)(void))get_address},
      {"ucp_worker_set_am_recv_handler", (void (*)(void))listen_for},
      {"ucp_worker_progress", (void (*)(void))progress},
      {"ucp_worker_flush_nbx", (void (*)(void))begin_flush},
      {"ucp_ep_create", (void (*)(void))create_connection},
      {"ucp_request_free", (void (*)(void))free_request},
      {"ucp_request_check_status", (void (*)(void))check_request},
      {"ucs_status_string", (void (*)(void))text_of}};
  static void (*const other)(void) = not_called;
  assert_ptr_equal(library, events);
  void *found = find_stand_in(all, sizeof all / sizeof all[0], name, bad);
  bool is_missing = bad != NULL && strcmp(name, bad) == 0;
  return found != NULL || is_missing ? found : *(void *const *)&other;
}

/* ---- */

static int prepare(void **state) {
  (void)state;
  events[0] = '\0';
  strcpy(dl_error, "no file");
  bad = NULL;
  has_library = has_memory = true;
  flushed = NULL;
  flush_status = UCS_OK;
  steps_left = 0;
  now = 1000.25;
  step_seconds = 0;
  return 0;
}

static void check_open(const char *reason, const char *order) {
  char why[WHY] = "";
  size_t size = 0;
  const void *found = tm_ucx_open(&size, why, sizeof why);
  assert_string_equal(why, reason);
  check_events(order);
  if (reason[0] == '\0') {
    assert_ptr_equal(found, &address);
    assert_int_equal(size, ADDRESS_BYTES);
    assert_ptr_equal(tm_ucx_worker, &worker);
  } else {
    assert_null(found);
  }
}

#define OPENED "read init release worker listen0 listen1 listen2 address "

static void a_node_opens_ucx(void **state) {
  sigset_t before, mask;
  (void)state;
  sigemptyset(&before);
  sigaddset(&before, SIGUSR2);
  sigprocmask(SIG_SETMASK, &before, NULL);
  unsetenv("UCX_LOG_FILE");
  unsetenv("UCX_LOG_LEVEL");
  unsetenv("UCX_HANDLE_ERRORS");
  check_open("", OPENED);
  sigprocmask(SIG_SETMASK, NULL, &mask);
  assert_true(sigismember(&mask, SIGUSR2) && !sigismember(&mask, SIGUSR1));
  assert_string_equal(getenv("UCX_LOG_FILE"), "stderr");
  assert_string_equal(getenv("UCX_LOG_LEVEL"), "fatal");
  assert_string_equal(getenv("UCX_HANDLE_ERRORS"), "none");
  setenv("UCX_LOG_FILE", "mine", 1); /* the user's stay */
  setenv("UCX_LOG_LEVEL", "info", 1);
  setenv("UCX_HANDLE_ERRORS", "bt", 1);
  check_open("", OPENED);
  assert_string_equal(getenv("UCX_LOG_FILE"), "mine");
  assert_string_equal(getenv("UCX_LOG_LEVEL"), "info");
  assert_string_equal(getenv("UCX_HANDLE_ERRORS"), "bt");
  sigemptyset(&before);
  sigprocmask(SIG_SETMASK, &before, NULL);
}

static void a_library_that_is_not_there(void **state) {
#define NAME(name) #name,
  static const char *const names[] = {TM_UCX_FUNCTIONS(NAME)};
  (void)state;
  has_library = false;
  check_open("no UCX: no file (install libucx0)", "");
  has_library = true;
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    char reason[WHY];
    bad = names[i];
    snprintf(reason, sizeof reason, "no UCX: no %s (install libucx0)", bad);
    check_open(reason, "");
  }
}

static void calls_of_ucx_that_fail(void **state) {
  static const struct {
    const char *call, *order;
  } all[] = {{"read", "read "},
             {"init", "read init release "},
             {"worker", "read init release worker "},
             {"listen0", "read init release worker listen0 "},
             {"listen1", "read init release worker listen0 listen1 "},
             {"listen2", "read init release worker listen0 listen1 listen2 "},
             {"address", OPENED}};
  (void)state;
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
    bad = all[i].call;
    check_open("no UCX: no device (UCX_TLS, UCX_NET_DEVICES)", all[i].order);
  }
}

static void each_node_but_the_own_gets_a_connection(void **state) {
  static struct tm_node list[NODES] = {{.host = "here"}, {.host = "own"}, {.host = "there"}};
  const struct tm_nodes nodes = {.size = NODES, .own = OWN, .list = list};
  (void)state;
  check_open("", OPENED);
  has_memory = false;
  assert_string_equal(tm_ucx_connect(&nodes, 0, &address), "no memory");
  has_memory = true;
  for (int i = 0; i < NODES; i++) {
    assert_null(tm_ucx_connect(&nodes, i, &address));
    struct tm_peer *peer = &tm_ucx_peers[i];
    assert_int_equal(peer->number, i);
    assert_string_equal(peer->host, list[i].host);
    check_events(i == OWN ? "" : "connect ");
    assert_ptr_equal(peer->ep, i == OWN ? NULL : &connection);
    assert_int_equal(connection.field_mask,
                     UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLER);
    assert_ptr_equal(connection.address, &address);
    assert_ptr_equal(connection.err_handler.cb, tm_ucx_on_failure);
    if (i != OWN) assert_ptr_equal(connection.err_handler.arg, peer);
  }
  assert_string_equal(tm_ucx_peers[0].host, "here"); /* the first one made room for all */
  bad = "connect";
  assert_string_equal(tm_ucx_connect(&nodes, 2, &address), "no device");
  free(tm_ucx_peers);
  tm_ucx_peers = NULL;
}

static void a_node_waits_until_all_answer(void **state) {
  (void)state;
  check_open("", OPENED);
  assert_null(tm_ucx_settle(10));
  check_events("flush ");
  flushed = (ucs_status_ptr_t)(intptr_t)UCS_ERR_NO_DEVICE;
  assert_string_equal(tm_ucx_settle(10), "no device");
  check_events("flush ");
  flushed = &flush;
  steps_left = 3;
  step_seconds = 4;
  assert_null(tm_ucx_settle(10));
  check_events("flush progress yield progress yield progress yield free ");
  steps_left = 4;
  assert_string_equal(tm_ucx_settle(10), "nodes do not answer");
  check_events("flush progress yield progress yield progress yield ");
  steps_left = 3;
  step_seconds = 5; /* as long as it may wait */
  assert_string_equal(tm_ucx_settle(10), "nodes do not answer");
  check_events("flush progress yield progress yield ");
  steps_left = 2;
  step_seconds = 0.75;
  assert_string_equal(tm_ucx_settle(0), "nodes do not answer"); /* it has looked once */
  check_events("flush progress yield ");
  steps_left = 2;
  assert_null(tm_ucx_settle(1)); /* fractions count */
  events[0] = '\0';
  steps_left = 1;
  flush_status = UCS_ERR_NO_DEVICE;
  assert_string_equal(tm_ucx_settle(10), "no device");
  check_events("flush progress yield free ");
  tm_ucx_progress();
  check_events("progress ");
}

/* ---- wakeups */

static int epoll_with(int fd) {
  int made = epoll_create1(0);
  struct epoll_event event = {EPOLLIN, {.fd = fd}};
  assert_true(made >= 0);
  assert_int_equal(epoll_ctl(made, EPOLL_CTL_ADD, fd, &event), 0);
  return made;
}

static void watch(int outer, int fd, uint32_t what, uint64_t data) {
  struct epoll_event event = {what, {.u64 = data}};
  assert_int_equal(epoll_ctl(outer, EPOLL_CTL_ADD, fd, &event), 0);
}

/* What a descriptor of epoll watches, as the kernel lists it. */
static void list_watched(int outer, char *text, size_t room) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fdinfo/%d", outer);
  int fd = open(path, O_RDONLY);
  ssize_t length = read(fd, text, room - 1);
  close(fd);
  assert_in_range(length, 1, room - 2);
  text[length] = '\0';
}

/* Some that are of no epoll, and more of epoll than there is a place for. */
static void descriptors_of_epoll_do_not_wake_while_others_poll(void **state) {
  enum { INNER = WATCHED_MAX + 1 };
  struct epoll_event events_now[2 * INNER];
  static char before[8192], after[8192];
  int ready = eventfd(1, 0), pipe_ends[2], inner[INNER];
  (void)state;
  assert_int_equal(pipe(pipe_ends), 0);
  tm_wakeups_open(-1); /* the kernel lists nothing */
  tm_wakeups_set(false);
  int outer = epoll_create1(0);
  watch(outer, ready, EPOLLIN, 1);
  watch(outer, pipe_ends[0], EPOLLIN, 2); /* which is not readable */
  for (int i = 0; i < INNER; i++) {
    inner[i] = epoll_with(ready);
    watch(outer, inner[i], EPOLLIN | (i % 2 == 0 ? EPOLLRDHUP : 0), 0x1234567890 + (uint64_t)i);
  }
  list_watched(outer, before, sizeof before);
  tm_wakeups_open(outer);
  assert_int_equal(epoll_wait(outer, events_now, 2 * INNER, 0), 1 + INNER);
  tm_wakeups_set(false);
  assert_int_equal(epoll_wait(outer, events_now, 2 * INNER, 0), 1 + INNER - WATCHED_MAX);
  tm_wakeups_set(true);
  assert_int_equal(epoll_wait(outer, events_now, 2 * INNER, 0), 1 + INNER);
  list_watched(outer, after, sizeof after);
  assert_string_equal(before, after);
  for (int i = 0; i < INNER; i++) close(inner[i]);
  tm_wakeups_set(false); /* UCX has taken them out */
  assert_int_equal(epoll_wait(outer, events_now, 2 * INNER, 0), 1);
  assert_int_equal(events_now[0].data.u64, 1);
  close(ready);
  close(outer);
  close(pipe_ends[0]);
  close(pipe_ends[1]);
}

int main(void) {
#define PART(part) cmocka_unit_test_setup(part, prepare)
  const struct CMUnitTest tests[] = {
      PART(a_node_opens_ucx),
      PART(a_library_that_is_not_there),
      PART(calls_of_ucx_that_fail),
      PART(each_node_but_the_own_gets_a_connection),
      PART(a_node_waits_until_all_answer),
      PART(descriptors_of_epoll_do_not_wake_while_others_poll),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
