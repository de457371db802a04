/* SPDX-License-Identifier: Apache-2.0 */
/* MPI without MPI_Init(): sessions, communicators made from groups, buffers of their own. */
#include <limits.h>
#include <string.h>

#include "check.h"

enum { ROOM = 4096, TAG = 1 };

static int reported;

static void handle(MPI_Session *session, int *code, ...) {
  (void)session;
  reported = *code;
}

static void errors(void) {
  MPI_Session session;
  MPI_Errhandler handler, other;
  MPI_Group group;
  MPI_Session_create_errhandler(handle, &handler);
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
  MPI_Session_set_errhandler(session, handler);
  MPI_Session_get_errhandler(session, &other);
  CHECK(other == handler);
  MPI_Errhandler_free(&other);
  MPI_Session_call_errhandler(session, MPI_ERR_OTHER);
  CHECK(reported == MPI_ERR_OTHER);
  CHECK(MPI_Group_from_session_pset(session, "none", &group) == MPI_ERR_ARG &&
        reported == MPI_ERR_ARG);
  MPI_Errhandler_free(&handler);
  MPI_Session_finalize(&session);
  CHECK(session == MPI_SESSION_NULL);
}

/* A session keeps the handler that it began with, also when the program has freed that. */
static void kept_handler(void) {
  MPI_Session session;
  MPI_Errhandler handler;
  MPI_Session_create_errhandler(handle, &handler);
  MPI_Session_init(MPI_INFO_NULL, handler, &session);
  MPI_Errhandler_free(&handler);
  MPI_Session_create_errhandler(handle, &handler); /* in the memory of the other, if that is free */
  reported = MPI_SUCCESS;
  MPI_Session_call_errhandler(session, MPI_ERR_TAG);
  CHECK(reported == MPI_ERR_TAG);
  MPI_Session_finalize(&session);
  MPI_Errhandler_free(&handler);
}

static MPI_Comm given;

static void handle_comm(MPI_Comm *comm, int *code, ...) {
  given = *comm;
  reported = *code;
}

/* Until there is a session or a communicator, errors are the given handler's. */
static void errors_of_makers(void) {
  MPI_Session session;
  MPI_Errhandler handler;
  MPI_Group group;
  MPI_Comm comm;
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "thread_level", "none");
  MPI_Session_create_errhandler(handle, &handler);
  CHECK(MPI_Session_init(info, MPI_ERRORS_RETURN, &session) == MPI_ERR_INFO_VALUE);
  CHECK(MPI_Session_init(info, handler, &session) == MPI_ERR_INFO_VALUE &&
        reported == MPI_ERR_INFO_VALUE);
  MPI_Errhandler_free(&handler);
  static const char *const levels[] = {"MPI_THREAD_SINGLE", "MPI_THREAD_FUNNELED",
                                       "MPI_THREAD_MULTIPLE", "MPI_THREAD_SERIALIZED"};
  for (int i = 0; i < 4; i++) {
    MPI_Info_set(info, "thread_level", levels[i]);
    CHECK(MPI_Session_init(info, MPI_ERRORS_RETURN, &session) == MPI_SUCCESS);
    if (i < 3) MPI_Session_finalize(&session);
  }
  MPI_Info_free(&info);
  MPI_Comm_create_errhandler(handle_comm, &handler);
  MPI_Group_from_session_pset(session, "mpi://SELF", &group);
  given = MPI_COMM_SELF;
  CHECK(MPI_Comm_create_from_group(group, NULL, MPI_INFO_NULL, handler, &comm) == MPI_ERR_ARG &&
        reported == MPI_ERR_ARG && given == MPI_COMM_NULL);
  reported = 0;
  CHECK(MPI_Comm_create_from_group(group, "a", MPI_INFO_NULL, handler, NULL) == MPI_ERR_ARG &&
        reported == MPI_ERR_ARG);
  CHECK(MPI_Comm_create_from_group(MPI_GROUP_NULL, "a", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm) ==
        MPI_ERR_GROUP);
  MPI_Group_free(&group);
  MPI_Errhandler_free(&handler);
  MPI_Session_finalize(&session);
}

