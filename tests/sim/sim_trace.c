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

static void what_cannot_be_traced_is_refused(void) {
  CHECK_EQUAL(mltp_sim_trace("three", &wide, 3, MLTP_SIM_TRACE_INTEGER), EINVAL);
  CHECK_EQUAL(mltp_sim_trace("byte", &byte, 1, MLTP_SIM_TRACE_REAL), EINVAL);
  CHECK_EQUAL(mltp_sim_trace_open("/no/such/folder/file", "1ns"), ENOENT);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(each_kind_is_written_when_it_changes),
      TEST(what_cannot_be_traced_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
