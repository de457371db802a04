/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Short messages enter a ring, and leave it for posted receives or for the mailbox, step by step
 * (src/tmpi/match/intake_move.c): each size, each place in the ring, and a full ring. Types, locks
 * and threads are the test's own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "tmpi/match/entries.h"
#include "tmpi/match/intake.h"
#include "tmpi/match/match.h"
#include "tmpi/match/meet.h"
#include "tmpi/match/rank_wait.h"

enum { MOST = TM_INTAKE_MAX + 1, SPREAD = 2 /* bytes of memory for one of spread data */ };

void (*tm_match_hook)(const struct tm_request *recv, const struct tm_envelope *envelope,
                      const struct tm_type *type, size_t count);
struct tm_job tm_job;
static struct tm_rank rank;
static struct tm_intake ring;
static struct tm_type flat, spread;
static struct mltp_thread *const thread = (struct mltp_thread *)&flat;
static char trace[200];
static void (*at_lock)(void);
static bool is_freed;
static struct mltp_thread *waits; /* for what is posted */

static void note(const char *what) {
  assert_true(strlen(trace) + strlen(what) < sizeof trace);
  strcat(trace, what);
}

static void check_trace(const char *expected) {
  assert_string_equal(trace, expected);
  trace[0] = '\0';
}

/* ---- the rest of the library */

void mti_lock(uint32_t *lock) {
  if (at_lock != NULL) at_lock();
  assert_int_equal(*lock, 0);
  *lock = 1;
}

void mti_unlock(uint32_t *lock) {
  assert_int_equal(*lock, 1);
  *lock = 0;
}

void mltp_await_store(uint32_t *word, uint32_t value) {
  *word = value;
  note("ended ");
}

void mti_resume_on(struct mltp_thread *t, int vp, uint32_t *ticks) {
  assert_true(t == thread && vp == 7 && ticks == &rank.box.home_points);
  assert_int_equal(rank.box.ilock, 1);
  note("resumed ");
}

struct mltp_thread *tm_request_mark_done(struct tm_request *request, bool *freed) {
  assert_int_equal(rank.box.ilock, 1);
  request->done = 1;
  *freed = is_freed;
  note("done ");
  return waits;
}

void tm_request_drop(struct tm_request *request) {
  assert_int_equal(rank.box.ilock, 0);
  assert_int_equal(request->done, 1);
  note("dropped ");
}

int tm_short_error(const struct tm_type *type, size_t bytes) {
  assert_ptr_equal(type, &flat);
  return bytes % 4 == 0 ? MPI_SUCCESS : MPI_ERR_TYPE;
}

/* Spread data lie in each second byte. */
void tm_type_pack(void *to, const void *from, const struct tm_type *type, size_t skip,
                  size_t bytes) {
  assert_true(type == &spread && skip == 0);
  for (size_t i = 0; i < bytes; i++) ((char *)to)[i] = ((const char *)from)[SPREAD * i];
}

void tm_type_unpack(void *to, const struct tm_type *type, size_t skip, const void *from,
                    size_t bytes) {
  assert_true(type == &spread && skip == 0);
  for (size_t i = 0; i < bytes; i++) ((char *)to)[SPREAD * i] = ((const char *)from)[i];
}

void tm_type_release(struct tm_type *type) { fail_msg("%p", (void *)type); }

void tm_deferred_remove(struct tm_mailbox *box, struct tm_message *m) {
  fail_msg("%p %p", (void *)box, (void *)m);
}

void tm_panic(const char *format, ...) {
  (void)format;
  abort();
}

/* ---- a ring from some slot on */

static void begin_at(uint32_t number) {
  memset(&ring, 0, sizeof ring);
  ring.head = ring.known_head = ring.tail = number;
}

static int start(void **state) {
  (void)state;
  memset(&rank, 0, sizeof rank);
  rank.intake = &ring;
  rank.box.home = 7;
  flat = (struct tm_type){.size = 1, .dense = true};
  spread = (struct tm_type){.size = 1};
  tm_job.past_mailboxes = true;
  at_lock = NULL;
  is_freed = false;
  waits = NULL;
  trace[0] = '\0';
  begin_at(0);
  return 0;
}

