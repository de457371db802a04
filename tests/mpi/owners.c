/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks share one table of descriptors: none closes what another has, by whatever call, and what a
 * rank has left is closed when it ends. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"

enum { HIGH = 700, RANKS = 4 };

static int rank;
static char fifo[64], file[64];
static int of_tmpirun = -1; /* a descriptor: the program's file */

/* It is closed at exec(), as no descriptor is that tmpirun was started with. */
static void find_file_of_tmpirun(void) {
  int fd = STDERR_FILENO + 1;
  while (fd < HIGH && fcntl(fd, F_GETFD) != FD_CLOEXEC) fd++;
  CHECK(fd < HIGH);
  of_tmpirun = fd;
  MPI_Barrier(MPI_COMM_WORLD);
}

/* Rank 1 closes all, as if it were a process of its own, where other numbers are free. */
static void check_close(void) {
  int ends[2], all[2 * RANKS];
  char byte = 'x';
  CHECK(pipe(ends) == 0);
  MPI_Allgather(ends, 2, MPI_INT, all, 2, MPI_INT, MPI_COMM_WORLD);
  if (rank == 1) {
    for (int i = 0; i < 2 * RANKS; i++) {
      errno = 0;
      if (i / 2 == rank)
        CHECK(close(all[i]) == 0);
      else
        CHECK(close(all[i]) == -1 && errno == EBADF);
    }
    CHECK(close(of_tmpirun) == -1 && errno == EBADF);
    CHECK(fcntl(of_tmpirun, F_GETFD) == FD_CLOEXEC);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) return;
  CHECK(write(ends[1], &byte, 1) == 1 && read(ends[0], &byte, 1) == 1);
  CHECK(close(ends[0]) == 0 && close(ends[1]) == 0);
}

static int is_null(int fd) {
  struct stat null, status;
  return stat("/dev/null", &null) == 0 && fstat(fd, &status) == 0 && null.st_rdev == status.st_rdev;
}

/* Onto a number of another rank's, of tmpirun's, of one's own, and one that is free. */
static void check_copies(void) {
  int null = open("/dev/null", O_RDONLY), own = open("/dev/zero", O_RDONLY), number = own;
  CHECK(null >= 0 && own >= 0);
  MPI_Bcast(&number, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (rank == 1) {
    CHECK(dup2(null, number) == -1 && errno == EBUSY);
    CHECK(dup3(null, number, O_CLOEXEC) == -1 && errno == EBUSY);
    CHECK(dup2(null, of_tmpirun) == -1 && errno == EBUSY);
    CHECK(dup2(number, number) == number);
    CHECK(dup2(null, own) == own && is_null(own) && fcntl(own, F_GETFD) == 0);
    CHECK(dup3(null, own, O_CLOEXEC) == own && fcntl(own, F_GETFD) == FD_CLOEXEC);
    CHECK(dup3(null, null, 0) == -1 && errno == EINVAL);
    CHECK(dup3(null, own, O_APPEND) == -1 && errno == EINVAL);
    CHECK(dup2(-1, own) == -1 && errno == EBADF && is_null(own));
    CHECK(dup2(null, -2) == -1 && errno == EBADF);
    CHECK(dup2(null, 1 << 30) == -1 && errno == EBADF);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(rank != 0 || !is_null(own));
  for (int turn = 0; turn < 2; turn++) { /* each gets the number when the other has closed it */
    if (rank == turn) CHECK(dup3(null, HIGH, O_CLOEXEC) == HIGH && fcntl(HIGH, F_GETFD) == 1);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == !turn) CHECK(dup2(null, HIGH) == -1 && errno == EBUSY);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == turn) CHECK(close(HIGH) == 0);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  CHECK(close(null) == 0 && close(own) == 0);
}

/* All want one number at once: one gets it. */
static void check_race(void) {
  int null = open("/dev/null", O_RDONLY);
  for (int i = 0; i < 50; i++) {
    MPI_Barrier(MPI_COMM_WORLD);
    int count, got = dup2(null, HIGH) == HIGH;
    CHECK(got || errno == EBUSY);
    MPI_Allreduce(&got, &count, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(count == 1);
    if (got) CHECK(close(HIGH) == 0);
  }
  CHECK(close(null) == 0);
  MPI_Barrier(MPI_COMM_WORLD);
}

static void check_ranges(void) {
  int low = open("/dev/null", O_RDONLY), high = dup2(low, HIGH + rank);
  CHECK(high == HIGH + rank);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) {
    CHECK(close_range(3, ~0U, CLOSE_RANGE_CLOEXEC) == 0);
    CHECK(fcntl(low, F_GETFD) == FD_CLOEXEC && fcntl(high, F_GETFD) == FD_CLOEXEC);
    CHECK(close_range(9, 8, 0) == -1 && errno == EINVAL);
    CHECK(close_range(3, ~0U, 1 << 20) == -1 && errno == EINVAL);
    CHECK(close_range(HIGH, HIGH + 100, 0) == 0);
    CHECK(fcntl(low, F_GETFD) >= 0 && close(high) == -1 && errno == EBADF);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank != 1) CHECK(fcntl(low, F_GETFD) == 0 && close(high) == 0);
  CHECK(close(low) == 0);
}

/* libc closes it, and another rank gets the number. */
static void check_folder(void) {
  if (rank == 0) {
    DIR *folder = fdopendir(open("/", O_RDONLY | O_DIRECTORY));
    CHECK(folder != NULL && closedir(folder) == 0);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) {
    int null = (int)syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDONLY);
    CHECK(null >= 0 && close(null) == 0); /* its number, which is the lowest free one */
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

/* A library of tmpirun closes a descriptor, and another library gets the number for its own. That
 * is no descriptor of tmpirun, so a rank may have the number, as where no library has closed one.
 */
static void check_number_of_tmpirun(void) {
  int zero = open("/dev/zero", O_RDONLY);
  if (rank == 1) {
    int null = (int)syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDONLY | O_CLOEXEC);
    CHECK(null >= 0 && syscall(SYS_dup3, null, of_tmpirun, O_CLOEXEC) == of_tmpirun);
    CHECK(dup2(zero, of_tmpirun) == of_tmpirun && !is_null(of_tmpirun));
    CHECK(close(null) == 0);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 2) CHECK(close(of_tmpirun) == -1 && errno == EBADF); /* it is rank 1's */
  CHECK(close(zero) == 0);
}

/* A library closes what a rank gave it, by a call that is not the rank's, and another rank's
 * library gets the number for a file of its own. That rank may close it, and the first one does
 * not. */
static void check_number_of_a_rank(void) {
  int zero = open("/dev/zero", O_RDONLY);
  CHECK(zero >= 0);
  if (rank == 0) CHECK(dup2(zero, HIGH) == HIGH && syscall(SYS_close, HIGH) == 0);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) {
    int null = (int)syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDONLY);
    CHECK(null >= 0 && syscall(SYS_dup3, null, HIGH, 0) == HIGH && close(null) == 0);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) CHECK(close_range(HIGH, HIGH, 0) == 0);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) CHECK(is_null(HIGH) && close(HIGH) == 0 && fcntl(HIGH, F_GETFD) == -1);
  CHECK(close(zero) == 0);
  MPI_Barrier(MPI_COMM_WORLD);
}

