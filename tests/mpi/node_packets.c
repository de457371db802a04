/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small messages to other nodes that leave together: which are held, what is in a packet, and when
 * it leaves. UCX is a stand-in, which takes packets at once, later, or not at all.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "os/os.h"
#include "tmpi/match/far.h"
#include "tmpi/nodes/ucx.h"

enum {
  SMALL = 1024,
  ROOM = 7936,
  CLOSE = 1000,
  SENT_MAX = 8,
  TAKEN_MAX = 16,
  HEADER = sizeof(struct tm_far_header)
};

struct tm_ucx tm_ucx;
int tm_ucx_under_way;

static uint64_t now;
static ucs_status_ptr_t outcome; /* of a send */
static struct {
  ucp_ep_h ep;
  char data[ROOM];
  size_t bytes;
  ucp_request_param_t how;
} sent[SENT_MAX];
static int sent_count, freed, failures, ended[TAKEN_MAX], ended_count;

uint64_t os_now(void) { return now; }

static ucs_status_ptr_t take_packet(ucp_ep_h ep, unsigned id, const void *header,
                                    size_t header_size, const void *data, size_t bytes,
                                    const ucp_request_param_t *how) {
  assert_int_equal(id, TM_UCX_PACKET);
  assert_null(header);
  assert_int_equal(header_size, 0);
  assert_true(sent_count < SENT_MAX && bytes <= ROOM);
  sent[sent_count].ep = ep;
  memcpy(sent[sent_count].data, data, bytes);
  sent[sent_count].bytes = bytes;
  sent[sent_count++].how = *how;
  return outcome;
}

static void free_request(void *request) {
  assert_ptr_equal(request, &freed);
  freed++;
}

void tm_ucx_on_failure(void *peer, ucp_ep_h ep, ucs_status_t status) {
  assert_ptr_equal(((struct tm_peer *)peer)->ep, ep);
  assert_int_equal(status, UCS_ERR_CONNECTION_RESET);
  failures++;
}

void tm_far_end(struct tm_far_send *send) {
  assert_int_equal(send->parts, 0);
  ended[ended_count++] = send->header.tag;
}

/* ---- */

static struct tm_peer peers[2];

static int start(void **state) {
  (void)state;
  memset(peers, 0, sizeof peers);
  for (int i = 0; i < 2; i++) peers[i].ep = (ucp_ep_h)&peers[i];
  tm_ucx.ucp_am_send_nbx = take_packet;
  tm_ucx.ucp_request_free = free_request;
  now = 1000000;
  outcome = NULL;
  sent_count = freed = failures = ended_count = tm_ucx_under_way = 0;
  return 0;
}

static int end(void **state) {
  (void)state;
  tm_packets_send();
  assert_int_equal(tm_packets_held(), 0);
  for (int i = 0; i < 2; i++) free(peers[i].packet);
  return 0;
}

static struct tm_far_send sends[TAKEN_MAX];
static char payload[ROOM];

/* A message begins. @return whether it is held. */
static bool begins(int peer, int tag, size_t bytes, int parts) {
  struct tm_far_send *send = &sends[tag];
  memset(send, 0, sizeof *send);
  memset(payload, tag, sizeof payload);
  send->data = payload;
  send->joins = true;
  send->parts = parts;
  send->header.tag = tag;
  send->header.bytes = bytes;
  bool held = tm_packet_takes(&peers[peer], send);
  memset(payload, 99, sizeof payload); /* it is its owner's again */
  if (!held) tm_packet_note(&peers[peer], send);
  return held;
}

static int taken[TAKEN_MAX], taken_count;
static size_t taken_bytes[TAKEN_MAX];

static void take(const struct tm_far_header *header, const void *data, size_t bytes) {
  for (size_t i = 0; i < bytes; i++) assert_int_equal(((const char *)data)[i], header->tag);
  taken_bytes[taken_count] = bytes;
  taken[taken_count++] = header->tag;
}

