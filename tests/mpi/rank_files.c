/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams of libc's that a rank opens, reopens and closes (src/tmpi/run/streams.c): a stream that a
 * process would open on number 1 gets the rank's number 1, and no call of a rank closes what all
 * ranks share.
 */
#include "stream_kernel.h"

static FILE *stream_at(int i) { return (FILE *)&streams[i]; }
static bool has_closed(int fd) { return tm_streams_meant(fd) == INT_MAX - fd; }

static void fill_table(void) {
  for (int fd = 0; fd < FDS; fd++)
    if (files[fd] == '.') files[fd] = 'x';
}

/* ---- opening */

static const struct {
  const char *mode;
  int flags;
} modes[] = {
    {"r", O_RDONLY},
    {"r+", O_RDWR},
    {"rb+", O_RDWR},
    {"w", O_CREAT | O_TRUNC | O_WRONLY},
    {"w+", O_CREAT | O_TRUNC | O_RDWR},
    {"a", O_CREAT | O_APPEND | O_WRONLY},
    {"a+e", O_CREAT | O_APPEND | O_RDWR},
};

/* A file that is made may have the process's number in its name, and is the rank's. */
static void test_opened_files_are_the_rank_s(void **state) {
  char expected[80];
  (void)state;
  for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
    stream_count = 0;
    assert_ptr_equal(CALL(fopen)("path", modes[i].mode), stream_at(0));
    snprintf(expected, sizeof expected, "name:path,%x fopen:path,%s ", (unsigned)modes[i].flags,
             modes[i].mode);
    check_trace(expected);
    assert_string_equal(files, "ioeabi....");
    assert_int_equal(owners[5], '0');
    assert_int_equal(CALL(fclose)(stream_at(0)), 0);
    check_trace("fclose:5 ");
    assert_string_equal(files, "ioeab.....");
    assert_int_equal(owners[5], NO_OWNER);
  }
  stream_count = 0;
  assert_ptr_equal(CALL(tmpfile)(), stream_at(0));
  assert_int_equal(owners[5], '0');
  check_trace("fopen:tmpfile,w+ ");
  no_stream = true;
  assert_null(CALL(fopen)("path", "r"));
  assert_null(CALL(tmpfile)());
  assert_int_equal(locks, 0);
}

static void test_a_file_gets_the_number_that_the_rank_has_closed(void **state) {
  (void)state;
  CALL(close)(0);
  CALL(close)(1);
  assert_ptr_equal(CALL(fopen)("path", "w"), stream_at(0));
  assert_string_equal(files, "ioeabii...");
  assert_true(owners[5] == '0' && owners[6] == '0');
  assert_true(on_exec[6]); /* a child has the number alone */
  assert_true(tm_streams_meant(1) == 6 && followed(0, 1) == 6);
  assert_true(has_closed(0)); /* it is no output */
  assert_int_equal(CALL(fclose)(stream_at(0)), 0);
  assert_string_equal(files, "ioeab.....");
  assert_true(has_closed(1) && owners[5] == NO_OWNER && owners[6] == NO_OWNER);
  CALL(dup2)(3, 1);
  files[6] = 'b';
  stream_fd[0] = 6;
  assert_int_equal(CALL(fclose)(stream_at(0)), 0); /* another file: it has no number any more */
  assert_string_equal(files, "ioeaba....");
  assert_int_equal(tm_streams_meant(1), 5);
  rank = 1;
  assert_int_equal(tm_streams_meant(1), 1);
}

/* The next rank of this number has other streams, perhaps in the same place. */
static void test_the_number_is_free_when_the_rank_ends(void **state) {
  (void)state;
  CALL(close)(2);
  CALL(fopen)("path", "w");
  assert_int_equal(tm_streams_meant(2), 6);
  tm_streams_end(0);
  assert_string_equal(files, "ioeabi....");
  CALL(dup2)(3, 2);
  assert_int_equal(CALL(fclose)(stream_at(0)), 0);
  assert_int_equal(tm_streams_meant(2), 6);
  assert_string_equal(files, "ioeab.a...");
}