/* The last rank has left this number to a library of another rank. It is below those of the last
 * rank's FIFO and lock, so the end of these comes later. */
static void leave_number(void) {
  if (rank == RANKS - 1) CHECK(dup2(STDERR_FILENO, HIGH) == HIGH && syscall(SYS_close, HIGH) == 0);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    int zero = (int)syscall(SYS_openat, AT_FDCWD, "/dev/zero", O_RDONLY | O_CLOEXEC);
    CHECK(zero >= 0 && syscall(SYS_dup3, zero, HIGH, O_CLOEXEC) == HIGH && close(zero) == 0);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

/* The last rank ends with a FIFO and a lock. @return the status of the rank. */
static int end_one(int reader) {
  char byte;
  if (rank != 0) return 0;
  int locked = open(file, O_RDWR);
  return read(reader, &byte, 1) != 0 || flock(locked, LOCK_EX) != 0 || unlink(fifo) != 0 ||
         unlink(file) != 0 || is_null(HIGH);
}

int main(int argc, char **argv) {
  int size, reader = -1;
  rank = check_start(&argc, &argv, &size);
  CHECK(size == RANKS);
  find_file_of_tmpirun();
  check_close();
  check_copies();
  check_race();
  check_ranges();
  check_folder();
  check_number_of_tmpirun();
  check_number_of_a_rank();
  leave_number();
  int number = (int)getpid();
  snprintf(fifo, sizeof fifo, "/tmp/owners-fifo-%d", number);
  snprintf(file, sizeof file, "/tmp/owners-file-%d", number);
  if (rank == 0) {
    CHECK(mkfifo(fifo, 0600) == 0);
    reader = open(fifo, O_RDONLY | O_NONBLOCK);
    CHECK(reader >= 0 && fcntl(reader, F_SETFL, 0) == 0);
    CHECK(close(open(file, O_RDWR | O_CREAT, 0600)) == 0);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == size - 1) {
    CHECK(dup2(fileno(fopen(fifo, "w")), HIGH + 1) == HIGH + 1);
    CHECK(dup2(open(file, O_RDWR), HIGH + 2) == HIGH + 2 && flock(HIGH + 2, LOCK_EX) == 0);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return end_one(reader);
}
