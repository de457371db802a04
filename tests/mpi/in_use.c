/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that belongs to operations until they are complete (src/tmpi/check/buffers.c): which calls
 * are compared with which, and what is said. Calls are made here; nothing is sent.
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
#include "said.h"
#include "tmpi/layout/type.h"
#include "tmpi/mailbox/mailbox.h"
#include "tmpi/object/comm.h"
#include "tmpi/rank/rank.h"

enum { RANKS = 3, LOOK_BACK = 1000, HASHED = 65536, CELLS = 5000 };

const char *const tm_calls[] = {"MPI_Recv",      "MPI_Irecv",      "MPI_Send",      "MPI_Isend",
                                "MPI_Ssend",     "MPI_Ibsend",     "MPI_Send_init", "MPI_Sendrecv",
                                "MPI_Allreduce", "MPI_Iallreduce", "MPI_Gather",    "MPI_Igather",
                                "MPI_Iscatter",  "MPI_Start",      "MPI_Wait",      "MPI_Bcast"};
enum {
  RECV,
  IRECV,
  SEND,
  ISEND,
  SSEND,
  IBSEND,
  SEND_INIT,
  SENDRECV,
  ALLREDUCE,
  IALLREDUCE,
  GATHER,
  IGATHER,
  ISCATTER,
  START,
  WAIT,
  BCAST
};

/* ---- the rest of the library */

struct tm_job tm_job;
struct tm_type tm_predefined[TM_PREDEFINED_COUNT];
static struct tm_comm world = {.rank = 1};

void tm_describe(char text[TM_CALL_TEXT], const struct tm_seen *seen) {
  snprintf(text, TM_CALL_TEXT, "%s #%d", tm_calls[seen->call] + 4, seen->tag);
}

struct tm_comm *tm_comm_of(MPI_Comm handle) { return (struct tm_comm *)handle; }

static struct tm_block of_int = {0, sizeof(int), 1, 0};
static int cells[CELLS];

static int start(void **state) {
  (void)state;
  tm_job.most = RANKS;
  tm_predefined[(uintptr_t)MPI_INT - TM_PREDEFINED_FIRST] = (struct tm_type){.magic = TM_TYPE_MAGIC,
                                                                             .predefined = true,
                                                                             .dense = true,
                                                                             .size = sizeof(int),
                                                                             .blocks = &of_int};
  memset(cells, 0, sizeof cells);
  said[0] = '\0';
  memory_is_out = true;
  bool starts = tm_buffers_start();
  memory_is_out = false;
  return !starts && tm_buffers_start() ? 0 : -1;
}

/* ---- calls */

static int calls; /* made, which are their numbers */

static struct tm_seen call(int which, int first, int count) {
  return (struct tm_seen){.call = which,
                          .rank = 1,
                          .root = TM_NONE,
                          .peer = 0,
                          .tag = ++calls,
                          .comm = (MPI_Comm)&world,
                          .data = {&cells[first], count, MPI_INT},
                          .other = {&cells[CELLS / 2], -1, MPI_INT}};
}

/* A nonblocking call that is under way until its request is dropped. */
static void begin(int which, int first, int count, const void *request) {
  struct tm_seen seen = call(which, first, count);
  tm_buffers_begin(&seen);
  tm_buffers_end(&seen, request);
}

static void check_use(int which, int first, int count, bool conflicts) {
  char expected[100] = "";
  struct tm_seen seen = call(which, first, count);
  tm_buffers_begin(&seen);
  if (conflicts)
    sprintf(expected, "!rank 1: %s #%d uses memory that belongs to %s #1 until that is complete\n",
            tm_calls[which] + 4, seen.tag, "Irecv");
  check_said(expected);
}

static const char requests[2 * LOOK_BACK];

static void memory_that_is_received_into_belongs_to_the_receive(void **state) {
  (void)state;
  calls = 0;
  begin(IRECV, 10, 5, &requests[0]);
  static const int users[] = {RECV, IRECV, SEND, ISEND, SSEND, IBSEND};
  for (size_t i = 0; i < sizeof users / sizeof users[0]; i++) {
    check_use(users[i], 5, 5, false);
    check_use(users[i], 5, 6, true);
    check_use(users[i], 12, 1, true);
    check_use(users[i], 0, 100, true);
    check_use(users[i], 14, 5, true);
    check_use(users[i], 15, 5, false);
  }
  struct tm_seen other = call(RECV, 10, 5); /* of another rank, which has memory of its own */
  other.rank = 2;
  tm_buffers_begin(&other);
  check_said("");
  tm_buffers_drop(1, &requests[0]);
  check_use(RECV, 10, 5, false);
}