static int end(void **state) {
  (void)state;
  tm_queue_free(&rank.box.posted);
  tm_queue_free(&rank.box.arrived);
  while (rank.box.cells != NULL) {
    struct tm_message *next = rank.box.cells->next;
    free(rank.box.cells);
    rank.box.cells = next;
  }
  check_trace("");
  return 0;
}

static struct tm_request request_of(char *buffer, size_t bytes, struct tm_type *type, int tag) {
  return (struct tm_request){
      .entry.envelope = {5, 3, tag}, .buffer = buffer, .count = bytes, .type = type};
}

/* @return whether a message of that many bytes is in the ring. */
static bool put(size_t bytes, int tag) {
  static char data[MOST];
  memset(data, tag, sizeof data);
  struct tm_request send = request_of(data, bytes, &flat, tag);
  bool is_there = tm_intake_put(&ring, &send);
  assert_int_equal(ring.ilock, 0);
  return is_there;
}

static void move(void) {
  tm_intake_lock_and_move(&rank);
  assert_int_equal(rank.box.ilock, 0);
}

/* ---- sizes */

static void check_data(const char *data, size_t bytes, int step) {
  for (size_t i = 0; i < MOST; i++)
    assert_int_equal(data[i * (size_t)step], i < bytes ? (char)(i + bytes) : -1);
}

/* What a message takes from a slot on: one slot of eight bytes, others of 28, and they end with a
 * line. */
static uint32_t slots_from(uint32_t number, size_t bytes) {
  uint32_t slots = 1;
  for (size_t done = 8; done < bytes; done += 28) slots++;
  return slots > 1 && (number + slots) % 2 == 1 ? slots + 1 : slots;
}

