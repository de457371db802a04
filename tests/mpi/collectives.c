/* SPDX-License-Identifier: Apache-2.0 */
/* Every collective, on the world and on communicators made of it, against what can be computed.
 * With an argument: first a wrong one. */
#include <stddef.h>
#include <string.h>

#include "check.h"

enum { COUNT = 3 };

/* Two-by-two matrices: their product does not commute. */
struct matrix {
  unsigned a, b, c, d;
};

static void multiply(void *in_, void *inout_, int *count, MPI_Datatype *type) {
  const struct matrix *in = in_;
  struct matrix *inout = inout_;
  (void)type;
  for (int i = 0; i < *count; i++) {
    struct matrix x = in[i], y = inout[i];
    inout[i] = (struct matrix){x.a * y.a + x.b * y.c, x.a * y.b + x.b * y.d, x.c * y.a + x.d * y.c,
                               x.c * y.b + x.d * y.d};
  }
}

static struct matrix of_rank(int rank) {
  return (struct matrix){(unsigned)rank + 1, 1, 1, (unsigned)rank};
}

static struct matrix product(int from, int to) {
  struct matrix result = of_rank(from);
  for (int i = from + 1; i <= to; i++) {
    struct matrix next = of_rank(i);
    int one = 1;
    multiply(&result, &next, &one, NULL);
    result = next;
  }
  return result;
}

static int same(struct matrix x, struct matrix y) { return memcmp(&x, &y, sizeof x) == 0; }

static void ordered(MPI_Comm comm, int rank, int size) {
  MPI_Op op;
  MPI_Datatype type;
  struct matrix own = of_rank(rank), result;
  MPI_Op_create(multiply, 0, &op);
  MPI_Type_contiguous(4, MPI_UNSIGNED, &type);
  MPI_Type_commit(&type);
  for (int root = 0; root < size; root += 3) {
    MPI_Reduce(&own, &result, 1, type, op, root, comm);
    if (rank == root) CHECK(same(result, product(0, size - 1)));
  }
  MPI_Allreduce(&own, &result, 1, type, op, comm);
  CHECK(same(result, product(0, size - 1)));
  MPI_Scan(&own, &result, 1, type, op, comm);
  CHECK(same(result, product(0, rank)));
  MPI_Exscan(&own, &result, 1, type, op, comm);
  if (rank > 0) CHECK(same(result, product(0, rank - 1)));
  MPI_Type_free(&type);
  MPI_Op_free(&op);
}

/* Elements whose data do not begin at their address. */
struct far {
  char gap[4096];
  long data[2];
};

static void add_far(void *in_, void *inout_, int *count, MPI_Datatype *type) {
  const struct far *in = in_;
  struct far *inout = inout_;
  (void)type;
  for (int i = 0; i < *count; i++) inout->data[i] += in->data[i];
}

static void displaced(MPI_Comm comm, int rank, int size) {
  MPI_Op op;
  MPI_Datatype type;
  MPI_Aint displacement = offsetof(struct far, data);
  struct far own = {.data = {rank, 10L * rank}}, result = {.data = {-1, -1}};
  MPI_Op_create(add_far, 1, &op);
  MPI_Type_create_hindexed_block(1, 1, &displacement, MPI_LONG, &type);
  MPI_Type_commit(&type);
  MPI_Allreduce(&own, &result, 2, type, op, comm);
  CHECK(result.data[0] == size * (size - 1L) / 2 && result.data[1] == 5L * size * (size - 1));
  MPI_Type_free(&type);
  MPI_Op_free(&op);
}

