/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What --check prints, word by word: calls and data in words, how many findings there are, and
 * collectives of members on several nodes that differ. Calls and nodes are made here. Each report
 * is one of a process of its own, as it ends a job.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "captured.h"
#include "internal_locks.h"
#include "tmpi/check/check.h"
#include "tmpi/check/signature.h"
#include "tmpi/match/far.h"
#include "tmpi/object/comm.h"
#include "tmpi/object/span.h"
#include "tmpi/rank/rank.h"
#include "tmpi/report/location.h"
#include "tmpi/report/text.h"

enum { NODES = 3, TEXT = 1 << 15, ABORTED = 40, WHOLE = 41, FINDINGS_MAX = 100 };

/* ---- what is around */

struct tm_job tm_job;
struct tm_type tm_predefined[TM_PREDEFINED_COUNT];
const char *const tm_calls[] = {"MPI_Bcast", "MPI_Barrier", "MPI_Allreduce", "MPI_Gather"};
enum { BCAST, BARRIER, ALLREDUCE, GATHER };
void (*tm_far_check_hook)(const void *data, size_t bytes);

static int names_looked_up, dest_of_check;
static size_t lost_bytes; /* of a summary, on its way */
static jmp_buf aborts;

void tm_location_name(char *text, size_t size, const void *address) {
  names_looked_up++;
  snprintf(text, size, "line %zu", (size_t)(uintptr_t)address);
}

const char *tm_text_comm(const char *name) { return name[0] != '\0' ? name : "a communicator"; }

bool tm_op_is_predefined(MPI_Op op) { return op == MPI_SUM || op == MPI_MAX; }

void tm_far_check(const void *data, size_t bytes, int dest) {
  dest_of_check = dest;
  assert_int_equal(locked, 0);
  tm_far_check_hook(data, bytes - lost_bytes);
}

void tm_job_abort(int status) {
  assert_int_equal(status, 1);
  longjmp(aborts, 1);
}

/* What a part prints in a process of its own, and how it ends. */
static const char *printed(void (*part)(void), int expected) {
  static char said[TEXT];
  int status;
  struct captured captured = captured_begin();
  pid_t child = fork();
  if (child == 0) {
    if (setjmp(aborts) != 0) _exit(ABORTED);
    part();
    _exit(locked == 0 ? WHOLE : 1);
  }
  pid_t ended = waitpid(child, &status, 0);
  captured_end(&captured, said, sizeof said);
  assert_true(ended == child && WIFEXITED(status));
  if (WEXITSTATUS(status) != expected) fail_msg("status %d: %s", WEXITSTATUS(status), said);
  return said;
}

/* ---- words */

static void check_data(size_t count, MPI_Datatype type, const char *expected) {
  char text[100];
  tm_describe_data(text, sizeof text, count, type);
  assert_string_equal(text, expected);
}

static void prepare_types(void) {
  struct tm_type *integer = &tm_predefined[(uintptr_t)MPI_INT - TM_PREDEFINED_FIRST];
  *integer =
      (struct tm_type){.magic = TM_TYPE_MAGIC, .predefined = true, .predefined_name = "MPI_INT"};
}

static void data_in_words(void **state) {
  (void)state;
  char name[] = "halo";
  struct tm_type derived = {.magic = TM_TYPE_MAGIC, .size = 24};
  prepare_types();
  check_data(4, MPI_INT, "4 MPI_INT");
  check_data(1, (MPI_Datatype)&derived, "1 of a derived type of 24 bytes");
  derived.name = name;
  check_data(2, (MPI_Datatype)&derived, "2 halo");
  derived.predefined_name = "MPI_OTHER"; /* whatever a program calls it */
  check_data(2, (MPI_Datatype)&derived, "2 MPI_OTHER");
  check_data(3, MPI_FLOAT, "3 of no valid type");
}

static struct tm_seen call(int number) {
  return (struct tm_seen){.call = number,
                          .site = (const void *)7,
                          .root = TM_NONE,
                          .peer = TM_NONE,
                          .tag = TM_NONE,
                          .data = {NULL, -1, MPI_INT},
                          .other = {NULL, -1, MPI_INT}};
}

static void check_call(const struct tm_seen *seen, const char *expected) {
  char text[TM_CALL_TEXT];
  tm_describe(text, seen);
  assert_string_equal(text, expected);
}

