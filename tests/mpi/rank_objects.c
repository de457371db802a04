/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dlopen() and its like, as a rank calls them (src/tmpi/run/objects.c): which of the loader and
 * libc answers, with what, and what dlerror() says afterwards. libc's last error may be another
 * rank's, so each call that asks libc fetches it.
 */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "captured.h"
#include "overridden.h"
#include "tmpi/loader/open.h"
#include "tmpi/rank/rank.h"
#include "tmpi/run/process.h"
#include "traced_calls.h"

enum { RANK = 1, SLOT = 0x10000 };

static char *const arena = (char *)0x7000000;

static Elf64_Sym of_work = {.st_info = STT_FUNC, .st_value = 0x100, .st_size = 0x20},
                 of_label = {.st_info = STT_NOTYPE, .st_value = 0x110},
                 of_local = {.st_info = STT_TLS, .st_value = 0x118, .st_size = 0x20},
                 of_part = {.st_info = STT_OBJECT, .st_value = 0x104, .st_size = 4};
static struct tm_symbol symbols[] = {{"part", &of_part, NULL, false, 0, 0},
                                     {"work", &of_work, NULL, false, 0, 0},
                                     {"local", &of_local, NULL, false, 0, 0},
                                     {"label", &of_label, NULL, false, 0, 0}};
static struct link_map maps[4], copies[3] = {{.l_name = (char[]){"copy"}}};
static struct tm_image app = {.path = (char[]){"/srv/u/app"},
                              .exports = symbols,
                              .export_count = 4,
                              .maps = maps},
                       own = {.path = (char[]){"/opt/own.so"}, .maps = maps},
                       late = {.path = (char[]){"plain.so"}, .maps = maps};
static struct tm_image *images[] = {&app, &own, &late};
static struct tm_opened opened[2];
static const void * override(const char *name);
static struct tm_program program = {
    .images = images, .image_count = 3, .start_count = 2, .opened = opened, .override = override};
struct tm_program *tm_the_program = &program;
static struct tm_process process = {.number = RANK}, *caller;
static bool is_pthread;
static const struct tm_image *calling; /* has the code of the test; NULL: none of a rank's */
static jmp_buf left;
static char text[400];

struct tm_process *tm_process_self(void) { return caller; }
struct tm_process *tm_process_here(void) { return caller; }
bool tm_on_pthread(void) { return is_pthread; }

/* ---- the loader */

static char handle_of_app, handle_of_own, handle_of_late, handle_of_libc, found_here, found_there,
    replacement;
static bool is_shared, finds;
static const char *refusal;

static const void * override(const char *name) {
  return strcmp(name, "exit") == 0 ? &replacement : NULL;
}

const struct tm_image *tm_program_image_at(const struct tm_program *p, const void *address,
                                           size_t *offset) {
  const char *at = address;
  assert_ptr_equal(p, &program);
  *offset = 0x44;
  if (at < arena || at >= arena + SLOT) return calling;
  *offset = (size_t)(at - arena) % 0x1000;
  return at < arena + 0x1000 ? &app : NULL;
}

int tm_program_rank_of(const struct tm_program *p, const void *address) {
  assert_true(p == &program && address != NULL);
  return 3;
}

struct link_map *tm_program_map(const struct tm_program *p, int rank, int image) {
  assert_true(p == &program && rank == RANK && image == 0);
  return (struct link_map *)&handle_of_app;
}

struct tm_image *tm_open_image(const struct tm_program *p, int rank, const void *handle) {
  assert_true(p == &program && rank == RANK);
  return handle == &handle_of_app    ? &app
         : handle == &handle_of_own  ? &own
         : handle == &handle_of_late ? &late
                                     : NULL;
}

static const char *name_of(const struct tm_image *image) {
  return image != NULL ? image->path : "none";
}

struct link_map *tm_open(struct tm_program *p, int rank, struct tm_image *from, const char *name,
                         int mode, bool *shared, char *where, char why[TM_REFUSAL]) {
  assert_true(p == &program && rank == RANK && why[0] == '\0');
  note("open:%s,%s,%d", name_of(from), name, mode);
  *shared = is_shared;
  strcpy(where, "/lib/shared.so"); /* NOLINT(clang-analyzer-security.insecureAPI.strcpy) */
  if (refusal == NULL) return (struct link_map *)&handle_of_own;
  snprintf(why, TM_REFUSAL, "%s", refusal);
  return NULL;
}

void *tm_open_find_global(const struct tm_program *p, int rank, const struct tm_image *after,
                          const struct tm_wanted *wanted) {
  assert_true(p == &program && rank == RANK);
  note("global:%s,%s", name_of(after), wanted->name);
  return finds ? &found_here : NULL;
}

