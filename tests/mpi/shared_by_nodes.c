/* SPDX-License-Identifier: Apache-2.0 */
/* What ranks of several nodes have in common beside messages; nodes.py starts the nodes. The first
 * argument is what to do: partitioned, files, not_one_file, windows, stuck_lock or
 * stuck_start. The second one is a
 * file.
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

static MPI_File open_alone(const char *name, int amode) {
  MPI_File file;
  CHECK(MPI_File_open(MPI_COMM_SELF, name, amode, MPI_INFO_NULL, &file) == MPI_SUCCESS);
  return file;
}

/* Each rank finds no file of the name. */
static void cannot_open(const char *name) {
  MPI_File file;
  EXPECT(MPI_ERR_NO_SUCH_FILE,
         MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_RDONLY, MPI_INFO_NULL, &file));
  MPI_Barrier(MPI_COMM_WORLD); /* the next one may make it */
}

/* A rank makes a file, and one of another node removes it while the first has it open. The others
 * find what is there. */
static void made_and_removed(const char *name, int rank, int size) {
  for (int turn = 0; turn < size; turn++) {
    MPI_File own = MPI_FILE_NULL, file;
    int found = -1;
    cannot_open(name);
    if (rank == turn) {
      own = open_alone(name, MPI_MODE_RDWR | MPI_MODE_CREATE);
      MPI_File_write_at(own, 0, &turn, 1, MPI_INT, MPI_STATUS_IGNORE);
      MPI_File_sync(own);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    file = open_alone(name, MPI_MODE_RDONLY);
    MPI_File_read_at(file, 0, &found, 1, MPI_INT, MPI_STATUS_IGNORE);
    CHECK(found == turn);
    MPI_File_close(&file);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == (turn + size / 2) % size) CHECK(MPI_File_delete(name, MPI_INFO_NULL) == 0);
    MPI_Barrier(MPI_COMM_WORLD);
    cannot_open(name);
    if (own != MPI_FILE_NULL) MPI_File_close(&own);
  }
}

