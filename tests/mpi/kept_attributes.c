/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attributes of an object, and key values (src/tmpi/attr/attribute.c, keyval.c): the order in which
 * functions of the program are called, what they may do meanwhile, whose error is reported, and
 * what is left where there is no memory.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/internal/locks.h"
#include "counted_realloc.h"
#include "tmpi/attr/attribute.h"
#include "tmpi/error/errors.h"
#include "tmpi/layout/type.h"
#include "tmpi/object/comm.h"
#include "tmpi/rma/win.h"

static struct tm_rank rank;
static struct tm_comm comm;
static struct tm_win win;
static struct tm_type type = {.magic = TM_TYPE_MAGIC};
struct tm_type tm_predefined[TM_PREDEFINED_COUNT];
static struct tm_attributes *of_type;

struct tm_rank *tm_rank_self(void) { return &rank; }
struct tm_rank *tm_enter(const char *call) {
  assert_non_null(call);
  return &rank;
}

void mti_lock(uint32_t *lock) { assert_int_equal((*lock)++, 0); }
void mti_unlock(uint32_t *lock) { assert_int_equal((*lock)--, 1); }

/* ---- objects, and whose error it is */

struct tm_comm *tm_comm_of(MPI_Comm handle) { return handle == (MPI_Comm)&comm ? &comm : NULL; }
struct tm_win *tm_win_of(MPI_Win handle) { return handle == (MPI_Win)&win ? &win : NULL; }
struct tm_attributes **tm_type_attributes(MPI_Datatype handle, struct tm_type *of) {
  assert_true(handle == (MPI_Datatype)&type && of == &type);
  return &of_type;
}

static const void *failed_on; /* a communicator, or a window; NULL: none */
static char said[64];

static void note_failure(const void *on, const char *call, const char *format, va_list list) {
  vsnprintf(said, sizeof said, format, list);
  assert_non_null(call);
  failed_on = on;
}

int tm_fail(struct tm_comm *on, const char *call, int code, const char *format, ...) {
  va_list list;
  va_start(list, format);
  note_failure(on, call, format, list);
  va_end(list);
  return code;
}

int tm_fail_code(struct tm_comm *on, const char *call, int code) {
  return tm_fail(on, call, code, "%s", "");
}

int tm_win_fail(struct tm_win *on, const char *call, int code, const char *format, ...) {
  va_list list;
  va_start(list, format);
  note_failure(on, call, format, list);
  va_end(list);
  return code;
}

int tm_win_fail_code(struct tm_win *on, const char *call, int code) {
  return tm_win_fail(on, call, code, "%s", "");
}

/* ---- functions of the program */

static struct tm_attributes *attributes;
static const struct tm_attribute_holder of_comm = {&attributes, TM_OF_COMM, &comm, &comm, NULL},
                                        of_win = {&attributes, TM_OF_WIN, &win, NULL, &win};
static char deleted[16], copied[16]; /* the value of each attribute, a digit */
static int delete_error, copy_error,
    delete_next; /* an attribute that a function deletes; 0: none */
static int values[10];
static int set_again; /* this many times a delete function sets what is deleted */

static int delete_value(void *object, int keyval, void *value, void *extra) {
  assert_true(object == &comm && extra == values && rank.attributes_ilock == 0);
  deleted[strlen(deleted)] = (char)('0' + ((int *)value - values));
  if (set_again > 0) {
    set_again--;
    assert_int_equal(tm_attribute_set("set", &of_comm, keyval, &values[9]), MPI_SUCCESS);
  }
  return delete_error;
}

static int copy_value(void *old, int keyval, void *extra, void *value, void *copy, int *flag) {
  assert_true(old == &comm && extra == values && rank.attributes_ilock == 0 && keyval >= 1000);
  int number = (int)((int *)value - values);
  copied[strlen(copied)] = (char)('0' + number);
  *(void **)copy = (int *)value + 1;
  *flag = number != 3; /* that one stays where it is */
  if (delete_next != 0)
    assert_int_equal(tm_attribute_delete("delete", &of_comm, delete_next), MPI_SUCCESS);
  return number == 2 ? copy_error : MPI_SUCCESS;
}

static int make_keyval(enum tm_attributes_of of, tm_copy_attribute *copy) {
  int keyval = 0;
  const struct tm_keyval functions = {
      .used = true, .of = of, .copy = copy, .del = delete_value, .extra = values};
  assert_int_equal(tm_keyval_create("create", &functions, &keyval), MPI_SUCCESS);
  return keyval;
}

static int keyvals[5]; /* of communicators */

