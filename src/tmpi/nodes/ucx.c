/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The transport of match/far.h: active messages of UCX.
 *
 * One worker of UCX serves all ranks of the node, under one lock. A rank that sends calls UCX
 * itself. What comes is taken by waiting ranks and idle VPs, which poll before they sleep. While
 * they do not, a kernel thread of the module takes it, and sleeps while nothing comes. What UCX
 * calls may want to answer or to fetch. UCX is not called from there, but after it has returned:
 * such steps are put into a list.
 *
 * `entered` is held by the thread that is in UCX. Ranks take it with the lock held, so that they
 * park if they have to wait for each other. Pollers only try: an idle VP cannot park.
 *
 * The module's thread looks once in a lease of LEASE_NS whether others have polled. It sleeps in
 * the kernel until a message comes only after a lease without polls, or when a VP that polled goes
 * to sleep. Otherwise each message would wake it, although a poller takes the message. If it takes
 * messages itself while all VPs rest, as accesses to windows, and they come often, it polls, too.
 *
 * Active messages of one kind arrive in the order they were sent. Each carries a number, so that a
 * transport which breaks that order ends the job, and does not change what a receive gets.
 *
 * Relaxed: hints between pollers and the module's thread; a missed one costs one lease.
 *
 * A node that goes away ends the job (links.c). While the job ends nodes go away one after the
 * other, and that is noted only.
 */
#include <mltp/mltp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/atomic.h"
#include "core/internal/process.h"
#include "os/os.h"
#include "policy/wait.h"
#include "tmpi/match/far.h"
#include "tmpi/nodes/ucx.h"
#include "tmpi/rank/rank.h"

/* What is to be done when UCX has returned. */
struct step {
  struct step *next;
  int node;
  uint64_t answer;
  void *announced, *to;
  struct tm_far_fetch *fetch; /* one of these; NULL: `announced` is dropped, or it is an answer */
  struct tm_far_send *send;
};

static mltp_lock_t lock;          /* of ranks that call UCX */
static uint32_t entered;          /* [atomic] 1: a thread is in UCX, with `parts` (match/far.h), and
                                     what is tagged [lock] */
static uint32_t wanted;           /* [atomic] 1: the thread with `lock` waits to enter; a hint */
static uint32_t fruitless;        /* [atomic] tests of ranks in a row that found nothing; a hint */
static uint64_t polls;            /* [atomic] times pollers have looked; relaxed: a hint */
static uint64_t rested_at;        /* [atomic] polls when a VP last went to sleep; relaxed: a hint */
static uint32_t leased;           /* [atomic] futex, 1: the module's thread relies on pollers */
static struct step *first, *last; /* [lock] */
static bool ending;               /* [lock] */
static uint64_t went, came;       /* [lock] events for another node, and from one; nodes.h */
static uint32_t served;           /* [atomic] odd: the module's thread has the lock, or is about to
                                     take it, or has not resumed the next one yet */
static int lost = -1;             /* [lock] the first node that went away while the job ended */

int tm_ucx_under_way;

/* ---- failures */

static void node_is_lost(const struct tm_peer *peer, ucs_status_t status) {
  if (ending) {
    if (lost < 0) lost = peer->number;
    return;
  }
  tm_links_suspect(peer->number, tm_ucx.ucs_status_string(status));
}

void tm_ucx_on_failure(void *peer, ucp_ep_h ep, ucs_status_t status) {
  (void)ep;
  node_is_lost(peer, status);
}

_Noreturn static void no_memory(void) {
  fprintf(stderr, "tmpirun: no memory for a message between nodes (smaller or fewer messages)\n");
  tm_job_abort(1);
}

/* ---- what UCX calls */

static void on_sent(void *request, ucs_status_t status, void *send_) {
  struct tm_far_send *send = send_;
  tm_ucx.ucp_request_free(request);
  if (status != UCS_OK) {
    node_is_lost(&tm_ucx_peers[tm_rank_node(send->header.dest)], status);
    return;
  }
  if (send->fetched)
    came++;
  else
    tm_ucx_under_way--;
  if (tm_far_part(send)) tm_far_end(send);
}

static void on_answered(void *request, ucs_status_t status, void *step) {
  (void)status; /* tm_ucx_on_failure() sees it, too */
  tm_ucx.ucp_request_free(request);
  free(step);
}

static void on_fetched(void *request, ucs_status_t status, size_t bytes, void *step_) {
  struct step *step = step_;
  (void)bytes;
  if (request != NULL) tm_ucx.ucp_request_free(request);
  if (status != UCS_OK) {
    node_is_lost(&tm_ucx_peers[step->fetch->node], status);
    return;
  }
  went++; /* the sender gets a notice that its data are here */
  tm_ucx_under_way--;
  tm_far_fetched(step->fetch);
  free(step);
}

