/* SPDX-License-Identifier: Apache-2.0 */
/* Views of files against what the datatypes themselves say: MPI_Pack() tells in which order a type
 * takes the cells of memory, and a view takes those of the file in the same order. Also views that
 * are refused, views of no data, and what a file tells of its view. One rank. */
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

enum {
  CELLS = 1300,  /* ints in the file */
  ELEMENTS = 3,  /* of the file type, that are looked at */
  MOST = 600,    /* ints in these */
  DISP = 12,     /* bytes before the view */
  CELL = 4,      /* bytes */
  LONE = 70,     /* pieces of a type that has many */
  WRITTEN = 1000 /* added to what is written */
};

static char path[400];
static MPI_File file;
static MPI_Status status;
static int cells[CELLS], raw[CELLS], got[MOST], place[MOST];

static void open_as(int amode, MPI_Info info) {
  CHECK(MPI_File_open(MPI_COMM_SELF, path, amode, info, &file) == MPI_SUCCESS);
}

static int count_of(MPI_Datatype type) {
  int count = -7;
  MPI_Get_count(&status, type, &count);
  return count;
}

/* ---- types */

static MPI_Datatype resized(MPI_Datatype old, int extent) {
  MPI_Datatype type;
  MPI_Type_create_resized(old, 0, (MPI_Aint)extent * CELL, &type);
  MPI_Type_free(&old);
  return type;
}

static MPI_Datatype indexed(int count, const int *lengths, const int *displs) {
  MPI_Datatype type;
  MPI_Type_indexed(count, lengths, displs, MPI_INT, &type);
  return type;
}

static MPI_Datatype uneven(void) {
  return indexed(3, (const int[]){1, 3, 2}, (const int[]){0, 2, 7});
}

static MPI_Datatype vector(int count, int length, int stride, MPI_Datatype old) {
  MPI_Datatype type;
  MPI_Type_vector(count, length, stride, old, &type);
  if (old != MPI_INT) MPI_Type_free(&old);
  return type;
}

static MPI_Datatype contiguous(int count, MPI_Datatype old) { return vector(1, count, 1, old); }

/* first at 0, and behind it ints at a byte. */
static MPI_Datatype followed(MPI_Datatype first, MPI_Aint at, int ints) {
  MPI_Datatype type;
  MPI_Type_create_struct(2, (const int[]){1, ints}, (const MPI_Aint[]){0, at},
                         (const MPI_Datatype[]){first, MPI_INT}, &type);
  MPI_Type_free(&first);
  return type;
}

static MPI_Datatype part(void) {
  MPI_Datatype type;
  MPI_Type_create_subarray(2, (const int[]){4, 5}, (const int[]){2, 3}, (const int[]){1, 1},
                           MPI_ORDER_C, MPI_INT, &type);
  return type;
}

/* LONE single ints, of which no two distances are the same; the last one begins at LONE_END. */
enum { LONE_END = (LONE - 1) * (LONE + 2) / 2 };

static MPI_Datatype lone(void) {
  MPI_Datatype type;
  int displs[LONE];
  for (int i = 0; i < LONE; i++) displs[i] = i * (i + 3) / 2;
  MPI_Type_create_indexed_block(LONE, 1, displs, MPI_INT, &type);
  return type;
}

/* @return type number `which`; MPI_DATATYPE_NULL: there are no more. The last one's elements begin
 * within each other. */
static MPI_Datatype type_of(int which, int *interleaves) {
  *interleaves = 0;
  switch (which) {
    case 0: return contiguous(1, MPI_INT);
    case 1: return vector(4, 2, 3, MPI_INT);
    case 2: return uneven();
    case 3: return resized(contiguous(2, MPI_INT), 5);
    case 4: return followed(vector(3, 1, 2, MPI_INT), 28, 2);
    case 5: return contiguous(30, uneven());
    case 6: return vector(5, 6, 8, uneven());
    case 7: return indexed(2, (const int[]){2, 1}, (const int[]){3, 7});
    case 8: return part();
    case 9: return contiguous(2, resized(followed(vector(9, 1, 3, MPI_INT), 104, 3), 30));
    case 10:
      *interleaves = 1;
      return resized(indexed(2, (const int[]){1, 2}, (const int[]){0, 4}), 3);
    default: return MPI_DATATYPE_NULL;
  }
}

