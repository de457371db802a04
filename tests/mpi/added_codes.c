/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Error classes and codes that ranks add (src/tmpi/error/code.c), call by call: their numbers,
 * texts and removal, without memory, too. One thread plays two ranks, and a thread of no rank.
 */
#include <stdlib.h>
#include <string.h>

#include "counted_realloc.h"
#include "internal_locks.h"
#include "tmpi/error/code.h"
#include "tmpi/rank/rank.h"

enum { FIRST = MPI_ERR_LASTCODE + 1 };

/* ---- what is around it */

static struct tm_rank ranks[30], *rank = ranks, *caller; /* a rank keeps its codes until the end */

char *__wrap_strdup(const char *text);

struct tm_rank *tm_rank_self(void) { return caller; }

char *__wrap_strdup(const char *text) {
  size_t size = strlen(text) + 1;
  char *copy = __wrap_malloc(size);
  return copy != NULL ? memcpy(copy, text, size) : NULL;
}

static int start(void **state) {
  (void)state;
  rank += 2;
  caller = rank;
  blocks = 0;
  memory_is_out = false;
  allocations_left = -1;
  return 0;
}

static int end(void **state) {
  (void)state;
  return locked; /* no call keeps a lock */
}

static void check_text(int code, const char *expected) {
  char text[MPI_MAX_ERROR_STRING];
  assert_true(tm_code_text(code, text));
  assert_string_equal(text, expected);
}

/* ---- the tests */

static void test_codes_of_the_standard_are_their_own_classes(void **state) {
  (void)state;
  char text[MPI_MAX_ERROR_STRING];
  for (int thread = 0; thread < 2; thread++) { /* also where no rank is */
    assert_int_equal(tm_code_class(MPI_SUCCESS), MPI_SUCCESS);
    assert_int_equal(tm_code_class(MPI_ERR_ABI), MPI_ERR_ABI);
    assert_int_equal(tm_code_class(-1), -1);
    assert_int_equal(tm_code_class(MPI_ERR_ABI + 1), -1); /* it is the last one */
    assert_int_equal(tm_code_class(FIRST), -1);
    assert_true(tm_code_is_valid(MPI_SUCCESS));
    assert_false(tm_code_is_valid(-1));
    check_text(MPI_SUCCESS, "no error");
    check_text(MPI_ERR_NO_MEM, "no memory");
    assert_false(tm_code_text(FIRST, text));
    assert_string_equal(text, "no error code");
    assert_int_equal(*tm_code_last(), MPI_ERR_LASTCODE);
    assert_int_equal(tm_code_set_text(MPI_ERR_OTHER, "mine"), MPI_ERR_ARG);
    assert_false(tm_code_remove(MPI_ERR_OTHER, true));
    caller = NULL;
  }
  assert_int_equal(blocks, 0);
}

static void test_classes_and_codes_are_numbered(void **state) {
  (void)state;
  assert_int_equal(tm_code_add(-1), FIRST);
  const int *last = tm_code_last();
  assert_int_equal(*last, FIRST);
  assert_int_equal(tm_code_add(FIRST), FIRST + 1);
  assert_int_equal(tm_code_add(MPI_SUCCESS), FIRST + 2);
  assert_int_equal(tm_code_add(MPI_ERR_IO), FIRST + 3);
  assert_int_equal(*last, FIRST + 3);
  assert_int_equal(tm_code_class(FIRST), FIRST);
  assert_int_equal(tm_code_class(FIRST + 1), FIRST);
  assert_int_equal(tm_code_class(FIRST + 2), MPI_SUCCESS);
  assert_int_equal(tm_code_class(FIRST + 3), MPI_ERR_IO);
  assert_int_equal(tm_code_class(FIRST + 4), -1);
  check_text(FIRST, "");
}

static void test_codes_are_those_of_a_rank(void **state) {
  (void)state;
  assert_int_equal(tm_code_add(-1), FIRST);
  assert_int_equal(tm_code_set_text(FIRST, "of one"), MPI_SUCCESS);
  caller = rank + 1;
  assert_int_equal(tm_code_class(FIRST), -1);
  assert_int_equal(*tm_code_last(), MPI_ERR_LASTCODE);
  assert_int_equal(tm_code_set_text(FIRST, "of two"), MPI_ERR_ARG);
  assert_int_equal(tm_code_add(MPI_ERR_IO), FIRST);
  check_text(FIRST, "");
  caller = rank;
  check_text(FIRST, "of one");
  assert_int_equal(tm_code_class(FIRST), FIRST);
}

