/* SPDX-License-Identifier: Apache-2.0 */
/* Each rank has its own globals, thread-locals, and what libc keeps for a process. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { LARGE = 1 << 20 };

static int initialised = 42;
static int zero;
static char large[LARGE];
static int *pointer = &initialised;
static _Thread_local int own_thread = 7;
int common; /* others could refer to it */

static void touch(int rank) {
  CHECK(initialised == 42 && zero == 0 && own_thread == 7 && common == 0);
  CHECK(pointer == &initialised);
  initialised = zero = own_thread = common = rank;
  memset(large, rank & 0x7f, sizeof large);
}

static void check_still(int rank) {
  CHECK(initialised == rank && zero == rank && own_thread == rank && common == rank);
  CHECK(*pointer == rank);
  for (size_t i = 0; i < sizeof large; i += 4096) CHECK(large[i] == (rank & 0x7f));
}

/* The sequence is that of one process, whoever runs in between. */
static void check_rand(void) {
  int first[8];
  for (int i = 0; i < 8; i++) {
    srand(11);
    for (int k = 0; k < i; k++) rand();
    first[i] = rand();
  }
  srand(11);
  for (int i = 0; i < 8; i++) {
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(rand() == first[i]);
  }
}

static void check_strtok(int rank) {
  char text[32], expected[8];
  snprintf(text, sizeof text, "a%d,b%d,c%d", rank, rank, rank);
  const char *part = strtok(text, ",");
  for (int i = 0; i < 3; i++) {
    snprintf(expected, sizeof expected, "%c%d", 'a' + i, rank);
    CHECK(part != NULL && strcmp(part, expected) == 0);
    MPI_Barrier(MPI_COMM_WORLD);
    part = strtok(NULL, ",");
  }
  CHECK(part == NULL);
}

/* errno belongs to the thread; its address is asked for afresh each time. */
__attribute__((noinline)) static void set_errno(int value) { errno = value; }
__attribute__((noinline)) static int get_errno(void) { return errno; }
static void (*volatile set)(int) = set_errno;
static int (*volatile get)(void) = get_errno;

int main(int argc, char **argv) {
  int size, rank = check_start(&argc, &argv, &size);
  touch(rank);
  set(1000 + rank);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(get() == 1000 + rank);
  check_still(rank);
  check_rand();
  check_strtok(rank);
  argv[0][0] = 'x'; /* arguments are the rank's own */
  MPI_Barrier(MPI_COMM_WORLD);
  check_still(rank);
  MPI_Finalize();
  return 0;
}
