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
  at = 0;
  MPI_Unpack_external("external32", packed, sizeof packed, &at, values, 1, part);
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

static MPI_Comm groups; /* ranks of even numbers and the others */

static void make_groups(void) {
  MPI_Comm half;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 0, &groups);
  MPI_Comm_set_errhandler(groups, MPI_ERRORS_RETURN);
  MPI_Comm_free(&half);
}

static void between_groups(void) {
  int out[16] = {0}, in[64], lengths[8], places[8], others;
  int root = rank == 0 ? MPI_ROOT : rank % 2 == 0 ? MPI_PROC_NULL : 0;
  MPI_Comm_remote_size(groups, &others);
  for (int i = 0; i < others; i++) {
    lengths[i] = 2;
    places[i] = 2 * i;
  }
  MPI_Allreduce(out, in, 4, MPI_INT, MPI_SUM, groups);
  MPI_Reduce(out, in, 4, MPI_INT, MPI_SUM, root, groups);
  MPI_Reduce_scatter_block(out, in, 2, MPI_INT, MPI_SUM, groups);
  MPI_Bcast(in, 4, MPI_INT, root, groups);
  EXPECT(rank % 2 == 0 ? MPI_SUCCESS : MPI_ERR_TRUNCATE,
         MPI_Bcast(in, rank % 2 == 0 ? 8 : 4, MPI_INT, root, groups));
  MPI_Gather(out, 2, MPI_INT, in, 2, MPI_INT, root, groups);
  MPI_Scatter(in, 2, MPI_INT, out, 2, MPI_INT, root, groups);
  MPI_Allgather(out, 2, MPI_INT, in, 2, MPI_INT, groups);
  MPI_Allgatherv(out, 2, MPI_INT, in, lengths, places, MPI_INT, groups);
  MPI_Alltoall(out, 2, MPI_INT, in, 2, MPI_INT, groups);
  MPI_Barrier(groups);
}

static void on_comm(MPI_Comm *comm, int *code, ...) { CHECK(comm != NULL && *code != 0); }

/* What has the error handler of another intercommunicator gives it back; a side of one color has
 * nobody to meet. */
static void made_of_groups(void) {
  MPI_Errhandler handler;
  MPI_Comm copy, made;
  MPI_Group own;
  MPI_Comm_dup(groups, &copy);
  MPI_Comm_create_errhandler(on_comm, &handler);
  MPI_Comm_set_errhandler(copy, handler);
  MPI_Errhandler_free(&handler);
  MPI_Comm_split(copy, 0, 0, &made);
  MPI_Comm_free(&made);
  MPI_Comm_split(copy, rank % 2, 0, &made);
  CHECK(made == MPI_COMM_NULL);
  MPI_Comm_split(copy, rank < 2 ? 1 : MPI_UNDEFINED, 0, &made);
  CHECK((made != MPI_COMM_NULL) == (rank < 2));
  if (made != MPI_COMM_NULL) MPI_Comm_free(&made);
  MPI_Comm_group(copy, &own);
  MPI_Comm_create(copy, own, &made);
  MPI_Comm_free(&made);
  MPI_Group_free(&own);
  MPI_Intercomm_merge(copy, rank % 2, &made);
  MPI_Comm_free(&made);
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
  MPI_Comm_set_info(copy, hints);
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

/* It may not be run, so nothing starts. */
static void refused_spawns(void) {
  MPI_Comm made;
  if (rank != 0) return;
  EXPECT(MPI_ERR_SPAWN, MPI_Comm_spawn(script, MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF,
                                       &made, MPI_ERRCODES_IGNORE));
}

static void write_script(const char *program) {
  char path[PATH_MAX];
  int fd = mkstemp(script);
  CHECK(fd >= 0 && realpath(program, path) != NULL);
  CHECK(dprintf(fd, "#!%s\n", path) > 0 && fchmod(fd, S_IRUSR) == 0 && close(fd) == 0);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
}

/* ---- what is refused, and leaves nothing behind */

static MPI_Group three; /* which has the first ranks */

static void refused_files(void) {
  static char folder[] = "/", absent[] = "/none/at/all", null[] = "/dev/null";
  MPI_Datatype backwards;
  MPI_File file;
  MPI_Info info;
  MPI_Type_indexed(2, (int[]){1, 1}, (int[]){2, 0}, MPI_INT, &backwards);
  MPI_Type_commit(&backwards);
  MPI_Info_create(&info);
  MPI_Info_set(info, "key", "value");
  EXPECT(MPI_ERR_BAD_FILE, MPI_File_open(MPI_COMM_SELF, folder, MPI_MODE_RDONLY, info, &file));
  EXPECT(MPI_ERR_NO_SUCH_FILE, MPI_File_open(MPI_COMM_SELF, absent, MPI_MODE_RDONLY, info, &file));
  EXPECT(MPI_SUCCESS, MPI_File_open(MPI_COMM_SELF, null, MPI_MODE_RDWR, info, &file));
  EXPECT(MPI_ERR_UNSUPPORTED_DATAREP, MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "none", info));
  EXPECT(MPI_ERR_IO, MPI_File_set_view(file, 0, MPI_INT, backwards, "native", info));
  EXPECT(MPI_SUCCESS, MPI_File_set_view(file, 4, MPI_INT, MPI_INT, "native", info));
  EXPECT(MPI_ERR_ARG, MPI_File_iread_at(file, -1, &rank, 1, MPI_INT, &(MPI_Request){0}));
  EXPECT(MPI_SUCCESS, MPI_File_set_info(file, info));
  MPI_File_close(&file);
  MPI_Info_free(&info);
  MPI_Type_free(&backwards);
}

