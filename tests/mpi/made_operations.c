/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operations of reductions without ranks (src/tmpi/coll/op.c): handles, the life of an operation
 * that a program has made, how its function is called, and what the calls refuse.
 */
#include <stdlib.h>

#include "counted_blocks.h"
#include "tmpi/coll/coll.h"
#include "tmpi/coll/op.h"
#include "tmpi/error/errors.h"
#include "tmpi/rank/user_code.h"
#include "traced_calls.h"

enum {
  REPLACED = 0x3c /* MPI_REPLACE: it and MPI_NO_OP have no loop */,
  MOST_AT_A_TIME = INT32_MAX
};

static struct tm_rank rank;
static struct tm_type four = {.size = 4, .ub = 4, .basic = TM_INT32},
                      gap = {.size = 1, .ub = 2, .basic = TM_NO_BASIC};
static char message[200], in[16], inout[16];
static bool needs_token;

#define TYPE(name) ((MPI_Datatype) & (name))

/* ---- the rest of the library */

struct tm_rank *tm_enter(const char *call) {
  note("%s", call + strlen("MPI_"));
  return &rank;
}

struct tm_rank *tm_rank_self(void) { return &rank; }

int tm_fail(struct tm_comm *on, const char *call, int code, const char *format, ...) {
  va_list list;
  assert_true(on == NULL && call != NULL);
  va_start(list, format);
  vsnprintf(message, sizeof message, format, list);
  va_end(list);
  return code;
}

int tm_fail_code(struct tm_comm *on, const char *call, int code) {
  return tm_fail(on, call, code, "code");
}

int tm_too_many_bytes(struct tm_comm *on, const char *call, MPI_Count count,
                      const struct tm_type *type) {
  return tm_fail(on, call, MPI_ERR_COUNT, "%lld of %zu", (long long)count, type->size);
}

int tm_get_type(struct tm_comm *on, const char *call, MPI_Datatype handle, struct tm_type **type) {
  *type = (struct tm_type *)handle;
  return handle != NULL ? MPI_SUCCESS : tm_fail(on, call, MPI_ERR_TYPE, "no type");
}

MPI_Datatype tm_type_handle(const struct tm_type *type) { return (MPI_Datatype)(uintptr_t)type; }

int tm_check_alias(struct tm_comm *on, const char *call, const struct tm_part *sent,
                   const struct tm_part *filled) {
  assert_true(sent->type == filled->type && sent->count == filled->count && sent->count > 0);
  return sent->at != filled->at ? MPI_SUCCESS : tm_fail(on, call, MPI_ERR_BUFFER, "same");
}

static void loop(const void *from, void *to, size_t count) {
  assert_true(from == in && to == inout);
  note("loop%zu", count);
}

tm_combine *tm_combine_of(MPI_Op handle, enum tm_basic basic) {
  return (uintptr_t)handle < REPLACED && basic == TM_INT32 ? loop : NULL;
}

bool tm_user_code_needs_token(const struct tm_rank *of) {
  assert_ptr_equal(of, &rank);
  return needs_token;
}
void tm_user_code_take(struct tm_rank *of) { note(of == &rank ? "takes" : "?"); }
void tm_user_code_give(struct tm_rank *of) { note(of == &rank ? "gives" : "?"); }

/* ---- functions of the program */

static char *last_in, *last_inout; /* where the next elements are, of `gap` */

static void combine(void *from, void *to, int *count, MPI_Datatype *type) {
  assert_true(from == last_in && to == last_inout);
  last_in += 2 * (ptrdiff_t)*count;
  last_inout += 2 * (ptrdiff_t)*count;
  note("%s%d", *type == TYPE(gap) ? "own" : "?", *count);
  *count = 0; /* it is the caller's */
}

static void combine_large(void *from, void *to, MPI_Count *count, MPI_Datatype *type) {
  assert_true(from == last_in && to == last_inout && *type == TYPE(gap));
  note("large%lld", (long long)*count);
}

static MPI_Op made(int commutes) {
  MPI_Op op = MPI_OP_NULL;
  assert_int_equal(PMPI_Op_create(combine, commutes, &op), MPI_SUCCESS);
  check_trace("Op_create ");
  return op;
}

static void end_of(MPI_Op *op) {
  assert_int_equal(PMPI_Op_free(op), MPI_SUCCESS);
  assert_ptr_equal(*op, MPI_OP_NULL);
  check_trace("Op_free ");
}

/* ---- handles */