static void memory_that_is_sent_may_be_sent_again(void **state) {
  (void)state;
  calls = 0;
  begin(ISEND, 10, 5, &requests[0]);
  check_use(SEND, 10, 5, false);
  check_use(IALLREDUCE, 10, 5, false);
  struct tm_seen seen = call(RECV, 10, 5);
  tm_buffers_begin(&seen);
  check_said("!rank 1: Recv #4 uses memory that belongs to Isend #1 until that is complete\n");
  tm_buffers_drop(1, &requests[0]);
  check_said("");
}

static void calls_that_use_no_memory_of_others(void **state) {
  (void)state;
  static struct tm_type gaps = {.magic = TM_TYPE_MAGIC, .size = 4};
  begin(IRECV, 0, 100, &requests[0]);
  for (int how = 0; how < 9; how++) {
    struct tm_seen seen = call(how < 5 ? RECV : IALLREDUCE, 10, 5);
    calls = 0;
    switch (how) {
      case 0: seen.peer = MPI_PROC_NULL; break;
      case 1: seen.data.count = 0; break;
      case 2: seen.data.type = NULL; break; /* the call says so */
      case 3: seen.data.type = (MPI_Datatype)&gaps; break;
      case 4: seen.call = ALLREDUCE; break; /* it is over when it returns */
      case 5: seen.data.buffer = MPI_IN_PLACE; break;
      case 6: seen.other.buffer = seen.data.buffer; break;
      case 7: seen.root = MPI_ROOT; break; /* the other group sends */
      default: seen.root = MPI_PROC_NULL; break;
    }
    int before = blocks;
    tm_buffers_begin(&seen);
    tm_buffers_end(&seen, &requests[1]);
    check_said("");
    assert_int_equal(blocks, before);
  }
  static const int sending[] = {IALLREDUCE, IGATHER},
                   others[] = {GATHER, ISCATTER, BCAST, WAIT, SEND_INIT};
  calls = 0;
  begin(IRECV, 200, 1, &requests[2]);
  for (int i = 0; i < 2; i++) check_use(sending[i], 200, 1, true);
  for (int i = 0; i < 5; i++) check_use(others[i], 200, 1, false);
  tm_buffers_drop(1, &requests[0]);
  tm_buffers_drop(1, &requests[2]);
}

/* A request of MPI_Send_init() begins to use its memory when it is started. */
static void persistent_sends_use_memory_from_their_start(void **state) {
  (void)state;
  struct tm_request request = {.buffer = &cells[10], .count = 2, .type = tm_type_of(MPI_INT)};
  for (int how = 0; how < 4; how++) {
    struct tm_seen init = call(SEND_INIT, 10, 2), starts = call(START, 0, 0);
    char expected[100] = "";
    tm_buffers_end(&init, &request);
    request.peer = how == 1 ? MPI_PROC_NULL : 0;
    request.count = how == 2 ? 0 : 2;
    if (how != 3) tm_buffers_start_send(&starts, &request);
    cells[11]++;
    if (how == 0)
      sprintf(expected, "!rank 1: what Start #%d sends was changed before that was complete\n",
              starts.tag);
    tm_buffers_drop(1, &request);
    check_said(expected);
  }
}

static void data_that_change_while_they_are_sent(void **state) {
  (void)state;
  static char bytes[HASHED + 8];
  struct tm_block block = {0, 1, 1, 0};
  struct tm_type byte = {.magic = TM_TYPE_MAGIC, .dense = true, .size = 1, .blocks = &block};
  for (int how = 0; how < 6; how++) {
    struct tm_seen seen = call(how == 1 ? IRECV : ISEND, 0, 0);
    seen.data = (struct tm_data){bytes, how < 4 ? 8 : HASHED + 8, (MPI_Datatype)&byte};
    block.at = how == 3 ? 1 : 0; /* data that begin behind the address that is given */
    tm_buffers_end(&seen, &requests[how]);
    switch (how) {
      case 0: bytes[0]++; break;
      case 1: bytes[0]++; break; /* it is received */
      case 2: bytes[8]++; break; /* behind them */
      case 3: bytes[0]++; break; /* before them */
      case 4: bytes[HASHED - 1]++; break;
      default: bytes[HASHED]++; break; /* of long data the beginning is looked at */
    }
    tm_buffers_drop(1, &requests[how]);
    char expected[100] = "";
    if (how == 0 || how == 4)
      sprintf(expected, "!rank 1: what Isend #%d sends was changed before that was complete\n",
              seen.tag);
    check_said(expected);
  }
}

