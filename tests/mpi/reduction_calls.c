/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls that reduce (src/tmpi/coll/reduce.c), where the test plays the other ranks: what they
 * refuse, how two groups exchange their results, and the chunks of a scan. Elements are ints, and
 * one rank's are combined with another's by a sum.
 */
#include <stdlib.h>

#include "counted_blocks.h"
#include "tmpi/coll/coll.h"
#include "tmpi/coll/collective.h"
#include "tmpi/coll/op.h"
#include "tmpi/error/errors.h"
#include "traced_calls.h"

enum { SIZE = 3, OTHERS = 2, FEW = 5, CHUNK = 16384 / (sizeof(int) + 1) + 1, MANY = 2 * CHUNK + 7 };

struct tm_type tm_predefined[TM_PREDEFINED_COUNT];
struct tm_job tm_job;
static struct tm_group own = {.size = SIZE}, others = {.size = OTHERS};
static struct tm_comm comm, local_comm;
static struct tm_rank rank = {.stage = TM_INITIALIZED};
static const MPI_Op sum = (MPI_Op)0x21;
static char message[200];
static int from[MANY], to[MANY + 1];
static size_t allocated, most_allocated; /* elements of the vectors that there are */
static int error_of_others;

/* ---- the rest of the library */

struct tm_rank *tm_rank_self(void) { return &rank; }
struct tm_comm *tm_comm_make_self(void) { return NULL; }
uint32_t mti_number(void) { return 1; }

int tm_get_comm(const char *call, MPI_Comm handle, struct tm_comm **found) {
  assert_string_equal(call, "MPI_Xyz");
  *found = (struct tm_comm *)handle;
  return handle == (MPI_Comm)&comm ? MPI_SUCCESS : MPI_ERR_COMM;
}

int tm_fail(struct tm_comm *on, const char *call, int code, const char *format, ...) {
  va_list list;
  assert_true(on == &comm && call != NULL);
  va_start(list, format);
  vsnprintf(message, sizeof message, format, list);
  va_end(list);
  return code;
}

int tm_fail_code(struct tm_comm *on, const char *call, int code) {
  return tm_fail(on, call, code, "code");
}

int tm_refuse_count(struct tm_comm *on, const char *call, MPI_Count count) {
  return tm_fail(on, call, MPI_ERR_COUNT, "negative %lld", (long long)count);
}

int tm_too_many_bytes(struct tm_comm *on, const char *call, MPI_Count count,
                      const struct tm_type *type) {
  return tm_fail(on, call, MPI_ERR_COUNT, "%lld of %zu", (long long)count, type->size);
}

int tm_get_type(struct tm_comm *on, const char *call, MPI_Datatype handle, struct tm_type **type) {
  assert_true(handle == MPI_DATATYPE_NULL && *type == NULL);
  return tm_fail(on, call, MPI_ERR_TYPE, "no type");
}

int tm_check_op(struct tm_comm *on, const char *call, MPI_Op handle, const struct tm_type *type,
                const struct tm_op **op) {
  *op = (const struct tm_op *)handle;
  return handle == sum && type != NULL ? MPI_SUCCESS : tm_fail(on, call, MPI_ERR_OP, "no op");
}

int tm_check_other_root(struct tm_comm *on, const char *call, int root) {
  bool valid = on->inter && (root == MPI_ROOT || root == MPI_PROC_NULL || root < OTHERS);
  return valid ? MPI_SUCCESS : tm_fail(on, call, MPI_ERR_ROOT, "root %d", root);
}

int tm_check_counts(struct tm_comm *on, const char *call, const struct tm_parts *parts, int many) {
  assert_int_equal(many, SIZE);
  for (int i = 0; i < many; i++)
    if (tm_parts_count(parts, i) < 0) return tm_refuse_count(on, call, tm_parts_count(parts, i));
  return MPI_SUCCESS;
}

int tm_check_bytes_of_all(struct tm_comm *on, const char *call, const struct tm_parts *parts,
                          int many, const struct tm_type *type) {
  assert_int_equal(many, SIZE);
  assert_true(tm_parts_count(parts, 0) >= 0);
  return tm_check_bytes(on, call, tm_parts_count(parts, 0), type);
}

int tm_check_alias(struct tm_comm *on, const char *call, const struct tm_part *sent,
                   const struct tm_part *filled) {
  assert_true(sent->at == filled->at && sent->type == tm_type_of(MPI_INT));
  return tm_fail(on, call, MPI_ERR_BUFFER, "same %zu", filled->count);
}

int tm_coll_result(const struct tm_coll *coll) { return coll->error; }

void *tm_elements_new(size_t count, const struct tm_type *type, void **base) {
  assert_ptr_equal(type, tm_type_of(MPI_INT));
  allocated += count;
  if (allocated > most_allocated) most_allocated = allocated;
  *base = malloc((count + 1) * sizeof(int));
  return *base;
}

