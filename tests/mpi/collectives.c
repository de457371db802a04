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
  for (int i = 0; i < size; i++) own[i] = i + rank + 1;
  MPI_Reduce_scatter_block(own, all, 1, MPI_INT, MPI_SUM, comm);
  CHECK(all[0] == (rank + 1) * size + size * (size - 1) / 2);
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

/* ---- more is sent than there is room for: a rank with too little room gets an error and what
 * fits, and nothing is written behind it */

static void fill(int *values, int count, int first) {
  for (int i = 0; i < count; i++) values[i] = first + i;
}

static int class_of(int error) {
  int class;
  MPI_Error_class(error, &class);
  return class;
}

static void bcast_too_long(MPI_Comm comm, int rank, int size, int count) {
  int *values = malloc((size_t)(count + 1) * sizeof *values), root = size - 1;
  for (int nonblocking = 0; nonblocking < 2; nonblocking++) {
    MPI_Request request;
    int room = rank == root ? count + 1 : count, error;
    fill(values, count + 1, rank == root ? 0 : -9);
    values[count] = rank == root ? count : -1;
    if (nonblocking) {
      MPI_Ibcast(values, room, MPI_INT, root, comm, &request);
      error = MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
      error = MPI_Bcast(values, room, MPI_INT, root, comm);
    }
    CHECK(class_of(error) == (rank == root ? MPI_SUCCESS : MPI_ERR_TRUNCATE));
    for (int i = 0; i < count; i++) CHECK(values[i] == i);
    CHECK(values[count] == (rank == root ? count : -1));
  }
  free(values);
}

/* One rank alone has room for one element less than all others, or for one more. */
static void bcast_to_other_room(MPI_Comm comm, int rank, int size, int count, int more) {
  int *values = malloc((size_t)(count + 1) * sizeof *values);
  for (int other = 1; other < size; other++) {
    int room = rank == other ? count + more : count;
    int fits = room < count ? room : count;
    fill(values, count + 1, rank == 0 ? other : -9);
    values[fits] = -1;
    int error = MPI_Bcast(values, room, MPI_INT, 0, comm);
    CHECK(class_of(error) == (room < count ? MPI_ERR_TRUNCATE : MPI_SUCCESS));
    for (int i = 0; i < fits; i++) CHECK(values[i] == other + i);
    CHECK(values[fits] == -1);
  }
  free(values);
}

/* The same of two groups: the first rank of the one that receives has room for less. */
static void bcast_inter_too_long(MPI_Comm inter, int sends, int count) {
  int *values = malloc((size_t)(count + 1) * sizeof *values), rank;
  MPI_Comm_rank(inter, &rank);
  MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
  int root = !sends ? 0 : rank == 0 ? MPI_ROOT : MPI_PROC_NULL;
  int room = !sends && rank == 0 ? count - 1 : count;
  fill(values, count, sends ? 0 : -9);
  values[room] = -1;
  int error = MPI_Bcast(values, room, MPI_INT, root, inter);
  CHECK(class_of(error) == (room < count ? MPI_ERR_TRUNCATE : MPI_SUCCESS));
  for (int i = 0; i < room; i++) CHECK(values[i] == i);
  CHECK(values[room] == -1);
  free(values);
}

/* Only the last rank has too much, and only the root learns of it. */
static void gather_too_long(MPI_Comm comm, int rank, int size, int count) {
  int *own = malloc((size_t)(count + 1) * sizeof *own), root = size / 2;
  int *all = malloc((size_t)(count * size + 1) * sizeof *all);
  memset(all, -1, (size_t)(count * size + 1) * sizeof *all);
  fill(own, count + 1, 100 * rank);
  int error = MPI_Gather(own, count + (rank == size - 1), MPI_INT, all, count, MPI_INT, root, comm);
  CHECK(class_of(error) == (rank == root ? MPI_ERR_TRUNCATE : MPI_SUCCESS));
  for (int i = 0; i < count * size; i++)
    CHECK(all[i] == (rank == root ? 100 * (i / count) + i % count : -1));
  CHECK(all[count * size] == -1);
  free(own);
  free(all);
}