/* @return room for that many bytes, of which nothing may be read behind. */
static char *room_at_end(size_t bytes) {
  static char *end;
  long page = sysconf(_SC_PAGESIZE);
  if (end == NULL) {
    char *pages =
        mmap(NULL, 2 * (size_t)page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(pages != MAP_FAILED && mprotect(pages + page, (size_t)page, PROT_NONE) == 0);
    end = pages + page;
  }
  return end - bytes;
}

static void pass(uint32_t number, size_t bytes, struct tm_type *sent, struct tm_type *wanted) {
  static char in[SPREAD * MOST];
  size_t step = sent == &flat ? 1 : SPREAD;
  char *out = room_at_end(step * bytes);
  struct tm_request send = request_of(out, bytes, sent, 4);
  struct tm_request recv = request_of(in, bytes, wanted, MPI_ANY_TAG);
  begin_at(number);
  for (size_t i = 0; i < bytes; i++) out[step * i] = (char)(i + bytes);
  memset(in, -1, sizeof in);
  assert_int_equal(tm_intake_put(&ring, &send), bytes <= TM_INTAKE_MAX);
  if (bytes > TM_INTAKE_MAX) {
    assert_int_equal(ring.tail, number);
    return;
  }
  uint32_t tail = number + slots_from(number, bytes);
  assert_int_equal(ring.tail, tail);
  for (uint32_t i = number + 1; i < tail; i++)
    assert_int_equal(tm_intake_slot_at(&ring, i)->sequence, i + 1);
  const struct tm_intake_slot *first = tm_intake_first(&ring);
  assert_ptr_equal(first, tm_intake_slot_at(&ring, number));
  assert_int_equal(first->full, tm_slot_full(&send, bytes));
  tm_post(&rank.box, &recv);
  move();
  check_trace("done ");
  assert_true(recv.error == MPI_SUCCESS && recv.bytes == bytes && !recv.posted);
  assert_true(recv.source == 3 && recv.tag == 4);
  assert_int_equal(ring.head, tail);
  assert_null(tm_intake_first(&ring));
  check_data(in, bytes, wanted == &flat ? 1 : SPREAD);
}

static void each_size_at_each_place(void **state) {
  static const uint32_t numbers[] = {0,
                                     1,
                                     TM_INTAKE_SLOTS - 1,
                                     TM_INTAKE_SLOTS - 2,
                                     TM_INTAKE_SLOTS - 9,
                                     UINT32_MAX - TM_INTAKE_SLOTS};
  (void)state;
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
    for (size_t bytes = 0; bytes <= MOST; bytes++) {
      pass(numbers[i], bytes, &flat, &flat);
      pass(numbers[i], bytes, &spread, &flat);
      pass(numbers[i], bytes, &flat, &spread);
    }
}

/* Of messages of several slots, each is read whole, and no other one's slots. */
static void one_behind_the_other(void **state) {
  static const size_t sizes[] = {8, 9, 36, 37, 0, 64, 65, TM_INTAKE_MAX, 1, 2};
  enum { COUNT = sizeof sizes / sizeof sizes[0] };
  static char in[COUNT][MOST];
  struct tm_request recvs[COUNT];
  (void)state;
  for (int round = 0; round < 40; round++) {
    for (int i = 0; i < COUNT; i++) assert_true(put(sizes[i], i));
    for (int i = 0; i < COUNT; i++) {
      memset(in[i], -1, sizeof in[i]);
      recvs[i] = request_of(in[i], MOST, &flat, i);
      tm_post(&rank.box, &recvs[i]);
    }
    move();
    assert_int_equal(ring.head, ring.tail);
    for (int i = 0; i < COUNT; i++) {
      assert_true(recvs[i].done == 1 && recvs[i].bytes == sizes[i]);
      for (size_t at = 0; at < MOST; at++) assert_int_equal(in[i][at], at < sizes[i] ? i : -1);
    }
    trace[0] = '\0';
  }
}

/* ---- a full ring */

static void take_one(void) {
  char in[MOST];
  struct tm_request recv = request_of(in, MOST, &flat, 0);
  const struct tm_intake_slot *first = tm_intake_first(&ring);
  assert_non_null(first);
  tm_intake_unpack(&ring, first, &recv);
}

static void a_ring_has_as_many_slots(void **state) {
  (void)state;
  for (uint32_t begin = 0; begin < 4; begin++) {
    begin_at(begin);
    for (int i = 0; i < TM_INTAKE_SLOTS; i++) assert_true(put(8, 1));
    assert_false(put(0, 1));
    assert_int_equal(ring.tail, begin + TM_INTAKE_SLOTS);
    assert_int_equal(ring.known_head, begin);
    take_one();
    assert_int_equal(ring.known_head, begin); /* a sender that needs room looks again */
    assert_true(put(0, 1));
    assert_int_equal(ring.known_head, begin + 1);
    assert_false(put(0, 1));
    take_one();
    assert_false(put(9, 1)); /* which takes two slots, or three */
    take_one();
    assert_int_equal(put(9, 1), (begin + 3) % 2 == 0);
    take_one();
    assert_int_equal(put(9, 1), (begin + 3) % 2 == 1);
  }
}

/* Room that a sender knows of is not looked for. */
static void a_head_that_is_known(void **state) {
  (void)state;
  for (int i = 0; i < TM_INTAKE_SLOTS - 1; i++) assert_true(put(8, 1));
  take_one();
  assert_true(put(8, 1));
  assert_int_equal(ring.known_head, 0);
}

static void shut(void) { ring.shut = 1; }

static void a_ring_that_is_shut(void **state) {
  (void)state;
  ring.shut = 2;
  at_lock = abort; /* the first look says so */
  assert_false(put(8, 1));
  ring.shut = 0;
  at_lock = shut; /* after that look */
  assert_false(put(8, 1));
  assert_true(ring.tail == 0 && tm_intake_first(&ring) == NULL);
}

/* ---- receivers */

static void ways_to_complete(void **state) {
  static const char *const traces[] = {
      "done ", "done resumed ", "done dropped ", "done resumed dropped ", "resumed ", "resumed "};
  char in[8];
  (void)state;
  for (int way = 0; way < 6; way++) {
    struct tm_request recv = request_of(in, sizeof in, &flat, 1);
    waits = way % 2 == 1 ? thread : NULL;
    is_freed = way >= 2;
    recv.parks = way >= 4;
    recv.blocked = thread;
    tm_post(&rank.box, &recv);
    assert_true(put(8, 1));
    move();
    check_trace(traces[way]);
  }
}

static void add_cell(void) {
  struct tm_envelope none = {0, 0, 0};
  struct tm_message *cell = tm_message_new(&none, 0, TM_CELL_BYTES);
  if (!tm_cell_keep(&rank.box, cell)) abort();
}

/* Takes the message of a tag out of the mailbox. @return whether it was in that cell. */
static bool check_message(int tag, size_t bytes, const struct tm_message *cell) {
  struct tm_envelope wanted = {5, 3, tag};
  size_t held = rank.box.held;
  struct tm_message *m = tm_take_message(&rank.box, &wanted);
  assert_non_null(m);
  size_t room = bytes > TM_CELL_BYTES ? bytes : TM_CELL_BYTES;
  assert_true(m->bytes == bytes && m->held == sizeof *m + room && m->sender == NULL);
  assert_int_equal(rank.box.held, held - m->held);
  assert_int_equal(m->is_cell, bytes <= TM_CELL_BYTES);
  assert_true(m->slot_tag % 2 == 1 && m->slot_tag > TM_FULL_BYTES);
  for (size_t i = 0; i < bytes; i++) assert_int_equal(m->data[i], tag);
  bool was_cell = m == cell;
  tm_message_discard(m);
  return was_cell;
}

/* Up to the first that was posted for, messages enter the mailbox; probing threads wake up. */
static void messages_that_nobody_wants_yet(void **state) {
  static const size_t sizes[] = {0, 8, TM_CELL_BYTES, TM_CELL_BYTES + 1, TM_INTAKE_MAX};
  enum { COUNT = sizeof sizes / sizeof sizes[0], WANTED = 2 };
  char in[TM_CELL_BYTES];
  struct tm_waiter second = {.missing = 1},
                   first = {.thread = thread, .next = &second, .missing = 1};
  struct tm_request recv = request_of(in, sizeof in, &flat, WANTED);
  (void)state;
  for (int i = 0; i < COUNT; i++) assert_true(put(sizes[i], i));
  tm_post(&rank.box, &recv);
  rank.box.probers = &first;
  add_cell();
  const struct tm_message *cell = rank.box.cells;
  move();
  check_trace("resumed done ");
  assert_true(first.missing == 0 && second.missing == 0 && rank.box.probers == NULL);
  assert_int_equal(rank.box.mail, COUNT - 1);
  assert_true(rank.box.cells == NULL && rank.box.cell_count == 0);
  for (int i = COUNT - 1; i >= 0; i--)
    if (i != WANTED) assert_int_equal(check_message(i, sizes[i], cell), i == 0);
  assert_true(rank.box.mail == 0 && rank.box.held == 0);
  assert_int_equal(ring.head, ring.tail);
}

/* A receive with too little room, and one of which an element would be half full. */
static void receives_of_another_size(void **state) {
  char in[8];
  (void)state;
  for (size_t bytes = 0; bytes <= 8; bytes++) {
    struct tm_request recv = request_of(in, 1, &flat, 1);
    tm_post(&rank.box, &recv);
    assert_true(put(bytes, 1));
    flat.size = 6; /* of the receive's one element */
    move();
    flat.size = 1;
    assert_int_equal(recv.bytes, bytes > 6 ? 6 : bytes);
    assert_int_equal(recv.error, bytes > 6                      ? MPI_ERR_TRUNCATE
                                 : bytes == 6 || bytes % 4 == 0 ? MPI_SUCCESS
                                                                : MPI_ERR_TYPE);
    check_trace("done ");
  }
}

static void none_has_come(void **state) {
  (void)state;
  move();
  assert_int_equal(ring.head, 0);
}

#define RING(test) cmocka_unit_test_setup_teardown(test, start, end)

int main(void) {
  const struct CMUnitTest tests[] = {
      RING(each_size_at_each_place),
      RING(one_behind_the_other),
      RING(a_ring_has_as_many_slots),
      RING(a_head_that_is_known),
      RING(a_ring_that_is_shut),
      RING(ways_to_complete),
      RING(receives_of_another_size),
      RING(messages_that_nobody_wants_yet),
      RING(none_has_come),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