static void deleted_files(void) {
  char name[sizeof script + 12];
  MPI_File file;
  snprintf(name, sizeof name, "%s.%d", script, rank);
  EXPECT(MPI_SUCCESS, MPI_File_open(MPI_COMM_SELF, name,
                                    MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                                    MPI_INFO_NULL, &file));
  MPI_File_close(&file);
  CHECK(access(name, F_OK) != 0);
}

static void refused_types(void) {
  const MPI_Count many = (MPI_Count)1 << 61;
  const int sizes[] = {8}, kinds[] = {MPI_DISTRIBUTE_BLOCK}, arguments[] = {1}, processes[] = {2};
  MPI_Datatype vector, type;
  MPI_Type_vector(2, 1, 3, MPI_INT, &vector);
  EXPECT(MPI_ERR_TYPE, MPI_Type_create_struct(2, (int[]){1, 1}, (MPI_Aint[]){0, 8},
                                              (MPI_Datatype[]){vector, MPI_DATATYPE_NULL}, &type));
  EXPECT(MPI_ERR_COUNT, MPI_Type_contiguous_c(many, vector, &type));
  EXPECT(MPI_ERR_COUNT, MPI_Type_vector_c(many, 2, 3, vector, &type));
  EXPECT(MPI_ERR_ARG, MPI_Type_create_darray(2, 0, 1, sizes, kinds, arguments, processes,
                                             MPI_ORDER_C, vector, &type));
  EXPECT(MPI_SUCCESS, MPI_Type_create_f90_real(6, 30, &type)); /* one that there is already */
  EXPECT(MPI_SUCCESS, MPI_Type_create_f90_integer(9, &type));
  EXPECT(MPI_ERR_ARG, MPI_Type_create_f90_complex(60, 30, &type));
  MPI_Type_free(&vector);
}