void *tm_open_find_in(const struct tm_program *p, int rank, const struct tm_image *image,
                      const struct tm_wanted *wanted) {
  assert_true(p == &program && rank == RANK);
  note("in:%s,%s", name_of(image), wanted->name);
  return finds ? &found_here : NULL;
}

struct tm_wanted tm_want(const char *name, const char *version) {
  return (struct tm_wanted){name, version, 0};
}

const char *tm_image_name_at(const struct tm_image *image, size_t offset) {
  assert_int_equal(offset, 0x44);
  return image == &own ? "work" : "";
}

void tm_job_abort(int status) {
  note("abort:%d", status);
  longjmp(left, 1);
}

/* ---- libc */

static const char *libc_error; /* the kernel thread's last one */
static bool libc_finds;
static void *libc_result;

char *__wrap_dlerror(void);
char *__wrap_dlerror(void) {
  const char *error = libc_error;
  libc_error = NULL;
  return (char *)(uintptr_t)error;
}

static void *answer(void) {
  libc_error = libc_finds ? "of a search" : "it fails";
  return libc_finds ? libc_result : NULL;
}

void *__wrap_dlopen(const char *name, int mode);
void *__wrap_dlopen(const char *name, int mode) {
  note("dlopen:%s,%d", name, mode);
  if ((mode & RTLD_NOLOAD) != 0) return &handle_of_libc;
  return answer();
}

void *__wrap_dlmopen(Lmid_t space, const char *name, int mode);
void *__wrap_dlmopen(Lmid_t space, const char *name, int mode) {
  note("dlmopen:%ld,%s,%d", (long)space, name, mode);
  return answer();
}

static int searches_left; /* before a symbol is found behind tools */

void *__wrap_dlsym(void *handle, const char *name);
void *__wrap_dlsym(void *handle, const char *name) {
  note("dlsym:%s,%s",
       handle == RTLD_DEFAULT ? "default"
       : handle == RTLD_NEXT  ? "next"
                              : "handle",
       name);
  if (handle == &handle_of_libc && searches_left-- > 0) return NULL;
  return answer();
}

void *__wrap_dlvsym(void *handle, const char *name, const char *version);
void *__wrap_dlvsym(void *handle, const char *name, const char *version) {
  (void)handle;
  note("dlvsym:%s,%s", name, version);
  return answer();
}

int __wrap_dlclose(void *handle);
int __wrap_dlclose(void *handle) {
  assert_ptr_equal(handle, &handle_of_libc);
  note("dlclose");
  return answer() != NULL ? 0 : -1;
}

int __wrap_dlinfo(void *handle, int request, void *result);
int __wrap_dlinfo(void *handle, int request, void *result) {
  (void)result;
  note("dlinfo:%d,%d", handle == &handle_of_libc, request);
  return 66;
}

int __wrap_dladdr(const void *address, Dl_info *info);
int __wrap_dladdr(const void *address, Dl_info *info) {
  assert_true(address != NULL && info != NULL);
  note("dladdr");
  return 67;
}

static struct link_map *object_of_found; /* has what libc finds; NULL: libc does not know */

int __wrap_dladdr1(const void *address, Dl_info *info, void **extra, int flags);
int __wrap_dladdr1(const void *address, Dl_info *info, void **extra, int flags) {
  assert_true(address != NULL && info != NULL && flags == RTLD_DL_LINKMAP);
  note("dladdr1");
  *extra = object_of_found;
  return object_of_found != NULL ? 68 : 0;
}

/* ---- the calls of a rank's program */

#define CALL(name) ((__typeof__(name) *)overridden(tm_override_objects, #name))

static void check_error(const char *expected) {
  char *error = CALL(dlerror)();
  if (expected == NULL)
    assert_null(error);
  else
    assert_string_equal(error, expected);
  assert_null(CALL(dlerror)()); /* it is said once */
}

static int start(void **state) {
  (void)state;
  caller = &process;
  calling = &own;
  is_pthread = is_shared = finds = false;
  refusal = NULL;
  program.opened = opened;
  libc_finds = true;
  libc_result = &found_there;
  libc_error = "another rank's";
  object_of_found = NULL;
  searches_left = 0;
  strcpy(opened[RANK].error, "old"); /* NOLINT(clang-analyzer-security.insecureAPI.strcpy) */
  trace[0] = '\0';
  return 0;
}

/* ---- opening and closing */

