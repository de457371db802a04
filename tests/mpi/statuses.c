/* SPDX-License-Identifier: Apache-2.0 */
/* Statuses, field by field: what a call fills in, what it leaves alone, and what is counted in
 * them. The statuses hold other values before each call. */
#include <limits.h>
#include <stdbool.h>
#include <string.h>

#include "check.h"

enum { OTHER = 0x55, TAG = 5, MARK = 12345 };

static int rank, size, next, before;

static void spoil(MPI_Status *statuses, int count) {
  memset(statuses, OTHER, (size_t)count * sizeof *statuses);
  for (int i = 0; i < count; i++) statuses[i].MPI_ERROR = MARK;
}

/* bytes: of the message. error: in the status. */
static void is(const MPI_Status *status, int source, int tag, int bytes, int error) {
  int count = -7, cancelled = -7;
  MPI_Get_count(status, MPI_BYTE, &count);
  MPI_Test_cancelled(status, &cancelled);
  CHECK(status->MPI_SOURCE == source && status->MPI_TAG == tag && count == bytes);
  CHECK(status->MPI_ERROR == error && cancelled == 0);
}

static void is_empty(const MPI_Status *status) {
  is(status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0, MPI_SUCCESS);
}

/* ---- nothing to wait for */

static void empty(void) {
  MPI_Request null = MPI_REQUEST_NULL, nulls[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL}, idle;
  MPI_Status status, statuses[3];
  int flag, index, value;
  spoil(&status, 1);
  MPI_Wait(&null, &status);
  is_empty(&status);
  spoil(&status, 1);
  flag = -1;
  MPI_Test(&null, &flag, &status);
  is_empty(&status);
  CHECK(flag == 1);
  spoil(&status, 1);
  flag = -1;
  MPI_Request_get_status(null, &flag, &status);
  is_empty(&status);
  CHECK(flag == 1);
  spoil(statuses, 3);
  MPI_Waitall(2, nulls, statuses);
  is_empty(&statuses[0]), is_empty(&statuses[1]);
  CHECK(statuses[2].MPI_ERROR == MARK);
  spoil(statuses, 3);
  flag = -1;
  MPI_Testall(2, nulls, &flag, statuses);
  is_empty(&statuses[0]), is_empty(&statuses[1]);
  CHECK(flag == 1 && statuses[2].MPI_ERROR == MARK);
  spoil(statuses, 3);
  flag = -1;
  MPI_Request_get_status_all(2, nulls, &flag, statuses);
  is_empty(&statuses[0]), is_empty(&statuses[1]);
  CHECK(flag == 1 && statuses[2].MPI_ERROR == MARK);
  for (int count = 0; count <= 2; count += 2) {
    spoil(&status, 1);
    index = 0;
    MPI_Waitany(count, nulls, &index, &status);
    is_empty(&status);
    CHECK(index == MPI_UNDEFINED);
    spoil(&status, 1);
    index = flag = 0;
    MPI_Testany(count, nulls, &index, &flag, &status);
    is_empty(&status);
    CHECK(flag == 1 && index == MPI_UNDEFINED);
    spoil(&status, 1);
    index = flag = 0;
    MPI_Request_get_status_any(count, nulls, &index, &flag, &status);
    is_empty(&status);
    CHECK(flag == 1 && index == MPI_UNDEFINED);
    flag = 0;
    MPI_Testall(count, nulls, &flag, MPI_STATUSES_IGNORE);
    CHECK(flag == 1);
    index = 0;
    MPI_Waitsome(count, nulls, &index, &value, MPI_STATUSES_IGNORE);
    CHECK(index == MPI_UNDEFINED);
    index = 0;
    MPI_Testsome(count, nulls, &index, &value, MPI_STATUSES_IGNORE);
    CHECK(index == MPI_UNDEFINED);
    index = 0;
    MPI_Request_get_status_some(count, nulls, &index, &value, MPI_STATUSES_IGNORE);
    CHECK(index == MPI_UNDEFINED);
  }
  MPI_Recv_init(&value, 1, MPI_INT, before, TAG, MPI_COMM_WORLD, &idle); /* not started */
  spoil(&status, 1);
  MPI_Wait(&idle, &status);
  is_empty(&status);
  CHECK(idle != MPI_REQUEST_NULL);
  MPI_Request_free(&idle);
}

/* ---- messages from nobody */

