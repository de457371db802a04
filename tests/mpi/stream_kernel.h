/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file stream_kernel.h
 * Descriptors and what is around src/tmpi/run/streams.c, for step tests of that file: a table of
 * descriptors, each with a letter for its file, streams of libc's, and the owners of descriptors.
 */
#ifndef TESTS_MPI_STREAM_KERNEL_H
#define TESTS_MPI_STREAM_KERNEL_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <mltp/mltp.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

#include "traced_calls.h"

#include "override_rows.h"
#include "tmpi/loader/program.h"
#include "tmpi/rank/rank.h"
#include "tmpi/run/output.h"
#include "tmpi/run/owners.h"
#include "tmpi/run/process.h"
#include "tmpi/run/process_number.h"
#include "tmpi/run/streams.h"

enum { RANKS = 3, FDS = 10, STREAMS = 3, OTHERS = 2, NO_OWNER = '-' };

static inline tm_any *row(const char *name) { return override_row(tm_override_streams, name); }

#define CALL(name) ((__typeof__(name) *)row(#name))

/* ---- the program */

static struct tm_program program;
static struct tm_image images[2], *image_list[] = {&images[0], &images[1]};
static const char *asks[2][2]; /* what an image asks others for */
struct tm_program *tm_the_program = &program;
const char *const tm_descriptor_makers[] = {"open", "pipe", NULL};

bool tm_image_asks(const struct tm_image *image, const char *name) {
  for (int i = 0; i < 2; i++) {
    const char *asked = asks[image - images][i];
    if (asked != NULL && strcmp(asked, name) == 0) return true;
  }
  return false;
}

/* ---- the job */

static int rank, output_files[RANKS];
static bool owners_fail, route_fails, routed, memory_is_out;
static int (*followed)(int rank, int fd);
static jmp_buf ended;

int tm_rank_number(void) { return rank; }
void tm_set_errno(int error) { errno = error; }

void tm_job_abort(int status) {
  assert_int_equal(status, 1);
  longjmp(ended, 1);
}

bool tm_output_route(int ranks) {
  assert_int_equal(ranks, program.ranks);
  routed = !route_fails;
  return routed;
}

bool tm_output_is_routed(void) { return routed; }
void tm_output_follow(int (*own)(int rank, int fd)) { followed = own; }
int tm_output_file(int of) { return of >= 0 ? output_files[of] : -1; }

static ssize_t writes_left = -1; /* before one fails; -1: none does */

ssize_t tm_output_write(int fd, const void *text, size_t length) {
  note("put:%d,%.*s", fd, (int)length, (const char *)text);
  return writes_left >= 0 && writes_left-- == 0 ? -1 : (ssize_t)length;
}

void tm_number_in_name(const char *path, int flags) { note("name:%s,%x", path, (unsigned)flags); }

static int locks;
int mltp_lock(mltp_lock_t *lock) {
  assert_non_null(lock);
  return locks++;
}
int mltp_unlock(mltp_lock_t *lock) {
  assert_non_null(lock);
  errno = 0;
  return --locks;
}

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_malloc(size_t size) { /* once for each start: it is never freed */
  static char room[1024];
  assert_in_range(size, 1, sizeof room);
  memset(room, 0xa5, sizeof room);
  return memory_is_out ? NULL : room;
}

/* ---- owners */

static char owners[FDS + 1]; /* of each descriptor, a digit */
static int other_owner[FDS]; /* as tm_owner_other() returns it */

bool tm_owners_start(int ranks) { return ranks == program.ranks && !owners_fail; }

int tm_owner_note(int fd) {
  if (fd >= 0) owners[fd] = (char)('0' + rank);
  return fd;
}

void tm_owner_forget(int fd) {
  if (fd >= 0 && fd < FDS) owners[fd] = NO_OWNER;
}

void tm_owner_note_stream(const FILE *stream) { note("noted:%d", stream != NULL); }
void tm_owner_forget_stream(const FILE *stream) { note("forgotten:%d", stream != NULL); }

int tm_owner_other(int fd) { return fd >= 0 && fd < FDS ? other_owner[fd] : TM_OWNER_NONE; }

