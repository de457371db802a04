/* SPDX-License-Identifier: Apache-2.0 */
/* What single operations of MPI take: an ordinary MPI program, for any library. */
#include "measure.h"

enum { MESSAGES = 64, LARGE_MESSAGES = 4 }; /* under way at a time */

/* ---- rows: each performs one operation; all ranks call it */

/* There and back, between the first two ranks. */
static void latency(void) {
  if (rank > 1) return;
  if (bytes > 0) mine[0] = mine[bytes - 1] = (char)round_number;
  if (rank == 0) MPI_Send(mine, bytes, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
  MPI_Recv(others, bytes, MPI_CHAR, 1 - rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  expect(others, round_number, bytes);
  if (rank == 1) MPI_Send(mine, bytes, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
}

/* The same by ranks that never sleep, so each keeps a CPU where there are two. */
static void polled(void) {
  if (rank > 1) return;
  MPI_Request request;
  int here = 0;
  if (bytes > 0) mine[0] = mine[bytes - 1] = (char)round_number;
  MPI_Irecv(others, bytes, MPI_CHAR, 1 - rank, 1, MPI_COMM_WORLD, &request);
  if (rank == 0) MPI_Send(mine, bytes, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
  while (!here) MPI_Test(&request, &here, MPI_STATUS_IGNORE);
  expect(others, round_number, bytes);
  if (rank == 1) MPI_Send(mine, bytes, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
}

/* Each to the next one. */
static void ring(void) {
  int next = (rank + 1) % size, before = (rank + size - 1) % size;
  if (bytes > 0) mine[0] = mine[bytes - 1] = (char)(round_number + rank);
  MPI_Sendrecv(mine, bytes, MPI_CHAR, next, 1, others, bytes, MPI_CHAR, before, 1, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  expect(others, (unsigned char)(round_number + before), bytes);
}

static void barrier(void) { MPI_Barrier(MPI_COMM_WORLD); }

static void bcast(void) {
  int root = round_number % size;
  if (rank == root && bytes > 0) mine[0] = mine[bytes - 1] = (char)round_number;
  MPI_Bcast(mine, bytes, MPI_CHAR, root, MPI_COMM_WORLD);
  expect(mine, round_number, bytes);
}

static void fill(double *numbers, int count) {
  for (int i = 0; checked && i < count; i++) numbers[i] = rank + round_number;
}

static void check_sum(const double *numbers, int count) {
  double sum = size * (size - 1.0) / 2 + (double)size * round_number;
  if (checked && count > 0) wrong += numbers[0] != sum || numbers[count - 1] != sum;
}

static void allreduce(void) {
  int count = bytes / 8;
  fill((double *)mine, count);
  MPI_Allreduce(mine, others, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  check_sum((double *)others, count);
}

static void reduce(void) {
  int count = bytes / 8, root = round_number % size;
  fill((double *)mine, count);
  MPI_Reduce(mine, others, count, MPI_DOUBLE, MPI_SUM, root, MPI_COMM_WORLD);
  if (rank == root) check_sum((double *)others, count);
}

static void allgather(void) {
  if (bytes > 0) mine[0] = mine[bytes - 1] = (char)(round_number + rank);
  MPI_Allgather(mine, bytes, MPI_CHAR, others, bytes, MPI_CHAR, MPI_COMM_WORLD);
  for (int i = 0; checked && i < size; i++)
    expect(others + (size_t)i * (size_t)bytes, (unsigned char)(round_number + i), bytes);
}

static void alltoall(void) {
  for (int i = 0; checked && i < size && bytes > 0; i++)
    mine[(size_t)i * (size_t)bytes] = mine[(size_t)(i + 1) * (size_t)bytes - 1] =
        (char)(round_number + rank + i);
  MPI_Alltoall(mine, bytes, MPI_CHAR, others, bytes, MPI_CHAR, MPI_COMM_WORLD);
  for (int i = 0; checked && i < size; i++)
    expect(others + (size_t)i * (size_t)bytes, (unsigned char)(round_number + rank + i), bytes);
}

/* Each rank of the first half sends that many messages at a time to one of the second, which
 * answers when all have come. */
static void stream_of(int count) {
  MPI_Request requests[MESSAGES];
  int half = size / 2;
  char answer = 0;
  if (rank >= 2 * half) return;
  for (int i = 0; i < count; i++) {
    char *part = mine + (size_t)i * (size_t)bytes;
    if (rank < half && bytes > 0) part[0] = part[bytes - 1] = (char)(round_number + i);
    if (rank < half)
      MPI_Isend(part, bytes, MPI_CHAR, rank + half, 1, MPI_COMM_WORLD, &requests[i]);
    else
      MPI_Irecv(part, bytes, MPI_CHAR, rank - half, 1, MPI_COMM_WORLD, &requests[i]);
  }
  MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
  if (rank < half) {
    MPI_Recv(&answer, 1, MPI_CHAR, rank + half, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return;
  }
  for (int i = 0; i < count; i++)
    expect(mine + (size_t)i * (size_t)bytes, (unsigned char)(round_number + i), bytes);
  MPI_Send(&answer, 1, MPI_CHAR, rank - half, 2, MPI_COMM_WORLD);
}

static void stream(void) { stream_of(MESSAGES); }
static void stream_large(void) { stream_of(LARGE_MESSAGES); }

/* What is measured is there before. */
static void nothing(void) {}

static const struct row rows[] = {
    {.name = "latency", .run = latency, .operations = 2},
    {.name = "polled", .run = polled, .operations = 2},
    {.name = "stream", .run = stream, .parts = MESSAGES, .operations = MESSAGES},
    {.name = "stream-large",
     .run = stream_large,
     .parts = LARGE_MESSAGES,
     .operations = LARGE_MESSAGES},
    {.name = "ring", .run = ring},
    {.name = "barrier", .run = barrier},
    {.name = "bcast", .run = bcast},
    {.name = "allreduce", .run = allreduce},
    {.name = "reduce", .run = reduce},
    {.name = "allgather", .run = allgather, .parts = PART_FOR_EACH_RANK},
    {.name = "alltoall", .run = alltoall, .parts = PART_FOR_EACH_RANK},
    {.name = "memory", .run = nothing},
    {.name = "start"},
};

int main(int argc, char **argv) {
  return measure_row(argc, argv, rows, sizeof rows / sizeof rows[0]);
}
