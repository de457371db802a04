/* SPDX-License-Identifier: Apache-2.0 */
/* Requests: waiting and testing in all ways, looking without giving back, generalized ones, two
 * messages in one, cancelling. */
#include <stdbool.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

enum { MANY = 100, TAG = 3 };

static int rank, size, next, before;

/* Receives from the rank before, and sends to the next. */
static void start(MPI_Request requests[], const int out[], int in[], int count) {
  for (int i = 0; i < count; i++) {
    MPI_Irecv(&in[i], 1, MPI_INT, before, i, MPI_COMM_WORLD, &requests[i]);
    MPI_Isend(&out[i], 1, MPI_INT, next, i, MPI_COMM_WORLD, &requests[count + i]);
  }
}

static void check(const int in[], int count) {
  for (int i = 0; i < count; i++) CHECK(in[i] == 100 * before + i);
}

/* Too many requests to look up on the stack. */
static void all_ways(void) {
  MPI_Request requests[2 * MANY];
  MPI_Status statuses[2 * MANY], status;
  int out[MANY], in[MANY], indices[2 * MANY], index, done, flag = 0;
  for (int i = 0; i < MANY; i++) out[i] = 100 * rank + i;
  start(requests, out, in, MANY);
  while (!flag) MPI_Testall(2 * MANY, requests, &flag, statuses);
  check(in, MANY);
  for (int i = 0; i < MANY; i++)
    CHECK(statuses[i].MPI_TAG == i && statuses[i].MPI_ERROR == MPI_SUCCESS);
  start(requests, out, in, MANY);
  for (int left = 2 * MANY; left > 0; left--) {
    MPI_Waitany(2 * MANY, requests, &index, &status);
    CHECK(index >= 0 && requests[index] == MPI_REQUEST_NULL);
  }
  check(in, MANY);
  MPI_Waitany(2 * MANY, requests, &index, &status);
  CHECK(index == MPI_UNDEFINED && status.MPI_SOURCE == MPI_ANY_SOURCE);
  start(requests, out, in, MANY);
  for (int left = 2 * MANY; left > 0; left -= flag) {
    MPI_Testany(2 * MANY, requests, &index, &flag, &status);
    CHECK(!flag == (index == MPI_UNDEFINED));
  }
  MPI_Testany(2 * MANY, requests, &index, &flag, MPI_STATUS_IGNORE);
  CHECK(flag && index == MPI_UNDEFINED);
  start(requests, out, in, MANY);
  for (int left = 2 * MANY; left > 0; left -= done)
    MPI_Waitsome(2 * MANY, requests, &done, indices, statuses);
  check(in, MANY);
  MPI_Waitsome(2 * MANY, requests, &done, indices, statuses);
  CHECK(done == MPI_UNDEFINED);
  start(requests, out, in, MANY);
  for (int left = 2 * MANY; left > 0; left -= done)
    MPI_Testsome(2 * MANY, requests, &done, indices, MPI_STATUSES_IGNORE);
  check(in, MANY);
}

/* What is looked at stays. */
static void looked_at(void) {
  MPI_Request requests[2], none = MPI_REQUEST_NULL;
  MPI_Status status, statuses[2];
  int out = 100 * rank, in, flag = 0, index, done = 0, indices[2];
  MPI_Request_get_status(none, &flag, &status);
  CHECK(flag && status.MPI_TAG == MPI_ANY_TAG);
  start(requests, &out, &in, 1);
  flag = 0;
  while (!flag) MPI_Request_get_status(requests[0], &flag, &status);
  CHECK(status.MPI_SOURCE == before && requests[0] != MPI_REQUEST_NULL);
  MPI_Request_get_status_any(2, requests, &index, &flag, &status);
  CHECK(flag && index == 0);
  flag = 0;
  while (!flag) MPI_Request_get_status_all(2, requests, &flag, statuses);
  CHECK(statuses[0].MPI_SOURCE == before && statuses[0].MPI_ERROR == MPI_SUCCESS);
  MPI_Request_get_status_some(2, requests, &done, indices, statuses);
  CHECK(done == 2 && indices[0] == 0 && indices[1] == 1);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  check(&in, 1);
  MPI_Request_get_status_any(2, requests, &index, &flag, &status);
  CHECK(flag && index == MPI_UNDEFINED);
  MPI_Request_get_status_some(2, requests, &done, indices, statuses);
  CHECK(done == MPI_UNDEFINED);
  MPI_Irecv(&in, 1, MPI_INT, rank, 77, MPI_COMM_WORLD, &requests[0]); /* nobody sends yet */
  MPI_Request_get_status_any(1, requests, &index, &flag, &status);
  CHECK(!flag && index == MPI_UNDEFINED);
  MPI_Request_get_status_some(1, requests, &done, indices, statuses);
  CHECK(done == 0);
  MPI_Request_get_status_all(1, requests, &flag, statuses);
  CHECK(!flag);
  MPI_Send(&out, 1, MPI_INT, rank, 77, MPI_COMM_WORLD);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
}

