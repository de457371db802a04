/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments that do not count on a rank, as those of the root alone, may be anything: no form of a
 * collective looks at them. Here they are addresses without memory. Of three ranks, one is a group,
 * and two are the other. */
#include <string.h>

#include "check.h"

enum { RANKS = 3, ROOT = 1 };

#define NOWHERE ((void *)0x10000)
static const MPI_Datatype no_type = (MPI_Datatype)NOWHERE;
static const MPI_Op no_op = (MPI_Op)NOWHERE;

static int own, in[RANKS];
static const int ones[RANKS] = {1, 1, 1}, places[RANKS] = {0, 1, 2};
static const MPI_Datatype ints[RANKS] = {MPI_INT, MPI_INT, MPI_INT};
static MPI_Request request;

/* Performs a collective in three forms. before: what is in place; NULL: nothing. in[] is expected
 * after each form. */
#define FORMS(before, expected, Name, name, ...)                                                   \
  do {                                                                                             \
    put(before);                                                                                   \
    MPI_##Name(__VA_ARGS__);                                                                       \
    check_in(__LINE__, expected);                                                                  \
    put(before);                                                                                   \
    MPI_I##name(__VA_ARGS__, &request);                                                            \
    MPI_Wait(&request, MPI_STATUS_IGNORE);                                                         \
    check_in(__LINE__, expected);                                                                  \
    put(before);                                                                                   \
    MPI_##Name##_init(__VA_ARGS__, MPI_INFO_NULL, &request);                                       \
    MPI_Start(&request);                                                                           \
    MPI_Wait(&request, MPI_STATUS_IGNORE);                                                         \
    MPI_Request_free(&request);                                                                    \
    check_in(__LINE__, expected);                                                                  \
  } while (0)

static void put(const int *before) {
  memset(in, -1, sizeof in);
  if (before != NULL) memcpy(in, before, sizeof in);
}

static void check_in(int line, const int *expected) {
  if (memcmp(in, expected, sizeof in) == 0) return;
  fprintf(stderr, "line %d: %d %d %d\n", line, in[0], in[1], in[2]);
  check_end();
}

static const int nothing[RANKS] = {-1, -1, -1}, all[RANKS] = {10, 11, 12};

/* The parts of all ranks are the root's only. */
static void of_the_root_alone(int rank) {
  const MPI_Comm world = MPI_COMM_WORLD;
  const int got[RANKS] = {own, -1, -1}, sum[RANKS] = {33, -1, -1};
  if (rank == ROOT) {
    FORMS(NULL, all, Gather, gather, &own, 1, MPI_INT, in, 1, MPI_INT, ROOT, world);
    FORMS(NULL, all, Gatherv, gatherv, &own, 1, MPI_INT, in, ones, places, MPI_INT, ROOT, world);
    FORMS(NULL, got, Scatter, scatter, all, 1, MPI_INT, in, 1, MPI_INT, ROOT, world);
    FORMS(NULL, got, Scatterv, scatterv, all, ones, places, MPI_INT, in, 1, MPI_INT, ROOT, world);
    FORMS(NULL, sum, Reduce, reduce, &own, in, 1, MPI_INT, MPI_SUM, ROOT, world);
    return;
  }
  FORMS(NULL, nothing, Gather, gather, &own, 1, MPI_INT, NOWHERE, -1, no_type, ROOT, world);
  FORMS(NULL, nothing, Gatherv, gatherv, &own, 1, MPI_INT, NOWHERE, NOWHERE, NOWHERE, no_type, ROOT,
        world);
  FORMS(NULL, got, Scatter, scatter, NOWHERE, -1, no_type, in, 1, MPI_INT, ROOT, world);
  FORMS(NULL, got, Scatterv, scatterv, NOWHERE, NOWHERE, NOWHERE, no_type, in, 1, MPI_INT, ROOT,
        world);
  FORMS(NULL, nothing, Reduce, reduce, &own, rank == 0 ? NOWHERE : MPI_IN_PLACE, 1, MPI_INT,
        MPI_SUM, ROOT, world);
}

