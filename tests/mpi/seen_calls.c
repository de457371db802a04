/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What --check and --report do before and after each call of a program, step by step
 * (src/tmpi/check/module.c): which checks see it and in which order, which handles are kept, and
 * which call a rank is in. The checks are the test's.
 */
#include "traced_calls.h"

#include <mltp/mltp.h>
#include <stdbool.h>
#include <stdlib.h>

#include "os/os.h"
#include "tmpi/check/check.h"
#include "tmpi/rank/rank.h"
#include "tmpi/report/location.h"

enum { RANKS = 3, RANK = 2 };

/* ---- the rest of the library */

struct tm_job tm_job = {.most = RANKS};
static struct tm_rank ranks[RANKS];
static int rank;
static char thread, other_thread, *running;
static uint64_t now;

int tm_rank_number(void) { return rank; }
struct tm_rank *tm_rank_self(void) { return &ranks[rank]; }
mltp_t *mltp_self(void) { return (mltp_t *)running; }
uint64_t os_now(void) { return now += 10; }

const void *tm_location_caller(const void *site, const void *frame) {
  assert_true(frame != NULL && site == &rank);
  return &now;
}

/* ---- the checks */

static const char *fails; /* at the start */
static unsigned leaks, findings;
static struct tm_seen *expected;
static char text[200];

static void see(const struct tm_seen *seen, const char *check) {
  assert_ptr_equal(seen, expected);
  assert_int_equal(seen->rank, rank);
  note("%s", check);
}

static bool start_check(const char *check) {
  note("%s", check);
  return fails == NULL || strcmp(fails, check) != 0;
}

void tm_buffers_compare(const struct tm_seen *seen) { see(seen, "compare"); }
void tm_buffers_begin(const struct tm_seen *seen) { see(seen, "buffers"); }
void tm_order_begin(const struct tm_seen *seen) { see(seen, "order"); }
void tm_windows_begin(const struct tm_seen *seen) { see(seen, "windows"); }
void tm_threads_begin(struct tm_seen *seen) { see(seen, "threads"); }
void tm_threads_end(const struct tm_seen *seen) { see(seen, "threads"); }
void tm_leaks_end(struct tm_seen *seen) { see(seen, "leaks"); }

void tm_traffic_end(const struct tm_seen *seen, uint64_t end) {
  see(seen, "traffic");
  assert_true(end == now && seen->start > 0 && seen->start < end);
}

bool tm_order_start(void) { return start_check("order"); }
bool tm_buffers_start(void) { return start_check("buffers"); }
bool tm_threads_start(void) { return start_check("threads"); }
void tm_summary_start(void) { note("summary"); }
void tm_type_match_start(void) { note("types"); }
void tm_windows_start(void) { note("windows"); }

bool tm_traffic_start(const struct tm_check_options *options) {
  assert_true(options->report);
  return start_check("traffic");
}

void tm_unreceived_finish(void) { note("unreceived"); }
void tm_traffic_finish(void) { note("traffic"); }
unsigned tm_finding_count(void) { return findings; }

unsigned tm_leaks_finish(bool strict) {
  note("leaks:%d", strict);
  return leaks;
}

void tm_describe(char to[TM_CALL_TEXT], const struct tm_seen *seen) {
  assert_ptr_equal(seen, expected);
  strcpy(to, "MPI_Recv(...)"); /* NOLINT(clang-analyzer-security.insecureAPI.strcpy) */
}

void tm_finding_print(const char *format, ...) {
  va_list list;
  va_start(list, format);
  vsnprintf(text, sizeof text, format, list);
  va_end(list);
}

void tm_finding_note(const char *format, ...) {
  va_list list;
  va_start(list, format);
  vsnprintf(text, sizeof text, format, list);
  va_end(list);
}

const void *tm_wrapper(const char *name) { return name; }
void *tm_traffic_gather(size_t *bytes) { return bytes; }
void tm_traffic_add(const void *gathered, size_t bytes) {
  note("%d", gathered != NULL && bytes > 0);
}

/* ---- memory */

static int blocks; /* of handles */
static bool memory_is_out;

void *__real_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes) {
  if (memory_is_out) return NULL;
  blocks++;
  return __real_malloc(bytes);
}

void __real_free(void *block);
void __wrap_free(void *block);
void __wrap_free(void *block) {
  blocks -= block != NULL;
  __real_free(block);
}

