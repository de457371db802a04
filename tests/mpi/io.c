/* SPDX-License-Identifier: Apache-2.0 */
/* Files: all pointers, views, forms, and errors. The file is in TMPDIR,
 * else /tmp, with a name of the process. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"

enum { EACH = 100 };

static int rank, size, values[EACH], got[EACH];
static char path[400];
static MPI_File file;
static MPI_Status status;

static void open_file(int amode) {
  CHECK(MPI_File_open(MPI_COMM_WORLD, path, amode, MPI_INFO_NULL, &file) == MPI_SUCCESS);
}

static int count_of(MPI_Datatype type) {
  int count;
  MPI_Get_count(&status, type, &count);
  return count;
}

/* Each rank writes its part and reads its neighbour's. */
static void explicit_offsets(void) {
  int next = (rank + 1) % size;
  MPI_Offset bytes;
  open_file(MPI_MODE_CREATE | MPI_MODE_RDWR);
  MPI_File_set_size(file, 0);
  for (int i = 0; i < EACH; i++) values[i] = rank * EACH + i;
  MPI_File_write_at_all(file, (MPI_Offset)rank * (MPI_Offset)sizeof values, values, EACH, MPI_INT,
                        &status);
  CHECK(count_of(MPI_INT) == EACH);
  MPI_File_sync(file);
  MPI_File_read_at(file, (MPI_Offset)next * (MPI_Offset)sizeof values, got, EACH, MPI_INT, &status);
  CHECK(count_of(MPI_INT) == EACH);
  for (int i = 0; i < EACH; i++) CHECK(got[i] == next * EACH + i);
  MPI_File_get_size(file, &bytes);
  CHECK(bytes == size * (MPI_Offset)sizeof values);
  MPI_File_read_at_c(file, bytes - 8, got, EACH, MPI_INT, &status); /* beyond the end */
  CHECK(count_of(MPI_INT) == 2 && got[1] == size * EACH - 1);
  MPI_File_close(&file);
  CHECK(file == MPI_FILE_NULL);
}

/* Ranks' elements alternate in the file; in memory every second one is used. */
static void views(void) {
  int twice[2 * EACH];
  char datarep[MPI_MAX_DATAREP_STRING];
  MPI_Offset disp, offset;
  MPI_Datatype every, spread, etype, filetype;
  MPI_Type_create_resized(MPI_INT, 0, (MPI_Aint)(size * (int)sizeof(int)), &every);
  MPI_Type_vector(EACH, 1, 2, MPI_INT, &spread);
  MPI_Type_commit(&every);
  MPI_Type_commit(&spread);
  open_file(MPI_MODE_RDWR);
  MPI_File_set_size(file, 0);
  MPI_File_set_view(file, 8 + rank * (MPI_Offset)sizeof(int), MPI_INT, every, "native",
                    MPI_INFO_NULL);
  for (int i = 0; i < 2 * EACH; i++) twice[i] = i % 2 == 0 ? rank + (i / 2) * size : -1;
  MPI_File_write_all(file, twice, 1, spread, &status);
  CHECK(count_of(spread) == 1 && count_of(MPI_INT) == EACH);
  MPI_File_get_position(file, &offset);
  CHECK(offset == EACH);
  MPI_File_get_byte_offset(file, 3, &offset);
  CHECK(offset == 8 + (rank + 3 * size) * (MPI_Offset)sizeof(int));
  MPI_File_get_view(file, &disp, &etype, &filetype, datarep);
  CHECK(disp == 8 + rank * (MPI_Offset)sizeof(int) && etype == MPI_INT && filetype == every);
  CHECK(strcmp(datarep, "native") == 0);
  MPI_Type_free(&filetype);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_seek(file, 0, MPI_SEEK_END);
  MPI_File_get_position(file, &offset);
  CHECK(offset == EACH);
  MPI_File_seek(file, -EACH + 1, MPI_SEEK_CUR);
  memset(twice, -1, sizeof twice);
  MPI_File_read(file, twice, 1, spread, &status); /* one element less than that */
  CHECK(count_of(MPI_INT) == EACH - 1);
  for (int i = 0; i < EACH - 1; i++)
    CHECK(twice[2 * i] == rank + (i + 1) * size && twice[2 * i + 1] == -1);
  MPI_File_set_view(file, 8, MPI_INT, MPI_INT, "internal", MPI_INFO_NULL);
  MPI_File_read_at_all(file, 0, got, EACH < size ? EACH : size, MPI_INT, &status);
  for (int i = 0; i < size && i < EACH; i++) CHECK(got[i] == i);
  MPI_File_close(&file);
  MPI_Type_free(&every);
  MPI_Type_free(&spread);
}

