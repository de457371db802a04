/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What ranks do with streams and numbers that they have redirected or closed, call by call
 * (src/tmpi/run/streams.c): writes, streams of libc's, paths, and children.
 */
#include "stream_kernel.h"

static void test_writes_go_to_the_streams(void **state) {
  typedef int checked(int, int, const char *, ...);
  struct iovec parts[] = {{(char[]){"ab"}, 2}, {(char[]){"cde"}, 3}, {(char[]){"f"}, 1}};
  (void)state;
  CALL(dup2)(3, 0);
  assert_int_equal(CALL(write)(1, "x", 1), 1);
  assert_int_equal(CALL(write)(2, "y", 1), 1);
  assert_int_equal(CALL(write)(0, "z", 1), 1);
  assert_int_equal(CALL(write)(4, "z", 1), 1);
  check_trace("put:1,x put:2,y write:5,z write:4,z ");
  assert_int_equal(CALL(writev)(1, parts, 2), 5);
  assert_int_equal(CALL(writev)(2, parts, 3), 6);
  assert_int_equal(CALL(writev)(0, parts, 3), 99);
  check_trace("put:1,ab put:1,cde put:2,ab put:2,cde put:2,f writev:5,ab,3 ");
  writes_left = 1; /* what was written counts */
  assert_int_equal(CALL(writev)(1, parts, 3), 2);
  writes_left = 0;
  assert_int_equal(CALL(writev)(1, parts, 3), -1);
  parts[0].iov_len = 1;
  writes_left = 1;
  assert_int_equal(CALL(writev)(1, parts, 3), 1);
  parts[0].iov_len = 0; /* which is no failure */
  writes_left = -1;
  assert_int_equal(CALL(writev)(1, parts, 3), 4);
  trace[0] = '\0';
  assert_int_equal(CALL(dprintf)(1, "%d", 55), 2);
  assert_int_equal(((checked *)row("__dprintf_chk"))(0, 9, "%s", "abc"), 3);
  check_trace("put:1,55 write:5,abc ");
  assert_int_equal(CALL(dprintf)(9, "text"), -1);
  assert_int_equal(CALL(dprintf)(1, "%s", ""), 0);
  trace[0] = '\0';
  assert_int_equal(CALL(dprintf)(1, "%ls", L"\x3b1"), -1); /* no bytes for it in this locale */
  check_trace("");
  routed = false;
  trace[0] = '\0';
  assert_int_equal(CALL(write)(1, "x", 1), 1);
  assert_int_equal(CALL(writev)(2, parts, 3), 99);
  check_trace("write:1,x writev:2,ab,3 ");
}

static ssize_t write_nothing(void *cookie, const char *text, size_t length) {
  (void)cookie;
  (void)text;
  return (ssize_t)length;
}

static void test_streams_without_a_descriptor_have_owners(void **state) {
  const cookie_io_functions_t functions = {.write = write_nothing};
  char room[4];
  (void)state;
  FILE *made[] = {CALL(fmemopen)(room, sizeof room, "w"), CALL(fopencookie)(NULL, "w", functions)};
  check_trace("noted:1 noted:1 ");
  for (int i = 0; i < 2; i++) {
    assert_non_null(made[i]);
    __real_fclose(made[i]);
  }
  errno = 0;
  assert_null(CALL(fmemopen)(room, sizeof room, "?"));
  assert_int_equal(errno, EINVAL);
  check_trace("");
}

static void test_paths_of_descriptors(void **state) {
  static const char *const paths[][2] = {
      {"/dev/stdin", "/proc/self/fd/5"},  {"/dev/stdout", "/proc/self/fd/6"},
      {"/dev/fd/0", "/proc/self/fd/5"},   {"/proc/self/fd/1", "/proc/self/fd/6"},
      {"/dev/stderr", "/proc/self/fd/2"}, {"/dev/fd/2", "/proc/self/fd/2"},
      {"/dev/fd/3", "/dev/fd/3"},         {"/dev/fd/10", "/dev/fd/10"},
      {"/dev/fd/", "/dev/fd/"},           {"/dev/fd//", "/dev/fd//"},
      {"/dev/stdou", "/dev/stdou"},
  };
  char room[TM_STREAMS_PATH];
  (void)state;
  assert_string_equal(tm_streams_path("/dev/stdin", room), "/dev/stdin");
  CALL(dup2)(3, 0);
  CALL(dup2)(4, 1);
  for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
    assert_string_equal(tm_streams_path(paths[i][0], room), paths[i][1]);
  assert_null(tm_streams_path(NULL, room));
}

