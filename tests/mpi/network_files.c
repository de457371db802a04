/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of network file systems in a job of several nodes, call by call (src/tmpi/io/network.c):
 * what the server is asked, and what is done if it has removed a file. No server is here: the
 * system's calls are stand-ins, which note what is asked of them.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "captured.h"
#include "tmpi/io/file.h"
#include "tmpi/match/transport.h"
#include "tmpi/rank/rank.h"
#include "traced_calls.h"

struct tm_job tm_job;
static const struct tm_transport transport;
static int file_fd, opened_fd; /* of the file; what open() returns */
static long magic;             /* of the file system */
static int removed;            /* number of descriptors to come whose files have no name */
static int error_of_statx, error_of_open, error_of_dup, error_of_stat;

int __wrap_fstatfs(int fd, struct statfs *system);
int __wrap_fstatfs(int fd, struct statfs *system) {
  assert_true(fd == file_fd || fd == opened_fd);
  system->f_type = magic;
  return 0;
}

static int fail_with(int error) {
  if (error != 0) errno = error;
  return error == 0 ? 0 : -1;
}

int __wrap_statx(int fd, const char *path, int flags, unsigned mask, struct statx *now);
int __wrap_statx(int fd, const char *path, int flags, unsigned mask, struct statx *now) {
  assert_true(flags & AT_STATX_FORCE_SYNC && mask == STATX_BASIC_STATS);
  if (fd == AT_FDCWD) {
    assert_false(flags & AT_EMPTY_PATH);
    note("asks of %s", path);
    return fail_with(ENOENT); /* it does not matter */
  }
  assert_true((flags & AT_EMPTY_PATH) && path[0] == '\0');
  note("asks");
  if (error_of_statx != 0) return fail_with(error_of_statx);
  *now = (struct statx){.stx_nlink = removed > 0 ? 0 : 1, .stx_size = 700};
  if (removed > 0) removed--;
  return 0;
}

int __wrap_open(const char *name, int flags, ...);
int __wrap_open(const char *name, int flags, ...) {
  const char *kind = (flags & O_ACCMODE) == O_RDWR     ? "rw"
                     : (flags & O_ACCMODE) == O_WRONLY ? "w"
                                                       : "r";
  note("opens %s %s%s%s", name, kind, flags & O_DSYNC ? " dsync" : "",
       flags & O_CLOEXEC ? " cloexec" : "");
  if (flags & O_CREAT) {
    va_list list;
    va_start(list, flags);
    assert_int_equal(va_arg(list, int), 0666);
    va_end(list);
  }
  return fail_with(error_of_open) == 0 ? opened_fd : -1;
}

int __wrap_close(int fd);
int __wrap_close(int fd) {
  note("closes %d", fd);
  errno = EBADF; /* what was before must be kept */
  return 0;
}

int __wrap_dup3(int from, int to, int flags);
int __wrap_dup3(int from, int to, int flags) {
  note("dups %d to %d%s", from, to, flags == O_CLOEXEC ? " cloexec" : "");
  return fail_with(error_of_dup) == 0 ? to : -1;
}

int __wrap_fstat(int fd, struct stat *known);
int __wrap_fstat(int fd, struct stat *known) {
  assert_int_equal(fd, file_fd);
  note("fstat");
  known->st_size = 500;
  return fail_with(error_of_stat);
}

void tm_file_touch_lock(const struct tm_file_common *common) {
  assert_int_equal(common->fd, file_fd);
  note("locks");
}

static int start(void **state) {
  (void)state;
  tm_job.far = &transport;
  file_fd = 41;
  opened_fd = 42;
  magic = NFS_SUPER_MAGIC;
  removed = error_of_statx = error_of_open = error_of_dup = error_of_stat = 0;
  trace[0] = '\0';
  return 0;
}

static struct tm_file_common file(int amode) {
  static char name[] = "dir/file";
  return (struct tm_file_common){.fd = file_fd, .amode = amode, .name = name};
}

/* ---- names */

