/* SPDX-License-Identifier: Apache-2.0 */
/* The edges of files: names and access modes that are refused, views whose bytes would overlap,
 * positions that no file has, and split collectives that end as others began. Two ranks. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

enum { CELLS = 16, LONG_NAME = 300 };

static int rank, size, values[CELLS], got[CELLS];
static char path[400];
static MPI_File file;
static MPI_Status status;

static int open_as(const char *name, int amode) {
  return MPI_File_open(MPI_COMM_WORLD, name, amode, MPI_INFO_NULL, &file);
}

static void reopen(int amode) { CHECK(open_as(path, amode) == MPI_SUCCESS); }

/* What programs put before a name: some is left out, some means files that only its own calls
 * reach. */
static void kinds_of_file_systems(void) {
  static const char *const known[] = {"ufs:", "nfs:", "xfs:", "panfs:", "gpfs:", "lustre:"},
                           *const unknown[] = {"pvfs2:", "daos:", "ime:", "quobyte:", "testfs:"};
  char name[LONG_NAME + 200];
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
    snprintf(name, sizeof name, "%s%s", known[i], path);
    EXPECT(MPI_SUCCESS, open_as(name, MPI_MODE_RDONLY));
    MPI_File_close(&file);
    EXPECT(MPI_ERR_BAD_FILE, open_as(known[i], MPI_MODE_RDONLY));
  }
  for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++) {
    snprintf(name, sizeof name, "%s%s", unknown[i], path);
    EXPECT(MPI_ERR_IO, open_as(name, MPI_MODE_RDONLY));
  }
}

static void refused_names(void) {
  char name[LONG_NAME + 200], loop[sizeof path + 8];
  snprintf(name, sizeof name, "%s/file", path); /* which is no folder */
  EXPECT(MPI_ERR_BAD_FILE, open_as(name, MPI_MODE_RDONLY));
  memset(name, 'x', LONG_NAME);
  name[LONG_NAME] = '\0';
  EXPECT(MPI_ERR_BAD_FILE, open_as(name, MPI_MODE_RDONLY));
  snprintf(loop, sizeof loop, "%s.loop", path);
  if (rank == 0) CHECK(symlink(loop, loop) == 0);
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT(MPI_ERR_BAD_FILE, open_as(loop, MPI_MODE_RDONLY));
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) CHECK(unlink(loop) == 0);
  EXPECT(MPI_ERR_BAD_FILE, open_as(NULL, MPI_MODE_RDONLY));
  EXPECT(MPI_ERR_NO_SUCH_FILE, MPI_File_delete(NULL, MPI_INFO_NULL));
  snprintf(loop, sizeof loop, "%s/below", path);
  EXPECT(MPI_ERR_BAD_FILE, MPI_File_delete(loop, MPI_INFO_NULL));
}