static void test_a_rank_opens_its_own_copy(void **state) {
  (void)state;
  assert_ptr_equal(CALL(dlopen)("x.so", RTLD_NOW), &handle_of_own);
  check_trace("open:/opt/own.so,x.so,2 ");
  check_error(NULL);
  assert_null(libc_error); /* what the search has left */
  calling = NULL;
  assert_ptr_equal(CALL(dlopen)("x.so", RTLD_LAZY), &handle_of_own);
  check_trace("open:/srv/u/app,x.so,1 ");
  assert_ptr_equal(CALL(dlopen)(NULL, RTLD_LAZY), &handle_of_app);
  assert_ptr_equal(CALL(dlopen)("", RTLD_LAZY), &handle_of_app);
  check_trace("");
  refusal = "x.so: why";
  assert_null(CALL(dlopen)("x.so", RTLD_NOW));
  check_error("x.so: why");
}

static void test_libraries_that_ranks_share(void **state) {
  (void)state;
  is_shared = true;
  assert_ptr_equal(CALL(dlopen)("x.so", RTLD_NOW), &found_there);
  check_trace("open:/opt/own.so,x.so,2 dlopen:/lib/shared.so,2 ");
  check_error(NULL);
  libc_finds = false;
  assert_null(CALL(dlopen)("x.so", RTLD_NOW));
  check_error("it fails");
}

static void test_wrong_modes_and_namespaces(void **state) {
  (void)state;
  assert_null(CALL(dlopen)("x.so", RTLD_GLOBAL));
  check_error("x.so: invalid mode for dlopen()");
  assert_null(CALL(dlopen)(NULL, 0));
  check_error("the program: invalid mode for dlopen()");
  assert_null(CALL(dlmopen)(LM_ID_NEWLM, "x.so", RTLD_NOW));
  check_error("x.so: ranks have no namespaces (use dlopen)");
  assert_null(CALL(dlmopen)(LM_ID_NEWLM, NULL, RTLD_NOW));
  check_error("dlmopen: ranks have no namespaces (use dlopen)");
  check_trace("");
  assert_ptr_equal(CALL(dlmopen)(LM_ID_BASE, "x.so", RTLD_NOW), &handle_of_own);
  check_trace("open:/opt/own.so,x.so,2 ");
}

static void test_closing(void **state) {
  (void)state;
  assert_int_equal(CALL(dlclose)(&handle_of_own), 0); /* it stays until the rank ends */
  check_trace("");
  check_error(NULL);
  assert_int_equal(CALL(dlclose)(&handle_of_libc), 0);
  check_trace("dlclose ");
  check_error(NULL);
  libc_finds = false;
  assert_int_equal(CALL(dlclose)(&handle_of_libc), -1);
  check_error("it fails");
}

/* Each thread has an error of its own. */
static void test_errors_of_pthreads(void **state) {
  (void)state;
  assert_null(CALL(dlopen)("x.so", 0));
  is_pthread = true;
  check_error(NULL);
  assert_null(CALL(dlopen)("y.so", 0));
  is_pthread = false;
  check_error("x.so: invalid mode for dlopen()");
  is_pthread = true;
  check_error("y.so: invalid mode for dlopen()");
}

/* A thread of no rank, and a program that opens nothing, have libc's. */
static void test_calls_that_are_libc_s(void **state) {
  (void)state;
  for (int i = 0; i < 2; i++) {
    caller = i == 0 ? NULL : &process;
    program.opened = i == 0 ? opened : NULL;
    trace[0] = '\0';
    assert_ptr_equal(CALL(dlopen)("x.so", RTLD_NOW), &found_there);
    assert_ptr_equal(CALL(dlmopen)(7, "x.so", RTLD_NOW), &found_there);
    assert_ptr_equal(CALL(dlsym)(RTLD_DEFAULT, "f"), &found_there);
    assert_int_equal(CALL(dlclose)(&handle_of_libc), 0);
    assert_int_equal(CALL(dlinfo)(&handle_of_own, RTLD_DI_LMID, text), 66);
    check_trace("dlopen:x.so,2 dlmopen:7,x.so,2 dlsym:default,f dlclose dlinfo:0,1 ");
    assert_string_equal(CALL(dlerror)(), "of a search");
  }
}

/* ---- symbols */

