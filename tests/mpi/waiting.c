/* SPDX-License-Identifier: Apache-2.0 */
/* Two ranks wait for each other, again and again, each time in the call that is named:
 * waiting CALL ROUNDS. Numbers go there and back, and are what they should be. */
#include <string.h>

#include "check.h"

enum { TAG = 5, LARGE = 10000 };

static int rank, other, number;
static int large[LARGE]; /* more than is sent ahead */

/* ---- waiting for a number */

static void receive(void) {
  MPI_Recv(&number, 1, MPI_INT, other, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void receive_any(void) {
  MPI_Recv(&number, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static MPI_Request start(void) {
  MPI_Request request;
  MPI_Irecv(&number, 1, MPI_INT, other, TAG, MPI_COMM_WORLD, &request);
  return request;
}

static void wait_one(void) {
  MPI_Request request = start();
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void wait_all(void) {
  MPI_Request requests[3] = {MPI_REQUEST_NULL, start(), MPI_REQUEST_NULL};
  MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
}

/* Of the other, nothing comes. */
static MPI_Request never(int *room) {
  MPI_Request request;
  MPI_Irecv(room, 1, MPI_INT, other, TAG + 1, MPI_COMM_WORLD, &request);
  return request;
}

static void forget(MPI_Request *request) {
  MPI_Cancel(request);
  MPI_Wait(request, MPI_STATUS_IGNORE);
}

static void wait_any(void) {
  int room, index;
  MPI_Request requests[2] = {never(&room), start()};
  MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
  CHECK(index == 1);
  forget(&requests[0]);
}

static void wait_some(void) {
  int room, count, indices[2];
  MPI_Request requests[2] = {start(), never(&room)};
  MPI_Waitsome(2, requests, &count, indices, MPI_STATUSES_IGNORE);
  CHECK(count == 1 && indices[0] == 0);
  forget(&requests[1]);
}

static void probe(void) {
  MPI_Probe(other, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  receive();
}

static void matched_probe(void) {
  MPI_Message message;
  MPI_Mprobe(MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
  MPI_Mrecv(&number, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
}

static void there_and_back(void (*come)(void), int round) {
  int own = round * 10 + rank;
  if (rank == 0) MPI_Send(&own, 1, MPI_INT, other, TAG, MPI_COMM_WORLD);
  come();
  CHECK(number == round * 10 + other);
  if (rank == 1) MPI_Send(&own, 1, MPI_INT, other, TAG, MPI_COMM_WORLD);
}

/* ---- waiting in other ways: each both ranks at a time */

static void exchange(int round) {
  int own = round * 10 + rank;
  MPI_Sendrecv(&own, 1, MPI_INT, other, TAG, &number, 1, MPI_INT, other, TAG, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  CHECK(number == round * 10 + other);
}

/* A large message waits for its receiver. */
static void send_large(int round) {
  large[LARGE - 1] = round;
  if (rank == 0) MPI_Send(large, LARGE, MPI_INT, other, TAG, MPI_COMM_WORLD);
  if (rank == 1) MPI_Recv(large, LARGE, MPI_INT, other, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK(large[LARGE - 1] == round);
}

static void send_synchronously(int round) {
  if (rank == 0) MPI_Ssend(&round, 1, MPI_INT, other, TAG, MPI_COMM_WORLD);
  if (rank == 1) receive();
  CHECK(rank == 0 || number == round);
}

static void barrier(int round) {
  (void)round;
  MPI_Barrier(MPI_COMM_WORLD);
}

static void bcast(int round) {
  number = rank == round % 2 ? round : -1;
  MPI_Bcast(&number, 1, MPI_INT, round % 2, MPI_COMM_WORLD);
  CHECK(number == round);
}

static void allreduce(int round) {
  int own = rank * 100 + round;
  MPI_Allreduce(&own, &number, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  CHECK(number == 100 + 2 * round);
}

static const struct {
  const char *name;
  void (*come)(void);
  void (*both)(int round);
} ways[] = {
    {"recv", receive, NULL},     {"recv-any", receive_any, NULL},     {"wait", wait_one, NULL},
    {"waitall", wait_all, NULL}, {"waitany", wait_any, NULL},         {"waitsome", wait_some, NULL},
    {"probe", probe, NULL},      {"mprobe", matched_probe, NULL},     {"sendrecv", NULL, exchange},
    {"send", NULL, send_large},  {"ssend", NULL, send_synchronously}, {"barrier", NULL, barrier},
    {"bcast", NULL, bcast},      {"allreduce", NULL, allreduce},
};

int main(int argc, char **argv) {
  int size;
  rank = check_start(&argc, &argv, &size);
  other = 1 - rank;
  CHECK(size == 2 && argc == 3);
  int rounds = atoi(argv[2]), found = 0;
  for (size_t w = 0; w < sizeof ways / sizeof ways[0]; w++) {
    if (strcmp(ways[w].name, argv[1]) != 0) continue;
    found = 1;
    for (int i = 0; i < rounds; i++)
      if (ways[w].both != NULL)
        ways[w].both(i);
      else
        there_and_back(ways[w].come, i);
  }
  CHECK(found);
  MPI_Finalize();
  return 0;
}