/* A file type of many structures, whose blocks the library keeps once. */
static void repeated_structures(void) {
  enum { STRUCTS = 100, BYTES = 9, EXTENT = 16, ALL = 2 * STRUCTS };
  static unsigned char data[ALL * BYTES], raw[ALL * EXTENT];
  int lengths[] = {1, 1};
  MPI_Aint displs[] = {0, 8};
  MPI_Datatype parts[] = {MPI_CHAR, MPI_DOUBLE}, one, many;
  MPI_Offset begin = (MPI_Offset)rank * ALL * EXTENT, place;
  MPI_Type_create_struct(2, lengths, displs, parts, &one);
  MPI_Type_contiguous(STRUCTS, one, &many);
  MPI_Type_commit(&many);
  for (int i = 0; i < ALL * BYTES; i++) data[i] = (unsigned char)(i * 7 + rank);
  open_file(MPI_MODE_CREATE | MPI_MODE_RDWR);
  MPI_File_set_size(file, 0);
  MPI_File_set_view(file, begin, MPI_BYTE, many, "native", MPI_INFO_NULL);
  MPI_File_write(file, data, 500, MPI_BYTE, &status); /* ends within a structure */
  MPI_File_write_all(file, data + 500, ALL * BYTES - 500, MPI_BYTE, &status);
  MPI_File_sync(file);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_seek(file, 0, MPI_SEEK_END);
  MPI_File_get_position(file, &place);
  if (rank == size - 1) CHECK(place == ALL * BYTES);
  MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
  MPI_File_read_at(file, begin, raw, sizeof raw, MPI_BYTE, &status);
  for (int s = 0; s < ALL; s++) {
    CHECK(raw[s * EXTENT] == data[s * BYTES]);
    CHECK(memcmp(&raw[s * EXTENT + 8], &data[s * BYTES + 1], 8) == 0);
  }
  MPI_File_close(&file);
  MPI_Type_free(&one);
  MPI_Type_free(&many);
}

/* A part with an extent of its own gives the structure that extent, which is less than its span:
 * the next element begins within the last. HDF5 makes such types of chunks, and writes one element.
 */
static void short_extent(void) {
  int lengths[] = {1, 2}, data[] = {10 + rank, 20 + rank, 30 + rank, 40 + rank}, got[4] = {0};
  MPI_Aint displs[] = {0, 16};
  MPI_Offset begin = rank * (MPI_Offset)32, place;
  MPI_Datatype parts[] = {MPI_DATATYPE_NULL, MPI_INT}, one;
  MPI_Type_create_resized(MPI_INT, 0, 8, &parts[0]);
  MPI_Type_create_struct(2, lengths, displs, parts, &one);
  MPI_Type_commit(&one);
  open_file(MPI_MODE_CREATE | MPI_MODE_RDWR);
  MPI_File_set_size(file, 0);
  EXPECT(MPI_SUCCESS, MPI_File_set_view(file, begin, MPI_INT, one, "native", MPI_INFO_NULL));
  EXPECT(MPI_ERR_IO, MPI_File_write_at(file, 0, data, 4, MPI_INT, &status));
  EXPECT(MPI_SUCCESS, MPI_File_write(file, data, 2, MPI_INT, &status));
  EXPECT(MPI_ERR_IO, MPI_File_write(file, data, 2, MPI_INT, &status)); /* one of them is too many */
  EXPECT(MPI_SUCCESS, MPI_File_write_all(file, data + 2, 1, MPI_INT, &status));
  MPI_File_sync(file);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_read_at_all(file, 0, got, 3, MPI_INT, &status);
  CHECK(got[0] == 10 + rank && got[1] == 20 + rank && got[2] == 30 + rank);
  MPI_File_seek(file, 0, MPI_SEEK_END);
  MPI_File_get_position(file, &place);
  CHECK(place == 3);
  MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
  MPI_File_read_at(file, begin / 4 + 4, got, 2, MPI_INT, &status);
  CHECK(got[0] == 20 + rank && got[1] == 30 + rank);
  MPI_File_close(&file);
  MPI_Type_free(&parts[0]);
  MPI_Type_free(&one);
}

