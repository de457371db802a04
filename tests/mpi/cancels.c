/* SPDX-License-Identifier: Apache-2.0 */
/* Sends that are cancelled, on one node and on several (nodes.py). Each rank sends to the one that
 * is as far from the other end, which is on another node where there are several.
 */
#include <pthread.h>
#include <unistd.h>

#include "check.h"

static int is_cancelled(const MPI_Status *status) {
  int flag = -1;
  MPI_Test_cancelled(status, &flag);
  return flag;
}

/* @return whether a send, which is over then, has been taken back. */
static int take_back(MPI_Request *send) {
  MPI_Status status;
  MPI_Cancel(send);
  MPI_Wait(send, &status);
  return is_cancelled(&status);
}

/* A send that no receive has matched is taken back, and the next one of its tag is received. */
static void in_each_mode(int peer, int bytes) {
  char *out = calloc((size_t)bytes, 1), *in = calloc((size_t)bytes, 1);
  for (int mode = 0; mode < 4; mode++) {
    MPI_Request send, next;
    MPI_Send_init(out, bytes, MPI_CHAR, peer, mode, MPI_COMM_WORLD, &next);
    out[0] = 'a';
    if (mode == 0) MPI_Isend(out, bytes, MPI_CHAR, peer, mode, MPI_COMM_WORLD, &send);
    if (mode == 1) MPI_Issend(out, bytes, MPI_CHAR, peer, mode, MPI_COMM_WORLD, &send);
    if (mode == 2) MPI_Ibsend(out, bytes, MPI_CHAR, peer, mode, MPI_COMM_WORLD, &send);
    if (mode == 3) MPI_Start(&next);
    CHECK(take_back(mode == 3 ? &next : &send));
    MPI_Barrier(MPI_COMM_WORLD); /* so far no rank receives */
    out[0] = 'b';
    MPI_Start(&next);
    MPI_Recv(in, bytes, MPI_CHAR, peer, mode, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(in[0] == 'b');
    MPI_Barrier(MPI_COMM_WORLD); /* the peer has received it, too */
    CHECK(!take_back(&next));
    MPI_Request_free(&next);
  }
  free(out);
  free(in);
}

/* Of several sends of one envelope the one that is cancelled does not come. */
static void among_others(int peer, int bytes) {
  enum { SENDS = 5, TAKEN = 2 };
  char *out[SENDS], *in = malloc((size_t)bytes);
  MPI_Request sends[SENDS];
  for (int i = 0; i < SENDS; i++) {
    out[i] = calloc((size_t)bytes, 1);
    out[i][0] = (char)i;
    MPI_Isend(out[i], bytes, MPI_CHAR, peer, 0, MPI_COMM_WORLD, &sends[i]);
  }
  CHECK(take_back(&sends[TAKEN]));
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < SENDS; i++) {
    if (i == TAKEN) continue;
    MPI_Recv(in, bytes, MPI_CHAR, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(in[0] == i);
  }
  MPI_Waitall(SENDS, sends, MPI_STATUSES_IGNORE);
  for (int i = 0; i < SENDS; i++) free(out[i]);
  free(in);
}

struct waited {
  MPI_Request request;
  MPI_Status status;
};

static void *wait_for(void *waited_) {
  struct waited *waited = waited_;
  MPI_Wait(&waited->request, &waited->status);
  return NULL;
}

/* Another thread waits for the send, which ends only by being cancelled. */
static void waited_for(int peer, int bytes) {
  char *out = calloc((size_t)bytes, 1);
  struct waited waited;
  pthread_t thread;
  MPI_Issend(out, bytes, MPI_CHAR, peer, 0, MPI_COMM_WORLD, &waited.request);
  MPI_Request same = waited.request;
  pthread_create(&thread, NULL, wait_for, &waited);
  usleep(2000);
  MPI_Cancel(&same);
  pthread_join(thread, NULL);
  CHECK(is_cancelled(&waited.status));
  MPI_Barrier(MPI_COMM_WORLD);
  free(out);
}

int main(int argc, char **argv) {
  static const int sizes[] = {1, 100, 16384, 16385, 1000000};
  int rank, size, threads, room = 1100000;
  char *buffer = malloc((size_t)room);
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &threads);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int peer = size - 1 - rank;
  MPI_Buffer_attach(buffer, room);
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    in_each_mode(peer, sizes[i]);
    among_others(peer, sizes[i]);
    if (threads == MPI_THREAD_MULTIPLE) waited_for(peer, sizes[i]);
  }
  MPI_Buffer_detach(&buffer, &room);
  free(buffer);
  if (rank == 0) puts("right");
  MPI_Finalize();
  return 0;
}
