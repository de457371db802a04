/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where in a program a rank is (src/tmpi/run/locations.c), with stacks that are made here: names of
 * addresses, backtraces, the function that a thread calls, and where a signal has interrupted it.
 * With the module that reads debug information, and without it. The module is looked for once, so
 * each case is a child of fork().
 */
#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <stdlib.h>
#include <ucontext.h>
#include <unistd.h>

#include "captured.h"
#include "core/internal/placement.h"
#include "core/internal/process.h"
#include "internal_locks.h"
#include "tmpi/lines/lines.h"
#include "tmpi/loader/program.h"
#include "tmpi/report/location.h"
#include "tmpi/run/modules.h"
#include "tmpi/run/process.h"
#include "traced_calls.h"

enum { RANKS = 3, SLOT = 0x10000, LIBRARY = 0x4000, OURS = 0x3000 /* subroutines for Fortran */ };

static const uintptr_t arena = 0x7000000; /* slots of ranks */

/* ---- the program: two images in each slot */

static Elf64_Sym of_main = {.st_info = STT_FUNC, .st_value = 0x100},
                 of_data = {.st_info = STT_OBJECT, .st_value = 0x280},
                 of_work = {.st_info = STT_FUNC, .st_value = 0x200},
                 of_last = {.st_info = STT_FUNC, .st_value = 0x300};
static struct tm_symbol symbols[] = {{"work", &of_work, NULL, false, 0, 0},
                                     {"main", &of_main, NULL, false, 0, 0},
                                     {"data", &of_data, NULL, false, 0, 0},
                                     {"last", &of_last, NULL, false, 0, 0}};
static char prog_path[] = "/srv/u/prog", library_path[] = "libown.so";
static struct tm_image prog = {.path = prog_path,
                               .span = 0x4000,
                               .exports = symbols,
                               .export_count = 4},
                       library = {.path = library_path, .span = 0x1000};
static struct tm_image *images[] = {&prog, &library};
static struct tm_program program = {
    .images = images, .image_count = 2, .slot = SLOT, .ranks = RANKS};
struct tm_program *tm_the_program = &program;

int tm_program_rank_of(const struct tm_program *p, const void *address) {
  uintptr_t at = (uintptr_t)address;
  assert_ptr_equal(p, &program);
  return at >= arena && at < arena + (uintptr_t)RANKS * SLOT ? (int)((at - arena) / SLOT) : -1;
}

bool tm_program_in_bindings(const struct tm_program *p, const void *address) {
  assert_ptr_equal(p, &program);
  return (uintptr_t)address % SLOT >= OURS && (uintptr_t)address % SLOT < LIBRARY;
}

struct link_map *tm_program_map(const struct tm_program *p, int rank, int image) {
  static struct link_map maps[2];
  assert_true(p == &program && rank == 0);
  maps[image].l_addr = arena + (image == 0 ? 0 : LIBRARY);
  maps[image].l_name = images[image]->path;
  return &maps[image];
}

static uintptr_t in(int rank, uintptr_t offset) { return arena + (uintptr_t)rank * SLOT + offset; }

/* ---- libraries that all share: functions lie at multiples of 0x100 */

enum { LIBC = 0x9000000 };

static const char *const functions[] = {"write", "PMPI_Test", "MPI_Send", "__sleep", "_", NULL};
static bool has_library = true;

int __wrap_dladdr(const void *address, Dl_info *info);
int __wrap_dladdr(const void *address, Dl_info *info) {
  uintptr_t at = (uintptr_t)address;
  if (!has_library || at < LIBC || at >= LIBC + 0x600) return 0;
  *info = (Dl_info){.dli_fname = "/lib/libc.so.6",
                    .dli_fbase = (void *)LIBC,
                    .dli_sname = functions[(at - LIBC) / 0x100]};
  return 1;
}

static int objects = 2; /* of the process, and those of ranks */

int __wrap_dl_iterate_phdr(int (*call)(struct dl_phdr_info *, size_t, void *), void *data);
int __wrap_dl_iterate_phdr(int (*call)(struct dl_phdr_info *, size_t, void *), void *data) {
  struct dl_phdr_info info = {.dlpi_name = ""};
  int result = 0;
  for (int i = 0; i < objects && result == 0; i++) {
    info.dlpi_addr = i == 0 ? 0x400000 : i == 1 ? in(1, 0) : LIBC + (uintptr_t)i;
    result = call(&info, sizeof info, data);
    info.dlpi_name = "/lib/other.so";
  }
  note("objects:%d", result);
  return result;
}

