/* SPDX-License-Identifier: Apache-2.0 */
/* Collectives of two ranks in a random order, and of any size, while one of them comes late now and
 * then: by less than a transfer of a cache line takes, or so late that the other parks. Run with
 * more ranks, the others have pairs of their own. */
#include <string.h>
#include <unistd.h>

#include "check.h"

enum { ROUNDS = 4000, LONGEST = 400, NAPS_EVERY = 400 };

static unsigned seed = 1; /* the same in both */

static unsigned draw(unsigned below) {
  seed = seed * 1103515245u + 12345u;
  return (seed >> 16) % below;
}

/* The number is of the round and a rank, so that what another round left behind is wrong. */
static unsigned char value(int round, int rank, int i) {
  return (unsigned char)(round * 7 + rank * 101 + i);
}

static void fill(unsigned char *bytes, int count, int round, int rank) {
  for (int i = 0; i < count; i++) bytes[i] = value(round, rank, i);
}

static void expect(const unsigned char *bytes, int count, int round, int rank) {
  for (int i = 0; i < count; i++) CHECK(bytes[i] == value(round, rank, i));
}

/* Neither commutes nor keeps anything of b but its value. */
static void subtract_twice(void *in_, void *inout_, int *count, MPI_Datatype *type) {
  unsigned char *in = in_, *inout = inout_;
  (void)type;
  for (int i = 0; i < *count; i++) inout[i] = (unsigned char)(in[i] - 2 * inout[i]);
}

static void expect_combined(const unsigned char *bytes, int count, int round) {
  for (int i = 0; i < count; i++)
    CHECK(bytes[i] == (unsigned char)(value(round, 0, i) - 2 * value(round, 1, i)));
}

struct pair {
  MPI_Comm comm;
  MPI_Op op;
  int rank, round, count, root;
  unsigned char own[2 * LONGEST], got[2 * LONGEST];
};

static void bcast(struct pair *p) {
  if (p->rank == p->root) memcpy(p->got, p->own, (size_t)p->count);
  MPI_Bcast(p->got, p->count, MPI_BYTE, p->root, p->comm);
  expect(p->got, p->count, p->round, p->root);
}

static void allreduce(struct pair *p) {
  memcpy(p->got, p->own, (size_t)p->count);
  if (p->root == 0)
    MPI_Allreduce(p->own, p->got, p->count, MPI_BYTE, p->op, p->comm);
  else
    MPI_Allreduce(MPI_IN_PLACE, p->got, p->count, MPI_BYTE, p->op, p->comm);
  expect_combined(p->got, p->count, p->round);
}

static void reduce(struct pair *p) {
  memset(p->got, 3, sizeof p->got);
  MPI_Reduce(p->own, p->got, p->count, MPI_BYTE, p->op, p->root, p->comm);
  if (p->rank == p->root)
    expect_combined(p->got, p->count, p->round);
  else
    for (int i = 0; i < p->count; i++) CHECK(p->got[i] == 3);
}

static void allgather(struct pair *p) {
  MPI_Allgather(p->own, p->count, MPI_BYTE, p->got, p->count, MPI_BYTE, p->comm);
  for (int i = 0; i < 2; i++) expect(p->got + i * p->count, p->count, p->round, i);
}

static void gather(struct pair *p) {
  MPI_Gather(p->own, p->count, MPI_BYTE, p->got, p->count, MPI_BYTE, p->root, p->comm);
  for (int i = 0; i < 2 && p->rank == p->root; i++)
    expect(p->got + i * p->count, p->count, p->round, i);
}

static void alltoall(struct pair *p) {
  memcpy(p->own + p->count, p->own, (size_t)p->count);
  MPI_Alltoall(p->own, p->count, MPI_BYTE, p->got, p->count, MPI_BYTE, p->comm);
  for (int i = 0; i < 2; i++) expect(p->got + i * p->count, p->count, p->round, i);
}

static void barrier(struct pair *p) { MPI_Barrier(p->comm); }

/* A communicator that lives for one collective. */
static void copied(struct pair *p) {
  MPI_Comm comm = p->comm;
  MPI_Comm_dup(comm, &p->comm);
  allreduce(p);
  MPI_Comm_free(&p->comm);
  p->comm = comm;
}

static void (*const operations[])(struct pair *) = {bcast,  allreduce, reduce,  allgather,
                                                    gather, alltoall,  barrier, copied};

enum { OPERATIONS = sizeof operations / sizeof operations[0] };

static void come_late(int round, unsigned turns) {
  if (round % NAPS_EVERY == 0) usleep(5000);
  for (volatile unsigned left = turns; left > 0;) left--;
}

/* @return how many bytes: they fit beside the word of a phase, or do not. */
static int length(void) {
  static const int edges[] = {0, 1, 8, 15, 16, 17, 48, 128, 129, 255, 256, 257, LONGEST};
  return edges[draw(sizeof edges / sizeof edges[0])];
}

static void run(MPI_Comm comm) {
  struct pair p = {.comm = comm};
  MPI_Comm_rank(comm, &p.rank);
  MPI_Op_create(subtract_twice, 0, &p.op);
  for (p.round = 0; p.round < ROUNDS; p.round++) {
    void (*operation)(struct pair *) = operations[draw(OPERATIONS)];
    int late = (int)draw(3);
    unsigned turns = draw(2) * draw(1000);
    p.count = length();
    p.root = (int)draw(2);
    fill(p.own, p.count, p.round, p.rank);
    if (late == p.rank) come_late(p.round, turns);
    operation(&p);
  }
  MPI_Op_free(&p.op);
}

int main(int argc, char **argv) {
  int size, rank = check_start(&argc, &argv, &size);
  MPI_Comm pair;
  MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &pair);
  run(pair);
  MPI_Comm_free(&pair);
  MPI_Finalize();
  return 0;
}
