/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether what tmpirun starts is audited, variable by variable (src/tmpi/run/audited.c): the
 * auditor is beside the library of MPI, and stands in front of the auditors that a user names.
 */
#include <dlfcn.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tmpi/env/launch.h"
#include "tmpi/run/audited.h"

#define BESIDE "/opt/lib" TM_AUDITOR

static char library[] = "/opt/lib/libmpi_abi.so.1", bare[] = "libmpi_abi.so.1",
            split[] = "/opt:lib/libmpi_abi.so.1";
static struct link_map mpi;
static bool is_loaded, is_known, is_there, has_memory;
static const char *wanted; /* the file that is looked for */
static int handles;        /* that are not closed */

void *__wrap_dlopen(const char *name, int flags);
void *__wrap_dlopen(const char *name, int flags) {
  assert_string_equal(name, "libmpi_abi.so.1");
  assert_true((flags & RTLD_NOLOAD) != 0);
  handles += is_loaded;
  return is_loaded ? &mpi : NULL;
}

int __wrap_dlinfo(void *handle, int request, void *answer);
int __wrap_dlinfo(void *handle, int request, void *answer) {
  assert_true(handle == &mpi && request == RTLD_DI_LINKMAP);
  *(struct link_map **)answer = &mpi;
  return is_known ? 0 : -1;
}

int __wrap_dlclose(void *handle);
int __wrap_dlclose(void *handle) {
  assert_ptr_equal(handle, &mpi);
  handles--;
  return 0;
}

int __wrap_access(const char *path, int mode);
int __wrap_access(const char *path, int mode) {
  assert_string_equal(path, wanted);
  assert_int_equal(mode, R_OK);
  return is_there ? 0 : -1;
}

static int texts; /* that are not freed */

int __wrap_asprintf(char **text, const char *format, ...);
int __wrap_asprintf(char **text, const char *format, ...) {
  va_list list;
  va_start(list, format);
  int length = has_memory ? vasprintf(text, format, list) : -1;
  va_end(list);
  texts += has_memory;
  return length;
}

void __real_free(void *block);
void __wrap_free(void *block);
void __wrap_free(void *block) {
  texts -= block != NULL;
  __real_free(block);
}

static int set_up(void **state) {
  (void)state;
  mpi.l_name = library;
  is_loaded = is_known = is_there = has_memory = true;
  wanted = BESIDE;
  handles = texts = 0;
  return 0;
}

/* Checks what LD_AUDIT becomes; NULL: there is none. */
static void check_variable(const char *before, const char *after) {
  if (before != NULL)
    setenv("LD_AUDIT", before, 1);
  else
    unsetenv("LD_AUDIT");
  tm_audited_start();
  assert_int_equal(handles, 0);
  const char *now = getenv("LD_AUDIT");
  assert_int_equal(now != NULL, after != NULL);
  if (after != NULL) assert_string_equal(now, after);
}

static void the_auditor_comes_first(void **state) {
  (void)state;
  check_variable(NULL, BESIDE);
  check_variable("", BESIDE);
  check_variable("/other", BESIDE ":/other");
  check_variable("x", BESIDE ":x");
  check_variable("/opt/lib", BESIDE ":/opt/lib");
  assert_int_equal(texts, 0);
  mpi.l_name = bare; /* it has no folder */
  wanted = &TM_AUDITOR[1];
  check_variable(NULL, &TM_AUDITOR[1]);
}

/* Of a tmpirun that was started by another one. */
static void the_auditor_is_named_once(void **state) {
  (void)state;
  check_variable(BESIDE, BESIDE);
  check_variable(BESIDE ":/other", BESIDE ":/other");
}

static void nothing_is_audited_without_an_auditor(void **state) {
  (void)state;
  is_there = false;
  check_variable(NULL, NULL);
  check_variable("/other", "/other");
  is_there = true;
  is_loaded = false;
  check_variable("/other", "/other");
  is_loaded = true;
  is_known = false;
  check_variable("/other", "/other");
  is_known = true;
  mpi.l_name = split; /* ld.so would take it for two */
  wanted = "";
  check_variable("/other", "/other");
}

static void no_memory_for_two(void **state) {
  (void)state;
  has_memory = false;
  check_variable("/other", "/other");
}

#define AUDIT(test) cmocka_unit_test_setup(test, set_up)

int main(void) {
  const struct CMUnitTest tests[] = {
      AUDIT(the_auditor_comes_first),
      AUDIT(the_auditor_is_named_once),
      AUDIT(nothing_is_audited_without_an_auditor),
      AUDIT(no_memory_for_two),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