static void from_nobody(void) {
  MPI_Request request;
  MPI_Message message;
  MPI_Status status;
  int value = 77, flag;
  spoil(&status, 1);
  MPI_Recv(&value, 1, MPI_INT, MPI_PROC_NULL, TAG, MPI_COMM_WORLD, &status);
  is(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0, MARK);
  spoil(&status, 1);
  MPI_Irecv(&value, 1, MPI_INT, MPI_PROC_NULL, TAG, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, &status);
  is(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0, MARK);
  MPI_Recv_init(&value, 1, MPI_INT, MPI_PROC_NULL, TAG, MPI_COMM_WORLD, &request);
  for (int i = 0; i < 2; i++) {
    spoil(&status, 1);
    MPI_Start(&request);
    MPI_Wait(&request, &status);
    is(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0, MARK);
  }
  MPI_Request_free(&request);
  MPI_Isend(&value, 1, MPI_INT, MPI_PROC_NULL, TAG, MPI_COMM_WORLD, &request);
  flag = -1;
  MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
  CHECK(flag == 1 && request == MPI_REQUEST_NULL);
  spoil(&status, 1);
  MPI_Sendrecv(&value, 1, MPI_INT, MPI_PROC_NULL, TAG, &value, 1, MPI_INT, MPI_PROC_NULL, TAG,
               MPI_COMM_WORLD, &status);
  is(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0, MARK);
  spoil(&status, 1);
  flag = -1;
  MPI_Iprobe(MPI_PROC_NULL, TAG, MPI_COMM_WORLD, &flag, &status);
  is(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0, MARK);
  CHECK(flag == 1);
  for (int nonblocking = 0; nonblocking < 2; nonblocking++) {
    spoil(&status, 1);
    flag = -1;
    message = MPI_MESSAGE_NULL;
    MPI_Improbe(MPI_PROC_NULL, TAG, MPI_COMM_WORLD, &flag, &message, &status);
    is(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0, MARK);
    CHECK(flag == 1 && message == MPI_MESSAGE_NO_PROC);
    spoil(&status, 1);
    if (nonblocking) {
      MPI_Imrecv(&value, 1, MPI_INT, &message, &request);
      MPI_Wait(&request, &status);
    } else {
      MPI_Mrecv(&value, 1, MPI_INT, &message, &status);
    }
    is(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0, MARK);
    CHECK(message == MPI_MESSAGE_NULL);
  }
  CHECK(value == 77);
}

/* ---- messages */

static void until_complete(int count, const MPI_Request requests[]) {
  for (int flag = 0; !flag;)
    MPI_Request_get_status_all(count, requests, &flag, MPI_STATUSES_IGNORE);
}

/* One call changes no error field, one for several sets all of them. */
static void received(void) {
  short out[3] = {1, 2, 3}, in[8];
  MPI_Request requests[2];
  MPI_Message message;
  MPI_Status status, statuses[2];
  int flag, index, done, indices[2];
  spoil(&status, 1);
  MPI_Sendrecv(out, 3, MPI_SHORT, next, TAG, in, 8, MPI_SHORT, MPI_ANY_SOURCE, MPI_ANY_TAG,
               MPI_COMM_WORLD, &status);
  is(&status, before, TAG, 6, MARK);
  MPI_Isend(out, 2, MPI_SHORT, rank, 0, MPI_COMM_WORLD, &requests[1]);
  spoil(&status, 1);
  MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &message, &status);
  is(&status, rank, 0, 4, MARK);
  spoil(&status, 1);
  MPI_Mrecv(in, 8, MPI_SHORT, &message, &status);
  is(&status, rank, 0, 4, MARK);
  spoil(&status, 1);
  MPI_Wait(&requests[1], &status);
  CHECK(status.MPI_ERROR == MARK);
  flag = -1;
  message = MPI_MESSAGE_NO_PROC;
  MPI_Improbe(rank, INT_MAX, MPI_COMM_WORLD, &flag, &message, MPI_STATUS_IGNORE);
  CHECK(flag == 0 && message == MPI_MESSAGE_NULL);
  for (int way = 0; way < 4; way++) {
    MPI_Irecv(in, 8, MPI_SHORT, rank, INT_MAX, MPI_COMM_WORLD, &requests[0]);
    requests[1] = MPI_REQUEST_NULL;
    MPI_Send(out, 1, MPI_SHORT, rank, INT_MAX, MPI_COMM_WORLD);
    until_complete(2, requests);
    spoil(statuses, 2);
    if (way == 0) MPI_Waitall(2, requests, statuses);
    if (way == 1) MPI_Testall(2, requests, &flag, statuses);
    if (way == 2) MPI_Waitsome(2, requests, &done, indices, statuses);
    if (way == 3) MPI_Testsome(2, requests, &done, indices, statuses);
    is(&statuses[0], rank, INT_MAX, 2, MPI_SUCCESS);
    if (way < 2) is_empty(&statuses[1]);
    CHECK(way < 2 || (done == 1 && indices[0] == 0 && statuses[1].MPI_ERROR == MARK));
    CHECK(requests[0] == MPI_REQUEST_NULL);
  }
  for (int way = 0; way < 3; way++) {
    MPI_Irecv(in, 8, MPI_SHORT, rank, 0, MPI_COMM_WORLD, &requests[1]);
    requests[0] = MPI_REQUEST_NULL;
    MPI_Send(out, 0, MPI_SHORT, rank, 0, MPI_COMM_WORLD);
    until_complete(2, requests);
    spoil(&status, 1);
    index = flag = -1;
    if (way == 0) MPI_Request_get_status_any(2, requests, &index, &flag, &status);
    if (way != 0) MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    if (way == 1) MPI_Waitany(2, requests, &index, &status);
    if (way == 2) MPI_Testany(2, requests, &index, &flag, &status);
    is(&status, rank, 0, 0, MARK);
    CHECK(index == 1 && (way == 1 || flag == 1) && (requests[1] != MPI_REQUEST_NULL) == (way == 0));
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
  }
}

