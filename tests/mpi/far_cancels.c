/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cancelling sends to other nodes, step by step (src/tmpi/match/far_cancel.c): what both nodes do,
 * in each order of events.
 */
#include "far_node.h"

/* Of several messages the one with this number and envelope leaves. @return whether there is one.
 */
static bool ask(uint64_t number, int tag) {
  struct {
    struct tm_envelope envelope;
    uint64_t number, asker;
    int64_t dest;
  } question = {{CONTEXT, SENDER, tag}, number, 1234, SELF};
  struct {
    uint64_t asker, cancelled;
  } reply;
  tm_far_take_question(SENDER, &question, sizeof question);
  assert_true(last->header.service == TM_FAR_CANCELLED && last->header.dest == SENDER);
  assert_int_equal(last->header.bytes, sizeof reply);
  memcpy(&reply, last->data, sizeof reply);
  assert_int_equal(reply.asker, 1234);
  tm_far_end(last);
  return reply.cancelled != 0;
}

static void questions(void **state) {
  struct tm_mailbox *box = &ranks[SELF].box;
  (void)state;
  leave(8, 0, NULL, 5, 4);
  leave(8, 77, NULL, 6, 4);
  leave(8, 0, ranks, 7, 4);
  leave(8, 0, NULL, 8, 5);
  assert_false(ask(9, 4));
  assert_false(ask(8, 4)); /* has another tag */
  assert_false(ask(5, 5));
  check_trace("send 2 inside send 2 inside send 2 inside ");
  assert_int_equal(box->mail, 4);
  assert_true(ask(7, 4));
  check_trace("send 2 inside drop ");
  assert_true(ask(6, 4));
  check_trace("send 2 inside answer 2 77 inside ");
  assert_true(ask(((uint64_t)1 << 32) + 5, 4)); /* messages keep 32 bits */
  assert_true(ask(8, 5));
  check_trace("send 2 inside send 2 inside ");
  assert_true(box->mail == 0 && box->held == 0 && box->arrived.count == 0);
  assert_false(ask(8, 5));
  check_trace("send 2 inside ");
}

static bool is_received;
static struct tm_far_send *under_way; /* of the request that is cancelled */

/* The other node answers the last note. */
static void reply(void) {
  struct {
    struct tm_envelope envelope;
    uint64_t number, asker;
    int64_t dest;
  } question;
  struct tm_far_send *asked = last;
  assert_true(asked->header.service == TM_FAR_CANCEL && asked->header.dest == FAR);
  assert_int_equal(asked->header.bytes, sizeof question);
  memcpy(&question, asked->data, sizeof question);
  assert_true(question.number == KEPT && question.dest == FAR && question.envelope.tag == 4);
  assert_true(question.envelope.context == CONTEXT && question.envelope.source == SELF);
  tm_far_end(asked);
  const uint64_t answer[] = {question.asker, !is_received};
  tm_far_take_reply(FAR, answer, sizeof answer);
}

static void end_and_reply(void) {
  assert_false(tm_far_part(under_way));
  reply();
}

/* The send is over, or not; it has been received, or not; the answer comes before the caller parks,
 * or then. */
static void cancels(void **state) {
  (void)state;
  for (int way = 0; way < 8; way++) {
    bool over = way & 1, at_once = way & 4;
    struct tm_request request = send_of(8, &flat, TM_STANDARD);
    tm_far_send(&request);
    under_way = last;
    if (over) tm_far_end(last);
    if (over) request.extra = NULL; /* it is freed */
    check_trace(over ? "send 2 complete " : "send 2 ");
    request.bytes = 8;
    is_received = way & 2;
    at_note = at_once ? reply : NULL;
    at_park = reply;
    tm_far_cancel(&request);
    at_note = NULL;
    check_trace(at_once ? "send 2 " : "send 2 park resume ");
    assert_true(request.cancelled == !is_received && request.bytes == (is_received ? 8 : 0));
    if (over) continue;
    assert_true(tm_far_part(under_way));
    tm_far_end(under_way);
    check_trace("complete ");
  }
}

/* The send ends before the answer comes, which completes it then. */
static void a_send_that_ends_while_it_is_cancelled(void **state) {
  struct tm_request request = send_of(8, &flat, TM_STANDARD);
  (void)state;
  tm_far_send(&request);
  under_way = last;
  is_received = true;
  at_park = end_and_reply;
  tm_far_cancel(&request);
  check_trace("send 2 send 2 park resume complete ");
  assert_true(request.done == 1 && !request.cancelled);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      NODES(questions),
      NODES(cancels),
      NODES(a_send_that_ends_while_it_is_cancelled),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
