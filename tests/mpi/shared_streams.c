/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of stdio on streams that ranks share (src/tmpi/run/unlocked.c, wide.c): each takes the
 * stream's lock once and gives it back, buffers stay, and wide characters become bytes where a
 * stream takes bytes alone. Another stream is libc's matter.
 */
#include "traced_calls.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <wchar.h>

#include "overridden.h"
#include "tmpi/run/output.h"
#include "tmpi/run/process.h"
#include "tmpi/run/streams.h"

static FILE *stream;        /* of the test: ranks share it, or not */
static bool shared, routed; /* routed: it takes bytes only */
static int locks;           /* on the stream */
static struct tm_process process, *caller;
static int flush_error, failed_flushes;

struct tm_process *tm_process_self(void) { return caller; }
bool tm_streams_is_shared(const FILE *of) { return of == stream && shared; }
bool tm_output_is_routed(void) { return routed; }

int tm_flush_free(void) {
  note("flush_free");
  return 31;
}

void tm_output_flush_failed(int error) {
  failed_flushes++;
  assert_int_equal(error, ENOSPC);
}

/* ---- libc: notes whether the stream is locked by the caller */

static const char *name_of(const FILE *of) {
  assert_in_range(locks, 0, 1);
  return of == NULL ? "all" : of != stream ? "other" : locks == 1 ? "locked" : "free";
}

void __wrap_flockfile(FILE *of);
void __wrap_flockfile(FILE *of) {
  assert_ptr_equal(of, stream);
  locks++;
}

void __wrap_funlockfile(FILE *of);
void __wrap_funlockfile(FILE *of) {
  assert_ptr_equal(of, stream);
  locks--;
}

#define NOTES(type, name, result, parameters, of)                                                  \
  type __wrap_##name parameters;                                                                   \
  type __wrap_##name parameters {                                                                  \
    note(#name ":%s", name_of(of));                                                                \
    return result;                                                                                 \
  }
NOTES(int, fputc_unlocked, c + 1, (int c, FILE *of), of)
NOTES(int, __overflow, c + 2, (FILE * of, int c), of)
NOTES(int, fputs_unlocked, (int)strlen(text), (const char *text, FILE *of), of)
NOTES(size_t, fread_unlocked, size *count + (size_t)(to != NULL),
      (void *to, size_t size, size_t count, FILE *of), of)
NOTES(int, fgetc_unlocked, 5, (FILE * of), of)
NOTES(char *, fgets_unlocked, text + size, (char *text, int size, FILE *of), of)
NOTES(int, fflush_unlocked, 6, (FILE * of), of)
NOTES(int, fcloseall, 7, (void), NULL)
NOTES(int, __fsetlocking, type + 1, (FILE * of, int type), of)
NOTES(wint_t, fputwc, (wint_t)c + 3, (wchar_t c, FILE *of), of)
NOTES(wint_t, fputwc_unlocked, (wint_t)c + 4, (wchar_t c, FILE *of), of)
NOTES(wint_t, __woverflow, c + 5, (FILE * of, wint_t c), of)
NOTES(int, fputws, (int)wcslen(text), (const wchar_t *text, FILE *of), of)
NOTES(int, fputws_unlocked, (int)wcslen(text) + 1, (const wchar_t *text, FILE *of), of)
NOTES(int, fwide, mode + 9, (FILE * of, int mode), of)

int __wrap_fflush(FILE *of);
int __wrap_fflush(FILE *of) {
  note("fflush:%s", name_of(of));
  errno = flush_error;
  return flush_error != 0 ? EOF : 0;
}

int __wrap_setvbuf(FILE *of, char *buffer, int mode, size_t size);
int __wrap_setvbuf(FILE *of, char *buffer, int mode, size_t size) {
  note("setvbuf:%s,%d,%d,%d", name_of(of), buffer != NULL, mode, (int)size);
  return 8;
}

static int writes_left; /* before one fails; -1: none does */

