/* SPDX-License-Identifier: Apache-2.0 */
/* Objects that are freed give their memory back (kept.h). */
#define _GNU_SOURCE /* mallinfo2() */
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kept.h"

static void types(void) {
  MPI_Datatype vector, indexed, record, resized;
  MPI_Type_vector(3, 2, 5, MPI_INT, &vector);
  MPI_Type_set_name(vector, "vector");
  MPI_Type_indexed(3, (int[]){1, 2, 3}, (int[]){0, 4, 9}, MPI_DOUBLE, &indexed);
  MPI_Type_create_struct(3, (int[]){1, 2, 1}, (MPI_Aint[]){0, 64, 512},
                         (MPI_Datatype[]){MPI_CHAR, vector, indexed}, &record);
  MPI_Type_create_resized(record, 0, 1024, &resized);
  MPI_Type_commit(&resized);
  MPI_Type_free(&vector);
  MPI_Type_free(&indexed);
  MPI_Type_free(&record);
  MPI_Type_free(&resized);
}

/* Types made of other types, and what a program can ask about them. */
static void constructed_types(void) {
  MPI_Datatype part, spread, rows, twin, inner[4];
  int count, addresses, types, combiner, integers[16], values[64] = {0};
  MPI_Aint places[4], at = 0;
  char packed[64];
  MPI_Type_create_subarray(2, (int[]){4, 6}, (int[]){2, 3}, (int[]){1, 1}, MPI_ORDER_C, MPI_INT,
                           &part);
  MPI_Type_create_darray(
      4, rank, 2, (int[]){8, 8}, (int[]){MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC},
      (int[]){MPI_DISTRIBUTE_DFLT_DARG, 3}, (int[]){2, 2}, MPI_ORDER_FORTRAN, MPI_INT, &spread);
  MPI_Type_create_hvector(2, 1, 400, part, &rows);
  MPI_Type_dup(rows, &twin);
  MPI_Type_get_envelope(rows, &count, &addresses, &types, &combiner);
  CHECK(combiner == MPI_COMBINER_HVECTOR && count == 2 && addresses == 1 && types == 1);
  MPI_Type_get_contents(rows, count, addresses, types, integers, places, inner);
  CHECK(integers[0] == 2 && places[0] == 400);
  MPI_Type_free(&inner[0]);
  MPI_Type_commit(&part);
  MPI_Pack_external("external32", values, 1, part, packed, sizeof packed, &at);
  CHECK(at == 24);
  MPI_Type_free(&part);
  MPI_Type_free(&spread);
  MPI_Type_free(&rows);
  MPI_Type_free(&twin);
}

static void topologies(void) {
  MPI_Comm made;
  int index[8], edges[16], next = (rank + 1) % size, last = (rank + size - 1) % size;
  for (int i = 0; i < size; i++) {
    index[i] = 2 * (i + 1);
    edges[2 * i] = (i + 1) % size;
    edges[2 * i + 1] = (i + size - 1) % size;
  }
  MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, 0, &made);
  MPI_Comm_free(&made);
  MPI_Cart_create(MPI_COMM_WORLD, 2, (int[]){2, size / 2}, (int[]){0, 1}, 0, &made);
  MPI_Comm_free(&made);
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &last, (int[]){3}, 1, &next, (int[]){4},
                                 MPI_INFO_NULL, 0, &made);
  MPI_Comm_free(&made);
  MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &rank, (int[]){2}, (int[]){next, last}, (int[]){5, 6},
                        MPI_INFO_NULL, 0, &made);
  MPI_Comm_free(&made);
}

static void communicators(void) {
  MPI_Comm copy, half, between;
  MPI_Group all, some, others;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  MPI_Comm_set_name(copy, "copy");
  MPI_Comm_split(copy, rank % 2, 0, &half);
  MPI_Intercomm_create(half, 0, copy, 1 - rank % 2, 0, &between);
  MPI_Comm_group(copy, &all);
  MPI_Group_incl(all, 2, (int[]){1, 0}, &some);
  MPI_Group_difference(all, some, &others);
  MPI_Group_free(&all);
  MPI_Group_free(&some);
  MPI_Group_free(&others);
  MPI_Comm_free(&between);
  MPI_Comm_free(&half);
  MPI_Comm_free(&copy);
}

