/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What nodes tell each other of a deadlock, of a time-out and of counts, note by note. There is one
 * process: the notes of other nodes are made here, and a clock that moves when the node sleeps.
 * Each test is a process of its own, as the state of a node is.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <mltp/mltp.h>

#include "core/internal/process.h"
#include "os/os.h"
#include "tmpi/nodes/nodes.h"
#include "tmpi/rank/rank.h"
#include "tmpi/report/report.h"

enum { NODES = 3, NOTES_MAX = 32, NAPS_MAX = 4, AT_END = 40, NOTIFIED = 41 };

struct tm_job tm_job;

/* ---- what the node does */

static struct {
  int to;
  struct tm_note note;
} sent[NOTES_MAX];
static int sent_count, added, added_bytes, naps, flushes, late_calls, tells;
static uint64_t clock_ns = 1000, nap_ns[NAPS_MAX];
static char written[16];
static bool (*suspects)(void), link_is_there = true, all_rest = true, report_ends = true;
static bool ends_when_notified;
static int failed = -1, asked_still, reports;
static uint64_t went = 5, came = 2;

void tm_links_send(int node, const struct tm_note *note) {
  assert_true(sent_count < NOTES_MAX);
  sent[sent_count].to = node;
  sent[sent_count++].note = *note;
}

void tm_links_write(int node, const struct tm_note *note, const void *data) {
  tm_links_send(node, note);
  assert_true(note->bytes <= sizeof written);
  memcpy(written, data, note->bytes);
}

bool tm_links_read(int node, void *data, size_t bytes) {
  if (link_is_there) memset(data, 'a' + node, bytes);
  return link_is_there;
}

bool tm_ucx_rests(uint64_t *of_went, uint64_t *of_came, bool (*still)(void)) {
  *of_went = went;
  *of_came = came;
  asked_still++;
  return still();
}

bool mti_still_rests(void) { return all_rest; }
void mti_set_deadlock_elsewhere(bool (*elsewhere)(void)) { suspects = elsewhere; }

bool mti_deadlock_report(void) {
  reports++;
  return report_ends;
}

int tm_job_failure(int *status) {
  *status = 1;
  return failed;
}

void tm_job_tell(int status, const char *format, ...) {
  assert_int_equal(status, MLTP_EXIT_DEADLOCK);
  assert_string_equal(format, "deadlock");
  if (ends_when_notified) _exit(NOTIFIED);
  tells++;
}

void tm_job_flush(void) {
  assert_int_equal(sent_count, 0); /* what was printed is written before the answer is sent */
  flushes++;
}

void *tm_report_gather(size_t *bytes) {
  *bytes = 4;
  return strdup("abc");
}

void tm_report_add(const void *gathered, size_t bytes) {
  assert_int_equal(*(const char *)gathered, 'a' + ++added);
  added_bytes += (int)bytes;
}

uint64_t os_now(void) { return clock_ns; }

void os_nap(uint64_t ns) {
  if (naps < NAPS_MAX) nap_ns[naps] = ns;
  naps++;
  clock_ns += ns;
}

static void is_late(void) { late_calls++; }

/* ---- steps */

static struct tm_nodes nodes = {.size = NODES};

static void start(void) {
  assert_true(tm_rest_prepare(&nodes));
  assert_true(tm_counts_prepare(&nodes));
  tm_rest_start(is_late);
  assert_non_null(suspects);
}

static void comes(int from, enum tm_note_kind kind) {
  tm_rest_note(from, &(struct tm_note){.kind = kind, .bytes = 8});
}

static void answers(int from, uint32_t round, bool rests, bool ended, uint64_t out, uint64_t in) {
  tm_rest_note(from, &(struct tm_note){.kind = TM_NOTE_STATE,
                                       .round = round,
                                       .rests = rests,
                                       .ended = ended,
                                       .went = out,
                                       .came = in});
}

/* All nodes answer a round: their ranks wait, and six events went, and came. */
static void all_answer(uint32_t round) {
  answers(0, round, true, false, 5, 2);
  answers(1, round, true, true, 1, 3);
  answers(2, round, true, false, 0, 1);
}

/* These were sent, and no others: to each node from `first` on. */
static void check_sent(enum tm_note_kind kind, int first, int last, uint32_t round) {
  assert_int_equal(sent_count, last - first + 1);
  for (int i = 0; i < sent_count; i++) {
    assert_int_equal(sent[i].to, first + i);
    assert_int_equal(sent[i].note.kind, kind);
    assert_int_equal(sent[i].note.round, round);
  }
  sent_count = 0;
}

