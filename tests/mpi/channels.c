/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Channels of partitioned messages, step by step (src/tmpi/part/channel.c, channel_far.c): both
 * sides on one node, or on two that are in this process. Rank 1 sends, rank 2 receives; a note is
 * taken when the test delivers it. Sides come, start, are ready and leave in each order.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "counted_blocks.h"
#include "internal_locks.h"
#include "tmpi/error/errors.h"
#include "tmpi/layout/type.h"
#include "tmpi/match/far.h"
#include "tmpi/match/match.h"
#include "tmpi/part/channel.h"

enum {
  HEAD = 56, /* bytes in front of a piece */
  PIECE = TM_FAR_NOTE_MAX - HEAD,
  UNDER_WAY_MAX = 32,
  QUEUE_MAX = 500,
  MOST = 40 * PIECE,
  SHIFT = 4, /* bytes from a buffer's address to its data */
  TAG = 6,
  SENDER = 1,
  RECEIVER = 2
};

struct tm_job tm_job;
static struct tm_rank ranks[3];
static struct tm_comm comm;
static struct tm_type flat, spread;
static char out[2 * MOST + SHIFT], in[2 * MOST + SHIFT];
static struct tm_far_send *queue[QUEUE_MAX];
static int queue_first, queue_end, pieces;

/* ---- the rest of the library */

struct tm_far_send *tm_far_note_new(size_t bytes) {
  struct tm_far_send *note = __real_calloc(1, sizeof *note + bytes);
  assert_non_null(note);
  note->header.bytes = bytes;
  return note;
}

void tm_far_note_send(struct tm_far_send *note, enum tm_far_service service, int dest,
                      bool inside) {
  (void)inside;
  assert_true(service == TM_FAR_PARTITIONED && queue_end < QUEUE_MAX && locked == 0);
  assert_true(note->header.bytes <= TM_FAR_NOTE_MAX && (dest == SENDER || dest == RECEIVER));
  note->header.source = SENDER + RECEIVER - dest;
  pieces += note->header.bytes > HEAD;
  queue[queue_end++] = note;
}

static void deliver(void) {
  while (queue_first < queue_end) {
    struct tm_far_send *note = queue[queue_first++];
    tm_part_take(note->header.source, note->packed, note->header.bytes);
    assert_int_equal(locked, 0);
    __real_free(note);
  }
  queue_first = queue_end = 0;
}

void tm_request_complete(struct tm_request *request) {
  assert_true(locked == 0 && request->done == 0);
  request->done = 1;
}

static size_t step_of(const struct tm_type *type) { return type == &spread ? 2 : 1; }

void tm_type_pack(void *to, const void *from, const struct tm_type *type, size_t skip,
                  size_t bytes) {
  const char *at = (const char *)from + type->true_lb;
  for (size_t i = 0; i < bytes; i++) ((char *)to)[i] = at[step_of(type) * (skip + i)];
}

void tm_type_unpack(void *to, const struct tm_type *type, size_t skip, const void *from,
                    size_t bytes) {
  char *at = (char *)to + type->true_lb;
  for (size_t i = 0; i < bytes; i++) at[step_of(type) * (skip + i)] = ((const char *)from)[i];
}

static jmp_buf job_end;

void tm_panic(const char *format, ...) {
  assert_non_null(format);
  longjmp(job_end, 1);
}

/* ---- two sides */

static struct tm_request send, recv;
static bool is_far, delivers_at_once;

static int start(void **state) {
  (void)state;
  flat = (struct tm_type){.size = 1, .dense = true, .true_lb = SHIFT};
  spread = (struct tm_type){.size = 1, .true_lb = SHIFT};
  comm.owner = &ranks[RECEIVER];
  tm_job = (struct tm_job){.ranks = ranks, .size = 3};
  for (int i = 0; i < 3; i++) ranks[i].number = i;
  for (size_t i = 0; i < sizeof out; i++) out[i] = (char)(i % 251);
  blocks = 0;
  allocations_left = -1;
  return 0;
}

static int end(void **state) {
  (void)state;
  deliver();
  assert_int_equal(blocks, 0);
  assert_null(ranks[RECEIVER].channels);
  return 0;
}

static void happened(void) {
  if (delivers_at_once) deliver();
}

