/* SPDX-License-Identifier: Apache-2.0 */
/* The six programs. They stand in for the thesis's SPEC2000 programs: fp for Art, integer for
 * Crafty, branchy for Vpr, cache for Vortex, memory for Mesa, mixed for Equake. */
#include "loads.h"

#include <stdlib.h>

/* xorshift64: a full period over all values but 0. */
static uint64_t next_random(uint64_t *state) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return *state;
}

static void *memory_of(size_t bytes) {
  void *memory = malloc(bytes);
  if (!memory) {
    abort(); /* less work done would be a shorter time, and a wrong one */
  }
  return memory;
}

uint64_t load_fp(void) {
  double a[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  for (int i = 0; i < 6000000; i++) {
    for (int j = 0; j < 8; j++) {
      a[j] = a[j] * 0.999999 + 0.5;
    }
  }
  double sum = 0;
  for (int j = 0; j < 8; j++) {
    sum += a[j];
  }
  return (uint64_t)sum;
}

uint64_t load_integer(void) {
  uint64_t state = 88172645463325252u, sum = 0;
  for (int i = 0; i < 40000000; i++) {
    uint64_t board = next_random(&state);
    sum += (board & (board << 9)) ^ (board >> 7 | (uint64_t)i);
  }
  return sum;
}

uint64_t load_branchy(void) {
  uint64_t state = 88172645463325252u, left = 0, right = 0;
  for (int i = 0; i < 12000000; i++) {
    uint64_t move = next_random(&state);
    if (move & 1) {
      left += move >> 3;
      if (move & 2) {
        right ^= left;
      }
    } else if (move & 4) {
      right += move >> 5;
    } else {
      left ^= right * 3;
    }
  }
  return left ^ right;
}

uint64_t load_cache(void) {
  enum { SLOTS = 1 << 15 }; /* 256 KiB */
  uint64_t *table = memory_of(SLOTS * sizeof(*table));
  uint64_t state = 88172645463325252u, sum = 0;
  for (int i = 0; i < SLOTS; i++) {
    table[i] = next_random(&state);
  }
  for (int i = 0; i < 24000000; i++) {
    uint64_t *slot = &table[(sum + (uint64_t)i * 7919) % SLOTS];
    sum += *slot;
    *slot ^= (uint64_t)i;
  }
  free(table);
  return sum;
}

uint64_t load_memory(void) {
  enum {
    CELLS = 1 << 22
  }; /* 64 MiB of cells, a cache line of 16 bytes used in each step at most */
  struct cell {
    uint32_t next, value[3];
  } *cells = memory_of(CELLS * sizeof(*cells));
  uint64_t sum = 0;
  for (uint32_t i = 0; i < CELLS; i++) {
    cells[i] = (struct cell){.next = (uint32_t)((i * 2654435761u + 12345) % CELLS), .value = {i}};
  }
  uint32_t at = 0;
  for (int i = 0; i < 3000000; i++) {
    at = (cells[at].next + (uint32_t)i) % CELLS;
    sum += cells[at].value[0];
  }
  free(cells);
  return sum;
}

uint64_t load_mixed(void) {
  enum { ROWS = 60000, PER_ROW = 12, ROUNDS = 20 };
  double *x = memory_of(ROWS * sizeof(*x)), *y = memory_of(ROWS * sizeof(*y));
  uint32_t *column = memory_of(sizeof(*column) * ROWS * PER_ROW);
  uint64_t state = 88172645463325252u;
  for (int i = 0; i < ROWS; i++) {
    x[i] = 1.0 / (i + 1);
    for (int j = 0; j < PER_ROW; j++) {
      column[i * PER_ROW + j] = (uint32_t)(next_random(&state) % ROWS);
    }
  }
  double sum = 0;
  for (int round = 0; round < ROUNDS; round++) {
    for (int i = 0; i < ROWS; i++) {
      double dot = 0;
      for (int j = 0; j < PER_ROW; j++) {
        dot += x[column[i * PER_ROW + j]] * (j + 1);
      }
      y[i] = dot / 78;
    }
    sum += y[round];
    double *swap = x;
    x = y;
    y = swap;
  }
  free(x);
  free(y);
  free(column);
  return (uint64_t)(sum * 1e12);
}
