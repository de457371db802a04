/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages between nodes, step by step (src/tmpi/match/far.c): how a send leaves, how each kind of
 * message meets its receive, and which node answers.
 */
#include "far_node.h"

static void the_transport_is_polled(void **state) {
  (void)state;
  assert_ptr_equal(tm_far(), &transport);
  at_idle(false);
  at_idle(true);
  check_trace("poll 1 rest ");
  assert_int_equal(tm_far_refuse(&comm, "MPI_X"), MPI_ERR_UNSUPPORTED_OPERATION);
}

/* ---- sends */

static void check_send(size_t bytes, struct tm_type *type, enum tm_mode mode, bool borrows) {
  struct tm_request request = send_of(bytes, type, mode);
  request.borrows = borrows;
  bool buffered = mode == TM_BUFFERED, fetched = bytes > TM_FAR_EAGER_MAX;
  bool copied = buffered || bytes <= 1024 || type == &spread;
  bool answered = mode == TM_SYNCHRONOUS && !fetched;
  assert_int_equal(tm_far_send(&request), buffered);
  check_trace("send 2 ");
  struct tm_far_header *h = &last->header;
  assert_true(request.extra == last && last->fetched == fetched && h->bytes == bytes);
  assert_true(h->context == CONTEXT && h->source == SELF && h->tag == 4 && h->dest == FAR);
  assert_true(h->service == TM_FAR_MAILBOX && h->node == 1 && last->ahead == 0);
  assert_int_equal(h->answer, answered ? (uintptr_t)last : 0);
  assert_int_equal(last->parts, answered ? 2 : 1);
  assert_int_equal(last->joins, !fetched && !answered && !buffered && !borrows);
  assert_ptr_equal(last->request, buffered ? NULL : &request);
  assert_ptr_equal(last->buffer, buffered ? (struct tm_buffer *)&comm : NULL);
  if (!buffered) assert_int_equal(request.left, KEPT);
  assert_ptr_equal(last->data, copied ? last->packed : out);
  for (size_t i = 0; i < bytes; i++)
    if (((const char *)last->data)[i] != out[type == &spread ? 2 * i : i]) fail_msg("byte %zu", i);
  for (int parts = last->parts; parts > 0; parts--) assert_int_equal(tm_far_part(last), parts == 1);
  tm_far_end(last);
  char expected[40];
  snprintf(expected, sizeof expected, "return %zu ", bytes);
  check_trace(buffered ? expected : "complete ");
  assert_int_equal(blocks, 0);
}

static void sends_of_each_size(void **state) {
  static const size_t sizes[] = {0, 1, 8, 1024, 1025, TM_FAR_EAGER_MAX, TM_FAR_EAGER_MAX + 1};
  (void)state;
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
    for (int mode = TM_STANDARD; mode <= TM_READY; mode++) {
      check_send(sizes[i], &flat, (enum tm_mode)mode, false);
      check_send(sizes[i], &flat, (enum tm_mode)mode, true);
      check_send(sizes[i], &spread, (enum tm_mode)mode, false);
    }
}

/* Its caller completes the request. */
static void sends_that_are_over_at_once(void **state) {
  (void)state;
  is_over = true;
  for (int buffered = 0; buffered < 2; buffered++) {
    struct tm_request request = send_of(8, &flat, buffered ? TM_BUFFERED : TM_STANDARD);
    assert_true(tm_far_send(&request));
    check_trace(buffered ? "send 2 return 8 " : "send 2 ");
    assert_int_equal(blocks, 0);
  }
}

/* ---- notes */

static void notes(void **state) {
  (void)state;
  for (int way = 0; way < 4; way++) {
    bool inside = way & 1;
    is_outside = way & 2;
    is_over = way == 3;
    struct tm_far_send *sent = tm_far_note_new(6);
    memcpy(tm_far_note_data(sent), "hello", 6);
    assert_true(sent->header.bytes == 6 && sent->parts == 1 && sent->data == sent->packed);
    tm_far_note_send(sent, TM_FAR_FILE, FAR, inside);
    check_trace(inside ? "send 2 inside " : "send 2 ");
    if (is_over) continue; /* it is freed */
    assert_ptr_equal(last, sent);
    assert_true(sent->header.service == TM_FAR_FILE && sent->header.dest == FAR);
    assert_int_equal(sent->header.source, inside || is_outside ? LOCAL : SELF);
    assert_int_equal(sent->header.node, 1);
    tm_far_end(sent);
  }
}