/* ---- sends are cancelled as long as nobody has received them, complete or not */

enum { CANCELLED_TAG = 77, KEPT_TAG, LARGEST = 100000 };

static int cancels(MPI_Request *request) {
  MPI_Status status;
  int flag;
  MPI_Cancel(request);
  MPI_Wait(request, &status);
  MPI_Test_cancelled(&status, &flag);
  return flag;
}

static void cancel_sends(int bytes) {
  static char out[LARGEST], in[LARGEST], room[LARGEST + MPI_BSEND_OVERHEAD];
  MPI_Request requests[3], persistent;
  MPI_Status status;
  void *address;
  int flag, size;
  MPI_Buffer_attach(room, sizeof room);
  MPI_Ibsend(out, bytes, MPI_CHAR, 0, CANCELLED_TAG, MPI_COMM_SELF, &requests[0]);
  CHECK(cancels(&requests[0]));
  MPI_Buffer_detach(&address, &size); /* returns: the message counts no more */
  MPI_Issend(out, bytes, MPI_CHAR, 0, CANCELLED_TAG, MPI_COMM_SELF, &requests[0]);
  CHECK(cancels(&requests[0]));
  MPI_Send_init(out, bytes, MPI_CHAR, 0, CANCELLED_TAG, MPI_COMM_SELF, &persistent);
  MPI_Start(&persistent);
  CHECK(cancels(&persistent));
  MPI_Start(&persistent);
  MPI_Recv(in, bytes, MPI_CHAR, 0, CANCELLED_TAG, MPI_COMM_SELF, MPI_STATUS_IGNORE);
  CHECK(!cancels(&persistent)); /* received */
  MPI_Request_free(&persistent);
  for (int i = 0; i < 3; i++) { /* of three alike the second is cancelled */
    out[0] = (char)i;
    MPI_Isend(out, bytes <= 64 ? bytes : 64, MPI_CHAR, 0, KEPT_TAG, MPI_COMM_SELF, &requests[i]);
  }
  CHECK(cancels(&requests[1]));
  for (int i = 0; i < 3; i += 2) {
    MPI_Recv(in, bytes, MPI_CHAR, 0, KEPT_TAG, MPI_COMM_SELF, &status);
    CHECK(in[0] == i);
    CHECK(!cancels(&requests[i])); /* a later one of the same tag is not taken for it */
  }
  MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &flag, &status);
  CHECK(!flag);
}

/* A send to nobody cancels nothing. Its request has the memory of a send that nobody has received.
 */