static void test_a_text_is_set_replaced_and_taken_away(void **state) {
  (void)state;
  char given[] = "first";
  assert_int_equal(tm_code_add(-1), FIRST);
  int before = blocks;
  assert_int_equal(tm_code_set_text(FIRST, NULL), MPI_ERR_ARG); /* it has none */
  assert_int_equal(tm_code_set_text(FIRST, given), MPI_SUCCESS);
  given[0] = 'F';
  check_text(FIRST, "first");
  assert_int_equal(tm_code_set_text(FIRST, "second"), MPI_SUCCESS);
  check_text(FIRST, "second");
  assert_int_equal(blocks, before + 1);
  assert_int_equal(tm_code_set_text(FIRST, NULL), MPI_SUCCESS);
  check_text(FIRST, "");
  assert_int_equal(tm_code_set_text(FIRST + 1, "of none"), MPI_ERR_ARG);
  assert_int_equal(blocks, before);
}

static void test_a_long_text_is_cut(void **state) {
  (void)state;
  char given[2 * MPI_MAX_ERROR_STRING], text[MPI_MAX_ERROR_STRING];
  memset(given, 'x', sizeof given - 1);
  given[sizeof given - 1] = '\0';
  assert_int_equal(tm_code_add(-1), FIRST);
  assert_int_equal(tm_code_set_text(FIRST, given), MPI_SUCCESS);
  assert_true(tm_code_text(FIRST, text));
  assert_int_equal(strlen(text), sizeof text - 1);
  assert_int_equal(tm_code_set_text(FIRST, NULL), MPI_SUCCESS);
}

static void test_a_code_with_a_text_stays(void **state) {
  (void)state;
  assert_int_equal(tm_code_add(MPI_ERR_IO), FIRST);
  assert_int_equal(tm_code_set_text(FIRST, "used"), MPI_SUCCESS);
  assert_false(tm_code_remove(FIRST, false));
  assert_int_equal(tm_code_set_text(FIRST, NULL), MPI_SUCCESS);
  assert_false(tm_code_remove(FIRST, true)); /* it is no class */
  assert_true(tm_code_remove(FIRST, false));
  assert_false(tm_code_remove(FIRST, false));
  assert_int_equal(tm_code_class(FIRST), -1);
}

static void test_a_class_stays_while_codes_are_of_it(void **state) {
  (void)state;
  assert_int_equal(tm_code_add(-1), FIRST);
  assert_int_equal(tm_code_add(MPI_ERR_IO), FIRST + 1);
  assert_int_equal(tm_code_add(FIRST), FIRST + 2);
  assert_false(tm_code_remove(FIRST, true));
  assert_true(tm_code_remove(FIRST + 2, false));
  assert_false(tm_code_remove(FIRST, false)); /* it is a class */
  assert_true(tm_code_remove(FIRST, true));
  assert_int_equal(tm_code_class(FIRST), -1);
  assert_int_equal(tm_code_class(FIRST + 1), MPI_ERR_IO);
}

static void test_the_highest_codes_that_are_removed_are_used_again(void **state) {
  (void)state;
  for (int i = 0; i < 4; i++) assert_int_equal(tm_code_add(-1), FIRST + i);
  const int *last = tm_code_last();
  assert_true(tm_code_remove(FIRST + 1, true));
  assert_true(tm_code_remove(FIRST + 2, true));
  assert_int_equal(*last, FIRST + 3);
  assert_true(tm_code_remove(FIRST + 3, true));
  assert_int_equal(*last, FIRST);
  assert_int_equal(tm_code_add(-1), FIRST + 1);
  assert_int_equal(tm_code_class(FIRST + 1), FIRST + 1);
  assert_true(tm_code_remove(FIRST + 1, true));
  assert_true(tm_code_remove(FIRST, true));
  assert_int_equal(*last, MPI_ERR_LASTCODE);
}

static void test_without_memory_no_code_is_added(void **state) {
  (void)state;
  memory_is_out = true;
  assert_int_equal(tm_code_add(-1), -1);
  assert_int_equal(*tm_code_last(), MPI_ERR_LASTCODE);
  memory_is_out = false;
  allocations_left = 1;
  assert_int_equal(tm_code_add(-1), -1);
  assert_int_equal(*tm_code_last(), MPI_ERR_LASTCODE);
  assert_int_equal(tm_code_add(-1), FIRST);
  assert_int_equal(tm_code_set_text(FIRST, "first"), MPI_SUCCESS);
  memory_is_out = true;
  assert_int_equal(tm_code_add(-1), -1);
  assert_int_equal(tm_code_set_text(FIRST, "second"), MPI_ERR_NO_MEM);
  check_text(FIRST, "first");
  memory_is_out = false;
  assert_int_equal(tm_code_add(-1), FIRST + 1);
  check_text(FIRST, "first");
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, start, end)
  const struct CMUnitTest tests[] = {
      TEST(test_codes_of_the_standard_are_their_own_classes),
      TEST(test_classes_and_codes_are_numbered),
      TEST(test_codes_are_those_of_a_rank),
      TEST(test_a_text_is_set_replaced_and_taken_away),
      TEST(test_a_long_text_is_cut),
      TEST(test_a_code_with_a_text_stays),
      TEST(test_a_class_stays_while_codes_are_of_it),
      TEST(test_the_highest_codes_that_are_removed_are_used_again),
      TEST(test_without_memory_no_code_is_added),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
