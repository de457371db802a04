/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks of ranks: what stacks.py looks at. */
#include <stdint.h>
#include <string.h>

#include "check.h"

static int is(const char *word, const char *argument) { return strcmp(word, argument) == 0; }

/* Touches only the low end of a large frame: without probes it would jump over any guard. */
__attribute__((noinline)) static void use_low_end(size_t size) {
  volatile char large[size];
  for (int i = 0; i < 64; i++) large[i] = 'X';
  __asm__ volatile("" : : "r"(large) : "memory");
}

/* A frame so large that it ends in the neighbour's stack. */
static void jump_into_neighbour(int rank) {
  volatile char mine[4096];
  uintptr_t first = (uintptr_t)mine;
  memset((void *)(uintptr_t)mine, 'm', sizeof mine);
  MPI_Bcast(&first, sizeof first, MPI_BYTE, 0, MPI_COMM_WORLD);
  if (rank == 1) {
    uintptr_t own = (uintptr_t)mine;
    use_low_end((own > first ? own - first : first - own) - 1024);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  for (size_t i = 0; i < sizeof mine; i++) CHECK(mine[i] == 'm');
}

void fill(size_t size);

__attribute__((noinline)) void fill(size_t size) {
  volatile char large[size];
  memset((void *)(uintptr_t)large, 1, size);
  CHECK(large[size / 2] == 1);
}

int main(int argc, char **argv) {
  int size, rank = check_start(&argc, &argv, &size);
  if (is(argv[1], "jump")) jump_into_neighbour(rank);
  if (is(argv[1], "fill")) fill((size_t)atol(argv[2]) << 20);
  MPI_Finalize();
  return 0;
}
