/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports of ranks, word by word: what each form of a wait is called, which ranks share a line, and
 * what is left out. The states are made here, so there is no rank.
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

#include "captured.h"
#include "core/internal/process.h"
#include "counted_blocks.h"
#include "internal_locks.h"
#include "tmpi/rank/rank.h"
#include "tmpi/report/activity.h"
#include "tmpi/report/cause.h"
#include "tmpi/report/location.h"
#include "tmpi/report/report.h"
#include "tmpi/report/text.h"

enum { RANKS = 1000, TEXT = 1 << 16 };

struct tm_job tm_job;
static struct tm_activity all[RANKS];
static bool was_still, reports_again;
static int flushes, failed_rank = -1, failed_status;
static bool (*on_deadlock)(void);

void tm_location_name(char *text, size_t size, const void *address) {
  snprintf(text, size, "line %td", (const char *)address - (const char *)all);
}

void tm_location_trace(const void *frame, int most) {
  fprintf(stderr, "    frames of %td, %d\n", (const char *)frame - (const char *)all, most);
}

void tm_activity_read(struct tm_activity *activity, int number) { *activity = all[number]; }

void tm_activity_read_all(struct tm_activity *activity) {
  memcpy(activity, all, (size_t)tm_job.size * sizeof *activity);
}

void tm_report_causes(const struct tm_activity *activity, bool still) {
  assert_memory_equal(activity, all, (size_t)tm_job.size * sizeof *activity);
  assert_int_equal(locked, 1);
  was_still = still;
  fputs("causes\n", stderr);
  if (reports_again) tm_report("another", false);
}

void tm_job_flush(void) { flushes++; }

int tm_job_failure(int *status) {
  *status = failed_status;
  return failed_rank;
}

static bool may_end;

void tm_job_abort(int status) {
  if (!may_end) fail_msg("the job ends");
  _exit(status);
}

void mti_set_deadlock_hook(bool (*hook)(void)) { on_deadlock = hook; }

/* ---- texts */

static void check_text(const struct tm_activity *activity, int fold, const char *expected) {
  char text[TM_ACTIVITY_TEXT];
  tm_text_activity(text, activity, fold);
  assert_string_equal(text, expected);
}

static void check_folded(const struct tm_activity *activity, int fold, const char *expected) {
  char text[TM_ACTIVITY_TEXT];
  tm_text_folded(text, activity, fold);
  assert_string_equal(text, expected);
}

static struct tm_activity waiting(enum tm_kind kind) {
  struct tm_activity activity = {.state = TM_WAITS,
                                 .call = kind == TM_SEND ? "MPI_Ssend" : "MPI_Recv"};
  activity.what = (struct tm_wanted){.known = true,
                                     .kind = kind,
                                     .peer = 1,
                                     .number = 1,
                                     .tag = 3,
                                     .has_bytes = true,
                                     .bytes = 8,
                                     .has_comm = true};
  strcpy(activity.what.comm, "halo");
  return activity;
}

