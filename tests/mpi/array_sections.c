/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Array sections of Fortran as buffers (src/tmpi/bindings/section.c): which datatypes they become.
 * The constructors of datatypes are stand-ins that note what they are asked for.
 */
#include <string.h>

#include "captured.h"
#include "counted_blocks.h"
#include "tmpi/bindings/section.h"
#include "traced_calls.h"

/* The notes of the bindings name the section of their code. */
__attribute__((section("tmpi_fortran"), used)) static void in_section(void) {}

/* ---- what is around it */

static char data[1000], place;        /* place: what data is in C */
static char types[20];                /* their addresses stand for new types */
static int made, freed;               /* types */
static MPI_Count size, extent, bound; /* of the type that a call is given */

void *tmf_address(void *buffer) { return buffer == data ? &place : buffer; }

static int make(MPI_Datatype *type) {
  *type = (MPI_Datatype)&types[made++];
  return MPI_SUCCESS;
}

int PMPI_Type_free(MPI_Datatype *type) {
  assert_in_range((uintptr_t)*type, (uintptr_t)types, (uintptr_t)(types + made - 1));
  *type = MPI_DATATYPE_NULL;
  freed++;
  return MPI_SUCCESS;
}

int PMPI_Type_commit(MPI_Datatype *type) {
  assert_true((char *)*type == &types[made - 1]);
  note("commit");
  return MPI_SUCCESS;
}

int PMPI_Type_size_c(MPI_Datatype type, MPI_Count *to) {
  assert_true(type == MPI_INT);
  *to = size;
  return MPI_SUCCESS;
}

int PMPI_Type_get_extent_c(MPI_Datatype type, MPI_Count *lb, MPI_Count *to) {
  assert_true(type == MPI_INT);
  *lb = bound, *to = extent;
  return MPI_SUCCESS;
}

int PMPI_Type_contiguous_c(MPI_Count count, MPI_Datatype old, MPI_Datatype *type) {
  note("%d%s", (int)count, old == MPI_BYTE ? "bytes" : "ints");
  return make(type);
}

int PMPI_Type_create_hvector_c(MPI_Count count, MPI_Count length, MPI_Count stride,
                               MPI_Datatype old, MPI_Datatype *type) {
  assert_true((char *)old == &types[made - 1]);
  assert_int_equal(length, 1);
  note("%d*%d", (int)count, (int)stride);
  return make(type);
}

int PMPI_Type_create_hindexed_block_c(MPI_Count count, MPI_Count length, const MPI_Count at[],
                                      MPI_Datatype old, MPI_Datatype *type) {
  assert_true((char *)old == &types[made - 1]);
  assert_int_equal(length, 1);
  for (int i = 0; i < count; i++) note("@%d", (int)at[i]);
  return make(type);
}

int PMPI_Comm_call_errhandler(MPI_Comm comm, int code) {
  assert_true(comm == MPI_COMM_WORLD && code == MPI_ERR_BUFFER);
  note("comm");
  return MPI_SUCCESS;
}

int PMPI_Win_call_errhandler(MPI_Win win, int code) {
  assert_true(win == (MPI_Win)&place && code == MPI_ERR_BUFFER);
  note("win");
  return MPI_SUCCESS;
}

MPI_Comm MPI_Comm_fromint(int number) {
  assert_int_equal(number, -1);
  return MPI_COMM_NULL;
}

MPI_Win MPI_Win_fromint(int number) {
  assert_int_equal(number, 77);
  return (MPI_Win)&place;
}

static int start(void **state) {
  (void)state;
  made = freed = blocks = 0;
  size = extent = 4, bound = 0;
  memory_is_out = false;
  trace[0] = '\0';
  return 0;
}

/* An array of integers, 5 rows and 4 columns, of which some are taken. */
static struct tmf_array rows(ptrdiff_t first, ptrdiff_t last, ptrdiff_t step, ptrdiff_t columns) {
  return (struct tmf_array){
      .base = data,
      .element = 4,
      .rank = 2,
      .span = 4,
      .dimensions = {{step, first, last}, {5, 1, columns}, {77, 5, 8} /* none: unset */}};
}

static void check(struct tmf_array array, MPI_Count count, const char *expected) {
  struct tmf_section section = tmf_section(&array, count, MPI_INT);
  check_trace(expected);
  assert_ptr_equal(section.at, data);
  assert_int_equal(section.count, 1);
  assert_true((char *)section.type == &types[made - 1] && section.made == section.type);
  assert_int_equal(freed, made - 1); /* its parts */
  tmf_section_end(&section);
  assert_int_equal(freed, made);
  assert_int_equal(blocks, 0);
  made = freed = 0;
}

static void check_as_it_is(struct tmf_array array, MPI_Count count, MPI_Datatype type) {
  struct tmf_section section = tmf_section(&array, count, type);
  assert_ptr_equal(section.at, &place);
  assert_int_equal(section.count, count);
  assert_true(section.type == type && section.made == MPI_DATATYPE_NULL);
  tmf_section_end(&section);
  assert_int_equal(made, 0);
}

static void check_refused(struct tmf_array array, MPI_Count count, const char *why) {
  char text[300];
  struct captured captured = captured_begin();
  struct tmf_section section = tmf_section(&array, count, MPI_INT);
  captured_end(&captured, text, sizeof text);
  assert_non_null(strstr(text, "tmpi: an array section as a buffer: "));
  assert_non_null(strstr(text, why));
  assert_true(section.type == MPI_DATATYPE_NULL && section.made == MPI_DATATYPE_NULL);
  assert_null(section.at);
  assert_int_equal(section.count, 1);
}