void tm_owners_close_own(unsigned first, unsigned last, bool on_exec) {
  note("close_own:%u,%u,%d", first, last, on_exec);
}

void tm_owners_end(int of) { note("end:%d", of); }

/* ---- descriptors */

static char files[FDS + 1]; /* the letter of each one's file; '.': it is closed */
static bool on_exec[FDS];   /* it is closed then */
static int add_error;       /* of lists of actions */
static int taken = -1;      /* another rank takes this number before the next copy */

static inline bool is_open(int fd) { return fd >= 0 && fd < FDS && files[fd] != '.'; }

static inline int refuse(int error) {
  errno = error;
  return -1;
}

static inline int copy(int from, int to, bool is_on_exec) {
  files[to] = files[from];
  on_exec[to] = is_on_exec;
  return to;
}

int __wrap_fcntl(int fd, int request, ...);
int __wrap_fcntl(int fd, int request, ...) {
  va_list list;
  va_start(list, request);
  int argument = va_arg(list, int);
  va_end(list);
  if (!is_open(fd)) return refuse(EBADF);
  if (request == F_GETFD) return on_exec[fd];
  if (request == F_SETFD) {
    assert_int_equal(argument, FD_CLOEXEC);
    on_exec[fd] = true;
    return 0;
  }
  assert_true(request == F_DUPFD || request == F_DUPFD_CLOEXEC);
  if (argument < 0 || argument >= FDS) return refuse(EINVAL);
  if (taken >= 0) files[taken] = 'x';
  taken = -1;
  while (argument < FDS && is_open(argument)) argument++;
  return argument < FDS ? copy(fd, argument, request == F_DUPFD_CLOEXEC) : refuse(EMFILE);
}

int __wrap_dup3(int from, int to, int flags);
int __wrap_dup3(int from, int to, int flags) {
  note("dup3:%d,%d,%x", from, to, (unsigned)flags);
  if (from == to || (flags & ~O_CLOEXEC) != 0) return refuse(EINVAL);
  if (!is_open(from) || to < 0 || to >= FDS) return refuse(EBADF);
  return copy(from, to, flags != 0);
}

int __wrap_dup2(int from, int to);
int __wrap_dup2(int from, int to) {
  note("dup2:%d,%d", from, to);
  return is_open(from) ? copy(from, to, false) : refuse(EBADF);
}

int __wrap_close(int fd);
int __wrap_close(int fd) {
  if (!is_open(fd)) return refuse(EBADF);
  files[fd] = '.';
  return 0;
}

void __wrap_closefrom(int first);
void __wrap_closefrom(int first) { note("closefrom:%d", first); }

int __wrap_close_range(unsigned first, unsigned last, int flags);
int __wrap_close_range(unsigned first, unsigned last, int flags) {
  note("close_range:%u,%u,%d", first, last, flags);
  return 88;
}

int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  note("open:%s,%x,%o", path, (unsigned)flags, va_arg(list, unsigned));
  va_end(list);
  if (path[0] == '-') return refuse(ENOENT);
  int fd = 3;
  while (files[fd] != '.') fd++;
  files[fd] = path[0];
  return fd;
}

ssize_t __wrap_write(int fd, const void *text, size_t length);
ssize_t __wrap_write(int fd, const void *text, size_t length) {
  note("write:%d,%.*s", fd, (int)length, (const char *)text);
  return is_open(fd) ? (ssize_t)length : refuse(EBADF);
}

ssize_t __wrap_writev(int fd, const struct iovec *parts, int count);
ssize_t __wrap_writev(int fd, const struct iovec *parts, int count) {
  note("writev:%d,%s,%d", fd, (const char *)parts->iov_base, count);
  return 99;
}

int __wrap_posix_spawn_file_actions_adddup2(posix_spawn_file_actions_t *list, int fd, int to);
int __wrap_posix_spawn_file_actions_adddup2(posix_spawn_file_actions_t *list, int fd, int to) {
  note("dup:%d,%d", fd, to);
  assert_non_null(list);
  return add_error;
}

