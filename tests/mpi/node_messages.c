/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages between nodes, step by step: what the transport gives to UCX, what it does with what UCX
 * brings, what is done later, and polls and tests of ranks.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "captured.h"
#include "node_transport.h"
#include "tmpi/rank/rank.h"

static void its_thread_gets_no_signals(void **state) {
  sigset_t before, mask;
  (void)state;
  sigemptyset(&before);
  sigaddset(&before, SIGUSR2);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  assert_true(tm_ucx_start());
  pthread_sigmask(SIG_SETMASK, NULL, &mask);
  assert_true(sigismember(&mask, SIGUSR2) && !sigismember(&mask, SIGUSR1));
  create_error = EAGAIN;
  assert_false(tm_ucx_start());
  create_error = 0;
  detach_error = EINVAL;
  assert_false(tm_ucx_start());
  detach_error = 0;
  sigemptyset(&before);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void messages_in_pieces_or_in_one(void **state) {
  uint64_t number = 99;
  (void)state;
  note_counts();
  struct tm_far_send *send = send_of(1, 1);
  send->number = &number;
  send->ahead = 5;
  assert_true(transport->send(send, 2, false));
  check_events("(offer 2 1 packet 2 send 0 sent 2 1 ) ");
  assert_int_equal(number, 0);
  assert_ptr_equal(last_ep, &peers[2]);
  assert_ptr_equal(last_header, &send->header);
  assert_int_equal(last_header_size, sizeof send->header + 5);
  assert_ptr_equal(last_data, payload);
  assert_int_equal(last_bytes, DATA);
  assert_int_equal(last.flags, UCP_AM_SEND_FLAG_EAGER);
  assert_int_equal(last.op_attr_mask, UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA |
                                          UCP_OP_ATTR_FIELD_FLAGS);
  assert_ptr_equal(last.user_data, send);
  check_counts(true, 1, 0);
  send = send_of(2, 1);
  send->number = &number;
  send->data = send->packed;
  assert_true(transport->send(send, 2, false));
  check_events("(offer 2 2 packet 2 send 1 sent 2 2 ) ");
  assert_int_equal(number, 1);
  assert_null(last_header);
  assert_int_equal(last_header_size, 0);
  assert_ptr_equal(last_data, &send->header);
  assert_int_equal(last_bytes, sizeof send->header + DATA);
  send = send_of(3, 1);
  send->data = send->packed;
  send->fetched = true;
  assert_true(transport->send(send, 1, false)); /* it is over, as the receiver has the data */
  check_events("(offer 1 3 packet 1 send 0 sent 1 3 ) ");
  assert_int_equal(send->header.sequence, 0); /* the first one of this node */
  assert_int_equal(last.flags, UCP_AM_SEND_FLAG_RNDV);
  assert_int_equal(last_header_size, sizeof send->header);
  check_counts(true, 3, 1);
}

static void a_message_that_waits_for_its_receiver(void **state) {
  (void)state;
  note_counts();
  assert_false(transport->send(send_of(1, 2), 2, false)); /* sent, but not matched */
  check_events("(offer 2 1 packet 2 send 0 sent 2 1 signal ) ");
  check_counts(true, 1, 0);
  uint64_t answer = (uint64_t)(uintptr_t)&message.of;
  assert_int_equal(tm_ucx_takers[TM_UCX_ANSWER](NULL, &answer, sizeof answer, NULL, 0, NULL),
                   UCS_OK);
  check_events("over 1 ");
  check_counts(true, 1, 1);
  send_of(2, 2);
  tm_ucx_takers[TM_UCX_ANSWER](NULL, &answer, sizeof answer, NULL, 0, NULL);
  check_events("");
}

static void messages_that_ucx_sends_later(void **state) {
  (void)state;
  note_counts();
  outcome = &ucx_request;
  assert_false(transport->send(send_of(1, 1), 2, false));
  check_events("(offer 2 1 packet 2 send 0 sent 2 1 signal ) ");
  assert_int_equal(tm_ucx_under_way, 1);
  check_counts(false, 1, 0);
  last.cb.send(&ucx_request, UCS_OK, last.user_data);
  check_events("free over 1 ");
  check_counts(true, 1, 0);
  struct tm_far_send *send = send_of(2, 2);
  send->fetched = true;
  assert_false(transport->send(send, 2, false)); /* the receiver's node does the rest */
  assert_int_equal(tm_ucx_under_way, 0);
  check_counts(true, 2, 0);
  events[0] = '\0';
  last.cb.send(&ucx_request, UCS_OK, last.user_data);
  check_events("free ");
  check_counts(true, 2, 1);
}

static void a_node_that_is_gone_is_suspected(void **state) {
  (void)state;
  outcome = (ucs_status_ptr_t)(intptr_t)UCS_ERR_CONNECTION_RESET;
  transport->send(send_of(1, 2), 1, false);
  assert_non_null(strstr(events, "suspect 1 reset "));
  events[0] = '\0';
  outcome = &ucx_request;
  transport->send(send_of(2, 1), 2, false);
  events[0] = '\0';
  last.cb.send(&ucx_request, UCS_ERR_CONNECTION_RESET, last.user_data);
  check_events("free suspect 2 reset "); /* where its receiver is; nothing is over */
  tm_ucx_under_way = 0;
  tm_ucx_on_failure(&peers[0], NULL, UCS_ERR_NO_MEMORY);
  check_events("suspect 0 other ");
}

/* What is around says whether it is held, and by how many others. */
static void a_held_message_needs_no_signal(void **state) {
  (void)state;
  note_counts();
  holds = true;
  assert_false(transport->send(send_of(1, 1), 2, false));
  check_events("(offer 2 1 signal ) "); /* nobody would send the first one */
  assert_true(message.of.held);
  check_counts(false, 1, 0);
  assert_false(transport->send(send_of(2, 1), 2, false));
  check_events("(offer 2 2 ) ");
  transport->hurry();
  check_events("(packets ) ");
  check_counts(true, 2, 0);
  transport->hurry(); /* nothing is held */
  check_events("");
  held = 1;
  packets_pend = true;
  transport->hurry();
  check_events("(packets signal ) ");
}

/* ---- what comes */

static struct tm_far_header header_from(int node, int tag, uint64_t sequence) {
  struct tm_far_header header = {0};
  header.node = node;
  header.tag = tag;
  header.sequence = sequence;
  header.bytes = DATA;
  return header;
}

static ucs_status_t bring(const struct tm_far_header *header, size_t bytes, bool announced) {
  ucp_am_recv_param_t param = {.recv_attr = announced ? UCP_AM_RECV_ATTR_FLAG_RNDV : 0};
  static char room[sizeof *header + DATA + 1];
  memcpy(room + 1, header, sizeof *header);
  ucs_status_t status = tm_ucx_takers[TM_UCX_MESSAGE](NULL, room + 1, sizeof *header,
                                                      (void *)(uintptr_t)payload, bytes, &param);
  if (announced) assert_ptr_equal(arrived.data, room + 1 + sizeof *header);
  return status;
}

static void messages_arrive_in_order(void **state) {
  (void)state;
  note_counts();
  struct tm_far_header header = header_from(1, 7, 0);
  assert_int_equal(bring(&header, DATA, false), UCS_OK);
  check_events("arrive 7 ");
  assert_memory_equal(&arrived.header, &header, sizeof header);
  assert_ptr_equal(arrived.data, payload);
  assert_null(arrived.announced);
  header = header_from(2, 8, 0); /* of another node */
  assert_int_equal(bring(&header, DATA, true), UCS_INPROGRESS);
  check_events("arrive 8 ");
  assert_ptr_equal(arrived.announced, payload);
  in_packet = header_from(1, 9, 1);
  in_packet.bytes = 3;
  assert_int_equal(
      tm_ucx_takers[TM_UCX_PACKET](NULL, NULL, 0, (void *)(uintptr_t)payload, DATA, NULL), UCS_OK);
  check_events("arrive 9 ");
  assert_null(arrived.announced);
  check_counts(true, 0, 3);
}

static void check_refused(const struct tm_far_header *header, size_t bytes) {
  static const char expected[] =
      "tmpirun: messages of node 1 (host1) have come in another order than they were sent in, or "
      "not whole: the job ends (UCX_TLS: another transport)\n";
  char said[1024];
  struct captured captured = captured_begin();
  bool ended = setjmp(aborted) != 0;
  if (!ended) bring(header, bytes, false);
  captured_end(&captured, said, sizeof said);
  assert_true(ended);
  assert_string_equal(said, expected);
  check_events("");
}

static void messages_that_are_lost_end_the_job(void **state) {
  (void)state;
  struct tm_far_header header = header_from(1, 1, 1);
  check_refused(&header, DATA); /* the first one is missing */
  transport_prepare(state);
  header.sequence = 0;
  check_refused(&header, DATA - 1);
  transport_prepare(state);
  bring(&header, DATA, false);
  events[0] = '\0';
  check_refused(&header, DATA); /* twice */
}

/* ---- fetches and answers */

static struct tm_far_fetch fetch = {.bytes = DATA, .node = 2};
static char announced, room[DATA];

static void data_are_fetched(void **state) {
  (void)state;
  note_counts();
  transport->fetch(&announced, room, &fetch, false);
  check_events("(receive 64 fetched 64 signal ) ");
  assert_ptr_equal(last_header, &announced);
  assert_ptr_equal(last_data, room);
  assert_int_equal(last.op_attr_mask, UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA);
  check_counts(true, 1, 0);
  outcome = &ucx_request;
  transport->fetch(&announced, room, &fetch, false);
  check_events("(receive 64 signal ) ");
  check_counts(false, 1, 0);
  last.cb.recv_am(&ucx_request, UCS_OK, DATA, last.user_data);
  check_events("free fetched 64 ");
  check_counts(true, 2, 0);
  transport->fetch(&announced, room, &fetch, false);
  events[0] = '\0';
  last.cb.recv_am(&ucx_request, UCS_ERR_CONNECTION_RESET, DATA, last.user_data);
  check_events("free suspect 2 reset ");
  free(last.user_data); /* the job ends */
  tm_ucx_under_way = 0;
}

static void a_sender_gets_its_answer(void **state) {
  (void)state;
  note_counts();
  transport->answer(2, 77, false);
  check_events("(send 2 signal ) ");
  assert_ptr_equal(last_ep, &peers[2]);
  assert_int_equal(last_header_size, sizeof(uint64_t));
  assert_null(last_data);
  assert_int_equal(last_bytes, 0);
  assert_int_equal(last.op_attr_mask, UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA);
  outcome = &ucx_request;
  transport->answer(1, 78, false);
  assert_int_equal(*(const uint64_t *)last_header, 78); /* it stays until UCX has sent it */
  events[0] = '\0';
  last.cb.send(&ucx_request, UCS_OK, last.user_data);
  check_events("free ");
  check_counts(true, 2, 0);
  outcome = (ucs_status_ptr_t)(intptr_t)UCS_ERR_CONNECTION_RESET;
  transport->answer(1, 79, false);
  check_events("(send 2 suspect 1 reset signal ) ");
  transport->drop(&announced, false);
  check_events("(release signal ) ");
  assert_ptr_equal(last_data, &announced);
  check_counts(true, 4, 0);
}

static void without_memory_the_job_ends(void **state) {
  static const char expected[] =
      "tmpirun: no memory for a message between nodes (smaller or fewer messages)\n";
  char said[1024];
  (void)state;
  struct captured captured = captured_begin();
  has_no_memory = true;
  bool ended = setjmp(aborted) != 0;
  if (!ended) transport->answer(1, 1, false);
  has_no_memory = false;
  captured_end(&captured, said, sizeof said);
  assert_true(ended);
  assert_string_equal(said, expected);
  check_events("");
}

static void a_request_is_held_under_the_lock(void **state) {
  static char some;
  (void)state;
  assert_true(transport->hold((struct tm_request *)&some));
  assert_false(transport->hold(NULL));
  check_events("(hold ) (hold ) ");
}

static struct message other;

/* What takes a message wants to answer, to send, to fetch and to drop. */
static void want_much(void) {
  on_arrival = NULL;
  memset(&other, 0, sizeof other);
  other.of.parts = 1;
  other.of.data = payload;
  other.of.header.tag = 5;
  transport->answer(1, 1, true);
  assert_false(transport->send(&other.of, 2, true));
  transport->fetch(&announced, room, &fetch, true);
  transport->drop(&announced, true);
  note("| ");
}

static void bring_one(void) {
  struct tm_far_header header = header_from(1, 7, peers[1].received);
  at_step = NULL;
  bring(&header, DATA, false);
}

static void what_takers_want_is_done_when_ucx_has_returned(void **state) {
  (void)state;
  note_counts();
  on_arrival = want_much;
  struct tm_far_header header = header_from(1, 7, 0);
  bring(&header, DATA, false);
  check_events("arrive 7 | ");
  check_counts(false, 0, 1); /* there are steps to take */
  assert_true(transport->poll(1));
  check_events(".send 2 offer 2 5 packet 2 send 0 sent 2 5 over 5 receive 64 fetched 64 release ");
  check_counts(true, 4, 1);
  assert_false(transport->poll(1)); /* each once */
  check_events(".");
  on_arrival = want_much; /* the list is used again */
  at_step = bring_one;
  assert_true(transport->poll(1));
  check_events(
      ".arrive 7 | send 2 offer 2 5 packet 2 send 0 sent 2 5 over 5 receive 64 fetched 64 "
      "release ");
  check_counts(true, 8, 2);
}

/* ---- polls and tests */

static void a_poll_ends_with_the_first_message(void **state) {
  (void)state;
  assert_false(transport->poll(3));
  check_events("...");
  assert_false(transport->poll(0));
  check_events("");
  brings = 2;
  assert_true(transport->poll(3));
  check_events(".");
  held = 1;
  assert_true(transport->poll(3));
  check_events("packets .");
}

static pthread_t rank;

static void *want_to_enter(void *request_) {
  transport->hold(request_);
  sem_post(&yields); /* nobody waits for it any longer */
  return NULL;
}

static void start_rank(void) {
  at_step = NULL;
  __real_pthread_create(&rank, NULL, want_to_enter, &ucx_request);
  sem_wait(&yields); /* it has said that it waits */
}

static void a_poller_leaves_for_a_rank_that_waits(void **state) {
  (void)state;
  sem_init(&yields, 0, 0);
  quiet = true;
  at_step = start_rank;
  assert_false(transport->poll(100));
  pthread_join(rank, NULL);
  check_events(".hold ");
  assert_false(transport->poll(3)); /* nobody waits any longer */
  check_events("...");
  sem_destroy(&yields);
}

static void poll_inside(void) {
  at_step = NULL;
  assert_false(transport->poll(9)); /* another thread is there */
  transport->test();
  note("| ");
}

static void pollers_do_not_wait_for_each_other(void **state) {
  (void)state;
  at_step = poll_inside;
  assert_false(transport->poll(2));
  check_events(".| .");
}

static void a_rank_that_tests_in_vain_offers_its_cpu(void **state) {
  (void)state;
  brings = 1;
  transport->test();
  check_events(".");
  for (int i = 1; i <= 45; i++) {
    transport->test();
    check_events(i >= 32 && i % 4 == 0 ? ".yield " : ".");
  }
  brings = 1;
  transport->test();
  check_events(".");
  for (int i = 1; i < 32; i++) transport->test();
  assert_null(strstr(events, "yield"));
}

/* ---- the CPU is taken while it is offered */

enum { TAKEN_NS = 500000, REST_NS = 20000000 };

static uint64_t yield_ns; /* how long a yield lasts */

static void pass_yield(void) { now += yield_ns; }

/* @return how long a rank should doze that has tested until it offers its CPU. */
static uint64_t offers(bool as_yield) {
  for (int i = 1; i < 4; i++) assert_int_equal(transport->test(), 0);
  events[0] = '\0';
  uint64_t doze_ns = transport->test();
  check_events(as_yield ? ".yield " : ".");
  return doze_ns;
}

static void a_rank_that_keeps_its_cpu_does_not_doze(void **state) {
  (void)state;
  brings = 1;
  transport->test();
  for (int i = 1; i <= 28; i++) assert_int_equal(transport->test(), 0);
  at_yield = pass_yield;
  now = 1000 * (uint64_t)REST_NS;
  yield_ns = TAKEN_NS - 1; /* others need it for a moment only */
  for (int i = 0; i < 3; i++) assert_int_equal(offers(true), 0);
}

static void check_rest(uint64_t lost_ns, int level, uint64_t doze_ns) {
  yield_ns = lost_ns;
  assert_int_equal(offers(true), 0); /* it has lost its CPU, and looks first */
  uint64_t taken_at = now, rest = (uint64_t)REST_NS << level;
  assert_int_equal(offers(false), doze_ns);
  now = taken_at + rest - 1;
  assert_int_equal(offers(false), doze_ns);
  now = taken_at + rest;
}

static void a_rank_that_loses_its_cpu_dozes(void **state) {
  (void)state;
  check_rest(TAKEN_NS, 1, TAKEN_NS);
  check_rest(100 * (uint64_t)REST_NS, 2, REST_NS); /* a loss that lasts is one in a row, too */
  check_rest(REST_NS, 3, REST_NS);
  for (int level = 4; level <= 6; level++) check_rest(REST_NS - 1, level, REST_NS - 1);
  check_rest(TAKEN_NS, 6, TAKEN_NS);
  yield_ns = TAKEN_NS - 1;
  assert_int_equal(offers(true), 0); /* nobody takes it any longer */
  assert_int_equal(offers(true), 0);
  brings = 1;
  assert_int_equal(transport->test(), 0); /* what it tests for is there */
}

int main(void) {
#define PART(part) cmocka_unit_test_setup_teardown(part, transport_prepare, transport_end)
  const struct CMUnitTest tests[] = {
      PART(its_thread_gets_no_signals),
      PART(messages_in_pieces_or_in_one),
      PART(a_message_that_waits_for_its_receiver),
      PART(messages_that_ucx_sends_later),
      PART(a_node_that_is_gone_is_suspected),
      PART(a_held_message_needs_no_signal),
      PART(messages_arrive_in_order),
      PART(messages_that_are_lost_end_the_job),
      PART(data_are_fetched),
      PART(a_sender_gets_its_answer),
      PART(without_memory_the_job_ends),
      PART(a_request_is_held_under_the_lock),
      PART(what_takers_want_is_done_when_ucx_has_returned),
      PART(a_poll_ends_with_the_first_message),
      PART(a_poller_leaves_for_a_rank_that_waits),
      PART(pollers_do_not_wait_for_each_other),
      PART(a_rank_that_tests_in_vain_offers_its_cpu),
      PART(a_rank_that_keeps_its_cpu_does_not_doze),
      PART(a_rank_that_loses_its_cpu_dozes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
