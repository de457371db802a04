/* SPDX-License-Identifier: Apache-2.0 */
/* What ranks of several nodes do together, against what can be computed; nodes.py starts the nodes.
 * The first argument is what to do: all (the default), short, place, die, abort, exit, crash,
 * child, stream, meet, end, end_die, pulse, nothing, wait, or stuck and how.
 */
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

enum { COUNT = 5, LARGE = 300000, ROUNDS = 30, RANKS_MAX = 64 };
enum { LONGER_THAN_LOOKS = 2500000 }; /* us; a node that rests says so once a second */

/* Affine maps, composed: the operation does not commute. */
struct map {
  unsigned factor, shift;
};

static void compose(void *in_, void *inout_, int *count, MPI_Datatype *type) {
  const struct map *in = in_;
  struct map *inout = inout_;
  (void)type;
  for (int i = 0; i < *count; i++)
    inout[i] =
        (struct map){in[i].factor * inout[i].factor, in[i].factor * inout[i].shift + in[i].shift};
}

static struct map of_rank(int rank) { return (struct map){2 * (unsigned)rank + 3, (unsigned)rank}; }

static struct map of_ranks(int from, int to) {
  struct map all = of_rank(to - 1);
  int one = 1;
  for (int i = to - 2; i >= from; i--) {
    struct map next = of_rank(i);
    compose(&next, &all, &one, NULL);
  }
  return all;
}

static void fill(unsigned char *bytes, size_t count, unsigned seed) {
  for (size_t i = 0; i < count; i++) bytes[i] = (unsigned char)(i * 7 + i / 251 + seed);
}

static void check_filled(const unsigned char *bytes, size_t count, unsigned seed) {
  for (size_t i = 0; i < count; i++) CHECK(bytes[i] == (unsigned char)(i * 7 + i / 251 + seed));
}

/* ---- messages */

/* Each rank exchanges messages of a size with each, in every mode. */
static void exchange(MPI_Comm comm, int rank, int size, int bytes) {
  unsigned char *out = malloc((size_t)bytes + 1), *in = malloc((size_t)bytes + 1);
  for (int i = 0; i < size; i++) {
    int to = (rank + i) % size, from = (rank - i + size) % size;
    for (int mode = 0; mode < 4; mode++) {
      MPI_Request requests[2];
      MPI_Status status;
      fill(out, (size_t)bytes, (unsigned)(rank + mode));
      memset(in, 0, (size_t)bytes + 1);
      if (mode == 0) MPI_Irecv(in, bytes + 1, MPI_BYTE, from, bytes, comm, &requests[0]);
      if (mode == 0) MPI_Isend(out, bytes, MPI_BYTE, to, bytes, comm, &requests[1]);
      if (mode == 1) MPI_Issend(out, bytes, MPI_BYTE, to, bytes, comm, &requests[1]);
      if (mode == 2) MPI_Ibsend(out, bytes, MPI_BYTE, to, bytes, comm, &requests[1]);
      if (mode == 3) MPI_Isend(out, bytes, MPI_BYTE, to, bytes, comm, &requests[1]);
      if (mode == 2) memset(out, 0, (size_t)bytes); /* the call has copied it */
      if (mode > 0) MPI_Irecv(in, bytes + 1, MPI_BYTE, from, bytes, comm, &requests[0]);
      MPI_Wait(&requests[0], &status);
      int count;
      MPI_Get_count(&status, MPI_BYTE, &count);
      CHECK(count == bytes && status.MPI_SOURCE == from && status.MPI_TAG == bytes);
      check_filled(in, (size_t)bytes, (unsigned)(from + mode));
      CHECK(in[bytes] == 0);
      MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    }
  }
  free(out);
  free(in);
}

