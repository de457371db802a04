/* SPDX-License-Identifier: Apache-2.0 */
/* Collectives that move data, with types that differ between sender and receiver: elements that
 * begin behind their bound or before their address, descend, or lie between each other. The result
 * is what MPI_Pack() and MPI_Unpack() make of the same blocks, and nothing else is written. */
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { TYPES = 5, INTS = 6, MOST_RANKS = 8, MOST_BYTES = 108, MARGIN = 256 };

enum op {
  BCAST,
  GATHER,
  GATHERV,
  SCATTER,
  SCATTERV,
  ALLGATHER,
  ALLGATHERV,
  ALLTOALL,
  ALLTOALLV,
  ALLTOALLW,
  PLACED_GATHER,
  PLACED_SCATTER,
  PLACED_ALLGATHER,
  PLACED_ALLTOALL,
  OPS
};

static const char *const names[OPS] = {"bcast",
                                       "gather",
                                       "gatherv",
                                       "scatter",
                                       "scatterv",
                                       "allgather",
                                       "allgatherv",
                                       "alltoall",
                                       "alltoallv",
                                       "alltoallw",
                                       "gather in place",
                                       "scatter in place",
                                       "allgather in place",
                                       "alltoall in place"};

static int rank, size;

/* Elements of each type in a block, and all blocks of each rank. */
static struct {
  MPI_Datatype types[TYPES];
  MPI_Aint extents[TYPES];
  int counts[TYPES], bytes;
  char *packed[TYPES][MOST_RANKS];
} all;

static size_t half; /* of a buffer: addresses of elements are behind and before */
static char *out, *in, *want;

static void fill(char *buffer, int of) {
  for (size_t i = 0; i < 2 * half; i++) buffer[i] = (char)(of * 57 + (int)(i * 7 + i / 256));
}

static void make_types(int factor) {
  static const int ints[TYPES] = {3, 2, 2, 1, 1};
  const int elements = size * INTS * factor / 2;
  MPI_Datatype part;
  MPI_Type_indexed(2, (int[]){2, 1}, (int[]){3, 7}, MPI_INT, &all.types[0]);
  MPI_Type_create_hindexed(2, (int[]){1, 1}, (MPI_Aint[]){-24, 8}, MPI_INT, &all.types[1]);
  MPI_Type_vector(2, 1, elements, MPI_INT, &part);
  MPI_Type_create_resized(part, 0, 4, &all.types[2]); /* a column of two rows */
  MPI_Type_free(&part);
  MPI_Type_create_resized(MPI_INT, 0, -8, &all.types[3]);
  MPI_Type_create_resized(MPI_INT, -4, 12, &all.types[4]);
  all.bytes = INTS * factor * 4;
  for (int i = 0; i < TYPES; i++) {
    MPI_Aint lb;
    MPI_Type_commit(&all.types[i]);
    MPI_Type_get_extent(all.types[i], &lb, &all.extents[i]);
    all.counts[i] = INTS * factor / ints[i];
  }
}

static void prepare(int factor) {
  half = (size_t)MOST_BYTES * (size_t)factor * (size_t)size + MARGIN;
  out = malloc(2 * half);
  in = malloc(2 * half);
  want = malloc(2 * half);
  CHECK(out != NULL && in != NULL && want != NULL);
  make_types(factor);
  for (int s = 0; s < size; s++) {
    fill(out, s);
    for (int i = 0; i < TYPES; i++) {
      int at = 0;
      all.packed[i][s] = malloc((size_t)all.bytes * (size_t)size);
      CHECK(all.packed[i][s] != NULL);
      MPI_Pack(out + half, all.counts[i] * size, all.types[i], all.packed[i][s], all.bytes * size,
               &at, MPI_COMM_SELF);
      CHECK(at == all.bytes * size);
    }
  }
  fill(out, rank);
}

static void release(void) {
  for (int i = 0; i < TYPES; i++) {
    MPI_Type_free(&all.types[i]);
    for (int s = 0; s < size; s++) free(all.packed[i][s]);
  }
  free(out);
  free(in);
  free(want);
}

/* A block of a rank, of type i, comes to a place of this rank's, of type j. */
static void comes(int i, int from, int block, int j, int place) {
  int at = 0;
  MPI_Unpack(all.packed[i][from] + block * all.bytes, all.bytes, &at,
             want + half + place * all.counts[j] * all.extents[j], all.counts[j], all.types[j],
             MPI_COMM_SELF);
}

static void expect(enum op op, int i, int j, int root) {
  for (int s = 0; s < size; s++) switch (op) {
      case BCAST:
        if (s == root && rank != root) comes(i, s, 0, j, 0);
        break;
      case GATHER:
        if (rank == root) comes(i, s, 0, j, s);
        break;
      case GATHERV:
        if (rank == root) comes(i, s, 0, j, size - 1 - s);
        break;
      case SCATTER:
        if (s == root) comes(i, s, rank, j, 0);
        break;
      case SCATTERV:
        if (s == root) comes(i, s, size - 1 - rank, j, 0);
        break;
      case ALLGATHER: comes(i, s, 0, j, s); break;
      case ALLGATHERV: comes(i, s, 0, j, size - 1 - s); break;
      case ALLTOALL: comes(i, s, rank, j, s); break;
      case ALLTOALLV:
      case ALLTOALLW: comes(i, s, size - 1 - rank, j, size - 1 - s); break;
      case PLACED_GATHER:
        if (rank == root && s != root) comes(i, s, 0, j, s);
        break;
      case PLACED_SCATTER:
        if (s == root && rank != root) comes(i, s, rank, j, 0);
        break;
      case PLACED_ALLGATHER:
        if (s != rank) comes(j, s, s, j, s);
        break;
      default: comes(j, s, rank, j, s); break;
    }
}