static void messages_in_words(void **state) {
  (void)state;
  struct tm_activity a = waiting(TM_SEND);
  enum { ALL = TM_FOLD_PEER | TM_FOLD_TAG | TM_FOLD_BYTES | TM_FOLD_COMM };
  check_text(&a, 0, "in MPI_Ssend: no receive was posted by rank 1, tag 3, 8 bytes, on halo");
  check_text(&a, TM_FOLD_PEER,
             "in MPI_Ssend: no receive was posted by another rank each, tag 3, 8 bytes, on halo");
  check_text(&a, TM_FOLD_TAG,
             "in MPI_Ssend: no receive was posted by rank 1, another tag each, 8 bytes, on halo");
  check_text(&a, TM_FOLD_BYTES,
             "in MPI_Ssend: no receive was posted by rank 1, tag 3, other sizes, on halo");
  check_text(&a, TM_FOLD_COMM,
             "in MPI_Ssend: no receive was posted by rank 1, tag 3, 8 bytes, on another "
             "communicator each");
  check_folded(&a, 0, "");
  check_folded(&a, TM_FOLD_PEER, "rank 1");
  check_folded(&a, TM_FOLD_TAG, "tag 3");
  check_folded(&a, TM_FOLD_BYTES, "8 bytes");
  check_folded(&a, TM_FOLD_COMM, "halo");
  check_folded(&a, ALL, "rank 1, tag 3, 8 bytes, halo");
  a.what.number = 5; /* in the job */
  check_text(&a, 0,
             "in MPI_Ssend: no receive was posted by rank 1 (5 of all), tag 3, 8 bytes, on halo");
  check_folded(&a, TM_FOLD_PEER, "rank 5");
  a.what.number = 0;
  check_text(&a, 0,
             "in MPI_Ssend: no receive was posted by rank 1 (0 of all), tag 3, 8 bytes, on halo");
  check_folded(&a, TM_FOLD_PEER, "rank 0");
  a.what.number = -1;
  check_text(&a, 0, "in MPI_Ssend: no receive was posted by rank 1, tag 3, 8 bytes, on halo");
  check_folded(&a, ALL, "tag 3, 8 bytes, halo");
  a.what.comm[0] = '\0';
  a.what.has_bytes = false;
  check_text(&a, 0, "in MPI_Ssend: no receive was posted by rank 1, tag 3, on a communicator");
  check_text(&a, TM_FOLD_BYTES,
             "in MPI_Ssend: no receive was posted by rank 1, tag 3, on a communicator");
  check_folded(&a, ALL, "tag 3, a communicator");
  a.what.has_comm = false;
  check_text(&a, 0, "in MPI_Ssend: no receive was posted by rank 1, tag 3, on no communicator");
  check_folded(&a, ALL, "tag 3");
  a = waiting(TM_RECV);
  check_text(&a, 0, "in MPI_Recv: no message has come from rank 1, tag 3, 8 bytes, on halo");
  a.what.peer = MPI_ANY_SOURCE;
  a.what.tag = MPI_ANY_TAG;
  a.what.number = -1;
  const char *any = "in MPI_Recv: no message has come from any rank, any tag, 8 bytes, on halo";
  check_text(&a, 0, any);
  check_text(&a, TM_FOLD_PEER | TM_FOLD_TAG, any);
  check_folded(&a, TM_FOLD_PEER | TM_FOLD_TAG, "");
  a = waiting(TM_RECV);
  a.what.missing = 1;
  a.what.requests = 2;
  check_text(
      &a, 0,
      "in MPI_Recv: no message has come from rank 1, tag 3, 8 bytes, on halo (1 of 2 requests "
      "missing)");
  a.what.requests = 1;
  check_text(&a, 0, "in MPI_Recv: no message has come from rank 1, tag 3, 8 bytes, on halo");
}

static void other_waits_in_words(void **state) {
  (void)state;
  enum { FOLD = TM_FOLD_PEER | TM_FOLD_TAG | TM_FOLD_BYTES };
  struct tm_activity a = waiting(TM_RECV);
  a.what.inner = true;
  check_text(&a, 0, "in MPI_Recv on halo");
  check_folded(&a, FOLD, "");
  check_folded(&a, TM_FOLD_COMM, "halo");
  a = waiting(TM_GENERALIZED);
  check_text(&a, 0, "in MPI_Recv: nobody has called MPI_Grequest_complete()");
  check_folded(&a, FOLD, "");
  a = waiting(TM_COLLECTIVE);
  check_text(&a, 0, "in MPI_Recv: a nonblocking collective has not ended on halo");
  a = waiting(TM_PARTITIONED);
  check_text(&a, TM_FOLD_COMM,
             "in MPI_Recv: a partitioned message has not ended on another communicator each");
  a.what.has_window = true;
  strcpy(a.what.window, "rank 2 holds a lock");
  check_text(&a, 0, "in MPI_Recv: rank 2 holds a lock");
  a = waiting(TM_RECV);
  a.what.has_window = true;
  check_folded(&a, FOLD, "");
  a.what.known = false;
  check_text(&a, 0, "in MPI_Recv");
  check_folded(&a, FOLD, "");
  a = waiting(TM_RECV);
  a.site = (const char *)all + 7;
  check_text(&a, TM_FOLD_PEER | TM_FOLD_TAG | TM_FOLD_BYTES,
             "in MPI_Recv: no message has come from another rank each, another tag each, other "
             "sizes, on halo, at line 7");
  a.state = TM_ENDED;
  check_text(&a, 0, "ended, at line 7");
  check_folded(&a, FOLD, "");
  a.site = NULL;
  a.state = TM_ELSEWHERE;
  check_text(&a, 0, "on other nodes");
  check_folded(&a, FOLD | TM_FOLD_COMM, "");
  a.where = "x.c:5 (main)";
  check_text(&a, 0, "on other nodes, at x.c:5 (main)");
  a.where = NULL;
  a.state = TM_OUTSIDE;
  check_text(&a, 0, "outside of MPI");
  strcpy(a.callee, "MPI_Test");
  check_text(&a, 0, "in MPI_Test, which does not wait");
  strcpy(a.callee, "MPIX_Test");
  check_text(&a, 0, "outside of MPI, in MPIX_Test");
  strcpy(a.callee, "sqrt");
  check_text(&a, 0, "outside of MPI, in sqrt");
  strcpy(a.blocks_in, "read");
  check_text(&a, 0, "outside of MPI, blocked in read");
}

