/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs whose ranks have to be kernel threads (src/tmpi/run/openmp.c, python.c): how tmpirun
 * finds that one uses OpenMP or is an interpreter of Python, what it says, and which pthreads that
 * libraries start belong to a rank.
 */
#include "traced_calls.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <mltp/mltp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "captured.h"
#include "os/map.h"
#include "tmpi/loader/program.h"
#include "tmpi/loader/search.h"
#include "tmpi/mpi.h"
#include "tmpi/run/process.h"
#include "tmpi/run/python.h"

static char said[300];
static struct tm_image first, second, *images[] = {&first, &second, NULL};
static struct tm_program program = {.images = images, .image_count = 2};
struct tm_program *tm_the_program = &program;

/* ---- libc and the loader */

static const char *backend, *loaded[4]; /* loaded: names of objects, NULL behind the last one */

char *__wrap_getenv(const char *name);
char *__wrap_getenv(const char *name) {
  assert_string_equal(name, "MLTP_BACKEND");
  return (char *)(uintptr_t)backend;
}

int __wrap_setenv(const char *name, const char *value, int replaces);
int __wrap_setenv(const char *name, const char *value, int replaces) {
  assert_true(replaces != 0);
  note("%s=%s", name, value);
  return 0;
}

int __wrap_dl_iterate_phdr(int (*callback)(struct dl_phdr_info *, size_t, void *), void *data);
int __wrap_dl_iterate_phdr(int (*callback)(struct dl_phdr_info *, size_t, void *), void *data) {
  int result = 0;
  for (int i = 0; loaded[i] != NULL && result == 0; i++) {
    struct dl_phdr_info info = {.dlpi_name = loaded[i]};
    result = callback(&info, sizeof info, data);
  }
  return result;
}

/* ---- OpenMP, and programs with a library of Python */

#define THREADS ": a kernel thread for each rank, as with --one-to-one\n"

static const char *heed(void) {
  struct captured captured = captured_begin();
  tm_openmp_heed();
  captured_end(&captured, said, sizeof said);
  return said;
}

static void test_programs_with_openmp(void **state) {
  static const char *const names[] = {"libgomp.so.1", "libomp.so.5", "libiomp5.so"};
  char path[60], expected[200];
  (void)state;
  for (int i = 0; i < 6; i++) {
    snprintf(path, sizeof path, "%s%s", i < 3 ? "/usr/lib/" : "", names[i % 3]);
    loaded[0] = "";
    loaded[1] = path;
    loaded[2] = i == 0 ? "/lib/libomp.so.5" : "/lib/libc.so.6"; /* the first one counts */
    snprintf(expected, sizeof expected, "tmpirun: OpenMP (%s)" THREADS, names[i % 3]);
    assert_string_equal(heed(), expected);
    check_trace("MLTP_BACKEND=kernel ");
  }
  backend = "kernel"; /* it was asked for */
  assert_string_equal(heed(), "");
  backend = "native";
  assert_string_equal(heed(), expected);
  check_trace("MLTP_BACKEND=kernel ");
}

static void test_programs_without(void **state) {
  (void)state;
  loaded[0] = "/lib/libgomp.so.1.0";
  loaded[1] = "/libgomp.so.1/other.so";
  second.path = (char[]){"/lib/python3/mylibpython3.so"};
  assert_string_equal(heed(), "");
  check_trace("");
}

static void test_programs_with_a_library_of_python(void **state) {
  (void)state;
  second.path = (char[]){"/usr/lib/libpython3.11.so.1.0"};
  assert_string_equal(heed(), "tmpirun: Python (libpython3.11.so.1.0)" THREADS);
  check_trace("MLTP_BACKEND=kernel ");
  first.path = (char[]){"libpython2.so"};
  assert_string_equal(heed(), "tmpirun: Python (libpython2.so)" THREADS);
  check_trace("MLTP_BACKEND=kernel ");
}

/* ---- interpreters of Python with a fixed address */

static Elf64_Ehdr header;
static size_t size;
static int open_error, read_error, opened;
static const char *real, *cached, *mpi;
static bool is_beside;