static int set_up(void **state) {
  (void)state;
  memset(&rank, 0, sizeof rank);
  memset(deleted, 0, sizeof deleted);
  memset(copied, 0, sizeof copied);
  attributes = of_type = comm.attributes = win.attributes = NULL;
  delete_error = copy_error = MPI_SUCCESS;
  delete_next = set_again = 0;
  failed_on = NULL;
  for (int i = 0; i < 5; i++) keyvals[i] = make_keyval(TM_OF_COMM, copy_value);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  delete_error = MPI_SUCCESS;
  assert_int_equal(tm_attributes_delete(&attributes, &comm), MPI_SUCCESS);
  assert_null(attributes);
  for (int i = 0; i < rank.keyval_count; i++) assert_int_equal(rank.keyvals[i].uses, 0);
  free(rank.keyvals);
  assert_true(blocks == 0 && rank.attributes_ilock == 0);
  return 0;
}

static void set(int number) {
  assert_int_equal(tm_attribute_set("set", &of_comm, keyvals[number], &values[number]),
                   MPI_SUCCESS);
}

/* The number of the value that an attribute has; -1: there is none. */
static int value_of(const struct tm_attribute_holder *holder, int keyval) {
  int flag;
  int *value = NULL;
  assert_int_equal(tm_attribute_get("get", holder, keyval, &value, &flag), MPI_SUCCESS);
  return flag ? (int)(value - values) : -1;
}

/* ---- deleting */

static void the_newest_attribute_is_deleted_first(void **state) {
  (void)state;
  for (int i = 0; i < 4; i++) set(i);
  set(1); /* the old value is deleted; then it is the newest one */
  assert_string_equal(deleted, "1");
  assert_int_equal(tm_attribute_delete("delete", &of_comm, keyvals[2]), MPI_SUCCESS);
  assert_int_equal(tm_attribute_delete("delete", &of_comm, keyvals[2]), MPI_SUCCESS);
  assert_int_equal(value_of(&of_comm, keyvals[2]), -1);
  assert_int_equal(value_of(&of_comm, keyvals[3]), 3);
  assert_int_equal(tm_attributes_delete(&attributes, &comm), MPI_SUCCESS);
  assert_string_equal(deleted, "12130");
  assert_null(attributes);
}

/* That attribute and older ones stay, in their order. */
static void a_delete_function_fails(void **state) {
  (void)state;
  for (int i = 0; i < 4; i++) set(i);
  delete_error = 77;
  assert_int_equal(tm_attribute_delete("delete", &of_comm, keyvals[1]), 77);
  assert_ptr_equal(failed_on, &comm);
  assert_int_equal(tm_attribute_set("set", &of_comm, keyvals[2], &values[8]), 77);
  assert_int_equal(value_of(&of_comm, keyvals[2]), 2);
  assert_int_equal(tm_attributes_delete(&attributes, &comm), 77);
  delete_error = MPI_SUCCESS;
  assert_int_equal(tm_attributes_delete(&attributes, &comm), MPI_SUCCESS);
  assert_string_equal(deleted, "1233210");
}

static void a_delete_function_sets_the_attribute_anew(void **state) {
  (void)state;
  set(0);
  set_again = 2;
  assert_int_equal(tm_attribute_set("set", &of_comm, keyvals[0], &values[4]), MPI_SUCCESS);
  assert_string_equal(deleted, "099");
  assert_int_equal(value_of(&of_comm, keyvals[0]), 4);
}

/* ---- copying */

static void check_copy(int expected_error, const char *expected) {
  struct tm_attributes *copy, *before = attributes;
  char found[16] = "";
  assert_int_equal(tm_attributes_copy(&copy, &attributes, &comm), expected_error);
  struct tm_attribute_holder holder = {&copy, TM_OF_COMM, &comm, &comm, NULL};
  for (int i = 0; i < 5; i++) {
    int number = value_of(&holder, keyvals[i]);
    if (number >= 0) found[strlen(found)] = (char)('0' + number);
  }
  assert_string_equal(found, expected);
  memset(deleted, 0, sizeof deleted);
  assert_int_equal(tm_attributes_delete(&copy, &comm), MPI_SUCCESS);
  assert_true(attributes == before && copy == NULL);
}

static void copies_have_what_copy_functions_return(void **state) {
  (void)state;
  for (int i = 0; i < 5; i++) set(i);
  check_copy(MPI_SUCCESS, "1235"); /* not 3 */
  assert_string_equal(copied, "43210");
  assert_string_equal(deleted, "5321"); /* copies keep the order */
}

static void a_copy_function_fails(void **state) {
  (void)state;
  for (int i = 0; i < 5; i++) set(i);
  copy_error = 55;
  check_copy(55, "");
  assert_string_equal(copied, "432");
  assert_string_equal(deleted, "");
}

