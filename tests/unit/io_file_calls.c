/* SPDX-License-Identifier: Apache-2.0 */
/* Calls on files, step by step (src/io/file.c): what is in the page cache is read at once, the rest
 * by the pool, until all bytes are moved or the file ends. */
#include "io_calls.h"

#include "io/file.c"

/* ---- the kernel */

static int at_offset(const char *call, int fd, const struct iovec *part, off_t offset,
                     size_t *count) {
  CHECK_EQUAL(fd, FD);
  note("%s:%zu@%d<%s>", call, part->iov_len, (int)offset, (const char *)part->iov_base);
  return answer(count);
}

int __wrap_os_preadv(int fd, const struct iovec *part, off_t offset, size_t *count);
int __wrap_os_preadv(int fd, const struct iovec *part, off_t offset, size_t *count) {
  return at_offset("pread", fd, part, offset, count);
}

int __wrap_os_pread_cached(int fd, const struct iovec *part, off_t offset, size_t *count);
int __wrap_os_pread_cached(int fd, const struct iovec *part, off_t offset, size_t *count) {
  return at_offset("cached", fd, part, offset, count);
}

int __wrap_os_pwritev(int fd, const struct iovec *part, off_t offset, size_t *count);
int __wrap_os_pwritev(int fd, const struct iovec *part, off_t offset, size_t *count) {
  return at_offset("pwrite", fd, part, offset, count);
}

int __wrap_os_sendfile(int to, int from, off_t *offset, size_t size, size_t *count);
int __wrap_os_sendfile(int to, int from, off_t *offset, size_t size, size_t *count) {
  CHECK_EQUAL(to, FD);
  note("sendfile:%d:%zu", from, size);
  int error = answer(count);
  if (offset != NULL) *offset += (off_t)*count;
  return error;
}

int __wrap_os_open(const char *path, int flags, mode_t mode, int *fd);
int __wrap_os_open(const char *path, int flags, mode_t mode, int *fd) {
  size_t number;
  note("open:%s:%d:%o", path, flags, (unsigned)mode);
  int error = answer(&number);
  if (error == 0) *fd = (int)number;
  return error;
}

int __wrap_os_fsync(int fd);
int __wrap_os_fsync(int fd) {
  size_t none;
  CHECK_EQUAL(fd, FD);
  note("fsync");
  return answer(&none);
}

/* ---- at an offset */

#define FILE_CALL "pool<a call on a file>"

static void what_is_cached_is_read_at_once(void) {
  size_t count = 77;
  begin(OS_FD_FILE);
  ANSWERED({0, 4});
  CHECK_EQUAL(mltp_io_pread(FD, letters, 4, 50, &count), 0);
  TRACE("enter cached:4@50<abcdefg> leave");
  CHECK_EQUAL(count, 4);
  begin(OS_FD_FILE);
  ANSWERED({0, 0}); /* the end of the file */
  CHECK_EQUAL(mltp_io_pread(FD, letters, 4, 50, &count), 0);
  TRACE("enter cached:4@50<abcdefg> leave");
  CHECK_EQUAL(count, 0);
  CHECK_EQUAL(mltp_io_pread(FD, letters, 0, 50, &count), 0);
}

static void the_pool_reads_the_rest(void) {
  size_t count = 77;
  begin(OS_FD_FILE);
  ANSWERED({0, 1}, {0, 2}, {0, 1});
  CHECK_EQUAL(mltp_io_pread(FD, letters, 4, 50, &count), 0);
  TRACE("enter cached:4@50<abcdefg> " FILE_CALL " pread:3@51<bcdefg> pread:1@53<defg> leave");
  CHECK_EQUAL(count, 4);
  begin(OS_FD_FILE);
  ANSWERED({EAGAIN, 9}, {0, 3}, {0, 0}); /* a count without meaning; the file ends */
  CHECK_EQUAL(mltp_io_pread(FD, letters, 4, 50, &count), 0);
  TRACE("enter cached:4@50<abcdefg> " FILE_CALL " pread:4@50<abcdefg> pread:1@53<defg> leave");
  CHECK_EQUAL(count, 3);
  begin(OS_FD_FILE);
  ANSWERED({EAGAIN, 0}, {0, 1}, {EIO, 0});
  CHECK_EQUAL(mltp_io_pread(FD, letters, 4, 50, &count), EIO);
  TRACE("enter cached:4@50<abcdefg> " FILE_CALL " pread:4@50<abcdefg> pread:3@51<bcdefg> leave");
  CHECK_EQUAL(count, 1);
  begin(OS_FD_FILE);
  ANSWERED({0, 1});
  world.pool_error = ECANCELED;
  CHECK_EQUAL(mltp_io_pread(FD, letters, 4, 50, &count), ECANCELED);
  TRACE("enter cached:4@50<abcdefg> " FILE_CALL " leave");
  CHECK_EQUAL(count, 1);
}

