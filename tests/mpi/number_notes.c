/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which names and seeds are taken for made of the process number, and when two ranks are said to
 * share one (src/tmpi/run/process_number.c). A message comes once in a job, so each case is a job:
 * a child of fork(). The files are a list, and the number and the time are constants.
 */
#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "captured.h"
#include "internal_locks.h"
#include "overridden.h"
#include "tmpi/run/process.h"
#include "tmpi/run/process_number.h"
#include "tmpi/run/working_directory.h"

enum { NUMBER = 4711, NOW = 1700000000, NOTES = 256 /* that are kept */ };

static struct tm_process ranks[] = {{.number = 0}, {.number = 1}, {.number = 2}}, *caller;
static bool folder_is_own;

struct tm_process *tm_process_self(void) { return caller; }
bool tm_carry_is_own(void) { return folder_is_own; }

/* ---- the kernel and libc */

static const char *file; /* the one that exists; NULL: none */
static char called[200];

static void note_call(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void note_call(const char *format, ...) {
  va_list list;
  va_start(list, format);
  vsnprintf(called, sizeof called, format, list);
  va_end(list);
}

pid_t __wrap_getpid(void);
pid_t __wrap_getpid(void) { return NUMBER; }

time_t __wrap_time(time_t *result);
time_t __wrap_time(time_t *result) {
  (void)result;
  return NOW;
}

int __wrap_access(const char *path, int mode);
int __wrap_access(const char *path, int mode) {
  errno = EILSEQ;
  return mode == F_OK && file != NULL && strcmp(file, path) == 0 ? 0 : -1;
}

int __wrap_unlink(const char *path);
int __wrap_unlink(const char *path) {
  note_call("unlink:%s", path);
  return 31;
}

int __wrap_unlinkat(int folder, const char *path, int flags);
int __wrap_unlinkat(int folder, const char *path, int flags) {
  note_call("unlinkat:%d,%s,%d", folder, path, flags);
  return 32;
}

int __wrap_remove(const char *path);
int __wrap_remove(const char *path) {
  note_call("remove:%s", path);
  return 33;
}

int __wrap_shm_unlink(const char *name);
int __wrap_shm_unlink(const char *name) {
  note_call("shm_unlink:%s", name);
  return 34;
}

int __wrap_sem_unlink(const char *name);
int __wrap_sem_unlink(const char *name) {
  note_call("sem_unlink:%s", name);
  return 35;
}

static sem_t semaphore;

sem_t *__wrap_sem_open(const char *name, int flags, ...);
sem_t *__wrap_sem_open(const char *name, int flags, ...) {
  va_list list;
  va_start(list, flags);
  int mode = va_arg(list, int);
  unsigned value = va_arg(list, unsigned);
  va_end(list);
  note_call("sem_open:%s,%d,%o,%u", name, flags, (unsigned)mode, value);
  return &semaphore;
}

/* ---- what ranks do */

typedef int by_name(const char *);

static void ask(void) {
  typedef pid_t function(void);
  ((function *)overridden(tm_override_number, "getpid"))();
}

static void open_as(int rank, const char *path, int flags) {
  caller = &ranks[rank];
  ask();
  tm_number_in_name(path, flags);
}

static void call_as(int rank, const char *function, const char *path) {
  caller = &ranks[rank];
  ask();
  ((by_name *)overridden(tm_override_number, function))(path);
}

static void start_from(int rank, uint32_t seed) {
  typedef void function(long);
  caller = &ranks[rank];
  ask();
  ((function *)overridden(tm_override_number, "tm_seed_given"))((long)seed);
}

/* ---- cases: each is a function that a child calls, and the text that it prints */

enum { MAKE = O_CREAT | O_WRONLY, EMPTY = O_TRUNC | O_WRONLY };
static const char path[] = "/tmp/of-4711";

static char text[1000];

static const char *said_by(void (*acts)(const void *), const void *argument) {
  assert_true(captured_in_child(acts, argument, text, sizeof text));
  return text;
}

static const char *of_files(int first, int second, const char *name) {
  static char expected[400];
  snprintf(expected, sizeof expected,
           "tmpirun: ranks %d and %d write to the same file '%s': its name has the process number, "
           "which all ranks share (put the rank into the name)\n",
           first, second, name);
  return expected;
}

static void make_by_both(const void *name) {
  file = name;
  open_as(0, name, EMPTY);
  open_as(0, name, EMPTY);
  open_as(1, name, MAKE);
}

static void test_two_ranks_write_to_one_file(void **state) {
  (void)state;
  assert_string_equal(said_by(make_by_both, path), of_files(0, 1, path));
}

static void make_by_more(const void *name) {
  make_by_both(name);
  open_as(2, name, EMPTY);
  make_by_both("/tmp/also-4711");
}

static void test_it_is_said_once(void **state) {
  (void)state;
  assert_string_equal(said_by(make_by_more, path), of_files(0, 1, path));
}

static void test_names_that_have_the_number(void **state) {
  (void)state;
  static const struct {
    const char *name;
    bool has;
  } cases[] = {
      {"/4711", true},      {"/a4711b", true},     {"/4711.4711", true}, {"/14711", false},
      {"/47110", false},    {"/47114711", false},  {"/471", false},      {"/0004711", true},
      {"/004711", true},    {"/1004711", false},   {"/10004711", true},  {"/100047112", true},
      {"/10047112", false}, {"/14711-4711", true}, {"/04711x", true},    {"/9-47110/4711", true},
      {"/tmp/x", false},    {"/00047112", true},   {"/0047112", false},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
    assert_string_equal(said_by(make_by_both, cases[i].name),
                        cases[i].has ? of_files(0, 1, cases[i].name) : "");
}

/* Where ranks have working directories of their own, it names another file. */
static void test_a_relative_name(void **state) {
  (void)state;
  for (int own = 0; own < 2; own++) {
    folder_is_own = own == 1;
    assert_string_equal(said_by(make_by_both, path), of_files(0, 1, path));
    assert_string_equal(said_by(make_by_both, "4711"), own ? "" : of_files(0, 1, "4711"));
  }
  folder_is_own = false;
}

static void open_with_flags(const void *flags) {
  file = path;
  open_as(0, path, *(const int *)flags);
  open_as(1, path, *(const int *)flags);
}

/* A call that neither makes nor empties the file takes nothing from another rank. */
static void test_flags_that_replace_a_file(void **state) {
  (void)state;
  static const int replace[] = {O_TRUNC, O_TRUNC | O_APPEND, O_CREAT, O_CREAT | O_TRUNC | O_APPEND};
  static const int leave[] = {0, O_WRONLY, O_APPEND, O_CREAT | O_APPEND, O_CREAT | O_EXCL};
  for (size_t i = 0; i < sizeof replace / sizeof replace[0]; i++)
    assert_string_equal(said_by(open_with_flags, &replace[i]), of_files(0, 1, path));
  for (size_t i = 0; i < sizeof leave / sizeof leave[0]; i++)
    assert_string_equal(said_by(open_with_flags, &leave[i]), "");
}

static void open_without_asking(const void *unused) {
  (void)unused;
  file = path;
  for (int i = 0; i < 2; i++) {
    caller = &ranks[i];
    tm_number_in_name(path, MAKE);
  }
  caller = NULL;
  ask();
  for (int i = 0; i < 2; i++) tm_number_in_name(path, MAKE);
  open_as(1, NULL, MAKE);
  open_as(0, path, MAKE); /* the first one that counts */
}

static void test_a_program_that_does_not_know_the_number(void **state) {
  (void)state;
  assert_string_equal(said_by(open_without_asking, NULL), "");
}

static void take_turns(const void *unused) {
  (void)unused;
  open_as(0, path, MAKE);
  open_as(1, path, MAKE); /* rank 0 has removed its file by a call that nobody sees */
  file = path;
  open_as(1, path, MAKE);
  open_as(0, path, EMPTY);
}

static void test_a_new_file_is_its_maker_s(void **state) {
  (void)state;
  assert_string_equal(said_by(take_turns, NULL), of_files(1, 0, path));
}

static void remove_own(const void *function) {
  file = path;
  open_as(0, path, MAKE);
  call_as(0, function, path);
  open_as(1, path, MAKE);
  file = NULL;
  open_as(0, "/tmp/other-4711", MAKE);
}

static void remove_others(const void *function) {
  file = path;
  open_as(0, path, MAKE);
  call_as(1, function, path);
  file = NULL;
  open_as(1, path, MAKE | O_EXCL);
}

static void remove_nothing(const void *function) {
  open_as(0, path, MAKE);
  call_as(0, function, path); /* it is not there */
  call_as(1, function, path);
  call_as(0, function, "/tmp/unknown-4711");
  open_as(1, path, MAKE);
  file = path;
  open_as(1, path, MAKE);
}

/* A rank that removes another one's file, for a left-over of a process of the same number, and
 * makes it anew, takes that one's place. */
static void test_files_that_ranks_remove(void **state) {
  (void)state;
  static const char *const functions[] = {"unlink", "remove"};
  for (int i = 0; i < 2; i++) {
    assert_string_equal(said_by(remove_own, functions[i]), "");
    assert_string_equal(said_by(remove_others, functions[i]), of_files(0, 1, path));
    assert_string_equal(said_by(remove_nothing, functions[i]), "");
  }
}

static void remove_in_folder(const void *folder) {
  typedef int function(int, const char *, int);
  file = path;
  open_as(0, path, MAKE);
  caller = &ranks[1];
  ((function *)overridden(tm_override_number, "unlinkat"))(*(const int *)folder, path, 0);
  file = NULL;
  open_as(1, path, MAKE);
}

static void test_a_name_in_another_folder(void **state) {
  (void)state;
  static const int here = AT_FDCWD, elsewhere = 5;
  assert_string_equal(said_by(remove_in_folder, &here), of_files(0, 1, path));
  assert_string_equal(said_by(remove_in_folder, &elsewhere), "");
}

/* ---- objects, whose files libc names */

static void make_objects(const void *unused) {
  (void)unused;
  file = "/dev/shm/object.4711";
  for (int i = 0; i < 2; i++) {
    caller = &ranks[i];
    ask();
    tm_number_in_object("//object.4711", MAKE);
    tm_number_in_object(NULL, MAKE);
  }
}

static void remove_object(const void *unused) {
  (void)unused;
  file = "/dev/shm/object.4711";
  caller = &ranks[0];
  ask();
  tm_number_in_object("object.4711", MAKE);
  call_as(1, "shm_unlink", "/object.4711");
  file = NULL;
  caller = &ranks[1];
  tm_number_in_object("object.4711", MAKE);
}

typedef sem_t *open_function(const char *, int, ...);

static void make_semaphores(const void *removes) {
  open_function *open_semaphore = (open_function *)overridden(tm_override_number, "sem_open");
  file = "/dev/shm/sem.one-4711";
  caller = &ranks[0];
  ask();
  open_semaphore("/one-4711", O_CREAT, 0600, 7);
  if (removes != NULL) {
    call_as(1, "sem_unlink", "/one-4711");
    file = NULL;
  }
  caller = &ranks[1];
  open_semaphore("one-4711", O_CREAT, 0600, 7);
}

static void test_objects(void **state) {
  (void)state;
  const char *object = of_files(0, 1, "/dev/shm/object.4711");
  assert_string_equal(said_by(make_objects, NULL), object);
  assert_string_equal(said_by(remove_object, NULL), object);
  const char *named = of_files(0, 1, "/dev/shm/sem.one-4711");
  assert_string_equal(said_by(make_semaphores, NULL), named);
  assert_string_equal(said_by(make_semaphores, ""), named);
}

/* ---- random numbers */

static void start_by_both(const void *seed) {
  start_from(0, *(const uint32_t *)seed);
  start_from(0, *(const uint32_t *)seed);
  start_from(1, *(const uint32_t *)seed);
  start_from(2, *(const uint32_t *)seed);
}

static void test_seeds_that_have_the_number(void **state) {
  (void)state;
  static const uint32_t n = NUMBER, now = NOW, then = NOW - 60;
  const uint32_t of_number[] = {n,        now + n,  now - n,  now ^ n, now * n,
                                then + n, then - n, then ^ n, then * n};
  const uint32_t others[] = {n + 1, now, 1, 0, now + 1 + n, then - 1 - n, then - 1 + n};
  for (size_t i = 0; i < sizeof of_number / sizeof of_number[0]; i++) {
    char expected[400];
    snprintf(expected, sizeof expected,
             "tmpirun: ranks 0 and 1 start the same random numbers, from %u: it is made of the "
             "process number, which all ranks share (add the rank)\n",
             of_number[i]);
    assert_string_equal(said_by(start_by_both, &of_number[i]), expected);
  }
  for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
    assert_string_equal(said_by(start_by_both, &others[i]), "");
}

static void start_without_asking(const void *unused) {
  typedef void function(long);
  (void)unused;
  for (int i = 0; i < 2; i++) {
    caller = &ranks[i];
    ((function *)overridden(tm_override_number, "tm_seed_given"))(NUMBER);
  }
}

static void test_seeds_of_programs_that_do_not_know_the_number(void **state) {
  (void)state;
  assert_string_equal(said_by(start_without_asking, NULL), "");
}

/* ---- the list */

static void make_many(const void *count) {
  char name[40];
  for (int i = 0; i < *(const int *)count; i++) {
    snprintf(name, sizeof name, "/tmp/%c%d-4711", 'a' + i % 26, i);
    open_as(0, name, MAKE);
  }
  make_by_both(path);
}

static void remove_one_of_many(const void *count) {
  make_many(count);
  file = "/tmp/a0-4711";
  call_as(0, "unlink", file);
  make_by_both(path);
}

/* Names that come when it is full are not looked at. */
static void test_a_full_list(void **state) {
  (void)state;
  static const int fits = NOTES - 1, full = NOTES;
  assert_string_equal(said_by(make_many, &fits), of_files(0, 1, path));
  assert_string_equal(said_by(make_many, &full), "");
  assert_string_equal(said_by(remove_one_of_many, &full), of_files(0, 1, path));
}

/* ---- calls reach libc, and say what it says */

static void test_calls_reach_libc(void **state) {
  (void)state;
  typedef int in_folder(int, const char *, int);
  const struct tm_override *table = tm_override_number;
  caller = &ranks[0];
  assert_int_equal(((by_name *)overridden(table, "unlink"))("a"), 31);
  assert_string_equal(called, "unlink:a");
  assert_int_equal(((in_folder *)overridden(table, "unlinkat"))(AT_FDCWD, "b", 5), 32);
  assert_string_equal(called, "unlinkat:-100,b,5");
  assert_int_equal(((by_name *)overridden(table, "remove"))("c"), 33);
  assert_string_equal(called, "remove:c");
  assert_int_equal(((by_name *)overridden(table, "shm_unlink"))("/d"), 34);
  assert_string_equal(called, "shm_unlink:/d");
  assert_int_equal(((by_name *)overridden(table, "sem_unlink"))("e"), 35);
  assert_string_equal(called, "sem_unlink:e");
  assert_ptr_equal(((open_function *)overridden(table, "sem_open"))("f", O_CREAT, 0640, 9),
                   &semaphore);
  assert_string_equal(called, "sem_open:f,64,640,9");
}

static void test_errno_stays(void **state) {
  (void)state;
  errno = ENOTSUP;
  open_as(0, "/errno-4711", MAKE);
  assert_int_equal(errno, ENOTSUP);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_two_ranks_write_to_one_file),
      cmocka_unit_test(test_it_is_said_once),
      cmocka_unit_test(test_names_that_have_the_number),
      cmocka_unit_test(test_a_relative_name),
      cmocka_unit_test(test_flags_that_replace_a_file),
      cmocka_unit_test(test_a_program_that_does_not_know_the_number),
      cmocka_unit_test(test_a_new_file_is_its_maker_s),
      cmocka_unit_test(test_files_that_ranks_remove),
      cmocka_unit_test(test_a_name_in_another_folder),
      cmocka_unit_test(test_objects),
      cmocka_unit_test(test_seeds_that_have_the_number),
      cmocka_unit_test(test_seeds_of_programs_that_do_not_know_the_number),
      cmocka_unit_test(test_a_full_list),
      cmocka_unit_test(test_calls_reach_libc),
      cmocka_unit_test(test_errno_stays), /* the last one: the test itself makes a note */
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
