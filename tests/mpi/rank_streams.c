/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Standard streams and their descriptors, call by call (src/tmpi/run/streams.c): what a rank that
 * closes or redirects one of them means by its number from then on, and that other ranks keep
 * theirs. The test is the kernel and libc.
 */
#include "stream_kernel.h"

/* ---- the start */

static void test_programs_that_redirect(void **state) {
  static const struct {
    const char *program[2], *library[2];
    bool routed;
  } rows[] = {
      {{NULL, NULL}, {NULL, NULL}, false},       {{"dup2", NULL}, {NULL, NULL}, true},
      {{NULL, NULL}, {"dup3", NULL}, true},      {{"freopen", NULL}, {NULL, NULL}, true},
      {{NULL, NULL}, {"freopen64", NULL}, true}, {{"__overflow", NULL}, {NULL, NULL}, true},
      {{"__woverflow", NULL}, {"x", "y"}, true}, {{"close", NULL}, {NULL, NULL}, false},
      {{"close", "open"}, {NULL, NULL}, true},   {{"close", "pipe"}, {NULL, NULL}, true},
      {{"open", NULL}, {"close", NULL}, false},  {{NULL, NULL}, {"close", "open"}, false},
  };
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    memcpy(asks[0], rows[i].program, sizeof asks[0]);
    memcpy(asks[1], rows[i].library, sizeof asks[1]);
    routed = false;
    followed = NULL;
    start_job(RANKS);
    if (routed != rows[i].routed) fail_msg("row %d", (int)i);
    for (int rank_of = -1; rank_of < RANKS; rank_of++)
      for (int fd = -1; fd <= 3; fd++) assert_int_equal(followed(rank_of, fd), TM_OUTPUT_SHARED);
  }
  memset(asks, 0, sizeof asks);
  routed = false;
  setenv("TMPI_PYTHON", "python", 1);
  start_job(RANKS);
  assert_true(routed);
}

static void test_no_memory(void **state) {
  static const char expected[] = "tmpirun: no memory for the streams of ranks (fewer ranks)\n";
  (void)state;
  route_fails = true;
  start_job(RANKS); /* it needs no streams */
  asks[0][0] = "dup2";
  assert_false(tm_streams_start(&program));
  check_said(expected);
  asks[0][0] = NULL;
  owners_fail = true;
  assert_false(tm_streams_start(&program));
  check_said(expected);
  owners_fail = false;
  memory_is_out = true;
  assert_false(tm_streams_start(&program));
  check_said(expected);
}

/* Behind test_no_memory(): there is nothing of an earlier job. */
static void test_one_rank(void **state) {
  char room[TM_STREAMS_PATH];
  (void)state;
  memory_is_out = true;
  start_job(1);
  assert_false(tm_streams_any());
  assert_false(tm_streams_is_shared(stdout));
  assert_int_equal(tm_streams_meant(1), 1);
  assert_string_equal(tm_streams_path("/dev/stdout", room), "/dev/stdout");
  assert_int_equal(tm_streams_give(3, 0, "dup"), 3);
  assert_int_equal(CALL(dup2)(3, 1), 1);
  check_trace("dup2:3,1 ");
  assert_int_equal(CALL(dup3)(3, 6, 0), 6);
  assert_int_equal(CALL(dup3)(3, 0, 0), 0);
  check_trace("dup3:3,6,0 dup3:3,0,0 ");
  assert_int_equal(CALL(close)(1), 0);
  CALL(closefrom)(-7);
  assert_int_equal(CALL(close_range)(1, 2, 4), 88);
  check_trace("closefrom:-7 close_range:1,2,4 ");
  assert_ptr_equal(CALL(freopen)("path", "w", stdin), stdin);
  assert_ptr_equal(CALL(fdopen)(2, "w"), &streams[0]);
  check_trace("freopen:path,w fdopen:2,w ");
  assert_int_equal(CALL(fclose)((FILE *)&streams[0]), 0);
  check_trace("fclose:2 ");
  tm_streams_end(0);
  check_trace("end:0 ");
  check_said("");
}

/* ---- redirections */

static void test_a_rank_redirects_its_output(void **state) {
  (void)state;
  assert_false(tm_streams_any());
  assert_int_equal(CALL(dup2)(3, 1), 1);
  assert_string_equal(files, "ioeaba....");
  assert_true(on_exec[5] && owners[5] == '0');
  assert_true(tm_streams_any());
  assert_int_equal(tm_streams_meant(1), 5);
  assert_int_equal(tm_streams_number(5), 1);
  assert_true(tm_streams_number(1) == 1 && tm_streams_number(6) == 6 && tm_streams_meant(5) == 5);
  assert_true(followed(0, 1) == 5 && followed(1, 1) == TM_OUTPUT_SHARED);
  rank = 1;
  assert_int_equal(tm_streams_meant(1), 1);
  assert_false(tm_streams_any());
  rank = 0;
  assert_int_equal(CALL(dup3)(4, 1, 0), 1); /* the first copy is closed */
  assert_string_equal(files, "ioeab.b...");
  assert_true(owners[5] == NO_OWNER && owners[6] == '0');
  assert_int_equal(CALL(dup2)(1, 2), 2); /* what the rank means by 1 */
  assert_string_equal(files, "ioeabbb...");
  assert_int_equal(tm_streams_number(5), 2);
  assert_int_equal(CALL(dup2)(9, 2), -1);
  assert_int_equal(errno, EBADF);
  assert_int_equal(tm_streams_meant(2), 5);
  assert_int_equal(CALL(dup2)(1, 1), 1);
  rank = 1;
  assert_int_equal(CALL(dup2)(3, 0), 0);
  assert_int_equal(tm_streams_meant(0), 7);
  check_said("");
  tm_streams_end(0);
  assert_string_equal(files, "ioeab..a..");
  tm_streams_end(1);
  assert_string_equal(files, "ioeab.....");
  assert_true(owners[5] == NO_OWNER && owners[7] == NO_OWNER);
  check_trace("end:0 end:1 ");
}

