/* SPDX-License-Identifier: Apache-2.0 */
/* The messages of collectives, and those every other one needs. */
#include "tmpi/coll/coll.h"
#include "tmpi/mpi/request.h"

enum { TAGS = 1 << 30 };

struct tm_coll tm_coll_begin(struct tm_comm *comm, const char *call) {
  comm->collectives = (comm->collectives + 1) % TAGS;
  return (struct tm_coll){comm, call, comm->collectives, MPI_SUCCESS};
}

/* Waits for requests on the stack. */
static void finish(struct tm_coll *coll, struct tm_request **requests, int count) {
  tm_requests_wait(requests, count, count, coll->call);
  for (int i = 0; i < count; i++) {
    if (coll->error == MPI_SUCCESS) coll->error = requests[i]->error;
    tm_request_empty(requests[i]);
  }
}

void tm_coll_send(struct tm_coll *coll, const void *buffer, size_t count, struct tm_type *type,
                  int dest) {
  struct tm_request request, *one = &request;
  tm_request_fill_inner(&request, TM_SEND, buffer, count, type, dest, coll->tag, coll->comm);
  tm_request_start(&request);
  finish(coll, &one, 1);
}

void tm_coll_recv(struct tm_coll *coll, void *buffer, size_t count, struct tm_type *type,
                  int source) {
  struct tm_request request, *one = &request;
  tm_request_fill_inner(&request, TM_RECV, buffer, count, type, source, coll->tag, coll->comm);
  tm_request_start(&request);
  finish(coll, &one, 1);
}

void tm_coll_exchange(struct tm_coll *coll, const void *send, size_t send_count,
                      struct tm_type *send_type, int dest, void *recv, size_t recv_count,
                      struct tm_type *recv_type, int source) {
  struct tm_request requests[2], *both[2] = {&requests[0], &requests[1]};
  tm_request_fill_inner(&requests[0], TM_RECV, recv, recv_count, recv_type, source, coll->tag,
                        coll->comm);
  tm_request_fill_inner(&requests[1], TM_SEND, send, send_count, send_type, dest, coll->tag,
                        coll->comm);
  tm_request_start(both[0]);
  tm_request_start(both[1]);
  finish(coll, both, 2);
}

/* Dissemination: in round k a rank hears of the 2^k ranks before it. */
void tm_barrier(struct tm_comm *comm, const char *call) {
  struct tm_coll coll = tm_coll_begin(comm, call);
  struct tm_type *byte = tm_type_of(MPI_BYTE);
  for (int step = 1; step < comm->size; step *= 2)
    tm_coll_exchange(&coll, NULL, 0, byte, (comm->rank + step) % comm->size, NULL, 0, byte,
                     (comm->rank - step + comm->size) % comm->size);
}

/* A binomial tree with the root at its top. */
void tm_bcast(struct tm_coll *coll, void *buffer, size_t count, struct tm_type *type, int root) {
  int size = coll->comm->size, place = (coll->comm->rank - root + size) % size, step = 1;
  while (step < size && (place & step) == 0) step *= 2;
  if (place != 0) tm_coll_recv(coll, buffer, count, type, (place - step + root) % size);
  for (step /= 2; step > 0; step /= 2)
    if (place + step < size) tm_coll_send(coll, buffer, count, type, (place + step + root) % size);
}

void tm_allgather_bytes(struct tm_coll *coll, const void *from, void *to, size_t bytes) {
  struct tm_type *byte = tm_type_of(MPI_BYTE);
  int size = coll->comm->size, rank = coll->comm->rank;
  char *all = to;
  tm_type_copy(all + (size_t)rank * bytes, byte, from, byte, bytes);
  for (int i = 1; i < size; i++) { /* a ring: each passes on what it has got last */
    int mine = (rank - i + 1 + size) % size, theirs = (rank - i + size) % size;
    tm_coll_exchange(coll, all + (size_t)mine * bytes, bytes, byte, (rank + 1) % size,
                     all + (size_t)theirs * bytes, bytes, byte, (rank - 1 + size) % size);
  }
}
