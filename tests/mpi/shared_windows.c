/* SPDX-License-Identifier: Apache-2.0 */
/* Windows of several nodes. */
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "shared_by_nodes.h"

enum { EACH = 40000 /* elements that go from a rank to a rank: many notes */ };

/* Each rank has room for all, in units of its own, and fills it by puts, gets and accumulates of
 * the others. */
static void by_fences(MPI_Comm comm, int rank, int size) {
  int unit = rank % 2 == 0 ? 1 : (int)sizeof(int), all = size * EACH;
  int *memory = calloc((size_t)all, sizeof *memory), *own = malloc(sizeof *own * EACH);
  int *got = malloc(sizeof *got * EACH);
  MPI_Win win;
  MPI_Win_create(memory, (MPI_Aint)sizeof *memory * all, unit, MPI_INFO_NULL, comm, &win);
  for (int i = 0; i < EACH; i++) own[i] = rank * EACH + i;
  MPI_Win_fence(0, win);
  for (int to = 0; to < size; to++) {
    MPI_Aint at = (MPI_Aint)rank * EACH * (to % 2 == 0 ? (int)sizeof(int) : 1);
    MPI_Put(own, EACH, MPI_INT, to, at, EACH, MPI_INT, win);
  }
  MPI_Win_fence(0, win);
  for (int i = 0; i < all; i++) CHECK(memory[i] == i);
  for (int from = 0; from < size; from++) {
    int part = (from + rank) % size;
    MPI_Aint at = (MPI_Aint)part * EACH * (from % 2 == 0 ? (int)sizeof(int) : 1);
    MPI_Get(got, EACH, MPI_INT, from, at, EACH, MPI_INT, win);
    MPI_Win_fence(0, win);
    for (int i = 0; i < EACH; i++) CHECK(got[i] == part * EACH + i);
  }
  for (int to = 0; to < size; to++)
    MPI_Accumulate(own, EACH, MPI_INT, to, 0, EACH, MPI_INT, MPI_SUM, win);
  MPI_Win_fence(0, win);
  for (int i = 0; i < EACH; i++) CHECK(memory[i] == size * (size - 1) / 2 * EACH + (size + 1) * i);
  MPI_Win_free(&win);
  free(got);
  free(own);
  free(memory);
}

/* Every second element here, every third there, and the rest stays. Pairs have gaps inside. */
static void by_layouts(MPI_Comm comm, int rank, int size) {
  enum { MANY = 3000 };
  int out[2 * MANY], *memory, to = (rank + size / 2) % size, from = (rank + size - size / 2) % size;
  struct {
    short value;
    int place;
  } pair = {(short)(rank + 1), rank}, *pairs;
  MPI_Datatype second, third;
  MPI_Win win;
  MPI_Win_allocate((MPI_Aint)sizeof *memory * 3 * MANY, sizeof *memory, MPI_INFO_NULL, comm,
                   &memory, &win);
  for (int i = 0; i < 2 * MANY; i++) out[i] = i + rank;
  for (int i = 0; i < 3 * MANY; i++) memory[i] = -1;
  MPI_Type_vector(MANY, 1, 2, MPI_INT, &second);
  MPI_Type_vector(MANY, 1, 3, MPI_INT, &third);
  MPI_Type_commit(&second);
  MPI_Type_commit(&third);
  MPI_Win_fence(0, win);
  MPI_Put(out, 1, second, to, 0, 1, third, win);
  MPI_Win_fence(0, win);
  for (int i = 0; i < 3 * MANY; i++) CHECK(memory[i] == (i % 3 == 0 ? i / 3 * 2 + from : -1));
  MPI_Win_fence(0, win);
  MPI_Accumulate(out, 1, second, to, 0, 1, third, MPI_PROD, win);
  MPI_Win_fence(0, win);
  for (int i = 0; i < MANY; i++) CHECK(memory[3 * i] == (2 * i + from) * (2 * i + from));
  memset(out, 0, sizeof out);
  MPI_Get(out, 1, second, to, 0, 1, third, win);
  MPI_Win_fence(0, win);
  for (int i = 0; i < MANY; i++) CHECK(out[2 * i] == (2 * i + rank) * (2 * i + rank));
  for (int i = 0; i < MANY; i++) CHECK(out[2 * i + 1] == 0);
  MPI_Win_free(&win);
  MPI_Win_allocate(sizeof *pairs, sizeof *pairs, MPI_INFO_NULL, comm, &pairs, &win);
  MPI_Win_fence(0, win);
  for (int i = 0; i < size; i++)
    MPI_Accumulate(&pair, 1, MPI_SHORT_INT, i, 0, 1, MPI_SHORT_INT, MPI_MAXLOC, win);
  MPI_Win_fence(0, win);
  CHECK(pairs->value == size && pairs->place == size - 1);
  MPI_Win_free(&win);
  MPI_Type_free(&second);
  MPI_Type_free(&third);
}