static void nothing_is_sent(void) { assert_int_equal(sent_count, 0); }

static void all_suspect(uint32_t round) {
  comes(0, TM_NOTE_SUSPECT);
  comes(2, TM_NOTE_SUSPECT);
  nothing_is_sent();
  comes(1, TM_NOTE_SUSPECT);
  check_sent(TM_NOTE_ASK, 0, NODES - 1, round);
}

/* ---- node 0 */

static void confirm(void) {
  all_suspect(1);
  for (int i = 0; i < NODES; i++) comes(i, TM_NOTE_SUSPECT); /* while the round is not over */
  answers(0, 1, true, false, 5, 2);
  answers(1, 1, true, true, 1, 3);
  nothing_is_sent();
  answers(2, 0, true, false, 0, 1); /* of no round that there is */
  nothing_is_sent();
  answers(2, 1, true, false, 0, 1);
  check_sent(TM_NOTE_ASK, 0, NODES - 1, 2);
  answers(2, 1, true, false, 0, 1); /* late, of the round before */
  all_answer(2);
  check_sent(TM_NOTE_GATHER, 1, NODES - 1, 0);
}

static void a_deadlock_is_reported_once(void) {
  start();
  confirm();
  for (int i = 0; i < NODES; i++) comes(i, TM_NOTE_SUSPECT); /* it is being reported */
  all_answer(2);
  comes(1, TM_NOTE_LATE);
  nothing_is_sent();
  comes(1, TM_NOTE_GATHERED);
  link_is_there = false;
  comes(2, TM_NOTE_GATHERED);
  assert_int_equal(added, 1);
  assert_int_equal(reports, 0);
  link_is_there = true;
  report_ends = false; /* another one reports, or ranks run again */
  comes(2, TM_NOTE_GATHERED);
  assert_int_equal(added, 2);
  assert_int_equal(added_bytes, 16);
  assert_int_equal(reports, 1);
  assert_int_equal(tells, 0);
  assert_int_equal(late_calls, 0);
  assert_int_equal(naps, 0);
}

static void a_deadlock_ends_the_job(void) {
  start();
  confirm();
  comes(1, TM_NOTE_GATHERED);
  comes(2, TM_NOTE_GATHERED); /* does not return */
}

static void the_others_are_notified(void) {
  ends_when_notified = true;
  a_deadlock_ends_the_job();
}

/* Each of these rounds shows that something may still run. */
static void no_deadlock(void) {
  start();
  all_suspect(1);
  all_answer(1);
  check_sent(TM_NOTE_ASK, 0, NODES - 1, 2);
  answers(0, 2, true, false, 5, 2);
  answers(1, 2, true, false, 1, 3);
  answers(2, 2, true, false, 1, 2); /* one more went and came since */
  nothing_is_sent();
  comes(1, TM_NOTE_SUSPECT); /* they still suspect it */
  check_sent(TM_NOTE_ASK, 0, NODES - 1, 3);
  answers(0, 3, true, false, 5, 2);
  answers(1, 3, true, false, 1, 3);
  answers(2, 3, true, false, 0, 2); /* more came than went: a message was counted once */
  nothing_is_sent();
  comes(1, TM_NOTE_SUSPECT);
  check_sent(TM_NOTE_ASK, 0, NODES - 1, 4);
  answers(0, 4, true, false, 5, 2);
  answers(1, 4, false, false, 1, 3); /* it runs */
  answers(2, 4, true, false, 0, 1);
  nothing_is_sent();
  comes(0, TM_NOTE_SUSPECT); /* not asked again before that one suspects it, too */
  comes(2, TM_NOTE_SUSPECT);
  nothing_is_sent();
  comes(1, TM_NOTE_SUSPECT);
  check_sent(TM_NOTE_ASK, 0, NODES - 1, 5);
  for (int i = 0; i < NODES; i++) answers(i, 5, true, true, 1, 1); /* the ranks of all have ended */
  nothing_is_sent();
}

static void a_time_out_is_reported(void) {
  start();
  comes(2, TM_NOTE_LATE);
  check_sent(TM_NOTE_GATHER, 1, NODES - 1, 0);
  comes(1, TM_NOTE_LATE);
  nothing_is_sent();
  report_ends = false;
  comes(1, TM_NOTE_GATHERED);
  assert_int_equal(late_calls, 0);
  comes(2, TM_NOTE_GATHERED);
  assert_int_equal(late_calls, 1);
  tm_rest_late(); /* the own node's time is over, too: it leaves the report its time */
  check_sent(TM_NOTE_LATE, 0, 0, 0);
  assert_int_equal(naps, 2);
  assert_true(nap_ns[0] == 5000000000 && nap_ns[1] == 60000000000);
}