static void external(void) {
  unsigned char bytes[8];
  long number = 0x01020304 + rank;
  double half = 0.5;
  MPI_Aint extent;
  open_file(MPI_MODE_RDWR);
  MPI_File_set_size(file, 0);
  MPI_File_set_view(file, 0, MPI_LONG, MPI_LONG, "external32", MPI_INFO_NULL);
  MPI_File_get_type_extent(file, MPI_LONG, &extent);
  CHECK(extent == 4);
  MPI_File_write_at_all(file, rank, &number, 1, MPI_LONG, &status);
  CHECK(count_of(MPI_LONG) == 1);
  number = 0;
  MPI_File_read_at_all(file, rank, &number, 1, MPI_LONG, &status);
  CHECK(count_of(MPI_LONG) == 1 && number == 0x01020304 + rank);
  MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
  MPI_File_read_at(file, 4 * rank, bytes, 4, MPI_BYTE, &status);
  CHECK(bytes[0] == 1 && bytes[1] == 2 && bytes[2] == 3 && bytes[3] == 4 + rank);
  MPI_File_set_view(file, 0, MPI_DOUBLE, MPI_DOUBLE, "external32", MPI_INFO_NULL);
  MPI_File_write_at(file, rank, &half, 1, MPI_DOUBLE, &status);
  MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
  MPI_File_read_at(file, 8 * rank, bytes, 8, MPI_BYTE, &status);
  CHECK(bytes[0] == 0x3f && bytes[1] == 0xe0 && bytes[7] == 0);
  MPI_File_close(&file);
}