/* Rank 0 gets the messages of each rank in the order they were sent in, large ones among small. */
static void order(MPI_Comm comm, int rank, int size) {
  int next[RANKS_MAX] = {0}, *data = calloc(LARGE, sizeof *data);
  for (int i = 0; rank > 0 && i < ROUNDS; i++) {
    data[0] = i;
    MPI_Send(data, i % 7 == 3 ? LARGE : 1 + i, MPI_INT, 0, rank, comm);
  }
  for (int i = 0; rank == 0 && i < ROUNDS * (size - 1); i++) {
    MPI_Status status;
    MPI_Message message;
    int count, expected;
    MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &message, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK(status.MPI_TAG == status.MPI_SOURCE);
    MPI_Mrecv(data, LARGE, MPI_INT, &message, MPI_STATUS_IGNORE);
    expected = next[status.MPI_SOURCE]++;
    CHECK(data[0] == expected && count == (expected % 7 == 3 ? LARGE : 1 + expected));
  }
  free(data);
  MPI_Barrier(comm); /* what ranks send next is not for rank 0 */
}

/* Every second element goes into every third, and the rest stays. */
static void layouts(MPI_Comm comm, int rank, int size, int count) {
  MPI_Datatype second, third;
  int *out = malloc(sizeof *out * 2 * (size_t)count), *in = malloc(sizeof *in * 3 * (size_t)count);
  int to = (rank + 1) % size, from = (rank + size - 1) % size;
  for (int i = 0; i < 2 * count; i++) out[i] = i + rank;
  for (int i = 0; i < 3 * count; i++) in[i] = -1;
  MPI_Type_vector(count, 1, 2, MPI_INT, &second);
  MPI_Type_vector(count, 1, 3, MPI_INT, &third);
  MPI_Type_commit(&second);
  MPI_Type_commit(&third);
  MPI_Sendrecv(out, 1, second, to, 0, in, 1, third, from, 0, comm, MPI_STATUS_IGNORE);
  for (int i = 0; i < 3 * count; i++) CHECK(in[i] == (i % 3 == 0 ? i / 3 * 2 + from : -1));
  MPI_Type_free(&second);
  MPI_Type_free(&third);
  free(out);
  free(in);
}

/* A message that is too long fills what there is room for, and nothing more. */
static void truncation(MPI_Comm comm, int rank, int size, int count) {
  int peer = size - 1 - rank;
  unsigned char *out = calloc((size_t)count, 1), *in = calloc((size_t)count, 1);
  fill(out, (size_t)count, 1);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  if (rank < peer) MPI_Send(out, count, MPI_BYTE, peer, 0, comm);
  if (rank > peer) {
    EXPECT(MPI_ERR_TRUNCATE, MPI_Recv(in, count / 2, MPI_BYTE, peer, 0, comm, MPI_STATUS_IGNORE));
    check_filled(in, (size_t)count / 2, 1);
    CHECK(in[count / 2] == 0);
  }
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_ARE_FATAL);
  free(out);
  free(in);
}

/* A synchronous send is not complete before its receive has begun. */
static void synchronous(MPI_Comm comm, int rank, int size, int count) {
  int peer = size - 1 - rank, flag = 1;
  char *out = calloc((size_t)count, 1), *in = calloc((size_t)count, 1);
  MPI_Request request;
  MPI_Issend(out, count, MPI_CHAR, peer, 0, comm, &request);
  MPI_Barrier(comm);
  usleep(2000);
  MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
  CHECK(!flag);
  MPI_Barrier(comm);
  MPI_Recv(in, count, MPI_CHAR, peer, 0, comm, MPI_STATUS_IGNORE);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  free(out);
  free(in);
}

static void messages(MPI_Comm comm) {
  static const int sizes[] = {0, 1, 36, 37, 128, 4000, 16384, 16385, 1000000};
  int rank, size, room = 2000000;
  char *buffer = malloc((size_t)room);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  MPI_Buffer_attach(buffer, room);
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) exchange(comm, rank, size, sizes[i]);
  MPI_Buffer_detach(&buffer, &room);
  free(buffer);
  order(comm, rank, size);
  layouts(comm, rank, size, 10);
  layouts(comm, rank, size, LARGE / 3);
  synchronous(comm, rank, size, 1);
  synchronous(comm, rank, size, 100000);
  truncation(comm, rank, size, 100);
  truncation(comm, rank, size, 100000);
}