static void cancel_for_nobody(void) {
  MPI_Request request;
  MPI_Status status;
  int in = 0, flag;
  MPI_Isend(&rank, 1, MPI_INT, rank, KEPT_TAG, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Isend(&rank, 1, MPI_INT, MPI_PROC_NULL, KEPT_TAG, MPI_COMM_WORLD, &request);
  MPI_Cancel(&request);
  MPI_Wait(&request, &status);
  MPI_Test_cancelled(&status, &flag);
  CHECK(!flag);
  MPI_Recv(&in, 1, MPI_INT, rank, KEPT_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK(in == rank);
}

/* Each message is either received or cancelled, while its receiver looks for it on another VP. */
static void cancel_races(void) {
  enum { RACES = 400 };
  int sizes[] = {4, 100, 5000, 50000};
  static char out[50000], in[50000];
  MPI_Request send, recv;
  for (int i = 0; i < RACES; i++) {
    int bytes = sizes[i % 4], flag = 0, cancelled, was_cancelled;
    out[0] = (char)i;
    in[0] = (char)(i + 1);
    if (i % 3 == 0) MPI_Irecv(in, bytes, MPI_CHAR, before, i, MPI_COMM_WORLD, &recv);
    MPI_Isend(out, bytes, MPI_CHAR, next, i, MPI_COMM_WORLD, &send);
    if (i % 5 == 0) MPI_Iprobe(before, i, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    cancelled = cancels(&send);
    if (i % 3 != 0) MPI_Irecv(in, bytes, MPI_CHAR, before, i, MPI_COMM_WORLD, &recv);
    MPI_Sendrecv(&cancelled, 1, MPI_INT, next, RACES, &was_cancelled, 1, MPI_INT, before, RACES,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (was_cancelled)
      CHECK(cancels(&recv));
    else
      MPI_Wait(&recv, MPI_STATUS_IGNORE);
    CHECK(in[0] == (char)(was_cancelled ? i + 1 : i));
  }
}

/* ---- generalized: the functions count their calls in the extra state */

struct calls {
  int queried, freed, cancelled;
};

static int query(void *extra, MPI_Status *status) {
  ((struct calls *)extra)->queried++;
  MPI_Status_set_elements(status, MPI_INT, 5);
  MPI_Status_set_cancelled(status, ((struct calls *)extra)->cancelled > 0);
  MPI_Status_set_source(status, 42);
  MPI_Status_set_tag(status, 43);
  return MPI_SUCCESS;
}

static int release(void *extra) {
  ((struct calls *)extra)->freed++;
  return MPI_SUCCESS;
}

static int cancel(void *extra, int complete) {
  if (!complete) ((struct calls *)extra)->cancelled++;
  return MPI_SUCCESS;
}

static void generalized(void) {
  struct calls calls = {0, 0, 0};
  MPI_Request request;
  MPI_Status status;
  int flag, count, source, tag;
  MPI_Grequest_start(query, release, cancel, &calls, &request);
  MPI_Test(&request, &flag, &status);
  CHECK(!flag && calls.queried == 0);
  MPI_Grequest_complete(request);
  MPI_Request_get_status(request, &flag, &status);
  CHECK(flag && calls.queried == 1 && calls.freed == 0);
  MPI_Wait(&request, &status);
  MPI_Get_count(&status, MPI_INT, &count);
  MPI_Status_get_source(&status, &source);
  MPI_Status_get_tag(&status, &tag);
  CHECK(calls.queried == 2 && calls.freed == 1 && count == 5 && source == 42 && tag == 43);
  MPI_Grequest_start(query, release, cancel, &calls, &request);
  MPI_Cancel(&request);
  MPI_Grequest_complete(request);
  MPI_Wait(&request, &status);
  MPI_Test_cancelled(&status, &flag);
  CHECK(flag && calls.cancelled == 1 && calls.freed == 2);
  MPI_Grequest_start(query, release, cancel, &calls, &request);
  MPI_Grequest_complete(request);
  MPI_Request_free(&request);
  CHECK(calls.freed == 3 && request == MPI_REQUEST_NULL);
  MPI_Status_set_error(&status, MPI_ERR_OTHER);
  MPI_Status_get_error(&status, &flag);
  CHECK(flag == MPI_ERR_OTHER);
}

/* The error of the query function counts, or else that of the release function, which is called
 * in any case; of several requests it is in the status. */
struct errors {
  int of_query, of_release, released;
};

static int query_with_error(void *extra, MPI_Status *status) {
  MPI_Status_set_elements(status, MPI_INT, 0);
  MPI_Status_set_cancelled(status, 0);
  return ((const struct errors *)extra)->of_query;
}

static int release_with_error(void *extra) {
  ((struct errors *)extra)->released++;
  return ((const struct errors *)extra)->of_release;
}

static void generalized_errors(void) {
  static const struct {
    int query, release, result;
  } cases[] = {{MPI_SUCCESS, MPI_SUCCESS, MPI_SUCCESS},
               {MPI_ERR_TAG, MPI_SUCCESS, MPI_ERR_TAG},
               {MPI_SUCCESS, MPI_ERR_RANK, MPI_ERR_RANK},
               {MPI_ERR_TAG, MPI_ERR_RANK, MPI_ERR_TAG}};
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
    for (int way = 0; way < 6; way++) {
      struct errors errors = {cases[i].query, cases[i].release, 0};
      MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
      MPI_Status statuses[2];
      int flag = 1, index = 1, done = 1, code = MPI_SUCCESS;
      bool several = way > 2;
      MPI_Grequest_start(query_with_error, release_with_error, cancel, &errors, &requests[1]);
      MPI_Grequest_complete(requests[1]);
      statuses[0].MPI_ERROR = statuses[1].MPI_ERROR = -1;
      switch (way) {
        case 0: code = MPI_Wait(&requests[1], statuses); break;
        case 1: code = MPI_Test(&requests[1], &flag, statuses); break;
        case 2: code = MPI_Waitany(2, requests, &index, statuses); break;
        case 3: code = MPI_Waitall(2, requests, statuses); break;
        case 4: code = MPI_Testall(2, requests, &flag, statuses); break;
        default: code = MPI_Testsome(2, requests, &done, &index, &statuses[1]);
      }
      CHECK(flag == 1 && index == 1 && done == 1);
      CHECK(code ==
            (several && cases[i].result != MPI_SUCCESS ? MPI_ERR_IN_STATUS : cases[i].result));
      if (several) CHECK(statuses[1].MPI_ERROR == cases[i].result);
      CHECK(requests[1] == MPI_REQUEST_NULL && errors.released == 1);
    }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
}

static void two_in_one(void) {
  int out = 100 * rank, in = -1, count;
  MPI_Request request;
  MPI_Status status;
  MPI_Isendrecv(&out, 1, MPI_INT, next, TAG, &in, 1, MPI_INT, before, TAG, MPI_COMM_WORLD,
                &request);
  MPI_Wait(&request, &status);
  MPI_Get_count(&status, MPI_INT, &count);
  CHECK(in == 100 * before && status.MPI_SOURCE == before && count == 1);
  MPI_Isendrecv_replace(&out, 1, MPI_INT, next, TAG, before, TAG, MPI_COMM_WORLD, &request);
  for (int flag = 0; !flag;) MPI_Test(&request, &flag, &status);
  CHECK(out == 100 * before && status.MPI_TAG == TAG);
  MPI_Sendrecv_replace(&out, 1, MPI_INT, before, TAG, next, TAG, MPI_COMM_WORLD, &status);
  CHECK(out == 100 * rank && status.MPI_SOURCE == next);
  /* to itself: complete at once */
  MPI_Isendrecv(&out, 1, MPI_INT, rank, TAG, &in, 1, MPI_INT, rank, TAG, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(in == out);
  MPI_Isendrecv(&out, 1, MPI_INT, MPI_PROC_NULL, TAG, &in, 1, MPI_INT, MPI_PROC_NULL, TAG,
                MPI_COMM_WORLD, &request);
  MPI_Wait(&request, &status);
  CHECK(status.MPI_SOURCE == MPI_PROC_NULL);
}

static void cancelled(void) {
  static char large[1 << 20];
  MPI_Request requests[2];
  MPI_Status status;
  int flag;
  MPI_Issend(large, 1, MPI_CHAR, rank, 88, MPI_COMM_WORLD, &requests[0]); /* nobody receives it */
  MPI_Cancel(&requests[0]);
  MPI_Wait(&requests[0], &status);
  MPI_Test_cancelled(&status, &flag);
  CHECK(flag);
  MPI_Iprobe(rank, 88, MPI_COMM_WORLD, &flag, &status);
  CHECK(!flag); /* it has gone */
  MPI_Irecv(large, 1, MPI_CHAR, rank, 88, MPI_COMM_WORLD, &requests[0]);
  MPI_Send(large, 1, MPI_CHAR, rank, 88, MPI_COMM_WORLD);
  MPI_Cancel(&requests[0]); /* too late */
  MPI_Wait(&requests[0], &status);
  MPI_Test_cancelled(&status, &flag);
  CHECK(!flag);
  /* given up while it is under way: completes by itself */
  MPI_Issend(large, sizeof large, MPI_CHAR, rank, 89, MPI_COMM_WORLD, &requests[1]);
  MPI_Request_free(&requests[1]);
  MPI_Recv(large, sizeof large, MPI_CHAR, rank, 89, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Each mode, started again and again; without room a buffered one does not start. */
static void persistent(void) {
  static int (*const modes[])(const void *, int, MPI_Datatype, int, int, MPI_Comm,
                              MPI_Request *) = {MPI_Send_init, MPI_Bsend_init, MPI_Ssend_init,
                                                MPI_Rsend_init};
  MPI_Request requests[2];
  int out, in, bytes;
  void *address;
  MPI_Buffer_attach(MPI_BUFFER_AUTOMATIC, 0);
  for (int mode = 0; mode < 4; mode++) {
    modes[mode](&out, 1, MPI_INT, next, TAG, MPI_COMM_WORLD, &requests[1]);
    MPI_Recv_init(&in, 1, MPI_INT, before, TAG, MPI_COMM_WORLD, &requests[0]);
    for (int i = 0; i < 3; i++) {
      out = 10 * rank + i;
      MPI_Start(&requests[0]);
      MPI_Barrier(MPI_COMM_WORLD); /* a ready send finds its receive */
      MPI_Start(&requests[1]);
      MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
      CHECK(in == 10 * before + i);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
  }
  MPI_Buffer_detach(&address, &bytes);
  CHECK(address == MPI_BUFFER_AUTOMATIC && bytes == 0);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Bsend_init(&out, 1, MPI_INT, next, TAG, MPI_COMM_WORLD, &requests[0]);
  for (int i = 0; i < 2; i++) CHECK(MPI_Start(&requests[0]) == MPI_ERR_BUFFER);
  CHECK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE) == MPI_SUCCESS); /* it is not active */
  MPI_Request_free(&requests[0]);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

/* Null requests, and messages from nobody, are complete. */
static void nothing(void) {
  MPI_Request none = MPI_REQUEST_NULL, both[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  MPI_Message message;
  MPI_Status status, statuses[2];
  int flag = 0, value;
  MPI_Wait(&none, &status);
  CHECK(status.MPI_SOURCE == MPI_ANY_SOURCE && status.MPI_ERROR == MPI_SUCCESS);
  MPI_Test(&none, &flag, &status);
  CHECK(flag);
  MPI_Waitall(2, both, statuses);
  CHECK(statuses[1].MPI_TAG == MPI_ANY_TAG);
  MPI_Probe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &status);
  CHECK(status.MPI_SOURCE == MPI_PROC_NULL);
  MPI_Mprobe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &message, &status);
  CHECK(message == MPI_MESSAGE_NO_PROC);
  MPI_Mrecv(&value, 1, MPI_INT, &message, &status);
  CHECK(status.MPI_SOURCE == MPI_PROC_NULL && message == MPI_MESSAGE_NULL);
}

/* The errors of several are in their statuses. */
static void truncated(void) {
  int two[2] = {1, 2}, in[2];
  MPI_Request requests[2];
  MPI_Status statuses[2];
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Irecv(&in[0], 1, MPI_INT, rank, 1, MPI_COMM_WORLD, &requests[0]);
  MPI_Irecv(&in[1], 1, MPI_INT, rank, 2, MPI_COMM_WORLD, &requests[1]);
  MPI_Send(two, 2, MPI_INT, rank, 1, MPI_COMM_WORLD);
  MPI_Send(two, 1, MPI_INT, rank, 2, MPI_COMM_WORLD);
  CHECK(MPI_Waitall(2, requests, statuses) == MPI_ERR_IN_STATUS);
  CHECK(statuses[0].MPI_ERROR == MPI_ERR_TRUNCATE && statuses[1].MPI_ERROR == MPI_SUCCESS);
  MPI_Irecv(&in[0], 1, MPI_INT, rank, 1, MPI_COMM_WORLD, &requests[0]);
  MPI_Send(two, 2, MPI_INT, rank, 1, MPI_COMM_WORLD);
  CHECK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE) == MPI_ERR_TRUNCATE);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

enum { EARLY, NONE, TWICE, IDLE, OWN, LATE, KINDS };

/* EARLY and a longer TWICE come at once, LATE comes when ranks of even numbers wait for it. */
static void send_kinds(void) {
  int out[2] = {100 * rank, 100 * rank + 1};
  MPI_Send(out, 1, MPI_INT, next, EARLY, MPI_COMM_WORLD);
  MPI_Send(out, 2, MPI_INT, next, TWICE, MPI_COMM_WORLD);
  if (rank % 2 != 0) nanosleep(&(struct timespec){0, 3000000}, NULL);
  MPI_Send(&out[1], 1, MPI_INT, next, LATE, MPI_COMM_WORLD);
}

/* What a call waits for ends in any order and in any way. */
static void all_kinds(bool wants_statuses) {
  struct calls calls = {0, 0, 0};
  int in[KINDS] = {0};
  MPI_Request requests[KINDS];
  MPI_Status statuses[KINDS], *filled = wants_statuses ? statuses : MPI_STATUSES_IGNORE;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  for (int i = 0; i < KINDS; i++)
    if (i != IDLE) MPI_Irecv(&in[i], 1, MPI_INT, before, i, MPI_COMM_WORLD, &requests[i]);
  for (int i = NONE; i <= OWN; i += OWN - NONE) {
    MPI_Cancel(&requests[i]);
    MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
  }
  MPI_Recv_init(&in[IDLE], 1, MPI_INT, before, IDLE, MPI_COMM_WORLD, &requests[IDLE]);
  MPI_Grequest_start(query, release, cancel, &calls, &requests[OWN]);
  MPI_Grequest_complete(requests[OWN]);
  send_kinds();
  CHECK(MPI_Waitall(KINDS, requests, filled) == MPI_ERR_IN_STATUS);
  CHECK(in[EARLY] == 100 * before && in[LATE] == 100 * before + 1 && calls.freed == 1);
  for (int i = 0; i < KINDS; i++) CHECK((requests[i] == MPI_REQUEST_NULL) == (i != IDLE));
  for (int i = 0; i < KINDS && wants_statuses; i++) {
    bool empty = i == NONE || i == IDLE;
    CHECK(statuses[i].MPI_ERROR == (i == TWICE ? MPI_ERR_TRUNCATE : MPI_SUCCESS));
    CHECK(statuses[i].MPI_TAG == (empty ? MPI_ANY_TAG : i == OWN ? 43 : i));
  }
  MPI_Request_free(&requests[IDLE]);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

/* A call to or from MPI_PROC_NULL is complete: there is nothing to cancel. */
static void cancelled_too_late(void) {
  MPI_Request request;
  MPI_Status status;
  int value = 0, flag;
  for (int send = 0; send < 2; send++) {
    if (send)
      MPI_Isend(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request);
    else
      MPI_Irecv(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &flag);
    CHECK(!flag);
  }
}

/* Errors of MPI_Mrecv() and MPI_Imrecv() go to the handler of the message's communicator. */
static void probed_and_truncated(void) {
  MPI_Comm comm;
  MPI_Message message;
  MPI_Request send, receive;
  int values[2] = {1, 2}, received[2] = {0, 0};
  MPI_Comm_dup(MPI_COMM_SELF, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  for (int nonblocking = 0; nonblocking < 2; nonblocking++) {
    MPI_Isend(values, 2, MPI_INT, 0, 0, comm, &send);
    MPI_Mprobe(0, 0, comm, &message, MPI_STATUS_IGNORE);
    if (nonblocking) {
      MPI_Imrecv(received, 1, MPI_INT, &message, &receive);
      CHECK(MPI_Wait(&receive, MPI_STATUS_IGNORE) == MPI_ERR_TRUNCATE);
    } else {
      CHECK(MPI_Mrecv(received, 1, MPI_INT, &message, MPI_STATUS_IGNORE) == MPI_ERR_TRUNCATE);
    }
    CHECK(message == MPI_MESSAGE_NULL && received[0] == 1 && received[1] == 0);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
  }
  MPI_Isend(values, 2, MPI_INT, 0, 0, comm, &send);
  MPI_Mprobe(0, 0, comm, &message, MPI_STATUS_IGNORE);
  MPI_Comm_free(&comm); /* the message keeps it */
  MPI_Mrecv(received, 2, MPI_INT, &message, MPI_STATUS_IGNORE);
  CHECK(received[1] == 2);
  MPI_Wait(&send, MPI_STATUS_IGNORE);
}

/* Polls until the request is complete, where frames of an earlier call were: nothing writes there
 * any more. */
__attribute__((noinline)) static void complete_over_old_frames(MPI_Request *request) {
  enum { ROOM = 1 << 14 };
  volatile char room[ROOM];
  int flag = 0, changed = 0;
  for (int i = 0; i < ROOM; i++) room[i] = 0;
  MPI_Send(&rank, 1, MPI_INT, before, 1, MPI_COMM_WORLD); /* its sender continues */
  while (!flag) MPI_Test(request, &flag, MPI_STATUS_IGNORE);
  for (int i = 0; i < ROOM; i++) changed += room[i] != 0;
  CHECK(changed == 0);
}

/* A wait for any of several requests ends, and the others are complete later. Each rank
 * waits for its turn, so that the waits are long enough to park. */
static void left_behind(void) {
  for (int turn = 0; turn < size; turn++) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (turn == rank) {
      MPI_Request requests[3];
      int in[3] = {-1, -1, -1}, index;
      for (int i = 0; i < 3; i++)
        MPI_Irecv(&in[i], 1, MPI_INT, before, 10 + i, MPI_COMM_WORLD, &requests[i]);
      MPI_Waitany(3, requests, &index, MPI_STATUS_IGNORE);
      CHECK(index == 1 && in[1] == 11);
      complete_over_old_frames(&requests[0]);
      MPI_Wait(&requests[2], MPI_STATUS_IGNORE);
      CHECK(in[0] == 10 && in[2] == 12);
    } else if ((turn + size - 1) % size == rank) {
      int out[3] = {10, 11, 12}, token;
      usleep(20000); /* so that the receiver parks */
      MPI_Send(&out[1], 1, MPI_INT, next, 11, MPI_COMM_WORLD);
      MPI_Recv(&token, 1, MPI_INT, next, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      for (int i = 0; i < 3; i += 2) MPI_Send(&out[i], 1, MPI_INT, next, 10 + i, MPI_COMM_WORLD);
    }
  }
}

int main(int argc, char **argv) {
  rank = check_start(&argc, &argv, &size);
  next = (rank + 1) % size;
  before = (rank + size - 1) % size;
  all_ways();
  looked_at();
  for (int bytes = 1; bytes <= LARGEST; bytes *= 10) cancel_sends(bytes);
  cancel_for_nobody();
  cancel_races();
  generalized();
  generalized_errors();
  two_in_one();
  cancelled();
  persistent();
  nothing();
  truncated();
  for (int i = 0; i < 20; i++) all_kinds(i % 2 == 0);
  cancelled_too_late();
  probed_and_truncated();
  left_behind();
  MPI_Finalize();
  return 0;
}