/* Every rank's records are in the file once; in order if they are written so. */
static void shared_pointer(void) {
  int seen[64] = {0}, record, records = 3 * size;
  MPI_Offset offset;
  open_file(MPI_MODE_RDWR);
  MPI_File_set_size(file, 0);
  MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
  for (int i = 0; i < 3; i++) {
    record = rank * 3 + i;
    MPI_File_write_shared(file, &record, 1, MPI_INT, &status);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_get_position_shared(file, &offset);
  CHECK(offset == records);
  for (int i = 0; i < records && records <= 64; i++) {
    MPI_File_read_at(file, i, &record, 1, MPI_INT, &status);
    CHECK(record >= 0 && record < records && seen[record]++ == 0);
  }
  MPI_File_seek_shared(file, 0, MPI_SEEK_SET);
  for (int i = 0; i <= rank; i++) values[i] = rank;
  MPI_File_write_ordered(file, values, rank + 1, MPI_INT, &status); /* rank and 1 elements each */
  MPI_File_get_position_shared(file, &offset);
  CHECK(offset == size * (size + 1) / 2);
  MPI_File_seek_shared(file, 0, MPI_SEEK_SET);
  MPI_File_read_ordered_begin(file, got, rank + 1, MPI_INT);
  MPI_File_read_ordered_end(file, got, &status);
  CHECK(count_of(MPI_INT) == rank + 1);
  for (int i = 0; i <= rank; i++) CHECK(got[i] == rank);
  MPI_File_close(&file);
}

/* A member that is still in MPI_File_open() begins where the file was opened, although others have
 * moved the shared pointer. */
static void own_pointer(void) {
  MPI_Offset offset;
  for (int i = 0; i < 20; i++) {
    open_file(MPI_MODE_RDWR);
    MPI_File_write_shared(file, &rank, 1, MPI_INT, &status);
    MPI_File_get_position(file, &offset);
    CHECK(offset == 0);
    MPI_File_close(&file);
  }
}

static void nonblocking(void) {
  MPI_Request requests[4];
  MPI_Status statuses[4];
  int count;
  open_file(MPI_MODE_RDWR);
  MPI_File_set_size(file, 0);
  MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
  for (int i = 0; i < EACH; i++) values[i] = rank * EACH + i;
  for (int i = 0; i < 4; i++)
    MPI_File_iwrite_at(file, rank * EACH + i * EACH / 4, values + i * EACH / 4, EACH / 4, MPI_INT,
                       &requests[i]);
  MPI_Waitall(4, requests, statuses);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_seek(file, ((rank + 1) % size) * EACH, MPI_SEEK_SET);
  for (int i = 0; i < 4; i++)
    MPI_File_iread(file, got + i * EACH / 4, EACH / 4, MPI_INT, &requests[i]);
  MPI_Waitall(4, requests, statuses);
  MPI_Get_count(&statuses[3], MPI_INT, &count);
  CHECK(count == EACH / 4);
  for (int i = 0; i < EACH; i++) CHECK(got[i] == ((rank + 1) % size) * EACH + i);
  MPI_File_iread_at_all(file, size * EACH - 1, got, 10, MPI_INT, &requests[0]);
  MPI_Wait(&requests[0], &status);
  CHECK(count_of(MPI_INT) == 1);
  MPI_File_close(&file);
}

/* In atomic mode a reader sees a record as a whole. */
static void atomic_mode(void) {
  int flag;
  open_file(MPI_MODE_RDWR);
  MPI_File_set_atomicity(file, 1);
  MPI_File_get_atomicity(file, &flag);
  CHECK(flag);
  for (int round = 0; round < 20; round++) {
    for (int i = 0; i < EACH; i++) values[i] = rank;
    MPI_File_write_at(file, 0, values, EACH, MPI_INT, &status);
    MPI_File_read_at(file, 0, got, EACH, MPI_INT, &status);
    for (int i = 1; i < EACH; i++) CHECK(got[i] == got[0]);
  }
  MPI_File_close(&file);
}

static void properties(void) {
  MPI_Info info;
  MPI_Group group;
  char text[20];
  int amode, flag, members;
  MPI_Offset bytes;
  open_file(MPI_MODE_RDWR | MPI_MODE_APPEND);
  MPI_File_get_amode(file, &amode);
  CHECK(amode == (MPI_MODE_RDWR | MPI_MODE_APPEND));
  MPI_File_get_size(file, &bytes);
  MPI_Offset position;
  MPI_File_get_position(file, &position);
  CHECK(position == bytes);
  MPI_File_get_group(file, &group);
  MPI_Group_size(group, &members);
  CHECK(members == size);
  MPI_Group_free(&group);
  MPI_Info_create(&info);
  MPI_Info_set(info, "cb_nodes", "2");
  MPI_File_set_info(file, info);
  MPI_Info_free(&info);
  MPI_File_get_info(file, &info);
  MPI_Info_get(info, "cb_nodes", 19, text, &flag);
  CHECK(flag && strcmp(text, "2") == 0);
  MPI_Info_free(&info);
  MPI_File_preallocate(file, bytes + 1000);
  MPI_File_get_size(file, &bytes);
  CHECK(bytes >= 1000);
  CHECK(MPI_File_f2c(MPI_File_c2f(file)) == file && MPI_File_c2f(MPI_FILE_NULL) == 0x118);
  MPI_File_close(&file);
}

static int handled;

static void handle(MPI_File *on, int *code, ...) {
  (void)on;
  CHECK(*code == MPI_ERR_NO_SUCH_FILE);
  handled++;
}

/* A name may begin with the kind of file system, as ROMIO has it. */
static void prefixed(void) {
  char name[sizeof path + 8];
  snprintf(name, sizeof name, "ufs:%s", path);
  EXPECT(MPI_SUCCESS, MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDONLY, MPI_INFO_NULL, &file));
  MPI_File_close(&file);
  EXPECT(MPI_ERR_NO_SUCH_FILE, MPI_File_delete("nfs:/no such folder/file", MPI_INFO_NULL));
  EXPECT(MPI_ERR_IO,
         MPI_File_open(MPI_COMM_WORLD, "daos:file", MPI_MODE_RDONLY, MPI_INFO_NULL, &file));
  EXPECT(MPI_ERR_BAD_FILE,
         MPI_File_open(MPI_COMM_WORLD, "lustre:", MPI_MODE_RDONLY, MPI_INFO_NULL, &file));
}

