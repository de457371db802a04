/* SPDX-License-Identifier: Apache-2.0 */
/* What ranks of several nodes have in common beside messages; nodes.py starts the nodes. The first
 * argument is what to do: partitioned, files or not_one_file. The second one is a file.
 */
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

/* ---- partitioned messages */

enum { ROUNDS = 3 };

/* What the sender's element i is in a round of a channel. */
static int value_of(int channel, int round, int i) { return channel * 100000000 + round * 7 + i; }

/* A channel from a rank to another, of `parts` partitions of `each` elements at the sender. */
struct shape {
  int parts, each;   /* of the send */
  int taken;         /* partitions of the receive */
  bool gaps;         /* every second element */
  bool sender_first; /* MPI_Start() of the send comes first */
};

static MPI_Datatype element(const struct shape *s) {
  MPI_Datatype type, wide;
  MPI_Type_contiguous(1, MPI_INT, &type);
  MPI_Type_create_resized(type, 0, s->gaps ? 2 * (int)sizeof(int) : (int)sizeof(int), &wide);
  MPI_Type_commit(&wide);
  MPI_Type_free(&type);
  return wide;
}

static void send_rounds(const struct shape *s, int channel, int to, int *data, MPI_Comm comm) {
  MPI_Request request;
  MPI_Datatype type = element(s);
  int step = s->gaps ? 2 : 1;
  MPI_Psend_init(data, s->parts, s->each, type, to, 5, comm, MPI_INFO_NULL, &request);
  for (int round = 0; round < ROUNDS; round++) {
    if (!s->sender_first) MPI_Recv(NULL, 0, MPI_INT, to, 6, comm, MPI_STATUS_IGNORE);
    MPI_Start(&request);
    if (s->sender_first) MPI_Send(NULL, 0, MPI_INT, to, 6, comm);
    for (int part = s->parts - 1; part >= 0; part--) {
      for (int i = part * s->each; i < (part + 1) * s->each; i++)
        data[i * step] = value_of(channel, round, i);
      MPI_Pready(part, request);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    memset(data, -1, sizeof *data * (size_t)(step * s->parts * s->each));
  }
  MPI_Request_free(&request);
  MPI_Type_free(&type);
}

static void receive_rounds(const struct shape *s, int channel, int from, int *data, MPI_Comm comm) {
  MPI_Request request;
  MPI_Datatype type = element(s);
  MPI_Status status;
  int all = s->parts * s->each, step = s->gaps ? 2 : 1, flag = 0, count;
  MPI_Precv_init(data, s->taken, all / s->taken, type, from, 5, comm, MPI_INFO_NULL, &request);
  for (int round = 0; round < ROUNDS; round++) {
    memset(data, 0, sizeof *data * (size_t)(step * all));
    if (s->sender_first) MPI_Recv(NULL, 0, MPI_INT, from, 6, comm, MPI_STATUS_IGNORE);
    MPI_Start(&request);
    if (!s->sender_first) MPI_Send(NULL, 0, MPI_INT, from, 6, comm);
    while (!flag) MPI_Parrived(request, s->taken - 1, &flag);
    flag = 0;
    for (int i = all - all / s->taken; i < all; i++)
      CHECK(data[i * step] == value_of(channel, round, i));
    MPI_Wait(&request, &status);
    MPI_Get_count(&status, type, &count);
    CHECK(count == all && status.MPI_SOURCE == from && status.MPI_TAG == 5);
    for (int i = 0; i < all; i++) CHECK(data[i * step] == value_of(channel, round, i));
    for (int i = 0; s->gaps && i < all; i++) CHECK(data[2 * i + 1] == 0);
  }
  MPI_Request_free(&request);
  MPI_Type_free(&type);
}

/* Ranks of the lower half send to the ones of the upper half, and then the reverse. */
static void one_channel(int rank, int size, const struct shape *s) {
  int peer = (rank + size / 2) % size, all = s->parts * s->each;
  int *data = calloc((size_t)(2 * all), sizeof *data);
  for (int turn = 0; turn < 2; turn++) {
    if ((rank < size / 2) == (turn == 0))
      send_rounds(s, rank, peer, data, MPI_COMM_WORLD);
    else
      receive_rounds(s, peer, peer, data, MPI_COMM_WORLD);
  }
  free(data);
}

/* Channels of one envelope meet in the order of the calls, and no other message meets them. */
static void several_channels(int rank, int size) {
  enum { MANY = 4 };
  int out[MANY], in[MANY] = {0}, other = -1, peer = (rank + size / 2) % size;
  MPI_Request sends[MANY], receives[MANY], plain;
  MPI_Irecv(&other, 1, MPI_INT, peer, MPI_ANY_TAG, MPI_COMM_WORLD, &plain);
  for (int i = 0; i < MANY; i++) {
    out[i] = 10 * rank + i;
    MPI_Psend_init(&out[i], 1, 1, MPI_INT, peer, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &sends[i]);
  }
  if (rank < size / 2) MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < MANY; i++)
    MPI_Precv_init(&in[i], 1, 1, MPI_INT, peer, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &receives[i]);
  if (rank >= size / 2) MPI_Barrier(MPI_COMM_WORLD);
  for (int i = MANY - 1; i >= 0; i--) {
    MPI_Start(&sends[i]);
    MPI_Pready(0, sends[i]);
    MPI_Start(&receives[MANY - 1 - i]);
  }
  MPI_Waitall(MANY, receives, MPI_STATUSES_IGNORE);
  MPI_Waitall(MANY, sends, MPI_STATUSES_IGNORE);
  for (int i = 0; i < MANY; i++) CHECK(in[i] == 10 * peer + i);
  MPI_Send(&rank, 1, MPI_INT, peer, 1, MPI_COMM_WORLD);
  MPI_Wait(&plain, MPI_STATUS_IGNORE);
  CHECK(other == peer);
  for (int i = 0; i < MANY; i++) MPI_Request_free(&sends[i]);
  for (int i = 0; i < MANY; i++) MPI_Request_free(&receives[i]);
}