size_t __wrap_fwrite_unlocked(const void *data, size_t size, size_t count, FILE *of);
size_t __wrap_fwrite_unlocked(const void *data, size_t size, size_t count, FILE *of) {
  note("write:%s,%.*s", name_of(of), (int)(size * count), (const char *)data);
  return writes_left >= 0 && writes_left-- == 0 ? count - 1 : count;
}

static bool no_memory_stream, cannot_close;

int __real_vfwprintf(FILE *of, const wchar_t *format, va_list list);
int __wrap_vfwprintf(FILE *of, const wchar_t *format, va_list list);
int __wrap_vfwprintf(FILE *of, const wchar_t *format, va_list list) {
  if (of != stream) return __real_vfwprintf(of, format, list); /* into memory */
  note("vfwprintf:%s", name_of(of));
  return 10 + va_arg(list, int);
}

FILE *__real_open_wmemstream(wchar_t **text, size_t *size);
FILE *__wrap_open_wmemstream(wchar_t **text, size_t *size);
FILE *__wrap_open_wmemstream(wchar_t **text, size_t *size) {
  return no_memory_stream ? NULL : __real_open_wmemstream(text, size);
}

int __real_fclose(FILE *of);
int __wrap_fclose(FILE *of);
int __wrap_fclose(FILE *of) {
  int result = __real_fclose(of);
  return cannot_close ? EOF : result;
}

static int start(void **state) {
  (void)state;
  stream = stdout;
  shared = true;
  routed = no_memory_stream = cannot_close = false;
  locks = flush_error = failed_flushes = 0;
  writes_left = -1;
  caller = &process;
  trace[0] = '\0';
  return 0;
}

static int end(void **state) {
  (void)state;
  assert_int_equal(locks, 0);
  return 0;
}

#define CALL(name) ((__typeof__(name) *)overridden(tm_override_unlocked, #name))
#define CALL_WIDE(name) ((__typeof__(name) *)overridden(tm_override_wide, #name))

/* ---- functions without a lock */

static void write_and_read(void) {
  char text[10];
  assert_int_equal(CALL(fputc_unlocked)('a', stream), 'a' + 1);
  assert_int_equal(
      ((int (*)(int, FILE *))overridden(tm_override_unlocked, "putc_unlocked"))('a', stream),
      'a' + 1);
  assert_int_equal(
      ((int (*)(FILE *, int))overridden(tm_override_unlocked, "__overflow"))(stream, 'a'), 'a' + 2);
  assert_int_equal(CALL(fputs_unlocked)("abc", stream), 3);
  assert_int_equal(CALL(fwrite_unlocked)("ab", 1, 2, stream), 2);
  assert_int_equal(CALL(fflush_unlocked)(stream), 6);
  assert_int_equal(CALL(fgetc_unlocked)(stream), 5);
  assert_ptr_equal(CALL(fgets_unlocked)(text, 4, stream), text + 4);
  assert_int_equal(CALL(fread_unlocked)(text, 2, 3, stream), 7);
}

#define EACH(how)                                                                                  \
  "fputc_unlocked:" how " fputc_unlocked:" how " __overflow:" how " fputs_unlocked:" how           \
  " write:" how ",ab fflush_unlocked:" how " fgetc_unlocked:" how " fgets_unlocked:" how           \
  " fread_unlocked:" how " "

static void test_shared_streams_are_locked(void **state) {
  (void)state;
  write_and_read();
  check_trace(EACH("locked"));
  assert_int_equal(CALL(putchar_unlocked)('a'), 'a' + 1);
  check_trace("fputc_unlocked:locked ");
  stream = stdin;
  assert_int_equal(CALL(getchar_unlocked)(), 5);
  check_trace("fgetc_unlocked:locked ");
  shared = false;
  write_and_read();
  check_trace(EACH("free"));
}