void tm_type_copy_pieces(void *there, const struct tm_type *to_type, const void *here,
                         const struct tm_type *from_type, size_t bytes) {
  assert_true(to_type == from_type && there != here);
  memcpy(there, here, bytes);
}

void tm_op_apply(const struct tm_op *op, const void *in, void *inout, size_t count,
                 struct tm_type *type) {
  assert_true(op == (const struct tm_op *)sum && type == tm_type_of(MPI_INT) && count > 0);
  for (size_t i = 0; i < count; i++) ((int *)inout)[i] += ((const int *)in)[i];
}

/* ---- the other ranks: each has 100 where the caller has 1 */

static const char *side(const struct tm_coll *coll) {
  return coll->comm == &local_comm ? "own-" : "";
}

void tm_reduce(struct tm_coll *coll, const void *elements, void *result, size_t count,
               struct tm_type *type, const struct tm_op *op, int root) {
  assert_true(type == tm_type_of(MPI_INT) && op == (const struct tm_op *)sum);
  note("%sreduce%zu:%d", side(coll), count, root);
  for (size_t i = 0; root == coll->comm->rank && i < count; i++)
    ((int *)result)[i] = ((const int *)elements)[i] * 101;
}

void tm_allreduce(struct tm_coll *coll, const void *elements, void *result, size_t count,
                  struct tm_type *type, const struct tm_op *op) {
  assert_true(type != NULL && op != NULL && elements == to && result == to);
  note("%sallreduce%zu", side(coll), count);
}

void tm_reduce_part(struct tm_coll *coll, const void *elements, size_t first, size_t count,
                    void *result, struct tm_type *type, const struct tm_op *op) {
  assert_true(type != NULL && op != NULL && elements != NULL && result == to);
  note("%spart%zu+%zu", side(coll), first, count);
}

void tm_coll_send(struct tm_coll *coll, const void *buffer, size_t count, struct tm_type *type,
                  int dest) {
  assert_ptr_equal(type, tm_type_of(MPI_INT));
  note("%sto%d:%zu:%d", side(coll), dest, count, count > 0 ? *(const int *)buffer : 0);
}

void tm_coll_recv(struct tm_coll *coll, void *buffer, size_t count, struct tm_type *type,
                  int source) {
  assert_ptr_equal(type, tm_type_of(MPI_INT));
  note("%sfrom%d:%zu", side(coll), source, count);
  for (size_t i = 0; i < count; i++) ((int *)buffer)[i] = 100;
}

void tm_coll_exchange(struct tm_coll *coll, const void *send, size_t send_count,
                      struct tm_type *send_type, int dest, void *recv, size_t recv_count,
                      struct tm_type *recv_type, int source) {
  assert_true(send_type == recv_type && dest == source);
  note("%sexchange%zu:%d-%zu", side(coll), send_count, *(const int *)send, recv_count);
  for (size_t i = 0; i < recv_count; i++) ((int *)recv)[i] = 7;
  coll->error = error_of_others;
}

void tm_bcast(struct tm_coll *coll, void *buffer, size_t count, struct tm_type *type, int root) {
  assert_true(type == tm_type_of(MPI_INT) && buffer != NULL);
  note("%sbcast%zu:%d", side(coll), count, root);
}

void tm_scatter(struct tm_coll *coll, const struct tm_parts *all, const struct tm_part *part,
                int root) {
  assert_true(part->type == tm_type_of(MPI_INT) && part->at == to);
  note("%sscatter:%d", side(coll), root);
  for (int i = 0; coll->comm->rank == root && i < SIZE; i++)
    note("%d+%d", (int)tm_counts_at(all->displs, i), (int)tm_parts_count(all, i));
  coll->error = MPI_ERR_OTHER;
}

/* ---- */

static int reduce(const void *sends, void *receives, MPI_Count count, int root) {
  return tm_call_reduce("MPI_Xyz", sends, receives, count, MPI_INT, sum, root, (MPI_Comm)&comm);
}

static int scan(const void *sends, void *receives, MPI_Count count, bool exclusive) {
  return tm_call_scan("MPI_Xyz", sends, receives, count, MPI_INT, sum, (MPI_Comm)&comm, exclusive);
}

static int allreduce(const void *sends, void *receives, MPI_Datatype type, MPI_Op op) {
  return tm_call_allreduce("MPI_Xyz", sends, receives, FEW, type, op, (MPI_Comm)&comm);
}

static int scatter(const void *sends, const int *counts) {
  const struct tm_parts parts = {to, 0, {counts, NULL}, TM_NO_COUNTS, NULL, NULL};
  return tm_call_reduce_scatter("MPI_Xyz", sends, &parts, MPI_INT, sum, (MPI_Comm)&comm);
}