/* A packet has these messages, of 1 byte, 2 bytes and so on, if bytes is 0. */
static void check_packet(int number, int first, int count, size_t bytes) {
  assert_true(number < sent_count);
  taken_count = 0;
  tm_packet_open(sent[number].data, sent[number].bytes, take);
  assert_int_equal(taken_count, count);
  for (int i = 0; i < count; i++) {
    assert_int_equal(taken[i], first + i);
    assert_int_equal(taken_bytes[i], bytes != 0 ? bytes : (size_t)i + 1);
  }
}

static void messages_that_follow_closely_are_held(void **state) {
  (void)state;
  assert_false(begins(0, 0, 1, 1)); /* alone */
  now += CLOSE;
  assert_true(begins(0, 1, 1, 1));
  assert_int_equal(tm_packets_held(), 1);
  now += CLOSE;
  assert_true(begins(0, 2, 2, 1));  /* since the one before, not since the first */
  assert_false(begins(1, 3, 1, 1)); /* to another node */
  assert_int_equal(tm_packets_held(), 2);
  now += CLOSE + 1;
  assert_false(begins(0, 4, 1, 1));
  sends[5].joins = false;
  assert_false(tm_packet_takes(&peers[0], &sends[5]));
  assert_int_equal(sent_count, 0);
  assert_false(tm_packets_send());
  assert_int_equal(tm_packets_held(), 0);
  assert_int_equal(sent_count, 1);
  assert_ptr_equal(sent[0].ep, &peers[0]);
  assert_int_equal(sent[0].bytes, 2 * (HEADER + 8));
  assert_int_equal(sent[0].how.flags, UCP_AM_SEND_FLAG_EAGER);
  check_packet(0, 1, 2, 0);
  assert_int_equal(ended_count, 2);
  assert_true(ended[0] == 1 && ended[1] == 2);
  assert_false(begins(0, 6, 1, 1)); /* the first one after a packet is alone */
  assert_true(begins(0, 7, 1, 1));
  assert_false(tm_packets_send());
  check_packet(1, 7, 1, 1);
  assert_false(tm_packets_send()); /* there is none */
  assert_int_equal(sent_count, 2);
}

static void a_send_that_does_not_join_leaves_no_mark(void **state) {
  (void)state;
  sends[0].joins = false;
  tm_packet_note(&peers[0], &sends[0]);
  assert_false(begins(0, 1, 1, 1));
}

static void large_messages_are_not_held(void **state) {
  (void)state;
  begins(0, 0, 1, 1);
  assert_true(begins(0, 1, SMALL, 1));
  assert_false(begins(0, 2, SMALL + 1, 1));
  assert_int_equal(tm_packets_held(), 1);
}

/* A packet is as large as possible, and no larger. */
static void a_full_packet_leaves(void **state) {
  (void)state;
  enum { FIT = ROOM / (HEADER + SMALL), LEFT = ROOM - FIT * (HEADER + SMALL) };
  begins(0, 0, 1, 1);
  for (int i = 1; i <= FIT; i++) assert_true(begins(0, i, SMALL, 1));
  assert_true(LEFT > HEADER + 8 && LEFT % 8 == 0);
  assert_int_equal(sent_count, 0);
  assert_true(begins(0, FIT + 1, LEFT - HEADER, 1)); /* it fits exactly */
  assert_int_equal(sent_count, 0);
  assert_true(begins(0, FIT + 2, 0, 1));
  assert_int_equal(sent_count, 1);
  assert_int_equal(sent[0].bytes, ROOM);
  assert_int_equal(tm_packets_held(), 1);
  assert_int_equal(ended_count, FIT + 1);
  taken_count = 0;
  tm_packet_open(sent[0].data, sent[0].bytes, take);
  assert_int_equal(taken_count, FIT + 1);
  assert_int_equal(taken_bytes[FIT], LEFT - HEADER);
  assert_false(tm_packet_send(&peers[0]));
  assert_int_equal(sent[1].bytes, HEADER);
  assert_int_equal(tm_packets_held(), 0);
  assert_false(tm_packet_send(&peers[0]));
  assert_int_equal(sent_count, 2);
}

