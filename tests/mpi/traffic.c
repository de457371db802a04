/* SPDX-License-Identifier: Apache-2.0 */
/* Calls whose numbers, messages and bytes traffic.py knows. Three ranks; rank 0 sends to rank 1. */
#include "check.h"

enum { PEER = 1, TAG = 2 };

static int rank, size, values[64], results[64];

static void send(void) {
  static char room[4096];
  void *address;
  int bytes;
  MPI_Datatype spread;
  MPI_Request request, started[2];
  MPI_Type_vector(4, 1, 3, MPI_DOUBLE, &spread);
  MPI_Type_commit(&spread);
  MPI_Buffer_attach(room, sizeof room);
  MPI_Send(values, 3, MPI_INT, PEER, TAG, MPI_COMM_WORLD);
  MPI_Send(values, 0, MPI_INT, PEER, TAG, MPI_COMM_WORLD);
  MPI_Send(values, 1, spread, PEER, TAG, MPI_COMM_WORLD);
  MPI_Send(values, 5, MPI_INT, MPI_PROC_NULL, TAG, MPI_COMM_WORLD);
  MPI_Ssend(values, 1, MPI_INT, PEER, TAG, MPI_COMM_WORLD);
  MPI_Bsend(values, 2, MPI_INT, PEER, TAG, MPI_COMM_WORLD);
  MPI_Isend(values, 7, MPI_SHORT, PEER, TAG, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  for (int i = 0; i < 2; i++)
    MPI_Send_init(values, 1 + i, MPI_LONG, PEER, TAG, MPI_COMM_WORLD, &started[i]);
  MPI_Start(&started[0]);
  MPI_Wait(&started[0], MPI_STATUS_IGNORE);
  MPI_Startall(2, started);
  MPI_Waitall(2, started, MPI_STATUSES_IGNORE);
  for (int i = 0; i < 2; i++) MPI_Request_free(&started[i]);
  MPI_Buffer_detach(&address, &bytes);
  MPI_Type_free(&spread);
}

static void receive(void) {
  MPI_Request request;
  MPI_Message message;
  for (int i = 0; i < 5; i++)
    MPI_Recv(results, 64, MPI_INT, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Mprobe(0, TAG, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
  MPI_Mrecv(results, 64, MPI_SHORT, &message, MPI_STATUS_IGNORE);
  MPI_Irecv(results, 64, MPI_LONG, 0, TAG, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Recv_init(results, 64, MPI_LONG, 0, TAG, MPI_COMM_WORLD, &request);
  for (int i = 0; i < 2; i++) {
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  MPI_Request_free(&request);
}

static void together(void) {
  MPI_Request request;
  int next = (rank + 1) % size, before = (rank + size - 1) % size;
  MPI_Sendrecv(values, 4, MPI_INT, next, TAG, results, 8, MPI_INT, before, TAG, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Bcast(values, 5, MPI_DOUBLE, 2, MPI_COMM_WORLD);
  MPI_Allreduce(values, results, 6, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Allreduce(MPI_IN_PLACE, results, 6, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Allgather(values, 2, MPI_INT, results, 2, MPI_INT, MPI_COMM_WORLD);
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Reduce_local(values, results, 3, MPI_INT, MPI_SUM);
}

int main(int argc, char **argv) {
  rank = check_start(&argc, &argv, &size);
  if (rank == 0) send();
  if (rank == PEER) receive();
  together();
  MPI_Finalize();
  return 0;
}