/* ---- the module */

static bool can_open, has_name;
static int unwound; /* frames that it finds */
static uintptr_t by_module[8];

static bool open_files(const struct tm_lines_file *files, size_t count) {
  note("open:%d", (int)count);
  for (size_t i = 0; i < count && i < 3; i++) note("%s@%lx", files[i].path, files[i].base);
  return can_open;
}

static bool name_it(uintptr_t address, char *text, size_t size) {
  snprintf(text, size, "line %lx", address);
  return has_name;
}

static bool is_read(const struct tm_lines_start *start) {
  uintptr_t word = 0;
  return start->read(start->sp, &word) && word == in(0, 0x666);
}

static int unwind(const struct tm_lines_start *start, uintptr_t *frames, int most) {
  note("from:%lx%s", start->ip, is_read(start) ? "!" : "");
  assert_int_equal(most, 48);
  memcpy(frames, by_module, sizeof by_module);
  return unwound;
}

static const struct tm_lines module = {open_files, name_it, unwind};
static bool has_module;

const void *tm_module(const char *name, const char *symbol) {
  assert_string_equal(name, "lines");
  assert_string_equal(symbol, "tm_lines");
  return has_module ? &module : NULL;
}

/* ---- stacks: words that can be read */

static uintptr_t stack[200];

bool mti_peek(void *to, const void *from, size_t size) {
  const char *first = from, *low = (const char *)stack;
  if (first == (const char *)in(0, 0x210) && size == 1) return true; /* code */
  if (first < low || first + size > low + sizeof stack) return false;
  memcpy(to, from, size);
  return true;
}

/* A frame, as a function with frame pointers makes it, and the next one behind it. */
static void put_frame(int at, int next, uintptr_t address) {
  stack[at] = next < 0 ? 0 : (uintptr_t)&stack[next];
  stack[at + 1] = address;
}

static struct mti_whereabouts where;
static bool is_known;

bool mti_whereabouts(struct mti_whereabouts *now, const struct mltp_thread *thread) {
  assert_ptr_equal(thread, &program);
  *now = where;
  return is_known;
}

static int samples; /* that can be taken */
static uintptr_t sampled;

bool tm_sample_begin(struct tm_sample *sample, int task) {
  assert_int_equal(task, 77);
  if (samples-- == 0) return false;
  *sample = (struct tm_sample){(void *)sampled, &stack[0], &stack[2]};
  note("(");
  return true;
}

void tm_sample_end(void) { note(")"); }

static const struct tm_locations *places;

void tm_locations_set(const struct tm_locations *of_program) { places = of_program; }

/* ---- cases */

static char text[4000];

static void must(bool good, const char *what) {
  if (good) return;
  printf("failed: %s\n", what); /* what is printed on stderr is compared */
  fflush(stdout);
  _exit(98);
}

#define MUST(condition) must(condition, #condition)

static void must_trace(const char *expected) {
  must(strcmp(trace, expected) == 0, trace);
  trace[0] = '\0';
}

static const char *said_by(void (*acts)(const void *), const void *argument) {
  assert_true(captured_in_child(acts, argument, text, sizeof text));
  return text;
}

static void must_name(uintptr_t address, const char *expected) {
  char name[100] = "";
  places->name(name, sizeof name, (const void *)address);
  MUST(locked == 0);
  must(strcmp(name, expected) == 0, name);
}

static void name_without_module(const void *unused) {
  (void)unused;
  must_name(in(0, 0x99), "prog+0x99 (?)");
  must_name(in(0, 0x100), "prog+0x100 (main)");
  must_name(in(0, 0x1ff), "prog+0x1ff (main)");
  must_name(in(0, 0x290), "prog+0x290 (work)"); /* a variable is no function */
  must_name(in(2, 0x290), "prog+0x290 (work)");
  must_name(in(1, 0x3fff), "prog+0x3fff (last)");
  must_name(in(1, LIBRARY), "libown.so+0x0 (?)");
  must_name(LIBC + 0x10, "libc.so.6+0x10 (write)");
  must_name(LIBC + 0x510, "libc.so.6+0x510 (?)");
  must_name(0x1234, "?+0x1234 (?)");
  must_name(in(0, LIBRARY + 0x1000), "?+0x7005000 (?)");
  must_trace("objects:0 "); /* it was looked for once */
}