/* The numbers that the ABI gives to operations, and no others. */
static void predefined_operations_have_numbers(void **state) {
  (void)state;
  static const uint8_t numbers[] = {0x21, 0x22, 0x23, 0x24, 0x28, 0x29, 0x2a,
                                    0x30, 0x31, 0x32, 0x38, 0x39, 0x3c, 0x3d};
  size_t next = 0;
  for (uintptr_t number = 0; number < 0x2000; number++) {
    if (number >= 0x1000 && number % 16 == 0) continue; /* addresses */
    const struct tm_op *op = tm_op_of((MPI_Op)number);
    bool is_one = next < sizeof numbers && numbers[next] == number;
    assert_true((op != NULL) == is_one);
    next += is_one;
    if (!is_one) continue;
    assert_false(tm_op_is_user(op));
    assert_true(tm_op_fits(op, &four) == (number < REPLACED));
    assert_false(tm_op_fits(op, &gap));
    assert_true((tm_op_combine(op, &four) == loop) == tm_op_fits(op, &four));
    tm_op_hold(op); /* they stay */
    tm_op_release(op);
    tm_op_release(op);
    assert_ptr_equal(tm_op_of((MPI_Op)number), op);
    int commutes = -1;
    assert_int_equal(PMPI_Op_commutative((MPI_Op)number, &commutes), MPI_SUCCESS);
    assert_int_equal(commutes, number < REPLACED);
    check_trace("Op_commutative ");
    MPI_Op handle = (MPI_Op)number;
    assert_int_equal(PMPI_Op_free(&handle), MPI_ERR_OP);
    assert_string_equal(message, "a predefined operation cannot be freed");
    assert_ptr_equal(handle, (MPI_Op)number);
    check_trace("Op_free ");
  }
  assert_int_equal(next, sizeof numbers);
}

static void a_handle_that_is_none_is_refused(void **state) {
  (void)state;
  int commutes = -1;
  MPI_Op handle = MPI_OP_NULL;
  assert_int_equal(PMPI_Op_commutative(handle, &commutes), MPI_ERR_OP);
  assert_string_equal(message, "the operation is MPI_OP_NULL");
  assert_int_equal(PMPI_Op_free(&handle), MPI_ERR_OP);
  handle = (MPI_Op)7;
  assert_int_equal(PMPI_Op_commutative(handle, &commutes), MPI_ERR_OP);
  assert_string_equal(message, "the operation is not valid: freed, or never made");
  assert_int_equal(PMPI_Op_free(&handle), MPI_ERR_OP);
  assert_ptr_equal(handle, (MPI_Op)7);
  assert_int_equal(commutes, -1);
  check_trace("Op_commutative Op_free Op_commutative Op_free ");
}

/* ---- operations of the program */

static void an_operation_lives_as_long_as_a_collective_uses_it(void **state) {
  (void)state;
  MPI_Op handle = made(1), kept = handle;
  const struct tm_op *op = tm_op_of(handle);
  int commutes = -1;
  assert_true(op != NULL && tm_op_is_user(op));
  assert_true(tm_op_fits(op, &four) && tm_op_fits(op, &gap) && tm_op_combine(op, &four) == NULL);
  assert_int_equal(PMPI_Op_commutative(handle, &commutes), MPI_SUCCESS);
  assert_int_equal(commutes, 1);
  trace[0] = '\0';
  tm_op_hold(op);
  end_of(&handle);
  assert_int_equal(blocks, 1);
  assert_ptr_equal(tm_op_of(kept), op);
  tm_op_release(op);
  assert_int_equal(blocks, 0);
  handle = made(0);
  assert_int_equal(PMPI_Op_commutative(handle, &commutes), MPI_SUCCESS);
  assert_int_equal(commutes, 0);
  trace[0] = '\0';
  end_of(&handle);
}

static void an_operation_needs_a_function_and_memory(void **state) {
  (void)state;
  MPI_Op op = (MPI_Op)7;
  assert_int_equal(PMPI_Op_create(NULL, 1, &op), MPI_ERR_ARG);
  assert_int_equal(PMPI_Op_create_c(NULL, 1, &op), MPI_ERR_ARG);
  assert_string_equal(message, "there is no function");
  memory_is_out = true;
  assert_int_equal(PMPI_Op_create(combine, 1, &op), MPI_ERR_NO_MEM);
  memory_is_out = false;
  assert_ptr_equal(op, (MPI_Op)7);
  check_trace("Op_create Op_create_c Op_create ");
}

static void apply(MPI_Op handle, size_t count, struct tm_type *type) {
  last_in = in;
  last_inout = inout;
  tm_op_apply(tm_op_of(handle), in, inout, count, type);
}