static void be(int number, bool inter) {
  comm.rank = local_comm.rank = number;
  comm.inter = inter;
  comm.remote = inter ? &others : &own;
}

static void arguments_are_refused_with_their_reason(void **state) {
  (void)state;
  const int negative[SIZE] = {1, -1, 1};
  assert_int_equal(reduce(from, to, -1, 0), MPI_ERR_COUNT);
  assert_string_equal(message, "negative -1");
  assert_int_equal(reduce(from, to, INT64_MAX, 0), MPI_ERR_COUNT);
  assert_string_equal(message, "9223372036854775807 of 4");
  assert_int_equal(reduce(from, to, 1, SIZE), MPI_ERR_ROOT);
  assert_int_equal(scan(from, to, -1, false), MPI_ERR_COUNT);
  assert_int_equal(scatter(from, negative), MPI_ERR_COUNT);
  assert_string_equal(message, "negative -1");
  const MPI_Count large[SIZE] = {INT64_MAX, 1, 1};
  const struct tm_parts parts = {to, 0, {NULL, large}, TM_NO_COUNTS, NULL, NULL};
  assert_int_equal(tm_call_reduce_scatter("MPI_Xyz", from, &parts, MPI_INT, sum, (MPI_Comm)&comm),
                   MPI_ERR_COUNT);
  assert_string_equal(message, "9223372036854775807 of 4");
  assert_int_equal(allreduce(from, to, MPI_DATATYPE_NULL, sum), MPI_ERR_TYPE);
  assert_int_equal(allreduce(from, to, MPI_INT, MPI_OP_NULL), MPI_ERR_OP);
  assert_int_equal(tm_call_allreduce("MPI_Xyz", from, to, 1, MPI_INT, sum, MPI_COMM_NULL),
                   MPI_ERR_COMM);
  check_trace("");
}

/* The root alone has a result, of a reduction; with two groups no rank has both. */
static void a_result_does_not_overwrite_what_is_sent(void **state) {
  (void)state;
  const int counts[SIZE] = {FEW, 1, 2};
  be(1, false);
  assert_int_equal(reduce(to, to, FEW, 1), MPI_ERR_BUFFER);
  assert_string_equal(message, "same 5");
  assert_int_equal(allreduce(to, to, MPI_INT, sum), MPI_ERR_BUFFER);
  assert_int_equal(scan(to, to, FEW, true), MPI_ERR_BUFFER);
  assert_int_equal(scatter(to, counts), MPI_ERR_BUFFER);
  assert_string_equal(message, "same 1");
  check_trace("");
  assert_int_equal(reduce(to, to, FEW, 0), MPI_SUCCESS);
  assert_int_equal(reduce(MPI_IN_PLACE, to, FEW, 1), MPI_SUCCESS);
  assert_int_equal(allreduce(MPI_IN_PLACE, to, MPI_INT, sum), MPI_SUCCESS);
  check_trace("reduce5:0 reduce5:1 allreduce5 ");
  be(1, true);
  assert_int_equal(reduce(to, to, FEW, 1), MPI_SUCCESS);
  check_trace("own-reduce5:0 ");
}

static void the_first_rank_of_a_group_sends_to_the_other_groups_root(void **state) {
  (void)state;
  from[0] = 1;
  be(0, true);
  assert_int_equal(reduce(from, NULL, FEW, 1), MPI_SUCCESS);
  check_trace("own-reduce5:0 to1:5:101 ");
  be(1, true);
  assert_int_equal(reduce(from, NULL, FEW, 1), MPI_SUCCESS);
  check_trace("own-reduce5:0 ");
  assert_int_equal(reduce(NULL, to, FEW, MPI_ROOT), MPI_SUCCESS);
  check_trace("from0:5 ");
  assert_int_equal(tm_call_reduce("MPI_Xyz", NULL, NULL, -1, MPI_DATATYPE_NULL, MPI_OP_NULL,
                                  MPI_PROC_NULL, (MPI_Comm)&comm),
                   MPI_SUCCESS);
  check_trace("");
}

static void both_groups_have_the_others_result(void **state) {
  (void)state;
  for (int i = 0; i < 2; i++) {
    be(i, true);
    from[0] = 2;
    assert_int_equal(allreduce(from, to, MPI_INT, sum), MPI_SUCCESS);
    check_trace(i == 0 ? "own-reduce5:0 exchange5:202-5 own-bcast5:0 "
                       : "own-reduce5:0 own-bcast5:0 ");
  }
}