static void a_packet_that_ucx_sends_later(void **state) {
  (void)state;
  outcome = &freed; /* a request */
  for (int round = 0; round < 2; round++) {
    begins(0, 3 * round, 1, 1);
    assert_true(begins(0, 3 * round + 1, 1, 1));
    assert_true(begins(0, 3 * round + 2, 2, 2)); /* it is not over when it is sent */
    assert_true(tm_packets_send());
    assert_null(peers[0].packet);
  }
  begins(1, 6, 1, 1);
  begins(1, 7, 1, 1);
  outcome = NULL;
  assert_false(tm_packets_send());
  assert_int_equal(tm_ucx_under_way, 2);
  assert_int_equal(ended_count, 1);
  assert_int_equal(tm_packets_held(), 0);
  for (int round = 0; round < 2; round++) {
    assert_int_equal(sent[round].how.op_attr_mask, UCP_OP_ATTR_FIELD_CALLBACK |
                                                       UCP_OP_ATTR_FIELD_USER_DATA |
                                                       UCP_OP_ATTR_FIELD_FLAGS);
    sent[round].how.cb.send(&freed, UCS_OK, sent[round].how.user_data);
    assert_int_equal(freed, round + 1);
    assert_int_equal(tm_ucx_under_way, 1 - round);
    assert_int_equal(ended_count, 2 + round);
    assert_int_equal(ended[1 + round], 3 * round + 1);
    assert_int_equal(sends[3 * round + 2].parts, 1);
  }
  assert_int_equal(failures, 0);
}

static void a_node_that_is_gone(void **state) {
  (void)state;
  outcome = &freed;
  begins(0, 0, 1, 1);
  begins(0, 1, 1, 1);
  assert_true(tm_packets_send());
  sent[0].how.cb.send(&freed, UCS_ERR_CONNECTION_RESET, sent[0].how.user_data);
  assert_int_equal(failures, 1);
  assert_int_equal(ended_count, 0);
  free(sent[0].how.user_data); /* the job ends */
  outcome = (ucs_status_ptr_t)(intptr_t)UCS_ERR_CONNECTION_RESET;
  begins(1, 2, 1, 1);
  begins(1, 3, 1, 1);
  assert_false(tm_packets_send());
  assert_int_equal(failures, 2);
}

static void two_nodes_have_packets(void **state) {
  (void)state;
  for (int i = 0; i < 2; i++) begins(i, i, 1, 1);
  for (int i = 0; i < 4; i++) assert_true(begins(i % 2, 4 + i, 1, 1));
  assert_int_equal(tm_packets_held(), 4);
  outcome = &freed;
  assert_true(tm_packet_send(&peers[1])); /* before something else goes there */
  outcome = NULL;
  assert_int_equal(tm_packets_held(), 2);
  assert_true(begins(1, 8, 1, 1)); /* close to what was held */
  assert_false(tm_packets_send());
  assert_int_equal(sent_count, 3);
  assert_int_equal(tm_packets_held(), 0);
  sent[0].how.cb.send(&freed, UCS_OK, sent[0].how.user_data);
  assert_int_equal(ended_count, 5);
}

/* What is damaged does not lead out of the packet. */
static void a_packet_that_is_cut(void **state) {
  (void)state;
  begins(0, 0, 1, 1);
  begins(0, 1, 20, 1);
  tm_packets_send();
  taken_count = 0;
  char *copy = malloc(HEADER + 5);
  memcpy(copy, sent[0].data, HEADER + 5);
  tm_packet_open(copy, HEADER + 5, take);
  assert_int_equal(taken_count, 1);
  assert_int_equal(taken_bytes[0], 5);
  free(copy);
}

int main(void) {
#define PART(part) cmocka_unit_test_setup_teardown(part, start, end)
  const struct CMUnitTest tests[] = {
      PART(messages_that_follow_closely_are_held),
      PART(a_send_that_does_not_join_leaves_no_mark),
      PART(large_messages_are_not_held),
      PART(a_full_packet_leaves),
      PART(a_packet_that_ucx_sends_later),
      PART(a_node_that_is_gone),
      PART(two_nodes_have_packets),
      PART(a_packet_that_is_cut),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