/* What is cancelled says so; the status says it no more when it is used again. */
static void cancelled_once(void) {
  MPI_Request request;
  MPI_Status status;
  int value = 1, flag;
  spoil(&status, 1);
  MPI_Irecv(&value, 1, MPI_INT, rank, TAG, MPI_COMM_WORLD, &request);
  MPI_Cancel(&request);
  MPI_Wait(&request, &status);
  MPI_Test_cancelled(&status, &flag);
  CHECK(flag == 1);
  MPI_Irecv(&value, 1, MPI_INT, rank, TAG, MPI_COMM_WORLD, &request);
  MPI_Send(&value, 1, MPI_INT, rank, TAG, MPI_COMM_WORLD);
  MPI_Wait(&request, &status);
  is(&status, rank, TAG, 4, MARK);
  MPI_Status_set_cancelled(&status, 5);
  MPI_Test_cancelled(&status, &flag);
  CHECK(flag == 1);
  MPI_Status_set_cancelled(&status, 0);
  is(&status, rank, TAG, 4, MARK);
}

/* The error of a message that is too long is in each kind of call; a request that starts again has
 * none. */
static void too_long(void) {
  int out[2] = {1, 2}, in[3] = {0, 0, 7}, flag = 0, done, indices[2];
  MPI_Request requests[2], again;
  MPI_Status status, statuses[2];
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  for (int way = 0; way < 8; way++) {
    MPI_Irecv(&in[2], 1, MPI_INT, rank, TAG + 1, comm, &requests[0]);
    MPI_Irecv(in, 1, MPI_INT, rank, TAG, comm, &requests[1]);
    MPI_Send(out, 2, MPI_INT, rank, TAG, comm);
    MPI_Send(out, 1, MPI_INT, rank, TAG + 1, comm);
    until_complete(2, requests);
    spoil(statuses, 2);
    spoil(&status, 1);
    switch (way) {
      case 0: CHECK(MPI_Waitall(2, requests, statuses) == MPI_ERR_IN_STATUS); break;
      case 1: CHECK(MPI_Testall(2, requests, &flag, statuses) == MPI_ERR_IN_STATUS); break;
      case 2:
        CHECK(MPI_Waitsome(2, requests, &done, indices, statuses) == MPI_ERR_IN_STATUS);
        CHECK(done == 2 && indices[0] == 0 && indices[1] == 1);
        break;
      case 3:
        CHECK(MPI_Testsome(2, requests, &done, indices, statuses) == MPI_ERR_IN_STATUS);
        CHECK(done == 2 && indices[0] == 0 && indices[1] == 1);
        break;
      case 4: MPI_Request_get_status_all(2, requests, &flag, statuses); break;
      case 5: MPI_Request_get_status_some(2, requests, &done, indices, statuses); break;
      case 6: CHECK(MPI_Test(&requests[1], &flag, &status) == MPI_ERR_TRUNCATE); break;
      default: CHECK(MPI_Waitany(1, &requests[1], &done, &status) == MPI_ERR_TRUNCATE && done == 0);
    }
    if (way < 6) {
      is(&statuses[0], rank, TAG + 1, 4, MPI_SUCCESS);
      CHECK(statuses[1].MPI_ERROR == MPI_ERR_TRUNCATE && statuses[1].MPI_SOURCE == rank &&
            statuses[1].MPI_TAG == TAG);
    } else {
      CHECK(status.MPI_SOURCE == rank && status.MPI_TAG == TAG && status.MPI_ERROR == MARK);
    }
    if (way == 4 || way == 5) CHECK(MPI_Wait(&requests[1], MPI_STATUS_IGNORE) == MPI_ERR_TRUNCATE);
    CHECK(requests[1] == MPI_REQUEST_NULL);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  }
  MPI_Recv_init(in, 1, MPI_INT, rank, TAG, comm, &again);
  for (int count = 2; count >= 0; count--) {
    MPI_Start(&again);
    MPI_Send(out, count, MPI_INT, rank, TAG, comm);
    spoil(&status, 1);
    CHECK(MPI_Wait(&again, &status) == (count == 2 ? MPI_ERR_TRUNCATE : MPI_SUCCESS));
    if (count < 2) is(&status, rank, TAG, 4 * count, MARK);
  }
  MPI_Request_free(&again);
  CHECK(MPI_Sendrecv(out, 2, MPI_INT, next, TAG, in, 1, MPI_INT, before, TAG, comm, &status) ==
        MPI_ERR_TRUNCATE);
  MPI_Isendrecv(out, 2, MPI_INT, next, TAG, in, 1, MPI_INT, before, TAG, comm, &again);
  spoil(&status, 1);
  CHECK(MPI_Wait(&again, &status) == MPI_ERR_TRUNCATE);
  CHECK(status.MPI_SOURCE == before && status.MPI_TAG == TAG && status.MPI_ERROR == MARK);
  MPI_Isendrecv(out, 2, MPI_INT, next, TAG, in, 3, MPI_INT, before, TAG, comm, &again);
  spoil(&status, 1);
  CHECK(MPI_Wait(&again, &status) == MPI_SUCCESS);
  is(&status, before, TAG, 8, MARK);
  MPI_Comm_free(&comm);
}

