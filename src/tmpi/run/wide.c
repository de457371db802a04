/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wide characters that ranks print. A stream with a writing function of ours (output.h) takes bytes
 * only: libc returns an error for each wide character, and few programs look at it. On such a
 * stream the text becomes bytes here, by the rank's locale. On a stream that ranks share without
 * one, functions that take no lock take it here (unlocked.c).
 *
 * Such a stream has no orientation, so a rank may print bytes and wide characters.
 */
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "tmpi/run/output.h"
#include "tmpi/run/override.h"
#include "tmpi/run/streams.h"

/* libc's, which its headers name nowhere else. */
wint_t __woverflow(FILE *stream, wint_t character);

/* @return whether the stream takes bytes only. */
static bool takes_bytes(const FILE *stream) {
  return tm_output_is_routed() && stream != stdin && tm_streams_is_shared(stream);
}

/* The stream is locked. @return false: errno tells. */
static bool put_as_bytes(const wchar_t *text, size_t length, FILE *stream) {
  char bytes[MB_LEN_MAX];
  mbstate_t state;
  memset(&state, 0, sizeof state);
  for (size_t i = 0; i < length; i++) {
    size_t count = wcrtomb(bytes, text[i], &state);
    if (count == (size_t)-1 || fwrite_unlocked(bytes, 1, count, stream) != count) return false;
  }
  return true;
}

static bool put_text(const wchar_t *text, size_t length, FILE *stream) {
  flockfile(stream);
  bool put = put_as_bytes(text, length, stream);
  funlockfile(stream);
  return put;
}

/* ---- one character */

static wint_t put_character_as_bytes(wchar_t character, FILE *stream) {
  return put_text(&character, 1, stream) ? (wint_t)character : WEOF;
}

static wint_t fputwc_rank(wchar_t character, FILE *stream) {
  return takes_bytes(stream) ? put_character_as_bytes(character, stream)
                             : fputwc(character, stream);
}

static wint_t putwchar_rank(wchar_t character) { return fputwc_rank(character, stdout); }

static wint_t put_unlocked(wchar_t character, FILE *stream) {
  return tm_streams_is_shared(stream) ? fputwc_rank(character, stream)
                                      : fputwc_unlocked(character, stream);
}

static wint_t put_out_unlocked(wchar_t character) { return put_unlocked(character, stdout); }

static wint_t put_overflow(FILE *stream, wint_t character) {
  if (takes_bytes(stream)) return put_character_as_bytes((wchar_t)character, stream);
  bool shared = tm_streams_is_shared(stream);
  if (shared) flockfile(stream);
  wint_t result = __woverflow(stream, character);
  if (shared) funlockfile(stream);
  return result;
}

/* ---- text */

static int fputws_rank(const wchar_t *text, FILE *stream) {
  if (!takes_bytes(stream)) return fputws(text, stream);
  return put_text(text, wcslen(text), stream) ? 1 : -1;
}

static int put_text_unlocked(const wchar_t *text, FILE *stream) {
  return tm_streams_is_shared(stream) ? fputws_rank(text, stream) : fputws_unlocked(text, stream);
}

static int vfwprintf_rank(FILE *stream, const wchar_t *format, va_list arguments) {
  if (!takes_bytes(stream)) return vfwprintf(stream, format, arguments);
  wchar_t *text = NULL;
  size_t size = 0;
  FILE *memory = open_wmemstream(&text, &size);
  if (memory == NULL) return -1;
  int length = vfwprintf(memory, format, arguments);
  if (fclose(memory) != 0) length = -1;
  if (length >= 0 && !put_text(text, (size_t)length, stream)) length = -1;
  free(text);
  return length;
}

static int vwprintf_rank(const wchar_t *format, va_list arguments) {
  return vfwprintf_rank(stdout, format, arguments);
}

static int fwprintf_rank(FILE *stream, const wchar_t *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int length = vfwprintf_rank(stream, format, arguments);
  va_end(arguments);
  return length;
}

static int wprintf_rank(const wchar_t *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int length = vfwprintf_rank(stdout, format, arguments);
  va_end(arguments);
  return length;
}

/* ---- the forms of _FORTIFY_SOURCE */

static int vfwprintf_checked(FILE *stream, int flag, const wchar_t *format, va_list arguments) {
  (void)flag;
  return vfwprintf_rank(stream, format, arguments);
}

static int vwprintf_checked(int flag, const wchar_t *format, va_list arguments) {
  return vfwprintf_checked(stdout, flag, format, arguments);
}

static int fwprintf_checked(FILE *stream, int flag, const wchar_t *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int length = vfwprintf_checked(stream, flag, format, arguments);
  va_end(arguments);
  return length;
}

static int wprintf_checked(int flag, const wchar_t *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int length = vfwprintf_checked(stdout, flag, format, arguments);
  va_end(arguments);
  return length;
}

/* ---- orientation: programs print wide characters only if they get the one they asked for */

static int fwide_rank(FILE *stream, int mode) {
  return takes_bytes(stream) ? mode : fwide(stream, mode);
}

const struct tm_override tm_override_wide[] = {
    {"fputwc", (tm_any *)fputwc_rank},
    {"putwc", (tm_any *)fputwc_rank},
    {"putwchar", (tm_any *)putwchar_rank},
    {"fputwc_unlocked", (tm_any *)put_unlocked},
    {"putwc_unlocked", (tm_any *)put_unlocked},
    {"putwchar_unlocked", (tm_any *)put_out_unlocked},
    {"__woverflow", (tm_any *)put_overflow},
    {"fputws", (tm_any *)fputws_rank},
    {"fputws_unlocked", (tm_any *)put_text_unlocked},
    {"vfwprintf", (tm_any *)vfwprintf_rank},
    {"vwprintf", (tm_any *)vwprintf_rank},
    {"fwprintf", (tm_any *)fwprintf_rank},
    {"wprintf", (tm_any *)wprintf_rank},
    {"__vfwprintf_chk", (tm_any *)vfwprintf_checked},
    {"__vwprintf_chk", (tm_any *)vwprintf_checked},
    {"__fwprintf_chk", (tm_any *)fwprintf_checked},
    {"__wprintf_chk", (tm_any *)wprintf_checked},
    {"fwide", (tm_any *)fwide_rank},
    {NULL, NULL},
};
