/* SPDX-License-Identifier: Apache-2.0 */
/* Waits forever in the way its argument names, or does what modules of tmpirun report: what
 * reports.py looks at. */
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"

enum { MANY = 100000 /* more than a send leaves behind */ };

static int values[MANY], rank, size;

/* Waits at a window for a lock that another rank keeps. */
static void window_lock(void) {
  MPI_Win win;
  MPI_Win_create(values, sizeof values, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_set_name(win, "halo");
  if (rank == 1) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 2, 0, win);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank != 1) MPI_Win_lock(MPI_LOCK_SHARED, 2, 0, win);
}

/* The same for all targets, beside shared holders, which do not matter. */
static void window_lock_all(void) {
  MPI_Win win;
  MPI_Win_create(values, sizeof values, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  if (rank == 1) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 2, 0, win);
  if (rank == 2) MPI_Win_lock(MPI_LOCK_SHARED, 3, 0, win);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) MPI_Win_lock_all(0, win);
}

/* Several holders, of which none lets the next one in. */
static void window_shared(void) {
  MPI_Win win;
  MPI_Win_create(values, sizeof values, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  if (rank == 1 || rank == 2) MPI_Win_lock(MPI_LOCK_SHARED, 3, 0, win);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 3, 0, win);
}

/* The first of several holders is the first rank. */
static void window_first(void) {
  MPI_Win win;
  MPI_Win_create(values, sizeof values, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  if (rank < 2) MPI_Win_lock(MPI_LOCK_SHARED, 3, 0, win);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 2) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 3, 0, win);
}

static void window_exclusive(void) {
  MPI_Win win;
  MPI_Win_create(values, sizeof values, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  if (rank == 1 || rank == 2) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) MPI_Win_lock_all(0, win);
}

/* One rank has locks of all targets. */
static void window_all(void) {
  MPI_Win win;
  MPI_Win_create(values, sizeof values, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  if (rank == 1) MPI_Win_lock_all(0, win);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 3, 0, win);
}

/* Two ranks lock each other's memory second. */
static void window_circle(void) {
  MPI_Win win;
  MPI_Win_create(values, sizeof values, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  if (rank < 2) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank < 2) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1 - rank, 0, win);
}

