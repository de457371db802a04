/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a rank's program begins and ends, call by call (src/tmpi/run/ending.c): which of the rank and
 * the process exit() and its like end, with which status, and after which message; whose handlers
 * are registered where; and main() with its constructors.
 */
#include "traced_calls.h"

#include <err.h>
#include <error.h>
#include <obstack.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "overridden.h"
#include "tmpi/loader/program.h"
#include "tmpi/rank/rank.h"
#include "tmpi/run/process.h"

enum { RANK = 1, SLOT = 0x1000, PLACE = 0x100, VALUE = 0x20 };

/* exit() of src/tmpi/run/ending.c, which has another name here: the test ends by libc's. */
void exit_of_ranks(int status);

static struct tm_process process, *caller;
static jmp_buf ended;

struct tm_process *tm_process_self(void) { return caller; }
struct tm_process *tm_process_here(void) { return caller; }

void tm_process_exit(struct tm_process *of, int status, enum tm_end how) {
  assert_ptr_equal(of, &process);
  note("%s:%d", how == TM_ORDERLY ? "orderly" : how == TM_QUICK ? "quick" : "at_once", status);
  longjmp(ended, 1);
}

void tm_job_flush(void) { note("flush"); }

int tm_handler_push(struct tm_handler **list, void (*function)(void *), void *argument) {
  note("push:%s,%d,%d", list == &process.at_exit ? "exit" : "quick", function != NULL,
       argument != NULL);
  return 5;
}

int tm_handler_push_status(struct tm_handler **list, void (*function)(int, void *),
                           void *argument) {
  note("status:%d,%d,%d", list == &process.at_exit, function != NULL, argument != NULL);
  return 6;
}

/* ---- the program: two images, of which a rank has a copy each */

static const Elf64_Sym symbol = {.st_value = VALUE};
static struct tm_image images[3], *image_list[] = {&images[0], &images[1], &images[2]};
static char arena[4 * SLOT];
static struct tm_program program = {
    .images = image_list, .image_count = 3, .start_count = 2, .arena = arena, .slot = SLOT};
struct tm_program *tm_the_program = &program;
static const struct tm_image *defines; /* the variable */
static int object_rank;                /* that has what is registered; -1: none */

struct tm_wanted tm_want(const char *name, const char *version) {
  return (struct tm_wanted){name, version, 0};
}

const Elf64_Sym *tm_image_find(const struct tm_image *image, const struct tm_wanted *wanted) {
  assert_string_equal(wanted->name, "obstack_alloc_failed_handler");
  assert_null(wanted->version);
  return image == defines ? &symbol : NULL;
}

int tm_program_rank_of(const struct tm_program *of, const void *address) {
  assert_true(of == &program && address == arena);
  return object_rank;
}

static char *own_environment[] = {(char[]){"A=own"}, NULL};

void tm_program_construct_libraries(const struct tm_program *of, int rank, int argc, char **argv,
                                    char **environment) {
  assert_true(of == &program && argv != NULL && environment == process.environment);
  note("libraries:%d,%d", rank, argc);
}

void tm_program_construct(const struct tm_program *of, int rank, int argc, char **argv,
                          char **environment) {
  assert_true(of == &program && argv != NULL && environment == own_environment);
  note("program:%d,%d", rank, argc);
}

char **tm_process_environment(const struct tm_process *of) {
  assert_ptr_equal(of, &process);
  return own_environment;
}

/* ---- libc */

static void exit_libc(int status) {
  note("exit:%d", status);
  longjmp(ended, 1);
}

static int atexit_libc(void (*function)(void *), void *argument, void *of) {
  note("atexit:%d,%d,%d", function != NULL, argument != NULL, of == arena);
  return 7;
}

void *__wrap_dlsym(void *handle, const char *name);
void *__wrap_dlsym(void *handle, const char *name) {
  (void)handle;
  note("dlsym");
  tm_any *found = strcmp(name, "exit") == 0 ? (tm_any *)exit_libc : (tm_any *)atexit_libc;
  return *(void **)&found;
}

#define ENDS(name)                                                                                 \
  void __wrap_##name(int status) __attribute__((noreturn));                                        \
  void __wrap_##name(int status) {                                                                 \
    note(#name ":%d", status);                                                                     \
    longjmp(ended, 1);                                                                             \
  }
ENDS(_exit)
ENDS(quick_exit)

void __wrap_abort(void) __attribute__((noreturn));
void __wrap_abort(void) {
  note("abort");
  longjmp(ended, 1);
}

int __wrap_on_exit(void (*function)(int, void *), void *argument);
int __wrap_on_exit(void (*function)(int, void *), void *argument) {
  note("on_exit:%d,%d", function != NULL, argument != NULL);
  return 8;
}

