/* SPDX-License-Identifier: Apache-2.0 */
/* Files: what threads write they read again, and what the kernel refuses is returned. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <mltp/io.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support/byte.h"
#include "support/support.h"

static void *use_a_file(void *p0) {
  char path[] = "/tmp/mltp-io-XXXXXX", in[64] = "";
  int made = mkstemp(path), fd = -1, ends[2];
  size_t count = 0;
  off_t offset = 6;
  (void)p0;
  close(made);
  CHECK_EQUAL(mltp_io_open(path, O_RDWR, 0, &fd), 0);
  CHECK_EQUAL(mltp_io_write(fd, "hello ", 6, &count), 0);
  CHECK_EQUAL(mltp_io_pwrite(fd, "world", 5, 6, &count), 0);
  CHECK_EQUAL(count, 5);
  CHECK_EQUAL(mltp_io_fsync(fd), 0);
  CHECK_EQUAL(mltp_io_pread(fd, in, sizeof in, 0, &count), 0);
  CHECK_EQUAL(count, 11);
  CHECK_TEXT(in, "hello world");
  CHECK_EQUAL(mltp_io_read(fd, in, sizeof in, &count), 0); /* after the write */
  CHECK_EQUAL(count, 5);
  CHECK_EQUAL(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  CHECK_EQUAL(mltp_io_sendfile(ends[0], fd, &offset, 100, &count), 0);
  CHECK_EQUAL(count, 5);
  CHECK_EQUAL(mltp_io_read(ends[1], in, sizeof in, &count), 0);
  CHECK_EQUAL(count, 5);
  close_both(ends);
  CHECK_EQUAL(mltp_io_close(fd), 0);
  unlink(path);
  CHECK_EQUAL(mltp_io_open(path, O_RDONLY, 0, &fd), ENOENT);
  return NULL;
}

/* The kernel makes this file's text when it is read: nothing of it is in memory before. */
static void *use_a_made_file(void *p0) {
  char in[512] = "", expected[512] = "";
  int fd = open("/proc/version", O_RDONLY | O_CLOEXEC);
  ssize_t length = pread(fd, expected, sizeof expected, 5);
  size_t count = 0;
  CHECK(length > 0);
  CHECK_EQUAL(mltp_io_pread(fd, in, sizeof in, 5, &count), 0);
  CHECK_EQUAL(count, length);
  CHECK_TEXT(in, expected);
  close(fd);
  return p0;
}

/* What the kernel refuses comes back from the pool, with what was done until then. */
static void *misuse_a_file(void *p0) {
  char path[] = "/tmp/mltp-io-XXXXXX", in[8];
  int made = mkstemp(path), reads = -1, writes = -1, folder = -1, ends[2];
  size_t count = 7;
  CHECK_EQUAL(mltp_io_open(path, O_RDONLY, 0, &reads), 0);
  CHECK_EQUAL(mltp_io_open(path, O_WRONLY, 0, &writes), 0);
  CHECK_EQUAL(mltp_io_open("/tmp", O_RDONLY | O_DIRECTORY, 0, &folder), 0);
  CHECK_EQUAL(mltp_io_pwrite(reads, "x", 1, 0, &count), EBADF);
  CHECK_EQUAL(count, 0);
  CHECK_EQUAL(mltp_io_pwrite(reads, "x", 1, 0, NULL), EBADF);
  count = 7;
  CHECK_EQUAL(mltp_io_pread(writes, in, sizeof in, 0, &count), EBADF);
  CHECK_EQUAL(count, 0);
  CHECK_EQUAL(mltp_io_pread(folder, in, sizeof in, 0, &count), EISDIR);
  CHECK_EQUAL(mltp_io_pwrite(writes, "x", 1, -1, NULL), EINVAL);
  CHECK_EQUAL(mltp_io_write(reads, "x", 1, &count), EBADF);
  CHECK_EQUAL(mltp_io_read(writes, in, sizeof in, &count), EBADF);
  CHECK_EQUAL(mltp_io_pread(reads, in, sizeof in, 0, &count), 0); /* nothing was written */
  CHECK_EQUAL(count, 0);
  CHECK_EQUAL(pipe(ends), 0);
  CHECK_EQUAL(mltp_io_fsync(ends[0]), EINVAL);
  CHECK_EQUAL(mltp_io_pread(ends[0], in, sizeof in, 0, &count), ESPIPE);
  close_both(ends);
  CHECK_EQUAL(mltp_io_fsync(-1), EBADF);
  CHECK_EQUAL(mltp_io_close(folder), 0);
  CHECK_EQUAL(mltp_io_close(writes), 0);
  CHECK_EQUAL(mltp_io_close(reads), 0);
  close(made);
  unlink(path);
  return p0;
}

static void mltp_io_says_why_a_file_is_refused(void) {
  for (int kind = 0; kind < KINDS; kind++) {
    check_case("%s", kind_names[kind]);
    workers_run(2, (enum kind)kind, misuse_a_file, NULL);
  }
}

static void mltp_io_reads_and_writes_files(void) {
  for (int kind = 0; kind < KINDS; kind++) {
    check_case("%s", kind_names[kind]);
    workers_run(12, (enum kind)kind, use_a_file, NULL);
    workers_run(2, (enum kind)kind, use_a_made_file, NULL);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(mltp_io_says_why_a_file_is_refused),
      TEST(mltp_io_reads_and_writes_files),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
