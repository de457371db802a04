/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file verdicts.c
 * What mltp-bench makes of runs that crash, hang, leave or lie: failed runs, each
 * with its reason. And the statistics of the other runs.
 */
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/child.h"
#include "harness/stats.h"

#include <cmocka.h>

static void run_killed(const struct par *par, const struct bench_params *params,
                       struct bench_outcome *outcome) {
  (void)par, (void)params, (void)outcome;
  raise(SIGKILL);
}

static void run_hanging(const struct par *par, const struct bench_params *params,
                        struct bench_outcome *outcome) {
  (void)par, (void)params, (void)outcome;
  pause();
}

static void run_leaving(const struct par *par, const struct bench_params *params,
                        struct bench_outcome *outcome) {
  (void)par, (void)params, (void)outcome;
  _exit(86);
}

static void run_right(const struct par *par, const struct bench_params *params,
                      struct bench_outcome *outcome) {
  (void)par;
  outcome->seconds = 2;
  outcome->cpu_seconds = 3;
  outcome->checksum = params->threads;
}

/** Right when serial, wrong on threads. */
static void run_lying(const struct par *par, const struct bench_params *params,
                      struct bench_outcome *outcome) {
  (void)params;
  outcome->checksum = par == &par_serial ? 1 : 1 + 1e-9;
}

static struct bench_outcome child_of(void (*run)(const struct par *, const struct bench_params *,
                                                 struct bench_outcome *)) {
  const struct experiment experiment = {.name = "test", .run = run};
  const struct bench_params params = {.threads = 5};
  return bench_child(&experiment, &par_serial, &params, 1);
}

static void assert_failed(struct bench_outcome outcome, const char *why) {
  assert_false(outcome.verified);
  if (strstr(outcome.why, why) == NULL) fail_msg("\"%s\" in \"%s\"", why, outcome.why);
}

static void child_reports(void **state) {
  (void)state;
  const struct bench_outcome outcome = child_of(run_right);
  assert_true(outcome.verified);
  assert_true(outcome.seconds == 2 && outcome.cpu_seconds == 3 && outcome.checksum == 5);
}

static void child_fails(void **state) {
  (void)state;
  assert_failed(child_of(run_killed), "died of signal 9");
  assert_failed(child_of(run_hanging), "no answer within 1 s");
  assert_failed(child_of(run_leaving), "status 86");
}

static int sweep_of(void (*run)(const struct par *, const struct bench_params *,
                                struct bench_outcome *),
                    json_t *rows) {
  const struct experiment experiment = {
      .name = "test", .impls = "pthreads", .threads = {1, {1}}, .runs = 3, .run = run};
  const struct bench_options options = {.timeout = 10};
  return bench_sweep(&experiment, &options, rows);
}

static void sweep_counts_wrong_answers(void **state) {
  (void)state;
  json_t *rows = json_array();
  assert_int_equal(sweep_of(run_lying, rows), 3);
  const json_t *row = json_array_get(rows, 0);
  assert_true(json_is_false(json_object_get(row, "verified")));
  assert_int_equal(json_integer_value(json_object_get(row, "runs")), 0);
  assert_null(json_object_get(row, "median"));
  json_decref(rows);
}

static void sweep_gives_rows(void **state) {
  (void)state;
  json_t *rows = json_array();
  assert_int_equal(sweep_of(run_right, rows), 0);
  assert_int_equal(json_array_size(rows), 2);
  for (size_t i = 0; i < 2; i++) {
    const json_t *row = json_array_get(rows, i);
    assert_true(json_is_true(json_object_get(row, "verified")));
    assert_int_equal(json_integer_value(json_object_get(row, "runs")), 3);
    const double seconds = json_real_value(json_object_get(row, "median"));
    const char *clock = json_string_value(json_object_get(row, "clock"));
    assert_string_equal(clock, i == 0 ? "wall" : "cpu");
    assert_true(seconds == (i == 0 ? 2 : 3));
  }
  json_decref(rows);
}

static void answers_are_compared(void **state) {
  (void)state;
  assert_true(bench_same_answer(1, 1));
  assert_true(bench_same_answer(1 + 9e-11, 1));
  assert_true(bench_same_answer(-1e300, -1e300));
  assert_true(bench_same_answer(0, 0));
  assert_false(bench_same_answer(1 + 2e-10, 1));
  assert_false(bench_same_answer(0, 1));
  assert_false(bench_same_answer(NAN, 1));
  assert_false(bench_same_answer(NAN, NAN));
  assert_false(bench_same_answer(INFINITY, INFINITY));
}

static void statistics(void **state) {
  (void)state;
  double odd[] = {5, 1, 3}, even[] = {4, 1, 3, 2}, one[] = {7};
  struct bench_stats s = bench_stats(odd, 3);
  assert_true(s.min == 1 && s.median == 3 && s.max == 5);
  s = bench_stats(even, 4);
  assert_true(s.min == 1 && s.median == 2.5 && s.max == 4);
  s = bench_stats(one, 1);
  assert_true(s.min == 7 && s.median == 7 && s.max == 7);
}

static void comparisons(void **state) {
  (void)state;
  const struct bench_stats ours = {10, 11, 30}, slow = {12, 13, 14}, near = {10.5, 13, 14};
  const struct bench_stats mixed = {8, 14, 15}, exact = {10, 10, 10}, above = {10.1, 10.1, 10.1};
  assert_string_equal(bench_compare(ours, 5, slow, 5), "ahead");
  assert_string_equal(bench_compare(slow, 5, ours, 5), "behind");
  assert_string_equal(bench_compare(ours, 5, near, 5), "even");  /* minima within the spread */
  assert_string_equal(bench_compare(ours, 5, mixed, 5), "even"); /* minima and medians disagree */
  assert_string_equal(bench_compare(exact, 3, above, 3), "ahead");
  assert_null(bench_compare(exact, 2, above, 3));
  assert_null(bench_compare(exact, 3, above, 2));
}

/** Every item belongs to exactly one thread, and shares are fair. */
static void shares(void **state) {
  (void)state;
  for (int threads = 1; threads <= 64; threads++) {
    for (long items = 0; items <= 300; items += 25) {
      assert_int_equal(par_share(items, threads, 0), 0);
      assert_int_equal(par_share(items, threads, threads), items);
      for (int i = 0; i < threads; i++) {
        const long share = par_share(items, threads, i + 1) - par_share(items, threads, i);
        assert_in_range(share, items / threads, (items + threads - 1) / threads);
      }
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(child_reports),
      cmocka_unit_test(child_fails),
      cmocka_unit_test(sweep_counts_wrong_answers),
      cmocka_unit_test(sweep_gives_rows),
      cmocka_unit_test(answers_are_compared),
      cmocka_unit_test(statistics),
      cmocka_unit_test(comparisons),
      cmocka_unit_test(shares),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