/* A receive that is shorter, and a send that no receive ever meets. */
static void odd_channels(int rank, int size) {
  int out[4] = {1, 2, 3, 4}, in[4] = {0}, peer = (rank + size / 2) % size;
  MPI_Request send, receive, alone;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Psend_init(out, 1, 1, MPI_INT, peer, 9, MPI_COMM_WORLD, MPI_INFO_NULL, &alone);
  MPI_Request_free(&alone);
  MPI_Psend_init(out, 4, 1, MPI_INT, peer, 2, MPI_COMM_WORLD, MPI_INFO_NULL, &send);
  MPI_Precv_init(in, 1, 3, MPI_INT, peer, 2, MPI_COMM_WORLD, MPI_INFO_NULL, &receive);
  MPI_Start(&send);
  MPI_Start(&receive);
  MPI_Pready_range(0, 3, send);
  EXPECT(MPI_ERR_TRUNCATE, MPI_Wait(&receive, MPI_STATUS_IGNORE));
  MPI_Wait(&send, MPI_STATUS_IGNORE);
  CHECK(in[0] == 1 && in[2] == 3 && in[3] == 0);
  MPI_Request_free(&send);
  MPI_Request_free(&receive);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

static void partitioned(int rank, int size) {
  static const struct shape shapes[] = {{1, 1, 1, false, false},
                                        {8, 3, 4, false, true},
                                        {4, 60000, 16, false, false},
                                        {16, 30000, 4, true, true},
                                        {300, 5, 1, true, false}};
  for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) one_channel(rank, size, &shapes[i]);
  several_channels(rank, size);
  odd_channels(rank, size);
}

/* ---- files */

enum { PIECE = 1000, PIECES = 20, RECORD = 24 };

