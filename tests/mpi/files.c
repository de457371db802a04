/* SPDX-License-Identifier: Apache-2.0 */
/* Files that ranks share: record locks exclude ranks, and a closed stream is closed for one rank.
 */
#define _GNU_SOURCE
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
  MPI_Barrier(MPI_COMM_WORLD);
  close(fd);
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
  check_streams(rank);
  MPI_Finalize();
  return 0;
}