/* Texts are cut where there is no room. */
static void long_texts(void **state) {
  (void)state;
  struct tm_activity a = waiting(TM_PARTITIONED);
  char expected[TM_ACTIVITY_TEXT], where[2 * TM_ACTIVITY_TEXT];
  a.what.has_window = true;
  memset(where, 'w', sizeof where);
  where[sizeof where - 1] = '\0';
  memset(a.what.window, 'n', TM_WINDOW_TEXT - 1);
  a.where = where;
  size_t used = (size_t)sprintf(expected, "in MPI_Recv: %s, at ", a.what.window);
  memset(expected + used, 'w', sizeof expected - used);
  expected[sizeof expected - 1] = '\0';
  check_text(&a, 0, expected);
}

static bool set[RANKS];

static void check_ranks(int count, const char *expected) {
  char text[TM_RANKS_TEXT];
  assert_int_equal(tm_text_ranks(text, set, RANKS), count);
  assert_string_equal(text, expected);
  memset(set, 0, sizeof set);
}

static void add_every_other(int from, int count) {
  for (int i = 0; i < count; i++) set[from + 2 * i] = true;
}

static void ranks_in_words(void **state) {
  (void)state;
  check_ranks(0, "rank ");
  set[7] = true;
  check_ranks(1, "rank 7");
  set[0] = set[1] = true;
  check_ranks(2, "ranks 0-1");
  set[RANKS - 1] = set[RANKS - 2] = set[4] = true;
  check_ranks(3, "ranks 4, 998-999");
  memset(set, 1, sizeof set);
  check_ranks(RANKS, "ranks 0-999");
  /* as many as there is room for: one character more or less decides */
  set[0] = set[1] = true;
  add_every_other(10, 25);
  check_ranks(27,
              "ranks 0-1, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32, 34, 36, 38, 40, 42, 44, "
              "46, 48, 50, 52, ...");
  set[0] = set[2] = true;
  add_every_other(10, 25);
  check_ranks(27,
              "ranks 0, 2, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32, 34, 36, 38, 40, 42, 44, "
              "46, 48, 50, ...");
  add_every_other(100, 400);
  check_ranks(400,
              "ranks 100, 102, 104, 106, 108, 110, 112, 114, 116, 118, 120, 122, 124, 126, 128, "
              "130, 132, 134, ...");
}

/* ---- reports */

static void start(int size) {
  memset(all, 0, sizeof all);
  tm_job = (struct tm_job){.size = size, .first_size = size, .most = size};
  for (int i = 0; i < size; i++) all[i].state = TM_OUTSIDE;
}

/* What is printed by a report. */
static const char *reported(const char *title, bool still) {
  static char said[TEXT];
  bool right = true;
  struct captured captured = captured_begin();
  int before = blocks;
  if (title != NULL)
    tm_report(title, still);
  else
    right = on_deadlock() == still;
  captured_end(&captured, said, sizeof said);
  assert_true(right);
  if (title != NULL) assert_int_equal(blocks, before);
  return said;
}