/* ---- collectives */

static void from_one(MPI_Comm comm, int rank, int size) {
  int *data = malloc(sizeof *data * LARGE), own[COUNT];
  for (int root = 0; root < size; root++)
    for (int count = 1; count <= LARGE; count *= 60) {
      for (int i = 0; i < count; i++) data[i] = rank == root ? root + i : -1;
      MPI_Bcast(data, count, MPI_INT, root, comm);
      for (int i = 0; i < count; i++) CHECK(data[i] == root + i);
    }
  for (int root = 0; root < size; root++) {
    for (int i = 0; i < size * COUNT; i++) data[i] = i + root;
    MPI_Scatter(data, COUNT, MPI_INT, own, COUNT, MPI_INT, root, comm);
    for (int i = 0; i < COUNT; i++) CHECK(own[i] == rank * COUNT + i + root);
    memset(data, 0, sizeof *data * (size_t)(size * COUNT));
    MPI_Gather(own, COUNT, MPI_INT, data, COUNT, MPI_INT, root, comm);
    for (int i = 0; rank == root && i < size * COUNT; i++) CHECK(data[i] == i + root);
  }
  free(data);
}

/* Rank r has r + 1 elements for each. */
static void to_all(MPI_Comm comm, int rank, int size) {
  int counts[RANKS_MAX] = {0}, displs[RANKS_MAX] = {0}, same[RANKS_MAX], starts[RANKS_MAX];
  int *in = calloc((size_t)(size * size), sizeof *in),
      *out = calloc((size_t)(size * size), sizeof *out);
  for (int i = 0; i < size; i++) {
    counts[i] = i + 1;
    displs[i] = i * (i + 1) / 2;
    same[i] = rank + 1;
    starts[i] = i * (rank + 1);
  }
  for (int i = 0; i < size * (rank + 1); i++) out[i] = 1000 * rank + i;
  MPI_Allgatherv(out, rank + 1, MPI_INT, in, counts, displs, MPI_INT, comm);
  for (int r = 0; r < size; r++)
    for (int i = 0; i <= r; i++) CHECK(in[displs[r] + i] == 1000 * r + i);
  MPI_Alltoallv(out, same, starts, MPI_INT, in, counts, displs, MPI_INT, comm);
  for (int r = 0; r < size; r++)
    for (int i = 0; i <= r; i++) CHECK(in[displs[r] + i] == 1000 * r + rank * (r + 1) + i);
  for (int i = 0; i < size; i++) out[i] = 100 * rank + i;
  MPI_Alltoall(MPI_IN_PLACE, 1, MPI_INT, out, 1, MPI_INT, comm);
  for (int i = 0; i < size; i++) CHECK(out[i] == 100 * i + rank);
  out[rank] = rank;
  MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, out, 1, MPI_INT, comm);
  for (int i = 0; i < size; i++) CHECK(out[i] == i);
  free(in);
  free(out);
}

/* Parts of a size go to each, from every second element into every third. */
static void parts(MPI_Comm comm, int rank, int size, int count) {
  MPI_Datatype second, third;
  int n = size * count, *out = malloc(sizeof *out * 2 * (size_t)n);
  int *in = malloc(sizeof *in * 3 * (size_t)n), *place = malloc(sizeof *place * (size_t)n);
  MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &second);
  MPI_Type_create_resized(MPI_INT, 0, 3 * sizeof(int), &third);
  MPI_Type_commit(&second);
  MPI_Type_commit(&third);
  for (int i = 0; i < n; i++) out[2 * i] = place[i] = rank * n + i;
  for (int i = 0; i < 3 * n; i++) in[i] = -1;
  MPI_Alltoall(out, count, second, in, count, third, comm);
  for (int i = 0; i < 3 * n; i++)
    CHECK(in[i] == (i % 3 != 0 ? -1 : i / 3 / count * n + rank * count + i / 3 % count));
  MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, place, count, MPI_INT, comm);
  for (int i = 0; i < n; i++) CHECK(place[i] == i / count * n + rank * count + i % count);
  MPI_Allgather(out, count, second, in, count, third, comm);
  for (int i = 0; i < 3 * n; i++)
    CHECK(in[i] == (i % 3 != 0 ? -1 : i / 3 / count * n + i / 3 % count));
  for (int i = 0; i < count; i++) place[rank * count + i] = rank - i;
  MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, place, count, MPI_INT, comm);
  for (int i = 0; i < n; i++) CHECK(place[i] == i / count - i % count);
  MPI_Type_free(&second);
  MPI_Type_free(&third);
  free(place);
  free(in);
  free(out);
}

