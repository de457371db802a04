/* SPDX-License-Identifier: Apache-2.0 */
/* What programs do to a library: very large, empty, very many and unwanted messages, communicators
 * freed while messages are under way, senders that finish early. */
#include "check.h"

enum { OUTSTANDING = 100000, STORM = 2000, TAG = 6 };

static int rank, size;

/* A gibibyte: sent by reference, so that it is copied once. */
static void one_large(void) {
  const MPI_Count bytes = (MPI_Count)1 << 30;
  if (rank > 1) return;
  char *room = calloc(1, (size_t)bytes);
  MPI_Count count;
  MPI_Status status;
  CHECK(room != NULL);
  if (rank == 0) {
    room[0] = 'a';
    room[bytes - 1] = 'z';
    MPI_Send_c(room, bytes, MPI_CHAR, 1, TAG, MPI_COMM_WORLD);
  } else {
    MPI_Recv_c(room, bytes, MPI_CHAR, 0, TAG, MPI_COMM_WORLD, &status);
    MPI_Get_count_c(&status, MPI_CHAR, &count);
    CHECK(count == bytes && room[0] == 'a' && room[bytes - 1] == 'z');
  }
  free(room);
}

/* Nothing is a message, too: it is matched, and ends what waits for it. */
static void empty(void) {
  MPI_Request request;
  MPI_Status status;
  int count;
  MPI_Irecv(NULL, 0, MPI_INT, (rank + size - 1) % size, TAG, MPI_COMM_WORLD, &request);
  MPI_Ssend(NULL, 0, MPI_INT, (rank + 1) % size, TAG, MPI_COMM_WORLD);
  MPI_Wait(&request, &status);
  MPI_Get_count(&status, MPI_INT, &count);
  CHECK(count == 0 && status.MPI_TAG == TAG);
  MPI_Bcast(NULL, 0, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Allreduce(NULL, NULL, 0, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

/* Between two ranks; the receives of one half are posted first. */
static void outstanding(void) {
  if (rank > 1) return;
  MPI_Request *requests = malloc(OUTSTANDING * sizeof(MPI_Request));
  int *values = malloc(OUTSTANDING * sizeof *values);
  CHECK(requests != NULL && values != NULL);
  for (int i = 0; i < OUTSTANDING; i++) {
    values[i] = rank == 0 ? i : -1;
    if (rank == 0)
      MPI_Isend(&values[i], 1, MPI_INT, 1, TAG, MPI_COMM_WORLD, &requests[i]);
    else
      MPI_Irecv(&values[i], 1, MPI_INT, 0, TAG, MPI_COMM_WORLD, &requests[i]);
  }
  MPI_Waitall(OUTSTANDING, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; i < OUTSTANDING; i++) CHECK(values[i] == i);
  free(requests);
  free(values);
}

/* All to one, which takes whatever comes, of any tag. */
static void storm(void) {
  if (rank != 0) {
    for (int i = 0; i < STORM; i++) MPI_Send(&i, 1, MPI_INT, 0, i % 7, MPI_COMM_WORLD);
    return;
  }
  int next[64] = {0}, value;
  MPI_Status status;
  for (int i = 0; i < STORM * (size - 1); i++) {
    MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    CHECK(value == next[status.MPI_SOURCE]++ && status.MPI_TAG == value % 7);
  }
}

/* The communicator goes when the last message on it has. */
static void freed_too_soon(void) {
  static int large_out[10000], large_in[10000], received[10000];
  int out = rank, in = -1;
  MPI_Request requests[4];
  MPI_Comm comm;
  MPI_Datatype type;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Type_contiguous(10000, MPI_INT, &type);
  MPI_Type_commit(&type);
  MPI_Irecv(&in, 1, MPI_INT, (rank + size - 1) % size, TAG, comm, &requests[0]);
  MPI_Irecv(large_in, 1, type, (rank + size - 1) % size, TAG, comm, &requests[1]);
  MPI_Ibcast(received, 1, type, 0, comm, &requests[2]);
  MPI_Isend(&out, 1, MPI_INT, (rank + 1) % size, TAG, comm, &requests[3]);
  MPI_Request given_up;
  MPI_Isend(large_out, 1, type, (rank + 1) % size, TAG, comm, &given_up);
  MPI_Request_free(&given_up);
  MPI_Type_free(&type);
  MPI_Comm_free(&comm);
  MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
  CHECK(in == (rank + size - 1) % size);
  MPI_Barrier(MPI_COMM_WORLD); /* nobody needs the send that was given up any more */
}

int main(int argc, char **argv) {
  rank = check_start(&argc, &argv, &size);
  empty();
  one_large();
  outstanding();
  storm();
  freed_too_soon();
  /* Small messages reach the last rank after their senders have finished. */
  if (rank != size - 1) {
    MPI_Send(&rank, 1, MPI_INT, size - 1, TAG, MPI_COMM_WORLD);
  } else {
    for (int i = size - 2; i >= 0; i--) {
      int value;
      MPI_Recv(&value, 1, MPI_INT, i, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      CHECK(value == i);
    }
  }
  MPI_Finalize();
  return 0;
}
