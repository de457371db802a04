/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What --report counts and prints, number by number (src/tmpi/check/traffic.c): calls, messages and
 * bytes of each rank, on one node and on several. Calls are made here, and the file of the report
 * is the test's.
 */
#include <errno.h>
#include <jansson.h>
#include <mltp/mltp.h>
#include <stdbool.h>
#include <stdlib.h>

#include "captured.h"
#include "core/internal/park.h"
#include "tmpi/check/check.h"
#include "tmpi/layout/type.h"
#include "tmpi/mailbox/mailbox.h"
#include "tmpi/rank/rank.h"
#include "traced_calls.h"

enum { RANKS = 4, MS = 1000000, SOME_COMM = 77 };

/* Every second one may wait for other ranks, from the first on. */
const char *const tm_calls[] = {
    "MPI_Recv",
    "MPI_Send",
    "MPI_Mrecv",
    "MPI_Isend",
    "MPI_Sendrecv",
    "MPI_Irecv",
    "MPI_Ssend",
    "MPI_Imrecv",
    "MPI_Wait",
    "MPI_Send_init",
    "MPI_Probe",
    "MPI_Start",
    "MPI_Mprobe",
    "MPI_Startall",
    "MPI_Barrier",
    "MPI_Ibarrier",
    "MPI_Bcast",
    "MPI_Bcast_init",
    "MPI_Gather",
    "MPI_Iprobe",
    "MPI_Scatter",
    "MPI_Reduce_local",
    "MPI_Allgather",
    "MPI_Test",
    "MPI_Alltoall",
    "MPI_Rsend",
    "MPI_Reduce_scatter",
    "MPI_Comm_rank",
    "MPI_Allreduce",
    "MPI_Bsend",
    "MPI_Scan",
    "MPI_Get",
    "MPI_Exscan",
    "MPI_Ineighbor_alltoall",
    "MPI_Neighbor_allgather",
};
const int tm_call_count = sizeof tm_calls / sizeof tm_calls[0];

/* ---- the rest of the library */

struct tm_job tm_job;
struct tm_type tm_predefined[TM_PREDEFINED_COUNT];
static struct tm_rank ranks[RANKS];
static uint64_t paid, failed; /* of this node's waits */

int mltp_await_counts(mltp_await_counters_t *counters) {
  assert_int_equal(counters->size, sizeof *counters);
  counters->spins_paid = paid;
  counters->spins_failed = failed;
  return 0;
}

uint64_t mti_park_ns(void) { return 2 * MS; }

static bool memory_is_out;

void *__real_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t size);

void *__wrap_malloc(size_t bytes) { return memory_is_out ? NULL : __real_malloc(bytes); }

void *__wrap_calloc(size_t count, size_t size) { /* once for each job: it is never freed */
  static uint64_t table[RANKS * sizeof tm_calls / sizeof tm_calls[0] * 4];
  assert_int_equal(count * size, sizeof table);
  return memory_is_out ? NULL : memset(table, 0, sizeof table);
}

static struct tm_library *no_libraries(size_t *count) {
  *count = 5;
  return NULL;
}

static struct tm_library *two_libraries(size_t *count) {
  struct tm_library *list = malloc(2 * sizeof *list);
  list[0] = (struct tm_library){"/a/own.so", NULL, (5 << 20) + 1023};
  list[1] = (struct tm_library){"/b/shared.so", "it has thread-locals", 0};
  *count = 2;
  return list;
}

/* ---- the file */

static char *written;
static size_t written_length;
static FILE *file;
static bool cannot_open, cannot_close;

int __real_fclose(FILE *stream);
int __wrap_fclose(FILE *stream);
FILE *__wrap_fopen(const char *path, const char *mode);

FILE *__wrap_fopen(const char *path, const char *mode) {
  note("open:%s,%s", path, mode);
  errno = EACCES;
  file = cannot_open ? NULL : open_memstream(&written, &written_length);
  return file;
}