static bool join(bool sends, int partitions, size_t bytes, struct tm_type *type) {
  struct tm_request *request = sends ? &send : &recv;
  *request = (struct tm_request){.kind = TM_PARTITIONED,
                                 .mode = sends ? TM_PART_SEND : TM_PART_RECV,
                                 .entry.envelope = {9, 1, TAG},
                                 .comm = &comm,
                                 .buffer = sends ? out : in,
                                 .count = bytes,
                                 .type = type};
  if (sends) request->dest = &ranks[RECEIVER];
  bool good = sends && is_far ? tm_far_channel_join(request, partitions)
                              : tm_channel_join(request, partitions);
  happened();
  return good;
}

static void begin(struct tm_request *request) {
  request->done = 0;
  tm_channel_start(request);
  if (request->done == 0) /* and nothing is left of the last round */
    assert_true(request->error == MPI_SUCCESS && request->bytes == 0);
  happened();
}

static void leave(struct tm_request *request) {
  tm_channel_leave(request);
  happened();
}

/* One round. order: 1: the receive starts first; 2: the last partition is ready first; 4: half of
 * them are ready before the receive starts. */
static void pass(int partitions, int order) {
  struct tm_channel *from = send.extra, *to = recv.extra;
  size_t sent = (size_t)partitions * send.count;
  size_t room = (size_t)to->recv.partitions * recv.count, got = sent < room ? sent : room;
  memset(in, -1, SHIFT + 2 * room + 2);
  send.done = recv.done = 0;
  if (order & 1) begin(&recv);
  begin(&send);
  for (int i = 0; i < partitions; i++) {
    if (i == partitions / 2 && (order & 5) == 4) begin(&recv);
    int partition = order & 2 ? partitions - 1 - i : i;
    assert_true(recv.done == 0 && send.done == 0);
    assert_true(tm_channel_ready(from, partition));
    happened();
    if (i < partitions - 1) assert_false(tm_channel_ready(from, partition));
  }
  if ((order & 5) == 0) begin(&recv);
  deliver();
  assert_true(send.done == 1 && recv.done == 1);
  assert_true(recv.source == 1 && recv.tag == TAG && recv.bytes == got);
  assert_int_equal(recv.error, sent > room ? MPI_ERR_TRUNCATE : MPI_SUCCESS);
  size_t in_step = step_of(recv.type), out_step = step_of(send.type);
  for (size_t i = 0; i < room; i++) {
    char expected = i < got ? out[SHIFT + out_step * i] : -1;
    if (in[SHIFT + in_step * i] != expected) fail_msg("byte %zu of %zu", i, got);
  }
  assert_int_equal(in[SHIFT + in_step * room], -1);
  for (int i = 0; i < to->recv.partitions; i++) assert_true(tm_channel_arrived(to, i));
}

/* order: of pass(); 8: the receive joins first; 16: notes are delivered at once; 32: the send
 * leaves first. */
static void rounds(int partitions, size_t bytes, int recv_partitions, size_t recv_bytes, int order,
                   int types) {
  struct tm_type *sent = types & 1 ? &spread : &flat, *wanted = types & 2 ? &spread : &flat;
  delivers_at_once = order & 16;
  for (int i = 0; i < 2; i++) {
    bool sends = (order & 8) == 0 ? i == 0 : i == 1;
    assert_true(sends ? join(true, partitions, bytes, sent)
                      : join(false, recv_partitions, recv_bytes, wanted));
  }
  for (int round = 0; round < 3; round++) pass(partitions, round == 1 ? order ^ 7 : order);
  leave(order & 32 ? &send : &recv);
  leave(order & 32 ? &recv : &send);
  deliver();
  assert_int_equal(blocks, 0);
}

static void sides_in_each_order(void **state) {
  (void)state;
  for (int far = 0; far < 2; far++)
    for (int order = 0; order < 64; order++) {
      is_far = far;
      rounds(1, 10, 1, 10, order, 0);
      rounds(4, 6, 3, 8, order, order);
      rounds(2, 9, 3, 6, order, order / 4);
      rounds(3, 8, 5, 4, order, 0); /* cut */
      rounds(3, 5, 2, 9, order, 0); /* there is more room */
    }
}

static void partitions_of_each_size(void **state) {
  static const size_t sizes[] = {0, 1, 4096, 4097, PIECE, PIECE + 1, 3 * PIECE};
  (void)state;
  for (int far = 0; far < 2; far++)
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
      is_far = far;
      for (int order = 0; order < 32; order += 7) rounds(2, sizes[i], 2, sizes[i], order, order);
      rounds(2, sizes[i], 1, 100, 0, 0);
    }
}