static void calls_in_words(void **state) {
  (void)state;
  prepare_types();
  struct tm_seen seen = call(BARRIER);
  check_call(&seen, "MPI_Barrier() at line 7");
  seen = call(GATHER);
  seen.data.count = 4;
  check_call(&seen, "MPI_Gather(4 MPI_INT) at line 7");
  seen.other.count = 0;
  check_call(&seen, "MPI_Gather(sends 4 MPI_INT, receives 0 MPI_INT) at line 7");
  seen.root = seen.peer = seen.tag = 0;
  check_call(&seen,
             "MPI_Gather(sends 4 MPI_INT, receives 0 MPI_INT, root 0, rank 0, tag 0) at line 7");
  seen.op = MPI_MAX;
  check_call(&seen, "MPI_Gather(4 MPI_INT, root 0, rank 0, tag 0, MPI_MAX) at line 7");
  seen.data.buffer = MPI_IN_PLACE;
  seen.peer = TM_NONE;
  check_call(&seen, "MPI_Gather(root 0, tag 0, MPI_MAX) at line 7");
  seen.op = 0;
  check_call(&seen, "MPI_Gather(receives 0 MPI_INT, root 0, tag 0) at line 7");
  seen.data.count = -1;
  check_call(&seen, "MPI_Gather(root 0, tag 0) at line 7");
  /* a name of a type that is longer than a call may be */
  char name[2 * TM_CALL_TEXT], text[TM_CALL_TEXT];
  struct tm_type derived = {.magic = TM_TYPE_MAGIC, .name = name};
  memset(name, 'n', sizeof name);
  name[sizeof name - 1] = '\0';
  seen.data = seen.other = (struct tm_data){NULL, 1, (MPI_Datatype)&derived};
  tm_describe(text, &seen);
  assert_true(strlen(text) < TM_CALL_TEXT);
  assert_non_null(strstr(text, ", root 0, tag 0) at line 7"));
}

static void operations_in_words(void **state) {
  (void)state;
  static const struct {
    MPI_Op op;
    const char *name;
  } all[] = {{MPI_SUM, "MPI_SUM"},         {MPI_MIN, "MPI_MIN"},       {MPI_MAX, "MPI_MAX"},
             {MPI_PROD, "MPI_PROD"},       {MPI_BAND, "MPI_BAND"},     {MPI_BOR, "MPI_BOR"},
             {MPI_BXOR, "MPI_BXOR"},       {MPI_LAND, "MPI_LAND"},     {MPI_LOR, "MPI_LOR"},
             {MPI_LXOR, "MPI_LXOR"},       {MPI_MINLOC, "MPI_MINLOC"}, {MPI_MAXLOC, "MPI_MAXLOC"},
             {MPI_REPLACE, "MPI_REPLACE"}, {MPI_NO_OP, "MPI_NO_OP"}};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
    assert_string_equal(tm_op_name(all[i].op), all[i].name);
  assert_string_equal(tm_op_name((MPI_Op)&locked), "an operation of its own");
}

static void find_much(void) {
  for (int i = 1; i <= FINDINGS_MAX + 2; i++) {
    tm_finding_print("number %d", i);
    assert_int_equal(tm_finding_count(), i);
    if (i == 1 || i >= FINDINGS_MAX) tm_finding_continue("more of %d", i);
  }
  tm_finding_note("a note");
  assert_int_equal(tm_finding_count(), FINDINGS_MAX + 2);
}

static void findings_without_end(void **state) {
  (void)state;
  char expected[TEXT];
  size_t used = 0;
  for (int i = 1; i <= FINDINGS_MAX; i++) {
    used += (size_t)sprintf(expected + used, "tmpi: check: number %d\n", i);
    if (i == 1 || i == FINDINGS_MAX)
      used += (size_t)sprintf(expected + used, "tmpi:   more of %d\n", i);
  }
  strcpy(expected + used, "tmpi: check: further findings are counted only\ntmpi: check: a note\n");
  assert_string_equal(printed(find_much, WHOLE), expected);
}

/* ---- collectives of several nodes */

static struct tm_comm comm;
static struct tm_group *group;
static struct tm_span *span;

static void on_nodes(void) {
  tm_job.first_size = NODES;
  tm_job.local = 1;
  group = calloc(1, sizeof *group + NODES * sizeof(int));
  span = calloc(1, sizeof *span + NODES * sizeof(int));
  assert_true(group != NULL && span != NULL);
  group->size = NODES;
  for (int i = 0; i < NODES; i++) group->ranks[i] = NODES - 1 - i;
  span->nodes = NODES;
  comm = (struct tm_comm){.context = 4, .group = group, .span = span};
  names_looked_up = 0;
  tm_summary_start();
  assert_non_null(tm_far_check_hook);
}

/* The members of a node come to a collective. elements 0: it has no data. */
static void comes_as(int node, unsigned number, const struct tm_seen *seen, uint64_t elements,
                     uint64_t hash) {
  struct tm_signature signature = {elements, hash, elements, false};
  tm_job.first = node;
  tm_summary_send(&comm, number, tm_calls[seen->call], seen, &signature);
  assert_int_equal(dest_of_check, 2);
}

static void comes(int node, unsigned number, int which) {
  struct tm_seen seen = call(which);
  comes_as(node, number, &seen, 0, 0);
}

