/* SPDX-License-Identifier: Apache-2.0 */
/* Messages in a row between ranks of several nodes, which may leave together; nodes.py starts the
 * nodes. Each rank of the lower half sends to the one of the upper half with the same place.
 */
#include <string.h>
#include <unistd.h>

#include "check.h"

enum { MANY = 200, ROUNDS = 20, ROOM = 70000 };

/* Few bytes, none, what just may be joined, a byte more, and what its receiver fetches. */
static int bytes_of(int i) {
  static const int sizes[] = {8, 0, 1, 13, 8, 1024, 8, 1025, 8, 300, 8, 8, ROOM, 7};
  return sizes[i % (int)(sizeof sizes / sizeof sizes[0])];
}

static void fill(unsigned char *data, int i, int round) {
  for (int at = 0; at < bytes_of(i); at++) data[at] = (unsigned char)(at * 3 + i + 7 * round);
}

static void check_message(const unsigned char *data, int i, int round, const MPI_Status *status) {
  int count;
  MPI_Get_count(status, MPI_BYTE, &count);
  CHECK(count == bytes_of(i));
  for (int at = 0; at < count; at++) CHECK(data[at] == (unsigned char)(at * 3 + i + 7 * round));
}

/* One receive at a time gets the messages in the order of their sends, of whatever mode. */
static void in_order(int rank, int half, unsigned char *data) {
  MPI_Request requests[MANY];
  MPI_Status status;
  for (int round = 0; round < ROUNDS; round++) {
    for (int i = 0; i < MANY && rank < half; i++) {
      unsigned char *at = data + (size_t)i * ROOM;
      int mode = (i + round) % 10;
      fill(at, i, round);
      if (mode == 3)
        MPI_Issend(at, bytes_of(i), MPI_BYTE, rank + half, 0, MPI_COMM_WORLD, &requests[i]);
      else
        MPI_Isend(at, bytes_of(i), MPI_BYTE, rank + half, 0, MPI_COMM_WORLD, &requests[i]);
      if (mode == 5) MPI_Send(NULL, 0, MPI_BYTE, rank + half, 1, MPI_COMM_WORLD);
    }
    if (rank < half) MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < MANY && rank >= half; i++) {
      MPI_Recv(data, ROOM, MPI_BYTE, rank - half, 0, MPI_COMM_WORLD, &status);
      check_message(data, i, round, &status);
      if ((i + round) % 10 == 5)
        MPI_Recv(NULL, 0, MPI_BYTE, rank - half, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
  }
}

/* A packet has room for seven of them, and leaves before the eighth joins. */
static void in_full_packets(int rank, int half, unsigned char *data) {
  enum { KILOBYTE = 1024, FULL = 64 };
  MPI_Request requests[FULL];
  for (int round = 0; round < ROUNDS; round++) {
    if (rank < half) {
      for (int at = 0; at < FULL * KILOBYTE; at++)
        data[at] = (unsigned char)(at + at / KILOBYTE + round);
      for (int i = 0; i < FULL; i++)
        MPI_Isend(data + i * KILOBYTE, KILOBYTE, MPI_BYTE, rank + half, 3, MPI_COMM_WORLD,
                  &requests[i]);
      MPI_Waitall(FULL, requests, MPI_STATUSES_IGNORE);
      continue;
    }
    for (int i = 0; i < FULL; i++) {
      MPI_Recv(data, KILOBYTE, MPI_BYTE, rank - half, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      for (int at = 0; at < KILOBYTE; at++) CHECK(data[at] == (unsigned char)(at + i + round));
    }
  }
}

/* What is begun arrives while its rank waits for an answer: in a receive, a probe, a test. */
static void answered(int rank, int half) {
  for (int round = 0; round < ROUNDS; round++) {
    MPI_Request requests[4], answer;
    int out[4] = {round, round + 1, round + 2, round + 3}, in[4] = {0}, flag = 0;
    int peer = rank < half ? rank + half : rank - half;
    if (rank >= half) {
      for (int i = 0; i < 4; i++)
        MPI_Recv(&in[i], 1, MPI_INT, peer, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      for (int i = 0; i < 4; i++) CHECK(in[i] == round + i);
      MPI_Send(&in[3], 1, MPI_INT, peer, 9, MPI_COMM_WORLD);
      continue;
    }
    for (int i = 0; i < 4; i++)
      MPI_Isend(&out[i], 1, MPI_INT, peer, i, MPI_COMM_WORLD, &requests[i]);
    if (round % 3 == 1) MPI_Probe(peer, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Irecv(&in[0], 1, MPI_INT, peer, 9, MPI_COMM_WORLD, &answer);
    while (round % 3 == 2 && !flag) MPI_Test(&answer, &flag, MPI_STATUS_IGNORE);
    if (!flag) MPI_Wait(&answer, MPI_STATUS_IGNORE);
    CHECK(in[0] == round + 3);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
  }
}

/* It arrives, too, if its rank calls nothing of MPI after it: each receiver makes a file, for which
 * its sender looks. */
static void left_behind(int rank, int half, const char *folder) {
  enum { FEW = 5 };
  char name[4096];
  int data[FEW] = {1, 2, 3, 4, 5}, sum = 0;
  MPI_Request requests[FEW];
  snprintf(name, sizeof name, "%s/%d", folder, rank % half);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank < half) {
    for (int i = 0; i < FEW; i++)
      MPI_Isend(&data[i], 1, MPI_INT, rank + half, 0, MPI_COMM_WORLD, &requests[i]);
    while (access(name, F_OK) != 0) continue;
    MPI_Waitall(FEW, requests, MPI_STATUSES_IGNORE);
    return;
  }
  for (int i = 0; i < FEW; i++) {
    MPI_Recv(data, 1, MPI_INT, rank - half, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    sum += data[0];
  }
  CHECK(sum == 15);
  FILE *file = fopen(name, "w");
  CHECK(file != NULL && fclose(file) == 0);
}

/* Its receiver has tested many times before the message is sent. */
static void tested(int rank, int half, const char *folder) {
  enum { TESTS = 200, LOOK_US = 1000 };
  char name[4096];
  MPI_Request request;
  int got = 0, here = 0;
  snprintf(name, sizeof name, "%s/tested.%d", folder, rank % half);
  if (rank < half) {
    while (access(name, F_OK) != 0) usleep(LOOK_US);
    MPI_Send(&rank, 1, MPI_INT, rank + half, 3, MPI_COMM_WORLD);
    return;
  }
  MPI_Irecv(&got, 1, MPI_INT, rank - half, 3, MPI_COMM_WORLD, &request);
  for (int i = 0; !here; i++) {
    MPI_Test(&request, &here, MPI_STATUS_IGNORE);
    FILE *file = i == TESTS ? fopen(name, "w") : NULL;
    CHECK(i != TESTS || (file != NULL && fclose(file) == 0));
  }
  CHECK(got == rank - half);
}

/* Nobody waits for these but their receiver. The caller keeps what is sent. */
static void forgotten(int rank, int half, int data[10]) {
  MPI_Request request;
  int got;
  for (int i = 0; i < 10 && rank < half; i++) {
    data[i] = i;
    MPI_Isend(&data[i], 1, MPI_INT, rank + half, 2, MPI_COMM_WORLD, &request);
    MPI_Request_free(&request);
  }
  for (int i = 0; i < 10 && rank >= half; i++) {
    MPI_Recv(&got, 1, MPI_INT, rank - half, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(got == i);
  }
}

int main(int argc, char **argv) {
  int size, rank = check_start(&argc, &argv, &size), half = size / 2, kept[10];
  unsigned char *data = malloc((size_t)MANY * ROOM);
  CHECK(argc >= 2 && data != NULL);
  tested(rank, half, argv[1]);
  if (argc == 3) { /* that is all */
    if (rank == 0) puts("right");
    MPI_Finalize();
    free(data);
    return 0;
  }
  in_order(rank, half, data);
  in_full_packets(rank, half, data);
  answered(rank, half);
  left_behind(rank, half, argv[1]);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) puts("right");
  fflush(stdout);
  forgotten(rank, half, kept);
  MPI_Finalize();
  free(data);
  return 0;
}