static void note_text(const char *call, const char *format, va_list list) {
  char text[100];
  vsnprintf(text, sizeof text, format, list);
  note("%s(%s)", call, text);
}

void __wrap_vwarn(const char *format, va_list list);
void __wrap_vwarn(const char *format, va_list list) { note_text("warn", format, list); }
void __wrap_vwarnx(const char *format, va_list list);
void __wrap_vwarnx(const char *format, va_list list) { note_text("warnx", format, list); }

void __wrap_error(int status, int number, const char *format, ...);
void __wrap_error(int status, int number, const char *format, ...) {
  va_list list;
  va_start(list, format);
  note("%d,%d", status, number);
  note_text("error", format, list);
  va_end(list);
}

void __wrap_error_at_line(int status, int number, const char *file, unsigned line,
                          const char *format, ...);
void __wrap_error_at_line(int status, int number, const char *file, unsigned line,
                          const char *format, ...) {
  va_list list;
  va_start(list, format);
  note("%d,%d,%s,%u", status, number, file, line);
  note_text("error", format, list);
  va_end(list);
}

static bool no_text;
static int texts; /* that are not freed */

int __real_vasprintf(char **text, const char *format, va_list list);
int __wrap_vasprintf(char **text, const char *format, va_list list);
int __wrap_vasprintf(char **text, const char *format, va_list list) {
  *text = (char *)(uintptr_t)format; /* which is undefined where it fails */
  if (no_text) return -1;
  texts++;
  return __real_vasprintf(text, format, list);
}

void __real_free(void *block);
void __wrap_free(void *block);
void __wrap_free(void *block) {
  texts -= block != NULL;
  __real_free(block);
}

/* ---- calls */

#define CALL(name) ((__typeof__(name) *)overridden(tm_override_ending, #name))

/* What a call that does not return has done. */
#define CHECK_END(expected, call)                                                                  \
  do {                                                                                             \
    if (setjmp(ended) == 0) {                                                                      \
      (call);                                                                                      \
      fail();                                                                                      \
    }                                                                                              \
    check_trace(expected);                                                                         \
  } while (0)

static int start(void **state) {
  (void)state;
  process = (struct tm_process){.number = RANK};
  caller = &process;
  images[0].place = 0;
  images[1].place = PLACE;
  defines = &images[1];
  object_rank = RANK;
  no_text = false;
  texts = 0;
  trace[0] = '\0';
  return 0;
}

static void test_a_rank_ends_without_its_process(void **state) {
  (void)state;
  CHECK_END("orderly:3 ", exit_of_ranks(3));
  CHECK_END("orderly:4 ", ((void (*)(int))overridden(tm_override_ending, "exit"))(4));
  CHECK_END("at_once:5 ", CALL(_exit)(5));
  CHECK_END("at_once:6 ", CALL(_Exit)(6));
  CHECK_END("quick:7 ", CALL(quick_exit)(7));
  CHECK_END("flush abort ", CALL(abort)());
}

static void test_other_threads_end_the_process(void **state) {
  (void)state;
  caller = NULL;
  CHECK_END("dlsym exit:3 ", exit_of_ranks(3));
  CHECK_END("_exit:5 ", CALL(_exit)(5));
  CHECK_END("quick_exit:7 ", CALL(quick_exit)(7));
}

/* ---- after a message */

static void call_verr(bool has_number, const char *format, ...) {
  va_list list;
  va_start(list, format);
  if (has_number)
    CALL(verr)(11, format, list);
  else
    CALL(verrx)(12, format, list);
  va_end(list);
}

static void test_messages_at_the_end(void **state) {
  (void)state;
  CHECK_END("warn(a 1) orderly:9 ", CALL(err)(9, "a %d", 1));
  CHECK_END("warnx(b 2) orderly:10 ", CALL(errx)(10, "b %d", 2));
  CHECK_END("warn(c 3) orderly:11 ", call_verr(true, "c %d", 3));
  CHECK_END("warnx(d 4) orderly:12 ", call_verr(false, "d %d", 4));
  CHECK_END("0,2 error(e 5) orderly:13 ", CALL(error)(13, 2, "e %d", 5));
  CHECK_END("0,2,file,8 error(f 6) orderly:14 ", CALL(error_at_line)(14, 2, "file", 8, "f %d", 6));
}

static void test_messages_that_end_nothing(void **state) {
  (void)state;
  CALL(error)(0, 3, "e %d", 5);
  CALL(error_at_line)(0, 0, "file", 1, "f %d", 6);
  check_trace("0,3 error(e 5) 0,0,file,1 error(f 6) ");
  no_text = true; /* no memory: the format says what it can */
  CALL(error)(0, 3, "e %d", 5);
  check_trace("0,3 error(e %d) ");
  no_text = false;
  CALL(error)(0, 3, "%s", "");
  check_trace("0,3 error() ");
  assert_int_equal(texts, 0);
}