/* It would replace what all ranks have. */
static void test_dup3_of_a_number_onto_itself(void **state) {
  (void)state;
  CALL(dup2)(3, 1);
  for (int fd = 0; fd < 4; fd++) {
    errno = 0;
    assert_int_equal(CALL(dup3)(fd, fd, 0), -1);
    assert_int_equal(errno, EINVAL);
  }
  assert_string_equal(files, "ioeaba....");
  check_said("");
}

static void test_callers_that_are_no_rank(void **state) {
  (void)state;
  rank = -1;
  assert_false(tm_streams_is_shared(stdout));
  assert_int_equal(CALL(dup2)(3, 1), 1);
  check_trace("dup2:3,1 ");
  assert_int_equal(CALL(dup2)(3, 0), 0);
  assert_int_equal(CALL(dup3)(3, 0, 0), 0);
  check_said("");
  rank = RANKS - 1;
  assert_true(tm_streams_is_shared(stdin) && tm_streams_is_shared(stdout));
  assert_true(tm_streams_is_shared(stderr) && !tm_streams_is_shared((FILE *)&streams[0]));
}

/* Ranks share a stream of libc's, which the program reads. */
static void test_input_that_all_ranks_share(void **state) {
  static const char *const readers[] = {
      "stdin", "scanf",  "__isoc99_scanf", "__isoc23_scanf",   "vscanf",  "getchar",
      "gets",  "wscanf", "getwchar",       "getchar_unlocked", "_ZSt3cin"};
  (void)state;
  rank = 2;
  for (size_t i = 0; i < sizeof readers / sizeof readers[0]; i++) {
    asks[i % 2][1] = readers[i];
    files[0] = 'i';
    assert_int_equal(CALL(dup2)(3, 0), 0);
    assert_int_equal(files[0], 'a');
    if (i == 0)
      check_said(
          "tmpirun: rank 2 redirected its input by dup2(): all ranks share it (open the "
          "file)\n");
    asks[i % 2][1] = NULL;
  }
  asks[0][1] = "stdin";
  assert_int_equal(CALL(dup3)(4, 0, 0), 0);
  assert_ptr_equal(CALL(freopen)("path", "r", stdin), stdin);
  check_said(""); /* once is enough */
  assert_false(tm_streams_any());
}

static void test_streams_that_would_not_follow(void **state) {
  static const char end[] =
      " is that of all ranks (start the program with --label or --output, which give each rank "
      "streams)\n";
  char expected[300];
  (void)state;
  routed = false;
  rank = 1;
  if (setjmp(ended) == 0) CALL(dup2)(3, 1);
  snprintf(
      expected, sizeof expected,
      "tmpirun: rank 1: dup2() in a library gives it a descriptor 1 of its own, but the stream "
      "stdout%s",
      end);
  check_said(expected);
  if (setjmp(ended) == 0) CALL(dup3)(3, 2, 0);
  snprintf(
      expected, sizeof expected,
      "tmpirun: rank 1: dup3() in a library gives it a descriptor 2 of its own, but the stream "
      "stderr%s",
      end);
  check_said(expected);
  assert_false(tm_streams_any());
  assert_int_equal(CALL(dup2)(3, 0), 0);
  check_said("");
}

/* ---- closing */

static void test_a_rank_closes_numbers(void **state) {
  (void)state;
  assert_int_equal(CALL(close)(1), 0);
  assert_string_equal(files, "ioeab.....");
  assert_int_equal(tm_streams_meant(1), INT_MAX - 1);
  assert_int_equal(tm_streams_number(INT_MAX - 1), 1);
  assert_int_equal(tm_streams_number(INT_MAX - 2), 2);
  assert_int_equal(tm_streams_number(INT_MAX - 3), INT_MAX - 3);
  assert_true(tm_streams_any());
  assert_int_equal(CALL(close)(1), -1);
  assert_int_equal(errno, EBADF);
  assert_int_equal(CALL(dup2)(1, 1), -1);
  assert_int_equal(errno, EBADF);
  assert_int_equal(CALL(dup2)(3, 2), 2);
  owners[3] = '0';
  assert_int_equal(CALL(close)(2), 0); /* and its copy */
  assert_string_equal(files, "ioeab.....");
  assert_int_equal(CALL(close)(0), 0);
  assert_int_equal(tm_streams_meant(0), INT_MAX);
  assert_int_equal(CALL(close)(3), 0);
  assert_string_equal(files, "ioe.b.....");
  assert_int_equal(owners[3], NO_OWNER);
  other_owner[4] = 1;
  errno = 0;
  assert_int_equal(CALL(close)(4), -1);
  assert_int_equal(errno, EBADF);
  assert_string_equal(files, "ioe.b.....");
  rank = 1;
  assert_int_equal(tm_streams_meant(1), 1);
}

