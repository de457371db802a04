/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which libraries a program has, and which of them ranks share (src/tmpi/loader/libraries.c,
 * preloaded.c): how the walk goes from library to library, when it begins again, and what is said
 * of libraries that cannot be used. The test has the files, and it is ld.so(8).
 */
#include "captured.h"
#include "library_files.h"

/* ---- a program */

static struct tm_program program;
static struct file *application;
static struct loaded *mpi;

static int set_up(void **state) {
  (void)state;
  program = (struct tm_program){0};
  file_count = loaded_count = demanded_count = read_count = dropped_count = 0;
  demanded_most = 4;
  memset(names, 0, sizeof names);
  memset(files, 0, sizeof files);
  names[0] = "";
  dl_error = NULL;
  no_map = false;
  said[0] = '\0';
  unsetenv("LD_PRELOAD");
  application = file("program", NULL, NULL);
  file("private.so", NULL, NULL)->defines = "environ";
  mpi = library("libmpi_abi.so.1", NULL, NULL);
  mpi->is_loaded = true;
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  for (int i = 0; i < program.image_count; i++) tm_image_drop(program.images[i]);
  for (int i = 0; i < program.shared_count; i++) free((void *)(uintptr_t)program.shared[i].name);
  free(program.shared);
  free(program.images);
  assert_int_equal(blocks, 0);
  return 0;
}

/* Finds the libraries of the application. @return whether that was possible. */
static bool find_libraries(void) {
  struct tm_image *image = tm_image_read("/bin/program");
  assert_true(tm_program_add(&program, image));
  return tm_program_find_libraries(&program);
}

/* Checks which images there are, in their order, and which libraries ranks share. */
static void check_found(int line, const char *expected_images, const char *expected_shared) {
  char found[200] = "", shared[200] = "";
  if (!find_libraries()) fail_msg("line %d: %s", line, said);
  for (int i = 1; i < program.image_count; i++)
    snprintf(found + strlen(found), sizeof found - strlen(found), "%s%s", i > 1 ? " " : "",
             file_of(program.images[i])->name);
  for (int i = 0; i < program.shared_count; i++)
    snprintf(shared + strlen(shared), sizeof shared - strlen(shared), "%s%s: %s", i > 0 ? ", " : "",
             program.shared[i].name, program.shared[i].why);
  if (strcmp(found, expected_images) != 0 || strcmp(shared, expected_shared) != 0)
    fail_msg("line %d: '%s' '%s'", line, found, shared);
}
#define FOUND(found, shared) check_found(__LINE__, found, shared)

static void check_refused(int line, const char *expected) {
  if (find_libraries() || strcmp(said, expected) != 0) fail_msg("line %d: '%s'", line, said);
}
#define REFUSED(expected) check_refused(__LINE__, expected)

static void again(void) {
  void *state = NULL;
  tear_down(&state);
  set_up(&state);
}

/* ---- libraries of the ranks' own */

static void libraries_are_found_breadth_first(void **state) {
  (void)state;
  application->needs[0] = "a";
  application->needs[1] = "b";
  file("a", "c", "b");
  file("b", "d", NULL);
  file("c", "a", NULL);
  file("d", NULL, NULL);
  FOUND("a b c d", "");
  struct tm_image *const *images = program.images;
  assert_ptr_equal(images[1]->needed_by, images[0]);
  assert_true(images[3]->needed_by == images[1] && images[4]->needed_by == images[2]);
  assert_true(images[1]->need_count == 2 && images[1]->needs[0].image == images[3]);
  assert_ptr_equal(images[1]->needs[1].image, images[2]);
  assert_ptr_equal(images[3]->needs[0].image, images[1]);
  assert_true(images[4]->need_count == 0 && images[4]->needs != NULL);
  assert_string_equal(images[2]->name, "b");
  assert_int_equal(mpi->handles, 0);
}

static void many_libraries(void **state) {
  static char library_names[12][8];
  (void)state;
  application->needs[0] = "l0";
  for (int i = 0; i < 12; i++) snprintf(library_names[i], sizeof library_names[i], "l%d", i);
  for (int i = 0; i < 12; i++) file(library_names[i], i < 11 ? library_names[i + 1] : NULL, NULL);
  FOUND("l0 l1 l2 l3 l4 l5 l6 l7 l8 l9 l10 l11", "");
  for (int i = 13; i < 40; i++) assert_true(tm_program_add(&program, tm_image_read("/lib/l0")));
  for (int i = 0; i < 40; i++) assert_non_null(program.images[i]);
  struct tm_program other = {0};
  memory_is_out = true;
  assert_false(tm_program_add(&other, program.images[0]));
  memory_is_out = false;
  assert_string_equal(said, "/bin/program: no memory (free some)");
}