static void all_bytes_are_written_at_an_offset(void) {
  size_t count = 77;
  begin(OS_FD_FILE);
  ANSWERED({0, 1}, {0, 3});
  CHECK_EQUAL(mltp_io_pwrite(FD, letters, 4, 50, &count), 0);
  TRACE("enter " FILE_CALL " pwrite:4@50<abcdefg> pwrite:3@51<bcdefg> leave");
  CHECK_EQUAL(count, 4);
  begin(OS_FD_FILE);
  ANSWERED({0, 3}, {ENOSPC, 0});
  CHECK_EQUAL(mltp_io_pwrite(FD, letters, 4, 50, &count), ENOSPC);
  TRACE("enter " FILE_CALL " pwrite:4@50<abcdefg> pwrite:1@53<defg> leave");
  CHECK_EQUAL(count, 3);
  begin(OS_FD_FILE);
  ANSWERED({EROFS, 0});
  CHECK_EQUAL(mltp_io_pwrite(FD, letters, 4, 50, NULL), EROFS);
  CHECK_EQUAL(mltp_io_pwrite(FD, letters, 0, 50, &count), 0);
  TRACE("enter " FILE_CALL " pwrite:4@50<abcdefg> leave enter leave");
  CHECK_EQUAL(count, 0);
}

static void calls_need_a_thread_and_a_descriptor(void) {
  int fd = 77;
  size_t count = 77;
  begin(OS_FD_FILE);
  world.enter_error = EBADF;
  CHECK_EQUAL(mltp_io_pread(FD, letters, 4, 0, &count), EBADF);
  CHECK_EQUAL(mltp_io_fsync(FD), EBADF);
  TRACE("enter enter");
  CHECK_EQUAL(count, 0);
  mt_set_current(NULL);
  CHECK_EQUAL(mltp_io_pread(FD, letters, 4, 0, &count), EPERM);
  CHECK_EQUAL(mltp_io_fsync(FD), EPERM);
  CHECK_EQUAL(mltp_io_open("name", O_RDONLY, 0, &fd), EPERM);
  TRACE("misuse:mltp_io_pread misuse:mltp_io_fsync misuse:mltp_io_open");
  CHECK_EQUAL(fd, 77);
}

static void calls_are_scheduling_points(void) {
  int fd;
  begin(OS_FD_FILE);
  mt_det_on = true;
  CHECK_EQUAL(mltp_io_pwrite(FD, letters, 0, 0, NULL), 0);
  CHECK_EQUAL(mltp_io_fsync(FD), 0);
  world.pool_error = ECANCELED;
  CHECK_EQUAL(mltp_io_open("name", O_RDONLY, 0, &fd), ECANCELED);
  mt_det_on = false;
  TRACE(
      "point:mltp_io_pwrite enter leave "
      "point:mltp_io_fsync enter pool<a file to be on its device> fsync leave "
      "point:mltp_io_open pool<a file to be opened>");
}

/* ---- whole files */

static void the_pool_opens_files(void) {
  int fd = 77;
  begin(OS_FD_FILE);
  ANSWERED({0, FD}, {ENOENT, 0});
  CHECK_EQUAL(mltp_io_open("name", O_WRONLY, 0640, &fd), 0);
  TRACE("pool<a file to be opened> open:name:1:640 unknown:7");
  CHECK_EQUAL(fd, FD);
  CHECK_EQUAL(mltp_io_open("name", O_RDONLY, 0, &fd), ENOENT);
  TRACE("pool<a file to be opened> open:name:0:0");
  world.pool_error = ECANCELED;
  CHECK_EQUAL(mltp_io_open("name", O_RDONLY, 0, &fd), ECANCELED);
  TRACE("pool<a file to be opened>");
  CHECK_EQUAL(fd, FD);
}

static void the_pool_waits_for_the_device(void) {
  begin(OS_FD_FILE);
  ANSWERED({0, 0}, {EIO, 0});
  CHECK_EQUAL(mltp_io_fsync(FD), 0);
  TRACE("enter pool<a file to be on its device> fsync leave");
  CHECK_EQUAL(mltp_io_fsync(FD), EIO);
  world.pool_error = ECANCELED;
  CHECK_EQUAL(mltp_io_fsync(FD), ECANCELED);
  TRACE(
      "enter pool<a file to be on its device> fsync leave "
      "enter pool<a file to be on its device> leave");
}

/* ---- to a socket */

static void a_file_is_sent_until_it_ends(void) {
  off_t offset = 10;
  size_t count = 77;
  begin(OS_FD_TCP);
  ANSWERED({0, 4}, {EAGAIN, 0}, {0, 2});
  CHECK_EQUAL(mltp_io_sendfile_timed(FD, 5, &offset, 6, &count, 90), 0);
  TRACE("prepare sendfile:5:6 sendfile:5:2 wait_out until:90 sendfile:5:2 leave");
  CHECK(count == 6 && offset == 16);
  begin(OS_FD_TCP);
  ANSWERED({0, 4}, {0, 0}, {EPIPE, 0});
  CHECK_EQUAL(mltp_io_sendfile(FD, 5, NULL, 6, &count), 0);
  TRACE("prepare sendfile:5:6 sendfile:5:2 leave");
  CHECK_EQUAL(count, 4);
  CHECK_EQUAL(mltp_io_sendfile(FD, 5, NULL, 6, NULL), EPIPE);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST_BARE(calls_need_a_thread_and_a_descriptor), TEST_BARE(calls_are_scheduling_points),
      TEST_BARE(what_is_cached_is_read_at_once),       TEST_BARE(the_pool_reads_the_rest),
      TEST_BARE(all_bytes_are_written_at_an_offset),   TEST_BARE(the_pool_opens_files),
      TEST_BARE(the_pool_waits_for_the_device),        TEST_BARE(a_file_is_sent_until_it_ends),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
