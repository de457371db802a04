/* SPDX-License-Identifier: Apache-2.0 */
/* Partitioned messages: partitions of both sides that do not agree, derived types, several rounds,
 * several pthreads that mark partitions, either side first, and mistakes. */
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "check.h"

enum { ROUNDS = 4, ITEMS = 1680, THREADS = 4 };

static int rank, size;

/* ---- a ring: `from` partitions are sent, `to` partitions received, of items that lie `apart` and
 * `stride` integers from one another */

static int value(int round, int sender, int i) { return 1000000 * round + 10000 * sender + i; }

struct marker {
  MPI_Request send;
  int first, partitions;
};

static void *mark(void *argument) {
  const struct marker *marker = argument;
  for (int p = marker->first; p < marker->partitions; p += THREADS)
    CHECK(MPI_Pready(p, marker->send) == MPI_SUCCESS);
  return NULL;
}

static void mark_by_threads(MPI_Request send, int partitions) {
  pthread_t threads[THREADS];
  struct marker markers[THREADS];
  for (int i = 0; i < THREADS; i++) {
    markers[i] = (struct marker){send, i, partitions};
    CHECK(pthread_create(&threads[i], NULL, mark, &markers[i]) == 0);
  }
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
}

/* Ranks start their sides in one order or the other. */
static void run_round(int round, MPI_Request *both, int from, int to, int *out, int apart,
                      const int *in, int stride) {
  int left = (rank + size - 1) % size, flag;
  MPI_Status status;
  for (int i = 0; i < ITEMS; i++) out[i * apart] = value(round, rank, i);
  MPI_Start(&both[(rank + round) % 2]);
  MPI_Start(&both[(rank + round + 1) % 2]);
  if (round % 2 == 0)
    mark_by_threads(both[0], from);
  else
    CHECK(MPI_Pready_range(0, from - 1, both[0]) == MPI_SUCCESS);
  for (int p = to - 1; p >= 0; p--) {
    do CHECK(MPI_Parrived(both[1], p, &flag) == MPI_SUCCESS);
    while (!flag);
    int first = p * (ITEMS / to), last = first + ITEMS / to - 1;
    CHECK(in[first * stride] == value(round, left, first));
    CHECK(in[last * stride] == value(round, left, last));
  }
  MPI_Wait(&both[1], &status);
  MPI_Wait(&both[0], MPI_STATUS_IGNORE);
  MPI_Get_count(&status, MPI_INT, &flag);
  CHECK(flag == ITEMS && status.MPI_SOURCE == left && status.MPI_TAG == 5);
  for (int i = 0; i < ITEMS; i++) CHECK(in[i * stride] == value(round, left, i));
  CHECK(MPI_Parrived(both[1], 0, &flag) == MPI_SUCCESS && flag); /* it is not active */
}

static void ring(int from, int to, int apart, int stride) {
  static int out[3 * ITEMS], in[3 * ITEMS];
  int right = (rank + 1) % size, left = (rank + size - 1) % size;
  MPI_Request both[2];
  MPI_Datatype sent, type;
  MPI_Type_create_resized(MPI_INT, 0, apart * (int)sizeof(int), &sent);
  MPI_Type_create_resized(MPI_INT, 0, stride * (int)sizeof(int), &type);
  MPI_Type_commit(&sent);
  MPI_Type_commit(&type);
  memset(in, 0, sizeof in);
  if (rank % 2 == 0)
    MPI_Psend_init(out, from, ITEMS / from, sent, right, 5, MPI_COMM_WORLD, MPI_INFO_NULL,
                   &both[0]);
  MPI_Precv_init(in, to, ITEMS / to, type, left, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &both[1]);
  if (rank % 2 != 0)
    MPI_Psend_init(out, from, ITEMS / from, sent, right, 5, MPI_COMM_WORLD, MPI_INFO_NULL,
                   &both[0]);
  MPI_Type_free(&sent);
  MPI_Type_free(&type);
  for (int round = 0; round < ROUNDS; round++)
    run_round(round, both, from, to, out, apart, in, stride);
  MPI_Request_free(&both[0]);
  MPI_Request_free(&both[1]);
}

/* ---- two requests with the same envelope meet in the order in which they were made */

static void order(void) {
  int out[2] = {10 + rank, 20 + rank}, in[2] = {0, 0};
  int list[1] = {0}, right = (rank + 1) % size, left = (rank + size - 1) % size;
  MPI_Request requests[4];
  for (int i = 0; i < 2; i++)
    MPI_Psend_init(&out[i], 1, 1, MPI_INT, right, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[i]);
  for (int i = 0; i < 2; i++)
    MPI_Precv_init(&in[i], 1, 1, MPI_INT, left, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[2 + i]);
  MPI_Startall(4, requests);
  CHECK(MPI_Pready_list(1, list, requests[1]) == MPI_SUCCESS);
  MPI_Wait(&requests[3], MPI_STATUS_IGNORE);
  CHECK(in[0] == 0 && in[1] == 20 + left);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(MPI_Pready(0, requests[0]) == MPI_SUCCESS);
  MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
  CHECK(in[0] == 10 + left);
  for (int i = 0; i < 4; i++) MPI_Request_free(&requests[i]);
}

