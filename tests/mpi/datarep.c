/* SPDX-License-Identifier: Apache-2.0 */
/* A data representation of the program's, MPI_Register_datarep(). The file is in TMPDIR, else
 * /tmp, with a name of the process. */
#define _GNU_SOURCE
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

enum { EACH = 100 };

static int rank, size, values[EACH], got[EACH];
static char path[400];
static MPI_File file;
static MPI_Status status;

static void open_file(void) {
  CHECK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                      &file) == MPI_SUCCESS);
}

static int count_of(MPI_Datatype type) {
  int count;
  MPI_Get_count(&status, type, &count);
  return count;
}

/* Each basic element has 8 bytes, the most significant
 * first. Pairs of an int and a double are one type in memory. */

struct pair {
  int whole;
  double number;
};

static struct calls {
  MPI_Datatype pairs;
  int calls, fails;
} calls;

static int eight_bytes(MPI_Datatype type, MPI_Aint *extent, void *extra) {
  (void)extra;
  *extent = 8;
  return type == MPI_INT || type == MPI_DOUBLE ? MPI_SUCCESS : MPI_ERR_TYPE;
}

static void put_element(unsigned char *to, uint64_t value) {
  for (int i = 0; i < 8; i++) to[i] = (unsigned char)(value >> (56 - 8 * i));
}

static uint64_t get_element(const unsigned char *from) {
  uint64_t value = 0;
  for (int i = 0; i < 8; i++) value = value << 8 | from[i];
  return value;
}

static int convert(void *memory, MPI_Datatype type, MPI_Count count, unsigned char *outside,
                   MPI_Offset position, struct calls *extra, bool out) {
  extra->calls++;
  if (extra->fails) return MPI_ERR_OTHER;
  for (MPI_Offset i = 0; i < count; i++) {
    MPI_Offset n = position + i;
    bool is_pair = type == extra->pairs;
    struct pair *pair = (struct pair *)memory + n / 2;
    uint64_t bits = 0;
    if (is_pair && n % 2 != 0) {
      if (out) memcpy(&bits, &pair->number, 8);
      if (!out) bits = get_element(outside + 8 * i);
      if (!out) memcpy(&pair->number, &bits, 8);
      if (out) put_element(outside + 8 * i, bits);
      continue;
    }
    int *whole = is_pair ? &pair->whole : (int *)memory + n;
    if (out) put_element(outside + 8 * i, (uint64_t)(int64_t)*whole);
    if (!out) *whole = (int)get_element(outside + 8 * i);
  }
  return MPI_SUCCESS;
}

static int convert_out(void *memory, MPI_Datatype type, int count, void *outside,
                       MPI_Offset position, void *extra) {
  return convert(memory, type, count, outside, position, extra, true);
}

static int convert_in(void *memory, MPI_Datatype type, int count, void *outside,
                      MPI_Offset position, void *extra) {
  return convert(memory, type, count, outside, position, extra, false);
}

static int convert_in_c(void *memory, MPI_Datatype type, MPI_Count count, void *outside,
                        MPI_Offset position, void *extra) {
  return convert(memory, type, count, outside, position, extra, false);
}

