/* SPDX-License-Identifier: Apache-2.0 */
/* Messages whose data stay with their senders since a mailbox is full, step by step
 * (src/tmpi/match/deferred.c). Types, fences and senders are the test's own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/internal/fence.h"
#include "internal_locks.h"
#include "tmpi/mailbox/intake.h"
#include "tmpi/match/deferred.h"
#include "tmpi/match/entries.h"
#include "tmpi/match/match.h"

enum { MESSAGES = 3 };

struct tm_job tm_job;
static struct tm_rank rank;
static struct tm_intake intake;
static struct tm_message messages[MESSAGES];
static struct tm_request senders[MESSAGES];
static bool fence_works;
static int fences, completed;
static void (*at_fence)(void);

/* ---- the rest of the library */

bool mti_fence_works(void) { return fence_works; }

void mti_fence_heavy(void) {
  fences++;
  if (at_fence != NULL) at_fence();
}

void tm_type_pack(void *to, const void *from, const struct tm_type *type, size_t skip,
                  size_t bytes) {
  assert_true(type == (const struct tm_type *)&tm_job && skip == 0);
  memcpy(to, from, bytes);
}

void tm_request_complete(struct tm_request *request) {
  assert_int_equal(rank.box.ilock, 0);
  assert_ptr_equal(request, &senders[MESSAGES - 1 - completed]); /* the last one first */
  completed++;
}

void tm_panic(const char *format, ...) {
  (void)format;
  abort();
}

/* ---- a rank that computes, and has a full mailbox */

static int start(void **state) {
  static char data[MESSAGES][8] = {"one", "two", "three"};
  (void)state;
  memset(&rank, 0, sizeof rank);
  memset(&intake, 0, sizeof intake);
  memset(messages, 0, sizeof messages);
  memset(senders, 0, sizeof senders);
  tm_job.past_mailboxes = true;
  rank.intake = &intake;
  rank.box.bounded = true;
  rank.box.held = TM_HELD_MAX;
  fence_works = true;
  fences = completed = 0;
  at_fence = NULL;
  for (int i = 0; i < MESSAGES; i++) {
    senders[i].buffer = data[i];
    senders[i].type = (struct tm_type *)&tm_job;
    messages[i].sender = &senders[i];
    messages[i].bytes = strlen(data[i]) + 1;
  }
  return 0;
}

static void add_all(void) {
  for (int i = 0; i < MESSAGES; i++) tm_deferred_add(&rank, &messages[i]);
}

static void a_full_mailbox_of_a_rank_that_computes_defers(void **state) {
  (void)state;
  assert_true(tm_deferred_wanted(&rank));
  rank.box.held--;
  assert_false(tm_deferred_wanted(&rank));
  rank.box.held += 2;
  assert_true(tm_deferred_wanted(&rank));
  fence_works = false;
  assert_false(tm_deferred_wanted(&rank));
  fence_works = true;
  rank.box.bounded = false;
  assert_false(tm_deferred_wanted(&rank));
  rank.box.bounded = true;
  rank.ended = 1;
  assert_false(tm_deferred_wanted(&rank));
  rank.ended = 0;
  rank.call = "MPI_Recv";
  assert_false(tm_deferred_wanted(&rank));
}

static void check_list(int first, int second) {
  struct tm_message *const at[] = {first < 0 ? NULL : &messages[first],
                                   second < 0 ? NULL : &messages[second]};
  assert_ptr_equal(rank.box.deferred, at[0]);
  if (at[0] == NULL) return;
  assert_null(at[0]->prev);
  assert_ptr_equal(at[0]->next, at[1]);
  if (at[1] == NULL) return;
  assert_ptr_equal(at[1]->prev, at[0]);
  assert_null(at[1]->next);
}

/* While one is deferred the ring is shut, and the rank's next call looks. */
static void messages_enter_and_leave_the_list(void **state) {
  (void)state;
  rank.attention = 0x40000000u; /* for another reason, too */
  messages[0].prev = messages[0].next = &messages[2];
  tm_deferred_add(&rank, &messages[0]);
  check_list(0, -1);
  tm_deferred_add(&rank, &messages[1]);
  check_list(1, 0);
  tm_deferred_add(&rank, &messages[2]);
  assert_true(messages[0].deferred && messages[2].deferred);
  assert_int_equal(intake.shut, 1);
  assert_true(rank.attention == (0x40000000u | TM_DEFERRED));
  tm_deferred_remove(&rank.box, &messages[1]);
  check_list(2, 0);
  assert_false(messages[1].deferred);
  tm_deferred_remove(&rank.box, &messages[2]);
  check_list(0, -1);
  assert_int_equal(intake.shut, 1);
  assert_true(rank.attention == (0x40000000u | TM_DEFERRED));
  tm_deferred_remove(&rank.box, &messages[0]);
  check_list(-1, -1);
  assert_int_equal(intake.shut, 0);
  assert_true(rank.attention == 0x40000000u);
}

static void a_release_copies_and_completes(void **state) {
  static const char *const copies[] = {"one", "two", "three"};
  size_t held = TM_HELD_MAX;
  (void)state;
  add_all();
  tm_deferred_release(&rank);
  assert_int_equal(completed, MESSAGES);
  check_list(-1, -1);
  assert_int_equal(intake.shut, 0);
  for (int i = 0; i < MESSAGES; i++) {
    assert_string_equal(messages[i].copy, copies[i]);
    assert_null(messages[i].sender);
    assert_false(messages[i].deferred);
    assert_int_equal(messages[i].held, sizeof messages[i] + messages[i].bytes);
    held += messages[i].held;
    free(messages[i].copy);
  }
  assert_int_equal(rank.box.held, held);
  assert_int_equal(rank.box.ilock, 0);
}

static void begin_call(void) { rank.call = "MPI_Wait"; }
static void end_rank(void) { rank.ended = 1; }

static void a_rank_that_waits_by_now_gets_them(void **state) {
  void (*const meanwhile[])(void) = {NULL, begin_call, end_rank};
  for (int i = 0; i < 3; i++) {
    start(state);
    add_all();
    at_fence = meanwhile[i];
    tm_deferred_settle(&rank);
    assert_int_equal(fences, 1);
    assert_int_equal(completed, i == 0 ? 0 : MESSAGES);
    for (int j = 0; j < MESSAGES; j++) free(messages[j].copy);
  }
}

int main(void) {
  nested_most = 2;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(a_full_mailbox_of_a_rank_that_computes_defers, start),
      cmocka_unit_test_setup(messages_enter_and_leave_the_list, start),
      cmocka_unit_test_setup(a_release_copies_and_completes, start),
      cmocka_unit_test_setup(a_rank_that_waits_by_now_gets_them, start),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