/* Rank 0 starts towards all others, of which one posts; that one waits for two origins. */
static void window_epochs(void) {
  MPI_Group all, others;
  MPI_Win win;
  MPI_Win_create(values, sizeof values, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Group_incl(all, 3, rank == 0 ? (int[]){1, 2, 3} : (int[]){0, 2, 3}, &others);
  if (rank == 0) MPI_Win_start(others, 0, win);
  if (rank == 1) MPI_Win_post(others, 0, win);
  if (rank == 1) MPI_Win_wait(win);
}

static void window_fence(void) {
  MPI_Win win;
  MPI_Win_create(values, sizeof values, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  if (rank != 3) MPI_Win_fence(0, win);
}

/* The sender marks one partition of two. */
static void partitions(void) {
  MPI_Request request;
  if (rank == 0)
    MPI_Precv_init(values, 2, 4, MPI_INT, 1, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
  if (rank == 1)
    MPI_Psend_init(values, 2, 4, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
  if (rank > 1) return;
  MPI_Start(&request);
  if (rank == 1) MPI_Pready(0, request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* In pairs. */
static void circles(void) { MPI_Send(values, MANY, MPI_INT, rank ^ 1, 0, MPI_COMM_WORLD); }

static void own_send(void) { MPI_Ssend(values, 1, MPI_INT, rank, 0, MPI_COMM_WORLD); }

static void every_other(void) {
  if (rank % 2 == 0)
    MPI_Barrier(MPI_COMM_WORLD);
  else
    MPI_Recv(values, 1, MPI_INT, rank, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Each in a line of its own. */
static void apart(void) {
  switch (rank) {
    case 0: MPI_Probe(0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE); break;
    case 1: MPI_Probe(0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE); break;
    case 2: MPI_Probe(0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE); break;
    case 3: MPI_Probe(0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE); break;
    case 4: MPI_Probe(0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE); break;
    case 5: MPI_Probe(0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE); break;
    case 6: MPI_Probe(0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE); break;
    case 7: MPI_Probe(0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE); break;
    case 8: MPI_Probe(0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE); break;
    case 9: MPI_Probe(0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE); break;
  }
}

/* Values that each rank computes from its number: tags, sizes, names of communicators. */
static void own_tags(void) {
  MPI_Recv(values, 1, MPI_INT, (rank + 1) % size, rank, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void own_sizes(void) {
  char *data = calloc((size_t)rank + 20000, 1);
  CHECK(data != NULL);
  MPI_Send(data, rank + 17000, MPI_BYTE, (rank + 1) % size, 0, MPI_COMM_WORLD);
  free(data);
}

static void own_names(void) {
  MPI_Comm pair;
  char name[32];
  snprintf(name, sizeof name, "pair %d", rank / 2);
  MPI_Comm_split(MPI_COMM_WORLD, rank / 2, 0, &pair);
  MPI_Comm_set_name(pair, name);
  if (rank % 2 != 0)
    MPI_Barrier(pair);
  else
    MPI_Recv(values, 1, MPI_INT, 1, 3, pair, MPI_STATUS_IGNORE);
}

static void any_rank(void) {
  if (rank == 0)
    MPI_Recv(values, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* The last thing that happens is an end, which nobody waits for. */
static void ended(void) {
  if (rank == 0) MPI_Recv(values, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  usleep(100000);
  exit(0);
}

/* The others wait for a rank that has ended with a status, on a communicator with a short name. */
static void failed(void) {
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_name(comm, "p");
  if (rank != 0) MPI_Recv(values, 1, MPI_INT, 0, 0, comm, MPI_STATUS_IGNORE);
  exit(1);
}

static void half(void) {
  MPI_Comm comm;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &comm);
  if (rank == 1) MPI_Recv(values, 1, MPI_INT, 1, 0, comm, MPI_STATUS_IGNORE);
  MPI_Comm_free(&comm);
}

/* The last rank is the first one there. */
static void reversed(void) {
  MPI_Comm comm;
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comm);
  if (rank == 1) MPI_Recv(values, 1, MPI_INT, size - 1, 0, comm, MPI_STATUS_IGNORE);
  MPI_Comm_free(&comm);
}

static void probe(void) {
  if (rank == 0) MPI_Probe(1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void wait_for_several(void) {
  MPI_Request requests[2];
  int index;
  if (rank != 0) return;
  for (int i = 0; i < 2; i++)
    MPI_Irecv(values + i, 1, MPI_INT, 1 + i, 0, MPI_COMM_WORLD, &requests[i]);
  MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
}

/* The receive that was first of all is complete when the wait hangs on the other one. */
static void wait_for_all(void) {
  MPI_Request requests[3];
  if (rank == 1 || rank == 2) MPI_Send(values, 1, MPI_INT, 0, 7, MPI_COMM_WORLD);
  if (rank != 0) return;
  for (int i = 0; i < 3; i++)
    MPI_Irecv(values + i, 1, MPI_INT, 1 + i, 7, MPI_COMM_WORLD, &requests[i]);
  MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
}

static void wrong_tag(void) {
  if (rank == 0) MPI_Send(values, 1, MPI_INT, 1, 5, MPI_COMM_WORLD);
  if (rank == 1) MPI_Recv(values, 1, MPI_INT, 0, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* More bytes than the inline slot takes, behind a message of another rank. */
static void wrong_comm(void) {
  MPI_Comm half;
  MPI_Comm_split(MPI_COMM_WORLD, rank / 2, 0, &half);
  if (rank == 3) MPI_Send(values, 1, MPI_INT, 1, 5, MPI_COMM_WORLD);
  if (rank == 0) MPI_Send(values, 100, MPI_INT, 1, 5, half);
  if (rank == 1) MPI_Recv(values, 100, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Comm_free(&half);
}

/* The number of the neighbour is wrong. */
static void wrong_sender(void) {
  MPI_Comm half;
  MPI_Comm_split(MPI_COMM_WORLD, rank == 3, 0, &half);
  if (rank == 0) MPI_Send(values, 1, MPI_INT, 1, 5, half);
  if (rank == 1) MPI_Recv(values, 1, MPI_INT, 2, 5, half, MPI_STATUS_IGNORE);
  if (rank == 2) MPI_Recv(values, 1, MPI_INT, 1, 5, half, MPI_STATUS_IGNORE);
}

/* The last rank has the rest of the rows, for which the root has no room. */
static void rest_of_rows(void) {
  enum { ROWS = 103 };
  int mine = ROWS / size + (rank == size - 1 ? ROWS % size : 0), counts[4], starts[4];
  static int all[ROWS];
  for (int i = 0; i < size; i++) {
    counts[i] = ROWS / size;
    starts[i] = i * counts[i];
  }
  MPI_Gatherv(values, mine, MPI_INT, all, counts, starts, MPI_INT, 0, MPI_COMM_WORLD);
}

/* Frees a type in the first step of a loop, and uses it in the second. */
static void freed_type(void) {
  MPI_Datatype type;
  MPI_Type_contiguous(3, MPI_INT, &type);
  MPI_Type_commit(&type);
  for (int step = 0; step < 2; step++) {
    MPI_Bcast(values, 4, type, 0, MPI_COMM_WORLD);
    MPI_Type_free(&type);
  }
}

static void window_left(void) {
  MPI_Win win;
  MPI_Win_create(values, sizeof values, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
}

/* A worker reports on its way, and the master takes results only. */
static void lost(void) {
  enum { RESULT = 1, PROGRESS = 2 };
  if (rank == 2) MPI_Send(values, 1, MPI_INT, 0, PROGRESS, MPI_COMM_WORLD);
  if (rank > 0) MPI_Send(values, 1, MPI_INT, 0, RESULT, MPI_COMM_WORLD);
  for (int i = 1; rank == 0 && i < size; i++)
    MPI_Recv(values, 1, MPI_INT, MPI_ANY_SOURCE, RESULT, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Messages that are all different. */
static void lost_many(void) {
  enum { MESSAGES = 200 };
  for (int tag = 0; rank == 1 && tag < MESSAGES; tag++)
    MPI_Send(values, 1, MPI_INT, 0, tag, MPI_COMM_WORLD);
}

static void too_long(void) {
  if (rank == 0) MPI_Send(values, 10, MPI_INT, 1, 0, MPI_COMM_WORLD);
  if (rank == 1) MPI_Recv(values, 5, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static int query(void *state, MPI_Status *status) {
  (void)state, (void)status;
  return MPI_SUCCESS;
}

static int free_state(void *state) {
  (void)state;
  return MPI_SUCCESS;
}

static int cancel(void *state, int complete) {
  (void)state, (void)complete;
  return MPI_SUCCESS;
}

static void own_request(void) {
  MPI_Request request;
  if (rank != 0) return;
  MPI_Grequest_start(query, free_state, cancel, NULL, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void drain(void) {
  static char room[100 + MPI_BSEND_OVERHEAD];
  void *taken;
  int bytes;
  if (rank != 0) return;
  MPI_Buffer_attach(room, sizeof room);
  MPI_Bsend(values, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
  MPI_Buffer_detach(&taken, &bytes);
}

static void nonblocking(void) {
  MPI_Request request;
  if (rank == 1) return;
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* All call the same, and do not fit together: of two groups none has the root. */
static void no_root(void) {
  MPI_Comm group, both;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &group);
  MPI_Intercomm_create(group, 0, MPI_COMM_WORLD, 1 - rank % 2, 0, &both);
  MPI_Bcast(values, MANY, MPI_INT, rank % 2 == 0 ? MPI_PROC_NULL : 0, both);
}

int deeper(int depth);
int deeper(int depth) {
  if (depth == 0)
    MPI_Recv(values, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  else
    values[0] += deeper(depth - 1);
  return values[0] + depth;
}

static void deep(void) { deeper(100); }

static void receive(void) {
  CHECK(__builtin_frame_address(0) != NULL); /* so that it has a frame */
  MPI_Recv(values, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Called by instructions that no file has: push %rbp; mov %rsp, %rbp; call *%rdi; pop %rbp; ret */
static void generated(void) {
  static const unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};
  void *memory = mmap(NULL, sizeof code, PROT_READ | PROT_WRITE | PROT_EXEC,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  void (*call)(void (*)(void));
  CHECK(memory != MAP_FAILED);
  memcpy(memory, code, sizeof code);
  memcpy(&call, &memory, sizeof call);
  call(receive);
}

static void handler(int signo) { (void)signo; }

static void taken_back(void) {
  if (rank == 0) {
    signal(SIGUSR2, handler);
    signal(SIGUSR2, SIG_DFL);
    printf("ready\n");
    fflush(stdout);
    for (;;) pause();
  }
}

/* ---- what --check and --report tell */

struct item {
  int number;
  double real;
};

/* 32 bytes of a structure, of which the first is a number; received as something else. */
static void derived(void) {
  const int lengths[] = {1, 1};
  const MPI_Aint places[] = {offsetof(struct item, number), offsetof(struct item, real)};
  const MPI_Datatype parts[] = {MPI_INT, MPI_DOUBLE};
  MPI_Datatype item, items, named;
  MPI_Type_create_struct(2, lengths, places, parts, &item);
  MPI_Type_contiguous(2, item, &items);
  MPI_Type_dup(items, &named);
  MPI_Type_set_name(named, "two items");
  MPI_Type_commit(&item);
  MPI_Type_commit(&items);
  MPI_Type_commit(&named);
  if (rank == 0) {
    MPI_Send(values, 1, items, 1, 1, MPI_COMM_WORLD);
    MPI_Send(values, 1, item, 1, 2, MPI_COMM_WORLD); /* shorter than there is room for: none */
    MPI_Send(values, 3, MPI_INT, 1, 3, MPI_COMM_WORLD);
  }
  if (rank == 1) {
    MPI_Recv(values, 2, item, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* the same: no mistake */
    MPI_Recv(values, 1, items, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(values, 2, named, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  if (rank == 2) MPI_Send(values, 3, items, 3, 4, MPI_COMM_WORLD);
  if (rank == 3) MPI_Recv(values, 24, MPI_INT, 2, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Type_free(&item);
  MPI_Type_free(&items);
  MPI_Type_free(&named);
}

static void persistent(void) {
  MPI_Request requests[2];
  MPI_Send_init(values, 10, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD, &requests[0]);
  MPI_Recv_init(values + 10, 10, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &requests[1]);
  for (int i = 0; i < 3; i++) {
    MPI_Startall(2, requests);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  }
  for (int i = 0; i < 2; i++) MPI_Request_free(&requests[i]);
}

/* More than there are lists for: those of a list are looked through. */
static void many_leaks(void) {
  enum { TYPES = 20000 };
  static MPI_Datatype types[TYPES];
  for (int i = 0; i < TYPES; i++) MPI_Type_contiguous(2, MPI_INT, &types[i]);
  for (int i = 0; i < TYPES; i += 2) MPI_Type_free(&types[i]);
}

/* Rank 0 never comes to the barrier, and says so; the others wait for it. */
static void go_on(void (*step)(void)) {
  if (rank != 0) return;
  puts("on its way");
  fflush(stdout);
  for (;;) step();
}

static void test_message(void) {
  static MPI_Request request = MPI_REQUEST_NULL;
  static int value, done;
  if (request == MPI_REQUEST_NULL) MPI_Irecv(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, &request);
  MPI_Test(&request, &done, MPI_STATUS_IGNORE);
}

static void polls(void) { go_on(test_message); }

static void compute(void) {
  static volatile long sum;
  for (int i = 0; i < 100000; i++) sum += i;
}

static void computes(void) { go_on(compute); }

static void sleep_long(void) { sleep(600); }

static void sleeps(void) { go_on(sleep_long); }

static const struct {
  const char *name;
  void (*wait)(void);
} ways[] = {
    {"circles", circles},
    {"own-send", own_send},
    {"every-other", every_other},
    {"apart", apart},
    {"any-rank", any_rank},
    {"own-tags", own_tags},
    {"own-sizes", own_sizes},
    {"own-names", own_names},
    {"ended", ended},
    {"failed", failed},
    {"half", half},
    {"reversed", reversed},
    {"probe", probe},
    {"several", wait_for_several},
    {"all", wait_for_all},
    {"wrong-tag", wrong_tag},
    {"wrong-comm", wrong_comm},
    {"wrong-sender", wrong_sender},
    {"rest-of-rows", rest_of_rows},
    {"freed-type", freed_type},
    {"window-left", window_left},
    {"lost", lost},
    {"lost-many", lost_many},
    {"partitions", partitions},
    {"too-long", too_long},
    {"own-request", own_request},
    {"drain", drain},
    {"nonblocking", nonblocking},
    {"no-root", no_root},
    {"deep", deep},
    {"generated", generated},
    {"taken-back", taken_back},
    {"derived", derived},
    {"persistent", persistent},
    {"many-leaks", many_leaks},
    {"window-lock", window_lock},
    {"window-lock-all", window_lock_all},
    {"window-shared", window_shared},
    {"window-first", window_first},
    {"window-exclusive", window_exclusive},
    {"window-all", window_all},
    {"window-circle", window_circle},
    {"window-epochs", window_epochs},
    {"window-fence", window_fence},
    {"polls", polls},
    {"computes", computes},
    {"sleeps", sleeps},
};

int main(int argc, char **argv) {
  if (argc > 1 && strcmp(argv[1], "before") == 0) MPI_Barrier(MPI_COMM_WORLD);
  if (argc > 1 && strcmp(argv[1], "before-complete") == 0) MPI_Grequest_complete(MPI_REQUEST_NULL);
  if (argc > 1 && strcmp(argv[1], "before-split") == 0)
    MPI_Comm_split_type(MPI_COMM_WORLD, -12345, 0, MPI_INFO_NULL, &(MPI_Comm){MPI_COMM_NULL});
  rank = check_start(&argc, &argv, &size);
  for (size_t i = 0; argc > 1 && i < sizeof ways / sizeof ways[0]; i++)
    if (strcmp(ways[i].name, argv[1]) == 0) ways[i].wait();
  if (argc > 1 && strcmp(argv[1], "after-returning") == 0)
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Finalize();
  if (argc > 1 && strcmp(argv[1], "after") == 0) MPI_Barrier(MPI_COMM_WORLD);
  if (argc > 1 && strcmp(argv[1], "after-returning") == 0) MPI_Comm_size(MPI_COMM_WORLD, &size);
  return 0;
}
