/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file check.h
 * What the MPI programs of the tests share: CHECK and EXPECT say what failed, and end the job.
 */
#ifndef TESTS_MPI_CHECK_H
#define TESTS_MPI_CHECK_H

#include <dirent.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHECK(condition) ((condition) ? (void)0 : check_failed(__FILE__, __LINE__, #condition))

/** Ends the job. Before MPI_Init() and after MPI_Finalize() the rank alone, or the message would
 * be that of a call that came too early. */
static inline void check_end(void) {
  int begun = 0, over = 0;
  MPI_Initialized(&begun);
  MPI_Finalized(&over);
  if (begun && !over) MPI_Abort(MPI_COMM_WORLD, 1);
  exit(1);
}

static inline void check_failed(const char *file, int line, const char *condition) {
  int rank = -1, begun = 0, over = 0;
  MPI_Initialized(&begun);
  MPI_Finalized(&over);
  if (begun && !over) MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  fprintf(stderr, "%s:%d: rank %d: %s\n", file, line, rank, condition);
  check_end();
}

/** The call fails with an error of the class. */
#define EXPECT(class, call) check_class(__FILE__, __LINE__, #call, class, call)

static inline void check_class(const char *file, int line, const char *call, int expected,
                               int code) {
  int error_class = -1;
  MPI_Error_class(code, &error_class);
  if (error_class == expected) return;
  fprintf(stderr, "%s:%d: %s gave class %d, not %d\n", file, line, call, error_class, expected);
  check_end();
}

/** Starts MPI; @return the rank. */
static inline int check_start(int *argc, char ***argv, int *size) {
  int rank;
  MPI_Init(argc, argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, size);
  return rank;
}

/** Collective. @return the first rank of the caller's node: 0 for all of a job on one node. */
static inline int check_first_of_node(int rank) {
  int first;
  MPI_Comm node;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Allreduce(&rank, &first, 1, MPI_INT, MPI_MIN, node);
  MPI_Comm_free(&node);
  return first;
}

/** Collective. @return whether all ranks of the job are on one node. */
static inline int check_is_one_node(void) {
  int size, ranks_of_node;
  MPI_Comm node;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm_size(node, &ranks_of_node);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_free(&node);
  return ranks_of_node == size;
}

/** @return how many descriptors the process has, and some that are always there. Sockets do not
 * count: a connection with another node may get one at any time. */
static inline int check_count_descriptors(void) {
  int count = 0;
  DIR *folder = opendir("/proc/self/fd");
  CHECK(folder != NULL);
  for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
    struct stat file;
    count += fstatat(dirfd(folder), entry->d_name, &file, 0) != 0 || !S_ISSOCK(file.st_mode);
  }
  if (folder != NULL) closedir(folder);
  return count;
}

#ifdef O_PATH /* with _GNU_SOURCE */
/** Puts one that only names a place where the process has a descriptor of a file: no call can use
 * the file any more. @return how many there were. */
static inline int check_lose_descriptors(const char *name) {
  enum { MOST = 1024 };
  struct stat file, other;
  int count = 0, place = open("/", O_PATH);
  CHECK(place >= 0 && stat(name, &file) == 0);
  for (int fd = STDERR_FILENO + 1; fd < MOST; fd++)
    if (fstat(fd, &other) == 0 && other.st_dev == file.st_dev && other.st_ino == file.st_ino) {
      CHECK(dup2(place, fd) == fd);
      count++;
    }
  CHECK(close(place) == 0);
  return count;
}
#endif

#endif