/* Each rank opens the file by itself, and reads all of it before all write their own parts. */
static void opened_alone(const char *name, int rank, int size) {
  enum { MOST = 64 };
  int all[MOST] = {0}, own = rank + 1;
  MPI_Offset bytes = 0;
  MPI_File file = open_alone(name, MPI_MODE_RDWR | MPI_MODE_CREATE);
  if (rank == 0) MPI_File_write_at(file, 0, all, size, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_sync(file);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_sync(file);
  MPI_File_read_at(file, 0, all, size, MPI_INT, MPI_STATUS_IGNORE);
  for (int i = 0; i < size; i++) CHECK(all[i] == 0);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_write_at(file, (MPI_Offset)sizeof own * rank, &own, 1, MPI_INT, MPI_STATUS_IGNORE);
  if (rank == size - 1)
    MPI_File_write_at(file, (MPI_Offset)sizeof all, &own, 1, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_sync(file);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_sync(file);
  MPI_File_get_size(file, &bytes);
  CHECK(bytes == (MPI_Offset)(sizeof all + sizeof own));
  MPI_File_read_at(file, 0, all, size, MPI_INT, MPI_STATUS_IGNORE);
  for (int i = 0; i < size; i++) CHECK(all[i] == i + 1);
  MPI_File_close(&file);
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
  cannot_open(name);
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
  char first[200], second[200], third[200];
  snprintf(first, sizeof first, "%s.first", name);
  snprintf(second, sizeof second, "%s.second", name);
  snprintf(third, sizeof third, "%s.third", name);
  written_and_read(first, rank, size);
  by_the_shared_pointer(second, rank, size);
  whole_transfers(second, rank, size);
  odd_files(second, rank);
  made_and_removed(third, rank, size);
  opened_alone(third, rank, size);
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

/* ---- windows */

enum { EACH = 40000 /* elements that go from a rank to a rank: many notes */ };

/* Each rank has room for all, in units of its own, and fills it by puts, gets and accumulates of
 * the others. */
static void by_fences(MPI_Comm comm, int rank, int size) {
  int unit = rank % 2 == 0 ? 1 : (int)sizeof(int), all = size * EACH;
  int *memory = calloc((size_t)all, sizeof *memory), *own = malloc(sizeof *own * EACH);
  int *got = malloc(sizeof *got * EACH);
  MPI_Win win;
  MPI_Win_create(memory, (MPI_Aint)sizeof *memory * all, unit, MPI_INFO_NULL, comm, &win);
  for (int i = 0; i < EACH; i++) own[i] = rank * EACH + i;
  MPI_Win_fence(0, win);
  for (int to = 0; to < size; to++) {
    MPI_Aint at = (MPI_Aint)rank * EACH * (to % 2 == 0 ? (int)sizeof(int) : 1);
    MPI_Put(own, EACH, MPI_INT, to, at, EACH, MPI_INT, win);
  }
  MPI_Win_fence(0, win);
  for (int i = 0; i < all; i++) CHECK(memory[i] == i);
  for (int from = 0; from < size; from++) {
    int part = (from + rank) % size;
    MPI_Aint at = (MPI_Aint)part * EACH * (from % 2 == 0 ? (int)sizeof(int) : 1);
    MPI_Get(got, EACH, MPI_INT, from, at, EACH, MPI_INT, win);
    MPI_Win_fence(0, win);
    for (int i = 0; i < EACH; i++) CHECK(got[i] == part * EACH + i);
  }
  for (int to = 0; to < size; to++)
    MPI_Accumulate(own, EACH, MPI_INT, to, 0, EACH, MPI_INT, MPI_SUM, win);
  MPI_Win_fence(0, win);
  for (int i = 0; i < EACH; i++) CHECK(memory[i] == size * (size - 1) / 2 * EACH + (size + 1) * i);
  MPI_Win_free(&win);
  free(got);
  free(own);
  free(memory);
}

/* Every second element here, every third there, and the rest stays. Pairs have gaps inside. */
static void by_layouts(MPI_Comm comm, int rank, int size) {
  enum { MANY = 3000 };
  int out[2 * MANY], *memory, to = (rank + size / 2) % size, from = (rank + size - size / 2) % size;
  struct {
    short value;
    int place;
  } pair = {(short)(rank + 1), rank}, *pairs;
  MPI_Datatype second, third;
  MPI_Win win;
  MPI_Win_allocate((MPI_Aint)sizeof *memory * 3 * MANY, sizeof *memory, MPI_INFO_NULL, comm,
                   &memory, &win);
  for (int i = 0; i < 2 * MANY; i++) out[i] = i + rank;
  for (int i = 0; i < 3 * MANY; i++) memory[i] = -1;
  MPI_Type_vector(MANY, 1, 2, MPI_INT, &second);
  MPI_Type_vector(MANY, 1, 3, MPI_INT, &third);
  MPI_Type_commit(&second);
  MPI_Type_commit(&third);
  MPI_Win_fence(0, win);
  MPI_Put(out, 1, second, to, 0, 1, third, win);
  MPI_Win_fence(0, win);
  for (int i = 0; i < 3 * MANY; i++) CHECK(memory[i] == (i % 3 == 0 ? i / 3 * 2 + from : -1));
  MPI_Win_fence(0, win);
  MPI_Accumulate(out, 1, second, to, 0, 1, third, MPI_PROD, win);
  MPI_Win_fence(0, win);
  for (int i = 0; i < MANY; i++) CHECK(memory[3 * i] == (2 * i + from) * (2 * i + from));
  memset(out, 0, sizeof out);
  MPI_Get(out, 1, second, to, 0, 1, third, win);
  MPI_Win_fence(0, win);
  for (int i = 0; i < MANY; i++) CHECK(out[2 * i] == (2 * i + rank) * (2 * i + rank));
  for (int i = 0; i < MANY; i++) CHECK(out[2 * i + 1] == 0);
  MPI_Win_free(&win);
  MPI_Win_allocate(sizeof *pairs, sizeof *pairs, MPI_INFO_NULL, comm, &pairs, &win);
  MPI_Win_fence(0, win);
  for (int i = 0; i < size; i++)
    MPI_Accumulate(&pair, 1, MPI_SHORT_INT, i, 0, 1, MPI_SHORT_INT, MPI_MAXLOC, win);
  MPI_Win_fence(0, win);
  CHECK(pairs->value == size && pairs->place == size - 1);
  MPI_Win_free(&win);
  MPI_Type_free(&second);
  MPI_Type_free(&third);
}

/* Ranks of all nodes count on one place, take turns by a lock of their own, and update in order. */
static void by_atomics(MPI_Comm comm, int rank, int size) {
  enum { MANY = 50, COUNTER = 0, TURN, GUARDED, LAST };
  long *memory, one = 1, before = -1, zero = 0, mine = rank + 1, previous = -1, got;
  MPI_Win win;
  MPI_Win_allocate((LAST + size) * (MPI_Aint)sizeof *memory, sizeof *memory, MPI_INFO_NULL, comm,
                   &memory, &win);
  MPI_Win_lock_all(0, win);
  for (int i = 0; i < MANY; i++) {
    MPI_Fetch_and_op(&one, &got, MPI_LONG, 0, COUNTER, MPI_SUM, win);
    CHECK(got > before && got < (long)MANY * size);
    before = got;
  }
  for (int i = 0; i < MANY / 5; i++) {
    do {
      MPI_Compare_and_swap(&mine, &zero, &previous, MPI_LONG, size - 1, TURN, win);
      MPI_Win_flush(size - 1, win);
    } while (previous != 0);
    MPI_Get(&got, 1, MPI_LONG, size - 1, GUARDED, 1, MPI_LONG, win);
    MPI_Win_flush(size - 1, win);
    got++;
    MPI_Put(&got, 1, MPI_LONG, size - 1, GUARDED, 1, MPI_LONG, win);
    MPI_Win_flush(size - 1, win);
    MPI_Compare_and_swap(&zero, &mine, &previous, MPI_LONG, size - 1, TURN, win);
    CHECK(previous == mine);
  }
  for (long i = 1; i <= MANY; i++) {
    int to = (rank + size / 2) % size;
    MPI_Accumulate(&i, 1, MPI_LONG, to, LAST + rank, 1, MPI_LONG, MPI_REPLACE, win);
    if (i % 7 == 0) {
      MPI_Get_accumulate(NULL, 0, MPI_LONG, &got, 1, MPI_LONG, to, LAST + rank, 1, MPI_LONG,
                         MPI_NO_OP, win);
      MPI_Win_flush(to, win);
      CHECK(got == i);
    }
  }
  MPI_Win_unlock_all(win);
  MPI_Barrier(comm);
  if (rank == 0) CHECK(memory[COUNTER] == (long)MANY * size);
  if (rank == size - 1) CHECK(memory[GUARDED] == (long)(MANY / 5) * size);
  CHECK(memory[LAST + (rank + size - size / 2) % size] == MANY);
  MPI_Win_free(&win);
}

/* Many small accesses, to all ranks in turn, with large ones between them: accumulates happen in
 * the order of the calls, and data that are got are there after the flush. */
static void by_many(MPI_Comm comm, int rank, int size) {
  enum { MANY = 700, LONG = 3000, EVERY = 150 };
  int *memory, *got = calloc((size_t)size * MANY, sizeof *got), big[LONG], more = 2, one = 1;
  int *large = calloc((size_t)size * LONG, sizeof *large);
  int mine = rank * (MANY + LONG), peer = (rank + size / 2) % size, pair[2] = {-1, -1};
  MPI_Datatype gap;
  MPI_Win win;
  MPI_Win_allocate((MPI_Aint)sizeof *memory * size * (MANY + LONG), sizeof *memory, MPI_INFO_NULL,
                   comm, &memory, &win);
  for (int i = 0; i < LONG; i++) big[i] = i;
  MPI_Win_lock_all(0, win);
  for (int i = 0; i < MANY; i++) {
    int value = i + rank;
    for (int to = 0; to < size; to++) {
      MPI_Accumulate(&value, 1, MPI_INT, to, mine + i, 1, MPI_INT, MPI_REPLACE, win);
      MPI_Accumulate(&more, 1, MPI_INT, to, mine + i, 1, MPI_INT, MPI_PROD, win);
      if (i % EVERY == 0)
        MPI_Accumulate(big, LONG, MPI_INT, to, mine + MANY, LONG, MPI_INT, MPI_SUM, win);
      MPI_Accumulate(&one, 1, MPI_INT, to, mine + i, 1, MPI_INT, MPI_SUM, win);
      MPI_Get_accumulate(NULL, 0, MPI_INT, &got[to * MANY + i], 1, MPI_INT, to, mine + i, 1,
                         MPI_INT, MPI_NO_OP, win);
    }
  }
  MPI_Win_flush_all(win);
  for (int k = 0; k < size * MANY; k++) CHECK(got[k] == 2 * (k % MANY + rank) + 1);
  for (int to = 0; to < size; to++)
    MPI_Get(&large[to * LONG], LONG, MPI_INT, to, mine + MANY, LONG, MPI_INT, win);
  MPI_Type_vector(2, 1, MANY - 1, MPI_INT, &gap);
  MPI_Type_commit(&gap);
  MPI_Get(pair, 2, MPI_INT, peer, mine, 1, gap, win);
  MPI_Type_free(&gap);
  MPI_Win_unlock_all(win);
  for (int k = 0; k < size * LONG; k++) CHECK(large[k] == (MANY + EVERY - 1) / EVERY * (k % LONG));
  CHECK(pair[0] == 2 * rank + 1 && pair[1] == 2 * (MANY - 1 + rank) + 1);
  MPI_Barrier(comm);
  for (int from = 0; from < size; from++)
    for (int i = 0; i < MANY; i++) CHECK(memory[from * (MANY + LONG) + i] == 2 * (i + from) + 1);
  MPI_Win_free(&win);
  free(large);
  free(got);
}

/* Each half of the ranks exposes its memory to the other one. */
static void by_epochs(MPI_Comm comm, int rank, int size) {
  MPI_Group all, half;
  int range[1][3] = {
      {rank < size / 2 ? size / 2 : 0, rank < size / 2 ? size - 1 : size / 2 - 1, 1}};
  int *memory, flag = 0, others = range[0][1] - range[0][0] + 1;
  MPI_Win win;
  MPI_Win_allocate((MPI_Aint)sizeof *memory * size, sizeof *memory, MPI_INFO_NULL, comm, &memory,
                   &win);
  MPI_Comm_group(comm, &all);
  MPI_Group_range_incl(all, 1, range, &half);
  for (int round = 1; round <= 20; round++) {
    int value = 100 * round + rank;
    MPI_Win_post(half, 0, win);
    MPI_Win_start(half, 0, win);
    for (int i = 0; i < others; i++)
      MPI_Put(&value, 1, MPI_INT, range[0][0] + i, rank, 1, MPI_INT, win);
    MPI_Win_complete(win);
    if (round % 2 == 0) MPI_Win_wait(win);
    for (flag = round % 2 == 0; !flag;) MPI_Win_test(win, &flag);
    for (int i = range[0][0]; i <= range[0][1]; i++) CHECK(memory[i] == 100 * round + i);
  }
  MPI_Win_free(&win);
  MPI_Group_free(&half);
  MPI_Group_free(&all);
}

/* Exclusive locks keep each other and shared ones out: of two numbers that are written one after
 * the other, nobody sees the first alone. */
static void by_locks(MPI_Comm comm, int rank, int size) {
  enum { MANY = 30 };
  long *memory, both[2], more;
  MPI_Win win;
  MPI_Win_allocate(2 * sizeof *memory, sizeof *memory, MPI_INFO_NULL, comm, &memory, &win);
  for (int i = 0; i < MANY; i++) {
    int target = i % 3 == 0 ? 0 : size - 1, kind = (i + rank) % 4;
    if (kind == 3)
      MPI_Win_lock_all(0, win);
    else
      MPI_Win_lock(kind < 2 ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, target, 0, win);
    MPI_Get(both, 2, MPI_LONG, target, 0, 2, MPI_LONG, win);
    MPI_Win_flush(target, win);
    CHECK(both[0] == both[1]);
    for (int k = 0; k < 2 && kind < 2; k++) {
      more = both[k] + 1;
      MPI_Put(&more, 1, MPI_LONG, target, k, 1, MPI_LONG, win);
      MPI_Win_flush(target, win);
    }
    if (kind == 3)
      MPI_Win_unlock_all(win);
    else
      MPI_Win_unlock(target, win);
  }
  MPI_Barrier(comm);
  long sums[2] = {0}, wrote = 0, all;
  for (int i = 0; i < MANY; i++) wrote += (i + rank) % 4 < 2;
  MPI_Allreduce(&wrote, &all, 1, MPI_LONG, MPI_SUM, comm);
  MPI_Win_lock_all(0, win);
  for (int k = 0; k < 2; k++) MPI_Get(&sums[k], 1, MPI_LONG, k * (size - 1), 0, 1, MPI_LONG, win);
  MPI_Win_unlock_all(win);
  CHECK(sums[0] + sums[1] == all);
  MPI_Win_free(&win);
}

/* A second lock is taken while data for the first target are on their way to its node. */
static void two_locks(MPI_Comm comm, int rank, int size) {
  int *memory, value = 7, other = (rank + size / 2) % size,
               next = other == size - 1 ? 0 : other + 1;
  MPI_Win win;
  MPI_Win_allocate((MPI_Aint)sizeof *memory * size, sizeof *memory, MPI_INFO_NULL, comm, &memory,
                   &win);
  memset(memory, 0, sizeof *memory * (size_t)size);
  MPI_Barrier(comm);
  MPI_Win_lock(MPI_LOCK_SHARED, other, 0, win);
  MPI_Put(&value, 1, MPI_INT, other, rank, 1, MPI_INT, win);
  MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win);
  MPI_Accumulate(&value, 1, MPI_INT, next, rank, 1, MPI_INT, MPI_SUM, win);
  MPI_Win_unlock(next, win);
  MPI_Win_unlock(other, win);
  MPI_Barrier(comm);
  for (int i = 0; i < size; i++) {
    int to = (i + size / 2) % size, then = to == size - 1 ? 0 : to + 1;
    CHECK(memory[i] == (rank == to || rank == then ? 7 : 0));
  }
  MPI_Win_free(&win);
}

/* A target that never calls MPI gets what is put, and requests complete. */
static void without_help(MPI_Comm comm, int rank, int size) {
  int *memory, value = 5, got = 0, peer = size - 1 - rank;
  MPI_Request request;
  MPI_Win win;
  MPI_Win_allocate(2 * sizeof *memory, sizeof *memory, MPI_INFO_NULL, comm, &memory, &win);
  if (rank < size / 2) {
    MPI_Win_lock(MPI_LOCK_SHARED, peer, 0, win);
    MPI_Rput(&value, 1, MPI_INT, peer, 1, 1, MPI_INT, win, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Rget(&got, 1, MPI_INT, peer, 1, 1, MPI_INT, win, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(got == 5);
    MPI_Put(&value, 1, MPI_INT, peer, 0, 1, MPI_INT, win);
    MPI_Win_unlock(peer, win);
  } else if (size % 2 == 0) {
    while (__atomic_load_n(&memory[0], __ATOMIC_ACQUIRE) == 0) usleep(100);
    CHECK(memory[0] == 5 && memory[1] == 5);
  }
  MPI_Win_free(&win);
}

static void dynamic_windows(MPI_Comm comm, int rank, int size) {
  int *memory = calloc(EACH, sizeof *memory), peer = (rank + size / 2) % size, value = rank;
  MPI_Aint own, theirs;
  MPI_Win win;
  MPI_Win_create_dynamic(MPI_INFO_NULL, comm, &win);
  MPI_Win_attach(win, memory, (MPI_Aint)sizeof *memory * EACH);
  MPI_Get_address(memory, &own);
  MPI_Sendrecv(&own, 1, MPI_AINT, (rank + size - size / 2) % size, 0, &theirs, 1, MPI_AINT, peer, 0,
               comm, MPI_STATUS_IGNORE);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  MPI_Win_lock_all(0, win);
  MPI_Put(&value, 1, MPI_INT, peer, theirs + 8, 1, MPI_INT, win);
  MPI_Accumulate(&value, 1, MPI_INT, peer, theirs + 8, 1, MPI_INT, MPI_SUM, win);
  EXPECT(MPI_ERR_RMA_RANGE, MPI_Put(&value, 1, MPI_INT, peer,
                                    theirs + EACH * (MPI_Aint)sizeof *memory, 1, MPI_INT, win));
  EXPECT(MPI_ERR_RMA_RANGE, MPI_Get(&value, 1, MPI_INT, peer, theirs - 4, 1, MPI_INT, win));
  MPI_Win_unlock_all(win);
  MPI_Barrier(comm);
  CHECK(memory[2] == 2 * ((rank + size - size / 2) % size));
  MPI_Win_detach(win, memory);
  MPI_Win_free(&win);
  free(memory);
}

static void odd_windows(int rank, int size) {
  int *memory, *base, unit, peer = (rank + size / 2) % size, data = 0;
  MPI_Aint bytes;
  MPI_Win win;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  EXPECT(MPI_ERR_RMA_SHARED,
         MPI_Win_allocate_shared(4, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Win_allocate(4, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  MPI_Win_shared_query(win, rank, &bytes, &unit, &base);
  CHECK(bytes == 4 && base == memory);
  MPI_Win_shared_query(win, peer, &bytes, &unit, &base);
  CHECK(bytes == 0 && base == NULL);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  EXPECT(MPI_ERR_RMA_SYNC, MPI_Put(&data, 1, MPI_INT, peer, 0, 1, MPI_INT, win));
  MPI_Win_fence(0, win);
  EXPECT(MPI_ERR_RMA_RANGE, MPI_Put(&data, 1, MPI_INT, peer, 1, 1, MPI_INT, win));
  EXPECT(MPI_ERR_DISP, MPI_Get(&data, 1, MPI_INT, peer, -1, 1, MPI_INT, win));
  EXPECT(MPI_ERR_TRUNCATE, MPI_Put(&data, 2, MPI_SHORT, peer, 0, 1, MPI_SHORT, win));
  CHECK(MPI_Put(&data, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, win) == MPI_SUCCESS);
  MPI_Win_fence(0, win);
  MPI_Win_free(&win);
}

static void windows(int rank, int size) {
  for (int order = 0; order < 3; order++) {
    MPI_Comm comm; /* in order, from the last to the first, and nodes take turns */
    int keys[] = {rank, size - rank, rank % 2 * size + rank}, place;
    MPI_Comm_split(MPI_COMM_WORLD, 0, keys[order], &comm);
    MPI_Comm_rank(comm, &place);
    by_fences(comm, place, size);
    by_layouts(comm, place, size);
    by_atomics(comm, place, size);
    by_many(comm, place, size);
    by_epochs(comm, place, size);
    by_locks(comm, place, size);
    two_locks(comm, place, size);
    without_help(comm, place, size);
    dynamic_windows(comm, place, size);
    MPI_Comm_free(&comm);
  }
  odd_windows(rank, size);
}

/* The last rank holds the lock of the first one's memory, and waits for a message. */
static void stuck(const char *what, int rank, int size) {
  long *memory;
  MPI_Win win;
  MPI_Group all;
  MPI_Win_allocate(sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  MPI_Win_set_name(win, "the table");
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  if (strcmp(what, "stuck_lock") == 0) {
    if (rank == size - 1) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank < size - 1) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
  } else if (rank == size - 1) {
    MPI_Win_start(all, 0, win);
  }
  MPI_Recv(&rank, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv) {
  int size, rank = check_start(&argc, &argv, &size);
  const char *what = argc > 1 ? argv[1] : "";
  if (strcmp(what, "partitioned") == 0) partitioned(rank, size);
  if (strcmp(what, "files") == 0) files(argv[2], rank, size);
  if (strcmp(what, "not_one_file") == 0) not_one_file(argv[2], rank, size);
  if (strcmp(what, "windows") == 0) windows(rank, size);
  if (strncmp(what, "stuck", 5) == 0) stuck(what, rank, size);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) puts("right");
  MPI_Finalize();
  return 0;
}
