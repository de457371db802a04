/* SPDX-License-Identifier: Apache-2.0 */
/* No memory for requests (no_memory.h): what a call has held of its communicator and its datatype
 * is given back, and its message is still there. With the kernel backend each request is a block of
 * its own, so that each can fail. As other threads may call MPI, calls that wait hold what they
 * use, too. */
#include "no_memory.h"

enum { TAG = 1, SPREAD = 4, MANY = 100 /* requests, for which a call needs memory */ };

/* What a call uses, made for it: a reference that is kept keeps its memory. */
struct used {
  MPI_Comm comm;
  MPI_Datatype pair; /* of ints, of which it leaves one out */
};

static int begin(struct used *used) {
  *used = (struct used){MPI_COMM_NULL, MPI_DATATYPE_NULL};
  int error = MPI_Comm_dup(MPI_COMM_SELF, &used->comm);
  if (error == MPI_SUCCESS) error = MPI_Comm_set_errhandler(used->comm, MPI_ERRORS_RETURN);
  if (error == MPI_SUCCESS) error = MPI_Type_vector(2, 1, 2, MPI_INT, &used->pair);
  if (error == MPI_SUCCESS) error = MPI_Type_commit(&used->pair);
  return error;
}

/* @return error. */
static int end(struct used *used, int error) {
  if (used->pair != MPI_DATATYPE_NULL) MPI_Type_free(&used->pair);
  if (used->comm != MPI_COMM_NULL) MPI_Comm_free(&used->comm);
  return error;
}

/* @return error, or that of the wait. */
static int wait_for(int error, MPI_Request *request) {
  CHECK((error == MPI_SUCCESS) == (*request != MPI_REQUEST_NULL));
  return error == MPI_SUCCESS ? MPI_Wait(request, MPI_STATUS_IGNORE) : error;
}

static int receive(void) {
  struct used used;
  int in[SPREAD] = {0}, error = begin(&used);
  MPI_Request request = MPI_REQUEST_NULL;
  if (error != MPI_SUCCESS) return end(&used, error);
  error = MPI_Irecv(in, 1, used.pair, MPI_PROC_NULL, TAG, used.comm, &request);
  return end(&used, wait_for(error, &request));
}

static int persistent(void) {
  struct used used;
  int out[SPREAD] = {0}, error = begin(&used);
  MPI_Request request = MPI_REQUEST_NULL;
  if (error != MPI_SUCCESS) return end(&used, error);
  error = MPI_Send_init(out, 1, used.pair, MPI_PROC_NULL, TAG, used.comm, &request);
  CHECK((error == MPI_SUCCESS) == (request != MPI_REQUEST_NULL));
  if (error == MPI_SUCCESS) MPI_Request_free(&request);
  return end(&used, error);
}

static int partitioned(void) {
  struct used used;
  int out[2 * SPREAD] = {0}, error = begin(&used);
  MPI_Request request = MPI_REQUEST_NULL;
  if (error != MPI_SUCCESS) return end(&used, error);
  error =
      MPI_Psend_init(out, 2, 1, used.pair, MPI_PROC_NULL, TAG, used.comm, MPI_INFO_NULL, &request);
  CHECK((error == MPI_SUCCESS) == (request != MPI_REQUEST_NULL));
  if (error == MPI_SUCCESS) MPI_Request_free(&request);
  return end(&used, error);
}

/* The message that a probe has taken stays the program's, which receives it later. */
static int take(const struct used *used, MPI_Message *message) {
  int in[SPREAD] = {0}, error;
  MPI_Request request = MPI_REQUEST_NULL;
  error = MPI_Imrecv(in, 1, used->pair, message, &request);
  CHECK((error == MPI_SUCCESS) == (*message == MPI_MESSAGE_NULL));
  error = wait_for(error, &request);
  if (error != MPI_SUCCESS && *message != MPI_MESSAGE_NULL) {
    request = MPI_REQUEST_NULL;
    int again = MPI_Imrecv(in, 1, used->pair, message, &request);
    CHECK(wait_for(again, &request) == MPI_SUCCESS);
  }
  CHECK(in[0] == 7 && in[1] == 0 && in[2] == 9);
  return error;
}

