/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The account of buffers of buffered sends (src/tmpi/match/bsend_buffer.c): which buffer a message
 * counts in, when there is room, and when a thread that empties a buffer may return. One thread
 * plays senders and receivers; what happens in a park is a function of the test.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "counted_blocks.h"
#include "internal_locks.h"
#include "tmpi/match/match.h"
#include "tmpi/match/rank_wait.h"
#include "tmpi/object/comm.h"
#include "tmpi/object/session.h"
#include "traced_calls.h"

enum { COST = 64 /* of a message beside its data */, SIZE = 1000 };

struct tm_job tm_job;
static struct tm_rank rank;
static char threads[2];
static struct tm_buffer buffer;
static void (*while_parked)(void);

/* ---- the rest of the library */

static struct mltp_thread *thread(int which) { return (struct mltp_thread *)&threads[which]; }

struct tm_rank *tm_rank_self(void) { return &rank; }
mltp_t *mltp_self(void) { return thread(0); }

struct mltp_thread *mti_self(const char *call) {
  assert_string_equal(call, "MPI_Buffer_detach");
  return thread(0);
}

void mti_park_unlock(uint32_t *lock, const char *text) {
  assert_string_equal(text, "MPI_Buffer_detach");
  assert_string_equal(rank.call, text); /* reports see what the rank does */
  mti_unlock(lock);
  note("parks");
  while_parked();
}

void mti_resume(struct mltp_thread *t) {
  assert_int_equal(buffer.ilock, 1); /* else the waiter could be gone */
  note("resumes-%d", (int)((char *)t - threads));
}

void tm_deferred_release(struct tm_rank *releasing) {
  assert_ptr_equal(releasing, &rank);
  assert_int_equal(locked, 0);
  note("releases");
}

bool tm_user_code_lend_slow(struct tm_rank *lender) { return lender == NULL; }
void tm_user_code_take(struct tm_rank *lender) { fail_msg("%p", (void *)lender); }

static int start(void **state) {
  (void)state;
  rank = (struct tm_rank){.thread = thread(0)};
  buffer = (struct tm_buffer){.size = SIZE, .refs = 1};
  nested_most = 2; /* the rank's, then the buffer's */
  trace[0] = '\0';
  return 0;
}

/* ---- tests */

static void a_message_counts_in_the_nearest_buffer(void **state) {
  (void)state;
  struct tm_buffer of_comm = {.size = SIZE}, of_session = {.size = SIZE};
  struct tm_session session = {.buffer = &of_session}, empty = {.buffer = NULL};
  struct tm_comm comm = {.buffer = &of_comm, .session = &session};
  struct tm_request request = {.owner = &rank, .comm = &comm};
  rank.buffer = &buffer;
  assert_ptr_equal(tm_buffer_claim(&request, 1), &of_comm);
  comm.buffer = NULL;
  assert_ptr_equal(tm_buffer_claim(&request, 1), &of_session);
  comm.session = &empty;
  assert_ptr_equal(tm_buffer_claim(&request, 1), &buffer);
  comm.session = NULL;
  assert_ptr_equal(tm_buffer_claim(&request, 1), &buffer);
  rank.buffer = NULL;
  assert_null(tm_buffer_claim(&request, 1));
  assert_int_equal(of_comm.used, 1 + COST);
  assert_int_equal(of_session.used, 1 + COST);
  assert_int_equal(buffer.used, 2 * (1 + COST));
  assert_int_equal(locked, 0);
}

static void messages_fill_a_buffer_to_its_end(void **state) {
  (void)state;
  struct tm_comm comm = {.buffer = &buffer};
  struct tm_request request = {.owner = &rank, .comm = &comm};
  assert_null(tm_buffer_claim(&request, SIZE - COST + 1));
  assert_int_equal(buffer.used, 0);
  assert_ptr_equal(tm_buffer_claim(&request, 100), &buffer);
  assert_null(tm_buffer_claim(&request, SIZE - 100 - 2 * COST + 1));
  assert_ptr_equal(tm_buffer_claim(&request, SIZE - 100 - 2 * COST), &buffer);
  assert_int_equal(buffer.used, SIZE);
  assert_null(tm_buffer_claim(&request, 0));
  tm_buffer_return(&buffer, 100);
  assert_ptr_equal(tm_buffer_claim(&request, 100), &buffer);
  assert_int_equal(locked, 0);
}

static void the_last_holder_frees_a_buffer(void **state) {
  (void)state;
  struct tm_buffer *made = calloc(1, sizeof *made);
  made->refs = 1;
  tm_buffer_hold(made);
  tm_buffer_release(made);
  assert_int_equal(blocks, 1);
  tm_buffer_release(made);
  assert_int_equal(blocks, 0);
  assert_int_equal(locked, 0);
}

static void an_empty_buffer_is_drained_at_once(void **state) {
  (void)state;
  tm_buffer_drain(&buffer, "MPI_Buffer_detach");
  check_trace("");
  assert_null(rank.call);
  rank.attention = TM_DEFERRED; /* small messages that wait for room: they may be in the buffer */
  tm_buffer_drain(&buffer, "MPI_Buffer_detach");
  check_trace("releases ");
  rank.thread = thread(1); /* another thread of the rank, whose call is not what reports show */
  rank.call = "MPI_Recv";
  rank.attention = 0;
  tm_buffer_drain(&buffer, "MPI_Buffer_detach");
  assert_string_equal(rank.call, "MPI_Recv");
  assert_int_equal(locked, 0);
}

static int parks;

static void receive_one(void) {
  parks++;
  assert_non_null(buffer.waiters);
  tm_buffer_return(&buffer, 10);
  if (parks == 1) { /* the buffer is used again before the waiter looks at it */
    check_trace("parks resumes-0 resumes-1 ");
    assert_null(buffer.waiters);
    buffer.used = 10 + COST;
  }
}

static void receive_two(void) {
  tm_buffer_return(&buffer, 10);
  check_trace("parks "); /* another message is in it */
  receive_one();
}

static void a_thread_waits_until_all_messages_are_received(void **state) {
  (void)state;
  struct tm_waiter other = {.thread = thread(1)};
  parks = 0;
  buffer.used = 10 + COST;
  buffer.waiters = &other;
  while_parked = receive_one;
  tm_buffer_drain(&buffer, "MPI_Buffer_detach");
  check_trace("parks resumes-0 ");
  assert_int_equal(parks, 2);
  assert_null(rank.call);
  parks = 1;
  buffer.used = 2 * (10 + COST);
  while_parked = receive_two;
  tm_buffer_drain(&buffer, "MPI_Buffer_detach");
  check_trace("resumes-0 ");
  assert_null(buffer.waiters);
  assert_int_equal(locked, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(a_message_counts_in_the_nearest_buffer, start),
      cmocka_unit_test_setup(messages_fill_a_buffer_to_its_end, start),
      cmocka_unit_test_setup(the_last_holder_frees_a_buffer, start),
      cmocka_unit_test_setup(an_empty_buffer_is_drained_at_once, start),
      cmocka_unit_test_setup(a_thread_waits_until_all_messages_are_received, start),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