/* ---- the cells of a view */

/* Fills `place` with the cells that elements of a type take. @return how many there are. */
static int find_places(MPI_Datatype type, int elements) {
  int at = 0;
  MPI_Pack(cells, elements, type, place, sizeof place, &at, MPI_COMM_SELF);
  return at / CELL;
}

static void read_from_each(int count) {
  MPI_Offset at;
  for (int k = 0; k < count; k++) {
    MPI_File_get_byte_offset(file, k, &at);
    CHECK(at == DISP + (MPI_Offset)CELL * place[k]);
    int all = count - k, few = all < 5 ? all : 5, many = k % 7 == 0 ? all : few;
    memset(got, -1, sizeof got);
    MPI_File_read_at(file, k, got, many, MPI_INT, &status);
    CHECK(count_of(MPI_INT) == many && memcmp(got, place + k, (size_t)many * CELL) == 0);
    CHECK(many == MOST || got[many] == -1);
  }
}

/* By the pointer, some bytes at a time: a read may end within an int, if bytes are the unit. */
static void read_on(MPI_Datatype type, int count, int step) {
  char *to = (char *)got;
  int left = count * CELL;
  MPI_Offset at;
  MPI_File_set_view(file, DISP, MPI_BYTE, type, "native", MPI_INFO_NULL);
  memset(got, -1, sizeof got);
  for (int now; left > 0; left -= now, to += now) {
    now = left < step ? left : step;
    MPI_File_read(file, to, now, MPI_BYTE, &status);
    CHECK(count_of(MPI_BYTE) == now);
  }
  CHECK(memcmp(got, place, (size_t)count * CELL) == 0);
  MPI_File_get_position(file, &at);
  CHECK(at == count * CELL);
}