/* bytes: that have come, or are announced. */
static void take(const struct tm_far_header *header, const void *data, size_t bytes,
                 void *announced) {
  struct tm_peer *peer = &tm_ucx_peers[header->node];
  if (header->sequence != peer->received++ || bytes != header->bytes) {
    fprintf(stderr,
            "tmpirun: messages of node %d (%s) have come in another order than they were sent in, "
            "or not whole: the job ends (UCX_TLS: another transport)\n",
            peer->number, peer->host);
    tm_job_abort(1);
  }
  came++;
  tm_far_arrive(header, data, announced);
}

static ucs_status_t on_message(void *unused, const void *header_, size_t size, void *data,
                               size_t bytes, const ucp_am_recv_param_t *param) {
  struct tm_far_header header;
  bool announced = (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0;
  (void)unused;
  (void)size;
  memcpy(&header, header_, sizeof header); /* it may lie anywhere */
  take(&header, announced ? (const char *)header_ + sizeof header : data, bytes,
       announced ? data : NULL);
  return announced ? UCS_INPROGRESS : UCS_OK;
}

static void take_joined(const struct tm_far_header *header, const void *data, size_t bytes) {
  take(header, data, bytes, NULL);
}

static ucs_status_t on_packet(void *unused, const void *header, size_t size, void *data,
                              size_t bytes, const ucp_am_recv_param_t *param) {
  (void)unused, (void)header, (void)size, (void)param;
  tm_packet_open(data, bytes, take_joined);
  return UCS_OK;
}

static ucs_status_t on_answer(void *unused, const void *header, size_t size, void *data,
                              size_t bytes, const ucp_am_recv_param_t *param) {
  uint64_t answer;
  (void)unused, (void)size, (void)data, (void)bytes, (void)param;
  memcpy(&answer, header, sizeof answer);
  struct tm_far_send *send = (struct tm_far_send *)(uintptr_t)answer;
  came++;
  if (tm_far_part(send)) tm_far_end(send);
  return UCS_OK;
}

const ucp_am_recv_callback_t tm_ucx_takers[TM_UCX_KINDS] = {
    [TM_UCX_MESSAGE] = on_message, [TM_UCX_PACKET] = on_packet, [TM_UCX_ANSWER] = on_answer};

/* ---- what ranks call, and what UCX has called */

/* Relaxed: a hint to the poller. */
static void enter(void) {
  mltp_lock(&lock);
  while (mt_swap_acquire(&entered, 1) != 0) { /* UX-2 acquire: pairs UX-1 UX-3 UX-6 */
    mt_store_relaxed(&wanted, 1);
    sched_yield(); /* a poller leaves soon, but may have lost its CPU */
  }
  if (mt_load_relaxed(&wanted) != 0) mt_store_relaxed(&wanted, 0);
}

/* pending: UCX has not finished, and the module's thread may sleep. */
static void leave(bool pending) {
  if (pending) tm_ucx.ucp_worker_signal(tm_ucx_worker);
  /* UX-1 release: what UCX and its callers wrote; pairs UX-2 UX-4 UX-5 */
  mt_store_release(&entered, 0);
  mltp_unlock(&lock);
}

/* @return whether it is over. */
static bool begin_send(struct tm_far_send *send, int node) {
  struct tm_peer *peer = &tm_ucx_peers[node];
  send->header.sequence = peer->sent++;
  if (send->number != NULL) *send->number = send->header.sequence;
  went++;
  send->held = tm_packet_takes(peer, send);
  if (send->held) return false;
  tm_packet_send(peer); /* messages come in their order */
  const ucp_request_param_t param = {
      .op_attr_mask =
          UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS,
      .flags = send->fetched ? UCP_AM_SEND_FLAG_RNDV : UCP_AM_SEND_FLAG_EAGER,
      .cb.send = on_sent,
      .user_data = send};
  /* a header and data that are two pieces cost UCX a request and a copy more */
  bool one_piece = send->data == send->packed && !send->fetched;
  ucs_status_ptr_t request =
      one_piece ? tm_ucx.ucp_am_send_nbx(peer->ep, TM_UCX_PACKET, NULL, 0, &send->header,
                                         sizeof send->header + send->header.bytes, &param)
                : tm_ucx.ucp_am_send_nbx(peer->ep, TM_UCX_MESSAGE, &send->header,
                                         sizeof send->header + send->ahead, send->data,
                                         send->header.bytes, &param);
  if (UCS_PTR_IS_ERR(request)) node_is_lost(peer, UCS_PTR_STATUS(request));
  tm_packet_note(peer, send);
  came += request == NULL && send->fetched;
  tm_ucx_under_way += request != NULL && !send->fetched;
  return request == NULL && tm_far_part(send);
}

static void send_answer(struct step *step) {
  struct tm_peer *peer = &tm_ucx_peers[step->node];
  const ucp_request_param_t param = {
      .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
      .cb.send = on_answered,
      .user_data = step};
  went++;
  ucs_status_ptr_t request = tm_ucx.ucp_am_send_nbx(peer->ep, TM_UCX_ANSWER, &step->answer,
                                                    sizeof step->answer, NULL, 0, &param);
  if (UCS_PTR_IS_ERR(request)) node_is_lost(peer, UCS_PTR_STATUS(request));
  if (!UCS_PTR_IS_PTR(request)) free(step);
}

static void begin_fetch(struct step *step) {
  const ucp_request_param_t param = {
      .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
      .cb.recv_am = on_fetched,
      .user_data = step};
  tm_ucx_under_way++;
  ucs_status_ptr_t request = tm_ucx.ucp_am_recv_data_nbx(tm_ucx_worker, step->announced, step->to,
                                                         step->fetch->bytes, &param);
  if (!UCS_PTR_IS_PTR(request)) on_fetched(NULL, UCS_PTR_STATUS(request), step->fetch->bytes, step);
}

static void drop_announced(struct step *step) {
  tm_ucx.ucp_am_data_release(tm_ucx_worker, step->announced);
  went++; /* the sender gets a notice, as after a fetch */
  free(step);
}

static void take_step(struct step *step) {
  if (step->fetch != NULL) {
    begin_fetch(step);
  } else if (step->send != NULL) {
    if (begin_send(step->send, step->node)) tm_far_end(step->send);
    free(step);
  } else if (step->announced != NULL) {
    drop_announced(step);
  } else {
    send_answer(step);
  }
}

static void step_or_leave(struct step step, bool inside) {
  struct step *own = malloc(sizeof *own);
  if (own == NULL) no_memory();
  *own = step;
  if (inside) {
    *(first != NULL ? &last->next : &first) = own;
    last = own;
    return;
  }
  enter();
  take_step(own);
  leave(true);
}

/* @return whether nothing would send the first message that is held, if its rank calls nothing. */
static bool is_left_behind(void) {
  return tm_packets_held() == 1 && mt_load_relaxed(&leased) == 0; /* relaxed: with the lock */
}

static bool send_far(struct tm_far_send *send, int node, bool inside) {
  if (inside) {
    step_or_leave((struct step){.node = node, .send = send}, true);
    return false;
  }
  enter();
  bool over = begin_send(send, node);
  leave(!over && (!send->held || is_left_behind()));
  return over;
}

static void hurry(void) {
  if (tm_packets_held() == 0) return;
  enter();
  leave(tm_packets_send());
}

static void fetch(void *announced, void *to, struct tm_far_fetch *f, bool inside) {
  step_or_leave((struct step){.announced = announced, .to = to, .fetch = f}, inside);
}

static void answer(int node, uint64_t number, bool inside) {
  step_or_leave((struct step){.node = node, .answer = number}, inside);
}

static void drop(void *announced, bool inside) {
  step_or_leave((struct step){.announced = announced}, inside);
}

static bool hold(struct tm_request *request) {
  enter();
  bool held = tm_far_hold(request);
  leave(false);
  return held;
}

/* ---- the module's thread */

enum {
  AT_A_TIME = 16,   /* steps of UCX between looks of ranks at the lock */
  OFFER_TESTS = 32, /* in a row without result, before the CPU is offered: a round trip's */
  TESTS_PER_OFFER = 4,
  LEASE_NS = 1000000, /* a thousand looks a second cost less than 1 % of a CPU */
  POLL_NS = 100000,   /* a wake-up takes as long at most, so polling costs at most as much again */
  LOST_NS = 20000,    /* between two looks: the thread has lost its CPU */
  NEEDED_MAX = 1024,
  PAID_OFTEN = 16
};

static struct {
  uint32_t quick;  /* [owner] wake-ups in a row that came less than POLL_NS after the one before */
  uint32_t needed; /* [owner] until the thread polls again; more after each time that did not pay */
  uint32_t paid;   /* [owner] times in a row that did */
} polling = {.needed = 1};

static struct {
  uint64_t taken_at;    /* [atomic] when a rank that tests lost its CPU last */
  uint64_t doze_ns;     /* [atomic] how long such ranks doze then */
  uint32_t taken_level; /* [atomic] times in a row that one did */
} offers;               /* relaxed: hints to ranks that test */

/* @return whether there was anything to do. The lock is held. */
static bool progress(int steps) {
  bool any = false, more = true;
  if (tm_packets_held() > 0) tm_packets_send();
  for (int i = 0; more && i < steps; i++) {
    more = tm_ucx.ucp_worker_progress(tm_ucx_worker) != 0;
    for (struct step *step; (step = first) != NULL; more = true) {
      first = step->next;
      take_step(step);
    }
    any |= more;
  }
  return any;
}

static inline bool try_enter(void) {
  if (mt_load_relaxed(&entered) != 0) return false; /* relaxed: a hint that saves the swap */
  return mt_swap_acquire(&entered, 1) == 0;         /* UX-4 acquire: pairs UX-1 UX-3 UX-6 */
}

static inline void leave_tried(void) {
  mt_store_release(&entered, 0); /* UX-3 release: as UX-1; pairs UX-2 UX-4 UX-5 */
}

/* The same for a caller that does not wait for the lock. */
static bool try_progress(int steps) {
  if (!try_enter()) return false;
  bool any = progress(steps);
  leave_tried();
  return any;
}

/* After a step that found something the poller looks whether this was what it waits for. */
static bool poll_ucx(int looks) {
  bool any = false;
  mt_store_relaxed(&polls, mt_load_relaxed(&polls) + 1); /* relaxed: a hint, and some may be lost */
  if (!try_enter()) return false;
  for (; looks > 0 && !any; looks--) {
    any = progress(1);
    if (mt_load_relaxed(&wanted) != 0) break; /* relaxed: a hint */
  }
  leave_tried();
  return any;
}

/* @return how long the rank should doze, ns. */
static uint64_t offer_cpu(void) {
  uint64_t before = os_now(); /* relaxed, all: see `offers` */
  const struct mt_alone_seen seen = {.level = mt_load_relaxed(&offers.taken_level),
                                     .since_ns = before - mt_load_relaxed(&offers.taken_at)};
  if (mt_alone_rests(seen)) return mt_load_relaxed(&offers.doze_ns);
  os_yield();
  uint64_t after = os_now();
  if (after - before < MT_TAKEN_NS) return 0;
  mt_store_relaxed(&offers.doze_ns, mt_doze_ns(after - before));
  mt_store_relaxed(&offers.taken_level, mt_alone_level(seen));
  mt_store_relaxed(&offers.taken_at, after);
  return 0; /* what it tests for may be there by now */
}

/* A rank that tests in a loop keeps its CPU. What it tests for may be brought by another process of
 * this machine, or by a thread of this one that has lost its CPU in UCX, and the kernel would let
 * both wait for a time slice. So it yields. A yield gives the rest of the rank's own time slice
 * away, and lasts as long as others compute. A rank that has lost its CPU so dozes instead for some
 * time: a thread that sleeps keeps its share of the CPU, and the kernel runs it when it wakes. */
static uint64_t test_ucx(void) {
  mt_store_relaxed(&polls, mt_load_relaxed(&polls) + 1); /* relaxed: as in poll_ucx() */
  uint32_t count = try_progress(1) ? 0 : mt_load_relaxed(&fruitless) + 1; /* relaxed: a hint */
  mt_store_relaxed(&fruitless, count);                                    /* relaxed: a hint */
  return count >= OFFER_TESTS && count % TESTS_PER_OFFER == 0 ? offer_cpu() : 0;
}

/* Relaxed, here and below: if the thread misses this, it looks after one lease. */
static void rest(void) {
  uint32_t one = 1;
  mt_store_relaxed(&rested_at, mt_load_relaxed(&polls)); /* relaxed: see above */
  if (mt_load_relaxed(&leased) != 0 && mt_cas_relaxed(&leased, &one, 0)) os_futex_wake(&leased, 1);
}

/* @return whether pollers have polled since `before`, and since one of them went to sleep. */
static bool are_polling(uint64_t before) {
  uint64_t now = mt_load_relaxed(&polls); /* relaxed: see rest() */
  return now != before && now != mt_load_relaxed(&rested_at);
}

static void enter_as_server(void) {
  /* UX-7 seq_cst: before the lock is taken, in this order on x86-64, where alone MPI runs; pairs
   * UX-9 */
  mt_add_seq_cst(&served, 1);
  enter();
}

static void leave_as_server(void) {
  leave(false);
  /* UX-8 release: the rank that waited for the lock has been resumed; pairs UX-9 */
  mt_store_release(&served, served + 1);
}

static void send_held(void) {
  enter_as_server();
  tm_packets_send();
  leave_as_server();
}

/* Returns when pollers have not polled for a lease, or one of them goes to sleep. */
static void wait_for_lease(void) {
  uint64_t before;
  tm_wakeups_set(false);
  mt_store_relaxed(&leased, 1); /* relaxed: see rest() */
  do {
    before = mt_load_relaxed(&polls); /* relaxed: see rest() */
    os_futex_wait(&leased, 1, os_now() + LEASE_NS);
    if (tm_packets_held() > 0) send_held();
  } while (mt_load_relaxed(&leased) != 0 && are_polling(before)); /* relaxed: see rest() */
  mt_store_relaxed(&leased, 0); /* relaxed: see rest() */
  tm_wakeups_set(true);
}

/* While all VPs rest their CPUs are free. Then the thread polls as long as messages come in less
 * time than a wake-up takes. If it loses its CPU meanwhile, others need it, and the kernel would
 * run it sooner if it slept. @return whether a message has come. */
static bool poll_on(void) {
  if (polling.quick < polling.needed) return false;
  uint64_t now = os_now(), end = now + POLL_NS;
  for (uint64_t before = now; mti_rest_mark() != 0 && now < end && now - before < LOST_NS;) {
    before = now;
    bool any = try_progress(AT_A_TIME);
    now = os_now();
    if (!any) continue;
    if (now - before >= LOST_NS) break;
    if (++polling.paid % PAID_OFTEN == 0 && polling.needed > 1) polling.needed /= 2;
    return true;
  }
  polling.quick = polling.paid = 0;
  if (polling.needed < NEEDED_MAX) polling.needed *= 2;
  return false;
}

/* @return whether there was nothing to do; then UCX makes its descriptor readable when there is. */
static bool serve_once(void) {
  if (poll_on()) return false;
  enter_as_server();
  bool idle = !progress(AT_A_TIME) && tm_ucx.ucp_worker_arm(tm_ucx_worker) == UCS_OK;
  leave_as_server();
  return idle;
}

static void *serve(void *unused) {
  struct pollfd events = {.events = POLLIN};
  (void)unused;
  mti_be_bystander();
  tm_ucx.ucp_worker_get_efd(tm_ucx_worker, &events.fd);
  tm_wakeups_open(events.fd);
  for (;;) {
    if (!serve_once()) continue;
    uint64_t before = mt_load_relaxed(&polls); /* relaxed: a hint */
    uint64_t slept = os_now();
    poll(&events, 1, -1);
    polling.quick = os_now() - slept < POLL_NS ? polling.quick + 1 : 0;
    if (tm_packets_held() == 0 && are_polling(before)) wait_for_lease();
  }
  return NULL;
}

/* ---- start and end */

static const struct tm_transport transport = {send_far, fetch,    answer, drop, hold,
                                              poll_ucx, test_ucx, rest,   hurry};

bool tm_ucx_start(void) {
  pthread_t thread;
  sigset_t all, before;
  mltp_lock_init(&lock, MLTP_LOCK_REACTIVE, "messages between nodes");
  tm_far_start(&transport);
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int error = pthread_create(&thread, NULL, serve, NULL);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return error == 0 && pthread_detach(thread) == 0;
}

/* The caller is no thread of the library's, and a lock that it takes may make it one. A rank that
 * waits for the lock rests only while a rank has it: the module's thread is no thread of a VP, and
 * may have lost its CPU for long before it releases the lock. */
bool tm_ucx_rests(uint64_t *went_to, uint64_t *came_from, bool (*still)(void)) {
  uint32_t before = mt_load_acquire(&served); /* UX-9 acquire: pairs UX-7 UX-8 */
  while (mt_swap_acquire(&entered, 1) != 0)   /* UX-5 acquire: pairs UX-1 UX-3 UX-6 */
    os_yield();
  *went_to = went;
  *came_from = came;
  bool rests = before % 2 == 0 && tm_ucx_under_way == 0 && tm_packets_held() == 0 &&
               first == NULL && still();
  /* relaxed: still() has looked at the VPs under their lock */
  rests = rests && mt_load_relaxed(&served) == before;
  mt_store_release(&entered, 0); /* UX-6 release: as UX-1; pairs UX-2 UX-4 UX-5 */
  return rests;
}

int tm_ucx_lost(void) {
  enter();
  ending = true;
  tm_packets_send();
  int node = lost;
  leave(false);
  return node;
}

/* exit() runs the destructors of UCX's libraries, and a thread that is in UCX then finds its tables
 * gone and aborts. So the lock is never released: threads that want it sleep until the process
 * ends. */
void tm_ucx_stop(void) { enter(); }
