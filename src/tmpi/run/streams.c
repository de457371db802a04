/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Standard streams and their descriptors. Ranks share them. A rank that closes one closes it for no
 * other. A rank that redirects stdout or stderr, by dup2() or freopen(), has a descriptor of its
 * own in the place of that: what it writes to the stream or to the number goes there (output.c).
 * stdin has one buffer for all, so a redirection is that of all ranks, and tmpirun reports it.
 *
 * Left out: a rank that closes a descriptor to get its number from the next open().
 */
#include "tmpi/run/streams.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tmpi/loader/program.h"
#include "tmpi/rank/rank.h"
#include "tmpi/run/output.h"
#include "tmpi/run/override.h"
#include "tmpi/run/process.h"

enum { STREAMS = 2 };

static int (*own)[STREAMS]; /* [rank] of each, its descriptors; -1: none. NULL: no rank redirects */

static bool is_shared(void) { return tm_rank_number() >= 0 && tm_the_program->ranks > 1; }

static bool is_standard(int fd) { return fd >= 0 && fd <= STDERR_FILENO; }

static bool is_standard_stream(const FILE *stream) {
  return stream == stdin || stream == stdout || stream == stderr;
}

bool tm_streams_is_shared(const FILE *stream) { return is_standard_stream(stream) && is_shared(); }

/* ---- what ranks have of their own */

/* The last two: it writes to a stream's buffer itself (unlocked.c). */
static bool asks_for_any(const struct tm_image *image) {
  static const char *const names[] = {"dup2",      "dup3",       "freopen",
                                      "freopen64", "__overflow", "__woverflow"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    if (tm_image_asks(image, names[i])) return true;
  return false;
}

/* @return what a rank has in the place of descriptor 1 or 2; -1: nothing. */
static int own_of(int rank, int fd) {
  bool redirects = own != NULL && rank >= 0 && (fd == STDOUT_FILENO || fd == STDERR_FILENO);
  return redirects ? own[rank][fd - 1] : -1;
}

bool tm_streams_start(const struct tm_program *program) {
  bool any = false;
  for (int i = 0; i < program->image_count; i++) any |= asks_for_any(program->images[i]);
  if (!any || program->ranks == 1) return true;
  own = malloc((size_t)program->ranks * sizeof *own);
  if (own == NULL || !tm_output_route(program->ranks)) {
    fputs("tmpirun: no memory for the streams of ranks (fewer ranks)\n", stderr);
    return false;
  }
  memset(own, -1, (size_t)program->ranks * sizeof *own);
  tm_output_follow(own_of);
  return true;
}

/* @return the descriptor that the rank means. */
static int meant(int fd) {
  int redirected = own_of(tm_rank_number(), fd);
  return redirected >= 0 ? redirected : fd;
}

void tm_streams_expose(int rank) {
  for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++)
    if (own_of(rank, fd) >= 0) dup2(own_of(rank, fd), fd);
}

void tm_streams_end(int rank) {
  for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++) {
    int old = own_of(rank, fd);
    if (old < 0) continue;
    own[rank][fd - 1] = -1;
    close(old);
  }
}