static void hook_of_check(const void *data, size_t bytes) {
  note("check %c %zu", *(const char *)data, bytes);
}

static void notes_of_check(void **state) {
  (void)state;
  tm_far_take_check(3, "x", 1); /* nobody wants it */
  tm_far_check_hook = hook_of_check;
  tm_far_take_check(3, "x", 1);
  check_trace("check x 1 ");
  tm_far_check("y", 2, LOCAL);
  check_trace("check y 2 ");
  tm_far_check("z", 2, SENDER);
  check_trace("send 2 ");
  assert_true(last->header.service == TM_FAR_CHECK && last->header.bytes == 2);
  assert_string_equal(last->data, "z");
  tm_far_end(last);
  tm_far_check_hook = NULL;
}

/* ---- what comes */

static struct tm_request recv_of(size_t bytes, struct tm_type *type) {
  return (struct tm_request){.kind = TM_RECV,
                             .owner = &ranks[SELF],
                             .entry.envelope = {CONTEXT, MPI_ANY_SOURCE, 4},
                             .buffer = in,
                             .count = bytes,
                             .type = type};
}

/* The receive has a message of that many bytes. */
static void check_received(const struct tm_request *recv, size_t bytes) {
  size_t room = recv->count, got = bytes < room ? bytes : room,
         step = recv->type == &spread ? 2 : 1;
  assert_true(recv->source == SENDER && recv->tag == 4 && recv->bytes == got);
  assert_int_equal(recv->error, bytes > room                      ? MPI_ERR_TRUNCATE
                                : bytes == room || bytes % 4 == 0 ? MPI_SUCCESS
                                                                  : MPI_ERR_TYPE);
  for (size_t i = 0; i < MOST; i++)
    if (in[step * i] != (i < got ? out[i] : -1)) fail_msg("byte %zu of %zu", i, got);
  memset(in, -1, sizeof in);
}

static const size_t rooms[] = {0, 1, TM_CELL_BYTES, TM_CELL_BYTES + 1, 2000};
static const size_t lengths[] = {0, 1, 7, TM_CELL_BYTES, TM_CELL_BYTES + 1, 1999, 2000};
enum { ROOMS = sizeof rooms / sizeof rooms[0], LENGTHS = sizeof lengths / sizeof lengths[0] };

/* A receive is posted, or comes later, for data that are here, that are to be answered, or that are
 * to be fetched. */
static void receive(size_t bytes, size_t room, struct tm_type *type, int way, bool posted) {
  bool answers = way == 1, fetched = way == 2, few = bytes <= TM_CELL_BYTES;
  bool direct = type == &flat && bytes <= room;
  struct tm_far_header header = header_of(bytes, answers ? 77 : 0);
  struct tm_request recv = recv_of(room, type);
  struct tm_mailbox *box = &ranks[SELF].box;
  if (posted) tm_post(box, &recv);
  tm_far_arrive(&header, fetched ? NULL : out, fetched ? ranks : NULL);
  if (posted) {
    check_trace(fetched && direct ? "fetch direct inside end "
                : fetched         ? "fetch inside end "
                : few && answers  ? "done answer 2 77 inside "
                : few             ? "done "
                : answers         ? "end answer 2 77 inside "
                                  : "end ");
    assert_int_equal(box->mail, 0);
    check_received(&recv, bytes);
    return;
  }
  check_trace("");
  assert_int_equal(box->mail, 1);
  struct tm_message *m = tm_take_message(box, &recv.entry.envelope);
  assert_true(m != NULL && m->bytes == bytes && !m->is_cell && m->slot_tag == KEPT);
  assert_int_equal(m->held, sizeof *m + (fetched ? 0 : bytes));
  assert_int_equal(m->sender != NULL, fetched || answers);
  if (m->sender == NULL) {
    assert_memory_equal(m->data, out, bytes);
    tm_message_discard(m);
    return;
  }
  assert_int_equal(m->sender->kind, TM_FAR);
  assert_int_equal(tm_far_receive(&recv, m), !fetched);
  check_trace(!fetched ? "answer 2 77 " : direct ? "fetch direct end " : "fetch end ");
  check_received(&recv, bytes);
}

