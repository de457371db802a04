/* SPDX-License-Identifier: Apache-2.0 */
#include "node_transport.h"

#include <mltp/mltp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/internal/process.h"
#include "os/os.h"
#include "tmpi/rank/rank.h"

/* ---- the library */

struct tm_job tm_job = {.first_size = NODES * RANKS_OF_NODE, .local = RANKS_OF_NODE};
struct tm_ucx tm_ucx;
static char worker;
ucp_worker_h tm_ucx_worker = (ucp_worker_h)&worker;
struct tm_peer peers[NODES];
struct tm_peer *tm_ucx_peers = peers;

const struct tm_transport *transport;
bool quiet; /* notes nothing of locks */
void (*at_lock)(void), (*at_unlock)(void);
uint64_t now, rest_mark = 1;
uint32_t *leased;        /* the word that the thread sleeps on; NULL: it does not */
jmp_buf aborted, served; /* the end of the job; the thread's */
uint64_t went, came;

int mltp_lock_init(mltp_lock_t *lock, mltp_lock_class_t lock_class, const char *name) {
  assert_non_null(lock);
  assert_int_equal(lock_class, MLTP_LOCK_REACTIVE);
  note("init %s ", name);
  return 0;
}

int mltp_lock(mltp_lock_t *lock) {
  (void)lock;
  if (!quiet) note("(");
  if (at_lock != NULL) at_lock();
  return 0;
}

int mltp_unlock(mltp_lock_t *lock) {
  (void)lock;
  if (!quiet) note(") ");
  if (at_unlock != NULL) at_unlock();
  return 0;
}

void tm_far_start(const struct tm_transport *started) { transport = started; }

uint64_t os_now(void) { return now; }

void (*at_yield)(void);

void os_yield(void) {
  note("yield ");
  if (at_yield != NULL) at_yield();
}

void (*asleep)(void); /* called where the thread sleeps for a lease */

int os_futex_wait(uint32_t *word, uint32_t value, uint64_t deadline) {
  assert_int_equal(value, 1);
  assert_int_equal(*word, 1);
  assert_int_equal(deadline, now + LEASE_NS);
  leased = word;
  note("lease ");
  now += LEASE_NS;
  if (asleep != NULL) asleep();
  return 0;
}

void os_futex_wake(uint32_t *word, int count) {
  assert_ptr_equal(word, leased);
  assert_int_equal(count, 1);
  note("wake ");
}

uint64_t mti_rest_mark(void) { return rest_mark; }
void mti_be_bystander(void) { note("bystander "); }

__attribute__((noreturn)) void tm_job_abort(int status) {
  assert_int_equal(status, 1);
  longjmp(aborted, 1);
}

void tm_links_suspect(int node, const char *what) { note("suspect %d %s ", node, what); }

void tm_far_end(struct tm_far_send *send) {
  assert_int_equal(send->parts, 0);
  note("over %d ", send->header.tag);
}

bool tm_far_hold(struct tm_request *request) {
  note("hold ");
  return request != NULL;
}

struct arrived arrived;
void (*on_arrival)(void);

void tm_far_arrive(const struct tm_far_header *header, const void *data, void *announced) {
  arrived.header = *header;
  arrived.data = data;
  arrived.announced = announced;
  note("arrive %d ", header->tag);
  if (on_arrival != NULL) on_arrival();
}

void tm_far_fetched(struct tm_far_fetch *fetch) { note("fetched %zu ", fetch->bytes); }

/* ---- memory for what is done later */

int allocated; /* and not freed */
bool has_no_memory;

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_malloc(size_t size) {
  if (has_no_memory) return NULL;
  allocated++;
  return __real_malloc(size);
}

void __real_free(void *memory);
void __wrap_free(void *memory);
void __wrap_free(void *memory) {
  allocated--;
  __real_free(memory);
}

/* ---- packets and wakeups */

bool holds; /* a send is held */
uint32_t held;

bool tm_packet_takes(struct tm_peer *peer, struct tm_far_send *send) {
  note("offer %d %d ", peer->number, send->header.tag);
  held += holds;
  return holds;
}

void tm_packet_note(struct tm_peer *peer, const struct tm_far_send *send) {
  note("sent %d %d ", peer->number, send->header.tag);
}

bool tm_packet_send(struct tm_peer *peer) {
  note("packet %d ", peer->number);
  return false;
}

bool packets_pend;

bool tm_packets_send(void) {
  note("packets ");
  held = 0;
  return packets_pend;
}

uint32_t tm_packets_held(void) { return held; }

struct tm_far_header in_packet;

void tm_packet_open(const char *packet, size_t bytes, tm_packet_taker *take) {
  assert_int_equal(bytes, DATA);
  take(&in_packet, packet, in_packet.bytes);
}

void tm_wakeups_open(int outer) {
  assert_int_equal(outer, DESCRIPTOR);
  note("watch ");
}

void tm_wakeups_set(bool on) { note(on ? "on " : "off "); }

/* ---- UCX */

char ucx_request;
ucs_status_ptr_t outcome; /* of a call */
ucp_request_param_t last; /* of the last call */
ucp_ep_h last_ep;
const void *last_header, *last_data;
size_t last_header_size, last_bytes;
int brings;            /* steps that find something */
void (*at_step)(void); /* called in each */
ucs_status_t arms = UCS_OK;

static ucs_status_ptr_t am_send(ucp_ep_h ep, unsigned id, const void *header, size_t header_size,
                                const void *data, size_t bytes, const ucp_request_param_t *param) {
  note("send %u ", id);
  last = *param;
  last_ep = ep;
  last_header = header;
  last_header_size = header_size;
  last_data = data;
  last_bytes = bytes;
  return outcome;
}