/* Errors are returned by default. */
static void errors(void) {
  MPI_Errhandler handler;
  MPI_Request request;
  MPI_Datatype backwards;
  MPI_File other;
  char absent[500], folder[] = "/";
  snprintf(absent, sizeof absent, "%s.absent", path);
  EXPECT(MPI_ERR_NO_SUCH_FILE,
         MPI_File_open(MPI_COMM_WORLD, absent, MPI_MODE_RDONLY, MPI_INFO_NULL, &other));
  EXPECT(MPI_ERR_FILE_EXISTS,
         MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_RDWR,
                       MPI_INFO_NULL, &other));
  EXPECT(MPI_ERR_BAD_FILE,
         MPI_File_open(MPI_COMM_WORLD, folder, MPI_MODE_RDONLY, MPI_INFO_NULL, &other));
  EXPECT(MPI_ERR_AMODE, MPI_File_open(MPI_COMM_WORLD, path, 0, MPI_INFO_NULL, &other));
  EXPECT(MPI_ERR_AMODE, MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY | MPI_MODE_CREATE,
                                      MPI_INFO_NULL, &other));
  if (size > 1)
    EXPECT(MPI_ERR_NOT_SAME,
           MPI_File_open(MPI_COMM_WORLD, path, rank == 0 ? MPI_MODE_RDONLY : MPI_MODE_RDWR,
                         MPI_INFO_NULL, &other));
  EXPECT(MPI_ERR_NO_SUCH_FILE, MPI_File_delete(absent, MPI_INFO_NULL));
  EXPECT(MPI_ERR_FILE, MPI_File_close(&(MPI_File){MPI_FILE_NULL}));
  EXPECT(MPI_ERR_FILE, MPI_File_sync((MPI_File)7));
  open_file(MPI_MODE_RDONLY);
  EXPECT(MPI_ERR_READ_ONLY, MPI_File_write(file, values, 1, MPI_INT, &status));
  EXPECT(MPI_ERR_READ_ONLY, MPI_File_set_size(file, 0));
  EXPECT(MPI_ERR_COUNT, MPI_File_read(file, values, -1, MPI_INT, &status));
  EXPECT(MPI_ERR_TYPE, MPI_File_read(file, values, 1, MPI_DATATYPE_NULL, &status));
  EXPECT(MPI_ERR_ARG, MPI_File_read_at(file, -1, values, 1, MPI_INT, &status));
  EXPECT(MPI_ERR_BUFFER, MPI_File_read(file, NULL, 1, MPI_BYTE, &status));
  EXPECT(MPI_ERR_ARG, MPI_File_seek(file, -1, MPI_SEEK_SET));
  EXPECT(MPI_ERR_ARG, MPI_File_seek(file, 0, 7));
  EXPECT(MPI_ERR_ARG, MPI_File_set_view(file, -1, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  EXPECT(MPI_ERR_TYPE, MPI_File_set_view(file, 0, MPI_INT, MPI_SHORT, "native", MPI_INFO_NULL));
  EXPECT(MPI_ERR_UNSUPPORTED_DATAREP,
         MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "own", MPI_INFO_NULL));
  MPI_Type_indexed(2, (int[]){1, 1}, (int[]){2, 0}, MPI_INT, &backwards);
  MPI_Type_commit(&backwards);
  EXPECT(MPI_ERR_IO, MPI_File_set_view(file, 0, MPI_INT, backwards, "native", MPI_INFO_NULL));
  MPI_Type_free(&backwards);
  MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
  EXPECT(MPI_ERR_IO, MPI_File_read(file, values, 1, MPI_SHORT, &status)); /* half an etype */
  EXPECT(MPI_ERR_IO, MPI_File_read_all_end(file, values, &status));
  MPI_File_read_all_begin(file, values, 1, MPI_INT);
  EXPECT(MPI_ERR_IO, MPI_File_read_all_begin(file, values, 1, MPI_INT));
  EXPECT(MPI_ERR_IO, MPI_File_close(&file));
  EXPECT(MPI_ERR_IO, MPI_File_read_at_all_end(file, values, &status));
  EXPECT(MPI_SUCCESS, MPI_File_read_all_end(file, values, &status));
  MPI_File_close(&file);
  open_file(MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL);
  EXPECT(MPI_ERR_ACCESS, MPI_File_read_shared(file, values, 1, MPI_INT, &status));
  EXPECT(MPI_ERR_UNSUPPORTED_OPERATION, MPI_File_write(file, values, 1, MPI_INT, &status));
  EXPECT(MPI_ERR_UNSUPPORTED_OPERATION, MPI_File_seek(file, 0, MPI_SEEK_SET));
  MPI_File_close(&file);
  MPI_File_create_errhandler(handle, &handler);
  MPI_File_set_errhandler(MPI_FILE_NULL, handler);
  EXPECT(MPI_ERR_NO_SUCH_FILE,
         MPI_File_open(MPI_COMM_WORLD, absent, MPI_MODE_RDONLY, MPI_INFO_NULL, &other));
  CHECK(handled == 1);
  MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN);
  MPI_Errhandler_free(&handler);
  /* a full disk: nothing was written, and the status says so */
  if (MPI_File_open(MPI_COMM_WORLD, "/dev/full", MPI_MODE_WRONLY, MPI_INFO_NULL, &other) != 0)
    return;
  EXPECT(MPI_ERR_NO_SPACE, MPI_File_write_at(other, 0, values, EACH, MPI_INT, &status));
  CHECK(count_of(MPI_INT) == 0);
  MPI_File_iwrite_at(other, 0, values, EACH, MPI_INT, &request);
  EXPECT(MPI_ERR_NO_SPACE, MPI_Wait(&request, &status));
  CHECK(count_of(MPI_INT) == 0);
  MPI_File_close(&other);
}