static void test_files_that_get_no_number(void **state) {
  (void)state;
  CALL(dup2)(3, 2); /* it has numbers of its own, but none is closed */
  CALL(fopen)("path", "w");
  assert_string_equal(files, "ioeabai...");
  assert_true(owners[6] == '0' && owners[7] == NO_OWNER);
  CALL(close)(1);
  fill_table();
  files[9] = '.';
  assert_ptr_equal(CALL(fopen)("path", "w"), stream_at(1)); /* no descriptor is left for a copy */
  assert_true(has_closed(1));
}

static void test_files_where_output_does_not_follow(void **state) {
  (void)state;
  CALL(close)(1);
  routed = false;
  assert_ptr_equal(CALL(fopen)("path", "w"), stream_at(0));
  assert_string_equal(files, "ioeabi....");
  assert_true(has_closed(1));
  check_said("");
}

/* ---- streams on descriptors */

static void test_a_stream_on_a_shared_number_has_a_copy(void **state) {
  (void)state;
  assert_ptr_equal(CALL(fdopen)(1, "w"), stream_at(0));
  check_trace("fdopen:5,w ");
  assert_string_equal(files, "ioeabo....");
  assert_true(on_exec[5] && owners[5] == '0');
  CALL(dup2)(4, 2);
  assert_ptr_equal(CALL(fdopen)(2, "a"), stream_at(1)); /* of what the rank means by 2 */
  check_trace("fdopen:7,a ");
  assert_string_equal(files, "ioeabobb..");
  assert_ptr_equal(CALL(fdopen)(3, "r"), stream_at(2));
  check_trace("fdopen:3,r ");
  assert_int_equal(CALL(fclose)(stream_at(0)), 0);
  assert_string_equal(files, "ioeab.bb..");
  assert_int_equal(tm_streams_meant(2), 6);
}

static void test_streams_that_cannot_be_made_on_a_number(void **state) {
  (void)state;
  CALL(close)(1);
  assert_null(CALL(fdopen)(1, "w"));
  assert_int_equal(errno, EBADF);
  check_trace("");
  no_stream = true;
  assert_null(CALL(fdopen)(2, "w"));
  check_trace("fdopen:5,w ");
  assert_string_equal(files, "ioeab....."); /* the copy is gone */
  assert_int_equal(owners[5], NO_OWNER);
  no_stream = false;
  rank = -1;
  assert_ptr_equal(CALL(fdopen)(2, "w"), stream_at(0));
  check_trace("fdopen:2,w ");
}

static void test_numbers_of_streams(void **state) {
  (void)state;
  assert_int_equal(CALL(fileno)(stdout), 1);
  assert_int_equal(CALL(fileno)(stderr), 2);
  stream_fd[2] = 8;
  assert_int_equal(CALL(fileno)(stream_at(2)), 8);
}

/* ---- reopening */

static void test_a_rank_reopens_its_output(void **state) {
  char expected[80];
  (void)state;
  for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
    assert_ptr_equal(CALL(freopen)("new", modes[i].mode, stdout), stdout);
    snprintf(expected, sizeof expected, "name:new,%x open:new,%x,666 ", (unsigned)modes[i].flags,
             (unsigned)modes[i].flags);
    check_trace(expected);
    assert_int_equal(files[tm_streams_meant(1)], 'n');
    assert_int_equal(strspn(strchr(files, 'n') + 1, "n"), 0); /* one descriptor is left of it */
  }
  assert_ptr_equal(CALL(freopen)("file", "w", stderr), stderr);
  assert_int_equal(files[tm_streams_meant(2)], 'f');
  assert_int_equal(files[1], 'o');
  int own = tm_streams_meant(1);
  assert_ptr_equal(
      ((FILE * (*)(const char *, const char *, FILE *)) row("freopen"))(NULL, "w", stdout),
      stdout); /* the same file */
  assert_int_equal(tm_streams_meant(1), own);
  trace[0] = '\0';
  rank = 1;
  assert_int_equal(tm_streams_meant(1), 1);
  check_said("");
}