/* ---- what differs in tag, communicator or sender does not meet; nor does what was freed before */

static void start_and_mark(MPI_Request *send) {
  MPI_Start(send);
  CHECK(MPI_Pready(0, *send) == MPI_SUCCESS);
}

static void kept_apart(void) {
  enum { KINDS = 3 };
  int out[KINDS] = {1, 2, 3}, in[KINDS] = {0}, next = (rank + 1) % size;
  MPI_Comm comms[2];
  MPI_Request sends[KINDS], recvs[KINDS], never;
  MPI_Comm_dup(MPI_COMM_SELF, &comms[0]);
  MPI_Comm_dup(MPI_COMM_SELF, &comms[1]);
  MPI_Psend_init(&next, 1, 1, MPI_INT, 0, 5, comms[0], MPI_INFO_NULL, &never);
  MPI_Request_free(&never);
  MPI_Precv_init(&next, 1, 1, MPI_INT, 0, 5, comms[0], MPI_INFO_NULL, &never);
  MPI_Request_free(&never);
  for (int i = 0; i < KINDS; i++)
    MPI_Psend_init(&out[i], 1, 1, MPI_INT, 0, i == 0 ? 6 : 5, comms[i / 2], MPI_INFO_NULL,
                   &sends[i]);
  for (int i = KINDS - 1; i >= 0; i--)
    MPI_Precv_init(&in[i], 1, 1, MPI_INT, 0, i == 0 ? 6 : 5, comms[i / 2], MPI_INFO_NULL,
                   &recvs[i]);
  MPI_Startall(KINDS, recvs);
  for (int i = 0; i < KINDS; i++) start_and_mark(&sends[i]);
  MPI_Waitall(KINDS, sends, MPI_STATUSES_IGNORE);
  MPI_Waitall(KINDS, recvs, MPI_STATUSES_IGNORE);
  for (int i = 0; i < KINDS; i++) {
    CHECK(in[i] == out[i]);
    MPI_Request_free(&sends[i]);
    MPI_Request_free(&recvs[i]);
  }
  MPI_Comm_free(&comms[0]);
  MPI_Comm_free(&comms[1]);
}

/* Rank 0 receives from all, the last one first. */
static void senders(void) {
  enum { MOST = 16 };
  int in[MOST] = {0}, own = rank + 1;
  MPI_Request send, recvs[MOST];
  for (int i = size - 1; rank == 0 && i >= 0; i--)
    MPI_Precv_init(&in[i], 1, 1, MPI_INT, i, 7, MPI_COMM_WORLD, MPI_INFO_NULL, &recvs[i]);
  MPI_Psend_init(&own, 1, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_INFO_NULL, &send);
  if (rank == 0) MPI_Startall(size, recvs);
  start_and_mark(&send);
  MPI_Wait(&send, MPI_STATUS_IGNORE);
  if (rank == 0) MPI_Waitall(size, recvs, MPI_STATUSES_IGNORE);
  for (int i = 0; rank == 0 && i < size; i++) {
    CHECK(in[i] == i + 1);
    MPI_Request_free(&recvs[i]);
  }
  MPI_Request_free(&send);
}

/* Data that lie together, but not where their address says. */
static void displaced(void) {
  int out[6] = {0, 1, 2, 3, 4, 5}, in[6] = {-1, -1, -1, -1, -1, -1};
  const int length[] = {1}, two[] = {2};
  MPI_Datatype second, third;
  MPI_Request requests[2];
  MPI_Type_indexed(1, length, length, MPI_INT, &second);
  MPI_Type_indexed(1, length, two, MPI_INT, &third);
  MPI_Type_commit(&second);
  MPI_Type_commit(&third);
  MPI_Psend_init(out, 2, 2, second, 0, 0, MPI_COMM_SELF, MPI_INFO_NULL, &requests[0]);
  MPI_Precv_init(in, 2, 2, third, 0, 0, MPI_COMM_SELF, MPI_INFO_NULL, &requests[1]);
  MPI_Startall(2, requests);
  CHECK(MPI_Pready_range(0, 1, requests[0]) == MPI_SUCCESS);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; i < 6; i++) CHECK(in[i] == (i < 2 ? -1 : i - 1));
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
  MPI_Type_free(&second);
  MPI_Type_free(&third);
}

/* ---- nobody, nothing, and mistakes */