/* ---- requests of the program's own */

static int query_error, queries, releases, cancelled_complete;

static int query(void *extra, MPI_Status *status) {
  CHECK(extra == &queries && status != MPI_STATUS_IGNORE);
  is_empty(status);
  queries++;
  MPI_Status_set_elements(status, MPI_INT, 3);
  status->MPI_SOURCE = 8;
  status->MPI_TAG = 9;
  return query_error;
}

static int release(void *extra) {
  CHECK(extra == &queries);
  releases++;
  return MPI_SUCCESS;
}

static int cancel(void *extra, int complete) {
  CHECK(extra == &queries);
  cancelled_complete = complete;
  return MPI_SUCCESS;
}

static void own_requests(void) {
  MPI_Request request;
  MPI_Status status;
  int flag, index, done;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  for (int error = MPI_SUCCESS; error <= MPI_ERR_OTHER; error += MPI_ERR_OTHER) {
    queries = releases = 0;
    query_error = error;
    MPI_Grequest_start(query, release, cancel, &queries, &request);
    cancelled_complete = -1;
    MPI_Cancel(&request);
    CHECK(cancelled_complete == 0);
    flag = -1;
    MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE);
    CHECK(flag == 0 && queries == 0);
    MPI_Grequest_complete(request);
    MPI_Cancel(&request);
    CHECK(cancelled_complete != 0 && cancelled_complete != -1);
    MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE);
    CHECK(flag == 1 && queries == 1 && releases == 0);
    spoil(&status, 1);
    MPI_Request_get_status_some(1, &request, &done, &index, &status);
    is(&status, 8, 9, 12, error);
    CHECK(done == 1 && index == 0 && queries == 2 && releases == 0);
    spoil(&status, 1);
    CHECK(MPI_Waitall(1, &request, &status) == (error ? MPI_ERR_IN_STATUS : MPI_SUCCESS));
    is(&status, 8, 9, 12, error);
    CHECK(queries == 3 && releases == 1 && request == MPI_REQUEST_NULL);
    MPI_Grequest_start(query, release, cancel, &queries, &request);
    MPI_Grequest_complete(request);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == error);
    CHECK(queries == 4 && releases == 2);
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

