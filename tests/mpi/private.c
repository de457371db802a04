/* SPDX-License-Identifier: Apache-2.0 */
/* Each rank has its own globals and thread-locals. */
#include <errno.h>
#include <string.h>

#include "check.h"

enum { LARGE = 1 << 20 };

static int initialised = 42;
static int zero;
static char large[LARGE];
static int *pointer = &initialised;
static struct __attribute__((packed)) {
  char first;
  int *pointer; /* at an odd address */
} packed = {1, &initialised};
static _Thread_local int own_thread = 7;
int common; /* others could refer to it */

static void touch(int rank) {
  CHECK(initialised == 42 && zero == 0 && own_thread == 7 && common == 0);
  CHECK(pointer == &initialised && packed.pointer == &initialised);
  initialised = zero = own_thread = common = rank;
  memset(large, rank & 0x7f, sizeof large);
}

static void check_still(int rank) {
  CHECK(initialised == rank && zero == rank && own_thread == rank && common == rank);
  CHECK(*pointer == rank);
  for (size_t i = 0; i < sizeof large; i += 4096) CHECK(large[i] == (rank & 0x7f));
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
  argv[0][0] = 'x'; /* arguments are the rank's own */
  MPI_Barrier(MPI_COMM_WORLD);
  check_still(rank);
  MPI_Finalize();
  return 0;
}
