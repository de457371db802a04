/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that call MPI, at the level that the first argument names: what levels.py looks at. */
#include <pthread.h>
#include <string.h>

#include "check.h"

static int values[4], others[4];

static int rank, size;

static void in_a_thread(void *(*function)(void *)) {
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, function, NULL) == 0);
  CHECK(pthread_join(thread, NULL) == 0);
}

static void receive(int source) {
  MPI_Recv(others, 1, MPI_INT, source, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void *send_to_first(void *unused) {
  for (int i = 0; i < 2; i++) MPI_Send(values, 1, MPI_INT, 0, 6, MPI_COMM_WORLD);
  return unused;
}

static void other_thread_sends(void) {
  if (rank == 1) in_a_thread(send_to_first);
  for (int i = 0; rank == 0 && i < 2; i++) receive(1);
}

static void *receive_own(void *unused) {
  receive(rank);
  return unused;
}

/* The send ends in the receive of the other thread, so that both are in MPI. */
static void two_at_once(void) {
  pthread_t thread;
  if (rank != 2) return;
  CHECK(pthread_create(&thread, NULL, receive_own, NULL) == 0);
  MPI_Ssend(values, 1, MPI_INT, rank, 6, MPI_COMM_WORLD);
  CHECK(pthread_join(thread, NULL) == 0);
}

static void *finalize(void *unused) {
  MPI_Finalize();
  return unused;
}

static void other_thread_finalizes(void) { in_a_thread(finalize); }

static void sum(void *in, void *inout, int *length, MPI_Datatype *type) {
  int bytes;
  MPI_Type_size(*type, &bytes);
  for (int i = 0; i < *length; i++) ((int *)inout)[i] += ((int *)in)[i];
  CHECK(bytes == sizeof(int));
}

static int copy_attribute(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag) {
  int members;
  (void)key, (void)extra;
  *(void **)out = in;
  *flag = 1;
  return MPI_Comm_size(comm, &members);
}

/* Functions of the program that call MPI, within its calls and on a thread of the library. */
static void reduce_and_copy(void) {
  MPI_Request request;
  MPI_Comm copy;
  MPI_Op op;
  int key;
  MPI_Op_create(sum, 1, &op);
  MPI_Iallreduce(values, others, 4, MPI_INT, op, MPI_COMM_WORLD, &request);
  for (int done = 0; !done;) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
  MPI_Op_free(&op);
  MPI_Comm_create_keyval(copy_attribute, MPI_COMM_NULL_DELETE_FN, &key, NULL);
  MPI_Comm_set_attr(MPI_COMM_WORLD, key, values);
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  MPI_Comm_free(&copy);
  MPI_Comm_delete_attr(MPI_COMM_WORLD, key);
  MPI_Comm_free_keyval(&key);
}

/* What every thread may call at any time. */
static void *ask(void *unused) {
  int flag, level;
  MPI_Info info;
  MPI_Is_thread_main(&flag);
  MPI_Query_thread(&level);
  MPI_Info_create(&info);
  MPI_Info_free(&info);
  CHECK(!flag && level == MPI_THREAD_FUNNELED);
  return unused;
}

static void main_thread_calls(void) {
  in_a_thread(ask);
  reduce_and_copy();
}

static void *barrier(void *unused) {
  MPI_Barrier(MPI_COMM_WORLD);
  return unused;
}

static void threads_in_turn(void) {
  in_a_thread(barrier);
  reduce_and_copy();
  in_a_thread(barrier);
}

/* No thread initializes MPI: sessions have levels of their own. */
static void *use_session(void *unused) {
  MPI_Session session;
  MPI_Group group;
  MPI_Comm comm;
  CHECK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session) == MPI_SUCCESS);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Comm_create_from_group(group, "levels", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
  MPI_Barrier(comm);
  MPI_Comm_free(&comm);
  MPI_Group_free(&group);
  MPI_Session_finalize(&session);
  return unused;
}

static const struct {
  const char *name;
  int level;
  void (*make)(void);
} programs[] = {
    {"single-sends", MPI_THREAD_SINGLE, other_thread_sends},
    {"funneled-sends", MPI_THREAD_FUNNELED, other_thread_sends},
    {"serialized-at-once", MPI_THREAD_SERIALIZED, two_at_once},
    {"multiple-finalizes", MPI_THREAD_MULTIPLE, other_thread_finalizes},
    {"funneled-main", MPI_THREAD_FUNNELED, main_thread_calls},
    {"serialized-in-turn", MPI_THREAD_SERIALIZED, threads_in_turn},
    {"multiple-at-once", MPI_THREAD_MULTIPLE, two_at_once},
};

int main(int argc, char **argv) {
  int level, finalized;
  size_t i = 0;
  while (argc > 1 && i < sizeof programs / sizeof programs[0] &&
         strcmp(programs[i].name, argv[1]) != 0)
    i++;
  if (argc < 2 || i == sizeof programs / sizeof programs[0]) {
    in_a_thread(use_session);
    return 0;
  }
  MPI_Init_thread(&argc, &argv, programs[i].level, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  programs[i].make();
  MPI_Finalized(&finalized);
  if (!finalized) MPI_Finalize();
  return 0;
}