/* Not before all bytes of a partition have come; those of a send need not agree with it. */
static void partitions_that_have_arrived(void **state) {
  (void)state;
  delivers_at_once = true;
  for (int far = 0; far < 2; far++) {
    is_far = far;
    join(true, 3, 4, &flat);
    join(false, 2, 6, &flat);
    struct tm_channel *from = send.extra, *to = recv.extra;
    for (int last = 0; last < 3; last += 2) { /* of the send, which only one of both waits for */
      begin(&send);
      begin(&recv);
      tm_channel_ready(from, 1);
      deliver();
      assert_false(tm_channel_arrived(to, 0) || tm_channel_arrived(to, 1));
      tm_channel_ready(from, 2 - last);
      deliver();
      assert_int_equal(tm_channel_arrived(to, 0), last == 2);
      assert_int_equal(tm_channel_arrived(to, 1), last == 0);
      tm_channel_ready(from, last);
      deliver();
      assert_true(tm_channel_arrived(to, 0) && tm_channel_arrived(to, 1) && recv.done == 1);
    }
    leave(&send);
    leave(&recv);
  }
}

/* Nothing has arrived before the send is ready: it may be longer than the receive. */
static void small_partitions_that_have_arrived(void **state) {
  (void)state;
  delivers_at_once = true;
  for (int way = 0; way < 6; way++) {
    size_t bytes = (size_t)way / 2;
    is_far = way % 2;
    join(true, 1, bytes, &flat);
    join(false, 2, bytes, &flat);
    struct tm_channel *to = recv.extra;
    begin(&recv);
    begin(&send);
    assert_false(tm_channel_arrived(to, 0) || tm_channel_arrived(to, 1));
    tm_channel_ready(send.extra, 0);
    deliver();
    assert_true(tm_channel_arrived(to, 0) && recv.done == 1);
    leave(&send);
    leave(&recv);
    join(true, 2, bytes, &flat);
    join(false, 2, bytes, &flat);
    to = recv.extra;
    begin(&recv);
    begin(&send);
    tm_channel_ready(send.extra, 1);
    deliver();
    assert_false(tm_channel_arrived(to, 0));
    assert_int_equal(tm_channel_arrived(to, 1), bytes > 0);
    leave(&send);
    leave(&recv);
  }
}

/* Only some pieces are under way; each one that is acknowledged lets another go. */
static void pieces_under_way(void **state) {
  (void)state;
  is_far = true;
  delivers_at_once = false;
  join(true, 1, MOST, &flat);
  join(false, 1, MOST, &flat);
  deliver();
  begin(&send);
  begin(&recv);
  deliver();
  pieces = 0;
  tm_channel_ready(send.extra, 0);
  assert_int_equal(pieces, UNDER_WAY_MAX);
  assert_true(send.done == 0 && recv.done == 0);
  deliver();
  assert_true(pieces == MOST / PIECE && send.done == 1 && recv.done == 1);
  assert_memory_equal(in + SHIFT, out + SHIFT, MOST);
  leave(&send);
  leave(&recv);
}

/* No sides of other messages meet. */
static void sides_of_others(void **state) {
  (void)state;
  is_far = false;
  for (int other = 0; other < 3; other++) {
    struct tm_request more = {
        .kind = TM_PARTITIONED,
        .mode = TM_PART_RECV,
        .entry.envelope = {other == 0 ? 8 : 9, other == 1 ? 2 : 1, other == 2 ? 7 : TAG},
        .comm = &comm,
        .type = &flat};
    assert_true(tm_channel_join(&more, 1));
    join(true, 1, 4, &flat);
    assert_true(more.extra != send.extra);
    join(false, 1, 4, &flat);
    assert_ptr_equal(recv.extra, send.extra);
    leave(&send);
    leave(&recv);
    tm_channel_leave(&more);
  }
}

/* A send is freed before it is welcome, or before its receive comes. */
static void sends_that_are_freed_early(void **state) {
  (void)state;
  is_far = true;
  for (int at_once = 0; at_once < 2; at_once++) {
    delivers_at_once = at_once;
    join(true, 2, 4, &flat);
    leave(&send);
    deliver();
    assert_int_equal(blocks, 0);
    assert_null(ranks[RECEIVER].channels);
  }
}

