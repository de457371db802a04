/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of stdio that take no lock, and functions that change how a stream is buffered. A
 * process with one thread may use them, but ranks share the standard streams: without a lock,
 * characters of one rank were lost, or went to the output of another.
 *
 * On a standard stream they take its lock here. putc_unlocked() is also code within the program,
 * which writes to the stream's buffer itself and calls __overflow() when that is full. So tmpirun
 * gives a program that names __overflow() streams without a buffer (streams.c), and each character
 * comes here. A buffer would also mix ranks where each has a file for its output: setvbuf() and its
 * variants then change nothing.
 *
 * fflush(NULL) and fcloseall() are here as well. Wide characters are in wide.c. Left out:
 * getc_unlocked() within a program, on stdin, by several ranks at once.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdio_ext.h>

#include "tmpi/run/output.h"
#include "tmpi/run/override.h"
#include "tmpi/run/process.h"
#include "tmpi/run/streams.h"

/* libc's, which its header names nowhere else. */
int __overflow(FILE *stream, int character);

/* @return whether there is a lock to release. */
static bool lock(FILE *stream) {
  bool shared = tm_streams_is_shared(stream);
  if (shared) flockfile(stream);
  return shared;
}

static void unlock(FILE *stream, bool locked) {
  if (locked) funlockfile(stream);
}

/* ---- writing */

static int put_character(int character, FILE *stream) {
  bool locked = lock(stream);
  int result = fputc_unlocked(character, stream);
  unlock(stream, locked);
  return result;
}

static int put_character_out(int character) { return put_character(character, stdout); }

static int put_overflow(FILE *stream, int character) {
  bool locked = lock(stream);
  int result = __overflow(stream, character);
  unlock(stream, locked);
  return result;
}

static int put_string(const char *text, FILE *stream) {
  bool locked = lock(stream);
  int result = fputs_unlocked(text, stream);
  unlock(stream, locked);
  return result;
}

static size_t put_bytes(const void *data, size_t size, size_t count, FILE *stream) {
  bool locked = lock(stream);
  size_t result = fwrite_unlocked(data, size, count, stream);
  unlock(stream, locked);
  return result;
}

/* Without a stream: of all that no other rank holds, for as long as it reads, say. */
static int flush_locked(FILE *stream) {
  if (stream == NULL && tm_process_self() != NULL) return tm_flush_free();
  int result = fflush(stream);
  if (result != 0 && stream == stdout) tm_output_flush_failed(errno);
  return result;
}

static int flush(FILE *stream) {
  if (stream == NULL) return flush_locked(stream);
  bool locked = lock(stream);
  int result = fflush_unlocked(stream);
  unlock(stream, locked);
  return result;
}

/* libc's takes away the buffers of all ranks' streams, with what they have read ahead from pipes.
 * The streams stay open there, too. */
static int close_all(void) { return tm_process_self() != NULL ? tm_flush_free() : fcloseall(); }

/* ---- reading */

static int get_character(FILE *stream) {
  bool locked = lock(stream);
  int result = fgetc_unlocked(stream);
  unlock(stream, locked);
  return result;
}

static int get_character_in(void) { return get_character(stdin); }

static char *get_string(char *text, int size, FILE *stream) {
  bool locked = lock(stream);
  char *result = fgets_unlocked(text, size, stream);
  unlock(stream, locked);
  return result;
}

static size_t get_bytes(void *data, size_t size, size_t count, FILE *stream) {
  bool locked = lock(stream);
  size_t result = fread_unlocked(data, size, count, stream);
  unlock(stream, locked);
  return result;
}

/* ---- buffers and locks */

/* A rank's buffer would be gone when the rank has ended. */
static int set_buffer(FILE *stream, char *buffer, int mode, size_t size) {
  if (!tm_streams_is_shared(stream)) return setvbuf(stream, buffer, mode, size);
  return tm_output_is_routed() && stream != stdin ? 0 : setvbuf(stream, NULL, mode, size);
}

static void set_buffer_of_size(FILE *stream, char *buffer, size_t size) {
  set_buffer(stream, buffer, buffer != NULL ? _IOFBF : _IONBF, size);
}

static void set_default_buffer(FILE *stream, char *buffer) {
  set_buffer_of_size(stream, buffer, BUFSIZ);
}

static void set_line_buffer(FILE *stream) { set_buffer(stream, NULL, _IOLBF, 0); }

static int set_locking(FILE *stream, int type) {
  return tm_streams_is_shared(stream) ? FSETLOCKING_INTERNAL : __fsetlocking(stream, type);
}

const struct tm_override tm_override_unlocked[] = {
    {"fputc_unlocked", (tm_any *)put_character},
    {"putc_unlocked", (tm_any *)put_character},
    {"putchar_unlocked", (tm_any *)put_character_out},
    {"__overflow", (tm_any *)put_overflow},
    {"fputs_unlocked", (tm_any *)put_string},
    {"fwrite_unlocked", (tm_any *)put_bytes},
    {"fflush", (tm_any *)flush_locked},
    {"fflush_unlocked", (tm_any *)flush},
    {"fcloseall", (tm_any *)close_all},
    {"fgetc_unlocked", (tm_any *)get_character},
    {"getc_unlocked", (tm_any *)get_character},
    {"getchar_unlocked", (tm_any *)get_character_in},
    {"fgets_unlocked", (tm_any *)get_string},
    {"fread_unlocked", (tm_any *)get_bytes},
    {"setvbuf", (tm_any *)set_buffer},
    {"setbuffer", (tm_any *)set_buffer_of_size},
    {"setbuf", (tm_any *)set_default_buffer},
    {"setlinebuf", (tm_any *)set_line_buffer},
    {"__fsetlocking", (tm_any *)set_locking},
    {NULL, NULL},
};