static void nobody(void) {
  int data = 0, flag = 0;
  MPI_Status status;
  MPI_Request requests[2];
  MPI_Psend_init(&data, 3, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_INFO_NULL,
                 &requests[0]);
  MPI_Precv_init(&data, 3, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_INFO_NULL,
                 &requests[1]);
  MPI_Startall(2, requests);
  CHECK(MPI_Pready(2, requests[0]) == MPI_SUCCESS);
  CHECK(MPI_Parrived(requests[1], 2, &flag) == MPI_SUCCESS && flag);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  MPI_Wait(&requests[1], &status);
  CHECK(status.MPI_SOURCE == MPI_PROC_NULL);
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
  flag = 0;
  CHECK(MPI_Parrived(MPI_REQUEST_NULL, 0, &flag) == MPI_SUCCESS && flag);
}

static void mistakes(void) {
  int data[2] = {0}, flag;
  MPI_Request send, recv, other;
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPI_Comm self = MPI_COMM_SELF;
  EXPECT(MPI_ERR_ARG, MPI_Psend_init(data, -1, 1, MPI_INT, 0, 0, self, MPI_INFO_NULL, &send));
  EXPECT(MPI_ERR_RANK, MPI_Psend_init(data, 1, 1, MPI_INT, 1, 0, self, MPI_INFO_NULL, &send));
  EXPECT(MPI_ERR_COUNT, MPI_Psend_init(data, 1, -1, MPI_INT, 0, 0, self, MPI_INFO_NULL, &send));
  EXPECT(MPI_ERR_RANK,
         MPI_Precv_init(data, 1, 1, MPI_INT, MPI_ANY_SOURCE, 0, self, MPI_INFO_NULL, &recv));
  EXPECT(MPI_ERR_TAG,
         MPI_Precv_init(data, 1, 1, MPI_INT, 0, MPI_ANY_TAG, self, MPI_INFO_NULL, &recv));
  MPI_Psend_init(data, 2, 1, MPI_INT, 0, 0, self, MPI_INFO_NULL, &send);
  MPI_Precv_init(data + 1, 1, 1, MPI_INT, 0, 0, self, MPI_INFO_NULL, &recv);
  MPI_Send_init(data, 1, MPI_INT, 0, 0, self, &other);
  EXPECT(MPI_ERR_REQUEST, MPI_Pready(0, send));
  MPI_Start(&send);
  EXPECT(MPI_ERR_ARG, MPI_Pready(2, send));
  EXPECT(MPI_ERR_ARG, MPI_Pready_range(0, 2, send));
  EXPECT(MPI_ERR_ARG, MPI_Pready_range(2, 1, send)); /* of none, the first of which is not there */
  EXPECT(MPI_ERR_REQUEST, MPI_Pready(0, recv));
  EXPECT(MPI_ERR_REQUEST, MPI_Pready(0, other));
  EXPECT(MPI_ERR_REQUEST, MPI_Parrived(send, 0, &flag));
  EXPECT(MPI_ERR_ARG, MPI_Parrived(recv, 1, &flag));
  CHECK(MPI_Pready(0, send) == MPI_SUCCESS);
  EXPECT(MPI_ERR_ARG, MPI_Pready(0, send));
  EXPECT(MPI_ERR_REQUEST, MPI_Start(&send));
  MPI_Start(&recv);
  CHECK(MPI_Pready(1, send) == MPI_SUCCESS);
  MPI_Wait(&send, MPI_STATUS_IGNORE);
  EXPECT(MPI_ERR_TRUNCATE, MPI_Wait(&recv, MPI_STATUS_IGNORE)); /* one item of two */
  MPI_Request_free(&send);
  MPI_Request_free(&recv);
  MPI_Request_free(&other);
}

/* ---- one partition after another: what has arrived is what was marked, and nothing else */

enum { PARTS = 6, EACH = 4 };

static void is_status(const MPI_Status *status, int source, int tag, int expected) {
  int count = -1;
  MPI_Get_count(status, MPI_INT, &count);
  CHECK(status->MPI_SOURCE == source && status->MPI_TAG == tag && count == expected);
}

