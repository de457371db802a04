/* SPDX-License-Identifier: Apache-2.0 */
/* Broadcasts of few and of many bytes, by roots in a random order, among other collectives, while
 * ranks come late now and then. A root changes its buffer as soon as it continues, so a member that
 * had not copied by then finds wrong bytes. */
#include <string.h>
#include <unistd.h>

#include "check.h"

enum { ROUNDS = 300, SMALL = 16384, LONGEST = 3 * SMALL, OUTSTANDING = 4, LATE_EVERY = 16 };

static unsigned seed = 1; /* the same in all */

static unsigned draw(unsigned below) {
  seed = seed * 1103515245u + 12345u;
  return (seed >> 16) % below;
}

/* On both sides of the limit, and of a page; most are any number. */
static int draw_size(void) {
  static const int sizes[] = {0, 1, 256, 257, SMALL - 1, SMALL, SMALL + 1, LONGEST};
  unsigned choice = draw(16);
  return choice < 8 ? sizes[choice] : (int)draw(LONGEST);
}

static unsigned char value(int round, int root, int i) {
  return (unsigned char)(round * 7 + root * 101 + i * 13 + i / 256);
}

static void fill(unsigned char *bytes, int count, int round, int root) {
  for (int i = 0; i < count; i++) bytes[i] = value(round, root, i);
}

static void expect(const unsigned char *bytes, int count, int round, int root) {
  for (int i = 0; i < count; i++) CHECK(bytes[i] == value(round, root, i));
}

/* One of the ranks comes late. */
static void come(int rank, int size) {
  unsigned late = draw((unsigned)size), when = draw(LATE_EVERY);
  if (when == 0 && late == (unsigned)rank) usleep(200);
}

static void random_rounds(int rank, int size) {
  static unsigned char bytes[LONGEST];
  for (int round = 0; round < ROUNDS; round++) {
    int root = (int)draw((unsigned)size), count = draw_size();
    unsigned between = draw(8);
    come(rank, size);
    if (rank == root) fill(bytes, count, round, root);
    MPI_Bcast(bytes, count, MPI_BYTE, root, MPI_COMM_WORLD);
    expect(bytes, count, round, root);
    memset(bytes, 0, sizeof bytes);
    int one = 1, sum = 0;
    if (between == 0) MPI_Barrier(MPI_COMM_WORLD);
    if (between == 1) {
      MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
      CHECK(sum == size);
    }
  }
}

/* Every second number, where the root sends them one after the other. */
static void other_types(int rank, int size) {
  enum { NUMBERS = 8192 };
  static int numbers[2 * NUMBERS];
  MPI_Datatype every_second;
  MPI_Type_vector(NUMBERS, 1, 2, MPI_INT, &every_second);
  MPI_Type_commit(&every_second);
  for (int root = 0; root < size; root++) {
    for (int i = 0; i < 2 * NUMBERS; i++) numbers[i] = rank == root ? root + i : -1;
    if (rank == root)
      MPI_Bcast(numbers, NUMBERS, MPI_INT, root, MPI_COMM_WORLD);
    else
      MPI_Bcast(numbers, 1, every_second, root, MPI_COMM_WORLD);
    for (int i = 0; rank != root && i < NUMBERS; i++)
      CHECK(numbers[2 * i] == root + i && numbers[2 * i + 1] == -1);
  }
  MPI_Type_free(&every_second);
}

static void several_at_once(int rank, int size) {
  static unsigned char bytes[OUTSTANDING][LONGEST];
  MPI_Request requests[OUTSTANDING];
  for (int i = 0; i < OUTSTANDING; i++) {
    int root = i % size;
    if (rank == root) fill(bytes[i], LONGEST, i, root);
    MPI_Ibcast(bytes[i], LONGEST, MPI_BYTE, root, MPI_COMM_WORLD, &requests[i]);
  }
  MPI_Waitall(OUTSTANDING, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; i < OUTSTANDING; i++) expect(bytes[i], LONGEST, i, i % size);
}

static void too_long(int rank) {
  static unsigned char bytes[LONGEST];
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  if (rank == 0) fill(bytes, LONGEST, 1, 0);
  int count = rank == 0 ? LONGEST : LONGEST - 100;
  int error = MPI_Bcast(bytes, count, MPI_BYTE, 0, comm);
  check_class(__FILE__, __LINE__, "MPI_Bcast", rank == 0 ? MPI_SUCCESS : MPI_ERR_TRUNCATE, error);
  expect(bytes, count, 1, 0);
  if (rank != 0) CHECK(bytes[count] == 0);
  MPI_Comm_free(&comm);
}

/* Members do not wait for each other: the last one comes only when the one before it, which has its
 * bytes already, sends it a message. A node's first member waits for others, as a root does. */
static void late_member(int rank, int size) {
  static unsigned char bytes[LONGEST];
  int token = 0, first = check_first_of_node(rank);
  if (size < 3) return;
  MPI_Bcast(&first, 1, MPI_INT, size - 2, MPI_COMM_WORLD);
  if (first == size - 2) return;
  if (rank == 0) fill(bytes, LONGEST, 2, 0);
  if (rank == size - 1)
    MPI_Recv(&token, 1, MPI_INT, size - 2, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Bcast(bytes, LONGEST, MPI_BYTE, 0, MPI_COMM_WORLD);
  expect(bytes, LONGEST, 2, 0);
  if (rank == size - 2) MPI_Send(&token, 1, MPI_INT, size - 1, 1, MPI_COMM_WORLD);
}

int main(int argc, char **argv) {
  int size, rank = check_start(&argc, &argv, &size);
  random_rounds(rank, size);
  other_types(rank, size);
  several_at_once(rank, size);
  too_long(rank);
  late_member(rank, size);
  MPI_Finalize();
}