static ucs_status_ptr_t am_receive(ucp_worker_h from, void *announced, void *to, size_t bytes,
                                   const ucp_request_param_t *param) {
  assert_ptr_equal(from, tm_ucx_worker);
  note("receive %zu ", bytes);
  last = *param;
  last_header = announced;
  last_data = to;
  return outcome;
}

static void am_release(ucp_worker_h from, void *announced) {
  assert_ptr_equal(from, tm_ucx_worker);
  last_data = announced;
  note("release ");
}

static void free_request(void *freed) {
  assert_ptr_equal(freed, &ucx_request);
  note("free ");
}

static ucs_status_t signal_worker(ucp_worker_h of) {
  assert_ptr_equal(of, tm_ucx_worker);
  note("signal ");
  return UCS_OK;
}

static unsigned progress_worker(ucp_worker_h of) {
  assert_ptr_equal(of, tm_ucx_worker);
  note(".");
  if (at_step != NULL) at_step();
  return brings > 0 ? (unsigned)brings-- : 0;
}

static ucs_status_t arm_worker(ucp_worker_h of) {
  assert_ptr_equal(of, tm_ucx_worker);
  note("arm ");
  ucs_status_t status = arms;
  arms = UCS_OK;
  return status;
}

static ucs_status_t get_descriptor(ucp_worker_h of, int *fd) {
  assert_ptr_equal(of, tm_ucx_worker);
  *fd = DESCRIPTOR;
  return UCS_OK;
}

static const char *text_of(ucs_status_t status) {
  return status == UCS_ERR_CONNECTION_RESET ? "reset" : "other";
}

/* ---- the thread */

sem_t yields;

int __wrap_sched_yield(void);
int __wrap_sched_yield(void) {
  assert_true(quiet); /* nobody else is inside */
  sem_post(&yields);
  return 0;
}

void *(*serve)(void *);
int create_error, detach_error;

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *how, void *(*run)(void *),
                          void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *how, void *(*run)(void *),
                          void *argument) {
  sigset_t mask;
  assert_null(how);
  assert_null(argument);
  pthread_sigmask(SIG_SETMASK, NULL, &mask);
  assert_true(sigismember(&mask, SIGTERM) && sigismember(&mask, SIGUSR1));
  serve = run;
  *thread = pthread_self();
  return create_error;
}

int __wrap_pthread_detach(pthread_t thread);
int __wrap_pthread_detach(pthread_t thread) {
  assert_true(pthread_equal(thread, pthread_self()));
  return detach_error;
}

int sleeps;       /* of the thread, until it is left */
bool thread_ends; /* it is one, and ends there */
void (*at_poll)(void);

int __wrap_poll(struct pollfd *of, nfds_t count, int timeout);
int __wrap_poll(struct pollfd *of, nfds_t count, int timeout) {
  assert_int_equal(count, 1);
  assert_int_equal(of->fd, DESCRIPTOR);
  assert_int_equal(of->events, POLLIN);
  assert_int_equal(timeout, -1);
  note("poll ");
  if (thread_ends) {
    sem_post(&yields);
    pthread_exit(NULL);
  }
  if (sleeps-- == 0) longjmp(served, 1);
  if (at_poll != NULL) at_poll();
  return 1;
}

/* ---- */

int transport_prepare(void **state) {
  (void)state;
  tm_ucx.ucp_am_send_nbx = am_send;
  tm_ucx.ucp_am_recv_data_nbx = am_receive;
  tm_ucx.ucp_am_data_release = am_release;
  tm_ucx.ucp_request_free = free_request;
  tm_ucx.ucp_worker_signal = signal_worker;
  tm_ucx.ucp_worker_progress = progress_worker;
  tm_ucx.ucp_worker_arm = arm_worker;
  tm_ucx.ucp_worker_get_efd = get_descriptor;
  tm_ucx.ucs_status_string = text_of;
  for (int i = 0; i < NODES; i++) {
    memset(&peers[i], 0, sizeof peers[i]);
    peers[i].number = i;
    peers[i].ep = (ucp_ep_h)&peers[i];
    snprintf(peers[i].host, sizeof peers[i].host, "host%d", i);
  }
  events[0] = '\0';
  outcome = NULL;
  holds = packets_pend = quiet = false;
  held = 0;
  brings = sleeps = 0;
  at_lock = at_unlock = at_step = at_poll = asleep = on_arrival = NULL;
  now = 1000000000;
  rest_mark = 1;
  assert_true(tm_ucx_start());
  check_events("init messages between nodes ");
  return 0;
}

int transport_end(void **state) {
  (void)state;
  assert_int_equal(allocated, 0);
  return 0;
}

struct message message;
const char payload[DATA];

/* A message of `parts` to a node. */
struct tm_far_send *send_of(int tag, int parts) {
  memset(&message, 0, sizeof message);
  message.of.parts = parts;
  message.of.data = payload;
  message.of.header.tag = tag;
  message.of.header.bytes = DATA;
  message.of.header.dest = 5; /* on node 2 */
  return &message.of;
}

static bool nothing_is_ready(void) { return true; }

/* The counts of events, and whether it rests. */
bool rests(void) { return tm_ucx_rests(&went, &came, nothing_is_ready); }

static uint64_t went_before, came_before;

void note_counts(void) {
  rests();
  went_before = went;
  came_before = came;
}

void check_counts(bool is_at_rest, uint64_t more_went, uint64_t more_came) {
  assert_int_equal(rests(), is_at_rest);
  assert_int_equal(went - went_before, more_went);
  assert_int_equal(came - came_before, more_came);
}