static void a_name_is_asked_of_its_folder(void **state) {
  (void)state;
  tm_file_refresh_name("dir/below/name");
  check_trace("asks of dir/below/ ");
  tm_file_refresh_name("name");
  check_trace("asks of . ");
  tm_file_refresh_name("/name");
  check_trace("asks of / ");
}

static void one_node_asks_nothing(void **state) {
  MPI_Offset size = 0;
  const struct tm_file_common common = file(MPI_MODE_RDWR);
  (void)state;
  tm_job.far = NULL;
  tm_file_refresh_name("name");
  check_trace("");
  removed = 1;
  assert_int_equal(tm_file_open_name("name", O_RDONLY), opened_fd);
  check_trace("opens name r ");
  assert_int_equal(tm_file_write_at_once(&common), 0);
  check_trace("");
  tm_file_refresh(&common);
  check_trace("");
  assert_int_equal(tm_file_size(&common, &size), 0);
  assert_int_equal(size, 500);
  check_trace("fstat ");
}

static void another_file_system_is_not_asked(void **state) {
  const struct tm_file_common common = file(MPI_MODE_RDWR);
  (void)state;
  magic = TMPFS_MAGIC;
  removed = 1;
  assert_int_equal(tm_file_open_name("name", O_RDWR), opened_fd);
  check_trace("asks of . opens name rw ");
  assert_int_equal(tm_file_write_at_once(&common), 0);
  check_trace("");
}

static void a_file_with_a_name_is_opened(void **state) {
  (void)state;
  assert_int_equal(tm_file_open_name("name", O_RDWR | O_CREAT), opened_fd);
  check_trace("asks of . opens name rw asks ");
  error_of_statx = EIO; /* it is not known, so the file stays */
  assert_int_equal(tm_file_open_name("name", O_RDWR), opened_fd);
  check_trace("asks of . opens name rw asks ");
  error_of_open = EACCES;
  assert_int_equal(tm_file_open_name("name", O_RDWR), -1);
  assert_int_equal(errno, EACCES);
  check_trace("asks of . opens name rw ");
}

#define TRY "asks of . opens name r asks closes 42 "

static void a_removed_file_is_not_opened(void **state) {
  (void)state;
  removed = 2;
  assert_int_equal(tm_file_open_name("name", O_RDONLY), opened_fd);
  check_trace(TRY TRY "asks of . opens name r asks ");
  removed = 3;
  assert_int_equal(tm_file_open_name("name", O_RDONLY), -1);
  assert_int_equal(errno, ENOENT);
  check_trace(TRY TRY TRY);
  error_of_statx = ESTALE;
  assert_int_equal(tm_file_open_name("name", O_RDONLY | O_CREAT), -1);
  assert_int_equal(errno, ESTALE);
  check_trace(TRY TRY TRY);
}

/* ---- data */

static void each_write_goes_to_the_server(void **state) {
  struct tm_file_common common = file(MPI_MODE_RDWR);
  (void)state;
  assert_int_equal(tm_file_write_at_once(&common), 0);
  check_trace("opens dir/file rw dsync cloexec dups 42 to 41 cloexec closes 42 ");
  common.amode = MPI_MODE_WRONLY;
  assert_int_equal(tm_file_write_at_once(&common), 0);
  check_trace("opens dir/file w dsync cloexec dups 42 to 41 cloexec closes 42 ");
  common.amode = MPI_MODE_RDONLY;
  assert_int_equal(tm_file_write_at_once(&common), 0);
  check_trace("");
}

static void a_file_that_cannot_be_opened_again_is_an_error(void **state) {
  const struct tm_file_common common = file(MPI_MODE_WRONLY);
  (void)state;
  error_of_dup = EMFILE;
  assert_int_equal(tm_file_write_at_once(&common), EMFILE);
  check_trace("opens dir/file w dsync cloexec dups 42 to 41 cloexec closes 42 ");
  error_of_open = EACCES;
  assert_int_equal(tm_file_write_at_once(&common), EACCES);
  check_trace("opens dir/file w dsync cloexec ");
}