/* The next one, or the one that is copied. */
static void a_copy_function_deletes_attributes(void **state) {
  (void)state;
  for (int i = 0; i < 5; i++) set(i);
  delete_next = keyvals[3];
  check_copy(MPI_SUCCESS, "1235");
  assert_string_equal(copied, "4210");
  memset(copied, 0, sizeof copied);
  delete_next = keyvals[4];
  check_copy(MPI_SUCCESS, "1235");
  assert_string_equal(copied, "4210");
}

static void functions_that_do_nothing(void **state) {
  (void)state;
  keyvals[0] = make_keyval(TM_OF_COMM, NULL);
  keyvals[1] = make_keyval(TM_OF_COMM, TM_DUP_ATTRIBUTE);
  rank.keyvals[keyvals[1] - 1000].del = NULL;
  set(0);
  set(1);
  check_copy(MPI_SUCCESS, "1");
  assert_string_equal(deleted, "");
  assert_string_equal(copied, "");
}

/* ---- what is refused */

static void key_values_are_of_one_class_of_objects(void **state) {
  static const int unknown[] = {0, 999, 1006};
  int of_windows = make_keyval(TM_OF_WIN, NULL), flag;
  (void)state;
  for (size_t i = 0; i < 4; i++) {
    int keyval = i < 3 ? unknown[i] : of_windows;
    char expected[40];
    snprintf(expected, sizeof expected, "key value %d is not valid", keyval);
    assert_int_equal(tm_attribute_set("set", &of_comm, keyval, values), MPI_ERR_KEYVAL);
    assert_string_equal(said, expected);
    assert_ptr_equal(failed_on, &comm);
    assert_int_equal(tm_attribute_get("get", &of_comm, keyval, &said, &flag), MPI_ERR_KEYVAL);
    assert_int_equal(tm_attribute_delete("delete", &of_comm, keyval), MPI_ERR_KEYVAL);
  }
  assert_int_equal(tm_attribute_set("set", &of_win, keyvals[0], values), MPI_ERR_KEYVAL);
  assert_ptr_equal(failed_on, &win);
}

/* Of the table, and of the attribute: the error is the object's own. */
static void no_memory(void **state) {
  int of_windows = make_keyval(TM_OF_WIN, NULL), keyval;
  (void)state;
  for (int before = 0; before < 2; before++) {
    allocations_left = before;
    assert_int_equal(tm_attribute_set("set", &of_comm, keyvals[0], values), MPI_ERR_NO_MEM);
    assert_ptr_equal(failed_on, &comm);
    assert_int_equal(tm_attributes_delete(&attributes, &comm), MPI_SUCCESS);
    allocations_left = before;
    assert_int_equal(tm_attribute_set("set", &of_win, of_windows, values), MPI_ERR_NO_MEM);
    assert_ptr_equal(failed_on, &win);
    assert_int_equal(tm_attributes_delete(&attributes, &comm), MPI_SUCCESS);
  }
  for (int i = 0; i < 5; i++) set(i);
  for (int before = 0; before < 3; before++) { /* in the middle of a copy */
    allocations_left = before;
    check_copy(MPI_ERR_NO_MEM, "");
  }
  allocations_left = -1;
  for (int i = rank.keyval_count; i < 8; i++) make_keyval(TM_OF_COMM, NULL);
  memory_is_out = true;
  const struct tm_keyval functions = {.used = true};
  assert_int_equal(tm_keyval_create("create", &functions, &keyval), MPI_ERR_NO_MEM);
  memory_is_out = false;
  assert_int_equal(make_keyval(TM_OF_COMM, NULL), 1008);
}

/* ---- key values that are freed */

static void a_freed_key_value_is_there_while_attributes_use_it(void **state) {
  int keyval = keyvals[1], again = keyvals[1];
  (void)state;
  set(1);
  assert_int_equal(tm_keyval_free("free", &keyval), MPI_SUCCESS);
  assert_int_equal(keyval, MPI_KEYVAL_INVALID);
  assert_int_equal(value_of(&of_comm, keyvals[1]), 1);
  assert_int_equal(tm_keyval_free("free", &again), MPI_SUCCESS);
  assert_int_equal(tm_attribute_delete("delete", &of_comm, keyvals[1]), MPI_SUCCESS);
  again = keyvals[1];
  assert_int_equal(tm_keyval_free("free", &again), MPI_ERR_KEYVAL);
  assert_string_equal(said, "key value 1001 is not valid");
  keyval = keyvals[3];
  assert_int_equal(tm_keyval_free("free", &keyval), MPI_SUCCESS);
  assert_int_equal(make_keyval(TM_OF_COMM, NULL), keyvals[3]); /* the last one that was freed */
  assert_int_equal(make_keyval(TM_OF_COMM, NULL), keyvals[1]);
  assert_int_equal(make_keyval(TM_OF_COMM, NULL), 1005);
  keyval = keyvals[0];
  rank.keyvals[0].extra = malloc(1); /* of a wrapper for Fortran */
  rank.keyvals[0].fortran = true;
  assert_int_equal(tm_keyval_free("free", &keyval), MPI_SUCCESS);
  assert_int_equal(make_keyval(TM_OF_COMM, NULL), keyvals[0]);
}