int __wrap_fclose(FILE *stream) {
  assert_ptr_equal(stream, file);
  note("close");
  __real_fclose(stream);
  errno = ENOSPC;
  return cannot_close ? EOF : 0;
}

/* ---- calls */

static int call_of(const char *name) {
  int call = 0;
  while (strcmp(tm_calls[call], name) != 0) call++;
  return call;
}

static void call_for(int rank, const char *name, uint64_t ns) {
  struct tm_seen seen = {.call = call_of(name), .rank = rank, .start = 100, .peer = TM_NONE};
  tm_traffic_end(&seen, 100 + ns);
}

static void sends(int rank, const char *name, int peer, int count) {
  struct tm_seen seen = {.call = call_of(name),
                         .rank = rank,
                         .comm = (MPI_Comm)(uintptr_t)SOME_COMM,
                         .peer = peer,
                         .data = {&seen, count, MPI_INT}};
  tm_traffic_end(&seen, MS);
}

static char text[6000];

static const char *report(void) {
  struct captured captured = captured_begin();
  tm_traffic_finish();
  captured_end(&captured, text, sizeof text);
  return text;
}

/* What the report's line of a call has in front of its seconds. */
static void check_line(const char *name, int calls, int messages, int bytes) {
  char expected[200];
  snprintf(expected, sizeof expected, "\n%-28s %12d %12d %16d ", name, calls, messages, bytes);
  assert_non_null(strstr(report(), expected));
}

static struct tm_check_options options;

static int start(void **state) {
  (void)state;
  memset(ranks, 0, sizeof ranks);
  tm_job = (struct tm_job){.size = RANKS,
                           .most = RANKS,
                           .first_size = RANKS,
                           .local = RANKS,
                           .here = RANKS,
                           .ranks = ranks};
  options = (struct tm_check_options){.report = true, .libraries = no_libraries};
  tm_predefined[(uintptr_t)MPI_INT - TM_PREDEFINED_FIRST] =
      (struct tm_type){.magic = TM_TYPE_MAGIC, .size = 4};
  paid = failed = 0;
  cannot_open = cannot_close = memory_is_out = false;
  trace[0] = '\0';
  return tm_traffic_start(&options) ? 0 : -1;
}

/* ---- counting */

static void test_sends_are_messages(void **state) {
  static const char *const names[] = {"MPI_Send", "MPI_Isend", "MPI_Ssend", "MPI_Rsend",
                                      "MPI_Sendrecv"};
  (void)state;
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    sends(1, names[i], 0, 3);
    sends(2, names[i], 3, 0); /* it is empty */
    sends(1, names[i], MPI_PROC_NULL, 3);
    check_line(names[i], 3, 2, 12);
  }
}

static void test_receives_are_none(void **state) {
  static const char *const names[] = {"MPI_Recv", "MPI_Irecv", "MPI_Mrecv", "MPI_Imrecv",
                                      "MPI_Send_init"};
  (void)state;
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    sends(1, names[i], 0, 3);
    check_line(names[i], 1, 0, 0);
  }
}

/* A collective has bytes, and no messages that a program would know. */
static void test_collectives_have_bytes(void **state) {
  struct tm_seen seen = {.call = call_of("MPI_Scatter"),
                         .comm = (MPI_Comm)(uintptr_t)SOME_COMM,
                         .peer = TM_NONE,
                         .data = {MPI_IN_PLACE, 5, MPI_INT}};
  (void)state;
  sends(1, "MPI_Bcast", TM_NONE, 7);
  sends(2, "MPI_Bcast", TM_NONE, 1);
  check_line("MPI_Bcast", 2, 0, 32);
  sends(1, "MPI_Barrier", 0, -1); /* it has no data */
  check_line("MPI_Barrier", 1, 0, 0);
  tm_traffic_end(&seen, 0);
  seen.data = (struct tm_data){&seen, 5, MPI_DATATYPE_NULL};
  tm_traffic_end(&seen, 0);
  check_line("MPI_Scatter", 2, 0, 0);
  sends(0, "MPI_Get", 1, 2);
  struct tm_seen local = {.call = call_of("MPI_Get"), .peer = 1, .data = {&seen, 2, MPI_INT}};
  tm_traffic_end(&local, 0); /* of no communicator */
  check_line("MPI_Get", 2, 1, 8);
}