static void reductions(MPI_Comm comm, int rank, int size) {
  MPI_Datatype pair;
  MPI_Op op;
  struct map own[COUNT], all[COUNT], *each = malloc(sizeof *each * (size_t)size);
  struct map whole = of_ranks(0, size), before = of_ranks(0, rank + 1);
  MPI_Type_contiguous(2, MPI_UNSIGNED, &pair);
  MPI_Type_commit(&pair);
  MPI_Op_create(compose, 0, &op);
  for (int i = 0; i < COUNT; i++) own[i] = of_rank(rank);
  for (int root = 0; root < size; root++) {
    memset(all, 0, sizeof all);
    MPI_Reduce(own, all, COUNT, pair, op, root, comm);
    for (int i = 0; rank == root && i < COUNT; i++)
      CHECK(memcmp(&all[i], &whole, sizeof whole) == 0);
  }
  memcpy(all, own, sizeof own);
  MPI_Allreduce(MPI_IN_PLACE, all, COUNT, pair, op, comm);
  for (int i = 0; i < COUNT; i++) CHECK(memcmp(&all[i], &whole, sizeof whole) == 0);
  MPI_Scan(own, all, COUNT, pair, op, comm);
  for (int i = 0; i < COUNT; i++) CHECK(memcmp(&all[i], &before, sizeof before) == 0);
  for (int i = 0; i < size; i++) each[i] = of_rank(rank);
  MPI_Reduce_scatter_block(each, all, 1, pair, op, comm);
  CHECK(memcmp(&all[0], &whole, sizeof whole) == 0);
  MPI_Op_free(&op);
  MPI_Type_free(&pair);
  free(each);
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* No rank leaves before the last has come. The nodes of a test have one clock. */
static void barriers(MPI_Comm comm, int rank, int size) {
  for (int late = 0; late < size; late++) {
    if (rank == late) usleep(2000);
    double came = now();
    MPI_Barrier(comm);
    double left = now();
    MPI_Bcast(&came, 1, MPI_DOUBLE, late, comm);
    CHECK(left >= came);
  }
}

static void collectives(MPI_Comm comm) {
  int rank, size;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  barriers(comm, rank, size);
  from_one(comm, rank, size);
  to_all(comm, rank, size);
  for (int count = 1; count <= 2000; count *= 11) parts(comm, rank, size, count);
  reductions(comm, rank, size);
}

/* ---- communicators */

static void on_both(MPI_Comm comm) {
  messages(comm);
  collectives(comm);
}

/* Ranks of one node have windows and files together. */
static void share_memory(MPI_Comm node, int size) {
  int *own, *first, rank, unit;
  MPI_Aint bytes;
  MPI_Win win;
  MPI_File file;
  MPI_Comm_rank(node, &rank);
  MPI_Win_allocate_shared(sizeof *own, sizeof *own, MPI_INFO_NULL, node, &own, &win);
  MPI_Win_fence(0, win);
  *own = rank + 1;
  MPI_Win_fence(0, win);
  MPI_Win_shared_query(win, 0, &bytes, &unit, &first);
  for (int i = 0; i < size; i++) CHECK(first[i] == i + 1);
  MPI_Win_free(&win);
  CHECK(MPI_File_open(node, "/dev/null", MPI_MODE_RDONLY, MPI_INFO_NULL, &file) == MPI_SUCCESS);
  MPI_File_close(&file);
}

static void communicators(int rank, int size) {
  MPI_Comm comm, node;
  MPI_Group group, some;
  int range[1][3] = {{size - 1, 0, -2}}, shared;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  collectives(comm);
  MPI_Comm_free(&comm);
  MPI_Comm_split(MPI_COMM_WORLD, 0, size - rank, &comm); /* from the last to the first */
  on_both(comm);
  MPI_Comm_free(&comm);
  MPI_Comm_split(MPI_COMM_WORLD, 0, rank % 2 * size + rank, &comm); /* nodes take turns */
  on_both(comm);
  MPI_Comm_free(&comm);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 3 == 0 ? MPI_UNDEFINED : rank % 3, 0, &comm);
  CHECK((comm == MPI_COMM_NULL) == (rank % 3 == 0));
  if (comm != MPI_COMM_NULL) collectives(comm);
  if (comm != MPI_COMM_NULL) MPI_Comm_free(&comm);
  MPI_Comm_group(MPI_COMM_WORLD, &group);
  MPI_Group_range_incl(group, 1, range, &some);
  MPI_Comm_create(MPI_COMM_WORLD, some, &comm);
  CHECK((comm == MPI_COMM_NULL) == (rank % 2 == size % 2));
  if (comm != MPI_COMM_NULL) on_both(comm);
  if (comm != MPI_COMM_NULL) MPI_Comm_free(&comm);
  MPI_Group_free(&some);
  MPI_Group_free(&group);
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
  MPI_Comm_size(node, &shared);
  int pid = (int)getpid(), first = pid;
  MPI_Bcast(&first, 1, MPI_INT, 0, node);
  CHECK(first == pid && shared < size); /* the ranks of a process */
  on_both(node);
  share_memory(node, shared);
  MPI_Comm_free(&node);
}

