/* SPDX-License-Identifier: Apache-2.0 */
/* Handles as ints: predefined ones are their own numbers, of others each has one for itself, in all
 * ranks at once, and comes back from it. */
#include <pthread.h>
#include <stdint.h>
#include <string.h>

#include "check.h"

enum { MANY = 3000, THREADS = 3 };

static void statuses(void) {
  MPI_Status status = {.MPI_SOURCE = 3, .MPI_TAG = 4, .MPI_ERROR = 5}, back;
  MPI_F08_status modern;
  MPI_Fint numbers[MPI_F_STATUS_SIZE];
  CHECK(MPI_Status_c2f08(&status, &modern) == MPI_SUCCESS && modern.MPI_TAG == 4);
  CHECK(MPI_Status_f082f(&modern, numbers) == MPI_SUCCESS && numbers[MPI_F_TAG] == 4);
  modern.MPI_SOURCE = 0;
  CHECK(MPI_Status_f2f08(numbers, &modern) == MPI_SUCCESS && modern.MPI_SOURCE == 3);
  CHECK(MPI_Status_f082c(&modern, &back) == MPI_SUCCESS && back.MPI_ERROR == 5);
}

static void predefined(void) {
  CHECK(MPI_Comm_toint(MPI_COMM_WORLD) == 0x101 && MPI_Comm_fromint(0x102) == MPI_COMM_SELF);
  CHECK(MPI_Comm_toint(MPI_COMM_NULL) == 0x100 && MPI_Comm_f2c(0x100) == MPI_COMM_NULL);
  CHECK(MPI_Type_toint(MPI_INT) == (int)(intptr_t)MPI_INT);
  CHECK(MPI_Type_f2c(MPI_Type_c2f(MPI_DOUBLE_PRECISION)) == MPI_DOUBLE_PRECISION);
  CHECK(MPI_Op_fromint(MPI_Op_toint(MPI_SUM)) == MPI_SUM);
  CHECK(MPI_Group_f2c(MPI_Group_c2f(MPI_GROUP_EMPTY)) == MPI_GROUP_EMPTY);
  CHECK(MPI_Info_f2c(MPI_Info_c2f(MPI_INFO_NULL)) == MPI_INFO_NULL);
  CHECK(MPI_Request_f2c(MPI_Request_c2f(MPI_REQUEST_NULL)) == MPI_REQUEST_NULL);
  CHECK(MPI_Message_f2c(MPI_Message_c2f(MPI_MESSAGE_NO_PROC)) == MPI_MESSAGE_NO_PROC);
  CHECK(MPI_Session_f2c(MPI_Session_c2f(MPI_SESSION_NULL)) == MPI_SESSION_NULL);
  CHECK(MPI_Errhandler_f2c(MPI_Errhandler_c2f(MPI_ERRORS_RETURN)) == MPI_ERRORS_RETURN);
}

/* What is made goes through an int and is used. */
static void made(int rank, int size) {
  MPI_Comm comm;
  MPI_Request request, same;
  MPI_Datatype pair;
  MPI_Group group;
  MPI_Status status;
  MPI_Fint numbers[MPI_F_STATUS_SIZE];
  int sent[2] = {rank, -rank}, got[2], next = (rank + 1) % size,
      previous = (rank + size - 1) % size;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_group(comm, &group);
  MPI_Type_contiguous(2, MPI_INT, &pair);
  MPI_Type_commit(&pair);
  int comm_number = MPI_Comm_toint(comm), pair_number = MPI_Type_c2f(pair);
  CHECK(comm_number >= 0x1000 && pair_number >= 0x1000 && comm_number != pair_number);
  CHECK(comm_number == MPI_Comm_c2f(comm) && MPI_Group_fromint(MPI_Group_toint(group)) == group);
  MPI_Irecv(got, 1, MPI_Type_fromint(pair_number), previous, 1, MPI_Comm_f2c(comm_number),
            &request);
  same = MPI_Request_f2c(MPI_Request_c2f(request));
  MPI_Send(sent, 1, pair, next, 1, comm);
  MPI_Wait(&same, &status);
  CHECK(got[0] == previous && got[1] == -previous);
  CHECK(MPI_Status_c2f(&status, numbers) == MPI_SUCCESS);
  CHECK(numbers[MPI_F_SOURCE] == previous && numbers[MPI_F_TAG] == 1);
  memset(&status, 0, sizeof status);
  CHECK(MPI_Status_f2c(numbers, &status) == MPI_SUCCESS && status.MPI_SOURCE == previous);
  MPI_Get_count(&status, pair, &numbers[0]);
  CHECK(numbers[0] == 1);
  MPI_Group_free(&group);
  MPI_Type_free(&pair);
  MPI_Comm_free(&comm);
}