/* The rank's descriptor `to` is from now on a copy of another. @return to, or -1. */
static int redirect(int from, int to) {
  int rank = tm_rank_number(), copy = fcntl(meant(from), F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (copy < 0) return -1;
  int old = own[rank][to - 1];
  own[rank][to - 1] = copy;
  if (old >= 0) close(old);
  return to;
}

static bool redirects(int to) {
  return own != NULL && is_shared() && (to == STDOUT_FILENO || to == STDERR_FILENO);
}

static void warn_redirected(const char *call) {
  static bool warned; /* a message twice would do no harm */
  if (warned) return;
  warned = true;
  fprintf(stderr,
          "tmpirun: rank %d redirected its input by %s(): all ranks share it (open the file)\n",
          tm_rank_number(), call);
}

/* ---- calls */

static int close_rank(int fd) { return is_standard(fd) && is_shared() ? 0 : close(fd); }

static int fclose_rank(FILE *stream) {
  bool shared = is_standard_stream(stream) && is_shared();
  return shared ? fflush(stream == stdin ? stdout : stream) : fclose(stream);
}

static int dup_rank(int fd) { return dup(meant(fd)); }

static int dup2_rank(int from, int to) {
  if (redirects(to)) return from == to ? to : redirect(from, to);
  if (to == STDIN_FILENO && from != to && is_shared()) warn_redirected("dup2");
  return dup2(meant(from), to);
}

static int dup3_rank(int from, int to, int flags) {
  if (redirects(to) && from != to) return redirect(from, to);
  if (to == STDIN_FILENO && is_shared()) warn_redirected("dup3");
  return dup3(meant(from), to, flags);
}

static int open_flags(const char *mode) {
  int kind = mode[0] == 'r' ? 0 : mode[0] == 'w' ? O_CREAT | O_TRUNC : O_CREAT | O_APPEND;
  return kind | (strchr(mode, '+') != NULL ? O_RDWR : mode[0] == 'r' ? O_RDONLY : O_WRONLY);
}

static FILE *freopen_rank(const char *path, const char *mode, FILE *stream) {
  int to = stream == stdout ? STDOUT_FILENO : stream == stderr ? STDERR_FILENO : -1;
  if (!redirects(to)) {
    if (stream == stdin && is_shared()) warn_redirected("freopen");
    return freopen(path, mode, stream);
  }
  if (path == NULL) return stream;
  int fd = open(path, open_flags(mode), 0666);
  if (fd < 0) return NULL;
  int result = redirect(fd, to);
  close(fd);
  return result == to ? stream : NULL;
}

/* Streams of output.c have no descriptor of their own. */
static int fileno_rank(FILE *stream) {
  return stream == stdout ? STDOUT_FILENO : stream == stderr ? STDERR_FILENO : fileno(stream);
}

static int isatty_rank(int fd) { return isatty(meant(fd)); }

static int fsync_rank(int fd) { return fsync(meant(fd)); }

static off_t lseek_rank(int fd, off_t offset, int whence) {
  return lseek(meant(fd), offset, whence);
}

static int ftruncate_rank(int fd, off_t length) { return ftruncate(meant(fd), length); }

/* Past the streams; the lock is theirs, so that a line stays whole. */
static ssize_t write_rank(int fd, const void *text, size_t length) {
  if ((fd != STDOUT_FILENO && fd != STDERR_FILENO) || !tm_output_is_routed())
    return write(fd, text, length);
  return tm_output_write(fd, text, length);
}

static ssize_t writev_rank(int fd, const struct iovec *parts, int count) {
  ssize_t sum = 0;
  if ((fd != STDOUT_FILENO && fd != STDERR_FILENO) || !tm_output_is_routed())
    return writev(fd, parts, count);
  for (int i = 0; i < count; i++) {
    ssize_t written = tm_output_write(fd, parts[i].iov_base, parts[i].iov_len);
    if (written < 0) return sum > 0 ? sum : -1;
    sum += written;
  }
  return sum;
}

static int vdprintf_rank(int fd, const char *format, va_list arguments) {
  char *text = NULL;
  int length = vasprintf(&text, format, arguments);
  if (length < 0) return -1;
  ssize_t written = write_rank(fd, text, (size_t)length);
  free(text);
  return written < 0 ? -1 : length;
}

static int dprintf_rank(int fd, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int length = vdprintf_rank(fd, format, arguments);
  va_end(arguments);
  return length;
}

/* The forms of _FORTIFY_SOURCE. */
static int vdprintf_checked(int fd, int flag, const char *format, va_list arguments) {
  (void)flag;
  return vdprintf_rank(fd, format, arguments);
}

static int dprintf_checked(int fd, int flag, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int length = vdprintf_checked(fd, flag, format, arguments);
  va_end(arguments);
  return length;
}

const struct tm_override tm_override_streams[] = {
    {"close", (tm_any *)close_rank},
    {"fclose", (tm_any *)fclose_rank},
    {"dup", (tm_any *)dup_rank},
    {"dup2", (tm_any *)dup2_rank},
    {"dup3", (tm_any *)dup3_rank},
    {"freopen", (tm_any *)freopen_rank},
    {"freopen64", (tm_any *)freopen_rank},
    {"fileno", (tm_any *)fileno_rank},
    {"fileno_unlocked", (tm_any *)fileno_rank},
    {"isatty", (tm_any *)isatty_rank},
    {"fsync", (tm_any *)fsync_rank},
    {"lseek", (tm_any *)lseek_rank},
    {"lseek64", (tm_any *)lseek_rank},
    {"ftruncate", (tm_any *)ftruncate_rank},
    {"ftruncate64", (tm_any *)ftruncate_rank},
    {"write", (tm_any *)write_rank},
    {"writev", (tm_any *)writev_rank},
    {"vdprintf", (tm_any *)vdprintf_rank},
    {"dprintf", (tm_any *)dprintf_rank},
    {"__vdprintf_chk", (tm_any *)vdprintf_checked},
    {"__dprintf_chk", (tm_any *)dprintf_checked},
    {NULL, NULL},
};
