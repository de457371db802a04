/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The environment that a rank has of its own (src/tmpi/private/environment.c), call by call. In
 * this program its functions stand in place of libc's, as in a rank.
 */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "traced_calls.h"

extern void *__libc_stack_end;

/* ---- what is around it */

static bool is_locked, is_secure;
static int allocations, fails_at; /* the number of the allocation that fails; 0: none does */

void tm_zone_changed(void);
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex);
void *__wrap_calloc(size_t count, size_t size);
void *__real_calloc(size_t count, size_t size);
unsigned long __wrap_getauxval(unsigned long type);

/* It takes locks of its own. */
void tm_zone_changed(void) {
  assert_false(is_locked);
  note("zone");
}

int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex) {
  (void)mutex;
  assert_false(is_locked);
  is_locked = true;
  return 0;
}

int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex) {
  (void)mutex;
  assert_true(is_locked);
  is_locked = false;
  return 0;
}

void *__wrap_calloc(size_t count, size_t size) {
  assert_true(is_locked);
  return ++allocations == fails_at ? NULL : __real_calloc(count, size);
}

unsigned long __wrap_getauxval(unsigned long type) {
  assert_int_equal(type, AT_SECURE);
  return is_secure;
}

/* ---- a program's environment */

static char one[] = "ONE=1", two[] = "TWO=2", again[] = "ONE=again", bare[] = "BARE";
static char *list[6];

static int start(void **state) {
  (void)state;
  list[0] = one, list[1] = two, list[2] = NULL;
  environ = list;
  is_secure = false;
  allocations = fails_at = 0;
  trace[0] = '\0';
  return 0;
}

/* Compares the entries, each with a space behind it. */
static void check_entries(const char *expected) {
  for (char **at = environ; *at != NULL; at++) note("%s", *at);
  check_trace(expected);
}

static void check_value(const char *name, const char *expected) {
  const char *value = getenv(name);
  if (expected == NULL)
    assert_null(value);
  else
    assert_string_equal(value, expected);
}

/* ---- reading */

static void test_a_variable_is_found_by_its_whole_name(void **state) {
  (void)state;
  list[0] = bare, list[1] = again, list[2] = two, list[3] = NULL;
  check_value("ONE", "again");
  check_value("TWO", "2");
  check_value("ON", NULL);
  check_value("ONE=", NULL);
  check_value("ONES", NULL);
  check_value("BARE", NULL);
  environ = NULL;
  check_value("ONE", NULL);
}

static void test_a_program_with_other_rights_reads_nothing_by_secure_getenv(void **state) {
  (void)state;
  assert_string_equal(secure_getenv("ONE"), "1");
  is_secure = true;
  assert_null(secure_getenv("ONE"));
}

/* ---- writing */

static void test_what_is_set_is_found(void **state) {
  (void)state;
  assert_int_equal(setenv("NEW", "value=x", 0), 0);
  check_entries("ONE=1 TWO=2 NEW=value=x ");
  assert_int_equal(setenv("ONE", "other", 0), 0);
  check_value("ONE", "1");
  assert_int_equal(setenv("ONE", "", 1), 0);
  check_entries("ONE= TWO=2 NEW=value=x ");
  assert_int_equal(setenv("ON", "part", 1), 0);
  check_entries("ONE= TWO=2 NEW=value=x ON=part ");
}

/* All ranks begin with one array, and a program may set one of its own. */
static void test_an_array_of_others_is_not_written_to(void **state) {
  (void)state;
  assert_int_equal(setenv("ONE", "changed", 1), 0);
  assert_int_equal(unsetenv("TWO"), 0);
  assert_ptr_equal(list[0], one);
  assert_ptr_equal(list[1], two);
  assert_null(list[2]);
  check_entries("ONE=changed ");
  char **own = environ;
  environ = list;
  assert_int_equal(unsetenv("ONE"), 0);
  assert_ptr_equal(list[0], one);
  assert_ptr_not_equal(environ, own);
  check_entries("TWO=2 ");
}

/* getenv() has given the address of the text away. */
static void test_a_value_that_was_read_stays(void **state) {
  (void)state;
  assert_int_equal(setenv("NEW", "before", 1), 0);
  const char *read = getenv("NEW");
  assert_int_equal(setenv("NEW", "behind", 1), 0);
  assert_int_equal(unsetenv("NEW"), 0);
  assert_string_equal(read, "before");
}

static void test_many_variables(void **state) {
  (void)state;
  char name[8], value[8];
  enum { MANY = 200 };
  for (int i = 0; i < MANY; i++) {
    snprintf(name, sizeof name, "N%d", i);
    snprintf(value, sizeof value, "%d", i);
    assert_int_equal(setenv(name, value, 0), 0);
  }
  for (int i = 0; i < MANY; i++) {
    snprintf(name, sizeof name, "N%d", i);
    snprintf(value, sizeof value, "%d", i);
    check_value(name, value);
  }
  check_value("TWO", "2");
  assert_in_range(allocations, MANY + 1, MANY + 10); /* few arrays: they double */
}

