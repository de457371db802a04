/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the mistake its argument names: what mistakes.py looks at. */
#include <string.h>
#include <unistd.h>

#include "check.h"

enum { MANY = 100000 /* more than a send leaves behind */ };

static int values[MANY], others[MANY];

static int rank, size;

static void receive(int source, int tag) {
  MPI_Recv(values, MANY, MPI_INT, source, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* ---- the six classics */

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

/* Small: no rank needs another one, so that nobody hangs. */
static void wrong_root(void) { MPI_Bcast(values, 1, MPI_INT, rank == 2 ? 1 : 0, MPI_COMM_WORLD); }

static void wrong_root_hangs(void) {
  MPI_Bcast(values, MANY, MPI_INT, rank == 2 ? 2 : 0, MPI_COMM_WORLD);
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

static void wrong_order_hangs(void) {
  if (rank != 1) MPI_Bcast(values, MANY, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
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

static const struct {
  const char *name;
  void (*make)(void);
} mistakes[] = {
    {"head-to-head", head_to_head},
    {"missing", missing},
    {"wrong-root", wrong_root},
    {"wrong-root-hangs", wrong_root_hangs},
    {"crossed-tags", crossed_tags},
    {"wrong-order", wrong_order},
    {"wrong-order-hangs", wrong_order_hangs},
    {"never-started", never_started},
    {"all-receive", all_receive},
    {"early-end", early_end},
    {"other-comm", other_comm},
    {"computes", computes},
    {"waits-for-word", waits_for_word},
};

int main(int argc, char **argv) {
  rank = check_start(&argc, &argv, &size);
  others[0] = rank;
  for (size_t i = 0; argc > 1 && i < sizeof mistakes / sizeof mistakes[0]; i++)
    if (strcmp(mistakes[i].name, argv[1]) == 0) mistakes[i].make();
  MPI_Finalize();
  return 0;
}
