/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Data representations of a program (src/tmpi/io/representation.c): their names, what the program's
 * functions are asked, and which elements of a transfer that ended early are there as a whole.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "counted_blocks.h"
#include "internal_locks.h"
#include "tmpi/error/errors.h"
#include "tmpi/io/file.h"
#include "tmpi/io/representation.h"
#include "tmpi/rank/rank.h"
#include "traced_calls.h"

/* ---- what is around it */

static struct tm_rank ranks[20], *caller = ranks;
static int extra, failing; /* calls until the function for extents fails */

struct tm_rank *tm_rank_self(void) { return caller; }

struct tm_rank *tm_enter(const char *call) {
  assert_string_equal(call, "a call");
  return caller;
}

int tm_file_fail(struct tm_file *file, const char *call, int code, const char *format, ...) {
  assert_null(file);
  assert_string_equal(call, "a call");
  assert_non_null(format);
  assert_int_equal(locked, 0);
  return code;
}

MPI_Datatype tm_type_handle(const struct tm_type *type) { return (MPI_Datatype)(uintptr_t)type; }

static int start(void **state) {
  (void)state;
  caller++; /* a rank keeps what it has registered */
  trace[0] = '\0';
  blocks = 0;
  allocations_left = -1;
  failing = 0;
  return 0;
}

/* ---- types: a basic one has a size here and another one in the file */

static struct tm_type whole = {.size = 4, .predefined = true};
static struct tm_type wide = {.size = 8, .lasting = true};
static struct tm_type byte = {.size = 1, .predefined = true};
static struct tm_type nothing = {.size = 0, .predefined = true};
static struct tm_type unseen = {.size = 8, .predefined = true};

static int extent_of(MPI_Datatype handle, MPI_Aint *bytes, void *given) {
  const struct tm_type *type = (const struct tm_type *)handle;
  assert_ptr_equal(given, &extra);
  note("%zu", type->size);
  *bytes = type == &whole ? 8 : (MPI_Aint)type->size;
  if (type == &nothing) *bytes = -1;
  if (type == &unseen) *bytes = 0;
  return failing > 0 && --failing == 0 ? MPI_ERR_OTHER : MPI_SUCCESS;
}

static const struct tm_representation own = {.extent = extent_of, .extra = &extra};

/* Two integers, parts without data, a byte, and an integer: 25 bytes in a file, 13 here. */
static struct tm_type *parts_of_struct[] = {&whole, &nothing, &wide, &byte, &whole};
static int numbers_of_struct[] = {5, 2, 3, 0, 1, 1};
static struct tm_type structure = {
    .size = 13,
    .combiner = MPI_COMBINER_STRUCT,
    .recipe = {.types = parts_of_struct, .type_count = 5, .integers = numbers_of_struct},
};

/* Three of them: a recipe lists more than the one part that there is. */
static struct tm_type *parts_of_row[] = {&structure, &whole};
static struct tm_type row = {
    .size = 39,
    .combiner = MPI_COMBINER_CONTIGUOUS,
    .recipe = {.types = parts_of_row, .type_count = 2},
};

static void check_items(const struct tm_items *items, size_t count, size_t inside, size_t outside,
                        bool same) {
  assert_int_equal(items->count, count);
  assert_int_equal(items->inside, inside);
  assert_int_equal(items->outside, outside);
  assert_int_equal(items->same, same);
}

static void basic_elements_are_the_programs(void **state) {
  (void)state;
  struct tm_items items;
  assert_true(tm_representation_items(&own, &whole, &items));
  check_items(&items, 1, 4, 8, false);
  assert_true(tm_representation_items(&own, &wide, &items)); /* made by the program's parameters */
  check_items(&items, 1, 8, 8, true);
  failing = 1;
  assert_false(tm_representation_items(&own, &whole, &items));
  assert_false(tm_representation_items(&own, &nothing, &items)); /* fewer bytes than none */
}

static void an_element_is_the_sum_of_its_parts(void **state) {
  (void)state;
  struct tm_items items;
  assert_true(tm_representation_items(&own, &structure, &items));
  check_trace("4 1 4 "); /* not of parts without data */
  check_items(&items, 4, 13, 25, false);
  assert_true(tm_representation_items(&own, &row, &items));
  check_items(&items, 12, 39, 75, false);
  trace[0] = '\0';
  failing = 2;
  assert_false(tm_representation_items(&own, &row, &items));
  check_trace("4 1 ");
}

/* ---- transfers that end early */

static void check_whole(struct tm_type *type, size_t count, size_t bytes, size_t items,
                        size_t inside, size_t outside) {
  struct tm_items found;
  assert_true(tm_representation_whole(&own, type, count, bytes, &found));
  assert_int_equal(found.count, items);
  assert_int_equal(found.inside, inside);
  assert_int_equal(found.outside, outside);
}

static void whole_elements_are_counted(void **state) {
  (void)state;
  check_whole(&whole, 3, 24, 3, 12, 24);
  check_whole(&whole, 3, 100, 3, 12, 24);
  check_whole(&whole, 3, 23, 2, 8, 16);
  check_whole(&whole, 3, 7, 0, 0, 0);
  check_whole(&unseen, 3, 9, 3, 24, 0); /* a file needs no bytes for it */
  trace[0] = '\0';
  check_whole(&structure, 2, 50, 8, 26, 50);
  check_trace("4 1 4 ");
  check_whole(&structure, 2, 25, 4, 13, 25);
}