static void a_predefined_operation_is_a_loop(void **state) {
  (void)state;
  needs_token = true; /* which only the program's code needs */
  apply(MPI_SUM, 3, &four);
  check_trace("loop3 ");
}

/* With one thread, the program's code does not run beside it. */
static void a_function_is_called_with_the_token(void **state) {
  (void)state;
  MPI_Op op = made(1);
  apply(op, 3, &gap);
  check_trace("own3 ");
  needs_token = true;
  apply(op, 1, &gap);
  check_trace("takes own1 gives ");
  end_of(&op);
}

/* A count of 32 bits tells no more; nothing is read here. */
static void a_function_gets_as_many_elements_as_its_count_can_tell(void **state) {
  (void)state;
  MPI_Op op = made(1), large;
  apply(op, MOST_AT_A_TIME, &gap);
  check_trace("own2147483647 ");
  apply(op, 2 * (size_t)MOST_AT_A_TIME + 1, &gap);
  check_trace("own2147483647 own2147483647 own1 ");
  apply(op, 0, &gap);
  check_trace("");
  end_of(&op);
  assert_int_equal(PMPI_Op_create_c(combine_large, 1, &large), MPI_SUCCESS);
  check_trace("Op_create_c ");
  apply(large, 2 * (size_t)MOST_AT_A_TIME + 1, &gap);
  check_trace("large4294967295 ");
  end_of(&large);
}

/* ---- MPI_Reduce_local() */

static int reduce_local(const void *from, void *to, MPI_Count count, MPI_Datatype type, MPI_Op op) {
  message[0] = '\0';
  int error = tm_call_reduce_local("MPI_Xyz", from, to, count, type, op);
  return error;
}

static void a_local_reduction_checks_its_arguments(void **state) {
  (void)state;
  struct {
    const void *from;
    void *to;
    MPI_Count count;
    MPI_Datatype type;
    MPI_Op op;
    int error;
    const char *message;
  } cases[] = {
      {in, inout, 2, TYPE(four), MPI_SUM, MPI_SUCCESS, ""},
      {in, inout, 0, TYPE(four), MPI_SUM, MPI_SUCCESS, ""},
      {in, in, 0, TYPE(four), MPI_SUM, MPI_SUCCESS, ""},
      {in, inout, -1, TYPE(four), MPI_SUM, MPI_ERR_COUNT, "count -1 is negative"},
      {in, inout, INT64_MAX, TYPE(four), MPI_SUM, MPI_ERR_COUNT, "9223372036854775807 of 4"},
      {in, inout, 2, NULL, MPI_SUM, MPI_ERR_TYPE, "no type"},
      {in, inout, -1, NULL, MPI_OP_NULL, MPI_ERR_OP, "the operation is MPI_OP_NULL"},
      {in, inout, 2, TYPE(gap), MPI_SUM, MPI_ERR_OP, "the operation is not one for this type"},
      {in, in, 2, TYPE(four), MPI_SUM, MPI_ERR_BUFFER, "same"},
      {MPI_IN_PLACE, inout, 2, TYPE(four), MPI_SUM, MPI_ERR_BUFFER,
       "MPI_IN_PLACE is for collectives only"},
      {in, MPI_IN_PLACE, 2, TYPE(four), MPI_SUM, MPI_ERR_BUFFER,
       "MPI_IN_PLACE is for collectives only"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    assert_int_equal(
        reduce_local(cases[i].from, cases[i].to, cases[i].count, cases[i].type, cases[i].op),
        cases[i].error);
    assert_string_equal(message, cases[i].message);
    check_trace(i == 0 ? "Xyz loop2 " : "Xyz ");
  }
}

static int start(void **state) {
  (void)state;
  needs_token = false;
  trace[0] = message[0] = '\0';
  return 0;
}

static int end(void **state) {
  (void)state;
  assert_int_equal(blocks, 0);
  return 0;
}

#define OPERATIONS(test) cmocka_unit_test_setup_teardown(test, start, end)

int main(void) {
  const struct CMUnitTest tests[] = {
      OPERATIONS(predefined_operations_have_numbers),
      OPERATIONS(a_handle_that_is_none_is_refused),
      OPERATIONS(an_operation_lives_as_long_as_a_collective_uses_it),
      OPERATIONS(an_operation_needs_a_function_and_memory),
      OPERATIONS(a_predefined_operation_is_a_loop),
      OPERATIONS(a_function_is_called_with_the_token),
      OPERATIONS(a_function_gets_as_many_elements_as_its_count_can_tell),
      OPERATIONS(a_local_reduction_checks_its_arguments),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
