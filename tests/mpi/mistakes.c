/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the mistake its argument names: what mistakes.py looks at. */
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "mistakes.h"

enum { MANY = 100000 /* more than a send leaves behind */ };

static int values[MANY], others[MANY];

int rank, size;

static void receive(int source, int tag) {
  MPI_Recv(values, MANY, MPI_INT, source, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* ---- the classics */

static void head_to_head(void) {
  int other = size - 1 - rank;
  MPI_Send(values, MANY, MPI_INT, other, 0, MPI_COMM_WORLD);
  receive(other, 0);
}

static void missing(void) {
  if (rank == size - 1)
    receive(0, 9);
  else
    MPI_Barrier(MPI_COMM_WORLD);
}

static void wrong_root(void) { MPI_Bcast(values, 1, MPI_INT, rank == 2 ? 1 : 0, MPI_COMM_WORLD); }

static void wrong_root_gather(void) {
  MPI_Gather(&rank, 1, MPI_INT, values, 1, MPI_INT, rank == 2 ? 1 : 0, MPI_COMM_WORLD);
}

static void wrong_root_reduce(void) {
  static int sums[MANY];
  MPI_Reduce(values, sums, MANY, MPI_INT, MPI_SUM, rank == 2 ? 1 : 0, MPI_COMM_WORLD);
}

/* Some wait until all have copied what is much, others have copied what is little and continue. */
static void wrong_root_hangs(void) {
  int root = rank == 2 ? 2 : 0;
  MPI_Bcast(values, root == 0 ? MANY : 1, MPI_INT, root, MPI_COMM_WORLD);
}

static void crossed_tags(void) {
  if (rank == 0) MPI_Ssend(values, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
  if (rank == 1) receive(0, 2);
}

static void wrong_order(void) {
  if (rank == 1) MPI_Barrier(MPI_COMM_WORLD);
  MPI_Allreduce(MPI_IN_PLACE, values, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank != 1) MPI_Barrier(MPI_COMM_WORLD);
}

static void wrong_kind(void) {
  if (rank == 1)
    MPI_Allgather(&rank, 1, MPI_INT, values, 1, MPI_INT, MPI_COMM_WORLD);
  else
    MPI_Allreduce(MPI_IN_PLACE, values, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

static MPI_Comm ring;
static MPI_Request request;
static MPI_File file;
static MPI_Win window;
static char port[MPI_MAX_PORT_NAME];
static void *memory;

static void call_accept(void) { MPI_Comm_accept(port, MPI_INFO_NULL, 0, ring, &ring); }
static void call_connect(void) { MPI_Comm_connect(port, MPI_INFO_NULL, 0, ring, &ring); }
static void call_open(void) {
  MPI_File_open(ring, "/dev/null", MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
}
static void call_start_neighbors(void) {
  MPI_Ineighbor_alltoall(values, 1, MPI_INT, others, 1, MPI_INT, ring, &request);
}
static void call_gather_of_neighbors(void) {
  MPI_Neighbor_allgather_c(values, 1, MPI_INT, others, 1, MPI_INT, ring);
}
static void call_prepare(void) {
  MPI_Allreduce_init(values, others, 1, MPI_INT, MPI_SUM, ring, MPI_INFO_NULL, &request);
}
static void call_spawn(void) {
  MPI_Comm_spawn("mistakes", MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, ring, &ring, MPI_ERRCODES_IGNORE);
}
static void call_allocate(void) { MPI_Win_allocate(0, 1, MPI_INFO_NULL, ring, &memory, &window); }
static void call_allocate_shared(void) {
  MPI_Win_allocate_shared_c(0, 1, MPI_INFO_NULL, ring, &memory, &window);
}
static void call_create(void) {
  MPI_Win_create(values, sizeof values, 1, MPI_INFO_NULL, ring, &window);
}
static void call_create_dynamic(void) { MPI_Win_create_dynamic(MPI_INFO_NULL, ring, &window); }

/* Rank 1 calls the collective that the second argument names, and the others wait for it. */
static void no_barrier(const char *name) {
  static const struct {
    const char *name;
    void (*call)(void);
  } calls[] = {
      {"MPI_Allreduce_init", call_prepare},
      {"MPI_Comm_accept", call_accept},
      {"MPI_Comm_connect", call_connect},
      {"MPI_Comm_spawn", call_spawn},
      {"MPI_File_open", call_open},
      {"MPI_Ineighbor_alltoall", call_start_neighbors},
      {"MPI_Neighbor_allgather_c", call_gather_of_neighbors},
      {"MPI_Win_allocate", call_allocate},
      {"MPI_Win_allocate_shared_c", call_allocate_shared},
      {"MPI_Win_create", call_create},
      {"MPI_Win_create_dynamic", call_create_dynamic},
  };
  MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &(int){1}, 0, &ring);
  MPI_Open_port(MPI_INFO_NULL, port);
  for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
    if (name == NULL && rank == 0) printf("%s\n", calls[i].name);
    if (name != NULL && rank == 1 && strcmp(name, calls[i].name) == 0) calls[i].call();
  }
  MPI_Barrier(ring);
  MPI_Comm_free(&ring);
}

static void wrong_order_hangs(void) {
  if (rank != 1) MPI_Bcast(values, MANY, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
}

/* Of two communicators. */
static void wrong_order_two(void) {
  MPI_Comm comms[2];
  for (int i = 0; i < 2; i++) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
  MPI_Comm_set_name(comms[0], "first");
  MPI_Comm_set_name(comms[1], "second");
  for (int i = 0; i < 2; i++) MPI_Barrier(comms[(i + rank) % 2]);
  for (int i = 0; i < 2; i++) MPI_Comm_free(&comms[i]);
}

static void never_started(void) {
  MPI_Request request;
  if (rank == 0) {
    MPI_Send_init(values, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
  }
  if (rank == 1) receive(0, 5);
}

/* ---- other ways to hang */

static void all_receive(void) { receive((rank + 1) % size, 0); }

static void probes(void) {
  MPI_Status status;
  MPI_Message message;
  if (rank == 1) MPI_Probe(0, 7, MPI_COMM_WORLD, &status);
  if (rank == 2) MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &message, &status);
}

static void early_end(void) {
  if (rank == 0) exit(0);
  receive(0, 4);
}

static void other_comm(void) {
  MPI_Comm copy;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  MPI_Comm_set_name(copy, "copy");
  if (rank == 0) MPI_Ssend(values, 1, MPI_INT, 1, 0, copy);
  if (rank == 1) receive(0, 0);
  MPI_Comm_free(&copy);
}

static void computes(void) {
  volatile int go_on = 1;
  if (rank == 1)
    while (go_on) continue;
  MPI_Barrier(MPI_COMM_WORLD);
}

static void waits_for_word(void) {
  if (rank == 0) {
    printf("ready\n");
    fflush(stdout);
    while (read(0, values, 1) > 0) continue;
    MPI_Send(values, 1, MPI_INT, 1, 3, MPI_COMM_WORLD);
  }
  if (rank == 1) receive(0, 3);
}

/* ---- what --check finds, and nobody needs to hang of */

static void other_op(void) {
  MPI_Op op = rank == 3 ? MPI_MAX : MPI_SUM;
  MPI_Allreduce(MPI_IN_PLACE, values, 4, MPI_INT, op, MPI_COMM_WORLD);
}

static void other_count(void) {
  MPI_Reduce(values, others, rank == 1 ? 5 : 4, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
}

static void other_type(void) {
  MPI_Bcast(values, 4, rank == 1 ? MPI_FLOAT : MPI_INT, 0, MPI_COMM_WORLD);
}

static void other_gather(void) {
  MPI_Gather(values, 1, MPI_INT, others, 2, MPI_INT, 0, MPI_COMM_WORLD);
}

/* The same data by other types: no mistake. */
static void same_data(void) {
  MPI_Datatype pair, column;
  MPI_Type_contiguous(2, MPI_INT, &pair);
  MPI_Type_vector(4, 1, 2, MPI_INT, &column);
  MPI_Type_commit(&pair);
  MPI_Type_commit(&column);
  if (rank % 2 == 0)
    MPI_Bcast(values, 2, pair, 0, MPI_COMM_WORLD);
  else
    MPI_Bcast(values, 1, column, 0, MPI_COMM_WORLD);
  MPI_Sendrecv(values, 1, column, rank, 0, others, 8, pair, rank, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  MPI_Type_free(&pair);
  MPI_Type_free(&column);
}

static void wrong_type(int count) {
  if (rank == 0) MPI_Send(values, count, MPI_INT, 1, 7, MPI_COMM_WORLD);
  if (rank == 1) MPI_Recv(others, count, MPI_FLOAT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void wrong_type_small(void) { wrong_type(2); }
static void wrong_type_large(void) { wrong_type(MANY); }

static void wrong_type_often(void) {
  for (int i = 0; i < 120; i++) wrong_type(2);
}

static void too_long(void) {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (rank == 0) MPI_Send(values, 3, MPI_INT, 1, 0, MPI_COMM_WORLD);
  if (rank == 1) MPI_Recv(others, 2, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void leaks(void) {
  MPI_Comm copy;
  MPI_Group group;
  MPI_Datatype type;
  MPI_Request request;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  MPI_Comm_group(MPI_COMM_WORLD, &group);
  for (int i = 0; i < 3; i++) MPI_Type_contiguous(2, MPI_INT, &type);
  MPI_Type_free(&type);
  if (rank == 2) MPI_Irecv(values, 1, MPI_INT, 0, 99, MPI_COMM_WORLD, &request);
}

/* One of each kind, of one rank or all. */
static void leaks_of_each_kind(void) {
  static char path[] = "/tmp/mistakes-XXXXXX";
  MPI_Comm comm;
  MPI_Group group;
  MPI_Datatype type;
  MPI_Op op;
  MPI_Info info;
  MPI_Errhandler handler;
  MPI_Request request; /* of one rank it is active */
  MPI_Win win;
  MPI_File file;
  MPI_Comm_dup(MPI_COMM_SELF, &comm);
  if (rank > 0) MPI_Comm_group(MPI_COMM_SELF, &group);
  if (rank % 2 == 1) MPI_Type_contiguous(2, MPI_INT, &type);
  if (rank == 3) MPI_Op_create((MPI_User_function *)(void (*)(void))head_to_head, 1, &op);
  if (rank == 2) MPI_Info_create(&info);
  if (rank == 1)
    MPI_Comm_create_errhandler((MPI_Comm_errhandler_function *)(void (*)(void))head_to_head,
                               &handler);
  if (rank % 2 == 0) MPI_Recv_init(values, 1, MPI_INT, 0, 9, MPI_COMM_WORLD, &request);
  if (rank == 2) MPI_Start(&request);
  MPI_Win_create(values, sizeof values, sizeof(int), MPI_INFO_NULL, MPI_COMM_SELF, &win);
  if (rank == 0)
    MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                  MPI_INFO_NULL, &file);
  if (rank == 0) unlink(path);
}

/* Messages that differ from the one before in one respect each, but for the first two. */
static void each_never_received(void) {
  MPI_Comm copy;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  MPI_Comm_set_name(copy, "copy");
  for (int i = 0; rank == 0 && i < 2; i++) MPI_Send(values, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
  if (rank == 0) {
    MPI_Send(values, 1, MPI_INT, 1, 2, MPI_COMM_WORLD);
    MPI_Send(values, 2, MPI_INT, 1, 2, MPI_COMM_WORLD);
    MPI_Send(values, 2, MPI_FLOAT, 1, 2, MPI_COMM_WORLD);
    MPI_Send(values, 2, MPI_FLOAT, 1, 2, copy);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 2) MPI_Send(values, 2, MPI_FLOAT, 1, 2, copy);
  MPI_Barrier(MPI_COMM_WORLD);
}

static void only_leaks(void) {
  MPI_Group group;
  MPI_Comm_group(MPI_COMM_WORLD, &group);
}

static void never_received(void) {
  MPI_Comm copy;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  for (int i = 0; rank == 0 && i < 2; i++) MPI_Send(values, 3, MPI_INT, 1, 4, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 3) MPI_Send(values, 1, MPI_INT, 1, 5, copy);
  MPI_Comm_free(&copy);
}

/* ---- right programs */

/* The root's group names the root by MPI_ROOT, its other ranks are MPI_PROC_NULL. */
static void intercomm(void) {
  MPI_Comm half, inter, copy;
  MPI_Request requests[2];
  int left = rank < size / 2;
  int root = !left ? 0 : rank == 0 ? MPI_ROOT : MPI_PROC_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, left, rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, left ? size / 2 : 0, 7, &inter);
  MPI_Bcast(values, 1, MPI_INT, root, inter);
  MPI_Barrier(inter);
  MPI_Gather(values, 1, MPI_INT, others, 1, MPI_INT, root, inter);
  MPI_Ibcast(values, 1, MPI_INT, root, inter, &requests[0]);
  MPI_Comm_idup(inter, &copy, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  MPI_Comm_free(&copy);
  MPI_Comm_free(&inter);
  MPI_Comm_free(&half);
}

/* Nobody may free it. */
static void f90_type(void) {
  MPI_Datatype type;
  MPI_Type_create_f90_real(15, 307, &type);
}

/* Waiting for a persistent request that was not started returns at once. */
static void inactive(void) {
  MPI_Request request;
  MPI_Recv_init(values, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Request_free(&request);
}

static void shared_buffer(void) {
  MPI_Request requests[2];
  MPI_Irecv(values, 10, MPI_INT, rank, 0, MPI_COMM_WORLD, &requests[0]);
  MPI_Irecv(values + 9, 10, MPI_INT, rank, 0, MPI_COMM_WORLD, &requests[1]);
  for (int i = 0; i < 2; i++) MPI_Send(others, 10, MPI_INT, rank, 0, MPI_COMM_WORLD);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

static void changed_buffer(void) {
  MPI_Request request;
  MPI_Isend(values, 10, MPI_INT, rank, 0, MPI_COMM_WORLD, &request);
  values[3] = 1;
  MPI_Recv(others, 10, MPI_INT, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void changed_persistent(void) {
  MPI_Request request;
  MPI_Send_init(values, 10, MPI_INT, rank, 0, MPI_COMM_WORLD, &request);
  MPI_Start(&request);
  values[3] = 1;
  MPI_Recv(others, 10, MPI_INT, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Request_free(&request);
}

static void changed_contribution(void) {
  MPI_Request request;
  MPI_Iallreduce(values, others, 10, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
  values[3] = 1;
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* The collectives return an error also without --check. The root then calls what the others call.
 */
static void same_buffers(void) {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Sendrecv(values, 10, MPI_INT, rank, 0, values + 9, 10, MPI_INT, rank, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  MPI_Allreduce(values, values, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Gather(values, 1, MPI_INT, values, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (rank == 0) MPI_Gather(MPI_IN_PLACE, 1, MPI_INT, values, 1, MPI_INT, 0, MPI_COMM_WORLD);
}

/* What looks alike and is right. */
static void right_buffers(void) {
  MPI_Request requests[2];
  int index, done = 0;
  MPI_Isend(values, 10, MPI_INT, rank, 0, MPI_COMM_WORLD, &requests[0]);
  MPI_Irecv(others, 10, MPI_INT, rank, 0, MPI_COMM_WORLD, &requests[1]);
  while (!done) MPI_Request_get_status_any(1, requests, &index, &done, MPI_STATUS_IGNORE);
  values[3]++; /* it is complete, although the program has its request */
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  MPI_Send_init(values, 10, MPI_INT, rank, 0, MPI_COMM_WORLD, &requests[0]);
  MPI_Recv_init(others, 10, MPI_INT, rank, 0, MPI_COMM_WORLD, &requests[1]);
  for (int i = 0; i < 3; i++) {
    values[3] = i;
    MPI_Startall(2, requests);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    CHECK(others[3] == i);
  }
  for (int i = 0; i < 2; i++) MPI_Request_free(&requests[i]);
  for (int i = 0; i < 3; i++) {
    values[0] = rank;
    MPI_Iallreduce(MPI_IN_PLACE, values, 10, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Iallgather(values, 1, MPI_INT, others, 1, MPI_INT, MPI_COMM_WORLD, &requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  }
  if (rank == 0) MPI_Gather(MPI_IN_PLACE, 1, MPI_INT, values, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (rank > 0) MPI_Gather(values, 1, MPI_INT, values, 1, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Sendrecv(values, 10, MPI_INT, MPI_PROC_NULL, 0, values, 10, MPI_INT, MPI_PROC_NULL, 0,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void kept_collective(void) {
  MPI_Request request;
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
}

static const struct mistake mistakes[] = {
    {"head-to-head", head_to_head},
    {"missing", missing},
    {"wrong-root", wrong_root},
    {"crossed-tags", crossed_tags},
    {"wrong-order", wrong_order},
    {"wrong-order-hangs", wrong_order_hangs},
    {"wrong-root-gather", wrong_root_gather},
    {"wrong-root-reduce", wrong_root_reduce},
    {"wrong-kind", wrong_kind},
    {"wrong-order-two", wrong_order_two},
    {"never-started", never_started},
    {"all-receive", all_receive},
    {"early-end", early_end},
    {"other-comm", other_comm},
    {"computes", computes},
    {"waits-for-word", waits_for_word},
    {"wrong-root-hangs", wrong_root_hangs},
    {"probes", probes},
    {"other-op", other_op},
    {"other-count", other_count},
    {"other-type", other_type},
    {"other-gather", other_gather},
    {"same-data", same_data},
    {"wrong-type-small", wrong_type_small},
    {"wrong-type-large", wrong_type_large},
    {"wrong-type-often", wrong_type_often},
    {"too-long", too_long},
    {"leaks", leaks},
    {"only-leaks", only_leaks},
    {"leaks-of-each-kind", leaks_of_each_kind},
    {"each-never-received", each_never_received},
    {"never-received", never_received},
    {"intercomm", intercomm},
    {"f90-type", f90_type},
    {"inactive", inactive},
    {"shared-buffer", shared_buffer},
    {"changed-buffer", changed_buffer},
    {"changed-persistent", changed_persistent},
    {"changed-contribution", changed_contribution},
    {"same-buffers", same_buffers},
    {"right-buffers", right_buffers},
    {"kept-collective", kept_collective},
};

int main(int argc, char **argv) {
  rank = check_start(&argc, &argv, &size);
  others[0] = rank;
  if (argc > 1 && strcmp(argv[1], "no-barrier") == 0) no_barrier(argv[2]);
  for (size_t i = 0; argc > 1 && i < sizeof mistakes / sizeof mistakes[0]; i++)
    if (strcmp(mistakes[i].name, argv[1]) == 0) mistakes[i].make();
  for (const struct mistake *m = window_mistakes; argc > 1 && m->name != NULL; m++)
    if (strcmp(m->name, argv[1]) == 0) m->make();
  MPI_Finalize();
  return 0;
}
