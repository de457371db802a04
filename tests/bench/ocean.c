/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file ocean.c
 * The ocean gives the same answer, point by point, for every number of threads and
 * every implementation; and its checks notice an answer that is wrong.
 */
#include "threads/ocean/ocean.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct bench_outcome outcome;

/** Sails a small ocean. */
static struct ocean *sail(const struct par *par, int threads, long size, long steps) {
  const struct bench_params params = {.threads = threads,
                                      .problem = {.size = size, .steps = steps, .tolerance = 1e-7}};
  outcome = (struct bench_outcome){.verified = true};
  struct ocean *ocean = ocean_create(par, &params, &outcome);
  assert_non_null(ocean);
  assert_int_equal(ocean_sail(ocean, &outcome), 0);
  return ocean;
}

static void assert_same_ocean(const struct ocean *a, const struct ocean *b) {
  double off = 0, scale = 0;
  for (int layer = 0; layer < 2; layer++) {
    for (long i = 0; i < a->n; i++) {
      for (long j = 0; j < a->n; j++) {
        const double x = grid_row(a->psi[layer], i)[j], y = grid_row(b->psi[layer], i)[j];
        assert_true(isfinite(x) && isfinite(y));
        off = fmax(off, fabs(x - y));
        scale = fmax(scale, fabs(x));
      }
    }
  }
  assert_true(scale > 0);
  assert_true(off <= 1e-10 * scale);
}

static void same_answer_on(const struct par *par) {
  struct ocean *serial = sail(&par_serial, 1, 34, 4);
  for (int threads = 1; threads <= 16; threads++) {
    assert_int_equal(par->start(2), 0);
    struct ocean *ocean = sail(par, threads, 34, 4);
    assert_same_ocean(serial, ocean);
    ocean_check(ocean, &outcome);
    if (!outcome.verified) fail_msg("%s", outcome.why);
    ocean_destroy(ocean);
    assert_int_equal(par->stop(), 0);
  }
  ocean_destroy(serial);
}

static void same_answer_on_mltp(void **state) {
  (void)state;
  same_answer_on(&par_mltp);
}

static void same_answer_on_mltp_ucontext(void **state) {
  (void)state;
  same_answer_on(&par_mltp_ucontext);
}

static void same_answer_on_mltp_kernel(void **state) {
  (void)state;
  same_answer_on(&par_mltp_kernel);
}

static void same_answer_on_pthreads(void **state) {
  (void)state;
  same_answer_on(&par_pthreads);
}

/** More threads than rows: most have nothing to do but to wait with the others. */
static void more_threads_than_rows(void **state) {
  (void)state;
  struct ocean *serial = sail(&par_serial, 1, 6, 3);
  assert_int_equal(par_mltp.start(2), 0);
  struct ocean *ocean = sail(&par_mltp, 9, 6, 3);
  assert_same_ocean(serial, ocean);
  ocean_destroy(ocean);
  assert_int_equal(par_mltp.stop(), 0);
  ocean_destroy(serial);
}

/** The default size, over all its multigrid levels. */
static void checks_accept_a_right_answer(void **state) {
  (void)state;
  struct ocean *ocean = sail(&par_serial, 1, 258, 2);
  ocean_check(ocean, &outcome);
  if (!outcome.verified) fail_msg("%s", outcome.why);
  ocean_destroy(ocean);
}

/** What the checks say of an ocean in which one number was changed. */
static void assert_noticed(double *number, double change, struct ocean *ocean,
                           const char *complaint) {
  const double right = *number;
  *number += change;
  outcome.verified = true;
  ocean_check(ocean, &outcome);
  assert_false(outcome.verified);
  assert_non_null(strstr(outcome.why, complaint));
  *number = right;
}

static void checks_notice_a_wrong_answer(void **state) {
  (void)state;
  struct ocean *o = sail(&par_serial, 1, 34, 4);
  assert_noticed(&grid_row(o->psi[0], 9)[9], 1, o, "water is not conserved");
  assert_noticed(&grid_row(o->psi[0], 9)[9], NAN, o, "the water moves");
  assert_noticed(&grid_row(o->psi[1], 9)[9], 1e9, o, "the water moves");
  /* A corner counts so little that only the coast shows it. */
  assert_noticed(&grid_row(o->psi[0], 0)[0], 1e-6, o, "the coast");
  assert_noticed(&grid_row(o->gamma_a, 5)[7], 1, o, "residuals");
  assert_noticed(&grid_row(o->gamma_b, 5)[7], 1, o, "residuals");
  o->diverged = true;
  outcome.verified = true;
  ocean_check(o, &outcome);
  assert_false(outcome.verified);
  ocean_destroy(o);
}

static void sizes_are_powers_of_two_and_two(void **state) {
  (void)state;
  static const long bad[] = {1, 2, 4, 5, 7, 64, 257, 259, 8195, 16386};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    const struct bench_params params = {.threads = 1, .problem = {.size = bad[i]}};
    outcome = (struct bench_outcome){.verified = true};
    assert_null(ocean_create(&par_serial, &params, &outcome));
    assert_false(outcome.verified);
    assert_non_null(strstr(outcome.why, "2^k + 2"));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(same_answer_on_mltp),
      cmocka_unit_test(same_answer_on_mltp_ucontext),
      cmocka_unit_test(same_answer_on_mltp_kernel),
      cmocka_unit_test(same_answer_on_pthreads),
      cmocka_unit_test(more_threads_than_rows),
      cmocka_unit_test(checks_accept_a_right_answer),
      cmocka_unit_test(checks_notice_a_wrong_answer),
      cmocka_unit_test(sizes_are_powers_of_two_and_two),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