static void predefined(MPI_Comm comm, int rank, int size) {
  long own = rank + 1, sum = 0;
  double low;
  struct {
    double value;
    int rank;
  } pair = {(rank * 7) % size, rank}, best;
  MPI_Allreduce(&own, &sum, 1, MPI_LONG, MPI_SUM, comm);
  CHECK(sum == (long)size * (size + 1) / 2);
  MPI_Allreduce(MPI_IN_PLACE, &own, 1, MPI_LONG, MPI_MAX, comm);
  CHECK(own == size);
  double negative = -rank;
  MPI_Allreduce(&negative, &low, 1, MPI_DOUBLE, MPI_MIN, comm);
  CHECK(low == -(size - 1));
  MPI_Allreduce(&pair, &best, 1, MPI_DOUBLE_INT, MPI_MINLOC, comm);
  CHECK(best.value == 0 && best.rank == 0);
}

static void moved(MPI_Comm comm, int rank, int size) {
  int *all = calloc((size_t)size * COUNT, sizeof *all),
      *more = calloc((size_t)size * COUNT, sizeof *more);
  int own[COUNT], got[COUNT];
  for (int i = 0; i < COUNT; i++) own[i] = rank * 10 + i;
  for (int root = 0; root < size; root += 2) {
    memset(all, 0, (size_t)size * COUNT * sizeof *all);
    MPI_Gather(own, COUNT, MPI_INT, all, COUNT, MPI_INT, root, comm);
    if (rank == root)
      for (int i = 0; i < size * COUNT; i++) CHECK(all[i] == i / COUNT * 10 + i % COUNT);
    MPI_Scatter(all, COUNT, MPI_INT, got, COUNT, MPI_INT, root, comm);
    CHECK(memcmp(own, got, sizeof own) == 0);
    int received = rank == root ? root : -1;
    MPI_Bcast(&received, 1, MPI_INT, root, comm);
    CHECK(received == root);
  }
  memset(all, 0, (size_t)size * COUNT * sizeof *all);
  MPI_Allgather(own, COUNT, MPI_INT, all, COUNT, MPI_INT, comm);
  for (int i = 0; i < size * COUNT; i++) CHECK(all[i] == i / COUNT * 10 + i % COUNT);
  for (int i = 0; i < size * COUNT; i++) all[i] = rank * 1000 + i;
  MPI_Alltoall(all, COUNT, MPI_INT, more, COUNT, MPI_INT, comm);
  for (int i = 0; i < size * COUNT; i++)
    CHECK(more[i] == i / COUNT * 1000 + rank * COUNT + i % COUNT);
  MPI_Alltoall(MPI_IN_PLACE, COUNT, MPI_INT, all, COUNT, MPI_INT, comm);
  CHECK(memcmp(all, more, (size_t)size * COUNT * sizeof *all) == 0);
  free(all);
  free(more);
}

/* Rank r has r elements. */
static void uneven(MPI_Comm comm, int rank, int size) {
  int total = size * (size - 1) / 2;
  int *counts = calloc((size_t)size, sizeof *counts),
      *displs = calloc((size_t)size, sizeof *displs);
  int *own = calloc((size_t)size, sizeof *own), *all = calloc((size_t)total + 1, sizeof *all);
  for (int i = 0; i < size; i++) {
    counts[i] = i;
    displs[i] = i * (i - 1) / 2;
    own[i] = rank;
  }
  MPI_Allgatherv(own, rank, MPI_INT, all, counts, displs, MPI_INT, comm);
  for (int i = 0; i < size; i++)
    for (int k = 0; k < i; k++) CHECK(all[displs[i] + k] == i);
  memset(own, 0, (size_t)size * sizeof *own);
  MPI_Scatterv(all, counts, displs, MPI_INT, own, rank, MPI_INT, size - 1, comm);
  for (int k = 0; k < rank; k++) CHECK(own[k] == rank);
  for (int i = 0; i < total; i++) all[i] = 1;
  MPI_Reduce_scatter(all, own, counts, MPI_INT, MPI_SUM, comm);
  for (int k = 0; k < rank; k++) CHECK(own[k] == size);
  free(counts);
  free(displs);
  free(own);
  free(all);
}