/* With a request, that is to be waited for, or without. */
#define CALL(name, small, ...)                                                                     \
  do {                                                                                             \
    if (request != NULL)                                                                           \
      MPI_I##small(__VA_ARGS__, comm, request);                                                    \
    else                                                                                           \
      MPI_##name(__VA_ARGS__, comm);                                                               \
  } while (0)

static void call(enum op op, int i, int j, int root, MPI_Request *request) {
  const MPI_Comm comm = MPI_COMM_WORLD;
  const MPI_Datatype from = all.types[i], to = all.types[j];
  const int n = all.counts[i], m = all.counts[j];
  void *own = out + half, *place = in + half, *placed = MPI_IN_PLACE;
  int ns[MOST_RANKS], ms[MOST_RANKS], froms[MOST_RANKS], tos[MOST_RANKS];
  int from_bytes[MOST_RANKS], to_bytes[MOST_RANKS];
  MPI_Datatype from_types[MOST_RANKS], to_types[MOST_RANKS];
  for (int s = 0; s < size; s++) {
    ns[s] = n;
    ms[s] = m;
    froms[s] = (size - 1 - s) * n;
    tos[s] = (size - 1 - s) * m;
    from_bytes[s] = froms[s] * (int)all.extents[i];
    to_bytes[s] = tos[s] * (int)all.extents[j];
    from_types[s] = from;
    to_types[s] = to;
  }
  switch (op) {
    case BCAST:
      if (rank == root)
        CALL(Bcast, bcast, own, n, from, root);
      else
        CALL(Bcast, bcast, place, m, to, root);
      break;
    case GATHER: CALL(Gather, gather, own, n, from, place, m, to, root); break;
    case GATHERV: CALL(Gatherv, gatherv, own, n, from, place, ms, tos, to, root); break;
    case SCATTER: CALL(Scatter, scatter, own, n, from, place, m, to, root); break;
    case SCATTERV: CALL(Scatterv, scatterv, own, ns, froms, from, place, m, to, root); break;
    case ALLGATHER: CALL(Allgather, allgather, own, n, from, place, m, to); break;
    case ALLGATHERV: CALL(Allgatherv, allgatherv, own, n, from, place, ms, tos, to); break;
    case ALLTOALL: CALL(Alltoall, alltoall, own, n, from, place, m, to); break;
    case ALLTOALLV: CALL(Alltoallv, alltoallv, own, ns, froms, from, place, ms, tos, to); break;
    case ALLTOALLW:
      CALL(Alltoallw, alltoallw, own, ns, from_bytes, from_types, place, ms, to_bytes, to_types);
      MPI_Barrier(comm);
      if (request != NULL) MPI_Wait(request, MPI_STATUS_IGNORE); /* the arrays end here */
      break;
    case PLACED_GATHER:
      CALL(Gather, gather, rank == root ? placed : own, n, from, place, m, to, root);
      break;
    case PLACED_SCATTER:
      CALL(Scatter, scatter, own, n, from, rank == root ? placed : place, m, to, root);
      break;
    case PLACED_ALLGATHER: CALL(Allgather, allgather, placed, 0, from, place, m, to); break;
    default: CALL(Alltoall, alltoall, placed, 0, from, place, m, to); break;
  }
}

static void compare(enum op op, int i, int j, int root, int with_request) {
  MPI_Request request = MPI_REQUEST_NULL;
  if (op >= PLACED_GATHER)
    memcpy(in, out, 2 * half);
  else
    memset(in, '#', 2 * half);
  memcpy(want, in, 2 * half);
  expect(op, i, j, root);
  call(op, i, j, root, with_request ? &request : NULL);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (memcmp(in, want, 2 * half) == 0) return;
  fprintf(stderr, "%s of %d bytes from type %d to %d, root %d%s\n", names[op], all.bytes, i, j,
          root, with_request ? ", with a request" : "");
  CHECK(memcmp(in, want, 2 * half) == 0);
}

int main(int argc, char **argv) {
  static const int factors[] = {1, 20, 800};
  rank = check_start(&argc, &argv, &size);
  CHECK(size <= MOST_RANKS);
  for (int f = 0; f < 3; f++) {
    prepare(factors[f]);
    for (int op = 0; op < OPS; op++)
      for (int i = 0; i < TYPES; i++)
        for (int j = 0; j < TYPES; j++)
          if (f == 0 || j == (i + f) % TYPES)
            for (int form = 0; form < 2; form++) compare((enum op)op, i, j, (i + j) % size, form);
    release();
  }
  MPI_Finalize();
  return 0;
}