/* What is refused leaves no descriptor behind, and no handle. */
static void nothing_left(void) {
  static const struct {
    const char *name;
    int class;
  } cases[] = {{"/", MPI_ERR_BAD_FILE},
               {"/none/at/all", MPI_ERR_NO_SUCH_FILE},
               {path, MPI_ERR_NOT_SAME},
               {path, MPI_ERR_FILE_EXISTS}};
  int before = 0;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    int class = cases[i].class, amode = MPI_MODE_RDONLY;
    if (class == MPI_ERR_NOT_SAME && rank != 0) amode |= MPI_MODE_UNIQUE_OPEN;
    if (class == MPI_ERR_FILE_EXISTS) amode = MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_EXCL;
    if (rank == 0) before = check_count_descriptors();
    MPI_Barrier(MPI_COMM_WORLD);
    file = (MPI_File)&file;
    EXPECT(class, open_as(cases[i].name, amode));
    CHECK(file == MPI_FILE_NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) CHECK(check_count_descriptors() == before);
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

static void access_modes(void) {
  static const int wrong[] = {0,
                              MPI_MODE_CREATE,
                              MPI_MODE_RDONLY | MPI_MODE_WRONLY,
                              MPI_MODE_RDONLY | MPI_MODE_RDWR,
                              MPI_MODE_WRONLY | MPI_MODE_RDWR,
                              MPI_MODE_RDONLY | MPI_MODE_CREATE,
                              MPI_MODE_RDONLY | MPI_MODE_EXCL,
                              MPI_MODE_RDWR | MPI_MODE_SEQUENTIAL,
                              MPI_MODE_RDWR | 1 << 20};
  static const int right[] = {
      MPI_MODE_RDONLY | MPI_MODE_UNIQUE_OPEN, MPI_MODE_RDONLY | MPI_MODE_SEQUENTIAL,
      MPI_MODE_WRONLY | MPI_MODE_CREATE, MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL | MPI_MODE_APPEND,
      MPI_MODE_RDWR | MPI_MODE_APPEND | MPI_MODE_UNIQUE_OPEN};
  int amode;
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
    EXPECT(MPI_ERR_AMODE, open_as(path, wrong[i]));
  for (size_t i = 0; i < sizeof right / sizeof right[0]; i++) {
    EXPECT(MPI_SUCCESS, open_as(path, right[i]));
    MPI_File_get_amode(file, &amode);
    CHECK(amode == right[i]);
    MPI_File_close(&file);
  }
}

/* What each mode does not let one do, by each kind of pointer. */
static void transfers_refused(void) {
  MPI_Request request;
  MPI_Offset offset;
  reopen(MPI_MODE_RDONLY);
  EXPECT(MPI_ERR_READ_ONLY, MPI_File_write_at(file, 0, values, 1, MPI_INT, &status));
  EXPECT(MPI_ERR_READ_ONLY, MPI_File_write_shared(file, values, 1, MPI_INT, &status));
  EXPECT(MPI_ERR_READ_ONLY, MPI_File_write_ordered(file, values, 1, MPI_INT, &status));
  EXPECT(MPI_ERR_READ_ONLY, MPI_File_iwrite(file, values, 1, MPI_INT, &request));
  EXPECT(MPI_ERR_READ_ONLY, MPI_File_write_all_begin(file, values, 1, MPI_INT));
  EXPECT(MPI_ERR_IO, MPI_File_write_all_end(file, values, &status)); /* it has not begun */
  EXPECT(MPI_ERR_FILE, MPI_File_write_all_end(MPI_FILE_NULL, values, &status));
  EXPECT(MPI_SUCCESS, MPI_File_read_all_begin(file, got, 1, MPI_INT));
  EXPECT(MPI_SUCCESS, MPI_File_read_all_end(file, got, &status));
  EXPECT(MPI_ERR_READ_ONLY, MPI_File_preallocate(file, 10));
  MPI_File_close(&file);
  reopen(MPI_MODE_WRONLY);
  EXPECT(MPI_ERR_ACCESS, MPI_File_read_at(file, 0, got, 1, MPI_INT, &status));
  EXPECT(MPI_ERR_ACCESS, MPI_File_read_ordered(file, got, 1, MPI_INT, &status));
  EXPECT(MPI_ERR_ACCESS, MPI_File_iread_shared(file, got, 1, MPI_INT, &request));
  MPI_File_close(&file);
  reopen(MPI_MODE_RDONLY | MPI_MODE_SEQUENTIAL);
  EXPECT(MPI_ERR_UNSUPPORTED_OPERATION, MPI_File_read_at(file, 0, got, 1, MPI_INT, &status));
  EXPECT(MPI_ERR_UNSUPPORTED_OPERATION, MPI_File_read_all(file, got, 1, MPI_INT, &status));
  EXPECT(MPI_ERR_UNSUPPORTED_OPERATION, MPI_File_get_position(file, &offset));
  EXPECT(MPI_ERR_UNSUPPORTED_OPERATION, MPI_File_get_byte_offset(file, 0, &offset));
  EXPECT(MPI_SUCCESS, MPI_File_read_shared(file, got, 1, MPI_INT, &status));
  EXPECT(MPI_SUCCESS, MPI_File_get_position_shared(file, &offset));
  MPI_File_close(&file);
}

/* Offsets of etypes of four bytes. */
static void positions(void) {
  const MPI_Offset largest = INT64_MAX / 4;
  MPI_Offset offset;
  reopen(MPI_MODE_RDWR);
  MPI_File_set_view(file, 8, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
  EXPECT(MPI_SUCCESS, MPI_File_seek(file, largest, MPI_SEEK_SET));
  EXPECT(MPI_ERR_ARG, MPI_File_seek(file, largest + 1, MPI_SEEK_SET));
  EXPECT(MPI_ERR_ARG, MPI_File_seek(file, 1, MPI_SEEK_CUR));
  MPI_File_get_position(file, &offset);
  CHECK(offset == largest); /* where it was */
  EXPECT(MPI_SUCCESS, MPI_File_seek(file, -largest, MPI_SEEK_CUR));
  EXPECT(MPI_ERR_ARG, MPI_File_seek(file, -1, MPI_SEEK_CUR));
  EXPECT(MPI_ERR_ARG, MPI_File_seek_shared(file, -1, MPI_SEEK_SET));
  EXPECT(MPI_ERR_ARG, MPI_File_seek_shared(file, 0, 99));
  EXPECT(MPI_ERR_ARG, MPI_File_get_byte_offset(file, largest + 1, &offset));
  EXPECT(MPI_SUCCESS, MPI_File_get_byte_offset(file, 0, &offset));
  CHECK(offset == 8);
  EXPECT(MPI_ERR_ARG, MPI_File_read_at(file, -1, got, 1, MPI_INT, &status));
  EXPECT(MPI_ERR_ARG, MPI_File_read_at(file, largest + 1, got, 1, MPI_INT, &status));
  MPI_File_seek(file, 3, MPI_SEEK_SET);
  MPI_File_seek_shared(file, 5, MPI_SEEK_SET);
  MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
  MPI_File_get_position(file, &offset);
  CHECK(offset == 0); /* of the new view */
  MPI_File_get_position_shared(file, &offset);
  CHECK(offset == 0);
  MPI_File_close(&file);
}

enum { ONLY_READ = 1 };

/* A file type of two blocks; the second one begins at `second`. */
static int view_of(int amode, int first, int second, int length) {
  MPI_Datatype type;
  const int lengths[] = {length, 1}, places[] = {first, second};
  reopen(amode);
  MPI_Type_indexed(2, lengths, places, MPI_INT, &type);
  MPI_Type_commit(&type);
  int code = MPI_File_set_view(file, 0, MPI_INT, type, "native", MPI_INFO_NULL);
  MPI_Type_free(&type);
  MPI_File_close(&file);
  return code;
}

static int strided_view_of(int stride) {
  MPI_Datatype type;
  reopen(MPI_MODE_RDWR);
  MPI_Type_vector(3, 2, stride, MPI_INT, &type);
  MPI_Type_commit(&type);
  int code = MPI_File_set_view(file, 0, MPI_INT, type, "native", MPI_INFO_NULL);
  MPI_Type_free(&type);
  MPI_File_close(&file);
  return code;
}

/* Blocks that overlap may be read, and not written. They never descend. */
static void views(void) {
  MPI_Datatype open_type;
  for (int amode = 0; amode < 2; amode++) {
    int mode = amode == ONLY_READ ? MPI_MODE_RDONLY : MPI_MODE_RDWR;
    EXPECT(MPI_SUCCESS, view_of(mode, 0, 2, 2));
    EXPECT(amode == ONLY_READ ? MPI_SUCCESS : MPI_ERR_IO, view_of(mode, 0, 1, 2));
    EXPECT(MPI_ERR_IO, view_of(mode, 3, 0, 1));
    EXPECT(MPI_ERR_IO, view_of(mode, -1, 2, 1));
  }
  EXPECT(MPI_SUCCESS, strided_view_of(2));
  EXPECT(MPI_SUCCESS, strided_view_of(3));
  EXPECT(MPI_ERR_IO, strided_view_of(1));
  EXPECT(MPI_ERR_IO, strided_view_of(-3));
  reopen(MPI_MODE_RDWR);
  MPI_Type_contiguous(2, MPI_INT, &open_type); /* never committed */
  EXPECT(MPI_ERR_TYPE, MPI_File_set_view(file, 0, MPI_INT, open_type, "native", MPI_INFO_NULL));
  EXPECT(MPI_ERR_TYPE, MPI_File_set_view(file, 0, open_type, open_type, "native", MPI_INFO_NULL));
  EXPECT(MPI_ERR_TYPE, MPI_File_write(file, values, 1, open_type, &status));
  EXPECT(MPI_ERR_UNSUPPORTED_DATAREP,
         MPI_File_set_view(file, 0, MPI_INT, MPI_INT, NULL, MPI_INFO_NULL));
  EXPECT(MPI_ERR_TYPE, MPI_File_set_view(file, 0, MPI_INT, MPI_SHORT, "native", MPI_INFO_NULL));
  MPI_Type_free(&open_type);
  MPI_File_close(&file);
}

/* ---- split collectives */

static int begin(int kind, int writes) {
  switch (kind) {
    case 0:
      return writes ? MPI_File_write_at_all_begin(file, 0, values, 1, MPI_INT)
                    : MPI_File_read_at_all_begin(file, 0, got, 1, MPI_INT);
    case 1:
      return writes ? MPI_File_write_all_begin(file, values, 1, MPI_INT)
                    : MPI_File_read_all_begin(file, got, 1, MPI_INT);
    default:
      return writes ? MPI_File_write_ordered_begin(file, values, 1, MPI_INT)
                    : MPI_File_read_ordered_begin(file, got, 1, MPI_INT);
  }
}

static int end(int kind, int writes) {
  switch (kind) {
    case 0:
      return writes ? MPI_File_write_at_all_end(file, values, &status)
                    : MPI_File_read_at_all_end(file, got, &status);
    case 1:
      return writes ? MPI_File_write_all_end(file, values, &status)
                    : MPI_File_read_all_end(file, got, &status);
    default:
      return writes ? MPI_File_write_ordered_end(file, values, &status)
                    : MPI_File_read_ordered_end(file, got, &status);
  }
}

/* Each ends as it began, and one at a time. */
static void split_collectives(void) {
  enum { FORMS = 6 };
  int count;
  reopen(MPI_MODE_RDWR);
  MPI_File_write_at(file, 0, values, CELLS, MPI_INT, &status);
  for (int form = 0; form < FORMS; form++) {
    EXPECT(MPI_ERR_IO, end(form / 2, form % 2)); /* none has begun */
    EXPECT(MPI_SUCCESS, begin(form / 2, form % 2));
    for (int other = 0; other < FORMS; other++) {
      EXPECT(MPI_ERR_IO, begin(other / 2, other % 2));
      if (other != form) EXPECT(MPI_ERR_IO, end(other / 2, other % 2));
    }
    EXPECT(MPI_ERR_IO, MPI_File_close(&file));
    EXPECT(MPI_SUCCESS, end(form / 2, form % 2));
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK(count == 1);
  }
  MPI_File_close(&file);
}

enum { MANY = 20000 /* ints, more bytes than are copied at a time */ };

/* Data that do not lie together in memory, or not where their address says, in each representation.
 * The view is of each second int, or of all. */
static void scattered_data(void) {
  static int out[2 * MANY], in[2 * MANY];
  static const char *const representations[] = {"native", "external32"};
  const int length[] = {MANY}, behind[] = {1};
  MPI_Datatype every, shifted, spread;
  MPI_Type_vector(MANY, 1, 2, MPI_INT, &every);
  MPI_Type_indexed(1, length, behind, MPI_INT, &shifted); /* which leaves out the first */
  MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &spread);
  MPI_Type_commit(&every);
  MPI_Type_commit(&shifted);
  MPI_Type_commit(&spread);
  for (int i = 0; i < 2 * MANY; i++) out[i] = i * 7 + 1;
  for (int form = 0; form < 8; form++) {
    MPI_Datatype written = form & 1 ? every : shifted, read = form & 2 ? every : shifted;
    int from = form & 1 ? 2 : 1, to = form & 2 ? 2 : 1;
    CHECK(MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_RDWR, MPI_INFO_NULL, &file) == MPI_SUCCESS);
    MPI_File_set_size(file, 0);
    MPI_File_set_view(file, 12, MPI_INT, form & 4 ? spread : MPI_INT, representations[form / 2 % 2],
                      MPI_INFO_NULL);
    memset(in, 0, sizeof in);
    EXPECT(MPI_SUCCESS, MPI_File_write_at(file, 3, out, 1, written, &status));
    EXPECT(MPI_SUCCESS, MPI_File_read_at(file, 3, in, 1, read, &status));
    for (int i = 0; i < MANY; i++) CHECK(in[i * to + (to == 1)] == out[i * from + (from == 1)]);
    CHECK(in[to == 1 ? 0 : 1] == 0); /* what the datatype leaves out */
    EXPECT(MPI_SUCCESS, MPI_File_read_at(file, MANY - 7, in, 1, read, &status));
    int count;
    MPI_Get_count(&status, MPI_INT, &count);
    bool whole = form / 2 % 2 == 1; /* only what is there of whole elements is converted */
    CHECK(count == (whole ? 0 : 10));
    if (!whole) CHECK(in[9 * to + (to == 1)] == out[(MANY - 1) * from + (from == 1)]);
    MPI_File_close(&file);
  }
  MPI_Type_free(&every);
  MPI_Type_free(&shifted);
  MPI_Type_free(&spread);
}

