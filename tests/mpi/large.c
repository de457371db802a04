/* SPDX-License-Identifier: Apache-2.0 */
/* Calls with 64-bit counts do what those with ints do, and tell what does not fit an int. */
#include <string.h>

#include "check.h"

enum { N = 6, TAG = 4 };

static int rank, size, next, before;
static int out[N], in[N];

static void prepare(void) {
  for (int i = 0; i < N; i++) out[i] = 100 * rank + i;
  memset(in, 0xff, sizeof in);
}

static void check(void) {
  for (int i = 0; i < N; i++) CHECK(in[i] == 100 * before + i);
}

static void blocking(void) {
  static int (*const sends[])(const void *, MPI_Count, MPI_Datatype, int, int, MPI_Comm) = {
      MPI_Send_c, MPI_Bsend_c, MPI_Ssend_c, MPI_Rsend_c};
  MPI_Request request;
  MPI_Status status;
  MPI_Count count;
  for (int i = 0; i < 4; i++) {
    prepare();
    MPI_Irecv_c(in, N, MPI_INT, before, TAG, MPI_COMM_WORLD, &request);
    MPI_Barrier(MPI_COMM_WORLD);
    sends[i](out, N, MPI_INT, next, TAG, MPI_COMM_WORLD);
    MPI_Wait(&request, &status);
    MPI_Get_count_c(&status, MPI_INT, &count);
    CHECK(count == N);
    check();
  }
  prepare();
  MPI_Bsend_c(out, N, MPI_INT, next, TAG, MPI_COMM_WORLD);
  MPI_Recv_c(in, N, MPI_INT, before, TAG, MPI_COMM_WORLD, &status);
  check();
  prepare();
  MPI_Sendrecv_c(out, N, MPI_INT, next, TAG, in, N, MPI_INT, before, TAG, MPI_COMM_WORLD, &status);
  check();
  MPI_Sendrecv_replace_c(out, N, MPI_INT, next, TAG, before, TAG, MPI_COMM_WORLD, &status);
  CHECK(memcmp(out, in, sizeof out) == 0);
  prepare();
  MPI_Isendrecv_c(out, N, MPI_INT, next, TAG, in, N, MPI_INT, before, TAG, MPI_COMM_WORLD,
                  &request);
  MPI_Wait(&request, &status);
  check();
  MPI_Isendrecv_replace_c(out, N, MPI_INT, next, TAG, before, TAG, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, &status);
  CHECK(memcmp(out, in, sizeof out) == 0);
}

static void started(void) {
  static int (*const sends[])(const void *, MPI_Count, MPI_Datatype, int, int, MPI_Comm,
                              MPI_Request *) = {MPI_Isend_c,      MPI_Ibsend_c,    MPI_Issend_c,
                                                MPI_Irsend_c,     MPI_Send_init_c, MPI_Bsend_init_c,
                                                MPI_Ssend_init_c, MPI_Rsend_init_c};
  for (int i = 0; i < 8; i++) {
    MPI_Request requests[2];
    prepare();
    if (i < 4)
      MPI_Irecv_c(in, N, MPI_INT, before, TAG, MPI_COMM_WORLD, &requests[0]);
    else
      MPI_Recv_init_c(in, N, MPI_INT, before, TAG, MPI_COMM_WORLD, &requests[0]);
    if (i >= 4) MPI_Start(&requests[0]);
    MPI_Barrier(MPI_COMM_WORLD);
    sends[i](out, N, MPI_INT, next, TAG, MPI_COMM_WORLD, &requests[1]);
    if (i >= 4) MPI_Start(&requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    check();
    for (int r = 0; i >= 4 && r < 2; r++) MPI_Request_free(&requests[r]);
  }
}

static void probed(void) {
  MPI_Message message;
  MPI_Request request;
  for (int i = 0; i < 2; i++) {
    prepare();
    MPI_Isend_c(out, N, MPI_INT, next, TAG, MPI_COMM_WORLD, &request);
    MPI_Mprobe(before, TAG, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (i == 0) {
      MPI_Mrecv_c(in, N, MPI_INT, &message, MPI_STATUS_IGNORE);
    } else {
      MPI_Imrecv_c(in, N, MPI_INT, &message, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    check();
  }
}

/* Counts above an int's: returned by the large calls, undefined to the others. */
static void statuses(void) {
  const MPI_Count huge = (MPI_Count)1 << 33;
  MPI_Status status;
  MPI_Count large;
  int small;
  MPI_Status_set_elements_c(&status, MPI_INT, huge);
  MPI_Get_elements_c(&status, MPI_INT, &large);
  CHECK(large == huge);
  MPI_Get_elements(&status, MPI_INT, &small);
  CHECK(small == MPI_UNDEFINED);
  MPI_Status_set_elements_x(&status, MPI_DOUBLE, huge);
  MPI_Get_elements_x(&status, MPI_DOUBLE, &large);
  CHECK(large == huge);
  MPI_Get_count(&status, MPI_DOUBLE, &small);
  CHECK(small == MPI_UNDEFINED);
  MPI_Get_count_c(&status, MPI_DOUBLE, &large);
  CHECK(large == huge);
  MPI_Status_set_elements_c(&status, MPI_CHAR, 5);
  MPI_Get_count_c(&status, MPI_INT, &large);
  CHECK(large == MPI_UNDEFINED); /* not a whole number */
}

static void sum_wide(void *from, void *to, MPI_Count *count, MPI_Datatype *type) {
  CHECK(*type == MPI_INT);
  for (MPI_Count i = 0; i < *count; i++) ((int *)to)[i] += ((int *)from)[i];
}

static void operations(void) {
  int sum[N];
  MPI_Op op;
  prepare();
  MPI_Op_create_c(sum_wide, 1, &op);
  MPI_Allreduce_c(out, sum, N, MPI_INT, op, MPI_COMM_WORLD);
  for (int i = 0; i < N; i++) CHECK(sum[i] == size * i + 100 * (size * (size - 1) / 2));
  MPI_Reduce_local_c(out, sum, N, MPI_INT, op);
  CHECK(sum[1] == size + 100 * (size * (size - 1) / 2) + out[1]);
  MPI_Op_free(&op);
}

static void packed(void) {
  char room[N * sizeof(int)];
  MPI_Count bytes, at = 0;
  prepare();
  MPI_Pack_size_c(N, MPI_INT, MPI_COMM_WORLD, &bytes);
  CHECK(bytes == sizeof room);
  MPI_Pack_c(out, N, MPI_INT, room, sizeof room, &at, MPI_COMM_WORLD);
  CHECK(at == sizeof room);
  at = 0;
  MPI_Unpack_c(room, sizeof room, &at, in, N, MPI_INT, MPI_COMM_WORLD);
  CHECK(at == sizeof room && memcmp(in, out, sizeof in) == 0);
}

int main(int argc, char **argv) {
  void *address;
  MPI_Count bytes;
  rank = check_start(&argc, &argv, &size);
  next = (rank + 1) % size;
  before = (rank + size - 1) % size;
  MPI_Buffer_attach_c(MPI_BUFFER_AUTOMATIC, 0);
  blocking();
  started();
  probed();
  MPI_Buffer_detach_c(&address, &bytes);
  CHECK(address == MPI_BUFFER_AUTOMATIC && bytes == 0);
  statuses();
  operations();
  packed();
  MPI_Finalize();
  return 0;
}
