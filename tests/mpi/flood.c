/* SPDX-License-Identifier: Apache-2.0 */
/* More messages than a mailbox holds: the sender is slowed while the receiver computes, and no
 * program stops that relies on buffering while the receiver is in MPI. Ranks come in pairs: the
 * even one is flooded. */
#include <string.h>
#include <time.h>

#include "check.h"

enum { BYTES = 8000, FLOOD = 6000 /* 48 MB, three times what a mailbox holds */ };

static char buffer[BYTES];

static void fill(int i) { memcpy(buffer, &i, sizeof i); }

static void check(int i) {
  int got;
  memcpy(&got, buffer, sizeof got);
  CHECK(got == i);
}

static void flood(int dest) {
  for (int i = 0; i < FLOOD; i++) {
    fill(i);
    MPI_Send(buffer, BYTES, MPI_BYTE, dest, 1, MPI_COMM_WORLD);
  }
}

static void drain(int source) {
  for (int i = 0; i < FLOOD; i++) {
    MPI_Recv(buffer, BYTES, MPI_BYTE, source, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    check(i);
  }
}

static long resident(void) {
  long pages = 0;
  FILE *f = fopen("/proc/self/statm", "r");
  CHECK(f != NULL && fscanf(f, "%*d %ld", &pages) == 1);
  fclose(f);
  return pages * 4096;
}

/* The receiver is outside of MPI until the sender cannot have more to send without it. */
static void computes(int even, int peer, int pairs, int measured) {
  long before = resident();
  MPI_Barrier(MPI_COMM_WORLD);
  if (!even) {
    flood(peer);
    return;
  }
  for (int i = 0; i < 50; i++) nanosleep(&(struct timespec){0, 1000000}, NULL);
  long each = (resident() - before) / pairs;
  if (measured && each >= 24 << 20) fprintf(stderr, "%ld bytes a mailbox\n", each);
  CHECK(!measured || each < 24 << 20);
  drain(peer);
}

/* The receiver waits in a barrier that the sender comes to after its messages. */
static void in_barrier(int even, int peer) {
  if (!even) flood(peer);
  MPI_Barrier(MPI_COMM_WORLD);
  if (even) drain(peer);
}

/* The receiver wants the last message first: it waits, probes or polls for it. */
static void last_first(int even, int peer, int way) {
  int flag = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  if (!even) {
    flood(peer);
    MPI_Send(NULL, 0, MPI_BYTE, peer, 2, MPI_COMM_WORLD);
    return;
  }
  while (way == 0 && !flag) MPI_Iprobe(peer, 2, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
  if (way == 1) MPI_Probe(peer, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Recv(NULL, 0, MPI_BYTE, peer, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  drain(peer);
}

/* MPI_Isend() returns although nothing is received, and the requests are complete when the receiver
 * waits for something else. */
static void nonblocking(int even, int peer) {
  static MPI_Request requests[FLOOD];
  MPI_Barrier(MPI_COMM_WORLD);
  if (even) {
    nanosleep(&(struct timespec){0, 5000000}, NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    drain(peer);
    return;
  }
  char *all = malloc((size_t)FLOOD * BYTES);
  CHECK(all != NULL);
  for (int i = 0; i < FLOOD; i++) {
    memcpy(all + (size_t)i * BYTES, &i, sizeof i);
    MPI_Isend(all + (size_t)i * BYTES, BYTES, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &requests[i]);
  }
  MPI_Waitall(FLOOD, requests, MPI_STATUSES_IGNORE);
  MPI_Barrier(MPI_COMM_WORLD);
  free(all);
}

/* The mailboxes of both are full when they exchange, by MPI_Sendrecv() of few bytes or by sends
 * that wait for their receivers. */
static void both_full(int even, int peer, int way) {
  int own = even, other = -1;
  MPI_Request request;
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < FLOOD / 2; i++) {
    MPI_Isend(buffer, BYTES, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &request);
    MPI_Request_free(&request);
  }
  if (way == 0) {
    MPI_Sendrecv(&own, 1, MPI_INT, peer, 3, &other, 1, MPI_INT, peer, 3, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
  } else {
    if (even) MPI_Ssend(&own, 1, MPI_INT, peer, 3, MPI_COMM_WORLD);
    MPI_Recv(&other, 1, MPI_INT, peer, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (!even) MPI_Ssend(&own, 1, MPI_INT, peer, 3, MPI_COMM_WORLD);
  }
  CHECK(other == !even);
  for (int i = 0; i < FLOOD / 2; i++)
    MPI_Recv(buffer, BYTES, MPI_BYTE, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv) {
  int size, rank = check_start(&argc, &argv, &size);
  int even = rank % 2 == 0, peer = even ? rank + 1 : rank - 1;
  computes(even, peer, size / 2, argc > 1 && strcmp(argv[1], "measured") == 0);
  in_barrier(even, peer);
  for (int way = 0; way < 3; way++) last_first(even, peer, way);
  nonblocking(even, peer);
  for (int way = 0; way < 2; way++) both_full(even, peer, way);
  MPI_Finalize();
  return 0;
}
