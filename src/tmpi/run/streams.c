/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Standard streams and their descriptors. Ranks share them. A rank that closes one closes it for no
 * other. A rank that redirects stdout or stderr, by dup2() or freopen(), has a descriptor of its
 * own in the place of that: what it writes to the stream or to the number goes there (output.c).
 * So has a rank that closes a number from 0 to 2, and then makes a descriptor, which gets the
 * number (descriptors.c).
 *
 * stdin has one buffer for all, so a redirection is that of all ranks, and tmpirun reports it.
 * stdout and stderr follow a rank only where they are streams of ours, which are not buffered. They
 * are if the program looks as if it redirects them. A library that does so for another program ends
 * the job, before a byte goes to the wrong file.
 */
#include "tmpi/run/streams.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <mltp/mltp.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/atomic.h"
#include "tmpi/loader/program.h"
#include "tmpi/rank/rank.h"
#include "tmpi/run/output.h"
#include "tmpi/run/override.h"
#include "tmpi/run/owners.h"
#include "tmpi/run/process.h"
#include "tmpi/run/process_number.h"
#include "tmpi/run/python.h"

enum { NUMBERS = 3, SHARED = TM_OUTPUT_SHARED, CLOSED = TM_OUTPUT_CLOSED };

/* A rank's numbers from 0 to 2. Relaxed below: a descriptor's number is all there is. */
struct numbers {
  int fd[NUMBERS];       /* [atomic] a descriptor, SHARED or CLOSED */
  FILE *stream[NUMBERS]; /* [rank] of fopen(), which has that number, too. NULL: none */
};

static struct numbers *own; /* [rank] NULL: there is one rank */

static bool is_shared(void) { return tm_rank_number() >= 0 && tm_the_program->ranks > 1; }

static bool is_standard(int fd) { return (unsigned)fd <= STDERR_FILENO; }

static bool is_standard_stream(const FILE *stream) {
  return stream == stdin || stream == stdout || stream == stderr;
}

bool tm_streams_is_shared(const FILE *stream) { return is_standard_stream(stream) && is_shared(); }

/* ---- what ranks have of their own */

static bool asks_for_one(const struct tm_image *image, const char *const *names) {
  while (*names != NULL)
    if (tm_image_asks(image, *names++)) return true;
  return false;
}

/* The last two: it writes to a stream's buffer itself (unlocked.c). */
static bool redirects(const struct tm_image *image) {
  static const char *const names[] = {"dup2",       "dup3",        "freopen", "freopen64",
                                      "__overflow", "__woverflow", NULL};
  return asks_for_one(image, names);
}

/* A library's descriptors are hardly ever those of the streams. */
static bool closes_and_makes(const struct tm_image *program) {
  return tm_image_asks(program, "close") && asks_for_one(program, tm_descriptor_makers);
}

static bool reads_stdin(const struct tm_image *image) {
  static const char *const names[] = {
      "stdin", "scanf",  "__isoc99_scanf", "__isoc23_scanf",   "vscanf",   "getchar",
      "gets",  "wscanf", "getwchar",       "getchar_unlocked", "_ZSt3cin", NULL};
  return asks_for_one(image, names);
}

static int own_of(int rank, int fd) {
  /* relaxed: see above */
  return own != NULL && rank >= 0 && is_standard(fd) ? mt_load_relaxed(&own[rank].fd[fd]) : SHARED;
}

bool tm_streams_start(const struct tm_program *program) {
  if (program->ranks == 1) return true;
  own = malloc((size_t)program->ranks * sizeof *own);
  bool any = closes_and_makes(program->images[0]) || getenv(TM_PYTHON) != NULL;
  for (int i = 0; i < program->image_count; i++) any |= redirects(program->images[i]);
  if (own == NULL || !tm_owners_start(program->ranks) ||
      (any && !tm_output_route(program->ranks))) {
    fputs("tmpirun: no memory for the streams of ranks (fewer ranks)\n", stderr);
    return false;
  }
  for (int i = 0; i < program->ranks; i++)
    own[i] = (struct numbers){{SHARED, SHARED, SHARED}, {NULL, NULL, NULL}};
  tm_output_follow(own_of);
  return true;
}

