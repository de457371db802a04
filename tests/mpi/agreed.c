/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collectives that have to agree (src/tmpi/check/order.c): which calls meet, what is compared, and
 * what is said where they differ. One thread makes the calls of all ranks; a rank whose job ends
 * comes back here.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/internal/park.h"
#include "counted_blocks.h"
#include "said.h"
#include "tmpi/check/signature.h"
#include "tmpi/object/comm.h"
#include "tmpi/rank/rank.h"
#include "tmpi/report/text.h"

enum { RANKS = 4, FIRST_CONTEXT = 4 };

const char *const tm_calls[] = {"MPI_Allgather",
                                "MPI_Allgather_init",
                                "MPI_Allreduce",
                                "MPI_Alltoall",
                                "MPI_Barrier",
                                "MPI_Bcast",
                                "MPI_Bcast_c",
                                "MPI_Bcast_init",
                                "MPI_Comm_dup",
                                "MPI_Exscan",
                                "MPI_Finalize",
                                "MPI_Gather",
                                "MPI_Gatherv",
                                "MPI_Ibcast",
                                "MPI_Ibcast_c",
                                "MPI_Info_create",
                                "MPI_Reduce",
                                "MPI_Reduce_scatter",
                                "MPI_Reduce_scatter_block",
                                "MPI_Reduce_scatter_c",
                                "MPI_Scan",
                                "MPI_Scatter",
                                "MPI_Send",
                                "MPI_Send_init"};
enum {
  ALLGATHER,
  ALLGATHER_INIT,
  ALLREDUCE,
  ALLTOALL,
  BARRIER,
  BCAST,
  BCAST_LARGE,
  BCAST_INIT,
  COMM_DUP,
  EXSCAN,
  FINALIZE,
  GATHER,
  GATHERV,
  IBCAST,
  IBCAST_LARGE,
  INFO_CREATE,
  REDUCE,
  REDUCE_SCATTER,
  REDUCE_SCATTER_BLOCK,
  REDUCE_SCATTER_LARGE,
  SCAN,
  SCATTER,
  SEND,
  SEND_INIT,
  CALLS
};
const int tm_call_count = CALLS;

/* ---- the rest of the library */

struct tm_job tm_job;
struct tm_type tm_predefined[TM_PREDEFINED_COUNT];
static struct tm_comm comms[RANKS]; /* of one communicator, or of both sides */
static struct tm_group *group, *remote;
static jmp_buf end_of_job;
static int current, aborts, summaries;

struct tm_comm *tm_comm_of(MPI_Comm handle) {
  if (handle == MPI_COMM_NULL) return NULL;
  assert_true(handle == MPI_COMM_WORLD || handle == (MPI_Comm)&comms[current]);
  return &comms[current];
}

struct tm_signature tm_signature_of(const struct tm_type *type, uint64_t count) {
  return (struct tm_signature){count, type->size, 1, false};
}

void tm_describe(char text[TM_CALL_TEXT], const struct tm_seen *seen) {
  snprintf(text, TM_CALL_TEXT, "%s(%d)", tm_calls[seen->call], seen->root);
}

int tm_text_ranks(char text[TM_RANKS_TEXT], const bool *set, int size) {
  int count = 0, used = sprintf(text, "ranks");
  for (int i = 0; i < size; i++)
    if (set[i]) used += sprintf(text + used, " %d", (count++, i));
  return count;
}

const char *tm_text_comm(const char *name) { return name; }

void tm_summary_send(const struct tm_comm *comm, unsigned number, const char *call,
                     const struct tm_seen *seen, const struct tm_signature *signature) {
  assert_ptr_equal(comm, &comms[current]);
  assert_int_equal(number, comm->checked);
  assert_string_equal(call, "MPI_Bcast");
  assert_int_equal(seen->root, 1);
  assert_int_equal(signature->count, 2);
  assert_int_equal(locked, 0);
  summaries++;
}

void tm_job_abort(int status) {
  assert_int_equal(status, 1);
  assert_int_equal(locked, 0);
  aborts++;
  longjmp(end_of_job, 1);
}

void mti_park_unlock(uint32_t *lock, const char *text) {
  assert_string_equal(text, "end of the job, by --check");
  mti_unlock(lock);
  longjmp(end_of_job, 1);
}

/* ---- ranks */