static bool has_closed(int fd) { return tm_streams_meant(fd) == INT_MAX - fd; }

static void test_a_rank_closes_several(void **state) {
  (void)state;
  assert_int_equal(CALL(close_range)(1, 1, CLOSE_RANGE_UNSHARE), 0);
  assert_true(!has_closed(0) && has_closed(1) && !has_closed(2));
  check_trace("close_own:1,1,0 ");
  assert_int_equal(CALL(close_range)(2, 9, CLOSE_RANGE_CLOEXEC), 0);
  assert_true(!has_closed(0) && !has_closed(2));
  check_trace("close_own:2,9,1 ");
  assert_int_equal(CALL(close_range)(3, 2, CLOSE_RANGE_UNSHARE), 88); /* the kernel refuses it */
  assert_int_equal(CALL(close_range)(1, 2, 8), 88);
  check_trace("close_range:3,2,0 close_range:1,2,8 ");
  rank = 1;
  CALL(closefrom)(2);
  assert_true(!has_closed(0) && !has_closed(1) && has_closed(2));
  check_trace("close_own:2,4294967295,0 ");
  CALL(closefrom)(-1);
  assert_true(has_closed(0) && has_closed(1));
  check_trace("close_own:0,4294967295,0 ");
  rank = -1;
  CALL(closefrom)(3);
  assert_int_equal(CALL(close_range)(1, 2, 0), 88);
  check_trace("closefrom:3 close_range:1,2,0 ");
}

static void test_folders(void **state) {
  (void)state;
  files[5] = 'f';
  owners[5] = '0';
  assert_int_equal(CALL(closedir)((DIR *)&streams[0]), 0);
  assert_true(owners[5] == NO_OWNER && files[5] == '.');
  assert_int_equal(((int (*)(DIR *))row("closedir"))(NULL), -1);
  assert_int_equal(errno, EINVAL);
}

/* ---- what gets a number that was closed */

static void test_the_lowest_closed_number_is_given(void **state) {
  (void)state;
  asks[0][1] = "stdin";
  CALL(close)(2);
  CALL(close)(1);
  CALL(close)(0);
  files[5] = files[6] = files[7] = 'n';
  assert_int_equal(tm_streams_give(5, 1, "dup"), 1);
  assert_true(on_exec[5] && owners[5] == '0' && tm_streams_meant(1) == 5);
  check_said("");
  assert_int_equal(tm_streams_give(6, -5, "open"), 0);
  check_said(
      "tmpirun: rank 0 has a descriptor 0 of its own by open(): the stream stdin stays that "
      "of all ranks (open the file by fopen())\n");
  assert_int_equal(tm_streams_give(-1, 0, "open"), -1);
  assert_int_equal(tm_streams_give(7, 3, "open"), 7);
  assert_int_equal(tm_streams_give(2, 0, "open"), 2); /* it is one of them already */
  assert_true(has_closed(2) && !on_exec[7]);
  assert_int_equal(CALL(dup)(3), 2);
  assert_string_equal(files, "ioeabnnna.");
  assert_int_equal(tm_streams_meant(2), 8);
  assert_int_equal(CALL(dup)(2), 9);
  assert_string_equal(files, "ioeabnnnaa");
  assert_int_equal(owners[9], '0');
  CALL(close)(0);
  files[9] = '.';
  assert_int_equal(CALL(dup)(3), 0);
  check_said(""); /* once is enough */
  CALL(close)(1);
  files[5] = 'n';
  routed = false;
  if (setjmp(ended) == 0) tm_streams_give(5, 0, "pipe");
  assert_string_not_equal((__real_fflush(stderr), said), "");
}

int main(void) {
#define ROW(test, begin) cmocka_unit_test_setup_teardown(test, begin, tear_down)
  const struct CMUnitTest tests[] = {
      ROW(test_programs_that_redirect, set_up),
      ROW(test_no_memory, set_up),
      ROW(test_one_rank, set_up),
      ROW(test_a_rank_redirects_its_output, set_up_own),
      ROW(test_dup3_of_a_number_onto_itself, set_up_own),
      ROW(test_callers_that_are_no_rank, set_up_own),
      ROW(test_input_that_all_ranks_share, set_up_own),
      ROW(test_streams_that_would_not_follow, set_up_own),
      ROW(test_a_rank_closes_numbers, set_up_own),
      ROW(test_a_rank_closes_several, set_up_own),
      ROW(test_folders, set_up_own),
      ROW(test_the_lowest_closed_number_is_given, set_up_own),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