/* The same, or the file of --output, which copies of the number and children of the rank have. */
static int target_of(int rank, int fd) {
  int found = own_of(rank, fd);
  bool written = fd == STDOUT_FILENO || fd == STDERR_FILENO;
  return found == SHARED && written ? tm_output_file(rank) : found;
}

/* No process has the last numbers: a call fails that is given one for a number that is closed. */
int tm_streams_meant(int fd) {
  int found = is_standard(fd) ? target_of(tm_rank_number(), fd) : SHARED;
  return found >= 0 ? found : found == CLOSED ? INT_MAX - fd : fd;
}

bool tm_streams_any(void) {
  int rank = own != NULL ? tm_rank_number() : -1;
  bool any = false;
  for (int fd = 0; fd < NUMBERS; fd++) any |= own_of(rank, fd) != SHARED;
  return any;
}

int tm_streams_number(int fd) {
  int rank = tm_rank_number();
  for (int i = 0; i < NUMBERS; i++)
    if (fd > STDERR_FILENO && own_of(rank, i) == fd) return i;
  return fd > INT_MAX - NUMBERS ? INT_MAX - fd : fd;
}

const char *tm_streams_path(const char *path, char room[TM_STREAMS_PATH]) {
  static const char *const names[NUMBERS] = {"/dev/stdin", "/dev/stdout", "/dev/stderr"};
  static const char *const folders[] = {"/dev/fd/", "/proc/self/fd/"};
  int found = -1;
  if (path == NULL || !tm_streams_any()) return path;
  for (int fd = 0; fd < NUMBERS; fd++)
    if (strcmp(path, names[fd]) == 0) found = fd;
  for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
    const char *at = path + strlen(folders[i]);
    if (strncmp(path, folders[i], strlen(folders[i])) == 0 && *at >= '0' && *at < '0' + NUMBERS &&
        at[1] == '\0')
      found = *at - '0';
  }
  if (found < 0) return path;
  snprintf(room, TM_STREAMS_PATH, "/proc/self/fd/%d", tm_streams_meant(found));
  return room;
}

void tm_streams_expose(int rank) {
  for (int fd = 0; fd < NUMBERS; fd++) {
    int found = target_of(rank, fd);
    if (found >= 0) dup2(found, fd);
    if (found == CLOSED) close(fd);
  }
}

int tm_streams_spawn(posix_spawn_file_actions_t *actions) {
  int error = 0, rank = tm_rank_number();
  for (int fd = 0; fd < NUMBERS && error == 0; fd++) {
    int found = target_of(rank, fd);
    if (found >= 0) error = posix_spawn_file_actions_adddup2(actions, found, fd);
    if (found == CLOSED) error = posix_spawn_file_actions_addclose(actions, fd);
  }
  return error;
}

/* @return what was there before. */
static int put(int rank, int fd, int what) {
  int old = own_of(rank, fd);
  while (!mt_cas_relaxed(&own[rank].fd[fd], &old, what)) continue; /* relaxed: see above */
  return old;
}

static int close_own(int fd) {
  tm_owner_forget(fd);
  return close(fd);
}

void tm_streams_end(int rank) {
  for (int fd = 0; fd < NUMBERS && own != NULL; fd++) {
    int old = own_of(rank, fd) != SHARED ? put(rank, fd, SHARED) : SHARED;
    if (old >= 0) close_own(old);
    own[rank].stream[fd] = NULL;
  }
  tm_owners_end(rank);
}

/* Ends the job, if what the rank prints would not follow its descriptor. */
static void follow_or_end(int fd, const char *call) {
  if (fd == STDIN_FILENO || tm_output_is_routed()) return;
  fprintf(stderr,
          "tmpirun: rank %d: %s() in a library gives it a descriptor %d of its own, but the stream "
          "%s is that of all ranks (start the program with --label or --output, which give each "
          "rank streams)\n",
          tm_rank_number(), call, fd, fd == STDOUT_FILENO ? "stdout" : "stderr");
  tm_job_abort(1);
}

static bool uses_stdin(void) {
  bool any = false;
  for (int i = 0; i < tm_the_program->image_count; i++)
    any |= reads_stdin(tm_the_program->images[i]);
  return any;
}

static void warn_redirected(const char *call) {
  static uint32_t warned;
  if (mt_or_relaxed(&warned, 1) != 0) return; /* relaxed: a mark alone */
  fprintf(stderr,
          "tmpirun: rank %d redirected its input by %s(): all ranks share it (open the file)\n",
          tm_rank_number(), call);
}

