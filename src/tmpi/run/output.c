/* SPDX-License-Identifier: Apache-2.0 */
/* See output.h. A stream's lock is held whenever write_stream() runs, so one rank writes at a time.
 */
#include "tmpi/run/output.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "os/map.h"
#include "os/os.h"
#include "tmpi/rank/rank.h"

enum { STREAMS = 2, LABEL_MAX = 24 };

/* A line that is not ended, behind its label. */
struct line {
  char *text;
  size_t used, room;
};

static struct line (*lines)[STREAMS]; /* of each rank; NULL: no labels */
static int *files;                    /* of each rank; NULL: none */
static int size, width;

/* ---- lines */

static bool reserve(struct line *line, size_t more) {
  if (line->used + more <= line->room) return true;
  size_t room = 2 * line->room + more + LABEL_MAX;
  char *text = realloc(line->text, room);
  if (text == NULL) return false;
  line->text = text;
  line->room = room;
  return true;
}

static void put(struct line *line, int stream, int rank, const char *text, size_t length) {
  if (!reserve(line, length + LABEL_MAX)) { /* no memory: better torn than lost */
    os_write(stream + 1, line->text, line->used);
    os_write(stream + 1, text, length);
    line->used = 0;
    return;
  }
  if (line->used == 0) line->used = (size_t)sprintf(line->text, "[%*d] ", width, rank);
  memcpy(line->text + line->used, text, length);
  line->used += length;
}

static void write_lines(int stream, int rank, const char *text, size_t length) {
  struct line *line = &lines[rank][stream];
  while (length > 0) {
    const char *end = memchr(text, '\n', length);
    size_t piece = end != NULL ? (size_t)(end - text) + 1 : length;
    put(line, stream, rank, text, piece);
    if (end != NULL) {
      os_write(stream + 1, line->text, line->used);
      line->used = 0;
    }
    text += piece;
    length -= piece;
  }
}

static void write_of(int rank, int stream, const char *text, size_t length) {
  if (rank < 0)
    os_write(stream + 1, text, length);
  else if (files != NULL)
    os_write(files[rank], text, length);
  else
    write_lines(stream, rank, text, length);
}

/* ---- the writing rank */

static ssize_t write_stream(void *cookie, const char *text, size_t length) {
  write_of(tm_rank_number(), cookie != NULL, text, length);
  return (ssize_t)length;
}

/* Past the streams; the lock is theirs, so that a line stays whole. */
static ssize_t write_call(int fd, const void *text, size_t length) {
  if (fd != STDOUT_FILENO && fd != STDERR_FILENO) return write(fd, text, length);
  FILE *stream = fd == STDOUT_FILENO ? stdout : stderr;
  flockfile(stream);
  write_of(tm_rank_number(), fd - 1, text, length);
  funlockfile(stream);
  return (ssize_t)length;
}

const void *tm_output_override(const char *name) {
  bool ours = (lines != NULL || files != NULL) && strcmp(name, "write") == 0;
  return ours ? (const void *)(uintptr_t)write_call : NULL;
}

/* ---- start and end */

static bool no_memory(void) {
  fputs("tmpirun: no memory to tell the output of ranks apart (fewer ranks)\n", stderr);
  return false;
}

static bool open_files(const char *prefix) {
  char path[PATH_MAX];
  files = calloc((size_t)size, sizeof *files);
  if (files == NULL) return no_memory();
  os_raise_file_limit();
  for (int i = 0; i < size; i++) {
    snprintf(path, sizeof path, "%s.%d", prefix, i);
    int error = os_file_make(path, &files[i]);
    if (error == 0) continue;
    fprintf(stderr, "tmpirun: cannot write '%s': %s (%s)\n", path, strerror(error),
            error == EMFILE ? "fewer ranks, or a higher ulimit -n" : "another --output");
    return false;
  }
  return true;
}

static FILE *open_stream(void *cookie) {
  cookie_io_functions_t functions = {.write = write_stream};
  FILE *stream = fopencookie(cookie, "w", functions);
  if (stream != NULL) setvbuf(stream, NULL, _IONBF, 0);
  return stream;
}

bool tm_output_start(int ranks, bool label, const char *prefix) {
  if (!label && prefix == NULL) return true;
  size = ranks;
  width = snprintf(NULL, 0, "%d", ranks - 1);
  if (prefix != NULL && !open_files(prefix)) return false;
  if (prefix == NULL) lines = calloc((size_t)size, sizeof *lines);
  FILE *out = open_stream(NULL), *error = open_stream(&size /* anything */);
  if (out == NULL || error == NULL || (prefix == NULL && lines == NULL)) return no_memory();
  stdout = out;
  stderr = error;
  return true;
}

void tm_output_end(int rank) {
  for (int stream = 0; lines != NULL && stream < STREAMS; stream++) {
    struct line *line = &lines[rank][stream];
    if (line->used == 0) continue;
    line->text[line->used++] = '\n'; /* there is room: see put() */
    os_write(stream + 1, line->text, line->used);
    line->used = 0;
  }
}

void tm_output_end_all(void) {
  for (int i = 0; lines != NULL && i < size; i++) tm_output_end(i);
}
