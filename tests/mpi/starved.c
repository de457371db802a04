/* SPDX-License-Identifier: Apache-2.0 */
/*
 * starved SCENARIO N: the N-th allocation that the library makes in a scenario fails (starve.c).
 * Each call then succeeds, or returns MPI_ERR_NO_MEM. Prints "done", with the number of allocations
 * that failed, or "refused" with the class. A rank alone continues after an error, as a program
 * may; of several one that got an error ends the job.
 */
#include <string.h>
#include <unistd.h>

#include "check.h"

enum { COUNT = 4000, STATUS_REFUSED = 77 };

__attribute__((weak)) void starve(long nth);
__attribute__((weak)) int starve_count(void);

static int rank, size, mine[COUNT], theirs[COUNT], all[64 * COUNT];
static int first; /* error */

/* Notes the first error; the scenario continues as if it were none, or ends. */
static int failed(int code) {
  if (code != MPI_SUCCESS && first == 0) first = code;
  return code != MPI_SUCCESS;
}

#define TRY(call)                                                                                  \
  do {                                                                                             \
    if (failed(call)) return;                                                                      \
  } while (0)

/* ---- messages */

static void self_messages(void) {
  MPI_Request requests[8];
  for (int i = 0; i < 8; i++) {
    mine[i] = i;
    TRY(MPI_Isend(&mine[i], 1, MPI_INT, rank, i, MPI_COMM_WORLD, &requests[i]));
  }
  for (int i = 7; i >= 0; i--)
    TRY(MPI_Recv(&theirs[i], 1, MPI_INT, rank, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  TRY(MPI_Waitall(8, requests, MPI_STATUSES_IGNORE));
  for (int i = 0; i < 8; i++) CHECK(theirs[i] == i);
}

static void ring(void) {
  MPI_Request requests[2];
  int next = (rank + 1) % size, before = (rank + size - 1) % size;
  for (int i = 0; i < COUNT; i++) mine[i] = rank + i;
  TRY(MPI_Irecv(theirs, COUNT, MPI_INT, before, 1, MPI_COMM_WORLD, &requests[0]));
  TRY(MPI_Isend(mine, COUNT, MPI_INT, next, 1, MPI_COMM_WORLD, &requests[1]));
  TRY(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  for (int i = 0; i < COUNT; i++) CHECK(theirs[i] == before + i);
}

static void wildcards(void) {
  MPI_Request requests[64];
  for (int i = 0; i < 64; i++)
    TRY(MPI_Irecv(&theirs[i], 1, MPI_INT, MPI_ANY_SOURCE, i, MPI_COMM_WORLD, &requests[i]));
  for (int i = 0; i < 64; i++) {
    mine[i] = i;
    TRY(MPI_Send(&mine[i], 1, MPI_INT, rank, i, MPI_COMM_WORLD));
  }
  TRY(MPI_Waitall(64, requests, MPI_STATUSES_IGNORE));
  for (int i = 0; i < 64; i++) CHECK(theirs[i] == i);
}

static void buffered(void) {
  static char space[COUNT + 4 * MPI_BSEND_OVERHEAD];
  MPI_Request request;
  int bytes;
  TRY(MPI_Buffer_attach(space, sizeof space));
  mine[0] = 7;
  failed(MPI_Bsend(mine, 1, MPI_INT, rank, 0, MPI_COMM_WORLD));
  if (first == 0) TRY(MPI_Recv(theirs, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  if (first == 0) TRY(MPI_Ibsend(mine, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, &request));
  if (first == 0) TRY(MPI_Recv(theirs, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  if (first == 0) TRY(MPI_Wait(&request, MPI_STATUS_IGNORE));
  char *taken;
  TRY(MPI_Buffer_detach(&taken, &bytes));
  CHECK(taken == space && bytes == sizeof space && (first != 0 || theirs[0] == 7));
}

static void replaced(void) {
  for (int i = 0; i < COUNT; i++) mine[i] = i;
  TRY(MPI_Sendrecv_replace(mine, COUNT, MPI_INT, rank, 0, rank, 0, MPI_COMM_WORLD,
                           MPI_STATUS_IGNORE));
  for (int i = 0; i < COUNT; i++) CHECK(mine[i] == i);
  MPI_Request request;
  TRY(MPI_Isendrecv(mine, COUNT, MPI_INT, rank, 0, theirs, COUNT, MPI_INT, rank, 0, MPI_COMM_WORLD,
                    &request));
  TRY(MPI_Wait(&request, MPI_STATUS_IGNORE));
  for (int i = 0; i < COUNT; i++) CHECK(theirs[i] == i);
}

/* A call that is refused leaves the program's handle as it was. */
static void exchanged(void) {
  MPI_Request request = MPI_REQUEST_NULL;
  mine[0] = 7;
  if (failed(MPI_Isendrecv(mine, 1, MPI_INT, MPI_PROC_NULL, 1, theirs, 1, MPI_INT, rank, 2,
                           MPI_COMM_WORLD, &request))) {
    CHECK(request == MPI_REQUEST_NULL);
    return;
  }
  TRY(MPI_Send(mine, 1, MPI_INT, rank, 2, MPI_COMM_WORLD));
  TRY(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK(theirs[0] == 7);
}

static void flushed(void) {
  MPI_Request request = MPI_REQUEST_NULL;
  char *taken;
  int bytes;
  TRY(MPI_Buffer_attach(MPI_BUFFER_AUTOMATIC, 0));
  mine[0] = 7;
  if (!failed(MPI_Bsend(mine, 1, MPI_INT, rank, 0, MPI_COMM_WORLD))) {
    if (failed(MPI_Buffer_iflush(&request))) CHECK(request == MPI_REQUEST_NULL);
    TRY(MPI_Recv(theirs, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    TRY(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(theirs[0] == 7);
  }
  TRY(MPI_Buffer_detach(&taken, &bytes));
}

static void persistent(void) {
  MPI_Request requests[2];
  TRY(MPI_Send_init(mine, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, &requests[0]));
  TRY(MPI_Recv_init(theirs, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, &requests[1]));
  for (int i = 0; i < 3; i++) {
    mine[0] = i;
    TRY(MPI_Startall(2, requests));
    TRY(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    CHECK(theirs[0] == i);
  }
  for (int i = 0; i < 2; i++) TRY(MPI_Request_free(&requests[i]));
}

static void partitioned(void) {
  MPI_Request requests[2];
  TRY(MPI_Psend_init(mine, 4, 100, MPI_INT, rank, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]));
  TRY(MPI_Precv_init(theirs, 4, 100, MPI_INT, rank, 0, MPI_COMM_WORLD, MPI_INFO_NULL,
                     &requests[1]));
  mine[399] = 5;
  TRY(MPI_Startall(2, requests));
  for (int i = 0; i < 4; i++) TRY(MPI_Pready(i, requests[0]));
  TRY(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  CHECK(theirs[399] == 5);
  for (int i = 0; i < 2; i++) TRY(MPI_Request_free(&requests[i]));
}

static int generalized_query(void *state, MPI_Status *status) {
  (void)state;
  MPI_Status_set_elements(status, MPI_INT, 0);
  MPI_Status_set_cancelled(status, 0);
  return MPI_SUCCESS;
}
static int generalized_free(void *state) { return state != NULL; }
static int generalized_cancel(void *state, int complete) { return state != NULL && complete < 0; }

static void generalized(void) {
  MPI_Request request;
  TRY(MPI_Grequest_start(generalized_query, generalized_free, generalized_cancel, NULL, &request));
  TRY(MPI_Grequest_complete(request));
  TRY(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

/* ---- types */

static void types(void) {
  int lengths[3] = {1, 2, 3}, at[3] = {0, 4, 9};
  MPI_Datatype indexed, repeated, named, copy;
  TRY(MPI_Type_indexed(3, lengths, at, MPI_INT, &indexed));
  TRY(MPI_Type_vector(3, 2, 5, indexed, &repeated));
  TRY(MPI_Type_create_resized(repeated, 0, 4096, &named));
  TRY(MPI_Type_set_name(named, "a name of some length, so that it needs memory"));
  TRY(MPI_Type_commit(&named));
  TRY(MPI_Type_dup(named, &copy));
  for (int i = 0; i < COUNT; i++) mine[i] = i;
  memset(theirs, 0, sizeof theirs);
  TRY(MPI_Sendrecv(mine, 1, named, rank, 0, theirs, 1, copy, rank, 0, MPI_COMM_WORLD,
                   MPI_STATUS_IGNORE));
  CHECK(theirs[5] == 5 && theirs[9] == 9 && theirs[1] == 0);
  TRY(MPI_Type_free(&indexed));
  TRY(MPI_Type_free(&repeated));
  TRY(MPI_Type_free(&named));
  TRY(MPI_Type_free(&copy));
}

static void arrays(void) {
  int sizes[3] = {8, 8, 8}, parts[3] = {2, 3, 4}, from[3] = {1, 1, 1};
  int kinds[2] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC},
      arguments[2] = {MPI_DISTRIBUTE_DFLT_DARG, 1}, grid[2] = {1, 1};
  MPI_Datatype part, spread;
  TRY(MPI_Type_create_subarray(3, sizes, parts, from, MPI_ORDER_C, MPI_INT, &part));
  TRY(MPI_Type_commit(&part));
  TRY(MPI_Type_create_darray(1, 0, 2, sizes, kinds, arguments, grid, MPI_ORDER_C, MPI_INT,
                             &spread));
  int integers, addresses, types_inside, combiner, bytes = 0;
  TRY(MPI_Type_get_envelope(part, &integers, &addresses, &types_inside, &combiner));
  CHECK(combiner == MPI_COMBINER_SUBARRAY);
  TRY(MPI_Pack(mine, 1, part, all, sizeof all, &bytes, MPI_COMM_WORLD));
  CHECK(bytes == 2 * 3 * 4 * (int)sizeof(int));
  MPI_Aint external = 0;
  TRY(MPI_Pack_external("external32", mine, 1, part, all, sizeof all, &external));
  TRY(MPI_Type_free(&part));
  TRY(MPI_Type_free(&spread));
}

/* ---- objects */

static int keep_value(MPI_Comm comm, int key, void *state, void *value, void *copied, int *flag) {
  (void)comm, (void)key, (void)state;
  *(void **)copied = value;
  *flag = 1;
  return MPI_SUCCESS;
}

static void attributes(void) {
  int keys[20], found;
  MPI_Comm copy;
  void *value;
  for (int i = 0; i < 20; i++) {
    TRY(MPI_Comm_create_keyval(keep_value, MPI_COMM_NULL_DELETE_FN, &keys[i], NULL));
    TRY(MPI_Comm_set_attr(MPI_COMM_SELF, keys[i], &mine[i]));
  }
  TRY(MPI_Comm_dup(MPI_COMM_SELF, &copy));
  for (int i = 0; i < 20; i++) {
    TRY(MPI_Comm_get_attr(copy, keys[i], &value, &found));
    CHECK(found && value == &mine[i]);
    TRY(MPI_Comm_delete_attr(MPI_COMM_SELF, keys[i]));
  }
  TRY(MPI_Comm_free(&copy));
  for (int i = 0; i < 20; i++) TRY(MPI_Comm_free_keyval(&keys[i]));
}

static void infos(void) {
  MPI_Info info, copy;
  char key[16], value[64];
  int found, length = sizeof value;
  TRY(MPI_Info_create(&info));
  for (int i = 0; i < 40; i++) {
    snprintf(key, sizeof key, "key%d", i);
    TRY(MPI_Info_set(info, key, "a value that is not too short"));
  }
  TRY(MPI_Info_dup(info, &copy));
  TRY(MPI_Info_get_string(copy, "key39", &length, value, &found));
  CHECK(found && strcmp(value, "a value that is not too short") == 0);
  TRY(MPI_Info_free(&info));
  TRY(MPI_Info_free(&copy));
}

static void groups(void) {
  MPI_Group world, some, both;
  int ranges[1][3] = {{size - 1, 0, -1}}, zero = 0, there;
  TRY(MPI_Comm_group(MPI_COMM_WORLD, &world));
  TRY(MPI_Group_range_incl(world, 1, ranges, &some));
  TRY(MPI_Group_union(world, some, &both));
  TRY(MPI_Group_translate_ranks(some, 1, &zero, world, &there));
  CHECK(there == size - 1);
  TRY(MPI_Group_difference(world, some, &both));
  TRY(MPI_Group_free(&world));
  TRY(MPI_Group_free(&some));
}

static void handle_error(MPI_Comm *comm, int *code, ...) { (void)comm, (void)code; }

static void errors(void) {
  MPI_Errhandler handler;
  int class, code, length;
  char text[MPI_MAX_ERROR_STRING];
  TRY(MPI_Comm_create_errhandler(handle_error, &handler));
  TRY(MPI_Comm_set_errhandler(MPI_COMM_SELF, handler));
  TRY(MPI_Errhandler_free(&handler));
  TRY(MPI_Add_error_class(&class));
  TRY(MPI_Add_error_code(class, &code));
  TRY(MPI_Add_error_string(code, "an error of the program's own"));
  TRY(MPI_Error_string(code, text, &length));
  CHECK(strcmp(text, "an error of the program's own") == 0);
}

static void operations(void) {
  MPI_Op op;
  extern void sum_of_ints(void *, void *, int *, MPI_Datatype *);
  TRY(MPI_Op_create(sum_of_ints, 1, &op));
  mine[0] = rank + 1;
  TRY(MPI_Allreduce(mine, theirs, 1, MPI_INT, op, MPI_COMM_WORLD));
  CHECK(theirs[0] == size * (size + 1) / 2);
  TRY(MPI_Op_free(&op));
}

void sum_of_ints(void *in, void *out, int *count, MPI_Datatype *type) {
  (void)type;
  for (int i = 0; i < *count; i++) ((int *)out)[i] += ((int *)in)[i];
}

static void memory(void) {
  void *space;
  TRY(MPI_Alloc_mem(100000, MPI_INFO_NULL, &space));
  memset(space, 1, 100000);
  TRY(MPI_Free_mem(space));
}

/* ---- communicators */

static void communicators(void) {
  MPI_Comm copy, half, made;
  MPI_Group group;
  MPI_Request request;
  TRY(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
  TRY(MPI_Comm_set_name(copy, "a communicator with a name"));
  TRY(MPI_Comm_split(copy, rank % 2, -rank, &half));
  TRY(MPI_Comm_group(copy, &group));
  TRY(MPI_Comm_create(copy, group, &made));
  TRY(MPI_Comm_free(&made));
  TRY(MPI_Comm_create_group(copy, group, 3, &made));
  TRY(MPI_Comm_free(&made));
  TRY(MPI_Comm_idup(copy, &made, &request));
  TRY(MPI_Wait(&request, MPI_STATUS_IGNORE));
  TRY(MPI_Comm_free(&made));
  TRY(MPI_Comm_split_type(copy, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &made));
  TRY(MPI_Comm_free(&made));
  TRY(MPI_Group_free(&group));
  TRY(MPI_Comm_free(&half));
  TRY(MPI_Comm_free(&copy));
}

static void intercommunicators(void) {
  MPI_Comm half, across, merged;
  if (size < 2) return;
  TRY(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half));
  TRY(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank % 2 == 0 ? 1 : 0, 4, &across));
  TRY(MPI_Intercomm_merge(across, rank % 2, &merged));
  TRY(MPI_Comm_free(&merged));
  TRY(MPI_Comm_free(&across));
  TRY(MPI_Comm_free(&half));
}

static void topologies(void) {
  int dims[2] = {size, 1}, periods[2] = {1, 0}, next = (rank + 1) % size,
      before = (rank + size - 1) % size;
  MPI_Comm grid, row, graph;
  TRY(MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 1, &grid));
  int keep[2] = {1, 0};
  TRY(MPI_Cart_sub(grid, keep, &row));
  TRY(MPI_Comm_free(&row));
  TRY(MPI_Comm_free(&grid));
  TRY(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &before, MPI_UNWEIGHTED, 1, &next,
                                     MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph));
  mine[0] = rank;
  TRY(MPI_Neighbor_allgather(mine, 1, MPI_INT, theirs, 1, MPI_INT, graph));
  CHECK(theirs[0] == before);
  TRY(MPI_Comm_free(&graph));
  int degree = 1;
  TRY(MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &rank, &degree, &next, MPI_UNWEIGHTED, MPI_INFO_NULL,
                            0, &graph));
  TRY(MPI_Comm_free(&graph));
}

/* ---- collectives */

static void collectives(void) {
  for (int i = 0; i < COUNT; i++) mine[i] = rank;
  TRY(MPI_Barrier(MPI_COMM_WORLD));
  TRY(MPI_Allgather(mine, COUNT, MPI_INT, all, COUNT, MPI_INT, MPI_COMM_WORLD));
  for (int i = 0; i < size; i++) CHECK(all[i * COUNT] == i);
  TRY(MPI_Alltoall(all, COUNT, MPI_INT, all + 32 * COUNT, COUNT, MPI_INT, MPI_COMM_WORLD));
  for (int i = 0; i < size; i++) CHECK(all[(32 + i) * COUNT] == rank);
  for (int i = 0; i < size; i++) all[i * COUNT] = rank;
  TRY(MPI_Alltoall(MPI_IN_PLACE, 0, MPI_INT, all, COUNT, MPI_INT, MPI_COMM_WORLD));
  for (int i = 0; i < size; i++) CHECK(all[i * COUNT] == i);
  TRY(MPI_Allreduce(mine, theirs, COUNT, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  CHECK(theirs[COUNT - 1] == size * (size - 1) / 2);
  TRY(MPI_Scan(mine, theirs, COUNT, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  CHECK(theirs[0] == rank * (rank + 1) / 2);
  TRY(MPI_Reduce(mine, theirs, COUNT, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD));
  CHECK(rank != 0 || theirs[0] == size - 1);
  TRY(MPI_Gather(mine, COUNT, MPI_INT, all, COUNT, MPI_INT, size - 1, MPI_COMM_WORLD));
  TRY(MPI_Reduce_scatter_block(all, theirs, COUNT, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
}

static void nonblocking(void) {
  MPI_Request requests[3];
  mine[0] = rank;
  mine[1] = 5;
  for (int i = 0; i < 3; i++) requests[i] = MPI_REQUEST_NULL;
  failed(MPI_Ibarrier(MPI_COMM_WORLD, &requests[0]));
  if (first == 0)
    failed(MPI_Iallreduce(mine, theirs, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[1]));
  if (first == 0) failed(MPI_Ibcast(mine + 1, 1, MPI_INT, 0, MPI_COMM_WORLD, &requests[2]));
  if (first != 0 && size > 1) return; /* other ranks may not come */
  for (int i = 0; i < 3; i++) failed(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
  if (first != 0) return;
  CHECK(theirs[0] == size * (size - 1) / 2);
  TRY(MPI_Allreduce_init(mine, theirs, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL,
                         &requests[0]));
  for (int i = 0; i < 2; i++) {
    TRY(MPI_Start(&requests[0]));
    TRY(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
  }
  TRY(MPI_Request_free(&requests[0]));
}

/* No other rank waits, so that the second start, too, may be refused without an end of the job. */
static void restarted(void) {
  MPI_Request request;
  mine[0] = rank;
  TRY(MPI_Allreduce_init(mine, theirs, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF, MPI_INFO_NULL,
                         &request));
  for (int i = 0; i < 2 && first == 0; i++) {
    failed(MPI_Start(&request));
    if (first == 0) failed(MPI_Wait(&request, MPI_STATUS_IGNORE));
    if (first == 0) CHECK(theirs[0] == rank);
  }
  failed(MPI_Request_free(&request));
}

/* ---- windows, files, sessions, tools */

static void windows(void) {
  MPI_Win win;
  int *space, value = 40 + rank, got = -1, next = (rank + 1) % size;
  MPI_Request request;
  TRY(MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &space, &win));
  TRY(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
  *space = 0;
  TRY(MPI_Win_fence(0, win));
  TRY(MPI_Put(&value, 1, MPI_INT, next, 0, 1, MPI_INT, win));
  TRY(MPI_Win_fence(0, win));
  CHECK(*space == 40 + (rank + size - 1) % size);
  TRY(MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win));
  TRY(MPI_Rget(&got, 1, MPI_INT, next, 0, 1, MPI_INT, win, &request));
  TRY(MPI_Wait(&request, MPI_STATUS_IGNORE));
  TRY(MPI_Win_flush(next, win));
  TRY(MPI_Accumulate(&value, 1, MPI_INT, next, 0, 1, MPI_INT, MPI_MAX, win));
  TRY(MPI_Win_unlock(next, win));
  CHECK(got == value);
  TRY(MPI_Win_free(&win));
  TRY(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
  TRY(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
  TRY(MPI_Win_attach(win, mine, sizeof mine));
  TRY(MPI_Win_detach(win, mine));
  TRY(MPI_Win_free(&win));
}

static void files(void) {
  char name[64];
  MPI_File file;
  MPI_Request request;
  MPI_Datatype spread;
  snprintf(name, sizeof name, "/tmp/starved-%d", (int)getpid());
  for (int i = 0; i < COUNT; i++) mine[i] = rank * COUNT + i;
  TRY(MPI_File_open(MPI_COMM_WORLD, name,
                    MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                    &file));
  TRY(MPI_Type_vector(COUNT, 1, size, MPI_INT, &spread));
  TRY(MPI_Type_commit(&spread));
  TRY(MPI_File_set_view(file, rank * (MPI_Offset)sizeof(int), MPI_INT, spread, "native",
                        MPI_INFO_NULL));
  TRY(MPI_File_write_all(file, mine, COUNT, MPI_INT, MPI_STATUS_IGNORE));
  TRY(MPI_File_iread_at(file, 0, theirs, COUNT, MPI_INT, &request));
  TRY(MPI_Wait(&request, MPI_STATUS_IGNORE));
  for (int i = 0; i < COUNT; i++) CHECK(theirs[i] == mine[i]);
  TRY(MPI_File_write_ordered(file, mine, 1, MPI_INT, MPI_STATUS_IGNORE));
  TRY(MPI_Type_free(&spread));
  TRY(MPI_File_close(&file));
}

static void sessions(void) {
  MPI_Session session;
  MPI_Group group;
  MPI_Comm comm;
  MPI_Info info;
  TRY(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
  TRY(MPI_Session_get_info(session, &info));
  TRY(MPI_Info_free(&info));
  TRY(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
  TRY(MPI_Comm_create_from_group(group, "starved", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
  TRY(MPI_Comm_free(&comm));
  TRY(MPI_Group_free(&group));
  TRY(MPI_Session_finalize(&session));
}

/* The first conversion makes a table. 0 is no handle. */
static void numbers(void) {
  MPI_Datatype type;
  TRY(MPI_Type_contiguous(3, MPI_INT, &type));
  MPI_Fint number = MPI_Type_c2f(type);
  if (number == 0) failed(MPI_ERR_NO_MEM);
  if (number != 0) CHECK(MPI_Type_f2c(number) == type);
  TRY(MPI_Type_free(&type));
}

static const struct scenario {
  const char *name;
  void (*run)(void);
} scenarios[] = {
    {"self_messages", self_messages},
    {"ring", ring},
    {"wildcards", wildcards},
    {"buffered", buffered},
    {"replaced", replaced},
    {"exchanged", exchanged},
    {"flushed", flushed},
    {"persistent", persistent},
    {"partitioned", partitioned},
    {"generalized", generalized},
    {"types", types},
    {"arrays", arrays},
    {"attributes", attributes},
    {"infos", infos},
    {"groups", groups},
    {"errors", errors},
    {"operations", operations},
    {"memory", memory},
    {"communicators", communicators},
    {"intercommunicators", intercommunicators},
    {"topologies", topologies},
    {"collectives", collectives},
    {"nonblocking", nonblocking},
    {"restarted", restarted},
    {"windows", windows},
    {"files", files},
    {"sessions", sessions},
    {"numbers", numbers},
};

/* After an error messages and collectives work as before. */
static void still_works(void) {
  int value = rank, sum = -1;
  MPI_Comm copy;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Sendrecv(&value, 1, MPI_INT, rank, 99, &sum, 1, MPI_INT, rank, 99, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  CHECK(sum == rank);
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, copy);
  CHECK(sum == size * (size - 1) / 2);
  MPI_Comm_free(&copy);
}

int main(int argc, char **argv) {
  rank = check_start(&argc, &argv, &size);
  if (argc == 2 && strcmp(argv[1], "list") == 0 && rank == 0)
    for (size_t i = 0; i < sizeof scenarios / sizeof scenarios[0]; i++) puts(scenarios[i].name);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN);
  for (size_t i = 0; argc == 3 && i < sizeof scenarios / sizeof scenarios[0]; i++) {
    if (strcmp(scenarios[i].name, argv[1]) != 0) continue;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) starve(atol(argv[2]));
    MPI_Barrier(MPI_COMM_WORLD);
    scenarios[i].run();
    if (first != 0) {
      int class = -1;
      MPI_Error_class(first, &class);
      fprintf(stderr, "refused %d %s\n", class,
              class == MPI_ERR_NO_MEM ? "no memory" : "of another class");
      if (size > 1) MPI_Abort(MPI_COMM_WORLD, STATUS_REFUSED);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) printf("done %d\n", starve_count());
    starve(0);
    still_works();
  }
  MPI_Finalize();
}