static void test_output_that_cannot_be_reopened(void **state) {
  (void)state;
  assert_null(CALL(freopen)("-none", "w", stdout));
  assert_int_equal(errno, ENOENT);
  assert_false(tm_streams_any());
  fill_table();
  files[8] = '.'; /* for the file, and none for its copy */
  assert_null(CALL(freopen)("new", "w", stdout));
  assert_int_equal(files[8], '.');
  assert_false(tm_streams_any());
}

static void test_paths_that_name_the_rank_s_descriptors(void **state) {
  (void)state;
  CALL(dup2)(3, 1);
  CALL(fopen)("/dev/stdout", "r");
  check_trace("name:/dev/stdout,0 fopen:/proc/self/fd/5,r ");
  CALL(freopen)("/dev/stdout", "r", stderr);
  check_trace("name:/dev/stdout,0 open:/proc/self/fd/5,0,666 ");
  CALL(freopen)("/dev/stdout", "r", stream_at(0)); /* another stream is libc's matter */
  check_trace("freopen:/proc/self/fd/5,r ");
  rank = -1;
  assert_ptr_equal(CALL(freopen)("path", "w", stdout), stdout);
  assert_ptr_equal(CALL(freopen)("path", "r", stdin), stdin);
  check_trace("freopen:path,w freopen:path,r ");
  check_said("");
  rank = 2;
  CALL(freopen)("path", "r", stream_at(0));
  check_said("");
  assert_ptr_equal(CALL(freopen)("path", "r", stdin), stdin);
  check_said(
      "tmpirun: rank 2 redirected its input by freopen(): all ranks share it (open the file)\n");
}

/* ---- closing */

static void test_a_rank_closes_streams_that_others_have(void **state) {
  (void)state;
  assert_int_equal(CALL(fclose)(stdin), 77);
  assert_false(tm_streams_any());
  assert_int_equal(CALL(fclose)(stdout), 77);
  assert_true(!has_closed(0) && has_closed(1) && !has_closed(2));
  assert_int_equal(CALL(fclose)(stderr), 77);
  assert_true(!has_closed(0) && has_closed(1) && has_closed(2));
  check_trace("flush:stdout flush:stdout flush:stderr ");
  assert_string_equal(files, "ioeab.....");
  rank = 1;
  routed = false; /* what it prints would not follow */
  assert_int_equal(CALL(fclose)(stdout), 77);
  assert_false(tm_streams_any());
  check_trace("flush:stdout ");
  rank = -1;
  stream_fd[0] = 4;
  owners[4] = '2';
  assert_int_equal(CALL(fclose)(stream_at(0)), 0);
  check_trace("fclose:4 ");
  assert_true(files[4] == '.' && owners[4] == NO_OWNER);
}

int main(void) {
#define ROW(test) cmocka_unit_test_setup_teardown(test, set_up_own, tear_down)
  const struct CMUnitTest tests[] = {
      ROW(test_opened_files_are_the_rank_s),
      ROW(test_a_file_gets_the_number_that_the_rank_has_closed),
      ROW(test_the_number_is_free_when_the_rank_ends),
      ROW(test_files_that_get_no_number),
      ROW(test_files_where_output_does_not_follow),
      ROW(test_a_stream_on_a_shared_number_has_a_copy),
      ROW(test_streams_that_cannot_be_made_on_a_number),
      ROW(test_numbers_of_streams),
      ROW(test_a_rank_reopens_its_output),
      ROW(test_output_that_cannot_be_reopened),
      ROW(test_paths_that_name_the_rank_s_descriptors),
      ROW(test_a_rank_closes_streams_that_others_have),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