static void warn_given(const char *call) {
  static uint32_t warned;
  if (!uses_stdin() || mt_or_relaxed(&warned, 1) != 0) return; /* relaxed: a mark alone */
  fprintf(stderr,
          "tmpirun: rank %d has a descriptor 0 of its own by %s(): the stream stdin stays that of "
          "all ranks (open the file by fopen())\n",
          tm_rank_number(), call);
}

/* @return the number, from least on, that a descriptor of the calling rank gets; -1: none. */
static int take_closed(int least, int what) {
  int rank = tm_rank_number();
  for (int fd = least; fd < NUMBERS; fd++) {
    int closed = CLOSED;
    /* relaxed: see above */
    if (own_of(rank, fd) == CLOSED && mt_cas_relaxed(&own[rank].fd[fd], &closed, what)) return fd;
  }
  return -1;
}

int tm_streams_give(int fd, int least, const char *call) {
  tm_owner_note(fd);
  int number = fd > STDERR_FILENO && own != NULL ? take_closed(least > 0 ? least : 0, fd) : -1;
  if (number < 0) return fd;
  follow_or_end(number, call);
  fcntl(fd, F_SETFD, FD_CLOEXEC); /* a child has the number alone */
  if (number == STDIN_FILENO) warn_given(call);
  return number;
}

/* @return a copy of a descriptor that a child does not get; -1, with errno. */
static int copy_of(int fd) { return tm_owner_note(fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)); }

/* What a rank writes to stdout goes to the file, as the file has that number. */
static FILE *give_stream(FILE *stream) {
  int rank = tm_rank_number();
  if (stream != NULL) tm_owner_note(fileno(stream));
  if (stream == NULL || !tm_output_is_routed() || !tm_streams_any()) return stream;
  int copy = copy_of(fileno(stream));
  int number = copy >= 0 ? take_closed(STDOUT_FILENO, copy) : -1;
  if (number >= 0)
    own[rank].stream[number] = stream;
  else if (copy >= 0)
    close_own(copy);
  return stream;
}

/* The rank's descriptor `to` is from now on a copy of another. @return to, or -1. */
static int redirect(int from, int to, const char *call) {
  int copy = copy_of(tm_streams_meant(from));
  if (copy < 0) return -1;
  follow_or_end(to, call);
  int old = put(tm_rank_number(), to, copy);
  if (old >= 0) close_own(old);
  return to;
}

/* @return whether the rank alone redirects. */
static bool is_own(int to) {
  return own != NULL && is_shared() && is_standard(to) && (to != STDIN_FILENO || !uses_stdin());
}

/* ---- calls */

static int close_number(int fd) {
  int old = put(tm_rank_number(), fd, CLOSED);
  if (old >= 0) return close_own(old);
  if (old == SHARED) return 0;
  errno = EBADF;
  return -1;
}

static int close_rank(int fd) {
  if (own != NULL && is_standard(fd) && is_shared()) return close_number(fd);
  if (tm_owner_other(fd) == TM_OWNER_NONE) return close_own(fd);
  errno = EBADF;
  return -1;
}

/* Those of the rank. What tmpirun was started with stays, for the other ranks. */
static void close_several(unsigned first, unsigned last) {
  for (int fd = 0; fd < NUMBERS; fd++)
    if ((unsigned)fd >= first && (unsigned)fd <= last) close_number(fd);
  tm_owners_close_own(first, last, false);
}

static void closefrom_rank(int first) {
  if (own == NULL || !is_shared())
    closefrom(first);
  else
    close_several(first < 0 ? 0 : (unsigned)first, UINT_MAX);
}

/* A VP with descriptors of its own would give them to other ranks. */
static int close_range_rank(unsigned first, unsigned last, int flags) {
  if (own == NULL || !is_shared()) return close_range(first, last, flags);
  flags &= ~(int)CLOSE_RANGE_UNSHARE;
  if (first > last || (flags & ~(int)CLOSE_RANGE_CLOEXEC) != 0)
    return close_range(first, last, flags); /* it fails */
  if (flags == 0)
    close_several(first, last);
  else
    tm_owners_close_own(first, last, true);
  return 0;
}

/* It closes the descriptor that fdopendir() was given. */
static int closedir_rank(DIR *folder) {
  if (folder == NULL) {
    errno = EINVAL;
    return -1;
  }
  tm_owner_forget(dirfd(folder));
  return closedir(folder);
}