static void a_time_out_before_the_start(void) {
  assert_true(tm_rest_prepare(&nodes));
  comes(2, TM_NOTE_LATE);
  nothing_is_sent();
}

/* ---- any node */

static void a_node_answers(void) {
  start();
  assert_true(suspects());
  check_sent(TM_NOTE_SUSPECT, 0, 0, 0);
  for (int state = 0; state < 4; state++) {
    all_rest = state != 1;
    failed = state == 2 ? 4 : -1;
    if (state == 3) {
      all_rest = false;
      tm_rest_ended();
      check_sent(TM_NOTE_SUSPECT, 0, 0, 0);
    }
    tm_rest_note(0, &(struct tm_note){.kind = TM_NOTE_ASK, .round = 7});
    assert_int_equal(sent[0].note.rests, state == 0 || state == 3);
    assert_int_equal(sent[0].note.ended, state == 3);
    assert_true(sent[0].note.went == 5 && sent[0].note.came == 2);
    check_sent(TM_NOTE_STATE, 0, 0, 7);
  }
  assert_int_equal(asked_still, 4);
  tm_rest_late();
  check_sent(TM_NOTE_LATE, 0, 0, 0);
  assert_int_equal(naps, 1);
  comes(0, TM_NOTE_GATHER);
  assert_int_equal(flushes, 1);
  assert_int_equal(sent[0].note.bytes, 4);
  assert_string_equal(written, "abc");
  check_sent(TM_NOTE_GATHERED, 0, 0, 0);
  tm_rest_late(); /* the report has begun */
  assert_int_equal(naps, 3);
}

static void counts_come(void) {
  size_t bytes = 0;
  start();
  assert_null(tm_counts_take(1, false, &bytes));
  assert_int_equal(naps, 0);
  assert_null(tm_counts_take(1, true, &bytes)); /* ten seconds later */
  assert_int_equal(naps, 10000);
  assert_true(nap_ns[0] == 1000000);
  link_is_there = false;
  comes(1, TM_NOTE_COUNTS);
  assert_null(tm_counts_take(1, false, &bytes));
  link_is_there = true;
  tm_rest_note(1, &(struct tm_note){.kind = TM_NOTE_COUNTS});
  assert_null(tm_counts_take(1, false, &bytes));
  comes(1, TM_NOTE_COUNTS);
  char *data = tm_counts_take(1, false, &bytes);
  assert_non_null(data);
  assert_int_equal(bytes, 8);
  assert_memory_equal(data, "bbbbbbbb", 8);
  assert_null(tm_counts_take(2, false, &bytes));
  free(data);
  tm_rest_note(2, &(struct tm_note){.kind = TM_NOTE_COUNTS, .bytes = 1});
  data = tm_counts_take(2, true, &bytes);
  assert_int_equal(bytes, 1);
  free(data);
  tm_counts_send("xyz", 3);
  assert_memory_equal(written, "xyz", 3);
  assert_int_equal(sent[0].note.bytes, 3);
  check_sent(TM_NOTE_COUNTS, 0, 0, 0);
}

/* ---- each in a process */

static void ends_with(int status, void (*part)(void)) {
  int got;
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    part();
    _exit(AT_END);
  }
  assert_int_equal(waitpid(child, &got, 0), child);
  assert_true(WIFEXITED(got));
  assert_int_equal(WEXITSTATUS(got), status);
}

#define PART(part, status)                                                                         \
  static void test_##part(void **state) {                                                          \
    (void)state;                                                                                   \
    ends_with(status, part);                                                                       \
  }
PART(a_deadlock_is_reported_once, AT_END)
PART(a_deadlock_ends_the_job, MLTP_EXIT_DEADLOCK)
PART(the_others_are_notified, NOTIFIED)
PART(no_deadlock, AT_END)
PART(a_time_out_is_reported, AT_END)
PART(a_time_out_before_the_start, AT_END)
PART(a_node_answers, AT_END)
PART(counts_come, AT_END)

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_deadlock_is_reported_once),
      cmocka_unit_test(test_a_deadlock_ends_the_job),
      cmocka_unit_test(test_the_others_are_notified),
      cmocka_unit_test(test_no_deadlock),
      cmocka_unit_test(test_a_time_out_is_reported),
      cmocka_unit_test(test_a_time_out_before_the_start),
      cmocka_unit_test(test_a_node_answers),
      cmocka_unit_test(test_counts_come),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