/* The receive has PARTS of EACH items, the send `parts` of `each`; both are of one rank. */
static void one_by_one(int parts, int each) {
  int out[2 * PARTS * EACH], in[2 * PARTS * EACH], flag, all = parts * each;
  int room = PARTS * EACH, fits = all < room ? all : room;
  MPI_Request send, recv;
  MPI_Status status;
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_SELF, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  for (int i = 0; i < all; i++) out[i] = i;
  MPI_Psend_init(out, parts, each, MPI_INT, 0, 3, comm, MPI_INFO_NULL, &send);
  MPI_Precv_init(in, PARTS, EACH, MPI_INT, 0, 3, comm, MPI_INFO_NULL, &recv);
  for (int round = 0; round < 2; round++) {
    memset(in, -1, sizeof in);
    MPI_Start(&send);
    MPI_Start(&recv);
    for (int p = 0; p < parts; p++) {
      CHECK(MPI_Pready(parts - 1 - p, send) == MPI_SUCCESS); /* from the end */
      int first = (parts - 1 - p) * each;
      for (int i = 0; i < 2 * room; i++) CHECK(in[i] == (i >= first && i < fits ? i : -1));
      for (int part = 0; part < PARTS; part++) {
        CHECK(MPI_Parrived(recv, part, &flag) == MPI_SUCCESS);
        bool is_there = part * EACH >= first && (part + 1) * EACH <= all;
        CHECK(flag == (is_there || p == parts - 1)); /* or there is no more to come */
      }
    }
    CHECK(MPI_Wait(&send, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_Wait(&recv, &status) == (all > room ? MPI_ERR_TRUNCATE : MPI_SUCCESS));
    is_status(&status, 0, 3, fits);
  }
  MPI_Request_free(&send);
  MPI_Request_free(&recv);
  MPI_Comm_free(&comm);
}

/* No partitions, partitions without items, and numbers that no partition has. */
static void empty(void) {
  int data[4] = {1, 2, 3, 4}, back[4] = {0}, flag;
  const int list[3] = {1, 0, 2};
  MPI_Request send, recv;
  MPI_Status status;
  const MPI_Comm self = MPI_COMM_SELF;
  MPI_Psend_init(data, 0, 1, MPI_INT, 0, 1, self, MPI_INFO_NULL, &send);
  MPI_Precv_init(back, 0, 1, MPI_INT, 0, 1, self, MPI_INFO_NULL, &recv);
  MPI_Start(&send);
  MPI_Start(&recv);
  EXPECT(MPI_ERR_ARG, MPI_Pready(0, send));
  EXPECT(MPI_ERR_ARG, MPI_Parrived(recv, 0, &flag));
  MPI_Wait(&send, MPI_STATUS_IGNORE);
  MPI_Wait(&recv, &status);
  is_status(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
  MPI_Request_free(&send);
  MPI_Request_free(&recv);
  MPI_Psend_init(data, 2, 0, MPI_INT, 0, 1, self, MPI_INFO_NULL, &send);
  MPI_Precv_init(back, 2, 0, MPI_INT, 0, 1, self, MPI_INFO_NULL, &recv);
  MPI_Start(&recv);
  MPI_Start(&send);
  CHECK(MPI_Parrived(recv, 0, &flag) == MPI_SUCCESS && !flag); /* the send may be longer */
  CHECK(MPI_Pready_range(0, 1, send) == MPI_SUCCESS);
  MPI_Wait(&send, MPI_STATUS_IGNORE);
  MPI_Wait(&recv, &status);
  is_status(&status, 0, 1, 0);
  MPI_Request_free(&send);
  MPI_Request_free(&recv);
  MPI_Psend_init(data, 2, 2, MPI_INT, 0, 1, self, MPI_INFO_NULL, &send);
  MPI_Precv_init(back, 2, 2, MPI_INT, 0, 1, self, MPI_INFO_NULL, &recv);
  MPI_Start(&recv);
  MPI_Start(&send);
  EXPECT(MPI_ERR_ARG, MPI_Pready(-1, send));
  EXPECT(MPI_ERR_ARG, MPI_Pready_range(-1, 1, send));
  EXPECT(MPI_ERR_ARG, MPI_Parrived(recv, -1, &flag));
  EXPECT(MPI_ERR_ARG, MPI_Parrived(recv, 2, &flag));
  CHECK(MPI_Pready_list(0, NULL, send) == MPI_SUCCESS);
  CHECK(back[0] == 0 && back[2] == 0);
  EXPECT(MPI_ERR_ARG, MPI_Pready_list(3, list, send)); /* after the first two */
  MPI_Wait(&send, MPI_STATUS_IGNORE);
  MPI_Wait(&recv, &status);
  is_status(&status, 0, 1, 4);
  CHECK(memcmp(data, back, sizeof data) == 0);
  MPI_Request_free(&send);
  MPI_Request_free(&recv);
}

int main(int argc, char **argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  ring(1, 1, 1, 1);
  ring(12, 12, 1, 2);
  ring(3, 40, 1, 1);
  ring(40, 3, 1, 3);
  ring(7, 8, 1, 1);
  ring(1, 1, 2, 3); /* pieces of a small buffer, and more than it has room for */
  ring(8, 7, 3, 2);
  order();
  kept_apart();
  senders();
  displaced();
  nobody();
  mistakes();
  one_by_one(6, 4);
  one_by_one(3, 8);
  one_by_one(12, 2);
  one_by_one(4, 5);
  one_by_one(5, 9); /* more than there is room for */
  one_by_one(1, 24);
  empty();
  MPI_Finalize();
  return 0;
}
