/* SPDX-License-Identifier: Apache-2.0 */
/* Schedules of deterministic runs: which texts are one, what they choose, and what the log says. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/schedule.h"
#include "os/os.h"
#include "support/support.h"

enum { STEPS = 12, TEXT_MAX = 1024 };

static const struct row {
  const char *text;
  enum mt_schedule_kind kind;
  int depth;
  unsigned long expected;
  const char *choices; /* of a list: a digit for each step from 0 on */
} rows[] = {
    {"random", MT_SCHEDULE_RANDOM, 0, 0, "000000000000"},
    {"fifo", MT_SCHEDULE_LIST, 0, 0, "000000000000"},
    {"pct:1:1", MT_SCHEDULE_PCT, 1, 1, "000000000000"},
    {"pct:3:500", MT_SCHEDULE_PCT, 3, 500, "000000000000"},
    {"pct:32:18446744073709551615", MT_SCHEDULE_PCT, 32, -1ul, "000000000000"},
    {"1:1", MT_SCHEDULE_LIST, 0, 0, "010000000000"},
    {"5:2", MT_SCHEDULE_LIST, 0, 0, "000002000000"},
    {"2:1,3:4,9:7", MT_SCHEDULE_LIST, 0, 0, "001400000700"},
};

static const char *const refused[] = {
    "rando",     "randoms", "fif",      "pct:",        "pct:2",   "pct:0:10", "pct:33:10",
    "pct:-1:10", "pct:2:0", "pct:2:5x", "pct:2:5:1",   "3",       "3:",       "3:0",
    "0:1",       "x:1",     "3:x",      "3:1,3:1",     "3:1,2:1", "3:1;5:1",  "3:1,x",
    "3:1,,5:1",  "3:1,5:0", "3:1,5:1x", "1:1,2:1,2:1", "3:1,",
};

static void each_text_is_read(void) {
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    const struct row *row = &rows[i];
    struct mt_schedule schedule;
    char choices[STEPS + 1] = "";
    check_case("%s", row->text);
    memset(&schedule, 0x55, sizeof schedule);
    CHECK_EQUAL(mt_schedule_read(&schedule, row->text), 0);
    CHECK_EQUAL(schedule.kind, row->kind);
    CHECK_EQUAL(schedule.depth, row->depth);
    CHECK_EQUAL(schedule.expected, row->expected);
    for (unsigned step = 0; step < STEPS; step++)
      choices[step] = (char)('0' + mt_schedule_next(&schedule, step));
    CHECK_TEXT(choices, row->choices);
  }
}

/* A step that nobody asks for, as it has no choice. */
static void steps_may_be_passed_over(void) {
  struct mt_schedule schedule;
  CHECK_EQUAL(mt_schedule_read(&schedule, "2:1,3:4,9:7"), 0);
  CHECK_EQUAL(mt_schedule_next(&schedule, 3), 4);
  CHECK_EQUAL(mt_schedule_next(&schedule, 3), 4); /* asked again */
  CHECK_EQUAL(mt_schedule_next(&schedule, 8), 0);
  CHECK_EQUAL(mt_schedule_next(&schedule, 9), 7);
  CHECK_EQUAL(mt_schedule_next(&schedule, 10), 0);
  CHECK_EQUAL(mt_schedule_read(&schedule, "2:1,9:7"), 0);
  CHECK_EQUAL(mt_schedule_next(&schedule, 10), 0);
}

static void other_texts_are_refused(void) {
  for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
    struct mt_schedule schedule;
    check_case("%s", refused[i]);
    CHECK_EQUAL(mt_schedule_read(&schedule, refused[i]), EINVAL);
  }
}

/* ---- the log */

static char path[] = "/tmp/mltp-schedule-XXXXXX";

static const char *logged(void) {
  static char text[TEXT_MAX];
  int fd = open(path, O_RDONLY);
  ssize_t length = read(fd, text, sizeof text - 1);
  text[length > 0 ? length : 0] = '\0';
  close(fd);
  return text;
}

static int count_descriptors(void) {
  DIR *files = opendir("/proc/self/fd");
  int count = 0;
  CHECK(files != NULL);
  while (files != NULL && readdir(files) != NULL) count++;
  if (files != NULL) closedir(files);
  return count;
}

static void choices_and_changes_are_logged(void) {
  static const char lines[] =
      "2\t1\t3\t4\tfrom\tcall\t5\tto\n3\t0\t1\t4\tfrom\tcall\t5\tto\n4\t0\t2\t4\tsame\tcall\t4\tsam"
      "e\n";
  int before = count_descriptors();
  CHECK_EQUAL(close(mkstemp(path)), 0);
  CHECK_EQUAL(mt_schedule_log_open("none"), 0);
  mt_schedule_write(1, 1, 2, 4, "from", "call", 5, "to");
  for (int i = 0; i < 3; i++) CHECK_EQUAL(mt_schedule_log_open(path), 0); /* the last one counts */
  CHECK_TEXT(logged(), "");
  mt_schedule_write(1, 0, 1, 4, "same", "call", 4, "same"); /* no choice, and no change */
  mt_schedule_write(2, 1, 3, 4, "from", "call", 5, "to");
  mt_schedule_write(3, 0, 1, 4, "from", "call", 5, "to");
  mt_schedule_write(4, 0, 2, 4, "same", "call", 4, "same");
  CHECK_TEXT(logged(), lines);
  CHECK_EQUAL(mt_schedule_log_open("/nowhere/at/all"), EINVAL);
  mt_schedule_write(5, 1, 3, 4, "from", "call", 5, "to");
  CHECK_EQUAL(mt_schedule_log_open("none"), 0);
  mt_schedule_write(6, 1, 3, 4, "from", "call", 5, "to");
  CHECK_TEXT(logged(), lines);
  CHECK_EQUAL(mt_schedule_log_open(path), 0);
  CHECK_EQUAL(mt_schedule_log_open("none"), 0);
  int other = os_open_log(path); /* another file may get the number of the log, which is closed */
  mt_schedule_write(7, 1, 3, 4, "from", "call", 5, "to");
  CHECK_TEXT(logged(), lines);
  os_close(other);
  CHECK_EQUAL(count_descriptors(), before);
  CHECK_EQUAL(unlink(path), 0);
}

/* The first numbers that the published splitmix64 draws from 0. */
static void numbers_are_those_of_splitmix64(void) {
  uint64_t generator = 0;
  CHECK_EQUAL(mt_schedule_draw(&generator), 0xe220a8397b1dcdafu);
  CHECK_EQUAL(mt_schedule_draw(&generator), 0x6e789e6aa1b965f4u);
  CHECK_EQUAL(mt_schedule_draw(&generator), 0x06c45d188009454fu);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST_BARE(each_text_is_read),
      TEST_BARE(steps_may_be_passed_over),
      TEST_BARE(other_texts_are_refused),
      TEST_BARE(choices_and_changes_are_logged),
      TEST_BARE(numbers_are_those_of_splitmix64),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