static void name_by_module(const void *unused) {
  (void)unused;
  must_name(in(0, 0x100), "line 7000100");
  must_name(in(2, 0x100), "line 7000100");
  must_trace("objects:0 open:3 /srv/u/prog@7000000 libown.so@7004000 /proc/self/exe@400000 ");
  has_name = false;
  must_name(in(2, 0x100), "prog+0x100 (main)");
}

static void test_names(void **state) {
  (void)state;
  assert_string_equal(said_by(name_by_module, NULL), "");
  has_module = false;
  assert_string_equal(said_by(name_without_module, NULL), "");
}

static void name_with_many_objects(const void *count) {
  objects = *(const int *)count;
  must_name(in(0, 0x100), "line 7000100");
  MUST(strstr(trace, objects > 199 ? "objects:1 open:200 " : "objects:0 open:200 ") == trace);
}

/* The list of files has an end. One object is a rank's copy. */
static void test_many_objects(void **state) {
  (void)state;
  static const int fits = 199, more = 200;
  assert_string_equal(said_by(name_with_many_objects, &fits), "");
  assert_string_equal(said_by(name_with_many_objects, &more), "");
}

static void name_without_files(const void *unused) {
  (void)unused;
  can_open = false;
  must_name(in(0, 0x100), "prog+0x100 (main)");
}

static void test_a_module_that_cannot_read_the_files(void **state) {
  (void)state;
  assert_string_equal(said_by(name_without_files, NULL), "");
}

static void test_addresses_of_the_program(void **state) {
  (void)state;
  assert_true(places->is_program((const void *)in(0, 0x10)));
  assert_true(places->is_program((const void *)in(2, LIBRARY)));
  assert_false(places->is_program((const void *)in(1, OURS)));
  assert_false(places->is_program((const void *)(uintptr_t)LIBC));
}

/* ---- backtraces */

static void trace_it(const void *most) {
  places->trace(&stack[0], *(const int *)most);
  MUST(locked == 0);
}

#define NEXT_OF_PROGRAM "    #1  prog+0x210 (work)\n    #2  prog+0x110 (main)\n"

/* What the library does inside is left out, but for the function called. */
static void test_backtraces_by_frame_pointers(void **state) {
  (void)state;
  static const int all = 9, two = 2, three = 3;
  has_module = false;
  put_frame(0, 2, LIBC + 0x10);
  put_frame(2, 4, LIBC + 0x210);
  put_frame(4, 6, in(1, 0x210));
  put_frame(6, 8, in(1, 0x110));
  put_frame(8, -1, 0); /* the first frame of all */
  assert_string_equal(said_by(trace_it, &all),
                      "    #0  libc.so.6+0x210 (MPI_Send)\n" NEXT_OF_PROGRAM);
  assert_string_equal(said_by(trace_it, &three),
                      "    #0  libc.so.6+0x210 (MPI_Send)\n" NEXT_OF_PROGRAM);
  assert_string_equal(said_by(trace_it, &two),
                      "    #0  libc.so.6+0x210 (MPI_Send)\n    #1  prog+0x210 (work)\n    ...\n");
  stack[6] = (uintptr_t)&stack[6]; /* a chain that turns back ends */
  assert_string_equal(said_by(trace_it, &all),
                      "    #0  libc.so.6+0x210 (MPI_Send)\n" NEXT_OF_PROGRAM);
  stack[6] = 5; /* one that cannot be read, too */
  put_frame(0, 4, in(1, 0x310));
  assert_string_equal(said_by(trace_it, &all), "    #0  prog+0x310 (last)\n" NEXT_OF_PROGRAM);
  put_frame(4, 6, LIBC + 0x10); /* no frame of the program */
  put_frame(0, 4, LIBC + 0x110);
  put_frame(6, 8, LIBC + 0x310);
  assert_string_equal(said_by(trace_it, &all),
                      "    #0  libc.so.6+0x110 (PMPI_Test)\n    #1  libc.so.6+0x10 (write)\n"
                      "    #2  libc.so.6+0x310 (__sleep)\n");
}