/* What the first rank cannot do, no rank can: its descriptor, which is that of all, only names a
 * place now. */
static void lost_descriptor(void) {
  MPI_Request request;
  reopen(MPI_MODE_RDWR);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) CHECK(check_lose_descriptors(path) == 1);
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT(MPI_ERR_IO, MPI_File_sync(file));
  EXPECT(MPI_ERR_IO, MPI_File_set_size(file, 10));
  EXPECT(MPI_ERR_IO, MPI_File_preallocate(file, 10));
  if (rank == 0) {
    EXPECT(MPI_ERR_IO, MPI_File_write_at(file, 0, values, 1, MPI_INT, &status));
    EXPECT(MPI_ERR_IO, MPI_File_read_at(file, 0, got, 1, MPI_INT, &status));
    EXPECT(MPI_SUCCESS, MPI_File_iread_at(file, 0, got, 1, MPI_INT, &request));
    EXPECT(MPI_ERR_IO, MPI_Wait(&request, &status));
  }
  MPI_File_close(&file);
}

/* A file ends where it does: less is read, and then nothing. */
static void end_of_file(void) {
  int count;
  reopen(MPI_MODE_RDWR);
  MPI_File_set_size(file, 3 * sizeof(int) + 2);
  for (int place = 0; place < 5; place++) {
    errno = EINTR; /* of another call: nothing is read again for it */
    EXPECT(MPI_SUCCESS, MPI_File_read_at(file, place * 4, got, CELLS, MPI_BYTE, &status));
    MPI_Get_count(&status, MPI_BYTE, &count);
    CHECK(count == (place < 4 ? 14 - place * 4 : 0));
  }
  EXPECT(MPI_SUCCESS, MPI_File_read_at(file, 0, got, 0, MPI_INT, &status));
  MPI_Get_count(&status, MPI_INT, &count);
  CHECK(count == 0);
  MPI_File_close(&file);
}