/* Requests end in any order, and the others keep their memory. */
static void each_use_ends_by_itself(void **state) {
  (void)state;
  for (int first = 0; first < 3; first++)
    for (int second = 0; second < 3; second++) {
      if (second == first) continue;
      int before = blocks;
      for (int i = 0; i < 3; i++) begin(ISEND, 10 * i, 10, &requests[i]);
      int taken[] = {first, second, 3 - first - second};
      for (int ended = 0; ended <= 3; ended++) {
        for (int i = 0; i < 3; i++) {
          struct tm_seen seen = call(RECV, 10 * i, 10);
          bool is_free = false;
          for (int k = 0; k < ended; k++) is_free |= taken[k] == i;
          tm_buffers_begin(&seen);
          assert_true((said[0] == '\0') == is_free);
          said[0] = '\0';
        }
        if (ended < 3) tm_buffers_drop(1, &requests[taken[ended]]);
      }
      tm_buffers_drop(1, &requests[first]); /* nothing is kept for it any more */
      if (first + second > 1) assert_int_equal(blocks, before); /* the table has grown by then */
    }
}

static void a_use_is_compared_with_the_last_ones(void **state) {
  (void)state;
  calls = 0;
  begin(IRECV, 0, 1, &requests[0]);
  for (int i = 1; i < LOOK_BACK; i++) begin(ISEND, i, 1, &requests[i]);
  check_use(RECV, 0, 1, true);
  begin(ISEND, LOOK_BACK, 1, &requests[LOOK_BACK]);
  check_use(RECV, 0, 1, false);
  for (int i = 0; i <= LOOK_BACK; i++) tm_buffers_drop(1, &requests[i]);
}

static void without_memory_a_use_is_not_kept(void **state) {
  (void)state;
  memory_is_out = true;
  begin(IRECV, 0, 1, &requests[0]);
  memory_is_out = false;
  check_use(RECV, 0, 1, false);
  tm_buffers_drop(1, &requests[0]);
}

static void one_call_that_sends_from_where_it_receives(void **state) {
  (void)state;
  static const struct {
    int call, root, peer;
    bool is_seen, inter;
  } rows[] = {{SENDRECV, TM_NONE, 0, true, false},
              {SENDRECV, TM_NONE, MPI_PROC_NULL, false, false},
              {ALLREDUCE, TM_NONE, TM_NONE, true, false},
              {IALLREDUCE, TM_NONE, TM_NONE, true, false},
              {GATHER, 1, TM_NONE, true, false},
              {GATHER, 0, TM_NONE, false, false},
              {IGATHER, 1, TM_NONE, true, false},
              {ISCATTER, 1, TM_NONE, true, false},
              {GATHER, 1, TM_NONE, false, true},
              {BCAST, 1, TM_NONE, false, false},
              {SEND, TM_NONE, 0, false, false}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    for (int how = 0; how < 5; how++) {
      struct tm_seen seen = call(rows[i].call, 10, 5);
      seen.root = rows[i].root;
      seen.peer = rows[i].peer;
      seen.other = (struct tm_data){&cells[14], 5, MPI_INT};
      world.inter = rows[i].inter;
      if (how == 1) seen.other.buffer = &cells[15];
      if (how == 2) seen.other.count = 0;
      if (how == 3) seen.data.count = 0;
      if (how == 4) seen.data.buffer = MPI_IN_PLACE;
      char expected[100] = "";
      if (how == 0 && rows[i].is_seen)
        sprintf(expected, "!rank 1: %s #%d sends from a buffer where it receives (%s)\n",
                tm_calls[rows[i].call] + 4, seen.tag,
                rows[i].peer == TM_NONE ? "MPI_IN_PLACE" : "MPI_Sendrecv_replace");
      tm_buffers_compare(&seen);
      check_said(expected);
    }
  world.inter = false;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(memory_that_is_received_into_belongs_to_the_receive),
      cmocka_unit_test(memory_that_is_sent_may_be_sent_again),
      cmocka_unit_test(calls_that_use_no_memory_of_others),
      cmocka_unit_test(persistent_sends_use_memory_from_their_start),
      cmocka_unit_test(data_that_change_while_they_are_sent),
      cmocka_unit_test(each_use_ends_by_itself),
      cmocka_unit_test(a_use_is_compared_with_the_last_ones),
      cmocka_unit_test(without_memory_a_use_is_not_kept),
      cmocka_unit_test(one_call_that_sends_from_where_it_receives),
  };
  return cmocka_run_group_tests(tests, start, NULL);
}