static MPI_File open_file(const char *name, int amode) {
  MPI_File file;
  CHECK(MPI_File_open(MPI_COMM_WORLD, name, amode, MPI_INFO_NULL, &file) == MPI_SUCCESS);
  MPI_File_set_errhandler(file, MPI_ERRORS_ARE_FATAL);
  return file;
}

/* Another rank reads what each has written, after MPI_File_sync(). */
static void written_and_read(const char *name, int rank, int size) {
  MPI_File file = open_file(name, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_EXCL);
  MPI_Datatype every;
  MPI_Offset bytes;
  MPI_Request request;
  int data[PIECE * PIECES], back[PIECE * PIECES], next = (rank + 1) % size, all = PIECE * PIECES;
  for (int i = 0; i < all; i++) data[i] = rank * all + i;
  MPI_Type_vector(PIECES, PIECE, PIECE * size, MPI_INT, &every);
  MPI_Type_commit(&every);
  MPI_File_set_view(file, (MPI_Offset)(PIECE * rank * (int)sizeof(int)), MPI_INT, every, "native",
                    MPI_INFO_NULL);
  MPI_File_write_all(file, data, all, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_sync(file);
  MPI_File_get_size(file, &bytes);
  CHECK(bytes == (MPI_Offset)sizeof data * size);
  MPI_File_set_view(file, (MPI_Offset)(PIECE * next * (int)sizeof(int)), MPI_INT, every, "native",
                    MPI_INFO_NULL);
  MPI_File_read_at_all(file, 0, back, all, MPI_INT, MPI_STATUS_IGNORE);
  for (int i = 0; i < all; i++) CHECK(back[i] == next * all + i);
  MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
  MPI_File_iread_at(file, (MPI_Offset)(PIECE * next * (int)sizeof(int)), back, PIECE, MPI_INT,
                    &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  for (int i = 0; i < PIECE; i++) CHECK(back[i] == next * all + i);
  MPI_File_set_size(file, 100);
  MPI_File_get_size(file, &bytes);
  CHECK(bytes == 100);
  MPI_Type_free(&every);
  MPI_File_close(&file);
  CHECK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_EXCL,
                      MPI_INFO_NULL, &file) != MPI_SUCCESS);
}