static void ranks_that_do_the_same_share_a_line(void **state) {
  (void)state;
  start(6);
  all[1] = all[4] = waiting(TM_RECV);
  all[1].frame = (const char *)all + 11;
  all[4].frame = (const char *)all + 44;
  all[2].state = all[3].state = TM_ENDED;
  assert_string_equal(
      reported("state", false),
      "tmpi: state of 6 ranks:\n"
      "tmpi:   ranks 0, 5 are outside of MPI\n"
      "tmpi:   ranks 1, 4 wait in MPI_Recv: no message has come from rank 1, tag 3, "
      "8 bytes, on halo\n"
      "tmpi:   ranks 2-3 have ended\n"
      "causes\n"
      "tmpi: rank 1:\n"
      "    frames of 11, 8\n");
  assert_false(was_still);
  all[4].what.tag = 4;
  all[3].state = all[5].state = TM_ELSEWHERE;
  tm_job.full_reports = true;
  assert_string_equal(reported("deadlock", true),
                      "tmpi: deadlock of 6 ranks:\n"
                      "tmpi:   rank 0 is outside of MPI\n"
                      "tmpi:   rank 1 waits in MPI_Recv: no message has come from rank 1, tag 3, 8 "
                      "bytes, on halo\n"
                      "tmpi:   rank 2 has ended\n"
                      "tmpi:   ranks 3, 5 are on other nodes\n"
                      "tmpi:   rank 4 waits in MPI_Recv: no message has come from rank 1, tag 4, 8 "
                      "bytes, on halo\n"
                      "causes\n"
                      "tmpi: rank 1:\n"
                      "    frames of 11, 2147483647\n"
                      "tmpi: rank 4:\n"
                      "    frames of 44, 2147483647\n");
  assert_true(was_still);
}

/* Ranks in groups whose lines differ in one value: as many groups as are printed, or one more. */
static void values_that_differ_are_left_open(void **state) {
  (void)state;
  enum { GROUPS = 8 };
  static const char *const forms[] = {
      "another rank each, tag 3, 8 bytes, on halo: rank 0: rank 0; rank 1: rank 1; rank 2: rank 2; "
      "...",
      "another rank each, another tag each, 8 bytes, on halo: rank 0: rank 1, tag 0; rank 1: rank "
      "1, tag 1; rank 2: rank 1, tag 2; ...",
      "another rank each, tag 3, other sizes, on halo: rank 0: rank 1, 0 bytes; rank 1: rank 1, 1 "
      "bytes; rank 2: rank 1, 2 bytes; ...",
      "rank 1, tag 3, 8 bytes, on another communicator each: rank 0: 0; rank 1: 1; rank 2: 2; ..."};
  for (int form = 0; form < 4; form++)
    for (int size = GROUPS; size <= GROUPS + 1; size++) {
      char expected[500];
      start(size);
      for (int i = 0; i < size; i++) {
        all[i] = waiting(TM_RECV);
        if (form == 0) all[i].what.peer = all[i].what.number = i;
        if (form == 1) all[i].what.tag = i;
        if (form == 2) all[i].what.bytes = (size_t)i;
        if (form == 3) sprintf(all[i].what.comm, "%d", i);
      }
      const char *said = reported("state", false);
      if (size == GROUPS) {
        assert_null(strstr(said, "each"));
        assert_null(strstr(said, "--full"));
        assert_null(strstr(said, "other"));
        continue;
      }
      snprintf(expected, sizeof expected,
               "tmpi: state of 9 ranks:\ntmpi:   ranks 0-8 wait in MPI_Recv: no message has come "
               "from %s\ntmpi:   (tmpirun --full reports each rank)\ncauses\n",
               forms[form]);
      assert_string_equal(said, expected);
    }
  /* three ranks have no more values than are printed */
  start(11);
  for (int i = 0; i < 3; i++) {
    all[i] = waiting(TM_RECV);
    all[i].what.peer = all[i].what.number = i + 1;
  }
  for (int i = 3; i < 11; i++) all[i].site = (const char *)all + i % 6;
  assert_non_null(strstr(reported("state", false), "rank 2: rank 3\n"));
  start(10);
  for (int i = 0; i < 10; i++) { /* all that may differ does */
    all[i] = waiting(TM_SEND);
    all[i].what.tag = i;
    all[i].what.bytes = (size_t)i;
    if (i == 4) strcpy(all[i].what.comm, "x");
  }
  const char *said = reported("state", false);
  assert_non_null(strstr(said,
                         "ranks 0-3, 5-9 wait in MPI_Ssend: no receive was posted by another rank "
                         "each, another tag each, other sizes, on halo: rank 0: rank 1, tag 0, "
                         "0 bytes; rank 1: "));
  assert_non_null(strstr(said,
                         "rank 4 waits in MPI_Ssend: no receive was posted by another rank each, "
                         "another tag each, other sizes, on x: rank 4: rank 1, tag 4, 4 bytes\n"));
}