/* A communicator: `here` of its ranks are on this side of an intercommunicator. */
static void make_comm(int size, int here) {
  for (int i = 0; i < RANKS; i++) {
    comms[i] = (struct tm_comm){.magic = TM_COMM_MAGIC,
                                .context = comms[i].context + 1,
                                .name = "halo",
                                .size = i < here ? here : size - here,
                                .rank = i < here ? i : i - here,
                                .inter = here < size,
                                .team = (struct tm_team *)comms,
                                .group = i < here ? group : remote,
                                .remote = i < here ? remote : group};
  }
  group->size = here;
  remote->size = size - here;
  for (int i = 0; i < size; i++) (i < here ? &group->ranks[i] : &remote->ranks[i - here])[0] = i;
  tm_job = (struct tm_job){.size = RANKS, .first_size = RANKS, .local = RANKS};
  aborts = summaries = 0;
}

static int start(void **state) {
  (void)state;
  group = calloc(1, sizeof *group + RANKS * sizeof(int));
  remote = calloc(1, sizeof *remote + RANKS * sizeof(int));
  for (int i = 0; i < RANKS; i++) comms[i].context = FIRST_CONTEXT;
  for (int i = 0; i < 2; i++) {
    MPI_Datatype handle = i == 0 ? MPI_INT : MPI_DOUBLE;
    tm_predefined[(uintptr_t)handle - TM_PREDEFINED_FIRST] =
        (struct tm_type){.magic = TM_TYPE_MAGIC, .size = i == 0 ? 4 : 8};
  }
  memory_is_out = true;
  bool starts = tm_order_start();
  memory_is_out = false;
  return !starts && tm_order_start() ? 0 : -1;
}

static int finish(void **state) {
  (void)state;
  free(group);
  free(remote);
  return 0;
}

static struct tm_seen call(int which, int root) {
  return (struct tm_seen){
      .call = which, .root = root, .data = {comms, 2, MPI_INT}, .other = {comms, -1, MPI_INT}};
}

/* @return false: the rank waits for the end of the job. */
static bool comes(int rank, struct tm_seen seen) {
  current = seen.rank = rank;
  if (seen.comm == 0) seen.comm = (MPI_Comm)&comms[rank];
  if (setjmp(end_of_job) != 0) return false;
  tm_order_begin(&seen);
  assert_int_equal(locked, 0);
  return true;
}

/* Two ranks make these calls, of which the second one ends the job if they differ; NULL: nothing.
 */
static void check_two(struct tm_seen first, struct tm_seen second, const char *differs) {
  int before = blocks;
  make_comm(2, 2);
  assert_true(comes(0, first));
  assert_true(comes(1, second) == (differs == NULL));
  assert_int_equal(aborts, differs != NULL);
  if (differs == NULL) {
    check_said("");
    assert_int_equal(blocks, before); /* nothing is kept of them */
    return;
  }
  char expected[300];
  sprintf(expected, "!ranks of halo %s:\n", differs);
  assert_memory_equal(said, expected, strlen(expected));
  said[0] = '\0';
}

static void forms_that_meet(void **state) {
  (void)state;
  const char *different = "call different collectives";
  check_two(call(BCAST, 0), call(BCAST, 0), NULL);
  check_two(call(BCAST, 0), call(BCAST_LARGE, 0), NULL);
  check_two(call(IBCAST_LARGE, 0), call(IBCAST, 0), NULL);
  check_two(call(REDUCE_SCATTER, 0), call(REDUCE_SCATTER_LARGE, 0), NULL);
  check_two(call(BCAST, 0), call(IBCAST, 0), different);
  check_two(call(BCAST_INIT, 0), call(BCAST, 0), different);
  check_two(call(ALLGATHER_INIT, 0), call(ALLGATHER, 0), different);
  check_two(call(BARRIER, 0), call(COMM_DUP, 0), different);
  struct tm_seen ends = call(FINALIZE, 0), unknown = call(BARRIER, 0);
  ends.comm = MPI_COMM_NULL;
  check_two(ends, ends, NULL);
  check_two(ends, call(BARRIER, 0), different);
  unknown.comm = MPI_COMM_NULL; /* the call says so */
  make_comm(2, 2);
  static const int others[] = {SEND, SEND_INIT, INFO_CREATE};
  for (int i = 0; i < 3; i++) assert_true(comes(0, call(others[i], 0)));
  assert_true(comes(0, unknown));
  assert_int_equal(comms[0].checked, 0);
}

