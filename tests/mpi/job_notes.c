/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the job notes of its ranks (src/tmpi/rank/rank.c), call by call: which rank a thread is of,
 * the first failure, what is printed before an early end. One thread plays all ranks.
 */
#include <errno.h>
#include <mltp/mltp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/internal/thread.h"
#include "tmpi/rank/rank.h"
#include "traced_calls.h"

enum { RANKS = 4 };

static struct tm_rank ranks[RANKS];

/* ---- what is around it */

static uint32_t number; /* of the calling thread of libmltp */
static bool is_of_libmltp, no_memory;
static uint64_t random_bits, mark_of_another; /* 0: no other rank sets it meanwhile */
static ssize_t random_bytes;
static jmp_buf ended;

ssize_t __wrap_getrandom(void *to, size_t size, unsigned flags);
pid_t __wrap_getpid(void);
int __wrap_fflush(FILE *file);
int __real_fflush(FILE *file);
_Noreturn void __wrap__exit(int status);

bool mti_set_number(const char *kind, uint32_t to) {
  assert_string_equal(kind, "MPI");
  if (no_memory) return false;
  number = to;
  return true;
}

uint32_t mti_number(void) { return is_of_libmltp ? number : 0; }

uint32_t mti_act_as(uint32_t to) {
  uint32_t before = mti_number();
  if (is_of_libmltp) number = to;
  return before;
}

uint64_t mltp_now(void) { return 5; }

ssize_t __wrap_getrandom(void *to, size_t size, unsigned flags) {
  assert_int_equal(size, sizeof random_bits);
  assert_int_equal(flags, 0);
  memcpy(to, &random_bits, size);
  if (mark_of_another != 0) tm_job.mark = mark_of_another;
  return random_bytes;
}

pid_t __wrap_getpid(void) { return 3; }

int __wrap_fflush(FILE *file) {
  if (file != NULL) return __real_fflush(file);
  note("streams");
  return 0;
}

_Noreturn void __wrap__exit(int status) {
  note("exit-%d", status);
  longjmp(ended, 1);
}

static void begun(void) { note("begun"); }
static void flush(void) { note("flush"); }
static void end_output(void) { note("output"); }
static void tell(int status, const char *why) { note("tell-%d-'%s'", status, why); }

/* A compiler that sees no end of it does not leave out what is behind a call. */
static void (*volatile abort_job)(int status) = tm_job_abort;

static int start(void **state) {
  (void)state;
  memset(ranks, 0, sizeof ranks);
  for (int i = 0; i < RANKS; i++) ranks[i].number = i;
  tm_job.ranks = ranks;
  tm_job.mark = mark_of_another = 0;
  is_of_libmltp = true;
  no_memory = false;
  tm_rank_act_as(0);
  tm_job_on_end(NULL);
  tm_job_on_failure(NULL);
  tm_job_on_early_end(NULL);
  trace[0] = '\0';
  return 0;
}

/* ---- the number of a job */

static void test_a_job_has_a_random_mark(void **state) {
  (void)state;
  random_bits = 77, random_bytes = sizeof random_bits;
  assert_int_equal(tm_job_new_mark(), 77);
  assert_int_equal(tm_job.mark, 0);
  assert_int_equal(tm_job_mark(), 77);
  random_bits = 78;
  assert_int_equal(tm_job_mark(), 77);
}

static void test_without_random_bits_clock_and_process_make_the_mark(void **state) {
  (void)state;
  random_bits = 77, random_bytes = -1;
  assert_int_equal(tm_job_new_mark(), (5 << 22) + 3);
  random_bytes = sizeof random_bits - 1;
  assert_int_equal(tm_job_new_mark(), (5 << 22) + 3);
  random_bits = 0, random_bytes = sizeof random_bits; /* which would be no mark */
  assert_int_equal(tm_job_new_mark(), (5 << 22) + 3);
}

static void test_of_two_first_ranks_one_sets_the_mark(void **state) {
  (void)state;
  random_bits = 77, random_bytes = sizeof random_bits, mark_of_another = 99;
  assert_int_equal(tm_job_mark(), 99);
  assert_int_equal(tm_job.mark, 99);
}

static void test_how_ranks_wait_and_end_is_noted(void **state) {
  (void)state;
  static const struct tm_rank_ends ends;
  assert_null(tm_job_rank_ends());
  tm_job_on_rank_ends(&ends);
  assert_ptr_equal(tm_job_rank_ends(), &ends);
  tm_job_wait(TM_WAIT_SPIN, 123);
  assert_int_equal(tm_job.wait, TM_WAIT_SPIN);
  assert_int_equal(tm_job.spin_ns, 123);
}

/* ---- ranks and their threads */

/* Counts are those of the process, which has one job. */
static void test_the_last_rank_that_begins_is_noted(void **state) {
  (void)state;
  tm_job.local = 2;
  tm_job_count_init();
  tm_job_count_init(); /* nothing is to be called */
  tm_job.local = 4;
  tm_job_on_init(begun);
  tm_job_count_init();
  check_trace("");
  tm_job_count_init();
  check_trace("begun ");
  tm_job_count_init();
  check_trace("");
  tm_job.local = 6;
  tm_job_count_finalize(); /* a rank needs not wait for the others */
  tm_job_count_init();
  check_trace("");
}