static void refused_groups(void) {
  MPI_Group made;
  MPI_Comm comm;
  EXPECT(MPI_ERR_RANK, MPI_Group_incl(three, 2, (int[]){1, 1}, &made));
  EXPECT(MPI_ERR_RANK, MPI_Group_excl(three, 1, (int[]){3}, &made));
  EXPECT(MPI_ERR_ARG, MPI_Group_range_incl(three, 1, (int[][3]){{0, 2, 0}}, &made));
  EXPECT(MPI_ERR_ARG, MPI_Group_incl(three, -1, (int[]){1}, &made));
  EXPECT(MPI_SUCCESS, MPI_Group_difference(three, three, &made));
  CHECK(made == MPI_GROUP_EMPTY);
  EXPECT(MPI_ERR_DIMS, MPI_Cart_create(MPI_COMM_SELF, 1, (int[]){2}, (int[]){0}, 0, &comm));
  EXPECT(MPI_ERR_ARG, MPI_Graph_create(MPI_COMM_SELF, 1, (int[]){1}, (int[]){1}, 0, &comm));
  EXPECT(MPI_ERR_ARG, MPI_Dist_graph_create(MPI_COMM_SELF, 1, (int[]){0}, (int[]){1}, (int[]){1},
                                            MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm));
  EXPECT(MPI_ERR_ARG,
         MPI_Comm_create_from_group(three, NULL, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
  EXPECT(MPI_ERR_GROUP, MPI_Comm_create(MPI_COMM_SELF, MPI_GROUP_NULL, &comm));
}

static void refused_messages(void) {
  static char room[8];
  int value = 0;
  MPI_Request request;
  MPI_Message message;
  MPI_Datatype pair;
  const MPI_Comm self = MPI_COMM_SELF;
  MPI_Type_contiguous(2, MPI_INT, &pair);
  MPI_Type_commit(&pair);
  EXPECT(MPI_ERR_RANK, MPI_Isend(&value, 1, MPI_INT, 1, 0, self, &request));
  EXPECT(MPI_ERR_BUFFER, MPI_Bsend(&value, 1, MPI_INT, 0, 0, self));
  EXPECT(MPI_ERR_BUFFER, MPI_Ibsend(&value, 1, pair, 0, 0, self, &request));
  EXPECT(MPI_SUCCESS, MPI_Buffer_attach(room, sizeof room));
  EXPECT(MPI_ERR_BUFFER, MPI_Buffer_attach(room, sizeof room));
  EXPECT(MPI_ERR_BUFFER, MPI_Ibsend(&value, 1, pair, 0, 0, self, &request));
  EXPECT(MPI_SUCCESS, MPI_Buffer_detach(&(void *){NULL}, &value));
  EXPECT(MPI_ERR_BUFFER, MPI_Buffer_iflush(&request));
  EXPECT(MPI_ERR_TAG, MPI_Recv_init(&value, 1, pair, 0, -5, self, &request));
  EXPECT(MPI_ERR_RANK,
         MPI_Isendrecv(&value, 1, MPI_INT, 1, 0, &value, 1, pair, 0, 0, self, &request));
  EXPECT(MPI_ERR_RANK,
         MPI_Isendrecv(&value, 1, MPI_INT, 0, 0, &value, 1, pair, 1, 0, self, &request));
  EXPECT(MPI_ERR_RANK, MPI_Isendrecv_replace(&value, 1, MPI_INT, 1, 0, 0, 0, self, &request));
  EXPECT(MPI_ERR_RANK,
         MPI_Sendrecv_replace(&value, 1, MPI_INT, 1, 0, 0, 0, self, MPI_STATUS_IGNORE));
  EXPECT(MPI_ERR_RANK,
         MPI_Sendrecv(&value, 1, pair, 1, 0, &value, 1, pair, 0, 0, self, MPI_STATUS_IGNORE));
  EXPECT(MPI_ERR_ARG, MPI_Psend_init(&value, -1, 1, pair, 0, 0, self, MPI_INFO_NULL, &request));
  EXPECT(MPI_ERR_RANK,
         MPI_Precv_init(&value, 1, 1, pair, MPI_ANY_SOURCE, 0, self, MPI_INFO_NULL, &request));
  EXPECT(MPI_ERR_OP, MPI_Iallreduce(&value, room, 1, MPI_INT, MPI_OP_NULL, self, &request));
  EXPECT(MPI_ERR_INFO, MPI_Bcast_init(&value, 1, pair, 0, self, (MPI_Info)7, &request));
  EXPECT(MPI_SUCCESS, MPI_Mprobe(MPI_PROC_NULL, 0, self, &message, MPI_STATUS_IGNORE));
  EXPECT(MPI_ERR_COUNT, MPI_Imrecv(&value, -1, MPI_INT, &message, &request));
  EXPECT(MPI_SUCCESS, MPI_Mrecv(&value, 1, MPI_INT, &message, MPI_STATUS_IGNORE));
  MPI_Type_free(&pair);
}

/* Copies that sends have left, in each place where a copy can be. */
static void cancelled_messages(void) {
  static char message[1000];
  const int sizes[] = {0, 8, 100, sizeof message};
  for (int i = 0; i < 4; i++) {
    int cancelled;
    MPI_Request requests[2];
    MPI_Status status;
    for (int k = 0; k < 2; k++)
      MPI_Isend(message, sizes[i], MPI_BYTE, 0, k, MPI_COMM_SELF, &requests[k]);
    for (int k = 0; k < 2; k++) {
      MPI_Cancel(&requests[k]);
      MPI_Wait(&requests[k], &status);
      MPI_Test_cancelled(&status, &cancelled);
      CHECK(cancelled);
    }
  }
}

static int refuse_copy(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag) {
  (void)comm, (void)key, (void)extra, (void)in, (void)out;
  *flag = 0;
  return MPI_ERR_OTHER;
}

static int may_delete; /* what the delete function returns */

static int ask_to_delete(MPI_Comm comm, int key, void *value, void *extra) {
  (void)comm, (void)key, (void)value, (void)extra;
  return may_delete;
}

static int no_extent(MPI_Datatype type, MPI_Aint *extent, void *extra) {
  (void)type, (void)extra;
  *extent = 0;
  return MPI_SUCCESS;
}

/* Copies of attributes that were made when one is refused, an attribute that stays, memory that is
 * attached already, services and representations that there are. */
static void refused_objects(void) {
  static int cells[4];
  char name[32], found[MPI_MAX_PORT_NAME];
  int keys[3];
  MPI_Comm copy, second;
  MPI_Request request;
  MPI_Win win;
  MPI_Comm_dup(MPI_COMM_SELF, &copy);
  MPI_Comm_create_keyval(refuse_copy, ask_to_delete, &keys[0], NULL);
  MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &keys[1], NULL);
  MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &keys[2], NULL);
  /* in either order one is copied before another is refused */
  for (int i = 0; i < 3; i++) MPI_Comm_set_attr(copy, keys[(int[]){1, 0, 2}[i]], &rank);
  EXPECT(MPI_ERR_OTHER, MPI_Comm_dup(copy, &second));
  EXPECT(MPI_ERR_OTHER, MPI_Comm_idup(copy, &second, &request));
  may_delete = MPI_ERR_OTHER;
  EXPECT(MPI_ERR_OTHER, MPI_Comm_set_attr(copy, keys[0], &size));
  EXPECT(MPI_ERR_OTHER, MPI_Comm_free(&copy));
  EXPECT(MPI_ERR_KEYVAL, MPI_Comm_set_attr(copy, MPI_KEYVAL_INVALID, &size));
  may_delete = MPI_SUCCESS;
  for (int i = 0; i < 3; i++) MPI_Comm_free_keyval(&keys[i]);
  MPI_Comm_free(&copy);
  MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_SELF, &win);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  MPI_Win_attach(win, cells, sizeof cells);
  EXPECT(MPI_ERR_RMA_ATTACH, MPI_Win_attach(win, &cells[1], sizeof cells[1]));
  MPI_Win_free(&win);
  EXPECT(MPI_ERR_DUP_DATAREP, MPI_Register_datarep("native", NULL, NULL, no_extent, NULL));
  snprintf(name, sizeof name, "released by %d", rank);
  EXPECT(MPI_SUCCESS, MPI_Publish_name(name, MPI_INFO_NULL, "a port"));
  EXPECT(MPI_ERR_SERVICE, MPI_Publish_name(name, MPI_INFO_NULL, "another"));
  EXPECT(MPI_SUCCESS, MPI_Lookup_name(name, MPI_INFO_NULL, found));
  EXPECT(MPI_SUCCESS, MPI_Unpublish_name(name, MPI_INFO_NULL, "a port"));
}