static void test_symbols_of_all_objects(void **state) {
  (void)state;
  finds = true;
  assert_ptr_equal(CALL(dlsym)(RTLD_DEFAULT, "f"), &found_here);
  check_trace("global:none,f ");
  finds = false;
  assert_ptr_equal(CALL(dlsym)(RTLD_DEFAULT, "f"), &found_there);
  check_trace("global:none,f dlsym:default,f ");
  check_error(NULL);
  assert_ptr_equal(CALL(dlvsym)(RTLD_DEFAULT, "f", "V1"), &found_there);
  check_trace("global:none,f dlvsym:f,V1 ");
  assert_ptr_equal(CALL(dlsym)(RTLD_DEFAULT, "exit"), &replacement); /* what tmpirun has for it */
  libc_finds = false;
  assert_null(CALL(dlsym)(RTLD_DEFAULT, "exit"));
  check_error("it fails");
}

static void test_symbols_behind_the_caller(void **state) {
  (void)state;
  finds = true;
  assert_ptr_equal(CALL(dlsym)(RTLD_NEXT, "f"), &found_here);
  check_trace("global:/opt/own.so,f ");
  calling = NULL; /* it is no object of ranks, so libc knows what is behind it */
  assert_ptr_equal(CALL(dlsym)(RTLD_NEXT, "f"), &found_there);
  check_trace("dlsym:next,f ");
  calling = &own;
  finds = false;
  assert_ptr_equal(CALL(dlsym)(RTLD_NEXT, "f"), &found_there);
  check_trace("global:/opt/own.so,f dlsym:default,f dladdr1 ");
  copies[0] = (struct link_map){.l_name = (char[]){"/lib/libc.so.6"}};
  object_of_found = &copies[0]; /* no tool has it */
  assert_ptr_equal(CALL(dlsym)(RTLD_NEXT, "f"), &found_there);
  check_trace("global:/opt/own.so,f dlsym:default,f dladdr1 ");
  libc_finds = false;
  assert_null(CALL(dlsym)(RTLD_NEXT, "f"));
  check_trace("global:/opt/own.so,f dlsym:default,f ");
}

/* A preloaded tool is in the process, too: what it would call there is the tool again. */
static void test_symbols_behind_tools(void **state) {
  (void)state;
  copies[0] = (struct link_map){.l_name = own.path, .l_next = &copies[1]};
  copies[1] = (struct link_map){.l_name = app.path, .l_next = &copies[2]};
  copies[2] = (struct link_map){.l_name = (char[]){"/lib/a.so"}, .l_next = &maps[0]};
  maps[0] = (struct link_map){.l_name = late.path}; /* a rank has opened it: it is no tool */
  object_of_found = &copies[0];
  assert_ptr_equal(CALL(dlsym)(RTLD_NEXT, "f"), &found_there);
  check_trace(
      "global:/opt/own.so,f dlsym:default,f dladdr1 dlopen:/lib/a.so,5 dlsym:handle,f "
      "dlclose ");
  check_error(NULL);
  assert_null(libc_error);
  searches_left = 1;
  assert_ptr_equal(CALL(dlsym)(RTLD_NEXT, "f"), &found_there);
  check_trace(
      "global:/opt/own.so,f dlsym:default,f dladdr1 dlopen:/lib/a.so,5 dlsym:handle,f "
      "dlclose dlopen:plain.so,5 dlsym:handle,f dlclose ");
}

static void test_symbols_of_one_object(void **state) {
  (void)state;
  finds = true;
  assert_ptr_equal(CALL(dlsym)(&handle_of_own, "f"), &found_here);
  check_trace("in:/opt/own.so,f ");
  assert_null(libc_error);
  assert_ptr_equal(CALL(dlsym)(&handle_of_app, "f"), &found_here); /* the program: all of them */
  check_trace("global:none,f ");
  finds = false;
  assert_ptr_equal(CALL(dlsym)(&handle_of_app, "f"), &found_there);
  check_trace("global:none,f dlsym:default,f ");
  check_error(NULL);
  libc_finds = false;
  assert_null(CALL(dlsym)(&handle_of_app, "f"));
  check_error("/srv/u/app: undefined symbol: f");
  trace[0] = '\0';
  assert_null(CALL(dlsym)(&handle_of_own, "f"));
  check_trace("in:/opt/own.so,f ");
  check_error("/opt/own.so: undefined symbol: f");
  libc_finds = true;
  assert_ptr_equal(CALL(dlsym)(&handle_of_libc, "f"), &found_there);
  check_trace("dlsym:handle,f ");
}

/* ---- what is known of objects and addresses */