/* Ranks of all nodes count on one place, take turns by a lock of their own, and update in order. */
static void by_atomics(MPI_Comm comm, int rank, int size) {
  enum { MANY = 50, COUNTER = 0, TURN, GUARDED, LAST };
  long *memory, one = 1, before = -1, zero = 0, mine = rank + 1, previous = -1, got;
  MPI_Win win;
  MPI_Win_allocate((LAST + size) * (MPI_Aint)sizeof *memory, sizeof *memory, MPI_INFO_NULL, comm,
                   &memory, &win);
  MPI_Win_lock_all(0, win);
  for (int i = 0; i < MANY; i++) {
    MPI_Fetch_and_op(&one, &got, MPI_LONG, 0, COUNTER, MPI_SUM, win);
    CHECK(got > before && got < (long)MANY * size);
    before = got;
  }
  for (int i = 0; i < MANY / 5; i++) {
    do {
      MPI_Compare_and_swap(&mine, &zero, &previous, MPI_LONG, size - 1, TURN, win);
      MPI_Win_flush(size - 1, win);
    } while (previous != 0);
    MPI_Get(&got, 1, MPI_LONG, size - 1, GUARDED, 1, MPI_LONG, win);
    MPI_Win_flush(size - 1, win);
    got++;
    MPI_Put(&got, 1, MPI_LONG, size - 1, GUARDED, 1, MPI_LONG, win);
    MPI_Win_flush(size - 1, win);
    MPI_Compare_and_swap(&zero, &mine, &previous, MPI_LONG, size - 1, TURN, win);
    CHECK(previous == mine);
  }
  for (long i = 1; i <= MANY; i++) {
    int to = (rank + size / 2) % size;
    MPI_Accumulate(&i, 1, MPI_LONG, to, LAST + rank, 1, MPI_LONG, MPI_REPLACE, win);
    if (i % 7 == 0) {
      MPI_Get_accumulate(NULL, 0, MPI_LONG, &got, 1, MPI_LONG, to, LAST + rank, 1, MPI_LONG,
                         MPI_NO_OP, win);
      MPI_Win_flush(to, win);
      CHECK(got == i);
    }
  }
  MPI_Win_unlock_all(win);
  MPI_Barrier(comm);
  if (rank == 0) CHECK(memory[COUNTER] == (long)MANY * size);
  if (rank == size - 1) CHECK(memory[GUARDED] == (long)(MANY / 5) * size);
  CHECK(memory[LAST + (rank + size - size / 2) % size] == MANY);
  MPI_Win_free(&win);
}

/* Many small accesses, to all ranks in turn, with large ones between them: accumulates happen in
 * the order of the calls, and data that are got are there after the flush. */