static void integers(void) {
  unsigned char raw[8 * EACH];
  MPI_Aint extent;
  MPI_Request request;
  open_file();
  MPI_File_set_size(file, 0);
  EXPECT(MPI_SUCCESS, MPI_File_set_view(file, 16, MPI_INT, MPI_INT, "eight bytes", MPI_INFO_NULL));
  EXPECT(MPI_SUCCESS, MPI_File_get_type_extent(file, MPI_INT, &extent));
  CHECK(extent == 8);
  for (int i = 0; i < EACH; i++) values[i] = i % 2 == 0 ? rank * EACH + i : -i;
  EXPECT(MPI_SUCCESS,
         MPI_File_write_at_all(file, (MPI_Offset)rank * EACH, values, EACH, MPI_INT, &status));
  CHECK(count_of(MPI_INT) == EACH);
  memset(got, 0, sizeof got);
  MPI_File_seek(file, (MPI_Offset)rank * EACH, MPI_SEEK_SET);
  EXPECT(MPI_SUCCESS, MPI_File_iread(file, got, EACH, MPI_INT, &request));
  MPI_Wait(&request, &status);
  CHECK(count_of(MPI_INT) == EACH && memcmp(got, values, sizeof got) == 0);
  MPI_File_iwrite_at(file, (MPI_Offset)rank * EACH, values, EACH, MPI_INT, &request);
  MPI_Wait(&request, &status);
  CHECK(count_of(MPI_INT) == EACH);
  /* by a function that takes large counts */
  EXPECT(MPI_SUCCESS, MPI_File_set_view(file, 16, MPI_INT, MPI_INT, "to read", MPI_INFO_NULL));
  memset(got, 0, sizeof got);
  MPI_File_read_at(file, (MPI_Offset)rank * EACH, got, EACH, MPI_INT, &status);
  CHECK(count_of(MPI_INT) == EACH && memcmp(got, values, sizeof got) == 0);
  EXPECT(MPI_SUCCESS, MPI_File_set_view(file, 16, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
  MPI_File_read_at(file, (MPI_Offset)rank * (MPI_Offset)sizeof raw, raw, sizeof raw, MPI_BYTE,
                   &status);
  for (int i = 0; i < EACH; i++) CHECK((int64_t)get_element(raw + 8 * i) == values[i]);
  MPI_File_close(&file);
}

/* The file ends in the middle of a pair's second element. */
static void pairs_of_types(void) {
  struct pair pairs[EACH] = {0}, read[EACH] = {0};
  MPI_Datatype bare, padded, both;
  int elements;
  MPI_Type_create_struct(2, (int[]){1, 1}, (MPI_Aint[]){0, offsetof(struct pair, number)},
                         (MPI_Datatype[]){MPI_INT, MPI_DOUBLE}, &bare);
  MPI_Type_create_resized(bare, 0, sizeof(struct pair), &calls.pairs);
  MPI_Type_create_struct(2, (int[]){1, 1}, (MPI_Aint[]){0, sizeof(int)},
                         (MPI_Datatype[]){MPI_INT, MPI_DOUBLE}, &padded);
  MPI_Type_create_resized(padded, 0, sizeof(int) + sizeof(double), &both); /* without a gap */
  MPI_Type_commit(&calls.pairs);
  MPI_Type_commit(&both);
  open_file();
  EXPECT(MPI_ERR_UNSUPPORTED_DATAREP,
         MPI_File_set_view(file, 0, calls.pairs, calls.pairs, "eight bytes", MPI_INFO_NULL));
  EXPECT(MPI_SUCCESS, MPI_File_set_view(file, 0, both, both, "eight bytes", MPI_INFO_NULL));
  for (int i = 0; i < EACH; i++) pairs[i] = (struct pair){i - rank, i / 3.0};
  MPI_File_write_at(file, (MPI_Offset)rank * EACH, pairs, EACH, calls.pairs, &status);
  CHECK(count_of(calls.pairs) == EACH);
  MPI_File_set_size(file, ((MPI_Offset)size * EACH - 1) * 16 + 12);
  calls.calls = 0;
  MPI_File_read_at_all(file, (MPI_Offset)rank * EACH, read, EACH, calls.pairs, &status);
  MPI_Get_elements(&status, calls.pairs, &elements);
  CHECK(calls.calls == 1 && elements == 2 * EACH - (rank == size - 1));
  for (int i = 0; i < EACH - 1; i++)
    CHECK(read[i].whole == pairs[i].whole && read[i].number == pairs[i].number);
  CHECK(read[EACH - 1].whole == pairs[EACH - 1].whole);
  CHECK(read[EACH - 1].number == (rank == size - 1 ? 0 : pairs[EACH - 1].number));
  MPI_File_close(&file);
  MPI_Type_free(&bare);
  MPI_Type_free(&padded);
  MPI_Type_free(&both);
  MPI_Type_free(&calls.pairs);
}

/* The file ends after some of the numbers of two pairs: what is there as a whole is read by one
 * call, and none is made for nothing. */
static void ends_of_pairs(void) {
  struct pair read[2];
  int elements;
  MPI_Datatype bare;
  MPI_File own;
  MPI_Type_create_struct(2, (int[]){1, 1}, (MPI_Aint[]){0, offsetof(struct pair, number)},
                         (MPI_Datatype[]){MPI_INT, MPI_DOUBLE}, &bare);
  MPI_Type_create_resized(bare, 0, sizeof(struct pair), &calls.pairs);
  MPI_Type_commit(&calls.pairs);
  CHECK(MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_RDWR, MPI_INFO_NULL, &own) == MPI_SUCCESS);
  MPI_File_set_view(own, 0, MPI_INT, MPI_INT, "eight bytes", MPI_INFO_NULL);
  for (int bytes = 0; bytes <= 40; bytes += 4) {
    int whole = bytes / 8 < 4 ? bytes / 8 : 4;
    MPI_File_set_size(own, bytes);
    memset(read, 7, sizeof read);
    calls.calls = 0;
    EXPECT(MPI_SUCCESS, MPI_File_read_at(own, 0, read, 2, calls.pairs, &status));
    MPI_Get_elements(&status, calls.pairs, &elements);
    CHECK(elements == whole && calls.calls == (whole > 0));
    for (int i = 0; i < 2; i++) {
      CHECK(read[i].whole == (whole > 2 * i ? 0 : 0x07070707));
      CHECK((read[i].number == 0) == (whole > 2 * i + 1));
    }
  }
  MPI_File_close(&own);
  MPI_Type_free(&bare);
  MPI_Type_free(&calls.pairs);
}

static int one_byte(MPI_Datatype type, MPI_Aint *extent, void *extra) {
  (void)type, (void)extra;
  *extent = 1;
  return MPI_SUCCESS;
}

static int turn_in(void *memory, MPI_Datatype type, int count, void *outside, MPI_Offset position,
                   void *extra) {
  char *to = memory, *from = outside;
  (void)type, (void)extra;
  for (MPI_Offset i = position; i < position + count; i++) to[i] = (char)~from[i - position];
  return MPI_SUCCESS;
}

static int turn_out(void *memory, MPI_Datatype type, int count, void *outside, MPI_Offset position,
                    void *extra) {
  char *from = memory, *to = outside;
  (void)type, (void)extra;
  for (MPI_Offset i = position; i < position + count; i++) to[i - position] = (char)~from[i];
  return MPI_SUCCESS;
}

/* Elements that have one byte in the file end with it. */
static void one_byte_each(void) {
  char text[] = "0123456789", read[sizeof text];
  MPI_File own;
  CHECK(MPI_Register_datarep("turned", turn_in, turn_out, one_byte, NULL) == MPI_SUCCESS);
  CHECK(MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_RDWR, MPI_INFO_NULL, &own) == MPI_SUCCESS);
  for (int bytes = 0; bytes <= 10; bytes++) {
    MPI_File_set_view(own, 0, MPI_CHAR, MPI_CHAR, "turned", MPI_INFO_NULL);
    MPI_File_set_size(own, 0);
    MPI_File_write_at(own, 0, text, bytes, MPI_CHAR, &status);
    CHECK(count_of(MPI_CHAR) == bytes);
    memset(read, '#', sizeof read);
    MPI_File_read_at(own, 0, read, 10, MPI_CHAR, &status);
    CHECK(count_of(MPI_CHAR) == bytes && memcmp(read, text, (size_t)bytes) == 0);
    for (int i = bytes; i < 10; i++) CHECK(read[i] == '#');
    MPI_File_set_view(own, 0, MPI_CHAR, MPI_CHAR, "native", MPI_INFO_NULL);
    MPI_File_read_at(own, 0, read, 10, MPI_CHAR, &status);
    for (int i = 0; i < bytes; i++) CHECK(read[i] == (char)~text[i]);
  }
  MPI_File_close(&own);
}