/* A grid of two rows, and its columns. */
static void grids(int rank, int size) {
  MPI_Comm grid, column;
  int dims[2] = {2, size / 2}, periods[2] = {1, 1}, along[2] = {1, 0}, up, down, from = -1, sum;
  MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid);
  MPI_Cart_shift(grid, 0, 1, &up, &down);
  MPI_Sendrecv(&rank, 1, MPI_INT, down, 0, &from, 1, MPI_INT, up, 0, grid, MPI_STATUS_IGNORE);
  CHECK(from == (rank + size / 2) % size);
  MPI_Cart_sub(grid, along, &column);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, column);
  CHECK(sum == rank + from);
  MPI_Comm_free(&column);
  MPI_Comm_free(&grid);
}

/* Ranks that look for messages without waiting, and let others run. */
static void polling(int rank, int size) {
  int flag = 0, data, peer = size - 1 - rank;
  MPI_Request request;
  MPI_Irecv(&data, 1, MPI_INT, peer, 1, MPI_COMM_WORLD, &request);
  MPI_Send(&rank, 1, MPI_INT, peer, 0, MPI_COMM_WORLD);
  while (!flag) MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
  MPI_Recv(&data, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK(data == peer);
  MPI_Ssend(&rank, 1, MPI_INT, peer, 1, MPI_COMM_WORLD);
  for (flag = 0; !flag;) MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
  CHECK(data == peer);
}

/* Collectives are outstanding together, and start in another order on each rank. */
static void outstanding(MPI_Comm comm, int rank, int size) {
  enum { MANY = 12 };
  MPI_Request requests[MANY], again;
  MPI_Comm comms[2];
  int sums[MANY], own = rank + 1, all = size * (size + 1) / 2, root = -1;
  MPI_Comm_dup(comm, &comms[0]);
  MPI_Comm_dup(comm, &comms[1]);
  for (int i = 0; i < MANY; i += 2) {
    int first = rank % 2;
    MPI_Iallreduce(&own, &sums[i + first], 1, MPI_INT, MPI_SUM, comms[first], &requests[i + first]);
    MPI_Iallreduce(&own, &sums[i + 1 - first], 1, MPI_INT, MPI_SUM, comms[1 - first],
                   &requests[i + 1 - first]);
  }
  MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; i < MANY; i++) CHECK(sums[i] == all);
  MPI_Bcast_init(&root, 1, MPI_INT, size - 1, comm, MPI_INFO_NULL, &again);
  for (int i = 0; i < ROUNDS; i++) {
    root = rank == size - 1 ? i : -1;
    MPI_Start(&again);
    MPI_Wait(&again, MPI_STATUS_IGNORE);
    CHECK(root == i);
  }
  MPI_Request_free(&again);
  MPI_Comm_free(&comms[0]);
  MPI_Comm_free(&comms[1]);
}