static int matched(void) {
  static const int out[SPREAD] = {7, 8, 9, 10};
  struct used used;
  int error = begin(&used);
  MPI_Request sent = MPI_REQUEST_NULL;
  MPI_Message message = MPI_MESSAGE_NULL;
  if (error != MPI_SUCCESS) return end(&used, error);
  error = MPI_Isend(out, 1, used.pair, 0, TAG, used.comm, &sent);
  if (error != MPI_SUCCESS) return end(&used, error);
  CHECK(MPI_Mprobe(0, TAG, used.comm, &message, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  error = take(&used, &message);
  MPI_Wait(&sent, MPI_STATUS_IGNORE);
  return end(&used, error);
}

/* A message from nowhere. */
static int matched_to_nobody(void) {
  struct used used;
  int in[SPREAD] = {0}, error = begin(&used);
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Message message = MPI_MESSAGE_NO_PROC;
  if (error != MPI_SUCCESS) return end(&used, error);
  error = MPI_Imrecv(in, 1, used.pair, &message, &request);
  CHECK(message == (error == MPI_SUCCESS ? MPI_MESSAGE_NULL : MPI_MESSAGE_NO_PROC));
  return end(&used, wait_for(error, &request));
}

static int flush(void) {
  struct used used;
  void *detached;
  int size, error = begin(&used);
  MPI_Request request = MPI_REQUEST_NULL;
  if (error == MPI_SUCCESS) error = MPI_Comm_attach_buffer(used.comm, MPI_BUFFER_AUTOMATIC, 0);
  if (error != MPI_SUCCESS) return end(&used, error);
  error = wait_for(MPI_Comm_iflush_buffer(used.comm, &request), &request);
  CHECK(MPI_Comm_detach_buffer(used.comm, &detached, &size) == MPI_SUCCESS);
  return end(&used, error);
}

/* With nobody. */
static int blocking(void) {
  struct used used;
  int values[SPREAD] = {0}, error = begin(&used);
  if (error == MPI_SUCCESS) error = MPI_Send(values, 1, used.pair, MPI_PROC_NULL, TAG, used.comm);
  if (error == MPI_SUCCESS)
    error = MPI_Recv(values, 1, used.pair, MPI_PROC_NULL, TAG, used.comm, MPI_STATUS_IGNORE);
  if (error == MPI_SUCCESS)
    error = MPI_Sendrecv(values, 1, used.pair, MPI_PROC_NULL, TAG, values, 1, used.pair,
                         MPI_PROC_NULL, TAG, used.comm, MPI_STATUS_IGNORE);
  return end(&used, error);
}

/* A message that is long enough to be copied once. */
static int large_exchange(void) {
  enum { ELEMENTS = 10000 };
  static int out[ELEMENTS * SPREAD], in[ELEMENTS * SPREAD];
  struct used used;
  int error = begin(&used);
  out[0] = 7;
  in[0] = 0;
  if (error == MPI_SUCCESS) {
    error = MPI_Sendrecv(out, ELEMENTS, used.pair, 0, TAG, in, ELEMENTS, used.pair, 0, TAG,
                         used.comm, MPI_STATUS_IGNORE);
    CHECK(error != MPI_SUCCESS || in[0] == 7);
  }
  return end(&used, error);
}

/* One of them is pending. */
static int look_at_many(void) {
  MPI_Request requests[MANY];
  int flag = 0, index = 0, done = 0, indices[MANY], in = 0;
  for (int i = 0; i < MANY; i++) requests[i] = MPI_REQUEST_NULL;
  int error = MPI_Irecv(&in, 1, MPI_INT, 0, TAG, MPI_COMM_SELF, &requests[MANY - 1]);
  if (error != MPI_SUCCESS) return error;
  error = MPI_Testall(MANY, requests, &flag, MPI_STATUSES_IGNORE);
  CHECK(!flag);
  if (error == MPI_SUCCESS) error = MPI_Testany(MANY, requests, &index, &flag, MPI_STATUS_IGNORE);
  CHECK(!flag);
  if (error == MPI_SUCCESS)
    error = MPI_Testsome(MANY, requests, &done, indices, MPI_STATUSES_IGNORE);
  if (error == MPI_SUCCESS)
    error = MPI_Request_get_status_all(MANY, requests, &flag, MPI_STATUSES_IGNORE);
  if (error == MPI_SUCCESS)
    error = MPI_Request_get_status_any(MANY, requests, &index, &flag, MPI_STATUS_IGNORE);
  if (error == MPI_SUCCESS)
    error = MPI_Request_get_status_some(MANY, requests, &done, indices, MPI_STATUSES_IGNORE);
  CHECK(!flag && done == 0);
  MPI_Cancel(&requests[MANY - 1]);
  MPI_Wait(&requests[MANY - 1], MPI_STATUS_IGNORE);
  return error;
}

/* There are none. */
static int wait_for_none(void) {
  MPI_Request requests[MANY];
  int index = 0, done = 0, indices[MANY];
  for (int i = 0; i < MANY; i++) requests[i] = MPI_REQUEST_NULL;
  int error = MPI_Waitany(MANY, requests, &index, MPI_STATUS_IGNORE);
  CHECK(error != MPI_SUCCESS || index == MPI_UNDEFINED);
  if (error == MPI_SUCCESS)
    error = MPI_Waitsome(MANY, requests, &done, indices, MPI_STATUSES_IGNORE);
  CHECK(error != MPI_SUCCESS || done == MPI_UNDEFINED);
  return error;
}

static int query(void *state, MPI_Status *status) {
  CHECK(state == NULL && status != NULL);
  return MPI_SUCCESS;
}
static int release(void *state) { return state == NULL ? MPI_SUCCESS : MPI_ERR_OTHER; }
static int cancel(void *state, int complete) {
  CHECK(state == NULL || complete);
  return MPI_SUCCESS;
}

static int generalized(void) {
  MPI_Request request = MPI_REQUEST_NULL;
  int error = MPI_Grequest_start(query, release, cancel, NULL, &request);
  if (error == MPI_SUCCESS) MPI_Grequest_complete(request);
  return wait_for(error, &request);
}

static const struct row rows[] = {{"MPI_Irecv", receive, 0},
                                  {"MPI_Send_init", persistent, 0},
                                  {"MPI_Psend_init", partitioned, 0},
                                  {"MPI_Imrecv", matched, FROM_TO(10, 10)},
                                  {"MPI_Imrecv of no message", matched_to_nobody, 0},
                                  {"MPI_Comm_iflush_buffer", flush, 0},
                                  {"MPI_Grequest_start", generalized, 0},
                                  {"MPI_Send", blocking, 0},
                                  {"MPI_Sendrecv", large_exchange, FROM_TO(9, 9)},
                                  {"MPI_Testall", look_at_many, 0},
                                  {"MPI_Waitany", wait_for_none, 0}};

int main(int argc, char **argv) {
  start(&argc, &argv, MPI_THREAD_MULTIPLE);
  check_rows(rows, sizeof rows / sizeof rows[0]);
  MPI_Finalize();
  return 0;
}