static void parts_of_the_last_element_are_counted_up_to_the_first_that_is_cut(void **state) {
  (void)state;
  check_whole(&structure, 2, 25 + 16, 6, 21, 41);
  check_whole(&structure, 2, 25 + 15, 5, 17, 33); /* not the byte behind the cut integer */
  check_whole(&structure, 2, 25 + 3, 4, 13, 25);
  check_whole(&structure, 2, 25 + 20, 7, 22, 42);
  check_whole(&row, 2, 75 + 25 + 8, 17, 56, 108);
  trace[0] = '\0';
  struct tm_items items;
  for (int calls = 1; calls <= 4; calls++) {
    failing = calls;
    assert_false(tm_representation_whole(&own, &structure, 2, 30, &items));
  }
}

/* ---- conversion */

static int converted(void *memory, MPI_Datatype type, int count, void *file, MPI_Offset position,
                     void *given) {
  assert_ptr_equal(memory, &extra);
  assert_ptr_equal(file, &failing);
  assert_ptr_equal(type, &whole);
  assert_ptr_equal(given, &extra);
  assert_int_equal(position, 0);
  note("int:%d", count);
  return count == 7 ? MPI_ERR_OTHER : MPI_SUCCESS;
}

static int converted_large(void *memory, MPI_Datatype type, MPI_Count count, void *file,
                           MPI_Offset position, void *given) {
  assert_ptr_equal(memory, &extra);
  assert_ptr_equal(file, &failing);
  assert_ptr_equal(type, &whole);
  assert_ptr_equal(given, &extra);
  assert_int_equal(position, 0);
  note("large:%lld", (long long)count);
  return MPI_SUCCESS;
}

static void each_direction_has_its_function(void **state) {
  (void)state;
  struct tm_representation r = {.read = (tm_conversion *)converted, .extra = &extra};
  assert_true(tm_representation_converts(&r, false));
  assert_false(tm_representation_converts(&r, true));
  assert_true(tm_representation_convert(&r, false, &extra, &whole, 5, &failing));
  assert_false(tm_representation_convert(&r, false, &extra, &whole, 7, &failing));
  assert_true(tm_representation_convert(&r, false, &extra, &whole, INT_MAX, &failing));
  check_trace("int:5 int:7 int:2147483647 ");
  assert_false(tm_representation_convert(&r, false, &extra, &whole, (size_t)INT_MAX + 1, &failing));
  check_trace(""); /* the count would not fit */
  r = (struct tm_representation){
      .large = true, .write = (tm_conversion *)converted_large, .extra = &extra};
  assert_true(tm_representation_convert(&r, true, &extra, &whole, (size_t)INT_MAX + 1, &failing));
  check_trace("large:2147483648 ");
}

/* ---- names */

static int registered(const char *name) {
  const struct tm_registering r = {.call = "a call",
                                   .name = name,
                                   .large = true,
                                   .read = (tm_conversion *)converted,
                                   .write = (tm_conversion *)converted_large,
                                   .extent = extent_of,
                                   .extra = &extra};
  return tm_call_register_datarep(&r);
}

static void a_name_is_found_by_its_rank(void **state) {
  (void)state;
  assert_int_equal(registered("first"), MPI_SUCCESS);
  assert_int_equal(registered("second"), MPI_SUCCESS);
  const struct tm_representation *r = tm_representation_find("first");
  assert_non_null(r);
  assert_string_equal(r->name, "first");
  assert_true(r->large && r->read == (tm_conversion *)converted);
  assert_true(r->write == (tm_conversion *)converted_large && r->extent == extent_of);
  assert_ptr_equal(r->extra, &extra);
  assert_string_equal(tm_representation_find("second")->name, "second");
  assert_null(tm_representation_find("third"));
  caller++;
  assert_null(tm_representation_find("first"));
  assert_int_equal(blocks, 2);
}

static void a_name_is_given_once(void **state) {
  (void)state;
  static const char *const standard[] = {"native", "internal", "external32"};
  assert_int_equal(registered("mine"), MPI_SUCCESS);
  assert_int_equal(registered("mine"), MPI_ERR_DUP_DATAREP);
  for (int i = 0; i < 3; i++) assert_int_equal(registered(standard[i]), MPI_ERR_DUP_DATAREP);
  assert_int_equal(blocks, 1);
}

static void names_have_bounds(void **state) {
  (void)state;
  char name[MPI_MAX_DATAREP_STRING + 1];
  memset(name, 'x', sizeof name);
  name[MPI_MAX_DATAREP_STRING] = '\0';
  assert_int_equal(registered(name), MPI_ERR_ARG);
  name[MPI_MAX_DATAREP_STRING - 1] = '\0';
  assert_int_equal(registered(name), MPI_SUCCESS);
  assert_int_equal(registered("x"), MPI_SUCCESS);
  assert_int_equal(registered(""), MPI_ERR_ARG);
  assert_int_equal(registered(NULL), MPI_ERR_ARG);
  const struct tm_registering r = {.call = "a call", .name = "without extents"};
  assert_int_equal(tm_call_register_datarep(&r), MPI_ERR_ARG);
  allocations_left = 0;
  assert_int_equal(registered("too many"), MPI_ERR_NO_MEM);
  assert_null(tm_representation_find("too many"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(basic_elements_are_the_programs, start),
      cmocka_unit_test_setup(an_element_is_the_sum_of_its_parts, start),
      cmocka_unit_test_setup(whole_elements_are_counted, start),
      cmocka_unit_test_setup(parts_of_the_last_element_are_counted_up_to_the_first_that_is_cut,
                             start),
      cmocka_unit_test_setup(each_direction_has_its_function, start),
      cmocka_unit_test_setup(a_name_is_found_by_its_rank, start),
      cmocka_unit_test_setup(a_name_is_given_once, start),
      cmocka_unit_test_setup(names_have_bounds, start),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