static void no_more_lines_than_can_be_read(void **state) {
  (void)state;
  for (int size = 8; size <= 11; size++) {
    char expected[TEXT], rest[100];
    start(size);
    size_t used = (size_t)sprintf(expected, "tmpi: state of %d ranks:\n", size);
    for (int i = 0; i < size; i++) {
      all[i].site = (const char *)all + i;
      all[i].frame = i == 1 ? NULL : (const char *)all + i;
      if (i < 8)
        used += (size_t)sprintf(expected + used, "tmpi:   rank %d is outside of MPI, at line %d\n",
                                i, i);
    }
    if (size == 11) all[10].site = all[9].site; /* which adds no way */
    sprintf(rest, "tmpi:   and the other %d ranks in %d other ways\n", size - 8,
            size == 11 ? 2 : size - 8);
    sprintf(expected + used, "%s%scauses\n%s", size > 8 ? rest : "",
            size > 8 ? "tmpi:   (tmpirun --full reports each rank)\n" : "",
            "tmpi: rank 0:\n    frames of 0, 8\ntmpi: rank 2:\n    frames of 2, 8\n"
            "tmpi: rank 3:\n    frames of 3, 8\n");
    assert_string_equal(reported("state", false), expected);
  }
}

/* A process that has no memory left says so, with the number of its ranks. */
static void a_report_without_memory(void **state) {
  (void)state;
  start(2);
  memory_is_out = true;
  const char *said = reported("state", false);
  memory_is_out = false;
  assert_string_equal(said,
                      "tmpi: state of 2 ranks:\n"
                      "tmpi:   no memory to tell of them (fewer ranks)\n");
  allocations_left = 2; /* but for the ranks of a line */
  said = reported("state", false);
  assert_int_equal(allocations_left, -1);
  assert_string_equal(said, "tmpi: state of 2 ranks:\ncauses\n");
}

/* As two VPs may ask for reports at once, and their lines would be mixed. */
static void a_report_beside_another_is_left_out(void **state) {
  (void)state;
  start(1);
  reports_again = true;
  const char *said = reported("state", false);
  reports_again = false;
  assert_string_equal(said, "tmpi: state of 1 ranks:\ntmpi:   rank 0 is outside of MPI\ncauses\n");
  assert_non_null(strstr(reported("next", false), "tmpi: next of 1 ranks:\n"));
}

/* What two nodes tell: the ranks of each, with the texts that stand for its addresses. The second
 * one has a spawned rank. */
