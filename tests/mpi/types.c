/* SPDX-License-Identifier: Apache-2.0 */
/* Derived types: what is sent from one layout arrives in another. */
#include <stddef.h>
#include <string.h>

#include "check.h"

enum { N = 8 };

/* Rank 0 sends a column of a matrix, rank 1 receives it as a row. */
static void column_to_row(int rank) {
  int matrix[N][N], row[N];
  MPI_Datatype column;
  MPI_Type_vector(N, 1, N, MPI_INT, &column);
  MPI_Type_commit(&column);
  for (int i = 0; i < N * N; i++) matrix[i / N][i % N] = i;
  if (rank == 0) MPI_Send(&matrix[0][3], 1, column, 1, 0, MPI_COMM_WORLD);
  if (rank == 1) {
    MPI_Recv(row, N, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < N; i++) CHECK(row[i] == i * N + 3);
  }
  MPI_Type_free(&column);
}

struct mixed {
  char letter;
  double value;
  int numbers[3];
};

static void structure(int rank) {
  struct mixed out[2] = {{'a', 1.5, {1, 2, 3}}, {'b', 2.5, {4, 5, 6}}}, in[2];
  static const int lengths[] = {1, 1, 3};
  static const MPI_Aint displs[] = {offsetof(struct mixed, letter), offsetof(struct mixed, value),
                                    offsetof(struct mixed, numbers)};
  const MPI_Datatype types[] = {MPI_CHAR, MPI_DOUBLE, MPI_INT};
  MPI_Datatype type;
  MPI_Aint lower, extent;
  MPI_Status status;
  int count, elements, size;
  MPI_Type_create_struct(3, lengths, displs, types, &type);
  MPI_Type_commit(&type);
  MPI_Type_get_extent(type, &lower, &extent);
  MPI_Type_size(type, &size);
  CHECK(lower == 0 && extent == sizeof(struct mixed) && size == 1 + 8 + 12);
  memset(in, 0, sizeof in);
  MPI_Sendrecv(out, 2, type, rank, 0, in, 2, type, rank, 0, MPI_COMM_WORLD, &status);
  for (int i = 0; i < 2; i++)
    CHECK(in[i].letter == out[i].letter && in[i].value == out[i].value &&
          memcmp(in[i].numbers, out[i].numbers, sizeof in[i].numbers) == 0);
  MPI_Get_count(&status, type, &count);
  MPI_Get_elements(&status, type, &elements);
  CHECK(count == 2 && elements == 10);
  MPI_Type_free(&type);
}

static void subarray(int rank) {
  static const int sizes[] = {4, 5}, subsizes[] = {2, 3}, starts[] = {1, 1};
  int array[4][5], packed[6], position = 0;
  char buffer[64];
  MPI_Datatype type;
  MPI_Type_create_subarray(2, sizes, subsizes, starts, MPI_ORDER_C, MPI_INT, &type);
  MPI_Type_commit(&type);
  for (int i = 0; i < 20; i++) array[i / 5][i % 5] = i;
  MPI_Sendrecv(array, 1, type, rank, 0, packed, 6, MPI_INT, rank, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  for (int i = 0; i < 6; i++) CHECK(packed[i] == (1 + i / 3) * 5 + 1 + i % 3);
  MPI_Pack(array, 1, type, buffer, sizeof buffer, &position, MPI_COMM_WORLD);
  CHECK(position == 24 && memcmp(buffer, packed, sizeof packed) == 0);
  memset(array, 0, sizeof array);
  position = 0;
  MPI_Unpack(buffer, sizeof buffer, &position, array, 1, type, MPI_COMM_WORLD);
  CHECK(array[1][1] == 6 && array[2][3] == 13 && array[0][0] == 0 && array[1][4] == 0);
  MPI_Type_free(&type);
}

/* Large and not contiguous, through the path where the receiver copies from the sender. */
static void large(int rank, int size) {
  enum { ITEMS = 20000 };
  static int out[2 * ITEMS], in[3 * ITEMS];
  MPI_Datatype every_second, every_third;
  int next = (rank + 1) % size, before = (rank + size - 1) % size;
  MPI_Type_vector(ITEMS, 1, 2, MPI_INT, &every_second);
  MPI_Type_vector(ITEMS, 1, 3, MPI_INT, &every_third);
  MPI_Type_commit(&every_second);
  MPI_Type_commit(&every_third);
  for (int i = 0; i < 2 * ITEMS; i++) out[i] = rank + i;
  memset(in, 0xff, sizeof in);
  MPI_Sendrecv(out, 1, every_second, next, 0, in, 1, every_third, before, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  for (int i = 0; i < ITEMS; i++) CHECK(in[3 * i] == before + 2 * i && in[3 * i + 1] == -1);
  MPI_Type_free(&every_second);
  MPI_Type_free(&every_third);
}

int main(int argc, char **argv) {
  int size, rank = check_start(&argc, &argv, &size);
  if (size > 1) column_to_row(rank);
  structure(rank);
  subarray(rank);
  large(rank, size);
  MPI_Finalize();
  return 0;
}