static void test_persistent_sends_count_when_they_start(void **state) {
  struct tm_type wide = {.size = 10};
  struct tm_request send = {.kind = TM_SEND, .count = 2, .type = &wide},
                    receive = {.kind = TM_RECV, .count = 5, .type = &wide};
  MPI_Request requests[] = {(MPI_Request)&send, (MPI_Request)&receive, (MPI_Request)&send};
  struct tm_seen seen = {
      .call = call_of("MPI_Startall"), .rank = 1, .object = requests, .count = 3};
  (void)state;
  tm_traffic_end(&seen, 0);
  check_line("MPI_Startall", 1, 2, 40);
  seen.call = call_of("MPI_Start");
  seen.count = 1;
  tm_traffic_end(&seen, 0);
  check_line("MPI_Start", 1, 1, 20);
}

/* A callback of the program's runs within another call: its time is that call's. */
static void test_times_count_once(void **state) {
  struct tm_seen outer = {.call = call_of("MPI_Wait"), .start = 0, .peer = TM_NONE},
                 inner = {
                     .call = call_of("MPI_Test"), .start = 0, .outer = &outer, .peer = TM_NONE};
  (void)state;
  tm_traffic_end(&inner, 3 * MS);
  outer.outer = &outer; /* two threads of the rank are in calls */
  tm_traffic_end(&outer, 7 * MS);
  call_for(2, "MPI_Wait", 9 * MS);
  call_for(3, "MPI_Wait", 8 * MS);
  report();
  assert_non_null(strstr(text,
                         "\nMPI_Test                                1            0                0"
                         "     0.000000     0.000000  0\n"));
  assert_non_null(strstr(text,
                         "\nMPI_Wait                                3            0                0"
                         "     0.024000     0.009000  2\n"));
}

/* ---- the text */

#define HEADING                                                                                    \
  "tmpi: report of 4 ranks; seconds are those spent in the call, waiting included\n"               \
  "call                                calls     messages            bytes      seconds         "  \
  "most  "                                                                                         \
  "of rank\n"
#define LIBRARIES                                                                                  \
  "library                                                        KiB a rank  ranks\n"

static void test_report_of_a_job(void **state) {
  (void)state;
  sends(1, "MPI_Send", 0, 3);
  call_for(3, "MPI_Barrier", 1500 * MS);
  call_for(0, "MPI_Barrier", 0);
  call_for(1, "MPI_Recv", 0);
  ranks[0].parks = 4;
  ranks[3].parks = 1;
  paid = 7;
  failed = 2;
  assert_string_equal(
      report(), HEADING
      "MPI_Recv                                1            0                0     0.000000     "
      "0.000000  0\n"
      "MPI_Send                                1            1               12     0.001000     "
      "0.001000  1\n"
      "MPI_Barrier                             2            0                0     1.500000     "
      "1.500000  3\n"
      "in 3 calls ranks have waited 12 times: 5 parked, 7 spun until it came; of those "
      "parked 2 had spun, 0.004000 s at most\n" LIBRARIES);
  tm_job.wait = TM_WAIT_SPIN;
  tm_job.spin_ns = 3 * MS;
  assert_non_null(strstr(report(), "of those parked 2 had spun, 0.006000 s at most\n"));
}

static void test_which_calls_may_wait(void **state) {
  char expected[60];
  int waits = 0;
  (void)state;
  for (int i = 0; i < tm_call_count; i++) {
    if (i % 2 == 0) waits++;
    call_for(i % RANKS, tm_calls[i], 0);
    snprintf(expected, sizeof expected, "\nin %d calls ranks have waited ", waits);
    if (strstr(report(), expected) == NULL) fail_msg("%s", tm_calls[i]);
  }
}