static void roots_and_operations(void **state) {
  (void)state;
  check_two(call(BCAST, 0), call(BCAST, 1), "name different roots");
  static const struct {
    MPI_Op first, second;
    bool differs;
  } rows[] = {{MPI_SUM, MPI_SUM, false},
              {MPI_SUM, MPI_MAX, true},
              {MPI_SUM, (MPI_Op)comms, false}, /* of the program: each rank has its own */
              {(MPI_Op)comms, MPI_SUM, false},
              {(MPI_Op)(uintptr_t)0xfff, MPI_SUM, true},
              {(MPI_Op)(uintptr_t)0x1000, MPI_SUM, false},
              {MPI_SUM, 0, false}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct tm_seen first = call(ALLREDUCE, TM_NONE), second = first;
    first.op = rows[i].first;
    second.op = rows[i].second;
    check_two(first, second, rows[i].differs ? "name different operations" : NULL);
  }
}

/* Which data are the same for all: those of each rank, or of the root alone. */
static void data_that_have_to_be_the_same(void **state) {
  (void)state;
  enum { NO, YES, ROOT };
  static const struct {
    int call, data, other;
  } rows[] = {{ALLGATHER, YES, YES}, {ALLREDUCE, YES, NO}, {ALLTOALL, YES, YES},
              {BCAST, YES, NO},      {EXSCAN, YES, NO},    {GATHER, YES, ROOT},
              {GATHERV, NO, NO},     {REDUCE, YES, NO},    {REDUCE_SCATTER_BLOCK, YES, NO},
              {SCAN, YES, NO},       {SCATTER, ROOT, YES}, {ALLGATHER_INIT, YES, YES},
              {IBCAST, YES, NO},     {COMM_DUP, NO, NO}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    for (int root = 0; root < 2; root++) {
      struct tm_seen first = call(rows[i].call, root), same = first, changed = first;
      const char *differ = "have different data", *receives = "send other data than they receive";
      bool at_root = root == 1; /* the second one, which gives other data */
      check_two(first, same, NULL);
      const char *of_data = rows[i].data == YES ? differ : NULL; /* nobody else gives a root's */
      changed.data.count = 3;
      check_two(first, changed, of_data);
      changed.data = (struct tm_data){comms, 2, MPI_DOUBLE};
      check_two(first, changed, of_data);
      changed.data = (struct tm_data){comms, 0, MPI_INT}; /* none are data, too */
      check_two(first, changed, of_data);
      changed.data = (struct tm_data){MPI_IN_PLACE, 2, MPI_DOUBLE}; /* it gives no data */
      check_two(first, changed, NULL);
      changed.data = (struct tm_data){comms, 2, NULL}; /* the call says so */
      check_two(first, changed, NULL);
      changed = first;
      changed.other.count = 2;
      check_two(first, changed, NULL);
      changed.other.count = 3;
      bool other = rows[i].other == YES || (rows[i].other == ROOT && at_root);
      bool data = rows[i].data == YES || (rows[i].data == ROOT && at_root);
      check_two(first, changed, other ? (data ? receives : differ) : NULL);
    }
}

/* Callers that say the same share a line. The others of a phase that differs wait, too. */
static void what_is_said_of_ranks_that_differ(void **state) {
  (void)state;
  make_comm(4, 4);
  assert_true(comes(2, call(BCAST, 0)));
  assert_true(comes(0, call(BCAST, 0)));
  assert_false(comes(3, call(BCAST, 1)));
  check_said(
      "!ranks of halo name different roots:\n"
      "+ranks 0 2: MPI_Bcast(0)\n"
      "+ranks 3: MPI_Bcast(1)\n"
      "+3 of 4 ranks have come so far; the job ends here (what follows is undefined)\n");
  assert_int_equal(aborts, 1);
  assert_false(comes(1, call(BCAST, 0)));
  check_said("");
  assert_int_equal(aborts, 1);
  int before = blocks;
  make_comm(2, 2);
  assert_true(comes(0, call(BCAST, 0)));
  assert_false(comes(1, call(BCAST, 1)));
  assert_int_equal(blocks, before + 2); /* the phase stays, for ranks that come later */
  said[0] = '\0';
  make_comm(2, 2);
  assert_true(comes(0, call(BCAST, 0)));
  allocations_left = 0; /* of the set of ranks */
  assert_false(comes(1, call(BCAST, 1)));
  check_said(
      "!ranks of halo name different roots:\n"
      "+2 of 2 ranks have come so far; the job ends here (what follows is undefined)\n");
  assert_int_equal(aborts, 1);
}

/* A rank may be some collectives ahead of the others. */
static void each_collective_has_a_number(void **state) {
  (void)state;
  enum { AHEAD = 3000 };
  int before = blocks;
  make_comm(2, 2);
  for (int i = 0; i < AHEAD; i++) assert_true(comes(0, call(BCAST, i)));
  for (int i = 0; i < AHEAD; i++) assert_true(comes(1, call(BCAST, i)));
  assert_int_equal(blocks, before);
  check_said("");
  /* communicators are apart */
  make_comm(2, 2);
  assert_true(comes(0, call(BCAST, 0)));
  uint64_t one = comms[0].context;
  for (int i = 0; i < 2; i++) comms[i].context = one + 1024; /* of the same bucket */
  for (int i = 0; i < 2; i++) comms[i].checked = 0;
  for (int i = 0; i < 2; i++) assert_true(comes(i, call(BARRIER, 0)));
  for (int i = 0; i < 2; i++) comms[i].context = one;
  comms[1].checked = 0;
  assert_true(comes(1, call(BCAST, 0)));
  assert_int_equal(blocks, before);
}

/* The groups of an intercommunicator have arguments of their own. */
static void both_groups_meet(void **state) {
  (void)state;
  int before = blocks;
  make_comm(3, 1);
  assert_true(comes(0, call(BCAST, MPI_ROOT)));
  assert_true(comes(1, call(BCAST, 0)));
  assert_int_not_equal(blocks, before);
  assert_true(comes(2, call(BCAST, 0)));
  assert_int_equal(blocks, before);
  make_comm(3, 1);
  assert_true(comes(1, call(BCAST, 0)));
  assert_false(comes(0, call(BARRIER, 0)));
  assert_non_null(strstr(said, "2 of 3 ranks have come"));
  said[0] = '\0';
}

/* Each node compares its own ranks, and sends other nodes what they agree on. */
static void ranks_of_several_nodes(void **state) {
  (void)state;
  if (!MLTP_NODES) skip();
  int before = blocks;
  for (int inter = 0; inter < 2; inter++) {
    make_comm(3, inter ? 1 : 3);
    tm_job.far = (const struct tm_transport *)comms;
    tm_job.local = 2; /* ranks 0 and 1 are here */
    for (int i = 0; i < 3; i++) comms[i].team = NULL;
    assert_true(comes(0, call(BCAST, 1)));
    assert_int_equal(summaries, 0);
    assert_true(comes(1, call(BCAST, 1)));
    assert_int_equal(blocks, before);
    assert_int_equal(summaries, !inter);
    assert_true(comes(0, call(BCAST, 1)));
    assert_false(comes(1, call(BARRIER, 1)));
    assert_non_null(strstr(said, "2 of 2 ranks of this node have come so far"));
    assert_int_equal(summaries, !inter);
    said[0] = '\0';
    before = blocks; /* what differs stays until the job is over */
  }
}

static void without_memory_nothing_is_compared(void **state) {
  (void)state;
  for (int fails = 0; fails < 2; fails++) {
    int before = blocks;
    make_comm(2, 2);
    allocations_left = fails;
    assert_true(comes(0, call(BCAST, 0)));
    assert_int_equal(allocations_left, -1);
    assert_int_equal(blocks, before);
    memory_is_out = true;
    assert_true(comes(1, call(BARRIER, 0)));
    memory_is_out = false;
    check_said("");
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(forms_that_meet),
      cmocka_unit_test(roots_and_operations),
      cmocka_unit_test(data_that_have_to_be_the_same),
      cmocka_unit_test(what_is_said_of_ranks_that_differ),
      cmocka_unit_test(each_collective_has_a_number),
      cmocka_unit_test(both_groups_meet),
      cmocka_unit_test(ranks_of_several_nodes),
      cmocka_unit_test(without_memory_nothing_is_compared),
  };
  return cmocka_run_group_tests(tests, start, finish);
}