/* A library is known by what it calls itself, and a file by its numbers. */
static void one_library_under_two_names(void **state) {
  (void)state;
  application->needs[0] = "a";
  application->needs[1] = "again";
  file("a", NULL, NULL)->soname = "again";
  FOUND("a", "");
  assert_ptr_equal(program.images[0]->needs[1].image, program.images[1]);
  again();
  application->needs[0] = "a";
  application->needs[1] = "link";
  file("a", NULL, NULL)->inode = 7;
  file("link", NULL, NULL)->inode = 7;
  FOUND("a", "");
  assert_ptr_equal(program.images[0]->needs[1].image, program.images[1]);
  again();
  application->needs[0] = "program2"; /* the application itself */
  application->inode = 7;
  file("program2", NULL, NULL)->inode = 7;
  FOUND("", "");
  assert_ptr_equal(program.images[0]->needs[0].image, program.images[0]);
}

static void libraries_that_are_not_there(void **state) {
  (void)state;
  application->needs[0] = "absent";
  REFUSED(
      "/bin/program: it needs a library: absent: no such file (install it, or set "
      "LD_LIBRARY_PATH)");
  again();
  application->needs[0] = "a";
  file("a", NULL, NULL)->is_damaged = true;
  REFUSED("");
  again();
  application->needs[0] = "a";
  file("a", "absent", NULL);
  REFUSED("/lib/a: it needs a library: absent: no such file (install it, or set LD_LIBRARY_PATH)");
}

static void libraries_of_another_mpi(void **state) {
  (void)state;
  application->needs[0] = "libmpi.so.40";
  REFUSED(
      "/bin/program: it was built for another MPI, libmpi.so.40, without the standard ABI "
      "(build it by tmpicc)");
  again();
  application->needs[0] = "a";
  file("a", "libmpich.so.12", NULL);
  REFUSED(
      "/bin/program: /lib/a, which it needs, was built for another MPI, libmpich.so.12, without "
      "the standard ABI (use one without MPI, or build it by tmpicc)");
  again();
  application->needs[0] = "shared1";
  library("shared1", "libmpi.so.12", NULL);
  REFUSED(
      "/bin/program: /lib/shared1, which it needs, was built for another MPI, libmpi.so.12, "
      "without the standard ABI (use one without MPI, or build it by tmpicc)");
}

/* ---- libraries that ranks share */

static void a_shared_library_is_loaded_once_for_all(void **state) {
  (void)state;
  application->needs[0] = "shared1";
  application->needs[1] = "a";
  file("a", "shared1", NULL);
  library("shared1", NULL, NULL);
  FOUND("a", "shared1: policy");
  assert_int_equal(opened_flags, RTLD_NOW | RTLD_GLOBAL);
  assert_true(program.images[0]->needs[0].image == NULL);
  assert_ptr_equal(program.images[0]->needs[0].shared, &loaded[1]);
  assert_ptr_equal(program.images[1]->needs[0].shared, &loaded[1]);
}

/* What it needs is shared, too. If a rank has it already, the walk begins again. */
static void what_a_shared_library_needs(void **state) {
  (void)state;
  application->needs[0] = "a";
  application->needs[1] = "shared1";
  file("a", NULL, NULL);
  file("libstdc++.so.6", NULL, NULL);
  library("shared1", "a", "libstdc++.so.6");
  library("a", "deep", NULL)->is_loaded = true;
  library("deep", NULL, NULL)->is_loaded = true;
  FOUND("", "shared1: policy, a: a shared library needs it");
  assert_true(demanded_count == 2 && dropped_count >= 1);
  assert_string_equal(demanded[0], "a");
  assert_string_equal(demanded[1], "deep"); /* a language's is no demand */
  assert_int_equal(program.images[0]->need_count, 2);
  again();
  application->needs[0] = "shared1"; /* nobody had it */
  library("shared1", "a", NULL);
  FOUND("", "shared1: policy");
  assert_true(demanded_count == 1 && loaded[1].handles == 1); /* it is walked once */
  again();
  application->needs[0] = "shared1";
  library("shared1", "a", NULL);
  demanded_most = 0;
  REFUSED("/bin/program: no memory for its libraries (free some)");
  again();
  application->needs[0] = "shared1"; /* deeper, another MPI */
  library("shared1", "a", NULL);
  library("a", "libmpi.so.40", NULL)->is_loaded = true;
  assert_false(find_libraries());
  assert_non_null(strstr(said, "/lib/a, which it needs, was built for another MPI"));
}