static void test_objects_by_their_handles(void **state) {
  (void)state;
  void *map = NULL;
  Lmid_t space = 9;
  char folder[20];
  assert_int_equal(CALL(dlinfo)(&handle_of_own, RTLD_DI_LINKMAP, &map), 0);
  assert_ptr_equal(map, &handle_of_own);
  assert_int_equal(CALL(dlinfo)(&handle_of_own, RTLD_DI_LMID, &space), 0);
  assert_int_equal(space, LM_ID_BASE);
  assert_int_equal(CALL(dlinfo)(&handle_of_own, RTLD_DI_ORIGIN, folder), 0);
  assert_string_equal(folder, "/opt");
  assert_int_equal(CALL(dlinfo)(&handle_of_late, RTLD_DI_ORIGIN, folder), 0);
  assert_string_equal(folder, ".");
  check_error(NULL);
  assert_int_equal(CALL(dlinfo)(&handle_of_own, RTLD_DI_TLS_DATA, folder), -1);
  check_error("/opt/own.so: this request of dlinfo() is not known for ranks");
  check_trace("");
  assert_int_equal(CALL(dlinfo)(&handle_of_libc, RTLD_DI_LMID, &space), 66);
  check_trace("dlinfo:1,1 ");
}

static void check_address(size_t offset, const char *name, size_t start_of) {
  Dl_info info = {.dli_sname = "before"};
  assert_int_not_equal(CALL(dladdr)(arena + offset, &info), 0);
  assert_string_equal(info.dli_fname, "/srv/u/app");
  assert_ptr_equal(info.dli_fbase, arena);
  if (name == NULL) {
    assert_null(info.dli_sname);
    assert_null(info.dli_saddr);
  } else {
    assert_string_equal(info.dli_sname, name);
    assert_ptr_equal(info.dli_saddr, arena + start_of);
  }
}

static void test_symbols_by_their_addresses(void **state) {
  (void)state;
  check_address(0xff, NULL, 0);
  check_address(0x100, "work", 0x100);
  check_address(0x103, "work", 0x100);
  check_address(0x104, "part", 0x104);
  check_address(0x107, "part", 0x104);
  check_address(0x108, "work", 0x100);
  check_address(0x110, "label", 0x110); /* without a size it is one place */
  check_address(0x111, "work", 0x100);
  check_address(0x11f, "work", 0x100); /* a thread-local variable has no address */
  check_address(0x120, NULL, 0);
  check_trace("");
  Dl_info info;
  calling = NULL;
  assert_int_equal(CALL(dladdr)(&info, &info), 67);
  check_trace("dladdr ");
}

static void test_more_of_an_address(void **state) {
  (void)state;
  Dl_info info = {.dli_fname = NULL};
  void *extra = &info;
  assert_int_equal(CALL(dladdr1)(arena + 0x104, &info, &extra, RTLD_DL_LINKMAP), 1);
  assert_ptr_equal(extra, &maps[3]);
  assert_string_equal(info.dli_sname, "part");
  assert_int_equal(CALL(dladdr1)(arena + 0x104, &info, &extra, RTLD_DL_SYMENT), 1);
  assert_ptr_equal(extra, &of_part);
  assert_int_equal(CALL(dladdr1)(arena + 0x10, &info, &extra, RTLD_DL_SYMENT), 1);
  assert_null(extra);
  calling = NULL;
  object_of_found = &copies[0];
  assert_int_equal(CALL(dladdr1)(&info, &info, &extra, RTLD_DL_LINKMAP), 68);
}

/* ---- functions of MPI that tmpi does not have */

static const char *call_missing(void) {
  struct captured captured = captured_begin();
  if (setjmp(left) == 0) overridden(tm_override_objects, "tm_missing_mpi")();
  captured_end(&captured, text, sizeof text);
  check_trace("abort:1 ");
  return text;
}

#define MISSING "tmpirun: rank 1 called a function of MPI that tmpi does not have, in "

static void test_missing_functions(void **state) {
  (void)state;
  assert_string_equal(call_missing(), MISSING "work of '/opt/own.so'\n");
  calling = &late;
  assert_string_equal(call_missing(), MISSING "a function of 'plain.so'\n");
  calling = NULL;
  assert_string_equal(call_missing(), MISSING "a function of 'a library'\n");
}

int main(void) {
#define ROW(name) cmocka_unit_test_setup(name, start)
  const struct CMUnitTest tests[] = {
      ROW(test_a_rank_opens_its_own_copy),  ROW(test_libraries_that_ranks_share),
      ROW(test_wrong_modes_and_namespaces), ROW(test_closing),
      ROW(test_errors_of_pthreads),         ROW(test_calls_that_are_libc_s),
      ROW(test_symbols_of_all_objects),     ROW(test_symbols_behind_the_caller),
      ROW(test_symbols_behind_tools),       ROW(test_symbols_of_one_object),
      ROW(test_objects_by_their_handles),   ROW(test_symbols_by_their_addresses),
      ROW(test_more_of_an_address),         ROW(test_missing_functions),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