static void sets(MPI_Session session) {
  static const char *const names[] = {"mpi://WORLD", "mpi://SELF"};
  MPI_Info info;
  MPI_Group group;
  char name[MPI_MAX_OBJECT_NAME], value[MPI_MAX_INFO_VAL + 1], expected[16];
  int count, length, flag, sizes[2];
  for (int i = 0; i < 2; i++) {
    MPI_Group_from_session_pset(session, names[i], &group);
    MPI_Group_size(group, &sizes[i]);
    MPI_Group_free(&group);
  }
  CHECK(sizes[1] == 1);
  MPI_Session_get_info(session, &info);
  MPI_Info_get(info, "thread_level", MPI_MAX_INFO_VAL, value, &flag);
  CHECK(flag && strcmp(value, "MPI_THREAD_MULTIPLE") == 0);
  MPI_Info_free(&info);
  MPI_Session_get_num_psets(session, MPI_INFO_NULL, &count);
  CHECK(count == 2);
  for (int i = 0; i < count; i++) {
    length = 0;
    MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &length, NULL);
    MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &length, name);
    CHECK(length == (int)strlen(name) + 1 && strcmp(name, names[i]) == 0);
    length = 5; /* no more of it, but all of its length */
    memset(name, 'x', sizeof name);
    MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &length, name);
    CHECK(length == (int)strlen(names[i]) + 1 && memcmp(name, "mpi:", 5) == 0 && name[5] == 'x');
    length = 1;
    MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &length, name);
    CHECK(length == (int)strlen(names[i]) + 1 && name[0] == '\0');
    snprintf(name, sizeof name, "%s", names[i]);
    snprintf(expected, sizeof expected, "%d", sizes[i]);
    MPI_Session_get_pset_info(session, name, &info);
    MPI_Info_get(info, "mpi_size", MPI_MAX_INFO_VAL, value, &flag);
    CHECK(flag && strcmp(value, expected) == 0);
    MPI_Info_free(&info);
  }
}