static void trace_long(const void *unused) {
  (void)unused;
  for (int i = 0; i < 99; i++) put_frame(2 * i, 2 * i + 2, in(0, 0x100 + (uintptr_t)i));
  places->trace(&stack[0], 100);
}

static void test_a_long_backtrace_has_an_end(void **state) {
  (void)state;
  has_module = false;
  said_by(trace_long, NULL);
  assert_non_null(strstr(text, "    #47 prog+0x12f (main)\n"));
  assert_null(strstr(text, "#48"));
}

static void trace_by_module(const void *count) {
  unwound = *(const int *)count;
  put_frame(0, 4, LIBC + 0x10);
  stack[2] = in(0, 0x666); /* what is at the stack pointer of the caller */
  put_frame(4, -1, in(1, 0x110));
  by_module[0] = LIBC + 0x10;
  by_module[1] = in(0, 0x210);
  by_module[2] = in(0, 0x110);
  places->trace(&stack[0], 9);
  must(strstr(trace, "from:9000010! ") != NULL, trace);
}

/* It knows functions without frame pointers. Where it finds nothing more, frame pointers count. */
static void test_backtraces_by_the_module(void **state) {
  (void)state;
  static const int three = 3, two = 2, one = 1;
  has_module = has_name = can_open = true;
  assert_string_equal(said_by(trace_by_module, &three),
                      "    #0  line 9000010\n    #1  line 7000210\n    #2  line 7000110\n");
  assert_string_equal(said_by(trace_by_module, &two),
                      "    #0  line 9000010\n    #1  line 7000210\n");
  assert_string_equal(said_by(trace_by_module, &one),
                      "    #0  line 9000010\n    #1  line 7000110\n");
}

static void trace_nowhere(const void *unused) {
  (void)unused;
  unwound = 3;
  places->trace((const void *)8, 9); /* a frame that is not there */
}

static void test_a_stack_that_cannot_be_read(void **state) {
  (void)state;
  assert_string_equal(said_by(trace_nowhere, NULL), "");
}

/* ---- where a thread is */

static void must_find(uintptr_t expected, const char *name) {
  char callee[40] = "before";
  const struct mltp_thread *thread = (const struct mltp_thread *)&program;
  MUST(places->find(thread, callee, sizeof callee) == (const void *)expected);
  must(strcmp(callee, name) == 0, callee);
}

static void find_parked(const void *unused) {
  (void)unused;
  has_module = false;
  is_known = false;
  must_find(0, "");
  is_known = true;
  where = (struct mti_whereabouts){.frame = &stack[0]};
  put_frame(0, 2, LIBC + 0x10);
  put_frame(2, 4, LIBC + 0x110);
  put_frame(4, 6, in(1, 0x210));
  put_frame(6, 8, in(1, 0x110));
  must_find(in(0, 0x210), "MPI_Test");
  stack[3] = LIBC + 0x301; /* an address behind the call counts for the function before it */
  must_find(in(0, 0x210), "sleep");
  stack[3] = LIBC + 0x300;
  must_find(in(0, 0x210), "MPI_Send");
  stack[3] = in(1, OURS); /* a subroutine for Fortran, which calls the library */
  must_find(in(0, 0x210), "write");
  stack[3] = LIBC + 0x510; /* without a name */
  must_find(in(0, 0x210), "");
  stack[1] = in(1, 0x310); /* the program's own */
  must_find(in(0, 0x310), "");
  put_frame(0, 2, in(1, OURS));
  stack[3] = in(1, 0x210);
  must_find(in(0, 0x210), "");
  put_frame(0, -1, LIBC + 0x10);
  must_find(0, "");
}

static void test_a_thread_that_waits(void **state) {
  (void)state;
  assert_string_equal(said_by(find_parked, NULL), "");
}