/* Each is refused before members meet, and changes nothing. */
static void arguments(void) {
  MPI_Info bad_info = (MPI_Info)7;
  MPI_Datatype spread, none;
  MPI_Aint extent;
  MPI_File other;
  MPI_Offset disp = 7;
  char empty[] = "";
  EXPECT(MPI_ERR_AMODE, MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_SEQUENTIAL,
                                      MPI_INFO_NULL, &other));
  EXPECT(MPI_ERR_AMODE,
         MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | 1 << 20, MPI_INFO_NULL, &other));
  EXPECT(MPI_ERR_INFO, MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR, bad_info, &other));
  EXPECT(MPI_ERR_BAD_FILE,
         MPI_File_open(MPI_COMM_WORLD, empty, MPI_MODE_RDWR, MPI_INFO_NULL, &other));
  EXPECT(MPI_ERR_INFO, MPI_File_delete(path, bad_info));
  CHECK(access(path, F_OK) == 0);
  open_file(MPI_MODE_RDWR);
  EXPECT(MPI_ERR_COUNT, MPI_File_write_at_c(file, 0, values, INT64_MAX, MPI_INT, &status));
  EXPECT(MPI_ERR_ARG, MPI_File_set_size(file, -1));
  EXPECT(MPI_ERR_ARG, MPI_File_preallocate(file, -1));
  CHECK(MPI_File_preallocate(file, 0) == MPI_SUCCESS); /* the file has as much */
  EXPECT(MPI_ERR_INFO, MPI_File_set_info(file, bad_info));
  EXPECT(MPI_ERR_ARG, MPI_File_get_byte_offset(file, -1, &disp));
  EXPECT(MPI_ERR_ARG, MPI_File_seek(file, INT64_MAX, MPI_SEEK_END));
  EXPECT(MPI_ERR_INFO, MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", bad_info));
  EXPECT(MPI_ERR_ARG, MPI_File_set_view(file, MPI_DISPLACEMENT_CURRENT, MPI_INT, MPI_INT, "native",
                                        MPI_INFO_NULL)); /* it is not sequential */
  MPI_Type_vector(2, 1, 2, MPI_WCHAR, &spread);          /* which has 2 bytes outside */
  EXPECT(MPI_ERR_TYPE, MPI_File_set_view(file, 0, MPI_WCHAR, spread, "native", MPI_INFO_NULL));
  MPI_Type_commit(&spread);
  EXPECT(MPI_ERR_UNSUPPORTED_DATAREP,
         MPI_File_set_view(file, 0, MPI_WCHAR, spread, "external32", MPI_INFO_NULL));
  EXPECT(MPI_SUCCESS,
         MPI_File_set_view(file, 0, MPI_WCHAR, MPI_WCHAR, "external32", MPI_INFO_NULL));
  EXPECT(MPI_ERR_UNSUPPORTED_DATAREP, MPI_File_get_type_extent(file, spread, &extent));
  EXPECT(MPI_ERR_TYPE, MPI_File_get_type_extent(file, (MPI_Datatype)7, &extent));
  EXPECT(MPI_SUCCESS, MPI_File_get_type_extent(file, MPI_WCHAR, &extent));
  CHECK(extent == 2);
  MPI_Type_contiguous(0, MPI_INT, &none);
  MPI_Type_commit(&none);
  EXPECT(MPI_SUCCESS, MPI_File_set_view(file, 24, none, none, "native", MPI_INFO_NULL));
  EXPECT(MPI_SUCCESS, MPI_File_get_byte_offset(file, 5, &disp));
  CHECK(disp == 24);
  MPI_Type_free(&spread);
  MPI_Type_free(&none);
  MPI_File_close(&file);
}

