/* SPDX-License-Identifier: Apache-2.0 */
/* See output.h. A stream's lock is held whenever write_stream() runs, so one rank writes at a time.
 */
#include "tmpi/run/output.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/atomic.h"
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
static const char *file_prefix;       /* [const] of --output */
static int size, width;
static bool routed; /* stdout and stderr are streams of ours */

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

static uint32_t refused; /* [atomic] the first errno value of a write; relaxed: for the end */
static uint32_t failed;  /* [atomic] likewise, of a flush of stdout */

/* @return whether all was written. A reader that has gone ends the job, as without us, unless the
 * program ignores that signal. */
static bool write_out(int fd, const char *text, size_t length) {
  uint32_t none = 0;
  int error = os_write(fd, text, length);
  if (error == 0) return true;
  mt_cas_relaxed(&refused, &none, (uint32_t)error); /* relaxed: the word is all there is */
  if (error == EPIPE) raise(SIGPIPE);
  errno = error;
  return false;
}

static bool put(struct line *line, int stream, int rank, const char *text, size_t length) {
  if (!reserve(line, length + LABEL_MAX)) { /* no memory: better torn than lost */
    bool written = write_out(stream + 1, line->text, line->used);
    line->used = 0;
    return write_out(stream + 1, text, length) && written;
  }
  if (line->used == 0) line->used = (size_t)sprintf(line->text, "[%*d] ", width, rank);
  memcpy(line->text + line->used, text, length);
  line->used += length;
  return true;
}

static bool write_lines(int stream, int rank, const char *text, size_t length) {
  struct line *line = &lines[rank][stream];
  bool written = true;
  while (length > 0) {
    const char *end = memchr(text, '\n', length);
    size_t piece = end != NULL ? (size_t)(end - text) + 1 : length;
    written = put(line, stream, rank, text, piece) && written;
    if (end != NULL) {
      written = write_out(stream + 1, line->text, line->used) && written;
      line->used = 0;
    }
    text += piece;
    length -= piece;
  }
  return written;
}

static int (*redirected)(int rank, int fd); /* [const] NULL: no rank redirects */

/* @return what the rank has in the place of the stream's descriptor. */
static int redirection(int rank, int stream) {
  return redirected != NULL ? redirected(rank, stream + 1) : TM_OUTPUT_SHARED;
}

static bool write_of(int rank, int stream, const char *text, size_t length) {
  int own = redirection(rank, stream);
  if (own >= 0) return write_out(own, text, length);
  if (rank < 0 || (files == NULL && lines == NULL)) return write_out(stream + 1, text, length);
  return files != NULL ? write_out(files[rank], text, length)
                       : write_lines(stream, rank, text, length);
}

/* ---- the writing rank */

/* What is printed after close(1) is lost without a word, as it stays in a process's buffer. An
 * error would be one of all ranks. */
static ssize_t write_stream(void *cookie, const char *text, size_t length) {
  if (redirection(tm_rank_number(), cookie != NULL) == TM_OUTPUT_CLOSED) return (ssize_t)length;
  return write_of(tm_rank_number(), cookie != NULL, text, length) ? (ssize_t)length : -1;
}

ssize_t tm_output_write(int fd, const void *text, size_t length) {
  FILE *stream = fd == STDOUT_FILENO ? stdout : stderr;
  if (redirection(tm_rank_number(), fd - 1) == TM_OUTPUT_CLOSED) {
    errno = EBADF;
    return -1;
  }
  flockfile(stream);
  bool written = write_of(tm_rank_number(), fd - 1, text, length);
  int error = errno;
  funlockfile(stream);
  errno = error;
  return written ? (ssize_t)length : -1;
}

bool tm_output_is_routed(void) { return routed; }

void tm_output_follow(int (*own)(int rank, int fd)) { redirected = own; }

/* ---- start and end */

static bool no_memory(void) {
  fputs("tmpirun: no memory to tell the output of ranks apart (fewer ranks)\n", stderr);
  return false;
}

/* @return 0, or why the rank's file cannot be written. path: room for its name. */
static int open_file(int rank, char path[PATH_MAX]) {
  snprintf(path, PATH_MAX, "%s.%d", file_prefix, rank);
  return os_file_make(path, &files[rank]);
}

static bool open_files(const char *prefix) {
  char path[PATH_MAX];
  file_prefix = prefix;
  files = calloc((size_t)size, sizeof *files);
  if (files == NULL) return no_memory();
  os_raise_file_limit();
  for (int i = 0; i < size; i++) {
    int error = open_file(i, path);
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

bool tm_output_route(int ranks) {
  if (routed) return true;
  size = ranks;
  FILE *out = open_stream(NULL), *error = open_stream(&size /* anything */);
  if (out == NULL || error == NULL) return no_memory();
  fflush(stdout);
  stdout = out;
  stderr = error;
  routed = true;
  return true;
}

bool tm_output_start(int ranks, bool label, const char *prefix) {
  if (!label && prefix == NULL) return true;
  size = ranks;
  width = snprintf(NULL, 0, "%d", ranks - 1);
  if (prefix != NULL && !open_files(prefix)) return false;
  if (prefix == NULL) lines = calloc((size_t)size, sizeof *lines);
  return (prefix != NULL || lines != NULL) ? tm_output_route(ranks) : no_memory();
}

bool tm_output_reserve(int ranks) {
  void *more_lines = lines != NULL ? calloc((size_t)ranks, sizeof *lines) : NULL;
  int *more_files = files != NULL ? calloc((size_t)ranks, sizeof *files) : NULL;
  if ((lines != NULL && more_lines == NULL) || (files != NULL && more_files == NULL)) {
    free(more_lines);
    free(more_files);
    return no_memory();
  }
  if (files != NULL) memcpy(more_files, files, (size_t)size * sizeof *files);
  free(lines); /* no rank has written yet */
  free(files);
  lines = more_lines;
  files = more_files;
  size = ranks;
  return true;
}

int tm_output_add(int rank) {
  char path[PATH_MAX];
  return files != NULL ? open_file(rank, path) : 0;
}

int tm_output_file(int rank) { return files != NULL && rank >= 0 ? files[rank] : -1; }

void tm_output_end(int rank) {
  for (int stream = 0; lines != NULL && stream < STREAMS; stream++) {
    struct line *line = &lines[rank][stream];
    if (line->used == 0) continue;
    line->text[line->used++] = '\n'; /* there is room: see put() */
    write_out(stream + 1, line->text, line->used);
    line->used = 0;
  }
}

void tm_output_end_all(void) {
  for (int i = 0; lines != NULL && i < size; i++) tm_output_end(i);
}

void tm_output_flush_failed(int error) {
  uint32_t none = 0;
  mt_cas_relaxed(&failed, &none, (uint32_t)error); /* relaxed: the word is all there is */
}

/* A program that has cleared the error of stdout knows of it. */
bool tm_output_is_complete(void) {
  int why = (int)mt_load_relaxed(&failed); /* relaxed: as below */
  int at_end = fflush(stdout) != 0 ? errno : ferror(stdout) == 0 ? 0 : why != 0 ? why : EIO;
  int error = (int)mt_load_relaxed(&refused); /* relaxed: the ranks have ended */
  if (error == 0) error = at_end;
  if (error != 0)
    fprintf(stderr, "tmpirun: output of ranks was lost: %s (make room, or another file)\n",
            strerror(error));
  return error == 0;
}