static void test_libraries(void **state) {
  (void)state;
  options.libraries = two_libraries;
  assert_true(tm_traffic_start(&options));
  report();
  assert_string_equal(
      strstr(text, "library"), LIBRARIES
      "/a/own.so                                                            5120  have copies of "
      "their own\n"
      "/b/shared.so                                                               share it: it has "
      "thread-locals\n");
}

/* ---- several nodes: the ranks of this one are 2 and 3 */

/* Of the message between nodes. */
struct portion {
  int32_t rank, call;
  uint64_t calls, messages, bytes, ns;
};

static void test_nodes_send_what_they_have_counted(void **state) {
  size_t bytes = 0;
  (void)state;
  tm_job.first = 2;
  tm_job.local = tm_job.here = 2;
  sends(2, "MPI_Send", 0, 3);
  sends(3, "MPI_Send", 1, 4);
  call_for(3, "MPI_Barrier", 5 * MS);
  call_for(2, "MPI_Recv", 0);
  call_for(3, "MPI_Recv", 0);
  ranks[2].parks = 6;
  ranks[3].parks = 1;
  paid = 7;
  failed = 3;
  memory_is_out = true;
  assert_null(tm_traffic_gather(&bytes));
  memory_is_out = false;
  void *gathered = tm_traffic_gather(&bytes);
  assert_non_null(gathered);
  assert_int_equal(bytes, (5 + 2 + 1) * sizeof(struct portion)); /* calls, parks, and spins */
  /* node 0 */
  start(NULL);
  tm_job.local = tm_job.here = 2;
  paid = 10;
  failed = 1;
  ranks[0].parks = 20;
  sends(0, "MPI_Send", 1, 1);
  tm_traffic_add(gathered, bytes);
  assert_string_equal(
      report(),
      "tmpi: report of 4 ranks on 2 nodes; seconds are those spent in the call, waiting included\n"
      "call                                calls     messages            bytes      seconds        "
      " "
      "most  of rank  node\n"
      "MPI_Recv                                2            0                0     0.000000     "
      "0.000000  0        0\n"
      "MPI_Send                                3            3               32     0.003000     "
      "0.001000  0        0\n"
      "MPI_Barrier                             1            0                0     0.005000     "
      "0.005000  3        1\n"
      "in 3 calls ranks have waited 44 times: 27 parked, 17 spun until it came; of those "
      "parked 4 had spun, 0.008000 s at most\n" LIBRARIES);
  free(gathered);
}

/* A message of another node is not trusted. */
static void test_counts_that_make_no_sense_are_dropped(void **state) {
  struct portion wrong[] = {
      {-1, 0, 9, 9, 9, 9}, {RANKS, 0, 9, 9, 9, 9},         {RANKS, -1, 9, 9, 9, 9},
      {0, -3, 9, 9, 9, 9}, {0, tm_call_count, 9, 9, 9, 9}, {0, 0, 8, 0, 0, 0},
      {0, 1, 1, 0, 0, 0}};
  (void)state;
  report();
  char *before = strdup(text);
  tm_traffic_add(wrong, 5 * sizeof wrong[0]);
  assert_string_equal(report(), before);
  tm_traffic_add(wrong, sizeof wrong - 1); /* the last one is cut off */
  check_line("MPI_Recv", 8, 0, 0);
  assert_null(strstr(text, "MPI_Send "));
  free(before);
}

/* ---- the file */

static void test_text_in_a_file(void **state) {
  (void)state;
  report();
  char *expected = strdup(text);
  options.report_file = "some.json/report";
  assert_true(tm_traffic_start(&options));
  assert_string_equal(report(), "");
  check_trace("open:some.json/report,we close ");
  assert_string_equal(written, expected);
  free(written);
  options.report_file = "report";
  assert_true(tm_traffic_start(&options));
  assert_string_equal(report(), "");
  assert_string_equal(written, expected);
  free(written);
  free(expected);
}