static void find_running(const void *unused) {
  (void)unused;
  is_known = true;
  where = (struct mti_whereabouts){.task = 77};
  samples = 9;
  sampled = in(1, 0x1ff);
  unwound = 2;
  stack[0] = 0;
  by_module[0] = in(0, 0x1ff);
  by_module[1] = in(0, 0x110);
  must_find(in(0, 0x200), ""); /* names are of calls, before the address */
  must_trace(
      "( objects:0 open:3 /srv/u/prog@7000000 libown.so@7004000 /proc/self/exe@400000 "
      "from:70001ff ) ( from:70001ff ) ( from:70001ff ) ( from:70001ff ) ( from:70001ff ) ");
  by_module[0] = LIBC + 0x210;
  must_find(in(0, 0x110), "MPI_Send"); /* one look is enough */
  must_trace("( from:70001ff ) ");
  samples = 2;
  by_module[0] = LIBC + 0x310;
  must_find(in(0, 0x110), "sleep"); /* it has ended meanwhile */
  must_trace("( from:70001ff ) ( from:70001ff ) ");
  samples = 0;
  must_find(0, "");
  samples = 1;
  unwound = 0;
  must_find(0, "");
}

/* It may poll, so several looks are taken until it is in a call of MPI. */
static void test_a_thread_that_runs(void **state) {
  (void)state;
  has_module = can_open = has_name = true;
  assert_string_equal(said_by(find_running, NULL), "");
}

/* ---- where a signal has interrupted a rank */

static ucontext_t interrupted_at(uintptr_t ip, const void *sp, const void *bp) {
  ucontext_t context = {.uc_flags = 0};
  context.uc_mcontext.gregs[REG_RIP] = (greg_t)ip;
  context.uc_mcontext.gregs[REG_RSP] = (greg_t)(uintptr_t)sp;
  context.uc_mcontext.gregs[REG_RBP] = (greg_t)(uintptr_t)bp;
  return context;
}

static void print_interrupted(const void *unused) {
  (void)unused;
  ucontext_t context = interrupted_at(in(0, 0x210), &stack[0], &stack[2]);
  stack[0] = in(0, 0x666);
  unwound = 2;
  by_module[0] = in(0, 0x210);
  by_module[1] = in(0, 0x110);
  MUST(tm_print_interrupted(&context, 9));
  MUST(strstr(trace, "from:7000210! ") != NULL);
}

static void print_call_of_no_function(const void *unused) {
  (void)unused;
  ucontext_t context = interrupted_at(0x8, &stack[0], &stack[4]);
  stack[0] = in(1, 0x110); /* the address to which the call returns */
  stack[1] = in(0, 0x666);
  unwound = 2;
  by_module[0] = in(0, 0x110);
  by_module[1] = in(0, 0x310);
  MUST(tm_print_interrupted(&context, 1));
  MUST(strstr(trace, "from:7000110! ") != NULL);
}

static void print_nothing(const void *unused) {
  (void)unused;
  ucontext_t context = interrupted_at(0x8, (void *)8, &stack[4]);
  MUST(!tm_print_interrupted(&context, 9)); /* no stack */
  context = interrupted_at(in(0, 0x210), &stack[0], (void *)8);
  unwound = 0;
  MUST(!tm_print_interrupted(&context, 9)); /* no frames */
}

static void test_where_a_signal_has_interrupted_a_rank(void **state) {
  (void)state;
  assert_string_equal(said_by(print_interrupted, NULL),
                      "    #0  line 7000211\n    #1  line 7000110\n");
  assert_string_equal(said_by(print_call_of_no_function, NULL), "    #0  line 7000111\n    ...\n");
  assert_string_equal(said_by(print_nothing, NULL), "");
}

static int start(void **state) {
  (void)state;
  has_module = has_name = can_open = true;
  trace[0] = '\0';
  memset(stack, 0, sizeof stack);
  return 0;
}

int main(void) {
#define ROW(name) cmocka_unit_test_setup(name, start)
  const struct CMUnitTest tests[] = {
      ROW(test_names),
      ROW(test_many_objects),
      ROW(test_a_module_that_cannot_read_the_files),
      ROW(test_addresses_of_the_program),
      ROW(test_backtraces_by_frame_pointers),
      ROW(test_a_long_backtrace_has_an_end),
      ROW(test_backtraces_by_the_module),
      ROW(test_a_stack_that_cannot_be_read),
      ROW(test_a_thread_that_waits),
      ROW(test_a_thread_that_runs),
      ROW(test_where_a_signal_has_interrupted_a_rank),
  };
  tm_locations_start();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