int os_file_open(const char *path, int *fd, size_t *bytes) {
  assert_string_equal(path, real);
  *fd = 9;
  *bytes = size;
  if (open_error == 0) opened++;
  return open_error;
}

int os_file_read(int fd, void *to, size_t bytes, off_t offset) {
  assert_true(fd == 9 && bytes == sizeof header && offset == 0);
  memcpy(to, &header, bytes);
  return read_error;
}

void os_file_close(int fd) {
  assert_int_equal(fd, 9);
  opened--;
}

char *__wrap_realpath(const char *path, char *resolved);
char *__wrap_realpath(const char *path, char *resolved) {
  assert_true(path != NULL && resolved == NULL);
  return real != NULL ? strdup(real) : NULL;
}

int __wrap_access(const char *path, int mode);
int __wrap_access(const char *path, int mode) {
  assert_int_equal(mode, R_OK);
  note("access:%s", path);
  return is_beside ? 0 : -1;
}

const char *tm_cache_find(const char *name) {
  note("cache:%s", name);
  return cached;
}

int PMPI_Init(int *argc, char ***argv) {
  (void)argc, (void)argv;
  return 0;
}

static const void *mpi_object, *ours_object, *mltp_object; /* by the address of a function */

int __wrap_dladdr(const void *address, Dl_info *info);

static bool is_python(void) {
  bool is = tm_python_is_fixed("python");
  assert_int_equal(opened, 0);
  return is;
}

static void test_which_files_are_such_interpreters(void **state) {
  static const char *const others[] = {"/usr/bin/python3", "/usr/bin/python3.11-dbg",
                                       "/usr/bin/xpython3.11", "/usr/bin/python2.7", NULL};
  (void)state;
  assert_true(is_python());
  for (int i = 0; i < 5; i++) {
    real = others[i];
    assert_false(is_python());
  }
  real = "python3.9"; /* in the working folder */
  assert_true(is_python());
  header.e_type = ET_DYN;
  assert_false(is_python());
  header.e_type = ET_EXEC;
  header.e_ident[3]++;
  assert_false(is_python());
  header.e_ident[3]--;
  read_error = EIO;
  assert_false(is_python());
  read_error = 0;
  size = sizeof header - 1;
  assert_false(is_python());
  size++;
  open_error = ENOENT;
  assert_false(is_python());
}

static char *stand_in(void) {
  struct captured captured = captured_begin();
  char *path = tm_python_stand_in(real);
  captured_end(&captured, said, sizeof said);
  return path;
}

static void test_what_runs_in_their_place(void **state) {
  (void)state;
  char *path = stand_in();
  assert_string_equal(path, "/opt/lib/tmpi/python");
  assert_string_equal(said, "tmpirun: Python (/usr/bin/../lib/libpython3.11.so.1.0)" THREADS);
  check_trace(
      "access:/usr/bin/../lib/libpython3.11.so.1.0 "
      "TMPI_PYTHON=/usr/bin/../lib/libpython3.11.so.1.0 MLTP_BACKEND=kernel ");
  free(path);
  is_beside = false;
  path = stand_in();
  assert_string_equal(path, "/opt/lib/tmpi/python");
  assert_string_equal(said, "tmpirun: Python (/cached/libpython)" THREADS);
  check_trace(
      "access:/usr/bin/../lib/libpython3.11.so.1.0 cache:libpython3.11.so.1.0 "
      "TMPI_PYTHON=/cached/libpython MLTP_BACKEND=kernel ");
  free(path);
}

static void test_interpreters_without_a_library(void **state) {
  (void)state;
  is_beside = false;
  cached = NULL;
  assert_null(stand_in());
  assert_string_equal(
      said,
      "tmpirun: '/usr/bin/python3.11' can run through libpython3.11.so.1.0 (install "
      "libpython3.11)\n");
  trace[0] = '\0';
  is_beside = true;
  mpi_object = NULL; /* libc does not know where the library is */
  assert_null(stand_in());
  header.e_type = ET_DYN; /* a rank can have a copy */
  assert_null(stand_in());
  real = "/usr/bin/ring";
  assert_null(stand_in());
  assert_string_equal(said, "");
}