static const struct row rows[] = {
    {"types", types, ROUNDS},
    {"constructed types", constructed_types, ROUNDS},
    {"topologies", topologies, ROUNDS},
    {"communicators", communicators, ROUNDS},
    {"more communicators", more_communicators, FEW},
    {"between groups", between_groups, FEW},
    {"made of groups", made_of_groups, FEW},
    {"sessions", sessions, FEW},
    {"ports", ports, FEW},
    {"small objects", small_objects, ROUNDS},
    {"error handlers", error_handlers, ROUNDS},
    {"attributes", attributes, ROUNDS},
    {"windows", windows, ROUNDS},
    {"refused spawns", refused_spawns, ROUNDS},
    {"refused files", refused_files, FEW},
    {"deleted files", deleted_files, FEW},
    {"refused types", refused_types, ROUNDS},
    {"refused groups", refused_groups, ROUNDS},
    {"refused messages", refused_messages, ROUNDS},
    {"cancelled messages", cancelled_messages, ROUNDS},
    {"refused objects", refused_objects, FEW},
};

int main(int argc, char **argv) {
  rank = check_start(&argc, &argv, &size);
  if (counts()) {
    write_script(argv[0]);
    if (rank == 0) MPI_Open_port(MPI_INFO_NULL, port);
    MPI_Bcast(port, sizeof port, MPI_CHAR, 0, MPI_COMM_WORLD);
    MPI_Group world;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 3, (int[]){0, 1, 2}, &three);
    MPI_Group_free(&world);
    make_groups();
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) check(&rows[i]);
    MPI_Group_free(&three);
    MPI_Comm_free(&groups);
    CHECK(unlink(script) == 0);
  }
  MPI_Finalize();
  return 0;
}