static void messages_of_each_kind(void **state) {
  (void)state;
  for (int i = 0; i < ROOMS * LENGTHS * 12; i++) {
    struct tm_type *type = i % 2 == 0 ? &flat : &spread;
    receive(lengths[i / 12 % LENGTHS], rooms[i / 12 / LENGTHS], type, i / 2 % 3, i / 6 % 2 == 0);
    assert_int_equal(blocks, 0);
  }
}

static void ways_to_complete(void **state) {
  static const char *const traces[] = {
      "done ", "done resume ", "done dropped ", "done resume dropped ", "resume ", "resume "};
  struct tm_far_header header = header_of(8, 0);
  (void)state;
  for (int way = 0; way < 6; way++) {
    struct tm_request recv = recv_of(8, &flat);
    waits = way % 2 == 1 ? thread : NULL;
    is_freed = way == 2 || way == 3;
    recv.parks = way >= 4;
    recv.blocked = thread;
    tm_post(&ranks[SELF].box, &recv);
    tm_far_arrive(&header, out, NULL);
    check_trace(traces[way]);
  }
}

static struct tm_request late;

static void post_late(void) {
  at_malloc = NULL;
  tm_post(&ranks[SELF].box, &late);
}

/* A receive is posted while the message gets its memory. */
static void a_receive_that_comes_meanwhile(void **state) {
  (void)state;
  for (int way = 0; way < 3; way++) {
    struct tm_far_header header = header_of(8, way == 1 ? 77 : 0);
    late = recv_of(8, &flat);
    at_malloc = post_late;
    tm_far_arrive(&header, out, way == 2 ? ranks : NULL);
    check_trace(way == 0   ? "end "
                : way == 1 ? "end answer 2 77 inside "
                           : "fetch direct inside end ");
    assert_int_equal(ranks[SELF].box.mail, 0);
    check_received(&late, 8);
    assert_int_equal(blocks, 0);
  }
}

static void ended(struct tm_far_fetch *fetch) {
  assert_null(fetch->recv);
  note("ended");
}

static void what_goes_elsewhere(void **state) {
  struct tm_far_header header = header_of(5, 0);
  struct tm_far_fetch fetch = {.ended = ended};
  (void)state;
  header.service = TM_FAR_FILE;
  tm_far_arrive(&header, out, NULL);
  check_trace("file 4 5 ");
  header.service = TM_FAR_WINDOW;
  tm_far_arrive(&header, out, ranks);
  check_trace("window 4 ");
  tm_far_fetched(&fetch);
  check_trace("ended ");
}

/* ---- without memory */

/* Each allocation fails in turn. @return how many there are: with one more the call returns. */
static int count_panics(void (*call)(void)) {
  volatile int count = 0;
  is_starved = true;
  for (volatile bool over = false; !over;) {
    allocations_left = count;
    made_count = 0;
    if (setjmp(panic) == 0) {
      call();
      over = true;
    }
    while (made_count > 0) free(made[--made_count]);
    assert_int_equal(blocks, 0);
    memset(&ranks[SELF].box, 0, sizeof ranks[SELF].box);
    if (!over) count++;
  }
  is_starved = false;
  allocations_left = -1;
  trace[0] = '\0';
  return count;
}

static void send_one(void) {
  static struct tm_request request;
  request = send_of(8, &flat, TM_STANDARD);
  tm_far_send(&request);
}

static void make_note(void) { tm_far_note_new(8); }
static void keep_one(void) { leave(8, 77, NULL, KEPT, 4); }

static void fetch_one(void) {
  static struct tm_request recv;
  recv = recv_of(8, &spread);
  tm_post(&ranks[SELF].box, &recv);
  leave(8, 0, ranks, KEPT, 4);
}

/* The job ends with a message. */
static void without_memory(void **state) {
  (void)state;
  assert_int_equal(count_panics(send_one), 1);
  assert_int_equal(count_panics(make_note), 1);
  assert_int_equal(count_panics(keep_one), 2);
  assert_int_equal(count_panics(fetch_one), 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      NODES(the_transport_is_polled),
      NODES(sends_of_each_size),
      NODES(sends_that_are_over_at_once),
      NODES(notes),
      NODES(notes_of_check),
      NODES(messages_of_each_kind),
      NODES(ways_to_complete),
      NODES(a_receive_that_comes_meanwhile),
      NODES(what_goes_elsewhere),
      NODES(without_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
