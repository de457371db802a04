/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files: all ranks write through random views, by calls that each draws for itself, and read what
 * others have written. The file lies in TMPDIR, else in /tmp.
 *
 * Its numbers: HEADER that nobody writes, then stripes, which belong to the ranks in turn. Another
 * part of a round writes records by the shared pointer, in any order or in that of the ranks.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "soak.h"

enum {
  HEADER = 5,
  STRIPE_MAX = 50,
  NUMBERS_MAX = 600,
  PIECE_MAX = 200,
  RECORD = 7,
  RECORDS_MAX = 20
};

/* How a rank accesses a piece; then forms of which all ranks have to use the same. */
enum way {
  AT,
  POINTER,
  START_AT,
  START_POINTER,
  WAYS_ALONE,
  AT_ALL = WAYS_ALONE,
  POINTER_ALL,
  SPLIT_ALL,
  START_ALL,
  WAYS
};

struct files {
  MPI_Comm comm;
  int rank, size;
  MPI_File file;
  char name[256];
  int stripe, count, kind; /* numbers of a stripe, and of each rank; kind of the file type */
};

static int number(int rank, int i) { return rank * 1000003 + i * 17 + 1; }

/* The place of a rank's number in the file. */
static int place(const struct files *f, int rank, int i) {
  return HEADER + (i / f->stripe * f->size + rank) * f->stripe + i % f->stripe;
}

static void expect(bool right, const struct files *f, const char *what) {
  if (!right) fail("%s: %s", f->name, what);
}

/* ---- views */

static MPI_Datatype stripe_type(const struct files *f) {
  MPI_Datatype stripe, type;
  int all = f->stripe * f->size, first = f->rank * f->stripe;
  if (f->kind == 0) { /* of the stripe alone, as long as a row of stripes */
    MPI_Type_contiguous(f->stripe, MPI_INT, &stripe);
    MPI_Type_create_resized(stripe, 0, all * (MPI_Aint)sizeof(int), &type);
    MPI_Type_free(&stripe);
  } else if (f->kind == 1) {
    MPI_Type_create_subarray(1, &all, &f->stripe, &first, MPI_ORDER_C, MPI_INT, &type);
  } else {
    MPI_Type_create_darray(f->size, f->rank, 1, &all, (int[]){MPI_DISTRIBUTE_BLOCK},
                           (int[]){MPI_DISTRIBUTE_DFLT_DARG}, &f->size, MPI_ORDER_C, MPI_INT,
                           &type);
  }
  MPI_Type_commit(&type);
  return type;
}

static void set_view(struct files *f, bool whole) {
  MPI_Datatype type = whole ? MPI_INT : stripe_type(f);
  int skipped = HEADER + (f->kind == 0 && !whole ? f->rank * f->stripe : 0);
  MPI_File_set_view(f->file, skipped * (MPI_Offset)sizeof(int), MPI_INT, type, "native",
                    MPI_INFO_NULL);
  if (!whole) MPI_Type_free(&type);
}

/* ---- pieces. Numbers lie together in memory, or every second place has one. */

struct piece {
  bool writes;
  int at, count, spread;
  MPI_Datatype type;
  int memory[2 * PIECE_MAX];
};

static void piece_make(struct piece *p, bool writes, int at, int count, uint64_t *chance) {
  p->writes = writes;
  p->at = at;
  p->count = count;
  p->spread = 1 + draw_below(chance, 2);
  MPI_Type_vector(count, 1, p->spread, MPI_INT, &p->type);
  MPI_Type_commit(&p->type);
  memset(p->memory, 0x55, sizeof p->memory);
}

static void complete(MPI_Request *request, MPI_Status *status) {
  int flag = 0;
  MPI_Test(request, &flag, status);
  if (!flag) MPI_Wait(request, status);
}