static void ranks_of_other_nodes(void **state) {
  (void)state;
  enum { LOCAL = 3, ALL = 2 * LOCAL + 1 };
  static const char *const wheres[] = {"line 0", "line 3", "line 6"};
  int spawned_on[] = {1};
  size_t bytes[2];
  void *sent_by[2];
  struct tm_activity got;
  start(ALL);
  tm_job.local = LOCAL;
  tm_job.first_size = 2 * LOCAL;
  tm_job.spawned_on = spawned_on;
  for (int i = 0; i < ALL; i++) {
    all[i].what.number = 10 * i;
    all[i].call = i % 2 == 0 ? "MPI_Recv" : NULL;
    all[i].site = i % 3 == 0 ? (const char *)all + i : NULL;
    all[i].frame = all;
  }
  assert_false(tm_gathered_read(&got, 1));
  for (int node = 0; node < 2; node++) {
    tm_job.first = node * LOCAL;
    tm_job.here = LOCAL + node;
    sent_by[node] = tm_report_gather(&bytes[node]);
    assert_non_null(sent_by[node]);
  }
  size_t each = bytes[0] / LOCAL;
  assert_int_equal(bytes[0], each * LOCAL);
  assert_int_equal(bytes[1], each * (LOCAL + 1));
  all[5].what.number = 0;                  /* later, which they do not tell */
  tm_report_add(sent_by[1], 2 * each + 1); /* of the third one there is one byte */
  for (int i = 0; i < ALL; i++) assert_int_equal(tm_gathered_read(&got, i), i == 3 || i == 4);
  tm_report_add(sent_by[1], bytes[1]);
  tm_report_add(sent_by[0], bytes[0]);
  for (int i = 0; i < ALL; i++) {
    assert_true(tm_gathered_read(&got, i));
    assert_int_equal(got.state, TM_OUTSIDE);
    assert_int_equal(got.what.number, 10 * i);
    assert_null(got.frame);
    assert_null(got.site);
    if (i % 2 == 0)
      assert_string_equal(got.call, "MPI_Recv");
    else
      assert_null(got.call);
    if (i % 3 == 0)
      assert_string_equal(got.where, wheres[i / 3]);
    else
      assert_null(got.where);
  }
  tm_job.most = 4; /* ranks that this job does not have are left out */
  tm_gathered_forget();
  assert_false(tm_gathered_read(&got, 1));
  tm_report_add(sent_by[1], bytes[1]);
  assert_true(tm_gathered_read(&got, 3));
  tm_gathered_forget();
  free(sent_by[0]);
  free(sent_by[1]);
}

static void a_deadlock_is_reported(void **state) {
  (void)state;
  tm_report_start();
  assert_non_null(on_deadlock);
  size_t bytes;
  struct tm_activity got;
  start(3);
  all[0] = waiting(TM_RECV);
  all[1].state = TM_ENDED;
  all[3].state = TM_OUTSIDE; /* no rank of the job */
  tm_job.local = tm_job.here = 3;
  void *sent_by = tm_report_gather(&bytes);
  tm_report_add(sent_by, bytes);
  free(sent_by);
  assert_true(tm_gathered_read(&got, 1));
  const char *said = reported(NULL, false); /* it returns that not all was printed */
  assert_non_null(strstr(said, "tmpi: deadlock of 3 ranks:\n"));
  assert_true(was_still);
  assert_int_equal(flushes, 1);
  assert_int_equal(locked, 0);
  assert_false(tm_gathered_read(&got, 1)); /* what other nodes have sent is forgotten */
  all[2].state = TM_ELSEWHERE;
  reported(NULL, true);
  all[0].state = TM_OUTSIDE;
  reported(NULL, false);
  all[0] = waiting(TM_RECV);
  failed_rank = 1; /* with status 0: it did not call MPI_Finalize() */
  reported(NULL, true);
  failed_rank = -1;
  failed_status = 5;
  reported(NULL, true);
  failed_rank = 0;
  int status;
  char printed[TEXT];
  struct captured captured = captured_begin();
  pid_t child = fork();
  if (child == 0) {
    may_end = true;
    on_deadlock();
    _exit(1);
  }
  pid_t ended = waitpid(child, &status, 0);
  captured_end(&captured, printed, sizeof printed);
  assert_int_equal(ended, child);
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 5);
  assert_non_null(strstr(printed, "tmpi: rank 0 ended with status 5, and so does the job\n"));
}

int main(void) {
  only_lock = &tm_job.size_ilock;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(messages_in_words),
      cmocka_unit_test(other_waits_in_words),
      cmocka_unit_test(long_texts),
      cmocka_unit_test(ranks_in_words),
      cmocka_unit_test(ranks_that_do_the_same_share_a_line),
      cmocka_unit_test(values_that_differ_are_left_open),
      cmocka_unit_test(no_more_lines_than_can_be_read),
      cmocka_unit_test(a_report_without_memory),
      cmocka_unit_test(a_report_beside_another_is_left_out),
      cmocka_unit_test(ranks_of_other_nodes),
      cmocka_unit_test(a_deadlock_is_reported),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
