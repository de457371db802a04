/* SPDX-License-Identifier: Apache-2.0 */
/* Partitioned messages between nodes. */
#include <stdbool.h>
#include <string.h>

#include "check.h"
#include "shared_by_nodes.h"

enum { ROUNDS = 3 };

/* What the sender's element i is in a round of a channel. */
static int value_of(int channel, int round, int i) { return channel * 100000000 + round * 7 + i; }

/* A channel from a rank to another, of `parts` partitions of `each` elements at the sender. */
struct shape {
  int parts, each;   /* of the send */
  int taken;         /* partitions of the receive */
  bool gaps;         /* every second element */
  bool sender_first; /* MPI_Start() of the send comes first */
};

static MPI_Datatype element(const struct shape *s) {
  MPI_Datatype type, wide;
  MPI_Type_contiguous(1, MPI_INT, &type);
  MPI_Type_create_resized(type, 0, s->gaps ? 2 * (int)sizeof(int) : (int)sizeof(int), &wide);
  MPI_Type_commit(&wide);
  MPI_Type_free(&type);
  return wide;
}

static void send_rounds(const struct shape *s, int channel, int to, int *data, MPI_Comm comm) {
  MPI_Request request;
  MPI_Datatype type = element(s);
  int step = s->gaps ? 2 : 1;
  MPI_Psend_init(data, s->parts, s->each, type, to, 5, comm, MPI_INFO_NULL, &request);
  for (int round = 0; round < ROUNDS; round++) {
    if (!s->sender_first) MPI_Recv(NULL, 0, MPI_INT, to, 6, comm, MPI_STATUS_IGNORE);
    MPI_Start(&request);
    if (s->sender_first) MPI_Send(NULL, 0, MPI_INT, to, 6, comm);
    for (int part = s->parts - 1; part >= 0; part--) {
      for (int i = part * s->each; i < (part + 1) * s->each; i++)
        data[i * step] = value_of(channel, round, i);
      MPI_Pready(part, request);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    memset(data, -1, sizeof *data * (size_t)(step * s->parts * s->each));
  }
  MPI_Request_free(&request);
  MPI_Type_free(&type);
}

static void receive_rounds(const struct shape *s, int channel, int from, int *data, MPI_Comm comm) {
  MPI_Request request;
  MPI_Datatype type = element(s);
  MPI_Status status;
  int all = s->parts * s->each, step = s->gaps ? 2 : 1, flag = 0, count;
  MPI_Precv_init(data, s->taken, all / s->taken, type, from, 5, comm, MPI_INFO_NULL, &request);
  for (int round = 0; round < ROUNDS; round++) {
    memset(data, 0, sizeof *data * (size_t)(step * all));
    if (s->sender_first) MPI_Recv(NULL, 0, MPI_INT, from, 6, comm, MPI_STATUS_IGNORE);
    MPI_Start(&request);
    if (!s->sender_first) MPI_Send(NULL, 0, MPI_INT, from, 6, comm);
    while (!flag) MPI_Parrived(request, s->taken - 1, &flag);
    flag = 0;
    for (int i = all - all / s->taken; i < all; i++)
      CHECK(data[i * step] == value_of(channel, round, i));
    MPI_Wait(&request, &status);
    MPI_Get_count(&status, type, &count);
    CHECK(count == all && status.MPI_SOURCE == from && status.MPI_TAG == 5);
    for (int i = 0; i < all; i++) CHECK(data[i * step] == value_of(channel, round, i));
    for (int i = 0; s->gaps && i < all; i++) CHECK(data[2 * i + 1] == 0);
  }
  MPI_Request_free(&request);
  MPI_Type_free(&type);
}

/* Ranks of the lower half send to the ones of the upper half, and then the reverse. */
static void one_channel(int rank, int size, const struct shape *s) {
  int peer = (rank + size / 2) % size, all = s->parts * s->each;
  int *data = calloc((size_t)(2 * all), sizeof *data);
  for (int turn = 0; turn < 2; turn++) {
    if ((rank < size / 2) == (turn == 0))
      send_rounds(s, rank, peer, data, MPI_COMM_WORLD);
    else
      receive_rounds(s, peer, peer, data, MPI_COMM_WORLD);
  }
  free(data);
}

/* Channels of one envelope meet in the order of the calls, and no other message meets them. */
static void several_channels(int rank, int size) {
  enum { MANY = 4 };
  int out[MANY], in[MANY] = {0}, other = -1, peer = (rank + size / 2) % size;
  MPI_Request sends[MANY], receives[MANY], plain;
  MPI_Irecv(&other, 1, MPI_INT, peer, MPI_ANY_TAG, MPI_COMM_WORLD, &plain);
  for (int i = 0; i < MANY; i++) {
    out[i] = 10 * rank + i;
    MPI_Psend_init(&out[i], 1, 1, MPI_INT, peer, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &sends[i]);
  }
  if (rank < size / 2) MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < MANY; i++)
    MPI_Precv_init(&in[i], 1, 1, MPI_INT, peer, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &receives[i]);
  if (rank >= size / 2) MPI_Barrier(MPI_COMM_WORLD);
  for (int i = MANY - 1; i >= 0; i--) {
    MPI_Start(&sends[i]);
    MPI_Pready(0, sends[i]);
    MPI_Start(&receives[MANY - 1 - i]);
  }
  MPI_Waitall(MANY, receives, MPI_STATUSES_IGNORE);
  MPI_Waitall(MANY, sends, MPI_STATUSES_IGNORE);
  for (int i = 0; i < MANY; i++) CHECK(in[i] == 10 * peer + i);
  MPI_Send(&rank, 1, MPI_INT, peer, 1, MPI_COMM_WORLD);
  MPI_Wait(&plain, MPI_STATUS_IGNORE);
  CHECK(other == peer);
  for (int i = 0; i < MANY; i++) MPI_Request_free(&sends[i]);
  for (int i = 0; i < MANY; i++) MPI_Request_free(&receives[i]);
}

/* A receive that is shorter, and a send that no receive ever meets. */
static void odd_channels(int rank, int size) {
  int out[4] = {1, 2, 3, 4}, in[4] = {0}, peer = (rank + size / 2) % size;
  MPI_Request send, receive, alone;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Psend_init(out, 1, 1, MPI_INT, peer, 9, MPI_COMM_WORLD, MPI_INFO_NULL, &alone);
  MPI_Request_free(&alone);
  MPI_Psend_init(out, 4, 1, MPI_INT, peer, 2, MPI_COMM_WORLD, MPI_INFO_NULL, &send);
  MPI_Precv_init(in, 1, 3, MPI_INT, peer, 2, MPI_COMM_WORLD, MPI_INFO_NULL, &receive);
  MPI_Start(&send);
  MPI_Start(&receive);
  MPI_Pready_range(0, 3, send);
  EXPECT(MPI_ERR_TRUNCATE, MPI_Wait(&receive, MPI_STATUS_IGNORE));
  MPI_Wait(&send, MPI_STATUS_IGNORE);
  CHECK(in[0] == 1 && in[2] == 3 && in[3] == 0);
  MPI_Request_free(&send);
  MPI_Request_free(&receive);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

void partitioned(int rank, int size) {
  static const struct shape shapes[] = {{1, 1, 1, false, false},
                                        {8, 3, 4, false, true},
                                        {4, 60000, 16, false, false},
                                        {16, 30000, 4, true, true},
                                        {300, 5, 1, true, false}};
  for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) one_channel(rank, size, &shapes[i]);
  several_channels(rank, size);
  odd_channels(rank, size);
}
