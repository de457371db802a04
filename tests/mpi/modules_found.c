/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The module of --check and --report as tmpirun has it (src/tmpi/run/modules.c): where it is looked
 * for, what a missing one says, which functions of the program are bound to it, and what its
 * findings make of the exit status.
 */
#include "traced_calls.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>

#include "captured.h"
#include "counted_blocks.h"
#include "tmpi/check/check.h"
#include "tmpi/loader/program.h"
#include "tmpi/loader/search.h"
#include "tmpi/rank/rank.h"
#include "tmpi/run/modules.h"

struct tm_job tm_job = {.size = 6};
static char said[400];

/* ---- the program */

static struct tm_image first = {.path = (char[]){"/srv/app"}}, second = {.path = (char[]){"/o.so"}},
                       *images[] = {&first, &second};
static struct tm_shared shared[] = {{.name = "/c.so", .why = "it is libc"}};
static struct tm_program program = {
    .images = images, .image_count = 2, .shared = shared, .shared_count = 1};
struct tm_program *tm_the_program = &program;

size_t tm_program_memory_of(const struct tm_image *image) { return image == &first ? 7 : 8; }

/* ---- the module */

static struct tm_check_options options;
static bool starts;
static unsigned findings;

static bool start_module(const struct tm_check_options *chosen) {
  options = *chosen;
  note("start");
  return starts;
}

static const void *wrapper(const char *name) {
  note("%s", name);
  return &options;
}

static void *gather(size_t *bytes) {
  *bytes = 9;
  return &findings;
}

static void add(const void *gathered, size_t bytes) {
  note("add:%d,%d", gathered == said, (int)bytes);
}

static unsigned finish(bool reports) {
  note("finish:%d", reports);
  return findings;
}

static const struct tm_check module = {start_module, wrapper, gather, add, finish};

/* ---- the loader */

static bool is_beside, opens, has_symbol;
static const char *error;

bool tm_search_beside(const char *name, char path[PATH_MAX]) {
  note("beside:%s", name);
  snprintf(path, PATH_MAX, "/lib/%s", name);
  return is_beside;
}

void *__wrap_dlopen(const char *path, int mode);
void *__wrap_dlopen(const char *path, int mode) {
  assert_int_equal(mode, RTLD_NOW | RTLD_LOCAL);
  note("open:%s", path);
  return opens ? &opens : NULL;
}

void *__wrap_dlsym(void *handle, const char *name);
void *__wrap_dlsym(void *handle, const char *name) {
  assert_ptr_equal(handle, &opens);
  note("sym:%s", name);
  return has_symbol ? (void *)(uintptr_t)&module : NULL;
}

char *__wrap_dlerror(void);
char *__wrap_dlerror(void) { return (char *)(uintptr_t)error; }

static bool load(void) {
  struct captured captured = captured_begin();
  bool loaded = tm_checks_load();
  captured_end(&captured, said, sizeof said);
  return loaded;
}

static bool begins(bool check, bool strict, bool report) {
  struct captured captured = captured_begin();
  bool begun = tm_checks_start(check, strict, report, "file");
  captured_end(&captured, said, sizeof said);
  return begun;
}

static int finishes(int status, bool reports) {
  struct captured captured = captured_begin();
  int now = tm_checks_finish(status, reports);
  captured_end(&captured, said, sizeof said);
  return now;
}

static int start(void **state) {
  (void)state;
  is_beside = opens = has_symbol = starts = true;
  memory_is_out = false;
  findings = 0;
  blocks = 0;
  trace[0] = said[0] = '\0';
  return 0;
}

/* ---- before it is loaded */

static void test_without_a_module_nothing_is_bound(void **state) {
  (void)state;
  assert_null(tm_checks_override("MPI_Send"));
  assert_true(begins(false, false, false));
  assert_int_equal(finishes(3, true), 3);
  check_trace("");
  assert_string_equal(said, "");
}