static void by_many(MPI_Comm comm, int rank, int size) {
  enum { MANY = 700, LONG = 3000, EVERY = 150 };
  int *memory, *got = calloc((size_t)size * MANY, sizeof *got), big[LONG], more = 2, one = 1;
  int *large = calloc((size_t)size * LONG, sizeof *large);
  int mine = rank * (MANY + LONG), peer = (rank + size / 2) % size, pair[2] = {-1, -1};
  MPI_Datatype gap;
  MPI_Win win;
  MPI_Win_allocate((MPI_Aint)sizeof *memory * size * (MANY + LONG), sizeof *memory, MPI_INFO_NULL,
                   comm, &memory, &win);
  for (int i = 0; i < LONG; i++) big[i] = i;
  MPI_Win_lock_all(0, win);
  for (int i = 0; i < MANY; i++) {
    int value = i + rank;
    for (int to = 0; to < size; to++) {
      MPI_Accumulate(&value, 1, MPI_INT, to, mine + i, 1, MPI_INT, MPI_REPLACE, win);
      MPI_Accumulate(&more, 1, MPI_INT, to, mine + i, 1, MPI_INT, MPI_PROD, win);
      if (i % EVERY == 0)
        MPI_Accumulate(big, LONG, MPI_INT, to, mine + MANY, LONG, MPI_INT, MPI_SUM, win);
      MPI_Accumulate(&one, 1, MPI_INT, to, mine + i, 1, MPI_INT, MPI_SUM, win);
      MPI_Get_accumulate(NULL, 0, MPI_INT, &got[to * MANY + i], 1, MPI_INT, to, mine + i, 1,
                         MPI_INT, MPI_NO_OP, win);
    }
  }
  MPI_Win_flush_all(win);
  for (int k = 0; k < size * MANY; k++) CHECK(got[k] == 2 * (k % MANY + rank) + 1);
  for (int to = 0; to < size; to++)
    MPI_Get(&large[to * LONG], LONG, MPI_INT, to, mine + MANY, LONG, MPI_INT, win);
  MPI_Type_vector(2, 1, MANY - 1, MPI_INT, &gap);
  MPI_Type_commit(&gap);
  MPI_Get(pair, 2, MPI_INT, peer, mine, 1, gap, win);
  MPI_Type_free(&gap);
  MPI_Win_unlock_all(win);
  for (int k = 0; k < size * LONG; k++) CHECK(large[k] == (MANY + EVERY - 1) / EVERY * (k % LONG));
  CHECK(pair[0] == 2 * rank + 1 && pair[1] == 2 * (MANY - 1 + rank) + 1);
  MPI_Barrier(comm);
  for (int from = 0; from < size; from++)
    for (int i = 0; i < MANY; i++) CHECK(memory[from * (MANY + LONG) + i] == 2 * (i + from) + 1);
  MPI_Win_free(&win);
  free(large);
  free(got);
}

/* Each half of the ranks exposes its memory to the other one. */
static void by_epochs(MPI_Comm comm, int rank, int size) {
  MPI_Group all, half;
  int range[1][3] = {
      {rank < size / 2 ? size / 2 : 0, rank < size / 2 ? size - 1 : size / 2 - 1, 1}};
  int *memory, flag = 0, others = range[0][1] - range[0][0] + 1;
  MPI_Win win;
  MPI_Win_allocate((MPI_Aint)sizeof *memory * size, sizeof *memory, MPI_INFO_NULL, comm, &memory,
                   &win);
  MPI_Comm_group(comm, &all);
  MPI_Group_range_incl(all, 1, range, &half);
  for (int round = 1; round <= 20; round++) {
    int value = 100 * round + rank;
    MPI_Win_post(half, 0, win);
    MPI_Win_start(half, 0, win);
    for (int i = 0; i < others; i++)
      MPI_Put(&value, 1, MPI_INT, range[0][0] + i, rank, 1, MPI_INT, win);
    MPI_Win_complete(win);
    if (round % 2 == 0) MPI_Win_wait(win);
    for (flag = round % 2 == 0; !flag;) MPI_Win_test(win, &flag);
    for (int i = range[0][0]; i <= range[0][1]; i++) CHECK(memory[i] == 100 * round + i);
  }
  MPI_Win_free(&win);
  MPI_Group_free(&half);
  MPI_Group_free(&all);
}

/* Exclusive locks keep each other and shared ones out: of two numbers that are written one after
 * the other, nobody sees the first alone. */
