/* SPDX-License-Identifier: Apache-2.0 */
/* A file of several nodes. */
#define _GNU_SOURCE /* O_PATH */
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "shared_by_nodes.h"

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

enum { NUMBER = 120 /* of a descriptor that nobody else has */ };

/* One name that is another thing on half of the nodes. Devices are no file of the job's, and any
 * two will do. A device and an empty file are not one. */
static void devices(int rank, int size) {
  static const char name[] = "/proc/self/fd/120";
  char empty[] = "/tmp/devices-XXXXXX";
  bool far = rank >= size / 2;
  int local, device = open(far ? "/dev/zero" : "/dev/null", O_RDWR), made = mkstemp(empty);
  MPI_Comm node;
  MPI_File file;
  CHECK(device >= 0 && made >= 0 && unlink(empty) == 0);
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm_rank(node, &local);
  if (local == 0) CHECK(fcntl(device, F_DUPFD, NUMBER) == NUMBER);
  MPI_Barrier(node);
  file = open_file(name, MPI_MODE_WRONLY);
  MPI_File_close(&file);
  if (local == 0 && far) CHECK(close(NUMBER) == 0 && fcntl(made, F_DUPFD, NUMBER) == NUMBER);
  MPI_Barrier(node);
  EXPECT(MPI_ERR_UNSUPPORTED_OPERATION,
         MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDONLY, MPI_INFO_NULL, &file));
  MPI_Barrier(node);
  if (local == 0) CHECK(close(NUMBER) == 0);
  CHECK(close(device) == 0 && close(made) == 0);
  MPI_Comm_free(&node);
}

/* All ranks get the error of one node. */
static void fails_on_one_node(const char *name, int rank, int size) {
  MPI_File file = open_file(name, MPI_MODE_RDWR);
  MPI_File_set_errhandler(file, MPI_ERRORS_RETURN);
  EXPECT(MPI_SUCCESS, MPI_File_sync(file));
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == size - 1) CHECK(check_lose_descriptors(name) == 1);
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT(MPI_ERR_IO, MPI_File_sync(file));
  MPI_File_close(&file);
}

void files(const char *name, int rank, int size) {
  char first[200], second[200], third[200];
  snprintf(first, sizeof first, "%s.first", name);
  snprintf(second, sizeof second, "%s.second", name);
  snprintf(third, sizeof third, "%s.third", name);
  written_and_read(first, rank, size);
  fails_on_one_node(first, rank, size);
  by_the_shared_pointer(second, rank, size);
  whole_transfers(second, rank, size);
  odd_files(second, rank);
  devices(rank, size);
  made_and_removed(third, rank, size);
  opened_alone(third, rank, size);
}

/* Each node has a file of its own of this name. */
void not_one_file(const char *name, int rank, int size) {
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