static void test_a_variable_is_removed_as_often_as_it_is_there(void **state) {
  (void)state;
  list[2] = again, list[3] = bare, list[4] = one, list[5] = NULL;
  assert_int_equal(unsetenv("ONE"), 0);
  check_entries("TWO=2 BARE ");
  assert_int_equal(unsetenv("TWO"), 0);
  check_entries("BARE ");
}

static void test_what_is_not_there_is_removed_without_memory(void **state) {
  (void)state;
  fails_at = 1;
  assert_int_equal(unsetenv("NONE"), 0);
  assert_ptr_equal(environ, list);
  assert_int_equal(setenv("ONE", "other", 0), 0);
  assert_ptr_equal(environ, list);
}

/* Programs empty the array in this way, too. */
static void test_an_array_that_the_program_has_cut(void **state) {
  (void)state;
  assert_int_equal(setenv("NEW", "value", 1), 0);
  environ[0] = NULL;
  assert_int_equal(setenv("LAST", "value", 1), 0);
  check_entries("LAST=value ");
}

static void test_an_entry_is_the_text_that_putenv_was_given(void **state) {
  (void)state;
  char entry[] = "PUT=first", name[] = "TWO";
  assert_int_equal(putenv(entry), 0);
  check_entries("ONE=1 TWO=2 PUT=first ");
  entry[4] = 'F';
  check_value("PUT", "First");
  assert_int_equal(putenv(again), 0);
  check_entries("ONE=again TWO=2 PUT=First ");
  assert_int_equal(putenv(name), 0);
  check_entries("ONE=again PUT=First ");
}

static void test_names_that_are_none(void **state) {
  (void)state;
  static const char *const names[] = {"", "ONE=1", "="};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    errno = 0;
    assert_int_equal(setenv(names[i], "x", 1), -1);
    assert_int_equal(errno, EINVAL);
    errno = 0;
    assert_int_equal(unsetenv(names[i]), -1);
    assert_int_equal(errno, EINVAL);
  }
  assert_int_equal(setenv(NULL, "x", 1), -1);
  assert_ptr_equal(environ, list);
  assert_int_equal(allocations, 0);
}

static void test_nothing_is_left_after_clearenv(void **state) {
  (void)state;
  for (int own = 0; own < 2; own++) { /* also in an array of the rank's own */
    assert_int_equal(clearenv(), 0);
    check_trace("zone ");
    assert_null(environ);
    assert_int_equal(unsetenv("ONE"), 0);
    assert_int_equal(setenv("NEW", "value", 0), 0);
    check_entries("NEW=value ");
  }
}

/* The time zone is read where the variable has changed. */
static void test_a_change_of_the_time_zone_is_noted(void **state) {
  (void)state;
  char entry[] = "TZ=UTC";
  assert_int_equal(setenv("TZ", "CET", 1), 0);
  check_trace("zone ");
  assert_int_equal(unsetenv("TZ"), 0);
  check_trace("zone ");
  assert_int_equal(putenv(entry), 0);
  check_trace("zone ");
  assert_int_equal(setenv("T", "Z", 1), 0);
  assert_int_equal(unsetenv("ONE"), 0);
  check_trace("");
}

static void test_without_memory_the_environment_stays(void **state) {
  (void)state;
  for (fails_at = 1; fails_at <= 2; fails_at++) { /* of the entry, of the array */
    allocations = 0;
    errno = 0;
    assert_int_equal(setenv("ONE", "x", 1), -1);
    assert_int_equal(errno, ENOMEM);
    assert_ptr_equal(environ, list);
  }
  allocations = errno = 0, fails_at = 1;
  assert_int_equal(putenv(again), -1);
  assert_int_equal(errno, ENOMEM);
  allocations = errno = 0;
  assert_int_equal(unsetenv("ONE"), -1);
  assert_int_equal(errno, ENOMEM);
  check_entries("ONE=1 TWO=2 ");
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(test_a_variable_is_found_by_its_whole_name, start),
      cmocka_unit_test_setup(test_a_program_with_other_rights_reads_nothing_by_secure_getenv,
                             start),
      cmocka_unit_test_setup(test_what_is_set_is_found, start),
      cmocka_unit_test_setup(test_an_array_of_others_is_not_written_to, start),
      cmocka_unit_test_setup(test_a_value_that_was_read_stays, start),
      cmocka_unit_test_setup(test_many_variables, start),
      cmocka_unit_test_setup(test_a_variable_is_removed_as_often_as_it_is_there, start),
      cmocka_unit_test_setup(test_what_is_not_there_is_removed_without_memory, start),
      cmocka_unit_test_setup(test_an_array_that_the_program_has_cut, start),
      cmocka_unit_test_setup(test_an_entry_is_the_text_that_putenv_was_given, start),
      cmocka_unit_test_setup(test_names_that_are_none, start),
      cmocka_unit_test_setup(test_nothing_is_left_after_clearenv, start),
      cmocka_unit_test_setup(test_a_change_of_the_time_zone_is_noted, start),
      cmocka_unit_test_setup(test_without_memory_the_environment_stays, start),
  };
  char **first = environ; /* as the kernel has laid it out: argc, argv, the environment */
  if (argc < 1 || first != argv + argc + 1 || __libc_stack_end != argv - 1) {
    fputs("the environment is not that of the process\n", stderr);
    return 1;
  }
  return cmocka_run_group_tests(tests, NULL, NULL);
}