static void shared_libraries_that_cannot_be_loaded(void **state) {
  (void)state;
  application->needs[0] = "shared1";
  REFUSED("/bin/program: it needs a library: cannot open (install it, or set LD_LIBRARY_PATH)");
  again();
  application->needs[0] = "shared1";
  library("shared1", NULL, NULL);
  dl_error = "no room in static TLS";
  REFUSED(
      "/bin/program: it needs a library that can be loaded only when a process starts: no room "
      "in static TLS (start tmpirun with LD_PRELOAD=shared1)");
  again();
  application->needs[0] = "shared1";
  library("shared1", NULL, NULL);
  no_map = true;
  assert_false(find_libraries());
  assert_non_null(strstr(said, "it needs a library: "));
}

static void libraries_of_sanitizers_are_there_from_the_start(void **state) {
  static const char *const sanitizers[][2] = {{"libasan.so.8", "address"},
                                              {"libtsan.so.2", "thread"}};
  char expected[200];
  (void)state;
  for (size_t i = 0; i < 2; i++) {
    application->needs[0] = sanitizers[i][0];
    tm_policy_share(sanitizers[i][0]);
    library(sanitizers[i][0], NULL, NULL);
    snprintf(expected, sizeof expected,
             "/bin/program: it was built with -fsanitize=%s, and this tmpirun was not (build and "
             "run it by the tmpicc and tmpirun of ./dev %.1ssan)",
             sanitizers[i][1], sanitizers[i][1]);
    REFUSED(expected);
    again();
    application->needs[0] = sanitizers[i][0];
    tm_policy_share(sanitizers[i][0]);
    library(sanitizers[i][0], NULL, NULL)->is_loaded = true;
    assert_true(find_libraries());
    again();
  }
}

/* They exist once for a kernel thread: only the system's are shared, with a message. */
static void thread_locals_at_fixed_places(void **state) {
  char text[200];
  (void)state;
  application->needs[0] = "own";
  file("own", NULL, NULL)->is_static_tls = true;
  REFUSED(
      "/lib/own: its thread-local variables are at fixed places (compile all of it by tmpicc, "
      "or with -ftls-model=global-dynamic; or --share=own, if ranks may share it)");
  again();
  application->needs[0] = "sys";
  file("sys", NULL, NULL)->is_static_tls = true;
  library("sys", NULL, NULL);
  struct captured captured = captured_begin();
  bool found = find_libraries();
  captured_end(&captured, text, sizeof text);
  assert_true(found && program.image_count == 1 && program.shared_count == 1);
  assert_string_equal(program.shared[0].name, "/lib/sys");
  assert_string_equal(text,
                      "tmpirun: all ranks share /lib/sys: its thread-local variables are at "
                      "fixed places (--share=sys if that is right)\n");
}

/* ---- preloaded libraries */

static void what_is_preloaded_is_shared(void **state) {
  (void)state;
  application->needs[0] = "a";
  application->needs[1] = "libstdc++.so.6";
  file("a", NULL, NULL);
  file("libstdc++.so.6", NULL, NULL);
  library("a", NULL, NULL)->is_loaded = true;
  library("libstdc++.so.6", NULL, NULL)->is_loaded = true;
  FOUND("a libstdc++.so.6", "");
  again();
  application->needs[0] = "a";
  application->needs[1] = "libstdc++.so.6";
  file("a", NULL, NULL);
  file("libstdc++.so.6", NULL, NULL);
  library("a", NULL, NULL)->is_loaded = true;
  library("libstdc++.so.6", NULL, NULL)->is_loaded = true;
  setenv("LD_PRELOAD", "other", 1);
  FOUND("libstdc++.so.6", "a: LD_PRELOAD");
  assert_int_equal(loaded[1].handles, 1); /* by which it is shared */
}

/* Each rank has a copy of what stands before functions of MPI. */
static void preloaded_tools_come_first(void **state) {
  (void)state;
  application->needs[0] = "a";
  file("a", NULL, NULL);
  file("tool", NULL, NULL);
  file("tool2", NULL, NULL);
  library("tool", NULL, NULL)->is_loaded = true;
  library("tool2", NULL, NULL)->is_loaded = true;
  library("plain", NULL, NULL)->is_loaded = true;
  library("shared1", NULL, NULL)->is_loaded = true;
  for (int i = 1; i <= 2; i++) loaded[i].is_tool = true;
  loaded[4].is_tool = true; /* the user shares it */
  setenv("LD_PRELOAD", "plain tool:/lib/shared1 absent:tool2", 1);
  FOUND("tool tool2 a", "");
  for (int i = 1; i <= 4; i++) assert_int_equal(loaded[i].handles, 0);
  again();
  library("tool", NULL, NULL)->is_loaded = true;
  loaded[1].is_tool = true;
  file("tool", NULL, NULL)->is_damaged = true;
  setenv("LD_PRELOAD", "tool", 1);
  REFUSED("");
}