/* Of a text that has ' for each ". */
static json_t *in_quotes(const char *quoted) {
  char *copy = strdup(quoted);
  for (char *at = copy; (at = strchr(at, '\'')) != NULL;) *at = '"';
  json_t *made = json_loads(copy, 0, NULL);
  free(copy);
  return made;
}

static void test_json(void **state) {
  (void)state;
  options.report_file = "report.json";
  options.libraries = two_libraries;
  assert_true(tm_traffic_start(&options));
  sends(2, "MPI_Send", 1, 5);
  call_for(2, "MPI_Barrier", 1500 * MS);
  call_for(2, "MPI_Recv", 0);
  ranks[2].parks = 3;
  paid = 4;
  failed = 5;
  tm_job.local = 2;
  assert_string_equal(report(), "");
  assert_int_equal(written[written_length - 1], '\n');
  json_t
      *found = json_loads(written, 0, NULL),
      *expected = in_quotes(
          "{'size': 4,"
          " 'waits': {'calls': 2, 'parks': 3, 'spins_paid': 4, 'spins_vain': 5, 'spin_us': 2000.0},"
          " 'ranks': [{'rank': 0, 'node': 0, 'parks': 0, 'calls': {}},"
          "           {'rank': 1, 'node': 0, 'parks': 0, 'calls': {}},"
          "           {'rank': 2, 'node': 1, 'parks': 3, 'calls': {"
          "  'MPI_Recv': {'calls': 1, 'messages': 0, 'bytes': 0, 'seconds': 0.0},"
          "  'MPI_Send': {'calls': 1, 'messages': 1, 'bytes': 20, 'seconds': 0.001},"
          "  'MPI_Barrier': {'calls': 1, 'messages': 0, 'bytes': 0, 'seconds': 1.5}}},"
          "           {'rank': 3, 'node': 1, 'parks': 0, 'calls': {}}],"
          " 'libraries': [{'path': '/a/own.so', 'shared': null, 'bytes': 5243903},"
          "   {'path': '/b/shared.so', 'shared': 'it has thread-locals', 'bytes': 0}]}");
  assert_non_null(expected);
  assert_true(json_equal(found, expected));
  json_decref(found);
  json_decref(expected);
  free(written);
}

#define CANNOT "tmpirun: the report cannot be written to '%s': %s (another --report)\n"

static void test_a_report_that_cannot_be_written(void **state) {
  static const char *const files[] = {"report", "report.json"};
  char expected[200];
  (void)state;
  for (int i = 0; i < 2; i++) {
    options.report_file = files[i];
    assert_true(tm_traffic_start(&options));
    cannot_open = true;
    snprintf(expected, sizeof expected, CANNOT, files[i], strerror(EACCES));
    assert_string_equal(report(), expected);
    cannot_open = false;
    cannot_close = true;
    snprintf(expected, sizeof expected, CANNOT, files[i], strerror(ENOSPC));
    assert_string_equal(report(), expected);
    free(written);
    cannot_close = false;
  }
}

static void test_no_memory(void **state) {
  (void)state;
  memory_is_out = true;
  assert_false(tm_traffic_start(&options));
}

int main(void) {
#define ROW(test) cmocka_unit_test_setup(test, start)
  const struct CMUnitTest tests[] = {
      ROW(test_sends_are_messages),
      ROW(test_receives_are_none),
      ROW(test_collectives_have_bytes),
      ROW(test_persistent_sends_count_when_they_start),
      ROW(test_times_count_once),
      ROW(test_report_of_a_job),
      ROW(test_which_calls_may_wait),
      ROW(test_libraries),
      ROW(test_counts_that_make_no_sense_are_dropped),
      ROW(test_text_in_a_file),
      ROW(test_json),
      ROW(test_a_report_that_cannot_be_written),
      ROW(test_no_memory),
      ROW(test_nodes_send_what_they_have_counted), /* their waits stay in the sums */
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