static void test_a_missing_module_says_what_to_install(void **state) {
  static const struct {
    const char *error, *remedy;
  } rows[] = {
      {"/lib/tmpi/check.so: cannot open shared object file", "build with libjansson-dev"},
      {"libjansson.so.4: cannot open shared object file", "install libjansson"},
      {"check.so: undefined symbol: x", "install tmpirun and its libraries from one build"},
      {NULL, "install tmpirun and its libraries from one build"},
  };
  char expected[300];
  (void)state;
  opens = false;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    error = rows[i].error;
    assert_false(load());
    snprintf(expected, sizeof expected, "tmpirun: --check and --report are not there: %s (%s)\n",
             error != NULL ? error : "(null)", rows[i].remedy);
    assert_string_equal(said, expected);
    check_trace("beside:tmpi/check.so open:/lib/tmpi/check.so ");
  }
  is_beside = false;
  assert_false(load());
  check_trace("beside:tmpi/check.so ");
  is_beside = opens = true;
  has_symbol = false;
  assert_false(load());
  assert_null(tm_checks_override("MPI_Send"));
}

/* ---- loaded */

static int start_loaded(void **state) {
  start(state);
  if (!load()) return -1;
  trace[0] = '\0';
  return 0;
}

static void test_functions_of_mpi_are_bound_to_it(void **state) {
  (void)state;
  assert_ptr_equal(tm_checks_override("MPI_Send"), &options);
  assert_ptr_equal(tm_checks_override("PMPI_Send"), &options);
  assert_null(tm_checks_override("MPIX_Send"));
  assert_null(tm_checks_override("PMPI"));
  assert_null(tm_checks_override("exit"));
  check_trace("MPI_Send PMPI_Send ");
}

static void test_what_it_is_asked_for(void **state) {
  (void)state;
  assert_true(begins(true, false, true));
  assert_true(options.check && !options.strict && options.report && tm_checks_look());
  assert_string_equal(options.report_file, "file");
  assert_true(begins(false, true, false));
  assert_true(!options.check && options.strict && !options.report && !tm_checks_look());
  starts = false;
  assert_false(begins(true, true, true));
  assert_string_equal(said,
                      "tmpirun: no memory for --check or --report of 6 ranks (fewer ranks)\n");
}

static void test_the_libraries_of_a_program(void **state) {
  size_t count = 0;
  (void)state;
  begins(true, false, true);
  struct tm_library *list = options.libraries(&count);
  assert_int_equal(count, 3);
  assert_true(list[0].path == first.path && list[0].why_shared == NULL && list[0].bytes == 7);
  assert_true(list[1].path == second.path && list[1].why_shared == NULL && list[1].bytes == 8);
  assert_true(list[2].path == shared[0].name && list[2].why_shared == shared[0].why);
  assert_int_equal(list[2].bytes, 0);
  __wrap_free(list);
  assert_int_equal(blocks, 0);
  memory_is_out = true;
  assert_null(options.libraries(&count));
}

static void test_findings_change_the_status(void **state) {
  size_t bytes;
  (void)state;
  assert_int_equal(finishes(0, true), 0);
  assert_int_equal(finishes(5, false), 5);
  assert_string_equal(said, "");
  check_trace("finish:1 finish:0 ");
  findings = 1;
  assert_int_equal(finishes(0, true), 1);
  assert_string_equal(said, "tmpirun: --check has found 1 mistake\n");
  findings = 2;
  assert_int_equal(finishes(7, true), 7);
  assert_string_equal(said, "tmpirun: --check has found 2 mistakes\n");
  trace[0] = '\0';
  assert_ptr_equal(tm_checks_gather(&bytes), &findings);
  assert_int_equal(bytes, 9);
  tm_checks_add(said, 4);
  check_trace("add:1,4 ");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(test_without_a_module_nothing_is_bound, start),
      cmocka_unit_test_setup(test_a_missing_module_says_what_to_install, start),
      cmocka_unit_test_setup(test_functions_of_mpi_are_bound_to_it, start_loaded),
      cmocka_unit_test_setup(test_what_it_is_asked_for, start_loaded),
      cmocka_unit_test_setup(test_the_libraries_of_a_program, start_loaded),
      cmocka_unit_test_setup(test_findings_change_the_status, start_loaded),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
