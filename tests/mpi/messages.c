/* SPDX-License-Identifier: Apache-2.0 */
/* Point to point: order, wildcards, modes, self-sends, truncation, probes, requests. */
#include <string.h>

#include "check.h"

enum { ROUNDS = 200, LARGE = 300000, TAG = 5 };

/* Messages of one sender come in order; those of all are counted. */
static void storm(int rank, int size) {
  if (rank != 0) {
    for (int i = 0; i < ROUNDS; i++) MPI_Send(&i, 1, MPI_INT, 0, i % 3, MPI_COMM_WORLD);
    return;
  }
  int *next = calloc((size_t)size, sizeof *next);
  for (int i = 0; i < ROUNDS * (size - 1); i++) {
    int value;
    MPI_Status status;
    MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    CHECK(value == next[status.MPI_SOURCE]++ && status.MPI_TAG == value % 3);
  }
  free(next);
}

/* Small and large, posted before and after, by every mode that needs no buffer. */
static void exchange(int rank, int size) {
  static int out[LARGE], in[LARGE];
  int next = (rank + 1) % size, before = (rank + size - 1) % size;
  static const int counts[] = {0, 1, 1000, LARGE};
  for (int c = 0; c < 4; c++) {
    for (int i = 0; i < counts[c]; i++) out[i] = rank * 1000 + i;
    memset(in, 0xff, sizeof in);
    MPI_Request requests[2];
    MPI_Status statuses[2];
    int got;
    MPI_Irecv(in, LARGE, MPI_INT, before, c, MPI_COMM_WORLD, &requests[0]);
    if (c % 2 == 0)
      MPI_Isend(out, counts[c], MPI_INT, next, c, MPI_COMM_WORLD, &requests[1]);
    else
      MPI_Issend(out, counts[c], MPI_INT, next, c, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, statuses);
    MPI_Get_count(&statuses[0], MPI_INT, &got);
    CHECK(got == counts[c] && statuses[0].MPI_SOURCE == before);
    for (int i = 0; i < got; i++) CHECK(in[i] == before * 1000 + i);
    MPI_Sendrecv(out, counts[c], MPI_INT, next, c, in, LARGE, MPI_INT, before, c, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    for (int i = 0; i < got; i++) CHECK(in[i] == before * 1000 + i);
  }
}

static void to_self(int rank) {
  int out = rank, in = -1;
  MPI_Request request;
  MPI_Irecv(&in, 1, MPI_INT, rank, TAG, MPI_COMM_WORLD, &request);
  MPI_Send(&out, 1, MPI_INT, rank, TAG, MPI_COMM_WORLD);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(in == rank && request == MPI_REQUEST_NULL);
  MPI_Send(&out, 1, MPI_INT, rank, TAG, MPI_COMM_WORLD);
  MPI_Recv(&in, 1, MPI_INT, rank, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK(in == rank);
}

/* Receives choose by tag and source, not by the order of arrival. */
static void chosen(int rank, int size) {
  int first = 10 * rank, second = 10 * rank + 1, in = -1;
  int next = (rank + 1) % size, before = (rank + size - 1) % size;
  MPI_Send(&first, 1, MPI_INT, next, 1, MPI_COMM_WORLD);
  MPI_Send(&second, 1, MPI_INT, next, 2, MPI_COMM_WORLD);
  MPI_Recv(&in, 1, MPI_INT, before, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK(in == 10 * before + 1);
  MPI_Recv(&in, 1, MPI_INT, before, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK(in == 10 * before);
}

static void truncated(int rank) {
  int two[2] = {1, 2}, in[2] = {0, 0}, error_class;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Send(two, 2, MPI_INT, rank, TAG, MPI_COMM_WORLD);
  int error = MPI_Recv(in, 1, MPI_INT, rank, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Error_class(error, &error_class);
  CHECK(error_class == MPI_ERR_TRUNCATE && in[0] == 1 && in[1] == 0);
  CHECK(MPI_Send(two, -1, MPI_INT, rank, TAG, MPI_COMM_WORLD) == MPI_ERR_COUNT);
  CHECK(MPI_Send(two, 1, MPI_INT, -7, TAG, MPI_COMM_WORLD) == MPI_ERR_RANK);
  CHECK(MPI_Send(two, 1, MPI_INT, rank, -7, MPI_COMM_WORLD) == MPI_ERR_TAG);
  CHECK(MPI_Send(two, 1, MPI_DATATYPE_NULL, rank, TAG, MPI_COMM_WORLD) == MPI_ERR_TYPE);
  CHECK(MPI_Send(two, 1, MPI_INT, rank, TAG, MPI_COMM_NULL) == MPI_ERR_COMM);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

static void probed(int rank, int size) {
  int next = (rank + 1) % size, before = (rank + size - 1) % size, count, value, flag;
  MPI_Status status;
  MPI_Message message;
  MPI_Send(&rank, 1, MPI_INT, next, TAG, MPI_COMM_WORLD);
  MPI_Probe(MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &status);
  MPI_Get_count(&status, MPI_INT, &count);
  CHECK(count == 1 && status.MPI_SOURCE == before);
  MPI_Mprobe(before, TAG, MPI_COMM_WORLD, &message, &status);
  MPI_Iprobe(before, TAG, MPI_COMM_WORLD, &flag, &status);
  CHECK(!flag); /* taken */
  MPI_Mrecv(&value, 1, MPI_INT, &message, &status);
  CHECK(value == before && message == MPI_MESSAGE_NULL);
  MPI_Sendrecv(NULL, 0, MPI_DATATYPE_NULL, rank, 9, NULL, 0, MPI_DATATYPE_NULL, rank, 9,
               MPI_COMM_WORLD, &status); /* no elements: of no type, too */
  CHECK(status.MPI_SOURCE == rank && status.MPI_TAG == 9);
  MPI_Recv(NULL, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &status);
  CHECK(status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG);
}

static void persistent(int rank, int size) {
  int out, in, flag;
  MPI_Request requests[2], cancelled;
  MPI_Status status;
  MPI_Send_init(&out, 1, MPI_INT, (rank + 1) % size, TAG, MPI_COMM_WORLD, &requests[0]);
  MPI_Recv_init(&in, 1, MPI_INT, (rank + size - 1) % size, TAG, MPI_COMM_WORLD, &requests[1]);
  for (int i = 0; i < ROUNDS; i++) {
    out = rank * ROUNDS + i;
    MPI_Startall(2, requests);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    CHECK(in == (rank + size - 1) % size * ROUNDS + i);
  }
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
  MPI_Irecv(&in, 1, MPI_INT, rank, 99, MPI_COMM_WORLD, &cancelled);
  MPI_Cancel(&cancelled);
  MPI_Wait(&cancelled, &status);
  MPI_Test_cancelled(&status, &flag);
  CHECK(flag);
}

static void buffered(int rank, int size) {
  enum { ROOM = 4 * (sizeof(int) + MPI_BSEND_OVERHEAD) };
  static char room[ROOM];
  void *address;
  int bytes, value;
  MPI_Buffer_attach(room, ROOM);
  for (int i = 0; i < 4; i++) MPI_Bsend(&i, 1, MPI_INT, (rank + 1) % size, TAG, MPI_COMM_WORLD);
  for (int i = 0; i < 4; i++) {
    MPI_Recv(&value, 1, MPI_INT, (rank + size - 1) % size, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(value == i);
  }
  MPI_Buffer_detach(&address, &bytes); /* waits until the next rank has received */
  CHECK(address == room && bytes == ROOM);
}

/* ---- sizes on both sides of each limit at which a message goes another way, to a receive that
 * waits for it and to none, by each way to receive it, with and without gaps on either side */

enum {
  MOST = 70000,
  SENT_AT_ONCE = 16384, /* bytes that MPI_Send() leaves behind when there is no receive */
  TAIL = 8
};

enum way { RECEIVED, POSTED, PROBED, TAKEN, CUT, SYNCHRONOUS, BUFFERED, WAYS };

static char out[2 * MOST], in[2 * (MOST + TAIL)];
static MPI_Datatype spread; /* each second byte */

static char byte_of(int sender, int bytes, int i) { return (char)(sender * 31 + bytes + i * 7); }

/* The first bytes are what `sender` has sent, and nothing else was written. */
static void is_received(int sender, int bytes, int sent, int step) {
  for (int i = 0; i < (bytes + TAIL) * step; i++)
    CHECK(in[i] == (i % step == 0 && i / step < bytes ? byte_of(sender, sent, i / step) : '#'));
}

static void start_send(enum way way, int bytes, MPI_Datatype type, int to, MPI_Request *request) {
  *request = MPI_REQUEST_NULL;
  if (way == SYNCHRONOUS)
    MPI_Issend(out, bytes, type, to, TAG, MPI_COMM_WORLD, request);
  else if (way == BUFFERED)
    MPI_Bsend(out, bytes, type, to, TAG, MPI_COMM_WORLD);
  else if (bytes <= SENT_AT_ONCE)
    MPI_Send(out, bytes, type, to, TAG, MPI_COMM_WORLD);
  else
    MPI_Isend(out, bytes, type, to, TAG, MPI_COMM_WORLD, request);
}

static void receive(enum way way, int room, MPI_Datatype type, int from, MPI_Status *status) {
  MPI_Message message;
  int count = -1;
  if (way == PROBED) MPI_Probe(MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, status);
  if (way == TAKEN) MPI_Mprobe(from, MPI_ANY_TAG, MPI_COMM_WORLD, &message, status);
  if (way == PROBED || way == TAKEN) {
    MPI_Get_count(status, MPI_CHAR, &count);
    CHECK(count == room - TAIL && status->MPI_SOURCE == from && status->MPI_TAG == TAG);
  }
  if (way == TAKEN)
    MPI_Mrecv(in, room, type, &message, status);
  else
    EXPECT(way == CUT ? MPI_ERR_TRUNCATE : MPI_SUCCESS,
           MPI_Recv(in, room, type, from, TAG, MPI_COMM_WORLD, status));
}

static void one_size(enum way way, int bytes, int out_step, int in_step, int rank, int size) {
  int next = (rank + 1) % size, before = (rank + size - 1) % size, count = -1;
  int room = way == CUT ? bytes - 1 : bytes + TAIL, fits = way == CUT ? room : bytes;
  MPI_Datatype from = out_step == 1 ? MPI_CHAR : spread, to = in_step == 1 ? MPI_CHAR : spread;
  MPI_Request send, recv = MPI_REQUEST_NULL;
  MPI_Status status;
  for (int i = 0; i < bytes * out_step; i++)
    out[i] = i % out_step == 0 ? byte_of(rank, bytes, i / out_step) : '-';
  memset(in, '#', (size_t)(bytes + TAIL) * (size_t)in_step);
  if (way == POSTED || way == SYNCHRONOUS)
    MPI_Irecv(in, room, to, before, TAG, MPI_COMM_WORLD, &recv);
  MPI_Barrier(MPI_COMM_WORLD);
  start_send(way, bytes, from, next, &send);
  MPI_Barrier(MPI_COMM_WORLD);
  if (recv != MPI_REQUEST_NULL)
    MPI_Wait(&recv, &status);
  else
    receive(way, room, to, before, &status);
  MPI_Wait(&send, MPI_STATUS_IGNORE);
  MPI_Get_count(&status, MPI_CHAR, &count);
  CHECK(count == fits && status.MPI_SOURCE == before && status.MPI_TAG == TAG);
  is_received(before, fits, bytes, in_step);
}

static void sizes(int rank, int size) {
  static const int each[] = {0,   1,    2,    3,    4,     5,     7,     8,     9,    35,
                             36,  37,   63,   64,   65,    127,   128,   129,   483,  484,
                             485, 1024, 1025, 4096, 16383, 16384, 16385, 65536, 70000};
  static char room[MOST + MPI_BSEND_OVERHEAD];
  void *address;
  int bytes;
  MPI_Buffer_attach(room, sizeof room);
  MPI_Type_create_resized(MPI_CHAR, 0, 2, &spread);
  MPI_Type_commit(&spread);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  for (size_t i = 0; i < sizeof each / sizeof each[0]; i++)
    for (int way = 0; way < WAYS; way++)
      for (int gaps = 0; gaps < 4; gaps++)
        if (way != CUT || each[i] > 0)
          one_size((enum way)way, each[i], 1 + gaps % 2, 1 + gaps / 2, rank, size);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Type_free(&spread);
  MPI_Buffer_detach(&address, &bytes);
  CHECK(address == room && bytes == (int)sizeof room);
}

int main(int argc, char **argv) {
  int size, rank = check_start(&argc, &argv, &size);
  storm(rank, size);
  MPI_Barrier(MPI_COMM_WORLD);
  exchange(rank, size);
  to_self(rank);
  chosen(rank, size);
  truncated(rank);
  MPI_Barrier(MPI_COMM_WORLD);
  probed(rank, size);
  MPI_Barrier(MPI_COMM_WORLD);
  persistent(rank, size);
  buffered(rank, size);
  sizes(rank, size);
  MPI_Finalize();
  return 0;
}