/* ---- the tests */

static void test_an_array_without_gaps_is_taken_as_it_is(void **state) {
  (void)state;
  struct tmf_array one = rows(1, 1, 9, 1), empty = rows(1, 0, 2, 4), scalar = rows(1, 5, 2, 4);
  scalar.rank = 0;
  check_as_it_is(rows(1, 5, 1, 4), 20, MPI_INT);
  check_as_it_is(rows(1, 5, 1, 4), 30, MPI_INT); /* the call says that it is too short */
  check_as_it_is(rows(2, 4, 1, 1), 3, MPI_INT);
  check_as_it_is(one, 1, MPI_INT);
  check_as_it_is(empty, 0, MPI_INT);
  check_as_it_is(empty, 1, MPI_INT);
  check_as_it_is(scalar, 1, MPI_INT);
  check_as_it_is(rows(1, 5, 2, 4), 0, MPI_INT);
  check_as_it_is(rows(1, 5, 2, 4), 1, MPI_DATATYPE_NULL);
}

static void test_all_elements_are_vectors_of_vectors(void **state) {
  (void)state;
  check(rows(1, 3, 2, 4), 12, "1ints 3*8 4*20 commit ");
  check(rows(2, 4, 1, 4), 12, "1ints 3*4 4*20 commit ");
  check(rows(1, 3, -1, 1), 3, "1ints 3*-4 1*20 commit ");
  struct tmf_array vector = rows(1, 3, 2, 4);
  vector.rank = 1;
  check(vector, 3, "1ints 3*8 commit ");
}

static void test_fewer_elements_are_the_first_ones(void **state) {
  (void)state;
  check(rows(1, 3, 2, 4), 5, "1ints @0 @8 @16 @20 @28 commit ");
  check(rows(1, 3, 2, 4), 1, "1ints @0 commit ");
  size = extent = 1; /* of a byte */
  check(rows(1, 3, 2, 4), 8, "4ints @0 @8 commit ");
}

static void test_elements_may_be_larger_than_the_type(void **state) {
  (void)state;
  struct tmf_array array = rows(1, 3, 2, 1);
  array.element = 8, array.span = 8;
  check(array, 6, "2ints 3*16 1*40 commit ");
  array.element = 6, array.span = 0; /* the element's size */
  check(array, 3, "6bytes @0 @12 commit ");
}

static void test_what_does_not_fit_is_refused(void **state) {
  (void)state;
  static const struct {
    MPI_Count count, size, bound, extent;
    size_t element;
    const char *why;
  } cases[] = {
      {13, 4, 0, 4, 4, "it has fewer elements"}, {1, 4, 0, 4, 8, "the last one is not whole"},
      {1, 4, 0, 8, 4, "the datatype has gaps"},  {1, 4, 4, 4, 4, "the datatype has gaps"},
      {1, 0, 0, 0, 4, "the datatype has gaps"},  {1, 4, 0, 4, 0, "the datatype has gaps"}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct tmf_array array = rows(1, 3, 2, 4);
    array.element = cases[i].element;
    size = cases[i].size, bound = cases[i].bound, extent = cases[i].extent;
    check_refused(array, cases[i].count, cases[i].why);
  }
  assert_int_equal(made, 0);
}

static void test_without_memory_for_places_no_type_stays(void **state) {
  (void)state;
  memory_is_out = true;
  check_refused(rows(1, 3, 2, 4), 5, "no memory");
  assert_int_equal(made, freed);
  check_trace("1ints ");
}

/* A call that uses its buffer later cannot have the copy that gfortran makes and frees. */
static void test_later_use_needs_an_array_without_gaps(void **state) {
  (void)state;
  char text[300];
  struct tmf_array whole = rows(1, 5, 1, 4), gaps = rows(1, 3, 2, 4), none = rows(1, 3, 2, 0);
  struct captured captured = captured_begin();
  bool is_good = tmf_is_whole(&whole, "MPI_Iallreduce") && tmf_is_whole(&none, "MPI_Iallreduce");
  captured_end(&captured, text, sizeof text);
  assert_true(is_good);
  assert_string_equal(text, "");
  captured = captured_begin();
  is_good = tmf_is_whole(&gaps, "MPI_Iallreduce");
  captured_end(&captured, text, sizeof text);
  assert_false(is_good);
  assert_non_null(strstr(text, "tmpi: MPI_Iallreduce: its buffer is an array section with gaps"));
}

static void test_a_refusal_is_an_error_of_the_object(void **state) {
  (void)state;
  assert_int_equal(tmf_refuse_comm((MPI_Fint)(intptr_t)MPI_COMM_WORLD), MPI_ERR_BUFFER);
  check_trace("comm ");
  assert_int_equal(tmf_refuse_win(77), MPI_ERR_BUFFER);
  check_trace("win ");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(test_an_array_without_gaps_is_taken_as_it_is, start),
      cmocka_unit_test_setup(test_all_elements_are_vectors_of_vectors, start),
      cmocka_unit_test_setup(test_fewer_elements_are_the_first_ones, start),
      cmocka_unit_test_setup(test_elements_may_be_larger_than_the_type, start),
      cmocka_unit_test_setup(test_what_does_not_fit_is_refused, start),
      cmocka_unit_test_setup(test_without_memory_for_places_no_type_stays, start),
      cmocka_unit_test_setup(test_later_use_needs_an_array_without_gaps, start),
      cmocka_unit_test_setup(test_a_refusal_is_an_error_of_the_object, start),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
