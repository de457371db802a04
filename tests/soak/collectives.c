/* SPDX-License-Identifier: Apache-2.0 */
/* Collectives, each with a result that every rank can compute by itself. */
#include <stdlib.h>
#include <string.h>

#include "soak.h"

enum { NUMBERS_MAX = 3000, PENDING = 4, KINDS_OF_PENDING = 3 };

/* Number i of what a rank contributes. */
static int64_t part_of(int rank, int i) { return (rank + 1) * (int64_t)1000 + i % 100; }

static int64_t sum_of(int ranks, int i) {
  return (int64_t)ranks * (ranks + 1) / 2 * 1000 + (int64_t)ranks * (i % 100);
}

struct call {
  MPI_Comm comm;
  int rank, size, root, count;
  int64_t *in, *out; /* count numbers for each rank */
};

static void expect(bool right, const char *what) {
  if (!right) fail("%s: wrong result", what);
}

static void fill(struct call *call) {
  for (int r = 0; r < call->size; r++)
    for (int i = 0; i < call->count; i++)
      call->in[r * call->count + i] = part_of(call->rank, i) + 7 * r;
  memset(call->out, 0x55, (size_t)call->size * (size_t)call->count * sizeof *call->out);
}

static void do_bcast(struct call *call) {
  if (call->rank == call->root) memcpy(call->out, call->in, (size_t)call->count * sizeof *call->in);
  MPI_Bcast(call->out, call->count, MPI_INT64_T, call->root, call->comm);
  for (int i = 0; i < call->count; i++) expect(call->out[i] == part_of(call->root, i), "MPI_Bcast");
}

static void do_allreduce(struct call *call) {
  MPI_Allreduce(call->in, call->out, call->count, MPI_INT64_T, MPI_SUM, call->comm);
  for (int i = 0; i < call->count; i++)
    expect(call->out[i] == sum_of(call->size, i), "MPI_Allreduce");
}

static void do_reduce(struct call *call) {
  MPI_Reduce(call->in, call->out, call->count, MPI_INT64_T, MPI_MAX, call->root, call->comm);
  for (int i = 0; i < call->count && call->rank == call->root; i++)
    expect(call->out[i] == part_of(call->size - 1, i), "MPI_Reduce");
}

static void do_scan(struct call *call) {
  MPI_Scan(call->in, call->out, call->count, MPI_INT64_T, MPI_SUM, call->comm);
  for (int i = 0; i < call->count; i++)
    expect(call->out[i] == sum_of(call->rank + 1, i), "MPI_Scan");
}

static void check_blocks(const struct call *call, int per_source, const char *what) {
  for (int r = 0; r < call->size; r++)
    for (int i = 0; i < call->count; i++)
      expect(call->out[r * call->count + i] == part_of(r, i) + per_source, what);
}

static void do_gather(struct call *call) {
  MPI_Gather(call->in, call->count, MPI_INT64_T, call->out, call->count, MPI_INT64_T, call->root,
             call->comm);
  if (call->rank == call->root) check_blocks(call, 0, "MPI_Gather");
}

static void do_allgather(struct call *call) {
  MPI_Allgather(call->in, call->count, MPI_INT64_T, call->out, call->count, MPI_INT64_T,
                call->comm);
  check_blocks(call, 0, "MPI_Allgather");
}

static void do_alltoall(struct call *call) {
  MPI_Alltoall(call->in, call->count, MPI_INT64_T, call->out, call->count, MPI_INT64_T, call->comm);
  check_blocks(call, 7 * call->rank, "MPI_Alltoall");
}

static void do_scatter(struct call *call) {
  MPI_Scatter(call->in, call->count, MPI_INT64_T, call->out, call->count, MPI_INT64_T, call->root,
              call->comm);
  for (int i = 0; i < call->count; i++)
    expect(call->out[i] == part_of(call->root, i) + 7 * call->rank, "MPI_Scatter");
}

static void do_reduce_scatter(struct call *call) {
  MPI_Reduce_scatter_block(call->in, call->out, call->count, MPI_INT64_T, MPI_SUM, call->comm);
  for (int i = 0; i < call->count; i++)
    expect(call->out[i] == sum_of(call->size, i) + 7 * (int64_t)call->rank * call->size,
           "MPI_Reduce_scatter_block");
}

static void do_barrier(struct call *call) { MPI_Barrier(call->comm); }

void collective(const struct world *world, uint64_t *same) {
  static void (*const calls[])(struct call *) = {
      do_bcast,     do_allreduce, do_reduce,  do_scan,           do_gather,
      do_allgather, do_alltoall,  do_scatter, do_reduce_scatter, do_barrier};
  int which = draw_below(same, sizeof calls / sizeof calls[0]), c = draw_below(same, COMMS);
  int count = draw_below(same, draw_below(same, 2) ? 8 : NUMBERS_MAX),
      root = draw_below(same, 1000);
  struct call call = {
      world->comms[c], world->ranks[c], world->sizes[c], root % world->sizes[c], count, NULL, NULL};
  size_t numbers = (size_t)call.size * (size_t)count + 1;
  call.in = malloc(numbers * sizeof *call.in);
  call.out = malloc(numbers * sizeof *call.out);
  if (call.in == NULL || call.out == NULL) fail("no memory");
  fill(&call);
  calls[which](&call);
  free(call.in);
  free(call.out);
}

/* ---- nonblocking ones */

void collective_start(struct pending *pending, const struct world *world, int which, int round) {
  int c = pending->comm = which % COMMS;
  MPI_Comm comm = world->comms[c];
  pending->which = which / COMMS % KINDS_OF_PENDING;
  pending->round = round;
  for (int i = 0; i < PENDING; i++) pending->mine[i] = part_of(world->ranks[c], i + round);
  if (pending->which == 0) MPI_Ibarrier(comm, &pending->request);
  if (pending->which == 1)
    MPI_Iallreduce(pending->mine, pending->result, PENDING, MPI_INT64_T, MPI_SUM, comm,
                   &pending->request);
  if (pending->which == 2) {
    memcpy(pending->result, pending->mine, sizeof pending->mine);
    MPI_Ibcast(pending->result, PENDING, MPI_INT64_T, round % world->sizes[c], comm,
               &pending->request);
  }
}

void collective_end(struct pending *pending, const struct world *world) {
  int size = world->sizes[pending->comm], round = pending->round;
  MPI_Wait(&pending->request, MPI_STATUS_IGNORE);
  for (int i = 0; i < PENDING; i++) {
    if (pending->which == 1)
      expect(pending->result[i] == sum_of(size, i + round), "MPI_Iallreduce");
    if (pending->which == 2)
      expect(pending->result[i] == part_of(round % size, i + round), "MPI_Ibcast");
  }
}