/* Numbers that take 4 bytes in memory have 8 in the file, and fit into no file. */
static void too_many(void) {
  const MPI_Count fit = INT64_MAX / 8, most = INT64_MAX / 4;
  open_file();
  MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "eight bytes", MPI_INFO_NULL);
  EXPECT(MPI_ERR_COUNT, MPI_File_read_at_c(file, 0, got, fit + 1, MPI_INT, &status));
  EXPECT(MPI_ERR_COUNT, MPI_File_read_at_c(file, 0, got, most, MPI_INT, &status));
  MPI_File_close(&file);
}

static void names(void) {
  char name[MPI_MAX_DATAREP_STRING + 1], found[MPI_MAX_DATAREP_STRING];
  MPI_Offset disp;
  MPI_Datatype etype, filetype;
  memset(name, 'n', sizeof name);
  name[MPI_MAX_DATAREP_STRING] = '\0';
  EXPECT(MPI_ERR_ARG, MPI_Register_datarep(name, NULL, NULL, eight_bytes, &calls));
  name[MPI_MAX_DATAREP_STRING - 1] = '\0';
  EXPECT(MPI_SUCCESS, MPI_Register_datarep(name, convert_in, convert_out, eight_bytes, &calls));
  EXPECT(MPI_ERR_DUP_DATAREP, MPI_Register_datarep(name, NULL, NULL, eight_bytes, &calls));
  EXPECT(MPI_ERR_DUP_DATAREP, MPI_Register_datarep("internal", NULL, NULL, eight_bytes, NULL));
  EXPECT(MPI_ERR_DUP_DATAREP, MPI_Register_datarep("external32", NULL, NULL, eight_bytes, NULL));
  open_file();
  EXPECT(MPI_SUCCESS, MPI_File_set_view(file, 0, MPI_INT, MPI_INT, name, MPI_INFO_NULL));
  MPI_File_get_view(file, &disp, &etype, &filetype, found);
  CHECK(strcmp(found, name) == 0);
  name[1] = '\0'; /* the first characters alone */
  EXPECT(MPI_ERR_UNSUPPORTED_DATAREP,
         MPI_File_set_view(file, 0, MPI_INT, MPI_INT, name, MPI_INFO_NULL));
  MPI_File_close(&file);
}

