/* SPDX-License-Identifier: Apache-2.0 */
/* The messages of collectives, and what communicators are made with. */
#include <stdio.h>
#include <stdlib.h>

#include "tmpi/coll/coll.h"
#include "tmpi/error/errors.h"
#include "tmpi/object/team.h"
#include "tmpi/request/request.h"

enum {
  BETWEEN_BARRIERS = 64 /* collectives; at four in a row, since a program may have others between */
};

/* @return a rank whose last slot is not of the exchange; -1: none any more. */
static int find_other(const struct tm_coll *coll, int exchange) {
  const struct tm_team *team = coll->comm->team;
  for (int i = 0; i < team->size; i++) {
    const struct tm_publication *slot = tm_team_slot(team, coll->comm->phases % 2, i);
    if (slot->number != coll->tag || slot->exchange != exchange) return i;
  }
  return -1;
}

void tm_not_published(const struct tm_coll *coll, int exchange, int rank) {
  char why[200], other[40] = "another rank";
  if (rank < 0) rank = find_other(coll, exchange);
  if (rank >= 0) snprintf(other, sizeof other, "rank %d", rank);
  snprintf(why, sizeof why,
           "%s of it is in another collective, or names another root (all ranks have to make "
           "the same calls in the same order; tmpirun --check prints the call of each)",
           other);
  const char *name = coll->comm->name;
  tm_end_job(name[0] != '\0' ? name : "a communicator", coll->call, MPI_ERR_OTHER, why);
}

/* A program's tags are all of 0 to INT32_MAX: they get the
 * negative numbers, but for MPI_ANY_TAG and -1, and the first two that follow the collectives'. */
struct tm_coll tm_coll_tagged(struct tm_comm *comm, const char *call, int tag) {
  int own = tag <= INT32_MAX - 2 ? -3 - tag : TM_COLL_TAGS + (INT32_MAX - tag);
  return (struct tm_coll){comm, call, own, MPI_SUCCESS, 0, 0, 0};
}

void tm_coll_finish(struct tm_coll *coll, struct tm_request **requests, int count) {
  tm_requests_wait(requests, count, count, coll->call);
  for (int i = 0; i < count; i++) {
    if (coll->error == MPI_SUCCESS) coll->error = requests[i]->error;
    tm_request_empty(requests[i]);
  }
}

static void perform(struct tm_coll *coll, struct tm_request *request) {
  tm_request_perform(request, coll->call);
  if (coll->error == MPI_SUCCESS) coll->error = request->error;
}

void tm_coll_send(struct tm_coll *coll, const void *buffer, size_t count, struct tm_type *type,
                  int dest) {
  struct tm_request request;
  tm_request_borrow_inner(&request, TM_SEND, buffer, count, type, dest, coll->tag, coll->comm);
  perform(coll, &request);
}

void tm_coll_recv(struct tm_coll *coll, void *buffer, size_t count, struct tm_type *type,
                  int source) {
  struct tm_request request;
  tm_request_borrow_inner(&request, TM_RECV, buffer, count, type, source, coll->tag, coll->comm);
  perform(coll, &request);
}

/* @return a rank's message to the caller, and its size; it is not received yet. */
static struct tm_message *await_message(struct tm_coll *coll, int source, size_t *bytes) {
  struct tm_request probe;
  struct tm_envelope envelope;
  struct tm_message *message;
  tm_request_borrow_inner(&probe, TM_RECV, NULL, 0, tm_type_of(MPI_BYTE), source, coll->tag,
                          coll->comm);
  probe.type = NULL; /* of whatever size the message is */
  tm_mailbox_probe(&probe, true, MLTP_NEVER, coll->call, &envelope, bytes, &message);
  return message;
}

struct tm_passed tm_coll_recv_whole(struct tm_coll *coll, const struct tm_part *own, int source) {
  size_t bytes, room = own->count * own->type->size;
  struct tm_message *message = await_message(coll, source, &bytes);
  struct tm_passed whole = {*own, NULL};
  if (bytes != room) {
    whole.memory = malloc(bytes + 1);
    if (whole.memory == NULL) tm_panic("no memory for a message of %zu bytes", bytes);
    whole.part = (struct tm_part){whole.memory, bytes, tm_type_of(MPI_BYTE)};
  }
  struct tm_request request;
  tm_request_borrow_inner(&request, TM_RECV, whole.part.at, whole.part.count, whole.part.type,
                          source, coll->tag, coll->comm);
  request.message = message;
  perform(coll, &request);
  if (whole.memory != NULL) tm_part_copy(coll, own, &whole.part, source);
  return whole;
}

void tm_coll_exchange(struct tm_coll *coll, const void *send, size_t send_count,
                      struct tm_type *send_type, int dest, void *recv, size_t recv_count,
                      struct tm_type *recv_type, int source) {
  struct tm_request requests[2], *both[2] = {&requests[0], &requests[1]};
  tm_request_borrow_inner(&requests[0], TM_RECV, recv, recv_count, recv_type, source, coll->tag,
                          coll->comm);
  tm_request_borrow_inner(&requests[1], TM_SEND, send, send_count, send_type, dest, coll->tag,
                          coll->comm);
  tm_request_start(both[0]);
  tm_request_start(both[1]);
  tm_coll_finish(coll, both, 2);
}

/* Of an intercommunicator, the first ranks of both groups take the smaller of their two. */
static uint64_t agree_inter(struct tm_comm *comm, const char *call, uint64_t (*new_context)(void)) {
  struct tm_type *byte = tm_type_of(MPI_BYTE);
  struct tm_coll coll = tm_coll_begin(comm, call), local = tm_coll_begin(comm->local_comm, call);
  uint64_t context = 0, other;
  if (comm->rank == 0) {
    context = new_context();
    tm_coll_exchange(&coll, &context, sizeof context, byte, 0, &other, sizeof other, byte, 0);
    if (other < context) context = other;
  }
  tm_bcast(&local, &context, sizeof context, byte, 0);
  return context;
}

/* Nodes meet now and then. Otherwise rank 0's node, which only sends, could run ahead of the others
 * by thousands of calls, whose messages they would keep. */
static uint64_t agree(struct tm_comm *comm, const char *call, uint64_t (*new_context)(void)) {
  if (comm->inter) return agree_inter(comm, call, new_context);
  if (tm_comm_spans(comm) && comm->collectives % BETWEEN_BARRIERS < 4) tm_barrier(comm, call);
  struct tm_coll coll = tm_coll_begin(comm, call);
  uint64_t context = comm->rank == 0 ? new_context() : 0;
  tm_bcast(&coll, &context, sizeof context, tm_type_of(MPI_BYTE), 0);
  return context;
}

uint64_t tm_context_agree(struct tm_comm *comm, const char *call) {
  return agree(comm, call, tm_context_new);
}

uint64_t tm_context_agree_limited(struct tm_comm *comm, const char *call) {
  return agree(comm, call, tm_context_new_limited);
}