static void fill_file(const int *with) {
  MPI_File_set_view(file, DISP, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
  MPI_File_write_at(file, 0, with, CELLS, MPI_INT, &status);
}

static void written(MPI_Datatype type, int count) {
  enum { FROM = 2 };
  static int zeros[CELLS], values[MOST], expected[CELLS];
  fill_file(zeros);
  memset(expected, 0, sizeof expected);
  for (int k = FROM; k < count; k++) {
    values[k - FROM] = place[k] + WRITTEN;
    expected[place[k]] = place[k] + WRITTEN;
  }
  MPI_File_set_view(file, DISP, MPI_INT, type, "native", MPI_INFO_NULL);
  MPI_File_write_at(file, FROM, values, count - FROM, MPI_INT, &status);
  CHECK(count_of(MPI_INT) == count - FROM);
  MPI_File_set_view(file, DISP, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
  MPI_File_read_at(file, 0, raw, CELLS, MPI_INT, &status);
  CHECK(memcmp(raw, expected, sizeof raw) == 0);
  fill_file(cells);
}

/* The end of the file as an offset of the view, wherever the file ends: the first int that is not
 * there, or not as a whole. Of elements that begin within each other the first one counts. */
static void ends(MPI_Datatype type, int count) {
  MPI_Offset at;
  int last = place[count - 1];
  MPI_File_set_view(file, DISP, MPI_INT, type, "native", MPI_INFO_NULL);
  for (MPI_Offset bytes = 0; bytes <= DISP + (MPI_Offset)CELL * (last + 1); bytes += 2) {
    MPI_Offset seen = 0;
    for (int k = 0; k < count; k++) {
      MPI_Offset inside = bytes - DISP - (MPI_Offset)CELL * place[k];
      seen += inside < 0 ? 0 : inside < CELL ? inside : CELL;
    }
    MPI_File_set_size(file, bytes);
    MPI_File_seek(file, 0, MPI_SEEK_END);
    MPI_File_get_position(file, &at);
    CHECK(at == (seen + CELL - 1) / CELL);
  }
}

static void views(void) {
  int interleaves;
  for (int i = 0; i < CELLS; i++) cells[i] = i;
  for (int which = 0;; which++) {
    MPI_Datatype type = type_of(which, &interleaves);
    if (type == MPI_DATATYPE_NULL) return;
    MPI_Type_commit(&type);
    int count = find_places(type, ELEMENTS);
    open_as(MPI_MODE_RDWR, MPI_INFO_NULL);
    fill_file(cells);
    CHECK(MPI_File_set_view(file, DISP, MPI_INT, type, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    read_from_each(count);
    for (int step = 1; step < 40; step += 6) read_on(type, count, step);
    if (!interleaves) written(type, count);
    ends(type, interleaves ? find_places(type, 1) : count);
    MPI_File_close(&file);
    MPI_Type_free(&type);
  }
}

/* ---- views that are refused */

/* Sets a view of a type, which is freed. @return the class of the error. */
static int view_of(MPI_Datatype type, int amode) {
  int class;
  open_as(amode, MPI_INFO_NULL);
  MPI_Type_commit(&type);
  MPI_Error_class(MPI_File_set_view(file, 0, MPI_INT, type, "native", MPI_INFO_NULL), &class);
  MPI_Type_free(&type);
  MPI_File_close(&file);
  return class;
}

/* Pieces that overlap may be read, and not written. They never descend, not from one repetition of
 * the pieces to the next one either. */
static void descending_places(void) {
  enum { READ, WRITE, NOT };
  static const struct {
    int at, can; /* the int behind pieces of 4 bytes at 0, 8 and 16 */
  } behind[] = {{12, NOT}, {15, NOT}, {16, READ}, {18, READ}, {19, READ}, {20, WRITE}, {28, WRITE}};
  static const struct {
    int times, extent, can; /* the distance of repetitions */
  } repeated[] = {{2, LONE_END + 1, WRITE},   {2, LONE_END, READ},   {2, LONE_END - 1, NOT},
                  {100, LONE_END + 1, WRITE}, {3, LONE_END, READ},   {3, LONE_END - 1, NOT},
                  {2, LONE_END + 9, WRITE},   {100, LONE_END, READ}, {2, 1, NOT}};
  for (int can = READ; can <= WRITE; can++) {
    int amode = can == READ ? MPI_MODE_RDONLY : MPI_MODE_RDWR;
    for (size_t i = 0; i < sizeof behind / sizeof behind[0]; i++)
      CHECK(view_of(followed(vector(3, 1, 2, MPI_INT), behind[i].at, 1), amode) ==
            (behind[i].can != NOT && behind[i].can >= can ? MPI_SUCCESS : MPI_ERR_IO));
    for (size_t i = 0; i < sizeof repeated / sizeof repeated[0]; i++) {
      MPI_Datatype type = contiguous(repeated[i].times, resized(lone(), repeated[i].extent));
      bool right = repeated[i].can != NOT && repeated[i].can >= can;
      CHECK(view_of(type, amode) == (right ? MPI_SUCCESS : MPI_ERR_IO));
    }
    CHECK(view_of(vector(2, 1, 0, MPI_INT), amode) == (can == READ ? MPI_SUCCESS : MPI_ERR_IO));
  }
}

/* ---- views of no data */

static void no_data(void) {
  int value = 7;
  MPI_Offset at, size;
  MPI_Datatype none;
  MPI_Type_contiguous(0, MPI_INT, &none);
  MPI_Type_commit(&none);
  open_as(MPI_MODE_RDWR, MPI_INFO_NULL);
  MPI_File_get_size(file, &size);
  EXPECT(MPI_ERR_TYPE, MPI_File_set_view(file, 24, none, MPI_INT, "native", MPI_INFO_NULL));
  for (int unit = 0; unit < 2; unit++) {
    MPI_Datatype etype = unit ? MPI_INT : none;
    EXPECT(MPI_SUCCESS, MPI_File_set_view(file, 24, etype, none, "native", MPI_INFO_NULL));
    EXPECT(MPI_SUCCESS, MPI_File_write_at(file, 0, &value, 1, MPI_INT, &status));
    CHECK(count_of(MPI_INT) == 0);
    EXPECT(MPI_SUCCESS, MPI_File_read_at(file, 5, &value, 1, MPI_INT, &status));
    CHECK(count_of(MPI_INT) == 0 && value == 7);
    EXPECT(MPI_SUCCESS, MPI_File_get_byte_offset(file, 5, &at));
    CHECK(at == 24);
    EXPECT(MPI_SUCCESS, MPI_File_seek(file, 5, MPI_SEEK_SET));
    MPI_File_get_position(file, &at);
    CHECK(at == (unit ? 5 : 0));
    EXPECT(MPI_SUCCESS, MPI_File_seek(file, 0, MPI_SEEK_END));
    MPI_File_get_position(file, &at);
    CHECK(at == 0);
    MPI_File_get_position_shared(file, &at);
    CHECK(at == 0);
  }
  MPI_File_get_size(file, &at);
  CHECK(at == size);
  MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
  EXPECT(MPI_SUCCESS, MPI_File_write(file, NULL, 0, MPI_INT, &status));
  EXPECT(MPI_SUCCESS, MPI_File_read_at(file, 0, NULL, 0, MPI_INT, &status));
  MPI_Type_free(&none);
  MPI_File_close(&file);
}

/* ---- what a file tells */

/* The types of a view are freed by the program that asked for them, and are there yet. */
static void types_of_views(void) {
  MPI_Datatype type = uneven(), pair, etype, filetype;
  MPI_Offset disp;
  MPI_Aint extent;
  char datarep[MPI_MAX_DATAREP_STRING];
  MPI_Type_contiguous(2, MPI_INT, &pair);
  MPI_Type_commit(&type);
  MPI_Type_commit(&pair);
  open_as(MPI_MODE_RDWR, MPI_INFO_NULL);
  MPI_File_set_view(file, 4, pair, type, "internal", MPI_INFO_NULL);
  MPI_Type_free(&type);
  MPI_Type_free(&pair);
  for (int i = 0; i < 3; i++) {
    int sizes[2] = {0, 0};
    MPI_File_get_view(file, &disp, &etype, &filetype, datarep);
    EXPECT(MPI_SUCCESS, MPI_Type_size(etype, &sizes[0]));
    EXPECT(MPI_SUCCESS, MPI_Type_size(filetype, &sizes[1]));
    CHECK(disp == 4 && sizes[0] == 8 && sizes[1] == 24 && strcmp(datarep, "internal") == 0);
    EXPECT(MPI_SUCCESS, MPI_File_get_type_extent(file, filetype, &extent));
    CHECK(extent == 9 * CELL); /* with its gaps */
    EXPECT(MPI_SUCCESS, MPI_File_get_type_extent(file, etype, &extent));
    CHECK(extent == 2 * CELL);
    MPI_Type_free(&etype);
    MPI_Type_free(&filetype);
  }
  MPI_File_close(&file);
}

/* As are those of the data in memory, until a request is complete. Types that are made meanwhile
 * may take the place of theirs. */
static void types_of_requests(void) {
  enum { REQUESTS = 8, INTS = 3 };
  int data[REQUESTS][2 * INTS], found[REQUESTS][INTS];
  MPI_Request requests[REQUESTS];
  MPI_Datatype type;
  open_as(MPI_MODE_RDWR, MPI_INFO_NULL);
  for (int turn = 0; turn < 2; turn++) { /* written, and then read */
    for (int i = 0; i < REQUESTS; i++) {
      for (int k = 0; k < 2 * INTS; k++) data[i][k] = turn == 0 ? 10 * i + k : -1;
      type = vector(INTS, 1, 2, MPI_INT);
      MPI_Type_commit(&type);
      MPI_Offset at = (MPI_Offset)sizeof found[0] * i;
      if (turn == 0) MPI_File_iwrite_at(file, at, data[i], 1, type, &requests[i]);
      if (turn == 1) MPI_File_iread_at(file, at, data[i], 1, type, &requests[i]);
      MPI_Type_free(&type);
      type = contiguous(i + 1, vector(2, 1, -5, MPI_INT));
      MPI_Type_free(&type);
    }
    MPI_Waitall(REQUESTS, requests, MPI_STATUSES_IGNORE);
  }
  MPI_File_read_at(file, 0, found, REQUESTS * INTS, MPI_INT, MPI_STATUS_IGNORE);
  for (int i = 0; i < REQUESTS; i++)
    for (int k = 0; k < INTS; k++)
      CHECK(found[i][k] == 10 * i + 2 * k && data[i][2 * k] == found[i][k] &&
            data[i][2 * k + 1] == -1);
  MPI_File_close(&file);
}

static int keys_of(MPI_File of, const char *key, char *value) {
  MPI_Info info;
  int keys = -1, flag, length = MPI_MAX_INFO_VAL;
  value[0] = '\0';
  MPI_File_get_info(of, &info);
  MPI_Info_get_nkeys(info, &keys);
  MPI_Info_get_string(info, key, &length, value, &flag);
  MPI_Info_free(&info);
  return keys;
}

/* Hints are those of the open, and then what was set. */
static void hints(void) {
  MPI_Info info;
  char value[MPI_MAX_INFO_VAL];
  open_as(MPI_MODE_RDONLY, MPI_INFO_NULL);
  CHECK(keys_of(file, "first", value) == 0);
  EXPECT(MPI_SUCCESS, MPI_File_set_info(file, MPI_INFO_NULL));
  CHECK(keys_of(file, "first", value) == 0);
  MPI_File_close(&file);
  MPI_Info_create(&info);
  MPI_Info_set(info, "first", "1");
  MPI_Info_set(info, "second", "2");
  open_as(MPI_MODE_RDONLY, info);
  MPI_Info_delete(info, "first");
  MPI_Info_set(info, "second", "of two");
  MPI_Info_set(info, "third", "3");
  CHECK(keys_of(file, "second", value) == 2 && strcmp(value, "2") == 0);
  EXPECT(MPI_SUCCESS, MPI_File_set_info(file, info));
  MPI_Info_free(&info);
  CHECK(keys_of(file, "second", value) == 3 && strcmp(value, "of two") == 0);
  CHECK(keys_of(file, "first", value) == 3 && strcmp(value, "1") == 0);
  MPI_File_close(&file);
}

/* A device has nothing to make last, which is no error, and no mode of its own. */
static void devices(void) {
  static char null[] = "/dev/null";
  MPI_File device;
  int atomic = -1;
  CHECK(MPI_File_open(MPI_COMM_SELF, null, MPI_MODE_RDWR, MPI_INFO_NULL, &device) == MPI_SUCCESS);
  EXPECT(MPI_SUCCESS, MPI_File_sync(device));
  for (int mode = 2; mode >= 0; mode--) {
    MPI_File_set_atomicity(device, mode);
    MPI_File_get_atomicity(device, &atomic);
    CHECK(atomic == (mode != 0));
    EXPECT(MPI_SUCCESS, MPI_File_write(device, cells, 1, MPI_INT, &status));
    CHECK(count_of(MPI_INT) == 1);
  }
  MPI_File_close(&device);
}

/* A new view begins at its first element, for the shared pointer, too. */
static void pointers_of_a_new_view(void) {
  int value;
  MPI_Offset own = -1, shared = -1;
  open_as(MPI_MODE_RDWR, MPI_INFO_NULL);
  EXPECT(MPI_SUCCESS, MPI_File_read(file, &value, 1, MPI_INT, &status));
  EXPECT(MPI_SUCCESS, MPI_File_read_shared(file, &value, 1, MPI_INT, &status));
  EXPECT(MPI_SUCCESS, MPI_File_set_view(file, 4, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  MPI_File_get_position(file, &own);
  MPI_File_get_position_shared(file, &shared);
  CHECK(own == 0 && shared == 0);
  MPI_File_close(&file);
}

int main(int argc, char **argv) {
  int size;
  check_start(&argc, &argv, &size);
  const char *folder = getenv("TMPDIR");
  snprintf(path, sizeof path, "%s/tmpi-views-%d", folder != NULL ? folder : "/tmp", (int)getpid());
  open_as(MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL);
  MPI_File_write_at(file, 0, cells, CELLS, MPI_INT, &status);
  MPI_File_close(&file);
  views();
  pointers_of_a_new_view();
  descending_places();
  no_data();
  types_of_views();
  types_of_requests();
  hints();
  devices();
  EXPECT(MPI_SUCCESS, MPI_File_delete(path, MPI_INFO_NULL));
  MPI_Finalize();
  return 0;
}