static void the_same_on_all_nodes(void) {
  on_nodes();
  /* the same numbers again, by other calls: what all have come to is forgotten */
  for (int which = BCAST; which <= BARRIER; which++) {
    for (int node = 0; node < NODES; node++) comes(node, 1, which);
    assert_int_equal(names_looked_up, 1); /* of one place in the program */
  }
  /* three collectives at once, which are in one list, and of two communicators */
  for (int node = 0; node < NODES; node++) {
    comes(node, 1, BCAST);
    comes(node, 257, BARRIER);
    comes(node, 513, ALLREDUCE);
    if (node < NODES - 1) comes(node, 769, GATHER);
    comm.context = 4 + 256;
    comes(node, 1, GATHER);
    comm.context = 4;
  }
  for (int node = 0; node < NODES; node++) comes(node, 257, BCAST);
  comes(NODES - 1, 769, GATHER);
  for (int node = 0; node < NODES; node++) comes(node, 769, BCAST);
  /* what differs and may */
  struct tm_seen own = call(ALLREDUCE), sum = call(ALLREDUCE);
  own.op = (MPI_Op)&locked;
  sum.op = MPI_SUM;
  comes_as(0, 2, &own, 0, 0);
  comes_as(1, 2, &sum, 5, 77);
  comes_as(2, 2, &own, 6, 78);
  lost_bytes = 1; /* of another version */
  comes(0, 3, BCAST);
  lost_bytes = 0;
  comes(1, 3, BARRIER);
}

static void other_calls(void) {
  on_nodes();
  comes(1, 1, BARRIER);
  strcpy(comm.name, "halo");
  struct tm_seen seen = call(BCAST);
  seen.root = 2;
  seen.site = (const void *)(7 + 256); /* a place that takes the other's in the table */
  if (setjmp(aborts) == 0) {
    comes_as(0, 1, &seen, 1, 9);
    return;
  }
  comes(2, 1, GATHER); /* while the job ends */
  _exit(ABORTED);
}

static void other_roots(void) {
  on_nodes();
  strcpy(comm.name, "halo");
  struct tm_seen seen = call(BCAST);
  seen.root = 0;
  comes_as(0, 1, &seen, 4, 9);
  seen.root = 1;
  comes_as(2, 1, &seen, 0, 0);
}

static void other_operations(void) {
  on_nodes();
  struct tm_seen seen = call(ALLREDUCE);
  seen.op = MPI_SUM;
  comes_as(0, 1, &seen, 4, 9);
  seen.op = MPI_MAX;
  comes_as(1, 1, &seen, 4, 9);
}

static void other_data(void) {
  on_nodes();
  struct tm_seen seen = call(ALLREDUCE);
  comes_as(0, 1, &seen, 4, 9);
  comes_as(1, 1, &seen, 4, 9);
  comes_as(2, 1, &seen, 4, 8);
}

static void no_place(void) {
  on_nodes();
  struct tm_seen seen = call(BARRIER);
  seen.site = NULL;
  for (int node = 0; node < NODES - 1; node++) comes_as(node, 1, &seen, 0, 0);
  assert_int_equal(names_looked_up, 2);
  seen = call(BARRIER);
  for (int i = 0; i < 3; i++) { /* two places that take turns */
    seen.site = (const void *)(uintptr_t)(i % 2 == 0 ? 7 : 7 + 256);
    comes_as(0, 10 + (unsigned)i, &seen, 0, 0);
  }
  assert_int_equal(names_looked_up, 5);
  comes(1, 10, BCAST);
}

#define ENDS "tmpi:   the job ends here (what follows is undefined)\n"

static void collectives_of_several_nodes(void **state) {
  (void)state;
  assert_string_equal(printed(the_same_on_all_nodes, WHOLE), "");
  assert_string_equal(printed(other_calls, ABORTED),
                      "tmpi: check: nodes of a communicator call different collectives:\n"
                      "tmpi:   node 1: MPI_Barrier() at line 7\n"
                      "tmpi:   node 0: MPI_Bcast(root 2, 1 basic element) at line 263\n" ENDS);
  assert_string_equal(printed(other_roots, ABORTED),
                      "tmpi: check: nodes of halo name different roots:\n"
                      "tmpi:   node 0: MPI_Bcast(root 0, 4 basic elements) at line 7\n"
                      "tmpi:   node 2: MPI_Bcast(root 1) at line 7\n" ENDS);
  assert_string_equal(printed(other_operations, ABORTED),
                      "tmpi: check: nodes of a communicator name different operations:\n"
                      "tmpi:   node 0: MPI_Allreduce(4 basic elements, MPI_SUM) at line 7\n"
                      "tmpi:   node 1: MPI_Allreduce(4 basic elements, MPI_MAX) at line 7\n" ENDS);
  assert_string_equal(printed(other_data, ABORTED),
                      "tmpi: check: nodes of a communicator have different data:\n"
                      "tmpi:   node 0: MPI_Allreduce(4 basic elements) at line 7\n"
                      "tmpi:   node 2: MPI_Allreduce(4 basic elements) at line 7\n" ENDS);
  assert_non_null(strstr(printed(no_place, ABORTED), "node 0: MPI_Barrier() at line 7\n"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(data_in_words),
      cmocka_unit_test(calls_in_words),
      cmocka_unit_test(operations_in_words),
      cmocka_unit_test(findings_without_end),
      cmocka_unit_test(collectives_of_several_nodes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