/* ---- handlers */

static void handler(void *argument) { (void)argument; }
static void status_handler(int status, void *argument) { (void)status, (void)argument; }

typedef int registers(void (*)(void *), void *, void *);
typedef int registers_quickly(void (*)(void *), void *);

static void test_handlers_of_a_rank(void **state) {
  registers *at = (registers *)overridden(tm_override_ending, "__cxa_atexit");
  registers_quickly *quick =
      (registers_quickly *)overridden(tm_override_ending, "__cxa_at_quick_exit");
  (void)state;
  assert_int_equal(at(handler, &process, arena), 5);
  object_rank = 0; /* an object of rank 0: it is a rank's */
  assert_int_equal(at(handler, NULL, arena), 5);
  assert_int_equal(CALL(on_exit)(status_handler, &process), 6);
  assert_int_equal(quick(handler, arena), 5);
  check_trace("push:exit,1,1 push:exit,1,0 status:1,1,1 push:quick,1,0 ");
  ((void (*)(void *))overridden(tm_override_ending, "__cxa_finalize"))(arena);
  check_trace("");
}

static void test_handlers_of_the_process(void **state) {
  registers *at = (registers *)overridden(tm_override_ending, "__cxa_atexit");
  registers_quickly *quick =
      (registers_quickly *)overridden(tm_override_ending, "__cxa_at_quick_exit");
  (void)state;
  object_rank = -1; /* a library that ranks share */
  assert_int_equal(at(handler, &process, arena), 7);
  check_trace("dlsym atexit:1,1,1 ");
  caller = NULL;
  assert_int_equal(at(handler, NULL, arena), 7);
  assert_int_equal(CALL(on_exit)(status_handler, NULL), 8);
  check_trace("atexit:1,0,1 on_exit:1,0 ");
  assert_int_equal(quick(handler, arena), -1);
  check_trace("");
}

/* ---- obstacks, which call a handler where there is no memory */

static void handler_of_libc(void) { note("libc"); }
static void handler_of_rank(void) { note("rank"); }

static void test_a_rank_s_handler_of_obstacks(void **state) {
  void (**own)(void) = (void (**)(void))(arena + RANK * SLOT + PLACE + VALUE);
  (void)state;
  *own = handler_of_rank;
  obstack_alloc_failed_handler = handler_of_libc;
  tm_obstacks_heed();
  obstack_alloc_failed_handler();
  check_trace("rank ");
  assert_ptr_equal(tm_process_variable(&process, "obstack_alloc_failed_handler"), own);
  caller = NULL;
  obstack_alloc_failed_handler();
  check_trace("libc ");
  caller = &process;
  defines = &images[2]; /* the rank has opened it later, if at all */
  obstack_alloc_failed_handler();
  check_trace("libc ");
  defines = &images[0];
  assert_ptr_equal(tm_process_variable(&process, "obstack_alloc_failed_handler"),
                   arena + RANK * SLOT + VALUE);
}

/* ---- main() */

static char *words[] = {(char[]){"prog"}, (char[]){"word"}, NULL};

static int main_of_rank(int argc, char **argv, char **environment) {
  assert_true(argc == 2 && argv == words && environment == own_environment);
  note("main");
  return 42;
}

static void init(int argc, char **argv, char **environment) {
  assert_true(argc == 2 && argv == words && environment == own_environment);
  note("init");
}

static void test_constructors_run_before_main(void **state) {
  typedef int start_main(int (*)(int, char **, char **), int, char **,
                         void (*)(int, char **, char **), void (*)(void), void (*)(void), void *);
  start_main *starts = (start_main *)overridden(tm_override_ending, "__libc_start_main");
  (void)state;
  CHECK_END("libraries:1,2 program:1,2 main orderly:42 ",
            starts(main_of_rank, 2, words, NULL, NULL, NULL, NULL));
  CHECK_END("libraries:1,2 init main orderly:42 ",
            starts(main_of_rank, 2, words, init, NULL, NULL, NULL));
}

int main(void) {
#define ROW(test) cmocka_unit_test_setup(test, start)
  const struct CMUnitTest tests[] = {
      ROW(test_a_rank_ends_without_its_process),
      ROW(test_other_threads_end_the_process),
      ROW(test_messages_at_the_end),
      ROW(test_messages_that_end_nothing),
      ROW(test_handlers_of_a_rank),
      ROW(test_handlers_of_the_process),
      ROW(test_a_rank_s_handler_of_obstacks),
      ROW(test_constructors_run_before_main),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