/* A child has the rank's, or the file of --output. */
static void test_children_have_the_rank_s(void **state) {
  posix_spawn_file_actions_t list;
  (void)state;
  output_files[0] = 4;
  CALL(dup2)(3, 0);
  CALL(close)(2);
  assert_int_equal(tm_streams_spawn(&list), 0);
  check_trace("dup:5,0 dup:4,1 close:2 ");
  add_error = ENOMEM;
  assert_int_equal(tm_streams_spawn(&list), ENOMEM); /* the first failure ends it */
  check_trace("dup:5,0 ");
  assert_int_equal(tm_streams_meant(1), 4);
  tm_streams_expose(0);
  assert_string_equal(files, "ab.aba....");
  check_trace("dup2:5,0 dup2:4,1 ");
  rank = 1; /* it has redirected nothing */
  output_files[1] = 3;
  add_error = 0;
  assert_int_equal(tm_streams_spawn(&list), 0);
  check_trace("dup:3,1 dup:3,2 ");
}

static void test_two_ranks_are_several(void **state) {
  (void)state;
  start_job(2);
  assert_true(tm_streams_is_shared(stdout));
  assert_int_equal(CALL(dup2)(3, 1), 1);
  assert_int_equal(tm_streams_meant(1), 5);
}

/* Once in a job: other tests of input are in other programs. */
static void test_dup3_redirects_the_input_of_all(void **state) {
  (void)state;
  asks[1][0] = "stdin";
  assert_int_equal(CALL(dup3)(4, 0, 0), 0);
  check_said(
      "tmpirun: rank 0 redirected its input by dup3(): all ranks share it (open the file)\n");
}

static void test_copies_to_other_numbers(void **state) {
  (void)state;
  assert_int_equal(CALL(dup2)(3, 3), 3);
  check_trace("");
  assert_int_equal(CALL(dup2)(3, 7), 7); /* which is free */
  assert_string_equal(files, "ioeab..a..");
  assert_true(owners[7] == '0' && !on_exec[7]);
  assert_int_equal(CALL(dup3)(3, 8, O_CLOEXEC), 8);
  assert_true(on_exec[8]);
  check_trace("");
  assert_int_equal(CALL(dup2)(4, 8), 8); /* the rank's own */
  check_trace("dup3:4,8,0 ");
  taken = 5; /* another rank gets the number meanwhile */
  assert_int_equal(CALL(dup2)(3, 5), 5);
  assert_string_equal(files, "ioeaba.ab.");
  assert_int_equal(CALL(dup2)(3, -1), -1);
  assert_int_equal(errno, EBADF);
  assert_int_equal(CALL(dup2)(3, FDS), -1); /* beyond the limit */
  assert_int_equal(errno, EBADF);
  assert_int_equal(CALL(dup2)(6, 7), -1);
  assert_int_equal(errno, EBADF);
  assert_int_equal(CALL(dup3)(3, 7, 1), -1);
  assert_int_equal(errno, EINVAL);
  assert_int_equal(locks, 0);
  check_said("");
}

static void test_numbers_that_others_have(void **state) {
  static const char format[] =
      "tmpirun: rank 0: %s() onto descriptor 7, which %s has: all ranks share their descriptors, "
      "so the call fails (let dup() choose the number)\n";
  char expected[300];
  (void)state;
  other_owner[7] = 2;
  assert_int_equal(CALL(dup2)(3, 7), -1);
  assert_int_equal(errno, EBUSY);
  snprintf(expected, sizeof expected, format, "dup2", "rank 2");
  check_said(expected);
  other_owner[7] = TM_OWNER_TMPIRUN;
  assert_int_equal(CALL(dup3)(3, 7, 0), -1);
  snprintf(expected, sizeof expected, format, "dup3", "tmpirun");
  check_said(expected);
  assert_string_equal(files, "ioeab.....");
}

int main(void) {
#define ROW(test) cmocka_unit_test_setup_teardown(test, set_up_own, tear_down)
  const struct CMUnitTest tests[] = {
      ROW(test_streams_without_a_descriptor_have_owners),
      ROW(test_writes_go_to_the_streams),
      ROW(test_paths_of_descriptors),
      ROW(test_children_have_the_rank_s),
      ROW(test_copies_to_other_numbers),
      ROW(test_numbers_that_others_have),
      ROW(test_two_ranks_are_several),
      ROW(test_dup3_redirects_the_input_of_all),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
