/* SPDX-License-Identifier: Apache-2.0 */
/* The edges of communicators: freed with messages on them or before other ranks free them, made by
 * some ranks alone or with what one rank refuses, and what the new ones have of the old. Four
 * ranks.
 */
#include <sched.h>
#include <string.h>

#include "check.h"

enum { RANKS = 4, LOOKS = 100 };

static int rank, handled;
static double no_object[16];

static void on_self(MPI_Comm *comm, int *code, ...) {
  CHECK(*comm == MPI_COMM_SELF && *code == MPI_ERR_TAG);
  handled++;
}

/* The first communicators have names, and handlers get their handles. */
static void first_ones(void) {
  char name[MPI_MAX_OBJECT_NAME];
  int length;
  MPI_Errhandler handler;
  MPI_Comm_get_name(MPI_COMM_WORLD, name, &length);
  CHECK(strcmp(name, "MPI_COMM_WORLD") == 0 && length == (int)strlen(name));
  MPI_Comm_get_name(MPI_COMM_SELF, name, &length);
  CHECK(strcmp(name, "MPI_COMM_SELF") == 0);
  MPI_Comm_create_errhandler(on_self, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
  MPI_Comm_call_errhandler(MPI_COMM_SELF, MPI_ERR_TAG);
  CHECK(handled == 1);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPI_Errhandler_free(&handler);
}

#define NO_COMM(call) EXPECT(MPI_ERR_COMM, call)
#define NO_INFO(call) EXPECT(MPI_ERR_INFO, call)

static void no_communicator(MPI_Comm bad) {
  char name[MPI_MAX_OBJECT_NAME];
  int number;
  MPI_Comm made;
  MPI_Group group;
  MPI_Info info;
  if (bad != MPI_COMM_NULL) NO_COMM(MPI_Comm_get_name(bad, name, &number)); /* that one has one */
  NO_COMM(MPI_Comm_rank(bad, &number));
  NO_COMM(MPI_Comm_set_name(bad, "name"));
  NO_COMM(MPI_Comm_group(bad, &group));
  NO_COMM(MPI_Comm_remote_size(bad, &number));
  NO_COMM(MPI_Comm_remote_group(bad, &group));
  NO_COMM(MPI_Comm_set_info(bad, MPI_INFO_ENV));
  NO_COMM(MPI_Comm_get_info(bad, &info));
  NO_COMM(MPI_Comm_compare(bad, MPI_COMM_SELF, &number));
  NO_COMM(MPI_Comm_compare(MPI_COMM_SELF, bad, &number));
  NO_COMM(MPI_Comm_free(&bad));
  NO_COMM(MPI_Comm_disconnect(&bad));
  NO_COMM(MPI_Comm_dup(bad, &made));
  NO_COMM(MPI_Comm_dup_with_info(bad, MPI_INFO_NULL, &made));
  NO_COMM(MPI_Comm_split(bad, 0, 0, &made));
  NO_COMM(MPI_Comm_split_type(bad, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &made));
  NO_COMM(MPI_Comm_create(bad, MPI_GROUP_EMPTY, &made));
  NO_COMM(MPI_Comm_create_group(bad, MPI_GROUP_EMPTY, 0, &made));
  NO_COMM(MPI_Intercomm_merge(bad, 0, &made));
  NO_COMM(MPI_Intercomm_create(bad, 0, MPI_COMM_SELF, 0, 0, &made));
  NO_COMM(MPI_Intercomm_create(MPI_COMM_SELF, 0, bad, 0, 0, &made));
  NO_COMM(MPI_Topo_test(bad, &number));
  NO_COMM(MPI_Cartdim_get(bad, &number));
  NO_COMM(MPI_Graphdims_get(bad, &number, &number));
  NO_COMM(MPI_Dist_graph_neighbors_count(bad, &number, &number, &number));
  NO_COMM(MPI_Dist_graph_create_adjacent(bad, 0, NULL, MPI_UNWEIGHTED, 0, NULL, MPI_UNWEIGHTED,
                                         MPI_INFO_NULL, 0, &made));
}

static void no_group(void) {
  const MPI_Group bad = (MPI_Group)no_object;
  int number = -1;
  EXPECT(MPI_ERR_GROUP, MPI_Group_rank(bad, &number));
  EXPECT(MPI_ERR_GROUP, MPI_Group_translate_ranks(bad, 1, &rank, MPI_GROUP_EMPTY, &number));
  EXPECT(MPI_ERR_GROUP, MPI_Group_translate_ranks(MPI_GROUP_EMPTY, 1, &rank, bad, &number));
  EXPECT(MPI_SUCCESS,
         MPI_Group_translate_ranks(MPI_GROUP_EMPTY, 0, NULL, MPI_GROUP_EMPTY, NULL)); /* of none */
  CHECK(number == -1);
}

static void no_info(void) {
  const MPI_Info bad = (MPI_Info)no_object;
  MPI_Request request;
  MPI_Comm made;
  NO_INFO(MPI_Comm_dup_with_info(MPI_COMM_SELF, bad, &made));
  NO_INFO(MPI_Comm_idup_with_info(MPI_COMM_SELF, bad, &made, &request));
  NO_INFO(MPI_Comm_split_type(MPI_COMM_SELF, MPI_COMM_TYPE_SHARED, 0, bad, &made));
}

/* ---- freed */

enum left { NOTHING, RECEIVED, LEFT };

/* A rank that has sent itself a message frees the communicator. behind: a message of another one
 * has come before. */
static void free_with(enum left left, int behind, MPI_Errhandler handler) {
  int out = 5, in = 0;
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_SELF, &comm);
  MPI_Comm_set_errhandler(comm, handler);
  if (behind) MPI_Send(&out, 1, MPI_INT, 0, 0, MPI_COMM_SELF);
  if (left != NOTHING) MPI_Send(&out, 1, MPI_INT, 0, 0, comm);
  if (left == RECEIVED) MPI_Recv(&in, 1, MPI_INT, 0, 0, comm, MPI_STATUS_IGNORE);
  EXPECT(left == LEFT && handler == MPI_ERRORS_RETURN ? MPI_ERR_OTHER : MPI_SUCCESS,
         MPI_Comm_free(&comm));
  CHECK(comm == MPI_COMM_NULL);
  if (behind) MPI_Recv(&in, 1, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
}

/* A program that looks at errors learns that it has left a message; another one is not ended. */
static void freed_with_messages(void) {
  static const MPI_Errhandler handlers[] = {MPI_ERRORS_RETURN, MPI_ERRORS_ARE_FATAL,
                                            MPI_ERRORS_ABORT};
  for (int i = 0; i < 3; i++)
    for (int behind = 0; behind < 2; behind++)
      for (enum left left = NOTHING; left <= LEFT; left++) free_with(left, behind, handlers[i]);
}

/* The first rank frees a communicator before the others may. It disconnects from one after it has
 * seen that no other rank could. */
static void freed_one_by_one(void) {
  MPI_Comm comm;
  int word = 7, flag = 0;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  if (rank == 0) MPI_Comm_free(&comm);
  MPI_Bcast(&word, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (rank > 0) MPI_Comm_free(&comm);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  for (int i = 0; rank == 0 && i < LOOKS; i++) {
    sched_yield();
    MPI_Iprobe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    CHECK(!flag);
  }
  MPI_Comm_disconnect(&comm);
  if (rank > 0) MPI_Send(&word, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
  for (int i = 1; rank == 0 && i < RANKS; i++)
    MPI_Recv(&word, 1, MPI_INT, i, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* ---- made by some */

static int refuse_at_first(MPI_Comm comm, int key, void *extra, void *value, void *copy,
                           int *flag) {
  (void)comm, (void)key, (void)extra, (void)value, (void)copy;
  *flag = 0;
  return rank == 0 ? MPI_ERR_OTHER : MPI_SUCCESS;
}

/* Where an attribute of one rank cannot be copied, that rank has no copy, and the others do not
 * wait for it. */
static void copied_by_some(void) {
  int key;
  MPI_Comm comm, copy;
  MPI_Comm_create_keyval(refuse_at_first, MPI_COMM_NULL_DELETE_FN, &key, NULL);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Comm_set_attr(comm, key, &key);
  EXPECT(rank == 0 ? MPI_ERR_OTHER : MPI_SUCCESS, MPI_Comm_dup(comm, &copy));
  CHECK((copy == MPI_COMM_NULL) == (rank == 0));
  if (copy != MPI_COMM_NULL) MPI_Comm_free(&copy);
  MPI_Comm_free_keyval(&key);
  MPI_Comm_free(&comm);
}

/* Ranks that are no members need not call it, with any tag. */
static void created_by_members(void) {
  MPI_Group world, members;
  MPI_Comm made;
  int place;
  if (rank == 0) return;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, 3, (int[]){3, 1, 2}, &members);
  for (int tag = 0; tag < 2; tag++) {
    MPI_Comm_create_group(MPI_COMM_WORLD, members, tag, &made);
    MPI_Comm_rank(made, &place);
    CHECK(place == rank % 3);
    MPI_Comm_free(&made);
  }
  MPI_Group_free(&members);
  MPI_Group_free(&world);
}

static MPI_Errhandler handler_of(MPI_Comm comm) {
  MPI_Errhandler handler;
  MPI_Comm_get_errhandler(comm, &handler);
  return handler;
}

static void has_hint(MPI_Comm comm, int expected) {
  char value[MPI_MAX_INFO_VAL] = "";
  int length = sizeof value, flag;
  MPI_Info info;
  MPI_Comm_get_info(comm, &info);
  MPI_Info_get_string(info, "mpi_assert_no_any_tag", &length, value, &flag);
  CHECK(flag == expected && (!flag || strcmp(value, "true") == 0));
  MPI_Info_free(&info);
}

/* A communicator of a group has the handler and the hints that its maker names. */
static void made_of_groups(MPI_Info info) {
  static char tag[MPI_MAX_STRINGTAG_LEN + 1];
  MPI_Group world, side, other;
  MPI_Comm made;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Comm_create_from_group(world, "a", info, MPI_ERRORS_RETURN, &made);
  CHECK(handler_of(made) == MPI_ERRORS_RETURN);
  has_hint(made, 1);
  MPI_Comm_free(&made);
  MPI_Comm_create_from_group(world, "b", MPI_INFO_NULL, MPI_ERRORS_ABORT, &made);
  CHECK(handler_of(made) == MPI_ERRORS_ABORT);
  has_hint(made, 0);
  MPI_Comm_free(&made);
  made = MPI_COMM_WORLD;
  EXPECT(MPI_SUCCESS,
         MPI_Comm_create_from_group(MPI_GROUP_EMPTY, "c", MPI_INFO_NULL, MPI_ERRORS_RETURN, &made));
  CHECK(made == MPI_COMM_NULL);
  memset(tag, 't', MPI_MAX_STRINGTAG_LEN);
  EXPECT(MPI_ERR_ARG,
         MPI_Comm_create_from_group(world, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &made));
  tag[MPI_MAX_STRINGTAG_LEN - 1] = '\0';
  EXPECT(MPI_SUCCESS,
         MPI_Comm_create_from_group(world, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &made));
  MPI_Comm_free(&made);
  int first = rank / 2 * 2;
  MPI_Group_incl(world, 2, (int[]){first, first + 1}, &side);
  MPI_Group_difference(world, side, &other);
  MPI_Intercomm_create_from_groups(side, 1, other, 1, "d", info, MPI_ERRORS_RETURN, &made);
  CHECK(handler_of(made) == MPI_ERRORS_RETURN);
  has_hint(made, 1);
  MPI_Comm_free(&made);
  MPI_Group_free(&side);
  MPI_Group_free(&other);
  MPI_Group_free(&world);
}

/* What is made of an intercommunicator has its handler. Only colors that both sides have give one.
 */
static void made_of_sides(void) {
  MPI_Comm side, inter, made;
  int place, members, color = rank == 3 ? MPI_UNDEFINED : rank == 2 ? 1 : 0;
  MPI_Comm_split(MPI_COMM_WORLD, rank / 2, 0, &side);
  MPI_Intercomm_create(side, 0, MPI_COMM_WORLD, rank < 2 ? 2 : 0, 0, &inter);
  MPI_Comm_set_errhandler(inter, MPI_ERRORS_ABORT);
  MPI_Intercomm_merge(inter, rank < 2, &made);
  CHECK(handler_of(made) == MPI_ERRORS_ABORT);
  MPI_Comm_free(&made);
  made = MPI_COMM_WORLD;
  EXPECT(MPI_SUCCESS, MPI_Comm_split(inter, color, 0, &made)); /* no color is on both sides */
  CHECK(made == MPI_COMM_NULL);
  EXPECT(MPI_SUCCESS, MPI_Comm_split(inter, rank == 3 ? MPI_UNDEFINED : 0, -rank, &made));
  CHECK((made == MPI_COMM_NULL) == (rank == 3));
  if (made != MPI_COMM_NULL) {
    CHECK(handler_of(made) == MPI_ERRORS_ABORT);
    MPI_Comm_rank(made, &place);
    MPI_Comm_remote_size(made, &members);
    CHECK(place == (rank == 0) && members == (rank < 2 ? 1 : 2));
    MPI_Comm_free(&made);
  }
  MPI_Comm_free(&inter);
  MPI_Comm_free(&side);
}

int main(int argc, char **argv) {
  int size;
  MPI_Info info;
  rank = check_start(&argc, &argv, &size);
  CHECK(size == RANKS);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  first_ones();
  no_communicator(MPI_COMM_NULL);
  no_communicator((MPI_Comm)no_object);
  no_group();
  no_info();
  freed_with_messages();
  freed_one_by_one();
  copied_by_some();
  created_by_members();
  MPI_Info_create(&info);
  MPI_Info_set(info, "mpi_assert_no_any_tag", "true");
  made_of_groups(info);
  MPI_Info_free(&info);
  made_of_sides();
  MPI_Finalize();
  return 0;
}