/* The other ways to make a communicator. */
static void more_communicators(void) {
  MPI_Comm copy, half, between, all, made;
  MPI_Group group, rest;
  MPI_Info info, hints;
  MPI_Request request;
  MPI_Info_create(&info);
  MPI_Info_set(info, "mpi_assert_no_any_tag", "true");
  MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &copy);
  MPI_Comm_get_info(copy, &hints);
  MPI_Info_free(&hints);
  MPI_Comm_idup(copy, &made, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Comm_free(&made);
  MPI_Comm_idup_with_info(copy, info, &made, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Comm_free(&made);
  MPI_Info_free(&info);
  MPI_Comm_group(copy, &group);
  MPI_Comm_create_group(copy, group, 3, &made);
  MPI_Comm_free(&made);
  MPI_Group_range_excl(group, 1, (int[][3]){{0, 0, 1}}, &rest);
  MPI_Comm_create(copy, rest, &made);
  if (made != MPI_COMM_NULL) MPI_Comm_free(&made);
  MPI_Group_free(&rest);
  MPI_Group_free(&group);
  MPI_Comm_split_type(copy, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &made);
  MPI_Comm_free(&made);
  MPI_Comm_split(copy, rank % 2, 0, &half);
  MPI_Intercomm_create(half, 0, copy, 1 - rank % 2, 0, &between);
  MPI_Comm_dup(between, &made);
  MPI_Comm_free(&made);
  MPI_Intercomm_merge(between, rank % 2, &all);
  MPI_Comm_disconnect(&all);
  MPI_Comm_free(&between);
  MPI_Comm_free(&half);
  MPI_Comm_free(&copy);
}

static void sessions(void) {
  MPI_Session session;
  MPI_Group group;
  MPI_Comm made;
  MPI_Info info;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
  MPI_Session_get_info(session, &info);
  MPI_Info_free(&info);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Comm_create_from_group(group, "released", MPI_INFO_NULL, MPI_ERRORS_RETURN, &made);
  MPI_Barrier(made);
  MPI_Comm_free(&made);
  MPI_Group_free(&group);
  MPI_Session_finalize(&session);
}

static char port[MPI_MAX_PORT_NAME]; /* which rank 0 has opened */

static void ports(void) {
  MPI_Comm inter;
  if (rank > 1) return;
  if (rank == 0)
    MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter);
  else
    MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter);
  MPI_Comm_disconnect(&inter);
}

static void add(void *in, void *inout, int *count, MPI_Datatype *type) {
  (void)type;
  for (int i = 0; i < *count; i++) ((int *)inout)[i] += ((int *)in)[i];
}

static void small_objects(void) {
  MPI_Info info, copy;
  MPI_Op op;
  int key;
  MPI_Info_create(&info);
  MPI_Info_set(info, "key", "value");
  MPI_Info_dup(info, &copy);
  MPI_Info_free(&copy);
  MPI_Info_free(&info);
  MPI_Op_create(add, 1, &op);
  MPI_Op_free(&op);
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &key, NULL);
  MPI_Comm_set_attr(MPI_COMM_SELF, key, &rank);
  MPI_Comm_delete_attr(MPI_COMM_SELF, key);
  MPI_Comm_free_keyval(&key);
}

static void on_comm(MPI_Comm *comm, int *code, ...) { CHECK(comm != NULL && *code != 0); }
static void on_win(MPI_Win *win, int *code, ...) { CHECK(win != NULL && *code != 0); }
static void on_session(MPI_Session *session, int *code, ...) {
  CHECK(session != NULL && *code != 0);
}

static void error_handlers(void) {
  MPI_Errhandler handler, same;
  MPI_Comm copy;
  MPI_Win win;
  MPI_Session session;
  MPI_Comm_dup(MPI_COMM_SELF, &copy);
  MPI_Comm_create_errhandler(on_comm, &handler);
  MPI_Comm_set_errhandler(copy, handler);
  MPI_Comm_get_errhandler(copy, &same);
  MPI_Errhandler_free(&same);
  MPI_Errhandler_free(&handler);
  MPI_Comm_call_errhandler(copy, MPI_ERR_OTHER);
  MPI_Comm_free(&copy);
  MPI_Win_create(NULL, 0, 1, MPI_INFO_NULL, MPI_COMM_SELF, &win);
  MPI_Win_create_errhandler(on_win, &handler);
  MPI_Win_set_errhandler(win, handler);
  MPI_Errhandler_free(&handler);
  MPI_Win_call_errhandler(win, MPI_ERR_OTHER);
  MPI_Win_free(&win);
  MPI_Session_create_errhandler(on_session, &handler);
  MPI_Session_init(MPI_INFO_NULL, handler, &session);
  MPI_Errhandler_free(&handler);
  MPI_Session_call_errhandler(session, MPI_ERR_OTHER);
  MPI_Session_finalize(&session);
}