static void write_piece(MPI_File file, struct piece *p, enum way way, MPI_Status *status) {
  MPI_Request request;
  int *memory = p->memory;
  switch (way) {
    case AT: MPI_File_write_at(file, p->at, memory, 1, p->type, status); return;
    case POINTER: MPI_File_write(file, memory, 1, p->type, status); return;
    case START_AT: MPI_File_iwrite_at(file, p->at, memory, 1, p->type, &request); break;
    case START_POINTER: MPI_File_iwrite(file, memory, 1, p->type, &request); break;
    case AT_ALL: MPI_File_write_at_all(file, p->at, memory, 1, p->type, status); return;
    case POINTER_ALL: MPI_File_write_all(file, memory, 1, p->type, status); return;
    case SPLIT_ALL:
      MPI_File_write_at_all_begin(file, p->at, memory, 1, p->type);
      MPI_File_write_at_all_end(file, memory, status);
      return;
    default: MPI_File_iwrite_all(file, memory, 1, p->type, &request);
  }
  complete(&request, status);
}

static void read_piece(MPI_File file, struct piece *p, enum way way, MPI_Status *status) {
  MPI_Request request;
  int *memory = p->memory;
  switch (way) {
    case AT: MPI_File_read_at(file, p->at, memory, 1, p->type, status); return;
    case POINTER: MPI_File_read(file, memory, 1, p->type, status); return;
    case START_AT: MPI_File_iread_at(file, p->at, memory, 1, p->type, &request); break;
    case START_POINTER: MPI_File_iread(file, memory, 1, p->type, &request); break;
    case AT_ALL: MPI_File_read_at_all(file, p->at, memory, 1, p->type, status); return;
    case POINTER_ALL: MPI_File_read_all(file, memory, 1, p->type, status); return;
    case SPLIT_ALL:
      MPI_File_read_at_all_begin(file, p->at, memory, 1, p->type);
      MPI_File_read_at_all_end(file, memory, status);
      return;
    default: MPI_File_iread_all(file, memory, 1, p->type, &request);
  }
  complete(&request, status);
}

/* All numbers of the view, piece by piece. together: the same pieces on all ranks, by collective
 * calls. */
static void access_all(struct files *f, bool writes, int count, bool together, uint64_t *same,
                       uint64_t *chance, int value(const struct files *, int)) {
  struct piece *p = malloc(sizeof *p);
  if (p == NULL) fail("no memory");
  uint64_t *by = together ? same : chance;
  MPI_File_seek(f->file, 0, MPI_SEEK_SET);
  for (int at = 0; at < count; at += p->count) {
    int left = count - at, most = left < PIECE_MAX ? left : PIECE_MAX, moved;
    int length = 1 + draw_below(by, most);
    enum way way = (enum way)draw_below(by, WAYS_ALONE);
    if (together) way = (enum way)(AT_ALL + draw_below(by, WAYS - AT_ALL));
    bool uses_pointer =
        way == POINTER || way == START_POINTER || way == POINTER_ALL || way == START_ALL;
    MPI_Status status;
    piece_make(p, writes, at, length, chance);
    for (int i = 0; i < length && writes; i++) p->memory[i * p->spread] = value(f, at + i);
    if (writes)
      write_piece(f->file, p, way, &status);
    else
      read_piece(f->file, p, way, &status);
    if (!uses_pointer) MPI_File_seek(f->file, length, MPI_SEEK_CUR);
    MPI_Get_count(&status, MPI_INT, &moved);
    expect(moved == length, f, "not all was moved");
    for (int i = 0; i < length && !writes; i++)
      expect(p->memory[i * p->spread] == value(f, at + i), f, "another number was read");
    MPI_Type_free(&p->type);
  }
  free(p);
}

static int own(const struct files *f, int i) { return number(f->rank, i); }

/* Number i after the header; what the last row of stripes has no number for is a hole. */
static int of_all(const struct files *f, int i) {
  int row = i / (f->stripe * f->size), rank = i / f->stripe % f->size;
  int index = row * f->stripe + i % f->stripe;
  return index < f->count ? number(rank, index) : 0;
}

static void stripes(struct files *f, uint64_t *same, uint64_t *chance) {
  int last = place(f, f->size - 1, f->count - 1) + 1;
  MPI_Offset bytes;
  set_view(f, false);
  access_all(f, true, f->count, draw_below(same, 2) == 0, same, chance, own);
  MPI_Barrier(f->comm);
  MPI_File_get_size(f->file, &bytes);
  expect(bytes == last * (MPI_Offset)sizeof(int), f, "the file has another size");
  set_view(f, true);
  access_all(f, false, last - HEADER, draw_below(same, 2) == 0, same, chance, of_all);
  set_view(f, false);
  access_all(f, false, f->count, draw_below(same, 2) == 0, same, chance, own);
}