/* ---- counts */

static void counted(void) {
  MPI_Datatype nothing, mixed;
  MPI_Status status;
  int count;
  MPI_Type_contiguous(0, MPI_INT, &nothing);
  MPI_Type_commit(&nothing);
  MPI_Type_create_struct(3, (int[]){2, 1, 3}, (MPI_Aint[]){0, 8, 16},
                         (MPI_Datatype[]){MPI_SHORT, MPI_DOUBLE, MPI_CHAR}, &mixed);
  MPI_Type_commit(&mixed);
  spoil(&status, 1);
  MPI_Status_set_elements(&status, MPI_BYTE, 3);
  CHECK(status.MPI_ERROR == MARK);
  MPI_Get_count(&status, MPI_SHORT, &count);
  CHECK(count == MPI_UNDEFINED);
  MPI_Get_elements(&status, MPI_SHORT, &count);
  CHECK(count == MPI_UNDEFINED);
  MPI_Get_count(&status, nothing, &count);
  CHECK(count == MPI_UNDEFINED);
  MPI_Get_elements(&status, nothing, &count);
  CHECK(count == MPI_UNDEFINED);
  MPI_Status_set_elements(&status, MPI_BYTE, 0);
  MPI_Get_count(&status, nothing, &count);
  CHECK(count == 0);
  MPI_Get_elements(&status, nothing, &count);
  CHECK(count == 0);
  /* the bytes of the first n basic elements of one type after another, and back */
  static const int sizes[] = {2, 2, 8, 1, 1, 1};
  for (int n = 0, bytes = 0; n < 20; bytes += sizes[n++ % 6]) {
    MPI_Status_set_elements(&status, mixed, n);
    MPI_Get_count(&status, MPI_BYTE, &count);
    CHECK(count == bytes);
    MPI_Get_elements(&status, mixed, &count);
    CHECK(count == n);
    MPI_Get_count(&status, mixed, &count);
    CHECK(count == (n % 6 == 0 ? n / 6 : MPI_UNDEFINED));
    MPI_Status_set_elements(&status, MPI_BYTE, bytes + 1); /* the next one is there in part */
    MPI_Get_elements(&status, mixed, &count);
    CHECK(count == (sizes[n % 6] == 1 ? n + 1 : MPI_UNDEFINED));
  }
  MPI_Count large = -1;
  MPI_Status_set_elements_c(&status, MPI_INT, (MPI_Count)INT_MAX + 1);
  MPI_Get_count(&status, MPI_INT, &count);
  MPI_Get_count_c(&status, MPI_INT, &large);
  CHECK(count == MPI_UNDEFINED && large == (MPI_Count)INT_MAX + 1);
  MPI_Status_set_elements(&status, MPI_INT, INT_MAX);
  MPI_Get_count(&status, MPI_INT, &count);
  CHECK(count == INT_MAX);
  MPI_Type_free(&nothing);
  MPI_Type_free(&mixed);
}

/* ---- a rank that only looks lets others run: the answer comes meanwhile */