/* Two sides that have met are in no list, and one that has left is not there. */
static void sides_that_have_met_or_left(void **state) {
  (void)state;
  is_far = false;
  for (int first = 0; first < 2; first++) {
    join(first == 0, 1, 4, &flat);
    assert_ptr_equal(ranks[RECEIVER].channels, first == 0 ? send.extra : recv.extra);
    join(first == 1, 1, 4, &flat);
    const struct tm_channel *channel = send.extra;
    assert_null(ranks[RECEIVER].channels);
    leave(first == 0 ? &send : &recv);
    assert_ptr_equal(channel->send.request, first == 0 ? NULL : &send);
    assert_ptr_equal(channel->recv.request, first == 0 ? &recv : NULL);
    leave(first == 0 ? &recv : &send);
  }
}

/* A receive whose sender has gone tells that node nothing, and data for one that has gone are
 * dropped. */
static void sides_that_leave_alone(void **state) {
  (void)state;
  is_far = true;
  delivers_at_once = false;
  for (int sender_first = 0; sender_first < 2; sender_first++) {
    join(true, 1, 4, &flat);
    join(false, 1, 4, &flat);
    deliver();
    if (sender_first) {
      leave(&send);
      deliver();
      begin(&recv);
      assert_int_equal(queue_end, 0);
      leave(&recv);
      continue;
    }
    begin(&send);
    begin(&recv);
    deliver();
    memset(in, -1, SHIFT + 4);
    tm_channel_ready(send.extra, 0); /* on its way */
    leave(&recv);
    deliver();
    assert_true(send.done == 1 && in[SHIFT] == -1);
    leave(&send);
    deliver();
  }
}

/* The sender waits for its welcome, so the job ends. */
static void no_memory_for_a_sender_of_another_node(void **state) {
  (void)state;
  is_far = true;
  delivers_at_once = false;
  join(true, 1, 4, &flat);
  allocations_left = 0;
  if (setjmp(job_end) == 0) {
    deliver();
    fail_msg("the job continues without memory");
  }
  allocations_left = -1;
  __real_free(queue[0]); /* hello */
  queue_first = queue_end = 0;
  struct tm_channel *channel = send.extra;
  channel->refs = 1; /* the other node has none */
  leave(&send);
}

static void nobody_and_nothing(void **state) {
  struct tm_request request = {.mode = TM_PART_RECV};
  (void)state;
  tm_channel_start(&request); /* MPI_PROC_NULL */
  assert_true(request.done == 1 && request.source == MPI_PROC_NULL && request.tag == MPI_ANY_TAG);
  tm_channel_leave(&request);
  request = (struct tm_request){.mode = TM_PART_SEND};
  tm_channel_start(&request);
  assert_true(request.done == 1 && request.source == MPI_ANY_SOURCE);
  for (int far = 0; far < 2; far++) {
    is_far = far;
    delivers_at_once = true;
    join(true, 0, 4, &flat);
    join(false, 0, 4, &flat);
    begin(&send);
    begin(&recv);
    assert_true(send.done == 1 && recv.done == 1 && recv.bytes == 0);
    leave(&recv);
    leave(&send);
  }
}

static void without_memory(void **state) {
  (void)state;
  for (int far = 0; far < 2; far++)
    for (int nth = 0; nth < 2 + far; nth++) {
      is_far = far;
      allocations_left = nth;
      assert_false(join(true, 2, 4, &flat));
      assert_int_equal(blocks, 0);
    }
  allocations_left = 1;
  assert_false(join(false, 2, 4, &flat));
  allocations_left = -1;
}

#define SIDES(test) cmocka_unit_test_setup_teardown(test, start, end)

int main(void) {
  nested_most = 2; /* a rank's list, and a channel */
  const struct CMUnitTest tests[] = {
      SIDES(sides_in_each_order),
      SIDES(partitions_of_each_size),
      SIDES(partitions_that_have_arrived),
      SIDES(small_partitions_that_have_arrived),
      SIDES(pieces_under_way),
      SIDES(sides_of_others),
      SIDES(sends_that_are_freed_early),
      SIDES(sides_that_have_met_or_left),
      SIDES(sides_that_leave_alone),
      SIDES(no_memory_for_a_sender_of_another_node),
      SIDES(nobody_and_nothing),
      SIDES(without_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
