/* SPDX-License-Identifier: Apache-2.0 */
/* Files that ranks share: record locks exclude ranks, and a closed stream is closed for one rank.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "check.h"

static void set_lock(int fd, int command, short type) {
  struct flock lock = {.l_type = type, .l_whence = SEEK_SET};
  CHECK(fcntl(fd, command, &lock) == 0);
}

static void check_record_locks(int rank, int size) {
  enum { TIMES = 200 };
  char path[64];
  int pid = (int)getpid(), zero = 0, value;
  snprintf(path, sizeof path, "/tmp/tmpi-files-%d", pid);
  int fd = open(path, O_RDWR | O_CREAT, 0600);
  CHECK(fd >= 0);
  if (rank == 0) CHECK(pwrite(fd, &zero, sizeof zero, 0) == sizeof zero);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < TIMES; i++) {
    set_lock(fd, F_SETLKW, F_WRLCK);
    CHECK(pread(fd, &value, sizeof value, 0) == sizeof value);
    if (i % 50 == 0) usleep(10); /* others run */
    value++;
    CHECK(pwrite(fd, &value, sizeof value, 0) == sizeof value);
    set_lock(fd, F_SETLK, F_UNLCK);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(pread(fd, &value, sizeof value, 0) == sizeof value && value == TIMES * size);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) unlink(path);
  if (rank == 0) CHECK(lockf(fd, F_TLOCK, 0) == 0);
  MPI_Barrier(MPI_COMM_WORLD);
  struct flock found = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
  if (rank != 0) CHECK(lockf(fd, F_TEST, 0) == -1 && lockf(fd, F_TLOCK, 0) == -1);
  CHECK(fcntl(fd, F_GETLK, &found) == 0 && (found.l_type == F_WRLCK) == (rank != 0));
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) CHECK(lockf(fd, F_ULOCK, 0) == 0);
  MPI_Barrier(MPI_COMM_WORLD);
  found = (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET};
  CHECK(lockf(fd, F_TEST, 0) == 0 && fcntl(fd, F_GETLK, &found) == 0 && found.l_type == F_UNLCK);
  CHECK(lockf(fd, F_TEST + 1, 0) == -1 &&
        errno == EINVAL); /* it is no command, and locks nothing */
  MPI_Barrier(MPI_COMM_WORLD);
  close(fd);
}

/* A lock of some bytes is that of these bytes, and what is found says whose. */
static void check_parts(int rank) {
  char path[64];
  snprintf(path, sizeof path, "/tmp/tmpi-parts-%d", (int)getpid());
  int fd = open(path, O_RDWR | O_CREAT, 0600);
  struct flock own = {
      .l_type = F_WRLCK, .l_whence = SEEK_CUR, .l_start = 2, .l_len = 5, .l_pid = 7};
  CHECK(fd >= 0 && lseek(fd, 10, SEEK_SET) == 10);
  if (rank == 0) CHECK(fcntl(fd, F_SETLK, &own) == 0 && own.l_pid == 7); /* bytes 12 to 16 */
  if (rank == 1) CHECK(lockf(fd, F_LOCK, 2) == 0);                       /* bytes 10 and 11 */
  MPI_Barrier(MPI_COMM_WORLD);
  struct flock found = {.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = 12, .l_len = 1};
  CHECK(fcntl(fd, F_GETLK, &found) == 0);
  if (rank == 0) CHECK(found.l_type == F_UNLCK && lockf(fd, F_TEST, 2) == -1 && errno == EACCES);
  if (rank == 0) CHECK(lockf(fd, F_TLOCK, 2) == -1 && errno == EAGAIN);
  if (rank == 1) CHECK(lockf(fd, F_TEST, 2) == 0 && lockf(fd, F_TEST, 3) == -1);
  if (rank != 0) CHECK(found.l_type == F_WRLCK && found.l_start == 12 && found.l_len == 5);
  if (rank != 0) CHECK(fcntl(fd, F_SETLK, &own) == -1 && errno == EAGAIN);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) CHECK(lockf(fd, F_ULOCK, 1) == 0);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) CHECK(lockf(fd, F_TEST, 1) == 0 && lockf(fd, F_TEST, 2) == -1);
  struct flock of_file = {.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = 100, .l_len = 1};
  CHECK(fcntl(fd, F_OFD_SETLK, &of_file) == 0 && fcntl(fd, F_OFD_SETLKW, &of_file) == 0);
  MPI_Barrier(MPI_COMM_WORLD);
  of_file = (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 100, .l_len = 1};
  CHECK(fcntl(fd, F_OFD_GETLK, &of_file) == 0 && of_file.l_type == F_RDLCK);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) CHECK(unlink(path) == 0);
  CHECK(close(fd) == 0);
  errno = 0;
  CHECK(lockf(-1, F_TEST, 0) == -1 && errno == EBADF);
  errno = 0;
  CHECK(fcntl(-1, F_SETLKW, &own) == -1 && errno == EBADF);
  fd = open("/dev/null", O_RDONLY);
  int copy = fcntl(fd, F_DUPFD_CLOEXEC, 100);
  CHECK(copy >= 100 && fcntl(copy, F_GETFD) == FD_CLOEXEC && fcntl(copy, F_SETFD, 0) == 0);
  CHECK(fcntl(copy, F_GETFD) == 0 && close(copy) == 0 && close(fd) == 0);
  MPI_Barrier(MPI_COMM_WORLD);
}

static void check_streams(int rank) {
  if (rank == 1) CHECK(fclose(stdout) == 0);
  if (rank == 2) CHECK(close(STDOUT_FILENO) == 0);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) CHECK(printf("rank 0 prints\n") > 0 && fflush(stdout) == 0);
  if (rank == 0) CHECK(fcntl(STDOUT_FILENO, F_GETFD) >= 0);
}

int main(int argc, char **argv) {
  int size, rank = check_start(&argc, &argv, &size);
  check_record_locks(rank, size);
  check_parts(rank);
  check_streams(rank);
  MPI_Finalize();
  return 0;
}