/* Two groups whose ranks take turns; then they are one again. */
static void two_groups(int rank, int size) {
  MPI_Comm side, inter, merged;
  MPI_Request request;
  int own = rank, sum = -1, expected = 0, remote, place;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &side);
  MPI_Intercomm_create(side, 0, MPI_COMM_WORLD, 1 - rank % 2, 7, &inter);
  MPI_Comm_remote_size(inter, &remote);
  CHECK(remote == (size + rank % 2) / 2);
  for (int i = 1 - rank % 2; i < size; i += 2) expected += i;
  MPI_Allreduce(&own, &sum, 1, MPI_INT, MPI_SUM, inter);
  CHECK(sum == expected);
  sum = -1;
  MPI_Iallreduce(&own, &sum, 1, MPI_INT, MPI_SUM, inter, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(sum == expected);
  MPI_Intercomm_merge(inter, rank % 2, &merged);
  MPI_Comm_rank(merged, &place);
  CHECK(place == rank / 2 + (rank % 2 == 0 ? 0 : (size + 1) / 2));
  collectives(merged);
  MPI_Comm_free(&merged);
  MPI_Comm_free(&inter);
  MPI_Comm_free(&side);
}

/* ---- how jobs of several nodes end early */

/* Data are under way at all times. */
static void stream(int rank, int size) {
  static char out[LARGE], in[LARGE];
  for (;;)
    MPI_Sendrecv(out, LARGE, MPI_CHAR, size - 1 - rank, 0, in, LARGE, MPI_CHAR, size - 1 - rank, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Ranks meet at all times. */
static void meet(void) {
  for (int sum, one = 1;;) MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

/* Large messages and collectives for some ten seconds, in which a link may be down for a while. */
static void pulse(int rank, int size) {
  unsigned char *out = malloc(LARGE), *in = malloc(LARGE);
  for (int i = 0; i < 50; i++) {
    int sum, one = 1, peer = size - 1 - rank;
    fill(out, LARGE, (unsigned)(rank + i));
    MPI_Sendrecv(out, LARGE, MPI_CHAR, peer, 0, in, LARGE, MPI_CHAR, peer, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    check_filled(in, LARGE, (unsigned)(peer + i));
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum == size);
    usleep(200000);
  }
  free(in);
  free(out);
}

/* A child of a rank is no part of the job: that it ends tells no node anything. */
static void child(int rank, int size) {
  int status, sum, one = 1;
  pid_t pid = fork();
  if (pid == 0) _exit(5);
  CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 5);
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  CHECK(sum == size && rank < size);
}

/* As a process that another one kills: it tells nobody. */
static void die(void) { syscall(SYS_kill, getpid(), SIGKILL); }

/* The other nodes' ranks have ended by then. */
static void die_late(int dies, const char *seconds) {
  MPI_Finalize();
  if (dies) sleep((unsigned)atoi(seconds));
  if (dies) die();
  exit(0);
}

/* Deadlocks: in sends that wait for their receivers, in a collective that a rank does not join,
 * beside nodes whose ranks have ended; and what looks like one for a while. */
static void stuck(const char *what, int rank, int size) {
  static char large[1 << 20];
  if (strcmp(what, "stuck_send") == 0)
    MPI_Send(large, sizeof large, MPI_BYTE, (rank + 1) % size, 0, MPI_COMM_WORLD);
  if (strcmp(what, "stuck_ended") == 0 && rank != 0) exit(MPI_Finalize());
  if (strcmp(what, "stuck_barrier") == 0 && rank != 1) MPI_Barrier(MPI_COMM_WORLD);
  if (strcmp(what, "stuck_later") == 0) { /* each node rests, one after the other */
    if (rank == 0) usleep(LONGER_THAN_LOOKS);
    if (rank == 0) MPI_Ssend(large, 1, MPI_BYTE, size - 1, 0, MPI_COMM_WORLD);
    if (rank == size - 1) MPI_Recv(large, 1, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == size - 1) usleep(LONGER_THAN_LOOKS);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) puts("right");
    exit(MPI_Finalize());
  }
  if (strcmp(what, "stuck_not") == 0) {
    for (int i = 0; i < 4; i++) {
      if (rank == size - 1) usleep(700000);
      MPI_Barrier(MPI_COMM_WORLD);
      if (rank == 0) MPI_Ssend(large, 1 << i, MPI_BYTE, size - 1, 0, MPI_COMM_WORLD);
      if (rank == size - 1)
        MPI_Recv(large, 1 << i, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (rank == 0) puts("right");
    exit(MPI_Finalize());
  }
}

int main(int argc, char **argv) {
  int size, rank = check_start(&argc, &argv, &size);
  const char *what = argc > 1 ? argv[1] : "all";
  if (strcmp(what, "all") == 0) {
    on_both(MPI_COMM_WORLD);
    communicators(rank, size);
    grids(rank, size);
    outstanding(MPI_COMM_WORLD, rank, size);
    two_groups(rank, size);
    polling(rank, size);
  } else if (strcmp(what, "short") == 0) {
    order(MPI_COMM_WORLD, rank, size);
    collectives(MPI_COMM_WORLD);
    outstanding(MPI_COMM_WORLD, rank, size);
  } else if (strcmp(what, "pulse") == 0) {
    pulse(rank, size);
  } else if (strcmp(what, "child") == 0) {
    child(rank, size);
  } else if (strcmp(what, "nothing") == 0) {
    MPI_Barrier(MPI_COMM_WORLD);
  } else if (strcmp(what, "place") == 0) {
    printf("%s %s %s %s\n", getenv("OMPI_COMM_WORLD_RANK"), getenv("OMPI_COMM_WORLD_LOCAL_RANK"),
           getenv("PMI_SIZE"), getenv("MPI_LOCALNRANKS"));
    MPI_Finalize();
    return 0;
  } else {
    MPI_Barrier(MPI_COMM_WORLD);
    if (strcmp(what, "die") == 0 && rank == size - 1) die();
    if (strcmp(what, "abort") == 0 && rank == size - 1) MPI_Abort(MPI_COMM_WORLD, 7);
    if (strcmp(what, "exit") == 0 && rank == size - 1) exit(3);
    if (strcmp(what, "crash") == 0 && rank == size - 1) raise(SIGSEGV);
    if (strcmp(what, "stream") == 0) stream(rank, size);
    if (strcmp(what, "meet") == 0) meet();
    if (strcmp(what, "end") == 0 && rank < size - 1) exit(MPI_Finalize());
    if (strcmp(what, "wait") == 0 && rank == size - 1) sleep(1000);
    if (strcmp(what, "end_die") == 0) die_late(rank == size - 1, argc > 2 ? argv[2] : "1");
    if (strcmp(what, "end") == 0) sleep(1000);
    if (strncmp(what, "stuck", 5) == 0) stuck(what, rank, size);
    MPI_Recv(&rank, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  if (rank == 0) puts("right");
  MPI_Finalize();
  return 0;
}