static int fclose_rank(FILE *stream) {
  struct numbers *numbers = own != NULL && is_shared() ? &own[tm_rank_number()] : NULL;
  if (numbers == NULL || !is_standard_stream(stream)) {
    for (int fd = STDOUT_FILENO; fd < NUMBERS && numbers != NULL; fd++)
      if (numbers->stream[fd] == stream) {
        numbers->stream[fd] = NULL;
        close_number(fd);
      }
    int fd = fileno(stream);
    tm_owner_forget(fd);
    if (fd < 0) tm_owner_forget_stream(stream);
    return fclose(stream);
  }
  int result = fflush(stream == stdin ? stdout : stream);
  if (stream != stdin && tm_output_is_routed())
    close_number(stream == stdout ? STDOUT_FILENO : STDERR_FILENO);
  return result;
}

static int dup_rank(int fd) {
  return tm_streams_give(fcntl(tm_streams_meant(fd), F_DUPFD, 0), 0, "dup");
}

static void report_taken(int to, int other, const char *call) {
  char who[24] = "tmpirun";
  if (other != TM_OWNER_TMPIRUN) snprintf(who, sizeof who, "rank %d", other);
  fprintf(stderr,
          "tmpirun: rank %d: %s() onto descriptor %d, which %s has: all ranks share their "
          "descriptors, so the call fails (let dup() choose the number)\n",
          tm_rank_number(), call, to, who);
}

/* A number that is free is taken by fcntl(), since another rank may get it meanwhile.
 * @return as dup3(); -1 with *other: the number is not the rank's. */
static int try_copy(int from, int to, int flags, int *other) {
  *other = tm_owner_other(to);
  if (*other != TM_OWNER_NONE) return -1;
  if (to < 0 || (flags & ~O_CLOEXEC) != 0 || fcntl(to, F_GETFD) >= 0) return dup3(from, to, flags);
  int made = fcntl(from, flags != 0 ? F_DUPFD_CLOEXEC : F_DUPFD, to);
  return made >= 0 || errno != EINVAL ? made : dup3(from, to, flags); /* beyond the limit */
}

static int copy_to(int from, int to, int flags, const char *call) {
  static mltp_lock_t lock = MLTP_LOCK_INIT; /* of two ranks that want one number */
  int made, other;
  mltp_lock(&lock);
  while ((made = try_copy(from, to, flags, &other)) >= 0 && made != to) close(made);
  int error = other != TM_OWNER_NONE ? EBUSY : errno;
  tm_owner_note(made);
  mltp_unlock(&lock);
  if (other != TM_OWNER_NONE) report_taken(to, other, call);
  if (made < 0) tm_set_errno(error);
  return made;
}

static int dup2_rank(int from, int to) {
  if (from == to) return fcntl(tm_streams_meant(to), F_GETFD) < 0 ? -1 : to;
  if (is_own(to)) return redirect(from, to, "dup2");
  if (to == STDIN_FILENO && is_shared()) warn_redirected("dup2");
  return is_shared() ? copy_to(tm_streams_meant(from), to, 0, "dup2")
                     : dup2(tm_streams_meant(from), to);
}

static int dup3_rank(int from, int to, int flags) {
  if (from == to) return dup3(to, to, flags); /* it fails */
  if (is_own(to)) return redirect(from, to, "dup3");
  if (to == STDIN_FILENO && is_shared()) warn_redirected("dup3");
  return is_shared() ? copy_to(tm_streams_meant(from), to, flags, "dup3")
                     : dup3(tm_streams_meant(from), to, flags);
}

static int open_flags(const char *mode) {
  int kind = mode[0] == 'r' ? 0 : mode[0] == 'w' ? O_CREAT | O_TRUNC : O_CREAT | O_APPEND;
  return kind | (strchr(mode, '+') != NULL ? O_RDWR : mode[0] == 'r' ? O_RDONLY : O_WRONLY);
}