/* More than the table has room for at first, by all ranks and by threads of theirs. */
static void *many(void *unused) {
  static MPI_Info infos[THREADS][MANY];
  static int numbers[THREADS][MANY], turn;
  int mine = __atomic_fetch_add(&turn, 1, __ATOMIC_SEQ_CST);
  for (int i = 0; i < MANY; i++) {
    MPI_Info_create(&infos[mine][i]);
    numbers[mine][i] = MPI_Info_toint(infos[mine][i]);
  }
  for (int i = 0; i < MANY; i++) {
    CHECK(MPI_Info_fromint(numbers[mine][i]) == infos[mine][i]);
    CHECK(MPI_Info_toint(infos[mine][i]) == numbers[mine][i]);
    CHECK(MPI_Info_free(&infos[mine][i]) == MPI_SUCCESS);
  }
  return unused;
}

static void unknown(void) {
  int size;
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  CHECK(MPI_Comm_fromint(0x7fffffff) == NULL && MPI_Comm_f2c(-1) == NULL);
  CHECK(MPI_Comm_size(MPI_Comm_f2c(-1), &size) == MPI_ERR_COMM);
  CHECK(MPI_Status_c2f(MPI_STATUS_IGNORE, &size) == MPI_ERR_ARG);
}

/* Each kind of object by its other names. */
static void check_kinds(void) {
  MPI_Request request;
  MPI_Session session;
  int nothing = 0;
  MPI_Irecv(&nothing, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request);
  CHECK(MPI_Request_fromint(MPI_Request_toint(request)) == request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(MPI_Request_fromint(MPI_Request_toint(MPI_REQUEST_NULL)) == MPI_REQUEST_NULL);
  CHECK(MPI_Message_fromint(MPI_Message_toint(MPI_MESSAGE_NO_PROC)) == MPI_MESSAGE_NO_PROC);
  CHECK(MPI_Op_f2c(MPI_Op_c2f(MPI_SUM)) == MPI_SUM);
  CHECK(MPI_Errhandler_fromint(MPI_Errhandler_toint(MPI_ERRORS_RETURN)) == MPI_ERRORS_RETURN);
  CHECK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session) == MPI_SUCCESS);
  CHECK(MPI_Session_fromint(MPI_Session_toint(session)) == session);
  MPI_Session_finalize(&session);
}

int main(int argc, char **argv) {
  int rank, size, provided, number;
  pthread_t threads[THREADS];
  MPI_Info first; /* in one of the ranks the first object that gets a number */
  CHECK(MPI_Comm_fromint(MPI_Comm_toint(MPI_COMM_WORLD)) == MPI_COMM_WORLD); /* at any time */
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Info_create(&first);
  number = MPI_Info_toint(first);
  MPI_Barrier(MPI_COMM_WORLD);
  predefined();
  statuses();
  made(rank, size);
  for (int i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, many, NULL) == 0);
  for (int i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
  CHECK(MPI_Info_toint(first) == number && MPI_Info_fromint(number) == first);
  MPI_Info_free(&first);
  unknown();
  check_kinds();
  MPI_Finalize();
  return 0;
}