/* Parts of any length: few bytes travel in another way than many. */
static void gathered(MPI_Comm comm, int rank, int size) {
  enum { LONGEST = 300 };
  char own[LONGEST], *all = malloc((size_t)size * LONGEST);
  MPI_Datatype second; /* of two */
  MPI_Type_create_resized(MPI_CHAR, 0, 2, &second);
  MPI_Type_commit(&second);
  for (int length = 0; length <= LONGEST / 2; length += length < 40 ? 1 : 50) {
    memset(own, rank + length, sizeof own);
    memset(all, -1, (size_t)size * LONGEST);
    MPI_Allgather(own, length, MPI_CHAR, all, length, second, comm);
    for (int i = 0; i < size * length; i++)
      CHECK(all[2 * i] == (char)(i / length + length) && all[2 * i + 1] == -1);
    memset(all, 0, (size_t)size * LONGEST);
    memset(all + (long)rank * length, rank - length, (size_t)length);
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, length, MPI_CHAR, comm);
    for (int i = 0; i < size * length; i++) CHECK(all[i] == (char)(i / length - length));
  }
  MPI_Type_free(&second);
  free(all);
}

/* A wrong program: rank 0 has more than the others have room for. They get an error, none hangs,
 * and what comes next is right. */
static void unequal(MPI_Comm comm, int rank, int size) {
  int length = rank == 0 ? 8 : 4;
  char own[8] = {0}, *all = malloc((size_t)size * sizeof own);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  int error = MPI_Allgather(own, length, MPI_CHAR, all, length, MPI_CHAR, comm), kind = 0;
  MPI_Error_class(error, &kind);
  CHECK(kind == (rank == 0 ? MPI_SUCCESS : MPI_ERR_TRUNCATE));
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_ARE_FATAL);
  free(all);
  moved(comm, rank, size);
}

/* Only the root's buffer changes, although several ranks combine a part each. */
static void reduced_at_root(MPI_Comm comm, int rank, int size) {
  enum { COUNT = 50000 };
  int *own = malloc(sizeof(int[COUNT])), *result = malloc(sizeof(int[COUNT]));
  for (int root = 0; root < size; root++) {
    for (int i = 0; i < COUNT; i++) {
      own[i] = rank + i;
      result[i] = -1;
    }
    MPI_Reduce(own, result, COUNT, MPI_INT, MPI_SUM, root, comm);
    for (int i = 0; i < COUNT; i++)
      CHECK(result[i] == (rank == root ? size * (size - 1) / 2 + size * i : -1));
  }
  free(own);
  free(result);
}

static void all_on(MPI_Comm comm) {
  int rank, size;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  ordered(comm, rank, size);
  predefined(comm, rank, size);
  displaced(comm, rank, size);
  moved(comm, rank, size);
  uneven(comm, rank, size);
  gathered(comm, rank, size);
  MPI_Barrier(comm);
  reduced_at_root(comm, rank, size);
}

int main(int argc, char **argv) {
  int size, rank = check_start(&argc, &argv, &size), split_rank, merged_rank;
  MPI_Comm copy, part, inter, whole;
  if (argc > 1) unequal(MPI_COMM_WORLD, rank, size);
  all_on(MPI_COMM_WORLD);
  all_on(MPI_COMM_SELF);
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  MPI_Comm_split(copy, rank % 2, -rank, &part); /* reversed */
  MPI_Comm_rank(part, &split_rank);
  CHECK(split_rank == (size - 1 - rank) / 2);
  all_on(part);
  if (size > 1) {
    MPI_Intercomm_create(part, 0, copy,
                         rank % 2 == 0 ? (size - 1 - (size % 2)) : (size - 1 - (size - 1) % 2), 3,
                         &inter);
    MPI_Intercomm_merge(inter, rank % 2, &whole);
    MPI_Comm_rank(whole, &merged_rank);
    CHECK(merged_rank == split_rank + (rank % 2 == 0 ? 0 : (size + 1) / 2));
    all_on(whole);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&whole);
  }
  MPI_Comm_free(&part);
  MPI_Comm_free(&copy);
  CHECK(copy == MPI_COMM_NULL);
  MPI_Finalize();
  return 0;
}