/* Every call looks at its handle before it looks into the file. */
static void no_file(void) {
  MPI_File none = (MPI_File)7;
  MPI_Datatype etype, filetype;
  MPI_Errhandler handler;
  MPI_Request request;
  MPI_Offset offset;
  MPI_Aint extent;
  MPI_Group group;
  MPI_Info info;
  char datarep[MPI_MAX_DATAREP_STRING];
  int number;
  EXPECT(MPI_ERR_FILE, MPI_File_get_group(none, &group));
  EXPECT(MPI_ERR_FILE, MPI_File_get_amode(none, &number));
  EXPECT(MPI_ERR_FILE, MPI_File_set_info(none, MPI_INFO_NULL));
  EXPECT(MPI_ERR_FILE, MPI_File_get_info(none, &info));
  EXPECT(MPI_ERR_FILE, MPI_File_set_atomicity(none, 1));
  EXPECT(MPI_ERR_FILE, MPI_File_get_atomicity(none, &number));
  EXPECT(MPI_ERR_FILE, MPI_File_get_type_extent(none, MPI_INT, &extent));
  EXPECT(MPI_ERR_FILE, MPI_File_set_size(none, 0));
  EXPECT(MPI_ERR_FILE, MPI_File_preallocate(none, 0));
  EXPECT(MPI_ERR_FILE, MPI_File_get_size(none, &offset));
  EXPECT(MPI_ERR_FILE, MPI_File_sync(none));
  EXPECT(MPI_ERR_FILE, MPI_File_set_view(none, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  EXPECT(MPI_ERR_FILE, MPI_File_get_view(none, &offset, &etype, &filetype, datarep));
  EXPECT(MPI_ERR_FILE, MPI_File_seek(none, 0, MPI_SEEK_SET));
  EXPECT(MPI_ERR_FILE, MPI_File_get_position(none, &offset));
  EXPECT(MPI_ERR_FILE, MPI_File_get_byte_offset(none, 0, &offset));
  EXPECT(MPI_ERR_FILE, MPI_File_seek_shared(none, 0, MPI_SEEK_SET));
  EXPECT(MPI_ERR_FILE, MPI_File_get_position_shared(none, &offset));
  EXPECT(MPI_ERR_FILE, MPI_File_read(none, got, 1, MPI_INT, &status));
  EXPECT(MPI_ERR_FILE, MPI_File_iwrite(none, values, 1, MPI_INT, &request));
  EXPECT(MPI_ERR_FILE, MPI_File_read_all_begin(none, got, 1, MPI_INT));
  EXPECT(MPI_ERR_FILE, MPI_File_read_all_end(none, got, &status));
  EXPECT(MPI_ERR_FILE, MPI_File_set_errhandler(none, MPI_ERRORS_RETURN));
  EXPECT(MPI_ERR_FILE, MPI_File_get_errhandler(none, &handler));
  EXPECT(MPI_ERR_FILE, MPI_File_call_errhandler(none, MPI_ERR_OTHER));
  EXPECT(MPI_ERR_FILE, MPI_File_close(&none));
}

/* A program frees each group that it gets; the file keeps its own. */
static void groups_are_the_callers(void) {
  MPI_Group group;
  int members;
  reopen(MPI_MODE_RDONLY);
  for (int i = 0; i < 3; i++) {
    EXPECT(MPI_SUCCESS, MPI_File_get_group(file, &group));
    EXPECT(MPI_SUCCESS, MPI_Group_size(group, &members));
    CHECK(members == size);
    EXPECT(MPI_SUCCESS, MPI_Group_free(&group));
  }
  EXPECT(MPI_SUCCESS, MPI_File_get_group(file, &group));
  MPI_File_close(&file);
  EXPECT(MPI_SUCCESS, MPI_Group_size(group, &members)); /* it outlives the file */
  CHECK(members == size);
  EXPECT(MPI_SUCCESS, MPI_Group_free(&group));
}

int main(int argc, char **argv) {
  rank = check_start(&argc, &argv, &size);
  const char *folder = getenv("TMPDIR");
  snprintf(path, sizeof path, "%s/tmpi-file-edges-%d", folder != NULL ? folder : "/tmp",
           (int)getpid());
  MPI_Bcast(path, sizeof path, MPI_CHAR, 0, MPI_COMM_WORLD);
  reopen(MPI_MODE_RDWR | MPI_MODE_CREATE);
  if (rank == 0) MPI_File_write_at(file, 0, values, CELLS, MPI_INT, &status);
  MPI_File_close(&file);
  kinds_of_file_systems();
  refused_names();
  nothing_left();
  no_file();
  groups_are_the_callers();
  access_modes();
  transfers_refused();
  positions();
  views();
  split_collectives();
  end_of_file();
  lost_descriptor();
  if (rank == 0) scattered_data();
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) EXPECT(MPI_SUCCESS, MPI_File_delete(path, MPI_INFO_NULL));
  MPI_Finalize();
  return 0;
}