static void by_locks(MPI_Comm comm, int rank, int size) {
  enum { MANY = 30 };
  long *memory, both[2], more;
  MPI_Win win;
  MPI_Win_allocate(2 * sizeof *memory, sizeof *memory, MPI_INFO_NULL, comm, &memory, &win);
  for (int i = 0; i < MANY; i++) {
    int target = i % 3 == 0 ? 0 : size - 1, kind = (i + rank) % 4;
    if (kind == 3)
      MPI_Win_lock_all(0, win);
    else
      MPI_Win_lock(kind < 2 ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, target, 0, win);
    MPI_Get(both, 2, MPI_LONG, target, 0, 2, MPI_LONG, win);
    MPI_Win_flush(target, win);
    CHECK(both[0] == both[1]);
    for (int k = 0; k < 2 && kind < 2; k++) {
      more = both[k] + 1;
      MPI_Put(&more, 1, MPI_LONG, target, k, 1, MPI_LONG, win);
      MPI_Win_flush(target, win);
    }
    if (kind == 3)
      MPI_Win_unlock_all(win);
    else
      MPI_Win_unlock(target, win);
  }
  MPI_Barrier(comm);
  long sums[2] = {0}, wrote = 0, all;
  for (int i = 0; i < MANY; i++) wrote += (i + rank) % 4 < 2;
  MPI_Allreduce(&wrote, &all, 1, MPI_LONG, MPI_SUM, comm);
  MPI_Win_lock_all(0, win);
  for (int k = 0; k < 2; k++) MPI_Get(&sums[k], 1, MPI_LONG, k * (size - 1), 0, 1, MPI_LONG, win);
  MPI_Win_unlock_all(win);
  CHECK(sums[0] + sums[1] == all);
  MPI_Win_free(&win);
}

/* Large data are fetched. They have come when their target is unlocked, when a flush or a request
 * has ended, and when an epoch has. */
static void by_fetches(MPI_Comm comm, int rank, int size) {
  enum { LONG = 30000, TURNS = 3 };
  int *memory, *data = malloc(sizeof *data * LONG), to = (rank + size / 2) % size;
  int from = (rank + size - size / 2) % size;
  MPI_Request request;
  MPI_Group all, origin, target;
  MPI_Win win;
  MPI_Win_allocate((MPI_Aint)sizeof *memory * LONG, sizeof *memory, MPI_INFO_NULL, comm, &memory,
                   &win);
  for (int i = 0; i < LONG; i++) memory[i] = i;
  MPI_Barrier(comm);
  for (int turn = 0; turn < TURNS; turn++) { /* each adds 1 to all elements of a rank */
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, size - 1, 0, win);
    MPI_Get(data, LONG, MPI_INT, size - 1, 0, LONG, MPI_INT, win);
    MPI_Win_flush(size - 1, win);
    for (int i = 0; i < LONG; i++) data[i]++;
    MPI_Put(data, LONG, MPI_INT, size - 1, 0, LONG, MPI_INT, win);
    MPI_Win_unlock(size - 1, win);
  }
  MPI_Barrier(comm);
  MPI_Win_lock_all(0, win);
  MPI_Rget(data, LONG, MPI_INT, size - 1, 0, LONG, MPI_INT, win, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  for (int i = 0; i < LONG; i++) CHECK(data[i] == i + TURNS * size);
  MPI_Barrier(comm);
  for (int i = 0; i < LONG; i++) data[i] = rank - i;
  MPI_Rput(data, LONG, MPI_INT, to, 0, LONG, MPI_INT, win, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Win_flush(to, win);
  MPI_Win_unlock_all(win);
  MPI_Barrier(comm);
  for (int i = 0; i < LONG; i++) CHECK(memory[i] == from - i);
  for (int i = 0; i < LONG; i++) data[i] = rank + 3 * i;
  MPI_Comm_group(comm, &all);
  MPI_Group_incl(all, 1, &from, &origin);
  MPI_Group_incl(all, 1, &to, &target);
  MPI_Win_post(origin, 0, win);
  MPI_Win_start(target, 0, win);
  MPI_Put(data, LONG - 1, MPI_INT, to, 1, LONG - 1, MPI_INT, win);
  MPI_Win_complete(win);
  MPI_Win_wait(win);
  for (int i = 1; i < LONG; i++) CHECK(memory[i] == from + 3 * (i - 1));
  CHECK(memory[0] == from);
  MPI_Group_free(&target);
  MPI_Group_free(&origin);
  MPI_Group_free(&all);
  MPI_Win_free(&win);
  free(data);
}

/* A second lock is taken while data for the first target are on their way to its node. */
static void two_locks(MPI_Comm comm, int rank, int size) {
  int *memory, value = 7, other = (rank + size / 2) % size,
               next = other == size - 1 ? 0 : other + 1;
  MPI_Win win;
  MPI_Win_allocate((MPI_Aint)sizeof *memory * size, sizeof *memory, MPI_INFO_NULL, comm, &memory,
                   &win);
  memset(memory, 0, sizeof *memory * (size_t)size);
  MPI_Barrier(comm);
  MPI_Win_lock(MPI_LOCK_SHARED, other, 0, win);
  MPI_Put(&value, 1, MPI_INT, other, rank, 1, MPI_INT, win);
  MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win);
  MPI_Accumulate(&value, 1, MPI_INT, next, rank, 1, MPI_INT, MPI_SUM, win);
  MPI_Win_unlock(next, win);
  MPI_Win_unlock(other, win);
  MPI_Barrier(comm);
  for (int i = 0; i < size; i++) {
    int to = (i + size / 2) % size, then = to == size - 1 ? 0 : to + 1;
    CHECK(memory[i] == (rank == to || rank == then ? 7 : 0));
  }
  MPI_Win_free(&win);
}

