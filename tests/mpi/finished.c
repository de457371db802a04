/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that are over have given their memory and their descriptors back (kept.h): messages,
 * collectives, accesses to windows and files. */
#define _GNU_SOURCE /* mallinfo2() */
#include <string.h>
#include <unistd.h>

#include "kept.h"

enum { MANY = 40, CELLS = 400 };

static MPI_Comm near; /* the ranks of this node */

static void add(void *in, void *inout, int *count, MPI_Datatype *type) {
  (void)type;
  for (int i = 0; i < *count; i++) ((int *)inout)[i] += ((int *)in)[i];
}

static void accesses(void) {
  static int cells[CELLS], from[CELLS], before[CELLS];
  int next = (rank + 1) % size;
  int *memory;
  MPI_Datatype spread;
  MPI_Request request;
  MPI_Win win;
  MPI_Type_vector(CELLS / 8, 2, 4, MPI_INT, &spread);
  MPI_Type_commit(&spread);
  MPI_Win_create(cells, sizeof cells, sizeof *cells, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_lock_all(0, win);
  MPI_Raccumulate(from, 1, spread, next, 0, 1, spread, MPI_SUM, win, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Accumulate(from, CELLS / 4, MPI_INT, next, 0, 1, spread, MPI_SUM, win);
  MPI_Win_flush(next, win);
  MPI_Get_accumulate(from, 1, spread, before, 1, spread, next, 0, 1, spread, MPI_SUM, win);
  MPI_Win_flush(next, win);
  MPI_Rput(from, 1, spread, next, 0, 1, spread, win, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Win_flush(next, win);
  MPI_Rget(before, CELLS, MPI_INT, next, 0, CELLS, MPI_INT, win, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Type_free(&spread);
  MPI_Win_unlock_all(win);
  MPI_Win_free(&win);
  MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_attach(win, cells, sizeof cells);
  MPI_Win_detach(win, cells);
  MPI_Win_attach(win, from, sizeof from);
  MPI_Win_free(&win);
  MPI_Win_allocate_shared(64, 1, MPI_INFO_NULL, near, &memory, &win);
  MPI_Win_free(&win);
}

/* Each start of a persistent one, and types and operations that are freed before it ends. */
static void collectives(void) {
  static int values[CELLS], others[CELLS], sums[CELLS], lengths[8], places[8];
  static MPI_Datatype types[8];
  MPI_Datatype pair;
  MPI_Request three[3];
  MPI_Op op;
  int sum = -1, both[2] = {rank, rank};
  MPI_Op_create(add, 0, &op);
  MPI_Type_contiguous(2, MPI_INT, &pair);
  MPI_Type_commit(&pair);
  for (int i = 0; i < size; i++) {
    lengths[i] = i + 1;
    places[i] = 2 * size * i; /* of integers, or of bytes */
    types[i] = pair;
  }
  MPI_Allreduce_init(&rank, &sum, 1, MPI_INT, op, MPI_COMM_WORLD, MPI_INFO_NULL, &three[0]);
  MPI_Bcast_init(both, 1, pair, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &three[1]);
  MPI_Allgatherv_init(values, rank + 1, MPI_INT, others, lengths, places, MPI_INT, MPI_COMM_WORLD,
                      MPI_INFO_NULL, &three[2]);
  for (int turn = 0; turn < 2; turn++) {
    MPI_Startall(3, three);
    MPI_Waitall(3, three, MPI_STATUSES_IGNORE);
    CHECK(sum == size * (size - 1) / 2 && both[1] == 0);
  }
  for (int i = 0; i < 3; i++) MPI_Request_free(&three[i]);
  for (int i = 0; i < size; i++) lengths[i] = 1;
  MPI_Ialltoallw(values, lengths, places, types, others, lengths, places, types, MPI_COMM_WORLD,
                 &three[0]);
  MPI_Ireduce_scatter(values, sums, lengths, MPI_INT, op, MPI_COMM_WORLD, &three[1]);
  MPI_Type_free(&pair);
  MPI_Op_free(&op);
  MPI_Waitall(2, three, MPI_STATUSES_IGNORE);
}

/* What needs memory for the time of the call. */
static void copies(void) {
  static int values[8 * CELLS], others[8 * CELLS];
  int to = (rank + 1) % size, from = (rank + size - 1) % size, lengths[8], places[8];
  MPI_Datatype spread;
  MPI_Request request;
  MPI_Message message;
  MPI_Op op;
  MPI_Op_create(add, 0, &op);
  MPI_Type_vector(CELLS, 1, 2, MPI_INT, &spread);
  MPI_Type_commit(&spread);
  for (int i = 0; i < size; i++) {
    lengths[i] = CELLS / 8;
    places[i] = i * CELLS / 8;
  }
  MPI_Sendrecv(values, 1, spread, to, 1, others, 1, spread, from, 1, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  MPI_Sendrecv_replace(values, 1, spread, to, 2, from, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Isendrecv_replace(values, 1, spread, to, 3, from, 3, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Isend(values, 1, spread, to, 4, MPI_COMM_WORLD, &request);
  MPI_Mprobe(from, 4, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
  MPI_Mrecv(others, 1, spread, &message, MPI_STATUS_IGNORE);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_INT, values, lengths, places, MPI_INT,
                MPI_COMM_WORLD);
  MPI_Scan(MPI_IN_PLACE, values, CELLS, MPI_INT, op, MPI_COMM_WORLD);
  MPI_Exscan(values, others, CELLS, MPI_INT, op, MPI_COMM_WORLD);
  MPI_Reduce_scatter_block(values, others, CELLS, MPI_INT, op, MPI_COMM_WORLD);
  MPI_Reduce(values, others, 8 * CELLS, MPI_INT, op, 1, MPI_COMM_WORLD);
  MPI_Gather(values, 1, spread, others, CELLS, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Type_free(&spread);
  MPI_Op_free(&op);
}

static int no_state(void *state, MPI_Status *status) {
  CHECK(state == NULL);
  MPI_Status_set_elements(status, MPI_INT, 0);
  MPI_Status_set_cancelled(status, 0);
  return MPI_SUCCESS;
}
static int free_nothing(void *state) { return state != NULL; }
static int cancel_nothing(void *state, int complete) { return state != NULL && complete; }

static void other_requests(void) {
  static char room[1000];
  int parts[4] = {rank}, got[4], bytes, value = rank;
  void *taken;
  MPI_Comm copy;
  MPI_Request two[2];
  MPI_Grequest_start(no_state, free_nothing, cancel_nothing, NULL, &two[0]);
  MPI_Grequest_complete(two[0]);
  MPI_Irecv(got, 1, MPI_INT, rank, 77, MPI_COMM_WORLD, &two[1]);
  MPI_Cancel(&two[1]);
  MPI_Waitall(2, two, MPI_STATUSES_IGNORE);
  MPI_Psend_init(parts, 2, 2, MPI_INT, rank, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &two[0]);
  MPI_Precv_init(got, 2, 2, MPI_INT, rank, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &two[1]);
  MPI_Startall(2, two);
  MPI_Pready_range(0, 1, two[0]);
  MPI_Waitall(2, two, MPI_STATUSES_IGNORE);
  CHECK(got[0] == rank);
  MPI_Request_free(&two[0]);
  MPI_Request_free(&two[1]);
  MPI_Comm_dup(MPI_COMM_SELF, &copy);
  for (int i = 0; i < 3; i++) { /* of the communicator, of its own size, of the process */
    if (i < 2)
      MPI_Comm_attach_buffer(copy, i == 0 ? room : MPI_BUFFER_AUTOMATIC, i == 0 ? sizeof room : 0);
    else
      MPI_Buffer_attach(room, sizeof room);
    MPI_Bsend(&value, 1, MPI_INT, 0, i, copy);
    MPI_Recv(got, 1, MPI_INT, 0, i, copy, MPI_STATUS_IGNORE);
    CHECK(got[0] == rank);
    if (i < 2) {
      MPI_Comm_iflush_buffer(copy, &two[0]);
      MPI_Wait(&two[0], MPI_STATUS_IGNORE);
      MPI_Comm_detach_buffer(copy, &taken, &bytes);
    } else {
      MPI_Buffer_detach(&taken, &bytes);
    }
  }
  MPI_Comm_free(&copy);
}

/* @return how many of the requests a call completes. */
static int complete(int way, MPI_Request *all, int count) {
  int done = 0, index, indices[2 * MANY];
  if (way == 0) MPI_Waitsome(count, all, &done, indices, MPI_STATUSES_IGNORE);
  if (way == 1) MPI_Testsome(count, all, &done, indices, MPI_STATUSES_IGNORE);
  if (way == 2) MPI_Testall(count, all, &done, MPI_STATUSES_IGNORE);
  if (way == 3) MPI_Testany(count, all, &index, &done, MPI_STATUS_IGNORE);
  if (way == 4) MPI_Waitany(count, all, &index, MPI_STATUS_IGNORE);
  return way == 2 ? done * count : way == 4 ? 1 : done;
}

static void sets_of_requests(void) {
  MPI_Request all[2 * MANY];
  int values[MANY], to = (rank + 1) % size, from = (rank + size - 1) % size;
  for (int way = 0; way < 5; way++) {
    for (int i = 0; i < MANY; i++) {
      MPI_Irecv(&values[i], 1, MPI_INT, from, i, MPI_COMM_WORLD, &all[i]);
      MPI_Isend(&rank, 1, MPI_INT, to, i, MPI_COMM_WORLD, &all[MANY + i]);
    }
    for (int left = 2 * MANY; left > 0;) left -= complete(way, all, 2 * MANY);
  }
}

static char path[] = "/tmp/released-file-XXXXXX";

static void files(void) {
  MPI_File file;
  MPI_Info info, given;
  MPI_Datatype every, etype, filetype;
  MPI_Group members;
  MPI_Request request;
  MPI_Offset disp, own = (MPI_Offset)rank * (MPI_Offset)sizeof rank;
  char datarep[MPI_MAX_DATAREP_STRING];
  int got = -1;
  MPI_Info_create(&info);
  MPI_Info_set(info, "access_style", "random");
  MPI_Type_create_resized(MPI_INT, 0, (MPI_Aint)size * (MPI_Aint)sizeof rank, &every);
  MPI_Type_commit(&every);
  CHECK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR, info, &file) == MPI_SUCCESS);
  CHECK(MPI_File_set_view(file, own, MPI_INT, every, "native", info) == MPI_SUCCESS);
  MPI_Type_free(&every);
  MPI_Info_free(&info);
  MPI_File_write_all(file, &rank, 1, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_get_view(file, &disp, &etype, &filetype, datarep);
  CHECK(disp == own && etype == MPI_INT && strcmp(datarep, "native") == 0);
  MPI_Type_free(&filetype);
  MPI_File_get_info(file, &given);
  MPI_Info_free(&given);
  MPI_File_get_group(file, &members);
  MPI_Group_free(&members);
  MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "external32", MPI_INFO_NULL);
  MPI_File_iwrite_at(file, rank, &rank, 1, MPI_INT, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_File_write_ordered(file, &rank, 1, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_read_at_all_begin(file, rank, &got, 1, MPI_INT);
  MPI_File_read_at_all_end(file, &got, MPI_STATUS_IGNORE);
  CHECK(got == rank);
  CHECK(MPI_File_close(&file) == MPI_SUCCESS);
  EXPECT(MPI_ERR_NO_SUCH_FILE, MPI_File_open(MPI_COMM_WORLD, "/no such folder/file",
                                             MPI_MODE_RDONLY, MPI_INFO_NULL, &file));
  EXPECT(MPI_ERR_FILE_EXISTS,
         MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_WRONLY | MPI_MODE_CREATE | MPI_MODE_EXCL,
                       MPI_INFO_NULL, &file));
  EXPECT(MPI_ERR_BAD_FILE,
         MPI_File_open(MPI_COMM_WORLD, "/", MPI_MODE_RDONLY, MPI_INFO_NULL, &file));
  EXPECT(MPI_ERR_NOT_SAME,
         MPI_File_open(MPI_COMM_WORLD, path, rank == 0 ? MPI_MODE_RDONLY : MPI_MODE_RDWR,
                       MPI_INFO_NULL, &file));
}

static void requests(void) {
  MPI_Request two[2], many[2 * MANY];
  int values[MANY], to = (rank + 1) % size, from = (rank + size - 1) % size, got, sum;
  MPI_Send_init(&rank, 1, MPI_INT, to, 0, MPI_COMM_WORLD, &two[0]);
  MPI_Recv_init(&got, 1, MPI_INT, from, 0, MPI_COMM_WORLD, &two[1]);
  MPI_Startall(2, two);
  MPI_Waitall(2, two, MPI_STATUSES_IGNORE);
  CHECK(got == from);
  MPI_Request_free(&two[0]);
  MPI_Request_free(&two[1]);
  MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &two[0]);
  MPI_Ibarrier(MPI_COMM_WORLD, &two[1]);
  MPI_Waitall(2, two, MPI_STATUSES_IGNORE);
  CHECK(sum == size * (size - 1) / 2);
  for (int i = 0; i < MANY; i++) {
    MPI_Irecv(&values[i], 1, MPI_INT, from, i, MPI_COMM_WORLD, &many[i]);
    MPI_Isend(&rank, 1, MPI_INT, to, i, MPI_COMM_WORLD, &many[MANY + i]);
  }
  MPI_Waitall(2 * MANY, many, MPI_STATUSES_IGNORE);
}

static const struct row rows[] = {
    {"accesses", accesses, FEWEST},
    {"collectives", collectives, FEW},
    {"copies", copies, FEW},
    {"requests", requests, ROUNDS},
    {"other requests", other_requests, ROUNDS},
    {"sets of requests", sets_of_requests, FEWEST},
    {"files", files, FEW},
};

int main(int argc, char **argv) {
  rank = check_start(&argc, &argv, &size);
  if (counts()) {
    int fd = rank == 0 ? mkstemp(path) : 0;
    CHECK(fd >= 0 && (rank != 0 || close(fd) == 0));
    MPI_Bcast(path, sizeof path, MPI_CHAR, 0, MPI_COMM_WORLD);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &near);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) check(&rows[i]);
    CHECK(rank != 0 || unlink(path) == 0);
    MPI_Comm_free(&near);
  }
  MPI_Finalize();
  return 0;
}