static void looking(void) {
  for (int way = 0; way < 8; way++) {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Message message;
    int in = -1, flag = 0, done = 0, index;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank % 2 == 1) {
      MPI_Recv(&in, 1, MPI_INT, before, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Send(&way, 1, MPI_INT, before, TAG, MPI_COMM_WORLD);
      continue;
    }
    if (rank == size - 1) continue; /* of an odd number: it has nobody to ask */
    if (way < 6) MPI_Irecv(&in, 1, MPI_INT, next, TAG, MPI_COMM_WORLD, &request);
    MPI_Send(&way, 1, MPI_INT, next, TAG, MPI_COMM_WORLD);
    while (!flag) {
      switch (way) {
        case 0: MPI_Test(&request, &flag, MPI_STATUS_IGNORE); break;
        case 1: MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE); break;
        case 2: MPI_Request_get_status_all(1, &request, &flag, MPI_STATUSES_IGNORE); break;
        case 3: MPI_Request_get_status_any(1, &request, &index, &flag, MPI_STATUS_IGNORE); break;
        case 4: MPI_Request_get_status_some(1, &request, &done, &index, MPI_STATUSES_IGNORE); break;
        case 5: MPI_Testsome(1, &request, &done, &index, MPI_STATUSES_IGNORE); break;
        case 6: MPI_Iprobe(next, TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE); break;
        default: MPI_Improbe(next, TAG, MPI_COMM_WORLD, &flag, &message, MPI_STATUS_IGNORE);
      }
      if (way == 4 || way == 5) flag = done;
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (way == 6) MPI_Recv(&in, 1, MPI_INT, next, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (way == 7) MPI_Mrecv(&in, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
    CHECK(in == way);
  }
}

/* ---- buffers of buffered sends */

static void buffers(void) {
  enum { COST = 64 }; /* of a message: src/tmpi/match/bsend_buffer.c */
  static char room[2 * (sizeof(int) + COST)];
  MPI_Request request;
  MPI_Status status;
  void *address = room;
  int bytes = -1, value = 3, in = 0;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Buffer_attach(MPI_BUFFER_AUTOMATIC, 0);
  MPI_Buffer_detach(&address, &bytes);
  CHECK(address == MPI_BUFFER_AUTOMATIC && bytes == 0);
  CHECK(MPI_Buffer_attach(room, 0) == MPI_SUCCESS); /* no message fits, but it is right */
  EXPECT(MPI_ERR_BUFFER, MPI_Bsend(&value, 1, MPI_INT, rank, TAG, MPI_COMM_WORLD));
  MPI_Buffer_detach(&address, &bytes);
  CHECK(address == room && bytes == 0);
  MPI_Buffer_attach(room, sizeof room - 1); /* not two */
  MPI_Bsend(&value, 1, MPI_INT, rank, TAG, MPI_COMM_WORLD);
  EXPECT(MPI_ERR_BUFFER, MPI_Bsend(&value, 1, MPI_INT, rank, TAG, MPI_COMM_WORLD));
  MPI_Recv(&in, 1, MPI_INT, rank, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Buffer_detach(&address, &bytes);
  CHECK(address == room && bytes == (int)sizeof room - 1);
  MPI_Buffer_attach(room, sizeof room); /* holds two, until one is received */
  for (int i = 0; i < 2; i++)
    CHECK(MPI_Bsend(&value, 1, MPI_INT, rank, TAG, MPI_COMM_WORLD) == MPI_SUCCESS);
  EXPECT(MPI_ERR_BUFFER, MPI_Bsend(&value, 1, MPI_INT, rank, TAG, MPI_COMM_WORLD));
  MPI_Recv(&in, 1, MPI_INT, rank, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK(MPI_Bsend(&value, 1, MPI_INT, rank, TAG, MPI_COMM_WORLD) == MPI_SUCCESS);
  for (int i = 0; i < 2; i++)
    MPI_Recv(&in, 1, MPI_INT, rank, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  spoil(&status, 1);
  MPI_Buffer_iflush(&request);
  MPI_Wait(&request, &status);
  is(&status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0, MARK);
  MPI_Buffer_detach(&address, &bytes);
  CHECK(address == room && bytes == (int)sizeof room && in == 3);
  MPI_Comm_attach_buffer(MPI_COMM_WORLD, room, sizeof room);
  EXPECT(MPI_ERR_BUFFER, MPI_Comm_attach_buffer(MPI_COMM_WORLD, room, sizeof room));
  MPI_Comm_detach_buffer(MPI_COMM_WORLD, &address, &bytes);
  EXPECT(MPI_ERR_BUFFER, MPI_Comm_detach_buffer(MPI_COMM_WORLD, &address, &bytes));
  EXPECT(MPI_ERR_BUFFER, MPI_Comm_flush_buffer(MPI_COMM_WORLD));
  EXPECT(MPI_ERR_BUFFER, MPI_Comm_iflush_buffer(MPI_COMM_WORLD, &request));
  EXPECT(MPI_ERR_ARG, MPI_Test(&request, NULL, MPI_STATUS_IGNORE));
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

int main(int argc, char **argv) {
  rank = check_start(&argc, &argv, &size);
  next = (rank + 1) % size;
  before = (rank + size - 1) % size;
  empty();
  from_nobody();
  received();
  cancelled_once();
  too_long();
  own_requests();
  counted();
  looking();
  buffers();
  MPI_Finalize();
  return 0;
}