void *__wrap_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size) { /* once in a job: it is never freed */
  static const struct tm_seen *of_ranks[RANKS];
  assert_int_equal(count * size, sizeof of_ranks);
  return memory_is_out ? NULL : memset(of_ranks, 0, sizeof of_ranks);
}

/* ---- calls */

static void start_module(bool check, bool report) {
  struct tm_check_options options = {.check = check, .report = report};
  assert_true(tm_check.start(&options));
  trace[0] = '\0';
}

static int start(void **state) {
  (void)state;
  rank = RANK;
  for (int i = 0; i < RANKS; i++) ranks[i].thread = &thread;
  running = &thread;
  leaks = findings = 0;
  fails = NULL;
  memory_is_out = false;
  trace[0] = text[0] = '\0';
  return 0;
}

static void begin(struct tm_seen *seen) {
  expected = seen;
  seen->site = &rank;
  tm_seen_begin(seen);
}

static int end(struct tm_seen *seen, int error) {
  expected = seen;
  return tm_seen_end(seen, error);
}

#define BEGINS "compare threads buffers order windows "

static void test_checks_see_each_call(void **state) {
  struct tm_seen seen = {0};
  (void)state;
  start_module(true, true);
  begin(&seen);
  check_trace(BEGINS);
  assert_ptr_equal(seen.site, &now);
  assert_int_equal(end(&seen, MPI_SUCCESS), MPI_SUCCESS);
  check_trace("traffic threads leaks ");
  assert_int_equal(end(&seen, MPI_ERR_TAG), MPI_ERR_TAG);
  check_trace("traffic threads leaks "); /* a request may have come to its end */
  seen.makes = true;
  end(&seen, MPI_ERR_TAG);
  check_trace("traffic threads "); /* it has made nothing */
  end(&seen, MPI_SUCCESS);
  check_trace("traffic threads leaks ");
  assert_string_equal(text, "");
}

static void test_check_and_report_without_the_other(void **state) {
  struct tm_seen seen = {0};
  (void)state;
  start_module(true, false);
  begin(&seen);
  check_trace(BEGINS);
  end(&seen, MPI_SUCCESS);
  check_trace("threads leaks ");
  start_module(false, true);
  begin(&seen);
  check_trace("");
  end(&seen, MPI_ERR_TRUNCATE);
  check_trace("traffic ");
  assert_string_equal(text, "");
}

static void test_calls_of_no_rank(void **state) {
  struct tm_seen seen = {0};
  (void)state;
  start_module(true, true);
  rank = -1;
  begin(&seen);
  assert_int_equal(end(&seen, MPI_ERR_TRUNCATE), MPI_ERR_TRUNCATE);
  check_trace("");
  rank = 0;
  begin(&seen);
  check_trace(BEGINS);
  end(&seen, MPI_SUCCESS);
  check_trace("traffic threads leaks ");
}

static void test_messages_that_are_too_long(void **state) {
  struct tm_seen seen = {0};
  (void)state;
  start_module(true, false);
  begin(&seen);
  assert_int_equal(end(&seen, MPI_ERR_TRUNCATE), MPI_ERR_TRUNCATE);
  assert_string_equal(text, "rank 2: MPI_Recv(...): a message was longer than there is room for");
}

/* In place, an operation has its arguments in the buffer of the result. */
static void test_buffers_in_place(void **state) {
  struct tm_seen seen = {.data.buffer = MPI_IN_PLACE, .other.buffer = &now};
  (void)state;
  start_module(true, false);
  begin(&seen);
  assert_ptr_equal(seen.data.buffer, MPI_IN_PLACE);
  seen.op = MPI_SUM;
  begin(&seen);
  assert_ptr_equal(seen.data.buffer, &now);
  seen.other.buffer = &rank;
  begin(&seen);
  assert_ptr_equal(seen.data.buffer, &now);
}

static void test_the_call_that_a_rank_is_in(void **state) {
  struct tm_seen outer = {0}, inner = {0}, beside = {0};
  (void)state;
  start_module(false, true);
  assert_null(tm_seen_of(RANK));
  begin(&outer);
  assert_null(outer.outer);
  assert_ptr_equal(tm_seen_of(RANK), &outer);
  begin(&inner); /* in a callback */
  assert_ptr_equal(inner.outer, &outer);
  assert_ptr_equal(tm_seen_of(RANK), &inner);
  running = &other_thread;
  begin(&beside);
  assert_ptr_equal(tm_seen_of(RANK), &inner);
  end(&beside, MPI_SUCCESS);
  assert_ptr_equal(tm_seen_of(RANK), &inner);
  running = &thread;
  end(&inner, MPI_SUCCESS);
  assert_ptr_equal(tm_seen_of(RANK), &outer);
  end(&outer, MPI_SUCCESS);
  assert_null(tm_seen_of(RANK));
  assert_null(tm_seen_of(0));
}