static void test_a_thread_is_of_the_rank_that_it_enters(void **state) {
  (void)state;
  assert_null(tm_rank_self());
  assert_int_equal(tm_rank_number(), -1);
  assert_int_equal(tm_rank_enter(2), 0);
  assert_int_equal(number, 3);
  assert_ptr_equal(tm_rank_self(), &ranks[2]);
  assert_int_equal(tm_rank_number(), 2);
  no_memory = true;
  assert_int_equal(tm_rank_enter(1), ENOMEM);
}

static void test_a_handler_acts_as_another_rank_for_a_while(void **state) {
  (void)state;
  assert_int_equal(tm_rank_enter(2), 0);
  assert_int_equal(tm_rank_act_as(1), 3);
  assert_int_equal(tm_rank_number(), 0);
  assert_int_equal(tm_rank_act_as(3), 1);
  assert_int_equal(tm_rank_number(), 2);
}

/* A kernel thread that has just started cannot keep a number of libmltp's. */
static void test_a_handler_acts_as_a_rank_on_a_thread_of_none(void **state) {
  (void)state;
  is_of_libmltp = false;
  assert_int_equal(tm_rank_act_as(2), 0);
  assert_ptr_equal(tm_rank_self(), &ranks[1]);
  assert_int_equal(tm_rank_number(), 1);
  assert_int_equal(tm_rank_act_as(4), 2);
  assert_int_equal(tm_rank_number(), 3);
  assert_int_equal(tm_rank_act_as(0), 4);
  assert_null(tm_rank_self());
  is_of_libmltp = true; /* it has become one, and what it was before is no more */
  assert_int_equal(tm_rank_act_as(3), 0);
  is_of_libmltp = false;
  assert_null(tm_rank_self());
}

static void test_a_rank_leaves_after_finalize_or_without_mpi(void **state) {
  (void)state;
  ranks[1].stage = TM_INITIALIZED, ranks[2].stage = TM_FINALIZED;
  assert_true(tm_rank_leave(0));
  assert_false(tm_rank_leave(1));
  assert_true(tm_rank_leave(2));
  for (int i = 0; i < RANKS; i++) assert_int_equal(ranks[i].ended, i < 3);
}

/* ---- the end */

static void test_the_first_failure_counts(void **state) {
  (void)state;
  int status = -1;
  assert_int_equal(tm_job_failure(&status), -1);
  assert_int_equal(status, 0);
  tm_job_failed(3, 255);
  tm_job_failed(1, 7);
  assert_int_equal(tm_job_failure(&status), 3);
  assert_int_equal(status, 255);
}

static void test_what_is_printed_is_written(void **state) {
  (void)state;
  tm_job_flush();
  check_trace("streams ");
  tm_job_end_output();
  check_trace("streams ");
  tm_job_on_end(flush);
  tm_job_flush();
  check_trace("flush ");
  tm_job_on_failure(end_output);
  tm_job_end_output();
  check_trace("output flush ");
}

static void test_other_nodes_hear_why(void **state) {
  (void)state;
  char expected[160];
  tm_job_tell(3, "rank %d", 2); /* there are none */
  check_trace("");
  tm_job_on_early_end(tell);
  tm_job_tell(3, "rank %d", 2);
  check_trace("tell-3-'rank 2' ");
  tm_job_tell(4, "%200s", "x"); /* what is too long is cut */
  snprintf(expected, sizeof expected, "tell-4-'%127s' ", "");
  check_trace(expected);
}

static void test_an_end_after_a_failure(void **state) {
  (void)state;
  tm_job_on_end(flush);
  tm_job_on_early_end(tell);
  assert_int_equal(tm_rank_enter(0), 0);
  if (setjmp(ended) == 0) abort_job(9);
  check_trace("flush tell-9-'rank 0 failed (see above)' exit-9 ");
  tm_rank_act_as(0);
  if (setjmp(ended) == 0) abort_job(8);
  check_trace("flush tell-8-'it failed (see above)' exit-8 ");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(test_a_job_has_a_random_mark, start),
      cmocka_unit_test_setup(test_without_random_bits_clock_and_process_make_the_mark, start),
      cmocka_unit_test_setup(test_of_two_first_ranks_one_sets_the_mark, start),
      cmocka_unit_test_setup(test_how_ranks_wait_and_end_is_noted, start),
      cmocka_unit_test_setup(test_the_last_rank_that_begins_is_noted, start),
      cmocka_unit_test_setup(test_a_thread_is_of_the_rank_that_it_enters, start),
      cmocka_unit_test_setup(test_a_handler_acts_as_another_rank_for_a_while, start),
      cmocka_unit_test_setup(test_a_handler_acts_as_a_rank_on_a_thread_of_none, start),
      cmocka_unit_test_setup(test_a_rank_leaves_after_finalize_or_without_mpi, start),
      cmocka_unit_test_setup(test_the_first_failure_counts, start),
      cmocka_unit_test_setup(test_what_is_printed_is_written, start),
      cmocka_unit_test_setup(test_other_nodes_hear_why, start),
      cmocka_unit_test_setup(test_an_end_after_a_failure, start),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