/* Pieces that follow each other, each in a view that begins where the shared pointer is. */
static void sequential(void) {
  MPI_Offset disp;
  MPI_Datatype etype, filetype;
  char datarep[MPI_MAX_DATAREP_STRING];
  int piece[2] = {rank, -rank};
  open_file(MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL);
  MPI_File_write_ordered(file, piece, 2, MPI_INT, &status);
  EXPECT(MPI_SUCCESS, MPI_File_set_view(file, MPI_DISPLACEMENT_CURRENT, MPI_SHORT, MPI_SHORT,
                                        "native", MPI_INFO_NULL));
  MPI_File_get_view(file, &disp, &etype, &filetype, datarep);
  CHECK(disp == size * (MPI_Offset)sizeof piece && etype == MPI_SHORT);
  MPI_File_write_ordered(file, &(short){(short)(100 + rank)}, 1, MPI_SHORT, &status);
  MPI_File_close(&file);
  open_file(MPI_MODE_RDONLY);
  for (int i = 0; i < size; i++) {
    short after;
    MPI_File_read_at(file, i * (MPI_Offset)sizeof piece, piece, 2, MPI_INT, &status);
    MPI_File_read_at(file, disp + i * (MPI_Offset)sizeof after, &after, 1, MPI_SHORT, &status);
    CHECK(piece[0] == i && piece[1] == -i && after == 100 + i);
  }
  MPI_File_close(&file);
}