/* A target that never calls MPI gets what is put, and requests complete. */
static void without_help(MPI_Comm comm, int rank, int size) {
  int *memory, value = 5, got = 0, peer = size - 1 - rank;
  MPI_Request request;
  MPI_Win win;
  MPI_Win_allocate(2 * sizeof *memory, sizeof *memory, MPI_INFO_NULL, comm, &memory, &win);
  if (rank < size / 2) {
    MPI_Win_lock(MPI_LOCK_SHARED, peer, 0, win);
    MPI_Rput(&value, 1, MPI_INT, peer, 1, 1, MPI_INT, win, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Rget(&got, 1, MPI_INT, peer, 1, 1, MPI_INT, win, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(got == 5);
    MPI_Put(&value, 1, MPI_INT, peer, 0, 1, MPI_INT, win);
    MPI_Win_unlock(peer, win);
  } else if (size % 2 == 0) {
    while (__atomic_load_n(&memory[0], __ATOMIC_ACQUIRE) == 0) usleep(100);
    CHECK(memory[0] == 5 && memory[1] == 5);
  }
  MPI_Win_free(&win);
}

static void dynamic_windows(MPI_Comm comm, int rank, int size) {
  int *memory = calloc(EACH, sizeof *memory), peer = (rank + size / 2) % size, value = rank;
  MPI_Aint own, theirs;
  MPI_Win win;
  MPI_Win_create_dynamic(MPI_INFO_NULL, comm, &win);
  MPI_Win_attach(win, memory, (MPI_Aint)sizeof *memory * EACH);
  MPI_Get_address(memory, &own);
  MPI_Sendrecv(&own, 1, MPI_AINT, (rank + size - size / 2) % size, 0, &theirs, 1, MPI_AINT, peer, 0,
               comm, MPI_STATUS_IGNORE);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  MPI_Win_lock_all(0, win);
  MPI_Put(&value, 1, MPI_INT, peer, theirs + 8, 1, MPI_INT, win);
  MPI_Win_flush(peer, win); /* an accumulate and a put of one element are not ordered */
  MPI_Accumulate(&value, 1, MPI_INT, peer, theirs + 8, 1, MPI_INT, MPI_SUM, win);
  EXPECT(MPI_ERR_RMA_RANGE, MPI_Put(&value, 1, MPI_INT, peer,
                                    theirs + EACH * (MPI_Aint)sizeof *memory, 1, MPI_INT, win));
  EXPECT(MPI_ERR_RMA_RANGE, MPI_Get(&value, 1, MPI_INT, peer, theirs - 4, 1, MPI_INT, win));
  MPI_Win_unlock_all(win);
  MPI_Barrier(comm);
  CHECK(memory[2] == 2 * ((rank + size - size / 2) % size));
  MPI_Win_detach(win, memory);
  MPI_Win_free(&win);
  free(memory);
}

/* Of MPI_PROC_NULL a query means the first rank that has memory: on another node, none. */
static void first_memory(int rank, int size) {
  for (int owner = 0; owner < size; owner++) {
    int *memory, *base, unit;
    MPI_Aint bytes;
    MPI_Win win;
    MPI_Comm node;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    int near = rank == owner;
    MPI_Allreduce(MPI_IN_PLACE, &near, 1, MPI_INT, MPI_LOR, node);
    MPI_Win_allocate(rank < owner ? 0 : 8, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    if (rank == owner) *memory = 100 + owner;
    MPI_Win_fence(0, win);
    MPI_Win_shared_query(win, MPI_PROC_NULL, &bytes, &unit, &base);
    CHECK(bytes == (near ? 8 : 0));
    CHECK(near ? *base == 100 + owner : base == NULL);
    MPI_Win_fence(0, win);
    MPI_Win_free(&win);
    MPI_Comm_free(&node);
  }
}

static void odd_windows(int rank, int size) {
  int *memory, *base, unit, peer = (rank + size / 2) % size, data = 0;
  MPI_Aint bytes;
  MPI_Win win;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  EXPECT(MPI_ERR_RMA_SHARED,
         MPI_Win_allocate_shared(4, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Win_allocate(4, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  MPI_Win_shared_query(win, rank, &bytes, &unit, &base);
  CHECK(bytes == 4 && base == memory);
  MPI_Win_shared_query(win, peer, &bytes, &unit, &base);
  CHECK(bytes == 0 && base == NULL);
  first_memory(rank, size);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  EXPECT(MPI_ERR_RMA_SYNC, MPI_Put(&data, 1, MPI_INT, peer, 0, 1, MPI_INT, win));
  MPI_Win_fence(0, win);
  EXPECT(MPI_ERR_RMA_RANGE, MPI_Put(&data, 1, MPI_INT, peer, 1, 1, MPI_INT, win));
  EXPECT(MPI_ERR_DISP, MPI_Get(&data, 1, MPI_INT, peer, -1, 1, MPI_INT, win));
  EXPECT(MPI_ERR_TRUNCATE, MPI_Put(&data, 2, MPI_SHORT, peer, 0, 1, MPI_SHORT, win));
  CHECK(MPI_Put(&data, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, win) == MPI_SUCCESS);
  MPI_Win_fence(0, win);
  MPI_Win_free(&win);
}

void windows(int rank, int size) {
  for (int order = 0; order < 3; order++) {
    MPI_Comm comm; /* in order, from the last to the first, and nodes take turns */
    int keys[] = {rank, size - rank, rank % 2 * size + rank}, place, *own;
    MPI_Win within = MPI_WIN_NULL; /* a rank that has one does not defer locks */
    if (order == 1) MPI_Win_allocate(4, 4, MPI_INFO_NULL, MPI_COMM_SELF, (void *)&own, &within);
    MPI_Comm_split(MPI_COMM_WORLD, 0, keys[order], &comm);
    MPI_Comm_rank(comm, &place);
    by_fences(comm, place, size);
    by_layouts(comm, place, size);
    by_atomics(comm, place, size);
    by_many(comm, place, size);
    by_epochs(comm, place, size);
    by_locks(comm, place, size);
    by_fetches(comm, place, size);
    two_locks(comm, place, size);
    without_help(comm, place, size);
    dynamic_windows(comm, place, size);
    shared_locks(comm, place, size);
    if (order == 1) MPI_Win_free(&within);
    MPI_Comm_free(&comm);
  }
  odd_windows(rank, size);
}

/* The last rank holds the lock of the first one's memory, and waits for a message. */
void stuck(const char *what, int rank, int size) {
  long *memory;
  MPI_Win win, within;
  MPI_Group all;
  MPI_Win_allocate(sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  MPI_Win_set_name(win, "the table");
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  if (strcmp(what, "stuck_lock") == 0) { /* nobody defers */
    MPI_Win_allocate(sizeof *memory, 1, MPI_INFO_NULL, MPI_COMM_SELF, &memory, &within);
    if (rank == size - 1) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank < size - 1) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
  } else if (strcmp(what, "stuck_deferred") == 0) {
    if (rank >= size - 2) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    if (rank == size - 1) MPI_Win_flush(0, win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == size - 2) MPI_Win_unlock(0, win);
    if (rank < size - 2) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
  } else if (rank == size - 1) {
    MPI_Win_start(all, 0, win);
  }
  MPI_Recv(&rank, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
