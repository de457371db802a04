/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MPI_Isendrecv() and MPI_Isendrecv_replace(): one request for a send and a receive. Both are
 * started at once, so that they meet others in the order of the calls; if they are not complete
 * then, a thread of the library waits for both and completes the program's request. The thread is
 * made before: a call that finds no memory for it has sent nothing.
 */
#include <mltp/mltp.h>
#include <stdlib.h>

#include "tmpi/error/errors.h"
#include "tmpi/layout/type.h"
#include "tmpi/mailbox/request_pool.h"
#include "tmpi/request/request.h"

struct pair {
  struct tm_request recv, send;
  struct tm_request *whole; /* the program's */
  void *packed;             /* what is sent, of _replace; NULL: the program's buffer */
  int rank;                 /* in the job */
  bool complete;            /* both were, when they had been started */
  mltp_sem_t started;       /* both are under way: the pair is the thread's */
};

static void complete(struct pair *pair) {
  struct tm_request *whole = pair->whole;
  whole->source = pair->recv.source;
  whole->tag = pair->recv.tag;
  whole->bytes = pair->recv.bytes;
  whole->error = pair->recv.error;
  tm_request_empty(&pair->recv);
  tm_request_empty(&pair->send);
  tm_request_complete(whole);
}

static void *wait_for_both(void *argument) {
  struct pair *pair = argument;
  struct tm_request *both[] = {&pair->recv, &pair->send};
  if (tm_rank_enter(pair->rank) != 0) tm_panic("no memory for a thread of rank %d", pair->rank);
  mltp_sem_wait(&pair->started);
  if (!pair->complete) {
    tm_requests_wait(both, 2, 2, "MPI_Isendrecv");
    complete(pair);
  }
  free(pair->packed);
  free(pair);
  return NULL;
}

/* @return false: no memory, and neither is started. */
static bool launch(struct pair *pair) {
  mltp_attr_t attr = MLTP_ATTR_INIT;
  attr.name = "MPI_Isendrecv";
  attr.detached = 1;
  mltp_sem_init(&pair->started, 0, "the start of both");
  if (mltp_create(NULL, &attr, wait_for_both, pair) != 0) return false;
  tm_request_start(&pair->recv);
  tm_request_start(&pair->send);
  pair->complete = tm_request_done(&pair->recv) && tm_request_done(&pair->send);
  if (pair->complete) complete(pair);
  mltp_sem_post(&pair->started);
  return true;
}

/* packed becomes the pair's. */
static int start(const struct tm_arguments *to, const struct tm_arguments *from, void *packed,
                 MPI_Request *handle) {
  struct pair *pair = calloc(1, sizeof *pair);
  struct tm_request *whole = tm_request_new_of(TM_COLLECTIVE);
  int error = pair != NULL && whole != NULL
                  ? tm_request_fill(&pair->recv, from, TM_RECV, TM_STANDARD)
                  : tm_fail_code(NULL, to->call, MPI_ERR_NO_MEM);
  if (error == MPI_SUCCESS) {
    error = tm_request_fill(&pair->send, to, TM_SEND, TM_STANDARD);
    if (error != MPI_SUCCESS) tm_request_empty(&pair->recv);
  }
  if (error == MPI_SUCCESS) {
    whole->owner = pair->recv.owner;
    whole->comm = pair->recv.comm;
    tm_comm_hold(whole->comm);
    pair->whole = whole;
    pair->packed = packed;
    pair->rank = tm_rank_number();
    if (launch(pair)) {
      *handle = (MPI_Request)whole;
      return MPI_SUCCESS;
    }
    error = tm_fail_code(whole->comm, to->call, MPI_ERR_NO_MEM);
    tm_comm_release(whole->comm);
    tm_request_empty(&pair->recv);
    tm_request_empty(&pair->send);
  }
  free(pair);
  tm_request_free(whole);
  free(packed);
  return error;
}

int tm_call_iexchange(const struct tm_arguments *to, const struct tm_arguments *from,
                      MPI_Request *request) {
  return start(to, from, NULL, request);
}

int tm_call_ireplace(const struct tm_arguments *a, int dest, int sendtag, MPI_Request *request) {
  void *packed;
  size_t bytes;
  int error = tm_pack_arguments(a, &packed, &bytes);
  if (error != MPI_SUCCESS) return error;
  struct tm_arguments to = {a->call, packed, (MPI_Count)bytes, MPI_BYTE, dest, sendtag, a->comm};
  return start(&to, a, packed, request);
}