/* The copies of attributes go with the copies of objects. */
static void attributes(void) {
  MPI_Comm copy, second;
  MPI_Datatype type, twin;
  MPI_Win win;
  int key;
  MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &key, NULL);
  MPI_Comm_dup(MPI_COMM_SELF, &copy);
  MPI_Comm_set_attr(copy, key, &rank);
  MPI_Comm_set_attr(copy, key, &size);
  MPI_Comm_dup(copy, &second);
  MPI_Comm_free_keyval(&key);
  MPI_Comm_free(&copy);
  MPI_Comm_free(&second);
  MPI_Type_create_keyval(MPI_TYPE_DUP_FN, MPI_TYPE_NULL_DELETE_FN, &key, NULL);
  MPI_Type_contiguous(2, MPI_INT, &type);
  MPI_Type_set_attr(type, key, &rank);
  MPI_Type_dup(type, &twin);
  MPI_Type_free_keyval(&key);
  MPI_Type_free(&type);
  MPI_Type_free(&twin);
  MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, &key, NULL);
  MPI_Win_create(NULL, 0, 1, MPI_INFO_NULL, MPI_COMM_SELF, &win);
  MPI_Win_set_attr(win, key, &rank);
  MPI_Win_free_keyval(&key);
  MPI_Win_free(&win);
}

static void windows(void) {
  static int values[4];
  MPI_Win made;
  int *memory;
  MPI_Win_create(values, sizeof values, sizeof *values, MPI_INFO_NULL, MPI_COMM_WORLD, &made);
  MPI_Win_set_name(made, "window");
  MPI_Win_fence(0, made);
  MPI_Put(&rank, 1, MPI_INT, 0, rank % 4, 1, MPI_INT, made);
  MPI_Win_fence(0, made);
  MPI_Win_free(&made);
  MPI_Win_allocate(64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &made);
  MPI_Win_free(&made);
}

static char script[] = "/tmp/released-XXXXXX"; /* of an interpreter that is this program */

static int no_spawn = MPI_ERR_SPAWN; /* the class of its error */

/* It may not be run, so nothing starts. */
static void refused_spawns(void) {
  MPI_Comm made;
  if (rank != 0) return;
  EXPECT(no_spawn, MPI_Comm_spawn(script, MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &made,
                                  MPI_ERRCODES_IGNORE));
}

static void write_script(const char *program) {
  char path[PATH_MAX];
  int fd = mkstemp(script);
  CHECK(fd >= 0 && realpath(program, path) != NULL);
  CHECK(dprintf(fd, "#!%s\n", path) > 0 && fchmod(fd, S_IRUSR) == 0 && close(fd) == 0);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
}

static const struct row rows[] = {
    {"types", types, ROUNDS},
    {"constructed types", constructed_types, ROUNDS},
    {"topologies", topologies, ROUNDS},
    {"communicators", communicators, ROUNDS},
    {"more communicators", more_communicators, FEW},
    {"sessions", sessions, FEW},
    {"ports", ports, FEW},
    {"small objects", small_objects, ROUNDS},
    {"error handlers", error_handlers, ROUNDS},
    {"attributes", attributes, ROUNDS},
    {"windows", windows, ROUNDS},
    {"refused spawns", refused_spawns, ROUNDS},
};

int main(int argc, char **argv) {
  rank = check_start(&argc, &argv, &size);
  if (counts()) {
    write_script(argv[0]);
    if (rank == 0) MPI_Open_port(MPI_INFO_NULL, port);
    MPI_Bcast(port, sizeof port, MPI_CHAR, 0, MPI_COMM_WORLD);
    int last = check_first_of_node(rank);
    MPI_Bcast(&last, 1, MPI_INT, size - 1, MPI_COMM_WORLD);
    if (last != 0) no_spawn = MPI_ERR_UNSUPPORTED_OPERATION; /* several nodes */
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) check(&rows[i]);
    CHECK(unlink(script) == 0);
  }
  MPI_Finalize();
  return 0;
}