/* Each group divides what comes in its own way. The first error stays. */
static void parts_of_another_groups_result_may_differ_in_length(void **state) {
  (void)state;
  const int counts[SIZE] = {4, 1, 2};
  be(0, true);
  assert_int_equal(scatter(from, counts), MPI_ERR_OTHER);
  check_trace("own-reduce7:0 exchange7:202-7 own-scatter:0 0+4 4+1 5+2 ");
  error_of_others = MPI_ERR_TRUNCATE;
  assert_int_equal(scatter(from, counts), MPI_ERR_TRUNCATE);
  trace[0] = '\0';
  be(2, true);
  assert_int_equal(scatter(from, counts), MPI_ERR_OTHER);
  check_trace("own-reduce7:0 own-scatter:0 ");
  be(2, false);
  assert_int_equal(scatter(from, counts), MPI_SUCCESS);
  assert_int_equal(scatter(MPI_IN_PLACE, counts), MPI_SUCCESS);
  check_trace("part5+2 part5+2 ");
  memory_is_out = true;
  assert_int_equal(scatter(from, counts), MPI_ERR_NO_MEM);
  memory_is_out = false;
}

/* ---- scans */

/* Rank `number` has 1 at each place, and what comes from the rank before it is 100. */
static void check_scan(int number, int count, bool exclusive, bool in_place, const char *expected) {
  be(number, false);
  allocated = most_allocated = 0;
  for (int i = 0; i < MANY; i++) from[i] = 1;
  for (int i = 0; i <= MANY; i++) to[i] = in_place ? 1 : -1;
  to[count] = -3;
  assert_int_equal(scan(in_place ? MPI_IN_PLACE : from, to, count, exclusive), MPI_SUCCESS);
  check_trace(expected);
  int result = exclusive ? 100 : number > 0 ? 101 : 1;
  if (number > 0 || !exclusive)
    for (int i = 0; i < count; i++) assert_int_equal(to[i], result);
  assert_int_equal(to[count], -3);
  assert_true(most_allocated <= 2 * CHUNK);
}

static void a_scan_passes_on_what_ranks_before_make_together(void **state) {
  (void)state;
  for (int in_place = 0; in_place < 2; in_place++) {
    check_scan(0, FEW, false, in_place, "to1:5:1 ");
    check_scan(1, FEW, false, in_place, "from0:5 to2:5:101 ");
    check_scan(SIZE - 1, FEW, false, in_place, "from1:5 ");
    check_scan(0, FEW, true, in_place, "to1:5:1 ");
    check_scan(1, FEW, true, in_place, "from0:5 to2:5:101 ");
    check_scan(SIZE - 1, FEW, true, in_place, "from1:5 ");
  }
  check_scan(1, 0, false, false, "from0:0 to2:0:0 ");
}

/* No memory is needed for all of it. */
static void a_long_scan_goes_in_chunks(void **state) {
  (void)state;
  check_scan(1, MANY, true, false,
             "from0:3277 to2:3277:101 from0:3277 to2:3277:101 from0:7 to2:7:101 ");
  check_scan(1, CHUNK, false, false, "from0:3277 to2:3277:101 ");
  check_scan(1, CHUNK + 1, false, false, "from0:3277 to2:3277:101 from0:1 to2:1:101 ");
  check_scan(1, FEW, false, false, "from0:5 to2:5:101 ");
  assert_int_equal(most_allocated, FEW); /* short ones need little */
}

static void two_groups_have_no_scan(void **state) {
  (void)state;
  be(0, true);
  assert_int_equal(scan(from, to, 1, false), MPI_ERR_COMM);
  assert_string_equal(message, "it is an intercommunicator");
}

static int start(void **state) {
  (void)state;
  comm = (struct tm_comm){.magic = TM_COMM_MAGIC, .size = SIZE, .local_comm = &local_comm};
  local_comm = (struct tm_comm){.size = SIZE};
  be(0, false);
  tm_predefined[(uintptr_t)MPI_INT - TM_PREDEFINED_FIRST] = (struct tm_type){
      .magic = TM_TYPE_MAGIC, .predefined = true, .committed = true, .size = 4, .ub = 4};
  error_of_others = MPI_SUCCESS;
  trace[0] = message[0] = '\0';
  return 0;
}

static int end(void **state) {
  (void)state;
  assert_int_equal(blocks, 0);
  return 0;
}

#define REDUCTIONS(test) cmocka_unit_test_setup_teardown(test, start, end)

int main(void) {
  const struct CMUnitTest tests[] = {
      REDUCTIONS(arguments_are_refused_with_their_reason),
      REDUCTIONS(a_result_does_not_overwrite_what_is_sent),
      REDUCTIONS(the_first_rank_of_a_group_sends_to_the_other_groups_root),
      REDUCTIONS(both_groups_have_the_others_result),
      REDUCTIONS(parts_of_another_groups_result_may_differ_in_length),
      REDUCTIONS(a_scan_passes_on_what_ranks_before_make_together),
      REDUCTIONS(a_long_scan_goes_in_chunks),
      REDUCTIONS(two_groups_have_no_scan),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
