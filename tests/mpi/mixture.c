/* SPDX-License-Identifier: Apache-2.0 */
/* A mixture of collectives, of few bytes and many, on several communicators, while nonblocking ones
 * of the same are under way: all ranks draw the same numbers, so that each knows the results. */
#include <string.h>

#include "check.h"

enum { STEPS = 400, MOST = 3000, COMMS = 3 };

static unsigned state = 1;
static int rank, size;         /* in the communicator of the step */
static long *own, *got, *wide; /* MOST elements; a part for each rank */
static MPI_Datatype pairs;     /* two longs, and a gap */

static unsigned draw(unsigned below) {
  state = state * 1664525 + 1013904223;
  return (state >> 8) % below;
}

static long value(int of, int index, unsigned salt) { return of * 1000003L + index * 17L + salt; }

static long sum(int index, unsigned salt) {
  long total = 0;
  for (int r = 0; r < size; r++) total += value(r, index, salt);
  return total;
}

static void fill(long *to, int count, unsigned salt) {
  for (int i = 0; i < count; i++) to[i] = value(rank, i, salt);
}

static int count_drawn(void) {
  unsigned kind = draw(3);
  return (int)(kind == 0 ? draw(4) : kind == 1 ? draw(40) : draw(MOST));
}

/* ---- one collective each */

static void reduce(MPI_Comm comm, unsigned salt) {
  int count = count_drawn(), root = (int)draw((unsigned)size), way = (int)draw(4);
  fill(own, count, salt);
  if (way == 0) {
    MPI_Allreduce(own, got, count, MPI_LONG, MPI_SUM, comm);
  } else if (way == 1) {
    memcpy(got, own, (size_t)count * sizeof *own);
    MPI_Allreduce(MPI_IN_PLACE, got, count, MPI_LONG, MPI_SUM, comm);
  } else if (way == 2) {
    MPI_Reduce(own, got, count, MPI_LONG, MPI_SUM, root, comm);
  } else {
    memcpy(got, own, (size_t)count * sizeof *own);
    MPI_Reduce(rank == root ? MPI_IN_PLACE : got, got, count, MPI_LONG, MPI_SUM, root, comm);
  }
  for (int i = 0; i < count && (way < 2 || rank == root); i++) CHECK(got[i] == sum(i, salt));
}

static void reduce_scatter(MPI_Comm comm, unsigned salt) {
  int count = (int)draw(20), in_place = (int)draw(2);
  fill(wide, count * size, salt);
  MPI_Reduce_scatter_block(in_place ? MPI_IN_PLACE : wide, in_place ? wide : got, count, MPI_LONG,
                           MPI_SUM, comm);
  for (int i = 0; i < count; i++) CHECK((in_place ? wide : got)[i] == sum(rank * count + i, salt));
}

static void bcast(MPI_Comm comm, unsigned salt) {
  int count = count_drawn(), root = (int)draw((unsigned)size);
  if (rank == root) fill(got, count, salt);
  MPI_Bcast(got, count, MPI_LONG, root, comm);
  for (int i = 0; i < count; i++) CHECK(got[i] == value(root, i, salt));
}

/* What is sent has gaps, what comes has none. */
static void typed_bcast(MPI_Comm comm, unsigned salt) {
  int count = count_drawn() / 3, root = (int)draw((unsigned)size);
  if (rank == root) fill(got, 3 * count, salt);
  if (rank == root)
    MPI_Bcast(got, count, pairs, root, comm);
  else
    MPI_Bcast(got, 2 * count, MPI_LONG, root, comm);
  for (int i = 0; i < 2 * count && rank != root; i++)
    CHECK(got[i] == value(root, i / 2 * 3 + i % 2 * 2, salt));
}

static void gather(MPI_Comm comm, unsigned salt) {
  int count = (int)draw(60), root = (int)draw((unsigned)size), all = (int)draw(2);
  fill(own, count, salt);
  if (all)
    MPI_Allgather(own, count, MPI_LONG, wide, count, MPI_LONG, comm);
  else
    MPI_Gather(own, count, MPI_LONG, wide, count, MPI_LONG, root, comm);
  for (int i = 0; i < count * size && (all || rank == root); i++)
    CHECK(wide[i] == value(i / count, i % count, salt));
  if (all) return;
  MPI_Scatter(wide, count, MPI_LONG, rank == root ? MPI_IN_PLACE : got, count, MPI_LONG, root,
              comm);
  for (int i = 0; i < count && rank != root; i++) CHECK(got[i] == value(rank, i, salt));
}

static void alltoall(MPI_Comm comm, unsigned salt) {
  int count = (int)draw(30), in_place = (int)draw(2);
  long *from = in_place ? got : own;
  fill(from, count * size, salt);
  MPI_Alltoall(in_place ? MPI_IN_PLACE : own, count, MPI_LONG, got, count, MPI_LONG, comm);
  for (int i = 0; i < count * size; i++)
    CHECK(got[i] == value(i / count, rank * count + i % count, salt));
}

static void step(MPI_Comm comm, unsigned salt) {
  static void (*const all[])(MPI_Comm, unsigned) = {reduce,      reduce, reduce_scatter, bcast,
                                                    typed_bcast, gather, alltoall};
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  unsigned which = draw(sizeof all / sizeof all[0]);
  if (draw(8) == 0) MPI_Barrier(comm);
  all[which](comm, salt);
}

int main(int argc, char **argv) {
  int world_size, world_rank = check_start(&argc, &argv, &world_size);
  MPI_Comm comms[COMMS] = {MPI_COMM_WORLD, MPI_COMM_NULL, MPI_COMM_NULL};
  MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
  MPI_Comm_split(MPI_COMM_WORLD, world_rank % 3, -world_rank, &comms[2]);
  own = calloc(MOST * 2, sizeof *own);
  got = calloc(MOST * 2, sizeof *got);
  wide = calloc((size_t)world_size * 60, sizeof *wide);
  MPI_Datatype gapped;
  MPI_Type_vector(2, 1, 2, MPI_LONG, &gapped); /* 0 and 2 of three */
  MPI_Type_create_resized(gapped, 0, 3 * sizeof(long), &pairs);
  MPI_Type_commit(&pairs);
  for (unsigned i = 0; i < STEPS; i++) {
    long pending = 0, one = world_rank;
    MPI_Request requests[2];
    unsigned which = draw(COMMS), nonblocking = draw(4);
    if (nonblocking == 0) {
      MPI_Iallreduce(&one, &pending, 1, MPI_LONG, MPI_SUM, comms[i % 2], &requests[0]);
      MPI_Ibarrier(comms[which], &requests[1]);
    }
    unsigned before = state;
    step(comms[which], i);
    state = before * 69069 + 1; /* ranks of different parts have drawn below different sizes */
    if (nonblocking != 0) continue;
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    CHECK(pending == (long)world_size * (world_size - 1) / 2);
  }
  MPI_Type_free(&gapped);
  MPI_Type_free(&pairs);
  MPI_Comm_free(&comms[1]);
  MPI_Comm_free(&comms[2]);
  free(own);
  free(got);
  free(wide);
  MPI_Finalize();
  return 0;
}