/* ---- pthreads that libraries start */

static struct tm_process *caller;
static char library, of_tmpirun, of_mltp;

struct tm_process *tm_process_self(void) { return caller; }

int tm_create_pthread(pthread_t *thread, const pthread_attr_t *attr, void *(*function)(void *),
                      void *argument) {
  note("rank:%d,%d,%d", thread != NULL, attr != NULL, function != NULL);
  return argument == &library ? 5 : -1;
}

static int create_libc(pthread_t *thread, const pthread_attr_t *attr, void *(*function)(void *),
                       void *argument) {
  note("libc:%d,%d,%d", thread != NULL, attr != NULL, function != NULL);
  return argument == &library ? 6 : -1;
}

void *__wrap_dlsym(void *handle, const char *name);
void *__wrap_dlsym(void *handle, const char *name) {
  int (*libc)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) = create_libc;
  assert_ptr_equal(handle, RTLD_NEXT);
  note("dlsym:%s", name);
  return *(void **)&libc;
}

int mltp_init(int vps) { return vps; }

static void *run_library(void *argument) { return argument; }
static void *run_tmpirun(void *argument) { return argument; }
static void *run_mltp(void *argument) { return argument; }

int __wrap_dladdr(const void *address, Dl_info *info) {
  const void *const rows[][2] = {
      {(const void *)(uintptr_t)PMPI_Init, mpi_object},
      {(const void *)(uintptr_t)run_library, &library},
      {(const void *)(uintptr_t)tm_openmp_heed, ours_object},
      {(const void *)(uintptr_t)run_tmpirun, ours_object},
      {(const void *)(uintptr_t)mltp_init, mltp_object},
      {(const void *)(uintptr_t)run_mltp, mltp_object},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    if (address == rows[i][0]) {
      info->dli_fbase = (void *)(uintptr_t)rows[i][1];
      info->dli_fname = mpi;
      return rows[i][1] != NULL;
    }
  fail();
  return 0;
}

static int create(void *(*function)(void *)) {
  pthread_t thread;
  static pthread_attr_t attr;
  return pthread_create(&thread, &attr, function, &library);
}

static void test_threads_of_libraries_are_the_rank_s(void **state) {
  static struct tm_process process;
  (void)state;
  caller = &process;
  assert_int_equal(create(run_library), 5);
  check_trace("rank:1,1,1 ");
  assert_int_equal(create(run_tmpirun), 6);
  check_trace("dlsym:pthread_create libc:1,1,1 ");
  assert_int_equal(create(run_mltp), 6);
  caller = NULL;
  assert_int_equal(create(run_library), 6);
  check_trace("libc:1,1,1 libc:1,1,1 ");
}

static int start(void **state) {
  (void)state;
  first.path = (char[]){"/srv/app"};
  second.path = (char[]){"/srv/lib.so"};
  memset(loaded, 0, sizeof loaded);
  backend = NULL;
  memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_type = ET_EXEC;
  size = sizeof header;
  open_error = read_error = opened = 0;
  real = "/usr/bin/python3.11";
  cached = "/cached/libpython";
  mpi = "/opt/lib/libmpi_abi.so.1";
  is_beside = true;
  mpi_object = &mpi;
  ours_object = &of_tmpirun;
  mltp_object = &of_mltp;
  caller = NULL;
  trace[0] = said[0] = '\0';
  return 0;
}

int main(void) {
#define ROW(test) cmocka_unit_test_setup(test, start)
  const struct CMUnitTest tests[] = {
      ROW(test_programs_with_openmp),
      ROW(test_programs_without),
      ROW(test_programs_with_a_library_of_python),
      ROW(test_which_files_are_such_interpreters),
      ROW(test_what_runs_in_their_place),
      ROW(test_interpreters_without_a_library),
      ROW(test_threads_of_libraries_are_the_rank_s),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