static FILE *freopen_rank(const char *path, const char *mode, FILE *stream) {
  char room[TM_STREAMS_PATH];
  int to = stream == stdout ? STDOUT_FILENO : stream == stderr ? STDERR_FILENO : -1;
  if (!is_own(to)) {
    if (stream == stdin && is_shared()) warn_redirected("freopen");
    return freopen(tm_streams_path(path, room), mode, stream);
  }
  if (path == NULL) return stream;
  tm_number_in_name(path, open_flags(mode));
  int fd = open(tm_streams_path(path, room), open_flags(mode), 0666);
  if (fd < 0) return NULL;
  int result = redirect(fd, to, "freopen");
  close(fd);
  return result == to ? stream : NULL;
}

static FILE *fopen_rank(const char *path, const char *mode) {
  char room[TM_STREAMS_PATH];
  tm_number_in_name(path, open_flags(mode));
  return give_stream(fopen(tm_streams_path(path, room), mode));
}

static FILE *tmpfile_rank(void) { return give_stream(tmpfile()); }

/* ---- streams without a descriptor; fflush(NULL) finds none of open_memstream() */

static FILE *note_stream(FILE *stream) {
  if (stream != NULL) tm_owner_note_stream(stream);
  return stream;
}

static FILE *fmemopen_rank(void *text, size_t size, const char *mode) {
  return note_stream(fmemopen(text, size, mode));
}

static FILE *fopencookie_rank(void *cookie, const char *mode, cookie_io_functions_t functions) {
  return note_stream(fopencookie(cookie, mode, functions));
}

/* ---- numbers of streams */

/* fclose() of the stream closes the descriptor: never that of all ranks. */
static FILE *fdopen_rank(int fd, const char *mode) {
  if (own == NULL || !is_standard(fd) || !is_shared()) return fdopen(fd, mode);
  int copy = copy_of(tm_streams_meant(fd));
  FILE *stream = copy >= 0 ? fdopen(copy, mode) : NULL;
  if (stream == NULL && copy >= 0) close_own(copy);
  return stream;
}

/* Streams of output.c have no descriptor of their own. */
static int fileno_rank(FILE *stream) {
  return stream == stdout ? STDOUT_FILENO : stream == stderr ? STDERR_FILENO : fileno(stream);
}

static bool is_routed(int fd) {
  return (fd == STDOUT_FILENO || fd == STDERR_FILENO) && tm_output_is_routed();
}

/* Past the streams; the lock is theirs, so that a line stays whole. What the kernel refuses never
 * comes there. */
static ssize_t write_rank(int fd, const void *text, size_t length) {
  if (!is_routed(fd) || (text == NULL && length > 0))
    return write(tm_streams_meant(fd), text, length);
  return tm_output_write(fd, text, length);
}

static ssize_t writev_rank(int fd, const struct iovec *parts, int count) {
  ssize_t sum = 0;
  if (!is_routed(fd) || parts == NULL || count < 0 || count > IOV_MAX)
    return writev(tm_streams_meant(fd), parts, count);
  for (int i = 0; i < count; i++) {
    ssize_t written = write_rank(fd, parts[i].iov_base, parts[i].iov_len);
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
    {"closefrom", (tm_any *)closefrom_rank},
    {"close_range", (tm_any *)close_range_rank},
    {"fclose", (tm_any *)fclose_rank},
    {"closedir", (tm_any *)closedir_rank},
    {"dup", (tm_any *)dup_rank},
    {"dup2", (tm_any *)dup2_rank},
    {"dup3", (tm_any *)dup3_rank},
    {"freopen", (tm_any *)freopen_rank},
    {"freopen64", (tm_any *)freopen_rank},
    {"fileno", (tm_any *)fileno_rank},
    {"fileno_unlocked", (tm_any *)fileno_rank},
    {"fopen", (tm_any *)fopen_rank},
    {"fopen64", (tm_any *)fopen_rank},
    {"tmpfile", (tm_any *)tmpfile_rank},
    {"tmpfile64", (tm_any *)tmpfile_rank},
    {"fmemopen", (tm_any *)fmemopen_rank},
    {"fopencookie", (tm_any *)fopencookie_rank},
    {"fdopen", (tm_any *)fdopen_rank},
    {"write", (tm_any *)write_rank},
    {"writev", (tm_any *)writev_rank},
    {"vdprintf", (tm_any *)vdprintf_rank},
    {"dprintf", (tm_any *)dprintf_rank},
    {"__vdprintf_chk", (tm_any *)vdprintf_checked},
    {"__dprintf_chk", (tm_any *)dprintf_checked},
    {NULL, NULL},
};