/* ---- integers of Fortran */

static void a_copy_of_an_integer_of_fortran_is_one(void **state) {
  int flag, **address;
  struct tm_attributes *copy;
  (void)state;
  set(0);
  tm_keyval_of_fortran(keyvals[0]);
  assert_int_equal(tm_attributes_copy(&copy, &attributes, &comm), MPI_SUCCESS);
  const struct tm_attribute_holder holder = {&copy, TM_OF_COMM, &comm, &comm, NULL};
  assert_int_equal(tm_attribute_get("get", &holder, keyvals[0], &address, &flag), MPI_SUCCESS);
  assert_ptr_equal(*address, &values[1]);
  assert_int_equal(tm_attributes_delete(&copy, &comm), MPI_SUCCESS);
}

static void an_integer_of_fortran_has_an_address_in_c(void **state) {
  int flag, **address;
  (void)state;
  attributes = NULL;
  const struct tm_attribute_holder holder = {&comm.attributes, TM_OF_COMM, &comm, &comm, NULL};
  assert_int_equal(tm_attribute_set("set", &holder, keyvals[0], &values[6]), MPI_SUCCESS);
  assert_false(tm_attribute_of_fortran(TM_OF_COMM, &comm, keyvals[0], false));
  assert_true(tm_attribute_of_fortran(TM_OF_COMM, &comm, keyvals[0], true));
  assert_true(tm_attribute_of_fortran(TM_OF_COMM, &comm, keyvals[0], false));
  assert_int_equal(tm_attribute_get("get", &holder, keyvals[0], &address, &flag), MPI_SUCCESS);
  assert_ptr_equal(*address, &values[6]);
  assert_false(tm_attribute_of_fortran(TM_OF_COMM, &comm, keyvals[1], true));
  assert_false(tm_attribute_of_fortran(TM_OF_COMM, &win, keyvals[0], false));
  assert_false(tm_attribute_of_fortran(TM_OF_WIN, &win, keyvals[0], false));
  assert_false(tm_attribute_of_fortran(TM_OF_WIN, &comm, keyvals[0], false));
  assert_false(tm_attribute_of_fortran(TM_OF_TYPE, &type, keyvals[0], false));
  int of_types = make_keyval(TM_OF_TYPE, NULL);
  const struct tm_attribute_holder types = {&of_type, TM_OF_TYPE, &comm, &comm, NULL};
  assert_int_equal(tm_attribute_set("set", &types, of_types, &values[7]), MPI_SUCCESS);
  assert_true(tm_attribute_of_fortran(TM_OF_TYPE, &type, of_types, true));
  assert_false(tm_attribute_of_fortran(TM_OF_WIN, &win, of_types, true));
  rank.keyvals[of_types - 1000].del = NULL;
  assert_int_equal(tm_attributes_delete(&of_type, &type), MPI_SUCCESS);
  assert_false(tm_attribute_of_fortran(TM_OF_TYPE, NULL, keyvals[0], false));
  tm_keyval_of_fortran(keyvals[0]); /* its functions get the integer itself */
  rank.keyvals[0].extra = values;
  tm_keyval_of_fortran(1);
  assert_int_equal(tm_attributes_delete(&comm.attributes, &comm), MPI_SUCCESS);
  assert_string_equal(deleted, "6");
}

#define ATTRIBUTE_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      ATTRIBUTE_TEST(the_newest_attribute_is_deleted_first),
      ATTRIBUTE_TEST(a_delete_function_fails),
      ATTRIBUTE_TEST(a_delete_function_sets_the_attribute_anew),
      ATTRIBUTE_TEST(copies_have_what_copy_functions_return),
      ATTRIBUTE_TEST(a_copy_function_fails),
      ATTRIBUTE_TEST(a_copy_function_deletes_attributes),
      ATTRIBUTE_TEST(functions_that_do_nothing),
      ATTRIBUTE_TEST(key_values_are_of_one_class_of_objects),
      ATTRIBUTE_TEST(no_memory),
      ATTRIBUTE_TEST(a_freed_key_value_is_there_while_attributes_use_it),
      ATTRIBUTE_TEST(a_copy_of_an_integer_of_fortran_is_one),
      ATTRIBUTE_TEST(an_integer_of_fortran_has_an_address_in_c),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