/* Some ranks have too little room for one element of each part. */
static void parts_too_long(MPI_Comm comm, int rank, int size, int count, int has_less) {
  int room = count + !has_less, each = count + 1;
  int expected = has_less ? MPI_ERR_TRUNCATE : MPI_SUCCESS;
  int *all = malloc((size_t)(each * size) * sizeof *all);
  int *got = malloc((size_t)(each * size) * sizeof *got);
  fill(all, each * size, 1000000 * rank);
  memset(got, -1, (size_t)(each * size) * sizeof *got);
  CHECK(class_of(MPI_Scatter(all, each, MPI_INT, got, room, MPI_INT, 0, comm)) == expected);
  for (int i = 0; i < each; i++) CHECK(got[i] == (i < room ? each * rank + i : -1));
  memset(got, -1, (size_t)(each * size) * sizeof *got);
  CHECK(class_of(MPI_Alltoall(all, each, MPI_INT, got, room, MPI_INT, comm)) == expected);
  for (int i = 0; i < room * size; i++)
    CHECK(got[i] == 1000000 * (i / room) + each * rank + i % room);
  for (int i = room * size; i < each * size; i++) CHECK(got[i] == -1);
  memset(got, -1, (size_t)(each * size) * sizeof *got);
  CHECK(class_of(MPI_Allgather(all, each, MPI_INT, got, room, MPI_INT, comm)) == expected);
  for (int i = 0; i < room * size; i++) CHECK(got[i] == 1000000 * (i / room) + i % room);
  for (int i = room * size; i < each * size; i++) CHECK(got[i] == -1);
  free(all);
  free(got);
}

/* Few bytes, many, and as many as go in another way. */
static void too_long(MPI_Comm comm, int rank, int size) {
  static const int counts[] = {1, 1000, 3000, 70000};
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
    bcast_too_long(comm, rank, size, counts[i]);
    bcast_to_other_room(comm, rank, size, counts[i], -1);
    bcast_to_other_room(comm, rank, size, counts[i], 1);
    gather_too_long(comm, rank, size, counts[i]);
    parts_too_long(comm, rank, size, counts[i], rank % 2 == 1);
    parts_too_long(comm, rank, size, counts[i], rank >= size / 2); /* all of some nodes */
  }
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_ARE_FATAL);
}

/* Sums of many elements, with the result in place, at each root, and along the ranks: also in part
 * of the chunks in which scans go. */
static void many(MPI_Comm comm, int rank, int size) {
  static const int counts[] = {1, 63, 64, 65, 257, 4095, 4096, 4097, 20000};
  long sum = (long)size * (size - 1) / 2, before = (long)rank * (rank - 1) / 2;
  for (size_t n = 0; n < sizeof counts / sizeof counts[0]; n++) {
    int count = counts[n];
    long *own = malloc((size_t)(count + 1) * sizeof *own),
         *got = malloc((size_t)(count + 1) * sizeof *got);
    for (int i = 0; i < count; i++) own[i] = rank + i;
    own[count] = got[count] = -5;
    MPI_Allreduce(own, got, count, MPI_LONG, MPI_SUM, comm);
    for (int i = 0; i < count; i++) CHECK(got[i] == sum + (long)size * i);
    MPI_Scan(own, got, count, MPI_LONG, MPI_SUM, comm);
    for (int i = 0; i < count; i++) CHECK(got[i] == before + rank + (rank + 1L) * i);
    MPI_Exscan(own, got, count, MPI_LONG, MPI_SUM, comm);
    for (int i = 0; i < count && rank > 0; i++) CHECK(got[i] == before + (long)rank * i);
    memcpy(got, own, (size_t)count * sizeof *got);
    MPI_Scan(MPI_IN_PLACE, got, count, MPI_LONG, MPI_SUM, comm);
    for (int i = 0; i < count; i++) CHECK(got[i] == before + rank + (rank + 1L) * i);
    for (int root = 0; root < size; root += size > 1 ? size - 1 : 1) {
      memcpy(got, own, (size_t)count * sizeof *got);
      MPI_Reduce(rank == root ? MPI_IN_PLACE : own, rank == root ? got : NULL, count, MPI_LONG,
                 MPI_SUM, root, comm);
      for (int i = 0; i < count; i++)
        CHECK(got[i] == (rank == root ? sum + (long)size * i : rank + i));
    }
    memcpy(got, own, (size_t)count * sizeof *got);
    MPI_Allreduce(MPI_IN_PLACE, got, count, MPI_LONG, MPI_SUM, comm);
    for (int i = 0; i < count; i++) CHECK(got[i] == sum + (long)size * i && own[i] == rank + i);
    CHECK(own[count] == -5 && got[count] == -5);
    free(own);
    free(got);
  }
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
  too_long(comm, rank, size);
  many(comm, rank, size);
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
    for (int count = 1; count < 100000; count *= 40)
      bcast_inter_too_long(inter, rank % 2 == 0, count);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&whole);
  }
  MPI_Comm_free(&part);
  MPI_Comm_free(&copy);
  CHECK(copy == MPI_COMM_NULL);
  MPI_Finalize();
  return 0;
}