static void test_flushes(void **state) {
  (void)state;
  assert_int_equal(CALL(fflush)(stdout), 0);
  assert_int_equal(CALL(fflush)(stderr), 0);
  check_trace("fflush:free fflush:other ");
  flush_error = ENOSPC; /* noted for the end of the job */
  assert_int_equal(CALL(fflush)(stderr), EOF);
  assert_int_equal(failed_flushes, 0);
  assert_int_equal(CALL(fflush)(stdout), EOF);
  assert_int_equal(failed_flushes, 1);
  trace[0] = '\0';
  assert_int_equal(CALL(fflush)(NULL), 31); /* of all streams */
  assert_int_equal(CALL(fflush_unlocked)(NULL), 31);
  assert_int_equal(CALL(fcloseall)(), 31);
  check_trace("flush_free flush_free flush_free ");
  caller = NULL;
  flush_error = 0;
  assert_int_equal(CALL(fflush)(NULL), 0);
  assert_int_equal(CALL(fflush_unlocked)(NULL), 0);
  assert_int_equal(CALL(fcloseall)(), 7);
  check_trace("fflush:all fflush:all fcloseall:all ");
}

static void set_buffers(char *buffer) {
  assert_int_equal(CALL(setvbuf)(stream, buffer, _IOFBF, 40), 8);
  CALL(setbuffer)(stream, buffer, 50);
  CALL(setbuffer)(stream, NULL, 50);
  CALL(setbuf)(stream, buffer);
  CALL(setlinebuf)(stream);
}

/* A buffer of the rank's would be gone when the rank has ended. */
static void test_buffers_of_ranks(void **state) {
  char buffer[100], expected[300];
  (void)state;
  for (int i = 0; i < 2; i++) {
    shared = i == 0;
    set_buffers(buffer);
    const char *how = i == 0 ? "free,0" : "free,1";
    snprintf(expected, sizeof expected,
             "setvbuf:%s,%d,40 setvbuf:%s,%d,50 setvbuf:free,0,%d,50 setvbuf:%s,%d,%d "
             "setvbuf:free,0,%d,0 ",
             how, _IOFBF, how, _IOFBF, _IONBF, how, _IOFBF, BUFSIZ, _IOLBF);
    check_trace(expected);
    assert_int_equal(CALL(__fsetlocking)(stream, 3), i == 0 ? FSETLOCKING_INTERNAL : 4);
    check_trace(i == 0 ? "" : "__fsetlocking:free ");
  }
  shared = routed = true; /* lines of ranks are not mixed: nothing changes */
  assert_int_equal(CALL(setvbuf)(stream, buffer, _IOFBF, 40), 0);
  check_trace("");
  stream = stdin;
  assert_int_equal(CALL(setvbuf)(stream, buffer, _IOFBF, 40), 8);
}

/* ---- wide characters */

static int print(const char *name, const wchar_t *format, ...) {
  tm_any *function = overridden(tm_override_wide, name);
  va_list list;
  va_start(list, format);
  int length =
      strcmp(name, "vfwprintf") == 0
          ? ((int (*)(FILE *, const wchar_t *, va_list))function)(stream, format, list)
      : strcmp(name, "vwprintf") == 0 ? ((int (*)(const wchar_t *, va_list))function)(format, list)
      : strcmp(name, "__vwprintf_chk") == 0
          ? ((int (*)(int, const wchar_t *, va_list))function)(1, format, list)
          : ((int (*)(FILE *, int, const wchar_t *, va_list))function)(stream, 1, format, list);
  va_end(list);
  return length;
}

/* Each function that prints a number: their results must be these. */
static void print_all(int expected) {
  static const char *const lists[] = {"vfwprintf", "vwprintf", "__vwprintf_chk", "__vfwprintf_chk"};
  typedef int checked(FILE *, int, const wchar_t *, ...);
  typedef int checked_out(int, const wchar_t *, ...);
  for (int i = 0; i < 4; i++) assert_int_equal(print(lists[i], L"%d", 42), expected);
  assert_int_equal(CALL_WIDE(fwprintf)(stream, L"%d", 42), expected);
  assert_int_equal(CALL_WIDE(wprintf)(L"%d", 42), expected);
  assert_int_equal(
      ((checked *)overridden(tm_override_wide, "__fwprintf_chk"))(stream, 1, L"%d", 42), expected);
  assert_int_equal(((checked_out *)overridden(tm_override_wide, "__wprintf_chk"))(1, L"%d", 42),
                   expected);
}