int __wrap_posix_spawn_file_actions_addclose(posix_spawn_file_actions_t *list, int fd);
int __wrap_posix_spawn_file_actions_addclose(posix_spawn_file_actions_t *list, int fd) {
  note("close:%d", fd);
  assert_non_null(list);
  return add_error;
}

/* ---- streams of libc's: places in an array, each with its descriptor */

static char streams[STREAMS];
static int stream_fd[STREAMS], stream_count;
static bool no_stream;

static inline FILE *stream_on(int fd) {
  if (no_stream) return NULL;
  assert_true(stream_count < STREAMS);
  stream_fd[stream_count] = fd;
  return (FILE *)&streams[stream_count++];
}

int __wrap_fileno(FILE *stream);
int __wrap_fileno(FILE *stream) { return stream_fd[(char *)stream - streams]; }

FILE *__wrap_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode) {
  note("fopen:%s,%s", path, mode);
  return stream_on(no_stream ? -1 : __wrap_fcntl(0, F_DUPFD, 0)); /* libc's: of no rank yet */
}

FILE *__wrap_tmpfile(void);
FILE *__wrap_tmpfile(void) { return __wrap_fopen("tmpfile", "w+"); }

FILE *__wrap_fdopen(int fd, const char *mode);
FILE *__wrap_fdopen(int fd, const char *mode) {
  note("fdopen:%d,%s", fd, mode);
  return stream_on(fd);
}

FILE *__wrap_freopen(const char *path, const char *mode, FILE *stream);
FILE *__wrap_freopen(const char *path, const char *mode, FILE *stream) {
  note("freopen:%s,%s", path, mode);
  return stream;
}

int __real_fflush(FILE *stream);
int __wrap_fflush(FILE *stream);
int __wrap_fflush(FILE *stream) {
  note("flush:%s", stream == stdout ? "stdout" : stream == stderr ? "stderr" : "other");
  return 77;
}

int __real_fclose(FILE *stream);
int __wrap_fclose(FILE *stream);
int __wrap_fclose(FILE *stream) {
  int fd = __wrap_fileno(stream);
  note("fclose:%d", fd);
  return __wrap_close(fd);
}

int __wrap_dirfd(DIR *folder);
int __wrap_dirfd(DIR *folder) {
  assert_non_null(folder);
  return 5;
}

int __wrap_closedir(DIR *folder);
int __wrap_closedir(DIR *folder) {
  assert_non_null(folder);
  return __wrap_close(5);
}

/* ---- messages */

static char *said;
static size_t said_length;
static FILE *stderr_before;

static inline void check_said(const char *expected) {
  __real_fflush(stderr);
  assert_string_equal(said, expected);
  rewind(stderr);
  __real_fflush(stderr);
  said[0] = '\0';
}

/* ---- a test begins, and ends */

static inline void start_job(int ranks) {
  program.ranks = ranks;
  assert_true(tm_streams_start(&program));
}

static inline int set_up(void **state) {
  (void)state;
  program = (struct tm_program){.ranks = RANKS, .images = image_list, .image_count = 2};
  memset(asks, 0, sizeof asks);
  memset(on_exec, 0, sizeof on_exec);
  owners_fail = route_fails = routed = memory_is_out = no_stream = false;
  followed = NULL;
  rank = locks = stream_count = add_error = 0;
  writes_left = taken = -1;
  memcpy(files, "ioeab.....", sizeof files);
  memset(owners, NO_OWNER, FDS);
  for (int i = 0; i < FDS; i++) other_owner[i] = TM_OWNER_NONE;
  for (int i = 0; i < RANKS; i++) output_files[i] = -1;
  unsetenv("TMPI_PYTHON");
  trace[0] = '\0';
  stderr_before = stderr;
  stderr = open_memstream(&said, &said_length);
  assert_non_null(stderr);
  return 0;
}

static inline int tear_down(void **state) {
  (void)state;
  __real_fclose(stderr);
  free(said);
  stderr = stderr_before;
  return 0;
}

/* The program redirects its output. */
static inline int set_up_own(void **state) {
  set_up(state);
  asks[0][0] = "dup2";
  start_job(RANKS);
  return 0;
}

#endif
