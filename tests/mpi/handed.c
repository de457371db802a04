/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of many bytes whose receiver waits, and whose sender continues: the receiver copies
 * them. Sizes are on both sides of the limit. A sender changes its buffer when its send is
 * complete, so a receiver that copies later finds wrong bytes. With the argument "one-vp": the
 * sender of such a message has not copied it. */
#include <stdint.h>
#include <string.h>

#include "check.h"

enum { ROUNDS = 200, LIMIT = 16384, LONGEST = 3 * LIMIT, OUTSTANDING = 8 };

static unsigned seed = 1; /* the same in all */

static unsigned draw(unsigned below) {
  seed = seed * 1103515245u + 12345u;
  return (seed >> 16) % below;
}

static int draw_size(void) {
  static const int sizes[] = {0, 8, LIMIT - 1, LIMIT, LIMIT + 1, LONGEST};
  unsigned choice = draw(12);
  return choice < 6 ? sizes[choice] : (int)draw(LONGEST);
}

static unsigned char value(int round, int from, int i) {
  return (unsigned char)(round * 11 + from * 103 + i * 13 + i / 256);
}

static void fill(unsigned char *bytes, int count, int round, int from) {
  for (int i = 0; i < count; i++) bytes[i] = value(round, from, i);
}

static void expect(const unsigned char *bytes, int count, int round, int from) {
  for (int i = 0; i < count; i++) CHECK(bytes[i] == value(round, from, i));
}

/* In each round one rank sends to all others, and completes what it sent some rounds before. */
static void from_one(int rank, int size) {
  static unsigned char sent[OUTSTANDING][LONGEST], received[LONGEST];
  MPI_Request *requests = malloc((size_t)size * OUTSTANDING * sizeof(MPI_Request));
  for (int i = 0; i < size * OUTSTANDING; i++) requests[i] = MPI_REQUEST_NULL;
  for (int round = 0; round < ROUNDS; round++) {
    int root = (int)draw((unsigned)size), count = draw_size(), slot = round % OUTSTANDING;
    unsigned synchronous = draw(2);
    MPI_Request *own = requests + slot * size;
    if (rank != root) {
      MPI_Status status;
      int got = -1;
      MPI_Recv(received, LONGEST, MPI_BYTE, root, round, MPI_COMM_WORLD, &status);
      MPI_Get_count(&status, MPI_BYTE, &got);
      CHECK(got == count && status.MPI_SOURCE == root && status.MPI_TAG == round);
      expect(received, count, round, root);
      continue;
    }
    MPI_Waitall(size, own, MPI_STATUSES_IGNORE);
    fill(sent[slot], count, round, root);
    for (int i = 0; i < size; i++) {
      if (i == rank) continue;
      if (synchronous)
        MPI_Issend(sent[slot], count, MPI_BYTE, i, round, MPI_COMM_WORLD, &own[i]);
      else
        MPI_Isend(sent[slot], count, MPI_BYTE, i, round, MPI_COMM_WORLD, &own[i]);
    }
  }
  MPI_Waitall(size * OUTSTANDING, requests, MPI_STATUSES_IGNORE);
  free(requests);
}

/* To the next rank, to the one opposite, and to itself. */
static void exchanges(int rank, int size) {
  static unsigned char own[LONGEST], other[LONGEST];
  for (int round = 0; round < ROUNDS; round++) {
    int count = draw_size(), shift = (int)draw((unsigned)size);
    int to = (rank + shift) % size, from = (rank - shift + size) % size;
    fill(own, count, round, rank);
    memset(other, 0, sizeof other);
    MPI_Sendrecv(own, count, MPI_BYTE, to, round, other, LONGEST, MPI_BYTE, from, round,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    expect(other, count, round, from);
  }
}

/* Every second number goes to where numbers stand one after the other. */
static void other_types(int rank, int size) {
  enum { NUMBERS = 8192 };
  static int own[2 * NUMBERS], other[NUMBERS];
  MPI_Datatype every_second;
  MPI_Type_vector(NUMBERS, 1, 2, MPI_INT, &every_second);
  MPI_Type_commit(&every_second);
  for (int i = 0; i < NUMBERS; i++) own[2 * i] = rank + i;
  int before = (rank - 1 + size) % size;
  MPI_Sendrecv(own, 1, every_second, (rank + 1) % size, 0, other, NUMBERS, MPI_INT, before, 0,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (int i = 0; i < NUMBERS; i++) CHECK(other[i] == before + i);
  MPI_Type_free(&every_second);
}

static void too_long(int rank) {
  static unsigned char bytes[LONGEST];
  MPI_Comm comm;
  MPI_Request request;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  if (rank == 0) {
    MPI_Isend(bytes, LONGEST, MPI_BYTE, 1, 0, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  if (rank == 1)
    EXPECT(MPI_ERR_TRUNCATE, MPI_Recv(bytes, LONGEST - 1, MPI_BYTE, 0, 0, comm, MPI_STATUS_IGNORE));
  MPI_Comm_free(&comm);
}

/* Rank 1 waits when rank 0 sends: nothing else runs between its two calls. */
static void look_at_copy(int rank) {
  static volatile unsigned char bytes[LONGEST];
  uintptr_t address = (uintptr_t)bytes;
  if (rank == 1) {
    MPI_Send(&address, sizeof address, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
    MPI_Recv((void *)(uintptr_t)bytes, LONGEST, MPI_BYTE, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(bytes[0] == 1 && bytes[LONGEST - 1] == 1);
  } else if (rank == 0) {
    MPI_Request request;
    MPI_Recv(&address, sizeof address, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    memset((void *)(uintptr_t)bytes, 1, sizeof bytes);
    MPI_Isend((const void *)(uintptr_t)bytes, LONGEST, MPI_BYTE, 1, 2, MPI_COMM_WORLD, &request);
    CHECK(*(volatile unsigned char *)address == 0);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(*(volatile unsigned char *)address == 1);
  }
}

int main(int argc, char **argv) {
  int size, one_vp = argc > 1 && strcmp(argv[1], "one-vp") == 0;
  int rank = check_start(&argc, &argv, &size);
  if (one_vp) {
    look_at_copy(rank);
  } else {
    from_one(rank, size);
    exchanges(rank, size);
    other_types(rank, size);
    too_long(rank);
  }
  MPI_Finalize();
}