static void failures(void) {
  open_file();
  MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "eight bytes", MPI_INFO_NULL);
  calls.fails = 1;
  EXPECT(MPI_ERR_CONVERSION, MPI_File_write_at(file, 0, values, 1, MPI_INT, &status));
  EXPECT(MPI_ERR_CONVERSION, MPI_File_read_at(file, 0, values, 1, MPI_INT, &status));
  calls.fails = 0;
  MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "to read", MPI_INFO_NULL);
  EXPECT(MPI_SUCCESS, MPI_File_read_at(file, 0, got, 1, MPI_INT, &status));
  EXPECT(MPI_ERR_CONVERSION, MPI_File_write_at(file, 0, values, 1, MPI_INT, &status));
  EXPECT(MPI_ERR_CONVERSION,
         MPI_File_set_view(file, 0, MPI_SHORT, MPI_SHORT, "eight bytes", MPI_INFO_NULL));
  MPI_File_close(&file);
}

static void run_all(void) {
  EXPECT(MPI_ERR_ARG, MPI_Register_datarep("own", NULL, NULL, NULL, NULL));
  EXPECT(MPI_ERR_ARG, MPI_Register_datarep("", NULL, NULL, eight_bytes, NULL));
  EXPECT(MPI_ERR_DUP_DATAREP, MPI_Register_datarep("native", NULL, NULL, eight_bytes, NULL));
  EXPECT(MPI_SUCCESS,
         MPI_Register_datarep("eight bytes", convert_in, convert_out, eight_bytes, &calls));
  EXPECT(MPI_ERR_DUP_DATAREP,
         MPI_Register_datarep("eight bytes", convert_in, convert_out, eight_bytes, &calls));
  EXPECT(MPI_SUCCESS, MPI_Register_datarep_c("to read", convert_in_c, MPI_CONVERSION_FN_NULL_C,
                                             eight_bytes, &calls));
  EXPECT(MPI_ERR_ARG, MPI_Register_datarep("own", NULL, NULL, NULL, NULL));
  EXPECT(MPI_ERR_ARG, MPI_Register_datarep("", NULL, NULL, eight_bytes, NULL));
  EXPECT(MPI_ERR_DUP_DATAREP, MPI_Register_datarep("native", NULL, NULL, eight_bytes, NULL));
  integers();
  pairs_of_types();
  too_many();
  names();
  failures();
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) ends_of_pairs();
  if (rank == 0) one_byte_each();
}

int main(int argc, char **argv) {
  rank = check_start(&argc, &argv, &size);
  const char *folder = getenv("TMPDIR");
  snprintf(path, sizeof path, "%s/tmpi-datarep-%d", folder != NULL ? folder : "/tmp",
           (int)getpid());
  MPI_Bcast(path, sizeof path, MPI_CHAR, 0, MPI_COMM_WORLD); /* of rank 0's node */
  run_all();
  if (rank == 0) EXPECT(MPI_SUCCESS, MPI_File_delete(path, MPI_INFO_NULL));
  MPI_Finalize();
  return 0;
}
