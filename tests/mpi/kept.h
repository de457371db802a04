/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file kept.h
 * What a job keeps: many rounds that make and free something take no more memory and no more
 * descriptors than few.
 */
#ifndef TESTS_MPI_KEPT_H
#define TESTS_MPI_KEPT_H

#include <dlfcn.h>
#include <malloc.h>

#include "check.h"

enum {
  TIMES = 20,
  ROUNDS = 500, /* of what one rank or a few messages do */
  FEW = 120,    /* of what waits for all ranks often */
  FEWEST = 50,  /* of what takes milliseconds where there are more VPs than CPUs */
  LEAST = 24    /* bytes: the smallest block of libc's */
};

static int rank, size;

struct row {
  const char *name;
  void (*round)(void);
  int rounds;
};

struct used {
  size_t bytes, descriptors;
};

static inline struct used in_use(void) {
  struct used used = {0, 0};
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) used.descriptors = (size_t)check_count_descriptors();
  if (rank == 0) used.bytes = mallinfo2().uordblks;
  MPI_Bcast(&used, sizeof used, MPI_BYTE, 0, MPI_COMM_WORLD);
  return used;
}

/* One block or descriptor that one rank keeps in each round is found, as it is kept each time. On a
 * busy machine the library's stores of requests may grow in some of them. The test runs without the
 * cache of libc's that each kernel thread has: ranks come to ever more VPs, whose caches fill. */
static inline void check(const struct row *row) {
  struct used before, after;
  size_t bytes = (size_t)LEAST * (size_t)row->rounds, descriptors = (size_t)row->rounds / 2;
  for (int time = 0; time < TIMES; time++) {
    before = in_use();
    for (int i = 0; i < row->rounds; i++) row->round();
    after = in_use();
    if (after.bytes <= before.bytes + bytes &&
        after.descriptors <= before.descriptors + descriptors)
      return;
  }
  if (rank == 0) {
    fprintf(stderr, "%s: after %d rounds %zu bytes were %zu, %zu descriptors %zu\n", row->name,
            row->rounds, before.bytes, after.bytes, before.descriptors, after.descriptors);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Barrier(MPI_COMM_WORLD); /* which ends with the job */
}

/** @return whether this can be seen: a sanitizer's allocator does not count for mallinfo2(), and
 * finds what is kept by itself. */
static inline int counts(void) {
  return dlsym(RTLD_DEFAULT, "__asan_init") == NULL && dlsym(RTLD_DEFAULT, "__tsan_init") == NULL;
}

#endif
