/* SPDX-License-Identifier: Apache-2.0 */
/* Traces: what a file says of each kind of variable, and what is refused. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "sim/log.h"

static uint8_t byte;
static uint16_t two;
static uint64_t wide;
static float single;
static double real;

static void change(void *arg) {
  (void)arg;
  mltp_sim_waitfor(1);
  byte = 0xfe;
  two = 1;
  wide = (uint64_t)1 << 63;
  mltp_sim_waitfor(2);
  single = 0.5F;
  real = -1e300;
  mltp_sim_waitfor(3);
}

static void read_file(const char *path, char *text, size_t size) {
  FILE *file = fopen(path, "r");
  size_t length = file != NULL ? fread(text, 1, size - 1, file) : 0;
  text[length] = '\0';
  if (file != NULL) fclose(file);
}

static void each_kind_is_written_when_it_changes(void) {
  char path[] = "/tmp/mltp_sim_trace.XXXXXX", text[4096], zeroes[66], bits[66];
  int fd = mkstemp(path);
  CHECK(fd >= 0);
  close(fd);
  byte = two = 0;
  wide = 0;
  single = 0;
  real = 0;
  CHECK_EQUAL(mltp_sim_trace_open(path, "10ps"), 0);
  CHECK_EQUAL(mltp_sim_trace("byte", &byte, 1, MLTP_SIM_TRACE_INTEGER), 0);
  CHECK_EQUAL(mltp_sim_trace("two", &two, 2, MLTP_SIM_TRACE_INTEGER), 0);
  CHECK_EQUAL(mltp_sim_trace("wide", &wide, 8, MLTP_SIM_TRACE_INTEGER), 0);
  CHECK_EQUAL(mltp_sim_trace("part.single", &single, 4, MLTP_SIM_TRACE_REAL), 0);
  CHECK_EQUAL(mltp_sim_trace("part.real", &real, 8, MLTP_SIM_TRACE_REAL), 0);
  CHECK_EQUAL(mltp_sim_run(change, NULL), 0);
  read_file(path, text, sizeof text);
  unlink(path);
  memset(zeroes, '0', sizeof zeroes);
  snprintf(bits, sizeof bits, "1%.63s", zeroes);
  char expected[4096];
  snprintf(expected, sizeof expected,
           "$version mltp $end\n$timescale 10ps $end\n"
           "$var integer 8 ! byte $end\n$var integer 16 \" two $end\n$var integer 64 # wide $end\n"
           "$scope module part $end\n$var real 64 $ single $end\n$upscope $end\n"
           "$scope module part $end\n$var real 64 %% real $end\n$upscope $end\n"
           "$enddefinitions $end\n"
           "#0\nb0 !\nb0 \"\nb0 #\nr0 $\nr0 %%\n"
           "#1\nb11111110 !\nb1 \"\nb%s #\n"
           "#3\nr0.5 $\nr-1e+300 %%\n#6\n",
           bits);
  CHECK_TEXT(text, expected);
}

/* ---- many variables, and where they are */

enum { MANY = 200, CHANGED = 150, DIGITS = '~' - '!' + 1 };

static uint32_t many[MANY];

static void change_one(void *arg) {
  (void)arg;
  mltp_sim_waitfor(1);
  many[CHANGED] = 5;
  mltp_sim_waitfor(1);
}

/* The same again starts anew: what was traced before is forgotten. */
static void names_and_codes_of_many_variables(void) {
  static char text[1 << 16];
  char path[] = "/tmp/mltp_sim_trace.XXXXXX", name[32], line[64];
  CHECK_EQUAL(close(mkstemp(path)), 0);
  for (int round = 0; round < 2; round++) {
    memset(many, 0, sizeof many);
    CHECK_EQUAL(mltp_sim_trace_open(path, "1ns"), 0);
    for (int i = 0; i < MANY; i++) {
      snprintf(name, sizeof name, i == 0 ? "top.middle.leaf" : "v%d", i);
      CHECK_EQUAL(mltp_sim_trace(name, &many[i], 4, MLTP_SIM_TRACE_INTEGER), 0);
    }
    CHECK_EQUAL(mltp_sim_run(change_one, NULL), 0);
    read_file(path, text, sizeof text);
    int variables = 0;
    for (const char *at = text; (at = strstr(at, "$var integer 32 ")) != NULL; at++) variables++;
    CHECK_EQUAL(variables, MANY);
    CHECK(strstr(text,
                 "$scope module top $end\n$scope module middle $end\n"
                 "$var integer 32 ! leaf $end\n$upscope $end\n$upscope $end\n$var") != NULL);
    for (int i = DIGITS - 1; i <= DIGITS; i++) { /* the last that has one character, and the next */
      char code[] = {(char)('!' + i % DIGITS), i < DIGITS ? '\0' : '"' /* 1 */, '\0'};
      snprintf(line, sizeof line, "$var integer 32 %s v%d $end\n", code, i);
      CHECK(strstr(text, line) != NULL);
    }
    snprintf(line, sizeof line, "#1\nb101 %c\"\n#2\n", '!' + CHANGED % DIGITS);
    CHECK(strstr(text, line) != NULL);
  }
  unlink(path);
}

static void trace_to_a_full_disk(void) {
  if (mltp_init(0) != 0 || mltp_sim_trace_open("/dev/full", "1ns") != 0) _exit(1);
  if (mltp_sim_run(change_one, NULL) != 0 || mltp_finalize() != 0) _exit(2);
}

static void a_trace_that_is_not_whole_is_reported(void) {
  static struct outcome outcome;
  run_child(&outcome, trace_to_a_full_disk, (const char *const[]){NULL});
  CHECK_EQUAL(outcome.status, 0);
  CHECK(strstr(outcome.said, "mltp: the trace is incomplete") != NULL);
}

static void what_cannot_be_traced_is_refused(void) {
  CHECK_EQUAL(mltp_sim_trace("three", &wide, 3, MLTP_SIM_TRACE_INTEGER), EINVAL);
  CHECK_EQUAL(mltp_sim_trace("byte", &byte, 1, MLTP_SIM_TRACE_REAL), EINVAL);
  CHECK_EQUAL(mltp_sim_trace_open("/no/such/folder/file", "1ns"), ENOENT);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST_BARE(a_trace_that_is_not_whole_is_reported), /* a child, before there are threads */
      TEST(names_and_codes_of_many_variables),
      TEST(each_kind_is_written_when_it_changes),
      TEST(what_cannot_be_traced_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