/* What is in place has the count and the type of the result. */
static void in_place(int rank) {
  const MPI_Comm world = MPI_COMM_WORLD;
  int before[RANKS] = {-1, -1, -1};
  before[rank] = own;
  FORMS(before, all, Allgather, allgather, MPI_IN_PLACE, -1, no_type, in, 1, MPI_INT, world);
  FORMS(before, all, Allgatherv, allgatherv, MPI_IN_PLACE, -1, no_type, in, ones, places, MPI_INT,
        world);
  const int numbers[RANKS] = {rank, rank + RANKS, rank + 2 * RANKS};
  const int exchanged[RANKS] = {RANKS * rank, RANKS * rank + 1, RANKS * rank + 2};
  FORMS(numbers, exchanged, Alltoall, alltoall, MPI_IN_PLACE, -1, no_type, in, 1, MPI_INT, world);
  FORMS(numbers, exchanged, Alltoallv, alltoallv, MPI_IN_PLACE, NOWHERE, NOWHERE, no_type, in, ones,
        places, MPI_INT, world);
  const int bytes[RANKS] = {0, sizeof(int), 2 * sizeof(int)};
  FORMS(numbers, exchanged, Alltoallw, alltoallw, MPI_IN_PLACE, NOWHERE, NOWHERE, NOWHERE, in, ones,
        bytes, ints, world);
  if (rank == ROOT) {
    FORMS(before, all, Gather, gather, MPI_IN_PLACE, -1, no_type, in, 1, MPI_INT, ROOT, world);
    FORMS(NULL, nothing, Scatter, scatter, all, 1, MPI_INT, MPI_IN_PLACE, -1, no_type, ROOT, world);
    return;
  }
  const int got[RANKS] = {own, -1, -1};
  FORMS(NULL, nothing, Gather, gather, &own, 1, MPI_INT, NULL, 0, no_type, ROOT, world);
  FORMS(NULL, got, Scatter, scatter, NULL, 0, no_type, in, 1, MPI_INT, ROOT, world);
}

/* Rank 0 is one group. Of the other group the first rank is the root; nothing counts on the rank
 * beside it. */
static void beside_the_root(int rank, MPI_Comm inter) {
  const int root = rank == 0 ? 0 : rank == 1 ? MPI_ROOT : MPI_PROC_NULL;
  const int one[RANKS] = {10, -1, -1}, sent[RANKS] = {11, -1, -1};
  const int *come = rank == 1 ? one : nothing;
  if (rank == 2) {
    FORMS(NULL, nothing, Bcast, bcast, NOWHERE, -1, no_type, root, inter);
    FORMS(NULL, nothing, Gather, gather, NOWHERE, -1, no_type, NOWHERE, -1, no_type, root, inter);
    FORMS(NULL, nothing, Scatter, scatter, NOWHERE, -1, no_type, NOWHERE, -1, no_type, root, inter);
    FORMS(NULL, nothing, Reduce, reduce, NOWHERE, NOWHERE, -1, no_type, no_op, root, inter);
    return;
  }
  const MPI_Datatype sends = rank == 0 ? MPI_INT : no_type;
  const MPI_Datatype receives = rank == 1 ? MPI_INT : no_type;
  FORMS(rank == 1 ? sent : NULL, sent, Bcast, bcast, in, 1, MPI_INT, root, inter);
  FORMS(NULL, come, Gather, gather, &own, 1, sends, in, 1, receives, root, inter);
  FORMS(NULL, rank == 0 ? sent : nothing, Scatter, scatter, &own, 1, receives, in, 1, sends, root,
        inter);
  FORMS(NULL, come, Reduce, reduce, &own, in, 1, MPI_INT, MPI_SUM, root, inter);
}

int main(int argc, char **argv) {
  int size, rank = check_start(&argc, &argv, &size);
  MPI_Comm side, inter;
  CHECK(size == RANKS);
  own = 10 + rank;
  of_the_root_alone(rank);
  in_place(rank);
  MPI_Comm_split(MPI_COMM_WORLD, rank > 0, rank, &side);
  MPI_Intercomm_create(side, 0, MPI_COMM_WORLD, rank > 0 ? 0 : 1, 0, &inter);
  beside_the_root(rank, inter);
  MPI_Comm_free(&inter);
  MPI_Comm_free(&side);
  MPI_Finalize();
  return 0;
}
