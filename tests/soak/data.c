/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers of messages, and how they lie in memory. */
#include <stdlib.h>

#include "soak.h"

enum { GAP = -77, BLOCK = 3, PERIOD = 5 };

static int number(int id, int i) {
  return (int)((unsigned)id * 2654435761u + (unsigned)i * 40503u);
}

/* Where number i lies, in ints. */
static int place(enum layout layout, int i) {
  if (layout == STRIDED) return 2 * i;
  return layout == BLOCKS ? i / BLOCK * PERIOD + i % BLOCK : i;
}

static int room(const struct data *data) { return place(data->layout, data->count) + PERIOD; }

static void make_blocks(struct data *data) {
  int blocks = (data->count + BLOCK - 1) / BLOCK;
  int *lengths = malloc(2 * ((size_t)blocks + 1) * sizeof *lengths);
  if (lengths == NULL) fail("no memory");
  int *places = lengths + blocks + 1;
  for (int b = 0; b < blocks; b++) {
    lengths[b] = b + 1 < blocks ? BLOCK : data->count - b * BLOCK;
    places[b] = b * PERIOD;
  }
  MPI_Type_indexed(blocks, lengths, places, MPI_INT, &data->type);
  free(lengths);
}

void data_make(struct data *data, enum layout layout, int count) {
  data->layout = layout;
  data->count = count;
  data->elements = 1;
  if (layout == DENSE) {
    data->type = MPI_INT;
    data->elements = count;
  } else if (layout == STRIDED) {
    MPI_Type_vector(count, 1, 2, MPI_INT, &data->type);
  } else if (layout == BLOCKS) {
    make_blocks(data);
  } else {
    MPI_Type_contiguous(count, MPI_INT, &data->type);
  }
  if (layout != DENSE) MPI_Type_commit(&data->type);
  data->memory = malloc((size_t)room(data) * sizeof *data->memory);
  if (data->memory == NULL) fail("no memory");
  for (int i = 0; i < room(data); i++) data->memory[i] = GAP;
}

void data_fill(struct data *data, int id) {
  for (int i = 0; i < data->count; i++) data->memory[place(data->layout, i)] = number(id, i);
}

void data_check(const struct data *data, int id, int count) {
  int next = 0; /* the number whose place has not been passed yet */
  for (int at = 0; at < room(data); at++) {
    bool is_number = next < count && at == place(data->layout, next);
    int expected = is_number ? number(id, next) : GAP;
    if (data->memory[at] != expected)
      fail("message %d, %d numbers: at %d is %d in place of %d", id, count, at, data->memory[at],
           expected);
    next += is_number;
  }
}

void data_free(struct data *data) {
  if (data->layout != DENSE) MPI_Type_free(&data->type);
  free(data->memory);
}