/* Records by the shared pointer: none is lost, and ordered ones are in the order of ranks. */
static void by_the_shared_pointer(const char *name, int rank, int size) {
  MPI_File file = open_file(name, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE);
  MPI_Offset at;
  MPI_Request request;
  int record[RECORD], seen[64] = {0}, sums[64];
  MPI_File_set_size(file, 0);
  MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
  for (int i = 0; i < PIECES; i++) {
    for (int k = 0; k < RECORD; k++) record[k] = rank;
    MPI_File_iwrite_shared(file, record, RECORD, MPI_INT, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  MPI_File_sync(file);
  MPI_File_get_position_shared(file, &at);
  CHECK(at == (MPI_Offset)size * PIECES * RECORD);
  MPI_File_seek_shared(file, 0, MPI_SEEK_SET);
  for (int i = 0; i < PIECES; i++) {
    MPI_File_read_shared(file, record, RECORD, MPI_INT, MPI_STATUS_IGNORE);
    for (int k = 0; k < RECORD; k++) CHECK(record[k] == record[0]);
    seen[record[0]]++;
  }
  MPI_Allreduce(seen, sums, size, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  for (int i = 0; i < size; i++) CHECK(sums[i] == PIECES);
  MPI_File_seek_shared(file, 0, MPI_SEEK_SET);
  MPI_File_write_ordered(file, &rank, 1, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_sync(file);
  MPI_File_read_at(file, (rank + 1) % size, record, 1, MPI_INT, MPI_STATUS_IGNORE);
  CHECK(record[0] == (rank + 1) % size);
  MPI_File_close(&file);
  CHECK(access(name, F_OK) != 0);
  MPI_Barrier(MPI_COMM_WORLD); /* the next open makes it again */
}

/* In atomic mode a rank sees all of another one's transfer, or nothing of it. */
static void whole_transfers(const char *name, int rank, int size) {
  MPI_File file = open_file(name, MPI_MODE_RDWR | MPI_MODE_CREATE);
  MPI_Datatype every;
  static char data[PIECE * PIECES];
  int atomic = 0;
  MPI_Type_vector(PIECES, PIECE, 2 * PIECE, MPI_CHAR, &every);
  MPI_Type_commit(&every);
  MPI_File_set_view(file, 0, MPI_CHAR, every, "native", MPI_INFO_NULL);
  MPI_File_set_atomicity(file, 1);
  MPI_File_get_atomicity(file, &atomic);
  CHECK(atomic);
  if (rank == 0) MPI_File_write_at(file, 0, data, sizeof data, MPI_CHAR, MPI_STATUS_IGNORE);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < 60; i++) {
    bool writes = (rank + i) % size < 2;
    if (writes) memset(data, rank + 1, sizeof data);
    if (writes) MPI_File_write_at(file, 0, data, sizeof data, MPI_CHAR, MPI_STATUS_IGNORE);
    MPI_File_read_at(file, 0, data, sizeof data, MPI_CHAR, MPI_STATUS_IGNORE);
    for (size_t k = 1; k < sizeof data; k++) CHECK(data[k] == data[0]);
  }
  MPI_Type_free(&every);
  MPI_File_close(&file);
}

static void odd_files(const char *name, int rank) {
  MPI_File file = MPI_FILE_NULL;
  MPI_Offset at;
  EXPECT(MPI_ERR_NO_SUCH_FILE,
         MPI_File_open(MPI_COMM_WORLD, "/none/at/all", MPI_MODE_RDONLY, MPI_INFO_NULL, &file));
  EXPECT(MPI_ERR_NOT_SAME,
         MPI_File_open(MPI_COMM_WORLD, name,
                       rank == 0 ? MPI_MODE_RDWR : MPI_MODE_RDWR | MPI_MODE_UNIQUE_OPEN,
                       MPI_INFO_NULL, &file));
  file = open_file(name, MPI_MODE_WRONLY | MPI_MODE_APPEND);
  MPI_File_get_position(file, &at);
  CHECK(at == 2 * PIECE * PIECES - PIECE);
  MPI_File_get_position_shared(file, &at);
  CHECK(at == 2 * PIECE * PIECES - PIECE);
  MPI_File_close(&file);
  file = open_file("/dev/null", MPI_MODE_WRONLY);
  MPI_File_close(&file);
}

static void files(const char *name, int rank, int size) {
  char first[200], second[200];
  snprintf(first, sizeof first, "%s.first", name);
  snprintf(second, sizeof second, "%s.second", name);
  written_and_read(first, rank, size);
  by_the_shared_pointer(second, rank, size);
  whole_transfers(second, rank, size);
  odd_files(second, rank);
}

/* Each node has a file of its own of this name. */
static void not_one_file(const char *name, int rank, int size) {
  MPI_File file;
  FILE *own = fopen(name, "w");
  if (own == NULL || fputs("text", own) < 0 || fclose(own) != 0) MPI_Abort(MPI_COMM_WORLD, 1);
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT(MPI_ERR_UNSUPPORTED_OPERATION,
         MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR, MPI_INFO_NULL, &file));
  MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDONLY, MPI_INFO_NULL, &file); /* a copy will do */
  CHECK(file != MPI_FILE_NULL && size > rank);
  MPI_File_close(&file);
}

int main(int argc, char **argv) {
  int size, rank = check_start(&argc, &argv, &size);
  const char *what = argc > 1 ? argv[1] : "";
  if (strcmp(what, "partitioned") == 0) partitioned(rank, size);
  if (strcmp(what, "files") == 0) files(argv[2], rank, size);
  if (strcmp(what, "not_one_file") == 0) not_one_file(argv[2], rank, size);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) puts("right");
  MPI_Finalize();
  return 0;
}