/* ---- the library of what libc keeps for a process */

static void ranks_have_what_libc_keeps_if_the_program_uses_it(void **state) {
  static const struct {
    const char *application, *library;
    bool wanted;
  } rows[] = {{NULL, NULL, false},           {"environ", NULL, true}, {NULL, "environ", true},
              {"strtol", NULL, false},       {NULL, "dlopen", true},  {"dlmopen", NULL, true},
              {NULL, "dlsym", true},         {"dlvsym", NULL, true},  {"getenv", NULL, false},
              {"secure_getenv", NULL, false}};
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    application->needs[0] = "a";
    application->asks = rows[i].application;
    file("a", NULL, NULL)->asks = rows[i].library;
    if (rows[i].application != NULL && strstr(rows[i].application, "getenv") != NULL)
      files[1].defines = rows[i].application;
    FOUND(rows[i].wanted ? "a private.so" : "a", "");
    if (rows[i].wanted) assert_null(program.images[2]->name);
    assert_true(read_count == 3 && dropped_count == !rows[i].wanted);
    again();
  }
  application->asks = "environ";
  files[1].symbols[0].st_shndx = 1;
  application->symbols[1].st_shndx = 1; /* it defines that itself */
  FOUND("", "");
}

static void ranks_cannot_have_what_libc_keeps(void **state) {
  static const char no_mpi[] =
      "/bin/program: libmpi_abi.so.1 is not among the libraries of tmpirun (install tmpirun and "
      "its libraries from one build)";
  (void)state;
  mpi->is_loaded = false;
  REFUSED(no_mpi);
  again();
  no_map = true;
  REFUSED(no_mpi);
  assert_int_equal(mpi->handles, 0);
  again();
  files[1].is_damaged = true;
  REFUSED("");
}

/* ld.so(8) may know libmpi_abi by a name alone. */
static void what_libc_keeps_is_beside_mpi(void **state) {
  static const char *const folders[] = {"/lib/", "lib/", ""};
  (void)state;
  for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
    char expected[32], name[32];
    again();
    snprintf(expected, sizeof expected, "%stmpi/private.so", folders[i]);
    snprintf(name, sizeof name, "%slibmpi_abi.so.1", folders[i]);
    mpi->map.l_name = name;
    application->asks = "environ";
    FOUND("private.so", "");
    assert_string_equal(program.images[1]->path, expected);
  }
}

/* ---- the heap */

static void no_memory(void **state) {
  enum { MOST_ALLOCATIONS = 20 };
  int failures = 0;
  bool found = false;
  (void)state;
  for (; !found && failures < MOST_ALLOCATIONS; failures += !found) {
    again();
    application->needs[0] = "a";
    application->needs[1] = "shared1";
    application->asks = "environ";
    file("a", NULL, NULL);
    library("shared1", NULL, NULL);
    setenv("LD_PRELOAD", "shared1", 1);
    assert_true(tm_program_add(&program, tm_image_read("/bin/program")));
    allocations_left = failures;
    found = tm_program_find_libraries(&program);
    allocations_left = -1;
    if (!found) assert_non_null(strstr(said, ": no memory"));
    if (!found) assert_non_null(strstr(said, "(free some)"));
  }
  assert_int_equal(failures, 6); /* LD_PRELOAD, two lists, a name; of what is shared: list, name */
}

#define LIBRARY_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      LIBRARY_TEST(libraries_are_found_breadth_first),
      LIBRARY_TEST(many_libraries),
      LIBRARY_TEST(one_library_under_two_names),
      LIBRARY_TEST(libraries_that_are_not_there),
      LIBRARY_TEST(libraries_of_another_mpi),
      LIBRARY_TEST(a_shared_library_is_loaded_once_for_all),
      LIBRARY_TEST(what_a_shared_library_needs),
      LIBRARY_TEST(shared_libraries_that_cannot_be_loaded),
      LIBRARY_TEST(libraries_of_sanitizers_are_there_from_the_start),
      LIBRARY_TEST(thread_locals_at_fixed_places),
      LIBRARY_TEST(what_is_preloaded_is_shared),
      LIBRARY_TEST(preloaded_tools_come_first),
      LIBRARY_TEST(ranks_have_what_libc_keeps_if_the_program_uses_it),
      LIBRARY_TEST(ranks_cannot_have_what_libc_keeps),
      LIBRARY_TEST(what_libc_keeps_is_beside_mpi),
      LIBRARY_TEST(no_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