/* Calls change handles, and what is checked afterwards are the ones before. */
static void test_handles_are_kept(void **state) {
  void *handles[] = {&now, &rank, &text};
  struct tm_seen seen = {.object = handles, .count = 1};
  (void)state;
  start_module(true, false);
  int before = blocks;
  begin(&seen);
  assert_true(seen.before == &seen.one && seen.one == &now && blocks == before);
  end(&seen, MPI_SUCCESS);
  assert_int_equal(blocks, before);
  seen.count = 3;
  begin(&seen);
  assert_int_equal(blocks, before + 1);
  assert_memory_equal(seen.before, handles, sizeof handles);
  handles[1] = NULL;
  assert_ptr_equal(seen.before[1], &rank);
  end(&seen, MPI_SUCCESS);
  assert_int_equal(blocks, before);
  memory_is_out = true;
  begin(&seen);
  assert_null(seen.before);
  end(&seen, MPI_SUCCESS);
  memory_is_out = false;
  for (int i = 0; i < 4; i++) {
    seen.object = i == 0 ? NULL : handles;
    seen.makes = i == 1;                       /* there is no handle yet */
    seen.count = i == 2 ? 0 : i == 3 ? -1 : 2; /* no number of handles: MPI refuses it */
    seen.before = handles;
    begin(&seen);
    assert_null(seen.before);
    end(&seen, MPI_SUCCESS);
  }
  assert_int_equal(blocks, before);
}

/* ---- the start and the end */

static void test_starts(void **state) {
  static const char *const checks[] = {"order", "buffers", "threads", "traffic"};
  static const char *const traces[] = {"order ", "order buffers ", "order buffers threads ",
                                       "order buffers threads summary types windows traffic "};
  struct tm_check_options options = {.check = true, .report = true};
  (void)state;
  for (int i = 0; i < 4; i++) {
    fails = checks[i];
    assert_false(tm_check.start(&options));
    check_trace(traces[i]);
  }
  fails = NULL;
  assert_true(tm_check.start(&options));
  check_trace(traces[3]);
  options.report = false;
  assert_true(tm_check.start(&options));
  check_trace("order buffers threads summary types windows ");
  options = (struct tm_check_options){.report = true};
  assert_true(tm_check.start(&options));
  check_trace("traffic ");
  memory_is_out = true;
  assert_false(tm_check.start(&options));
  check_trace("");
}

static void test_ends(void **state) {
  size_t bytes;
  (void)state;
  start_module(true, true);
  findings = 3;
  assert_int_equal(tm_check.finish(true), 3);
  check_trace("unreceived leaks:0 traffic ");
  assert_int_equal(tm_check.finish(false), 3); /* another node reports */
  check_trace("unreceived leaks:0 ");
  assert_string_equal(text, "");
  leaks = 1;
  tm_check.finish(false);
  assert_string_equal(text,
                      "1 kind of leaks: no mistake, so the exit status stays (--check=strict "
                      "changes it)");
  leaks = 2;
  tm_check.finish(false);
  assert_string_equal(text,
                      "2 kinds of leaks: no mistakes, so the exit status stays (--check=strict "
                      "changes it)");
  start_module(false, false);
  tm_check.finish(true);
  check_trace("");
  assert_string_equal(tm_check.wrapper("MPI_Send"), "MPI_Send");
  assert_ptr_equal(tm_check.gather(&bytes), &bytes);
  tm_check.add("x", 1);
  check_trace("1 ");
}

int main(void) {
#define ROW(test) cmocka_unit_test_setup(test, start)
  const struct CMUnitTest tests[] = {
      ROW(test_checks_see_each_call),
      ROW(test_check_and_report_without_the_other),
      ROW(test_calls_of_no_rank),
      ROW(test_messages_that_are_too_long),
      ROW(test_buffers_in_place),
      ROW(test_the_call_that_a_rank_is_in),
      ROW(test_handles_are_kept),
      ROW(test_starts),
      ROW(test_ends),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