/* What the kernel refuses has the class that fits; by one rank. */
static void refused_by_the_kernel(void) {
  MPI_File other;
  char name[64], program[] = "/proc/self/exe", full[] = "/dev/full";
  char kernels[] = "/sys/devices/system/cpu/online";
  int class;
  EXPECT(MPI_ERR_FILE_IN_USE,
         MPI_File_open(MPI_COMM_SELF, program, MPI_MODE_WRONLY, MPI_INFO_NULL, &other));
  MPI_Error_class(MPI_File_open(MPI_COMM_SELF, kernels, MPI_MODE_WRONLY, MPI_INFO_NULL, &other),
                  &class);
  CHECK(class == MPI_ERR_ACCESS || class == MPI_ERR_READ_ONLY || class == MPI_ERR_NO_SUCH_FILE);
  int sealed = memfd_create("sealed", MFD_ALLOW_SEALING);
  CHECK(sealed >= 0 && fcntl(sealed, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW) == 0);
  snprintf(name, sizeof name, "/proc/self/fd/%d", sealed);
  EXPECT(MPI_SUCCESS, MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_RDWR, MPI_INFO_NULL, &other));
  EXPECT(MPI_ERR_ACCESS, MPI_File_write_at(other, 0, values, 1, MPI_INT, &status));
  EXPECT(MPI_ERR_ACCESS, MPI_File_set_size(other, 100));
  MPI_File_close(&other);
  close(sealed);
  EXPECT(MPI_SUCCESS, MPI_File_open(MPI_COMM_SELF, full, MPI_MODE_WRONLY, MPI_INFO_NULL, &other));
  EXPECT(MPI_ERR_IO, MPI_File_set_size(other, 0));
  EXPECT(MPI_ERR_IO, MPI_File_preallocate(other, 1));
  MPI_File_close(&other);
}

static int called_with;

static void note(MPI_File *on, int *code, ...) {
  CHECK(*on == file);
  called_with = *code;
}

static void error_handlers(void) {
  MPI_Errhandler handler, found;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  EXPECT(MPI_ERR_ARG, MPI_File_create_errhandler(NULL, &handler));
  MPI_File_create_errhandler(note, &handler);
  EXPECT(MPI_ERR_ERRHANDLER, MPI_File_set_errhandler(MPI_FILE_NULL, (MPI_Errhandler)7));
  open_file(MPI_MODE_RDONLY);
  MPI_File_get_errhandler(file, &found);
  CHECK(found == MPI_ERRORS_RETURN);
  MPI_File_get_errhandler(MPI_FILE_NULL, &found);
  CHECK(found == MPI_ERRORS_RETURN);
  EXPECT(MPI_ERR_FILE, MPI_File_get_errhandler((MPI_File)7, &found));
  EXPECT(MPI_SUCCESS, MPI_File_set_errhandler(file, handler));
  MPI_File_get_errhandler(file, &found);
  CHECK(found == handler);
  MPI_Errhandler_free(&found);
  EXPECT(MPI_SUCCESS, MPI_File_call_errhandler(file, MPI_ERR_QUOTA));
  CHECK(called_with == MPI_ERR_QUOTA);
  EXPECT(MPI_ERR_ARG, MPI_File_call_errhandler(file, -5));
  CHECK(called_with == MPI_ERR_ARG);
  MPI_File_close(&file);
  MPI_Errhandler_free(&handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

int main(int argc, char **argv) {
  rank = check_start(&argc, &argv, &size);
  const char *folder = getenv("TMPDIR");
  snprintf(path, sizeof path, "%s/tmpi-io-%d", folder != NULL ? folder : "/tmp", (int)getpid());
  MPI_Bcast(path, sizeof path, MPI_CHAR, 0, MPI_COMM_WORLD); /* of rank 0's node */
  explicit_offsets();
  views();
  repeated_structures();
  short_extent();
  external();
  prefixed();
  shared_pointer();
  own_pointer();
  nonblocking();
  atomic_mode();
  properties();
  errors();
  arguments();
  sequential();
  error_handlers();
  if (rank == 0) refused_by_the_kernel();
  open_file(MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE);
  MPI_File_close(&file);
  CHECK(access(path, F_OK) != 0 && errno == ENOENT);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) { /* another file of that name stays */
    EXPECT(MPI_SUCCESS, MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_CREATE | MPI_MODE_RDWR,
                                      MPI_INFO_NULL, &file));
    MPI_File_close(&file);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(access(path, F_OK) == 0);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) EXPECT(MPI_SUCCESS, MPI_File_delete(path, MPI_INFO_NULL));
  MPI_Finalize();
  return 0;
}