static void zero_is_a_descriptor_too(void **state) {
  struct tm_file_common common = file(MPI_MODE_WRONLY);
  (void)state;
  opened_fd = 0;
  removed = 1;
  assert_int_equal(tm_file_open_name("name", O_RDONLY), 0);
  check_trace("asks of . opens name r asks closes 0 asks of . opens name r asks ");
  assert_int_equal(tm_file_write_at_once(&common), 0);
  check_trace("opens dir/file w dsync cloexec dups 0 to 41 cloexec closes 0 ");
  opened_fd = 42;
  common.fd = file_fd = 0;
  errno = EIO; /* of an earlier call */
  assert_int_equal(tm_file_write_at_once(&common), 0);
  check_trace("opens dir/file w dsync cloexec dups 42 to 0 cloexec closes 42 ");
}

static void the_server_knows_the_size(void **state) {
  const struct tm_file_common common = file(MPI_MODE_RDONLY);
  MPI_Offset size = 0;
  (void)state;
  assert_int_equal(tm_file_size(&common, &size), 0);
  assert_int_equal(size, 700);
  check_trace("asks ");
  error_of_statx = ENOSYS;
  assert_int_equal(tm_file_size(&common, &size), 0);
  assert_int_equal(size, 500);
  check_trace("asks fstat ");
  error_of_stat = EIO;
  assert_int_equal(tm_file_size(&common, &size), EIO);
  check_trace("asks fstat ");
}

/* A lock makes NFS forget its data. */
static void data_that_may_be_read_are_forgotten(void **state) {
  static const int amodes[] = {MPI_MODE_RDONLY, MPI_MODE_RDWR, MPI_MODE_WRONLY};
  (void)state;
  for (int i = 0; i < 3; i++) {
    const struct tm_file_common common = file(amodes[i]);
    tm_file_refresh(&common);
    check_trace(amodes[i] == MPI_MODE_WRONLY ? "asks " : "locks asks ");
  }
}

/* ---- file systems that cannot be asked */

static void open_twice(const void *unused) {
  (void)unused;
  const struct tm_file_common reads = file(MPI_MODE_RDONLY), writes = file(MPI_MODE_RDWR);
  tm_file_warn_of_memory(&reads);
  tm_file_warn_of_memory(&writes);
  tm_file_warn_of_memory(&writes);
}

/* The client of each node may remember what no call makes it ask for. */
static void writers_on_a_file_system_in_user_space_are_warned_once(void **state) {
  char said[512];
  (void)state;
  magic = FUSE_SUPER_MAGIC;
  assert_true(captured_in_child(open_twice, NULL, said, sizeof said));
  const char *first = strstr(said, "tmpi: warning: 'dir/file' is on a file system in user space");
  assert_ptr_equal(first, said);
  assert_null(strstr(first + 1, "tmpi:"));
  tm_job.far = NULL;
  assert_true(captured_in_child(open_twice, NULL, said, sizeof said));
  assert_string_equal(said, "");
}

static void others_are_not_warned(void **state) {
  static const long others[] = {TMPFS_MAGIC, NFS_SUPER_MAGIC, EXT4_SUPER_MAGIC};
  char said[512];
  (void)state;
  for (int i = 0; i < 3; i++) {
    magic = others[i];
    assert_true(captured_in_child(open_twice, NULL, said, sizeof said));
    assert_string_equal(said, "");
  }
}

#define FILES(test) cmocka_unit_test_setup(test, start)

int main(void) {
  const struct CMUnitTest tests[] = {
      FILES(a_name_is_asked_of_its_folder),
      FILES(writers_on_a_file_system_in_user_space_are_warned_once),
      FILES(others_are_not_warned),
      FILES(one_node_asks_nothing),
      FILES(another_file_system_is_not_asked),
      FILES(a_file_with_a_name_is_opened),
      FILES(a_removed_file_is_not_opened),
      FILES(each_write_goes_to_the_server),
      FILES(a_file_that_cannot_be_opened_again_is_an_error),
      FILES(zero_is_a_descriptor_too),
      FILES(the_server_knows_the_size),
      FILES(data_that_may_be_read_are_forgotten),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