/* ---- the shared pointer */

static void write_record(struct files *f, int record, bool ordered, int way) {
  int memory[RECORD];
  MPI_Request request;
  MPI_Status status;
  for (int i = 0; i < RECORD; i++) memory[i] = number(f->rank, record * RECORD + i);
  if (ordered && way == 0) {
    MPI_File_write_ordered(f->file, memory, RECORD, MPI_INT, &status);
  } else if (ordered) {
    MPI_File_write_ordered_begin(f->file, memory, RECORD, MPI_INT);
    MPI_File_write_ordered_end(f->file, memory, &status);
  } else if (way == 0) {
    MPI_File_write_shared(f->file, memory, RECORD, MPI_INT, &status);
  } else {
    MPI_File_iwrite_shared(f->file, memory, RECORD, MPI_INT, &request);
    complete(&request, &status);
  }
}

/* The records of each rank are in the file in their order; ordered ones also in that of the ranks.
 */
static void check_records(struct files *f, int count, bool ordered) {
  int next[RANKS_MAX] = {0}, memory[RECORD], moved;
  MPI_Status status;
  MPI_File_seek_shared(f->file, 0, MPI_SEEK_SET);
  MPI_Barrier(f->comm);
  for (int i = 0; i < count * f->size; i++) {
    MPI_File_read_at(f->file, (MPI_Offset)i * RECORD, memory, RECORD, MPI_INT, &status);
    MPI_Get_count(&status, MPI_INT, &moved);
    expect(moved == RECORD, f, "a record is missing");
    int rank = memory[0] / 1000003;
    expect(rank >= 0 && rank < f->size && (!ordered || rank == i % f->size), f,
           "a record is of another rank");
    for (int j = 0; j < RECORD; j++)
      expect(memory[j] == number(rank, next[rank] * RECORD + j), f, "a record is another");
    next[rank]++;
  }
  MPI_File_read_at(f->file, (MPI_Offset)count * f->size * RECORD, memory, 1, MPI_INT, &status);
  MPI_Get_count(&status, MPI_INT, &moved);
  expect(moved == 0, f, "there is a record too many");
  MPI_Barrier(f->comm);
}

static void records(struct files *f, uint64_t *same, uint64_t *chance) {
  bool ordered = draw_below(same, 2) == 0;
  int count = 1 + draw_below(same, RECORDS_MAX);
  MPI_File_set_size(f->file, 0);
  MPI_File_set_view(f->file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
  for (int i = 0; i < count; i++)
    write_record(f, i, ordered, ordered ? draw_below(same, 2) : draw_below(chance, 2));
  MPI_Barrier(f->comm);
  check_records(f, count, ordered);
}

void file_round(const struct world *world, uint64_t seed, uint64_t *chance) {
  uint64_t *same = &seed;
  int c = draw_below(same, COMMS);
  struct files files = {.comm = world->comms[c], .rank = world->ranks[c], .size = world->sizes[c]};
  struct files *f = &files;
  const char *folder = getenv("TMPDIR");
  int part = world->world_rank; /* a communicator that is split has a file for each part */
  MPI_Bcast(&part, 1, MPI_INT, 0, f->comm);
  snprintf(f->name, sizeof f->name, "%.200s/soak-%d-%d", folder != NULL ? folder : "/tmp",
           (int)getpid(), part);
  f->stripe = 1 + draw_below(same, STRIPE_MAX);
  f->count = 1 + draw_below(same, NUMBERS_MAX);
  f->kind = draw_below(same, 3);
  int amode = MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE;
  if (MPI_File_open(f->comm, f->name, amode, MPI_INFO_NULL, &f->file) != MPI_SUCCESS)
    fail("%s: cannot be opened", f->name);
  MPI_File_set_errhandler(f->file, MPI_ERRORS_ARE_FATAL);
  MPI_File_set_atomicity(f->file, draw_below(same, 3) == 0);
  stripes(f, same, chance);
  if (draw_below(same, 2) == 0) records(f, same, chance);
  MPI_File_close(&f->file);
}