static wint_t overflow(wint_t c) {
  return ((wint_t(*)(FILE *, wint_t))overridden(tm_override_wide, "__woverflow"))(stream, c);
}

#define EIGHT(word) word word word word word word word word

static void test_streams_that_take_bytes(void **state) {
  (void)state;
  routed = true;
  assert_int_equal(CALL_WIDE(fputwc)(L'a', stream), L'a');
  assert_int_equal(CALL_WIDE(putwchar)(L'b'), L'b');
  assert_int_equal(CALL_WIDE(fputwc_unlocked)(L'c', stream), L'c');
  assert_int_equal(CALL_WIDE(putwchar_unlocked)(L'd'), L'd');
  assert_int_equal(overflow(L'e'), L'e');
  check_trace("write:locked,a write:locked,b write:locked,c write:locked,d write:locked,e ");
  assert_int_equal(CALL_WIDE(fputws)(L"xy", stream), 1);
  assert_int_equal(CALL_WIDE(fputws_unlocked)(L"z", stream), 1);
  check_trace("write:locked,x write:locked,y write:locked,z ");
  print_all(2);
  check_trace(EIGHT("write:locked,4 write:locked,2 "));
  assert_int_equal(CALL_WIDE(fwide)(stream, 1), 1); /* what the program asks for */
  assert_int_equal(CALL_WIDE(fwide)(stream, -1), -1);
  check_trace("");
}

static void test_bytes_that_cannot_be_written(void **state) {
  (void)state;
  routed = true;
  writes_left = 0;
  assert_int_equal(CALL_WIDE(fputwc)(L'a', stream), WEOF);
  writes_left = 1;
  assert_int_equal(CALL_WIDE(fputws)(L"xyz", stream), -1);
  check_trace("write:locked,a write:locked,x write:locked,y ");
  writes_left = 0;
  assert_int_equal(CALL_WIDE(fwprintf)(stream, L"%d", 42), -1);
  check_trace("write:locked,4 ");
  assert_int_equal(CALL_WIDE(fputwc)(0x3b1, stream), WEOF); /* no bytes for it in this locale */
  check_trace("");
  cannot_close = true;
  assert_int_equal(CALL_WIDE(fwprintf)(stream, L"%d", 42), -1);
  no_memory_stream = true;
  assert_int_equal(CALL_WIDE(fwprintf)(stream, L"%d", 42), -1);
  check_trace("");
}

static void test_streams_that_take_wide_characters(void **state) {
  (void)state;
  for (int i = 0; i < 3; i++) { /* shared; routed, and another stream; neither */
    shared = i == 0;
    routed = i == 1;
    assert_int_equal(CALL_WIDE(fputwc)(L'a', stream), L'a' + 3);
    assert_int_equal(CALL_WIDE(fputws)(L"xy", stream), 2);
    assert_int_equal(CALL_WIDE(fwide)(stream, 1), 10);
    check_trace("fputwc:free fputws:free fwide:free ");
    assert_int_equal(CALL_WIDE(fputwc_unlocked)(L'a', stream), L'a' + (i == 0 ? 3 : 4));
    assert_int_equal(CALL_WIDE(fputws_unlocked)(L"xy", stream), i == 0 ? 2 : 3);
    assert_int_equal(overflow(L'a'), L'a' + 5);
    check_trace(i == 0 ? "fputwc:free fputws:free __woverflow:locked "
                       : "fputwc_unlocked:free fputws_unlocked:free __woverflow:free ");
    print_all(52);
    check_trace(EIGHT("vfwprintf:free "));
  }
  shared = routed = true;
  stream = stdin; /* which has no writing function of ours */
  assert_int_equal(CALL_WIDE(fwide)(stream, 1), 10);
}

int main(void) {
#define ROW(test) cmocka_unit_test_setup_teardown(test, start, end)
  const struct CMUnitTest tests[] = {
      ROW(test_shared_streams_are_locked),
      ROW(test_flushes),
      ROW(test_buffers_of_ranks),
      ROW(test_streams_that_take_bytes),
      ROW(test_bytes_that_cannot_be_written),
      ROW(test_streams_that_take_wide_characters),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