/* A buffer may be detached while a flush of it is under way. */
static void flush_and_detach(MPI_Comm comm) {
  enum { TURNS = 200 };
  int rank, size, bytes, values[64] = {0};
  void *address;
  MPI_Request request;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  for (int turn = 0; size > 1 && turn < TURNS; turn++) {
    if (rank == 0) {
      MPI_Buffer_attach(malloc(ROOM), ROOM);
      MPI_Bsend(values, 64, MPI_INT, 1, TAG, comm);
      MPI_Buffer_iflush(&request);
      MPI_Buffer_detach(&address, &bytes);
      free(address);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else if (rank == 1) {
      MPI_Recv(values, 64, MPI_INT, 0, TAG, comm, MPI_STATUS_IGNORE);
    }
  }
}

/* A buffered send goes through the buffer of its communicator, of its session, of the rank. */
static void buffers(MPI_Session session, MPI_Comm comm) {
  static char room[ROOM];
  MPI_Request request;
  void *address;
  int rank, size, bytes, value;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  for (int kind = 0; kind < 3; kind++) {
    if (kind == 0) MPI_Comm_attach_buffer(comm, room, ROOM);
    if (kind == 1) MPI_Session_attach_buffer(session, room, ROOM);
    if (kind == 2) MPI_Buffer_attach(room, ROOM);
    MPI_Bsend(&rank, 1, MPI_INT, (rank + 1) % size, TAG, comm);
    if (kind == 0) MPI_Comm_iflush_buffer(comm, &request);
    if (kind == 1) MPI_Session_iflush_buffer(session, &request);
    if (kind == 2) MPI_Buffer_iflush(&request);
    MPI_Recv(&value, 1, MPI_INT, (rank + size - 1) % size, TAG, comm, MPI_STATUS_IGNORE);
    CHECK(value == (rank + size - 1) % size);
    MPI_Wait(&request, MPI_STATUS_IGNORE); /* the next rank has received it */
    if (kind == 0) MPI_Comm_flush_buffer(comm);
    if (kind == 1) MPI_Session_flush_buffer(session);
    if (kind == 2) MPI_Buffer_flush();
    if (kind == 0) MPI_Comm_detach_buffer(comm, &address, &bytes);
    if (kind == 1) MPI_Session_detach_buffer(session, &address, &bytes);
    if (kind == 2) MPI_Buffer_detach(&address, &bytes);
    CHECK(address == room && bytes == ROOM);
  }
  MPI_Count wide;
  MPI_Comm_attach_buffer_c(comm, room, ROOM);
  MPI_Comm_detach_buffer_c(comm, &address, &wide);
  CHECK(wide == ROOM);
  MPI_Session_attach_buffer_c(session, room, ROOM);
  MPI_Session_detach_buffer_c(session, &address, &wide);
  CHECK(wide == ROOM);
}

/* Of what MPI_COMM_WORLD tells, the greatest tag alone. */
static void attributes(MPI_Comm comm) {
  static const int keys[] = {MPI_TAG_UB,          MPI_IO,     MPI_HOST,
                             MPI_WTIME_IS_GLOBAL, MPI_APPNUM, MPI_UNIVERSE_SIZE,
                             MPI_LASTUSEDCODE};
  for (int i = 0; i < 7; i++) {
    int *value = NULL, flag = -1;
    MPI_Comm_get_attr(comm, keys[i], &value, &flag);
    CHECK(flag == (i == 0) && (flag ? *value == INT_MAX : value == NULL));
  }
}

/* Even and odd ranks, and the two together. */
static void sides(MPI_Group world) {
  MPI_Group own, other;
  MPI_Comm inter, side;
  int rank, size, remote, sum, one = 1;
  MPI_Group_rank(world, &rank);
  MPI_Group_size(world, &size);
  int evens[][3] = {{0, (size - 1) / 2 * 2, 2}};
  MPI_Group_range_incl(world, 1, evens, rank % 2 == 0 ? &own : &other);
  MPI_Group_range_excl(world, 1, evens, rank % 2 == 0 ? &other : &own);
  MPI_Comm_create_from_group(own, rank % 2 == 0 ? "even" : "odd", MPI_INFO_NULL,
                             MPI_ERRORS_ARE_FATAL, &side);
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, side);
  CHECK(sum == (size + 1 - rank % 2) / 2);
  MPI_Comm_free(&side);
  MPI_Intercomm_create_from_groups(own, 0, other, 0, "both", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL,
                                   &inter);
  MPI_Comm_remote_size(inter, &remote);
  CHECK(remote == (size + rank % 2) / 2);
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, inter);
  CHECK(sum == remote);
  MPI_Comm_disconnect(&inter);
  MPI_Group_free(&own);
  MPI_Group_free(&other);
}

int main(void) {
  MPI_Session session;
  MPI_Group world, self, all;
  MPI_Comm comm, copy, whole, alone;
  MPI_Info info;
  int flag, size, sum, level, one = 1;
  errors();
  kept_handler();
  errors_of_makers();
  MPI_Info_create(&info);
  MPI_Info_set(info, "mpi_assert_no_any_tag", "true");
  MPI_Session_init(info, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Initialized(&flag);
  CHECK(!flag); /* tells of MPI_Init() only */
  MPI_Query_thread(&level);
  CHECK(level == MPI_THREAD_MULTIPLE);
  sets(session);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &world);
  MPI_Group_from_session_pset(session, "mpi://self", &self);
  MPI_Comm_create_from_group(world, "tests", info, MPI_ERRORS_ARE_FATAL, &comm);
  MPI_Info_free(&info);
  MPI_Comm_size(comm, &size);
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
  CHECK(sum == size);
  buffers(session, comm);
  flush_and_detach(comm);
  MPI_Comm_dup(comm, &copy);
  buffers(session, copy); /* of the same session */
  attributes(comm);
  attributes(copy);
  MPI_Group_union(world, self, &all);
  MPI_Comm_create_from_group(all, "of one more group", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &whole);
  buffers(session, whole); /* of the same session, too */
  MPI_Comm_free(&whole);
  MPI_Comm_create_from_group(self, "alone", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &alone);
  MPI_Comm_size(alone, &flag);
  CHECK(flag == 1);
  sides(world);
  MPI_Group_free(&all);
  MPI_Group_free(&world);
  MPI_Group_free(&self);
  MPI_Comm_disconnect(&alone);
  MPI_Comm_free(&copy);
  MPI_Comm_free(&comm);
  MPI_Session_finalize(&session);
  errors(); /* again, after the last one */
  return 0;
}
