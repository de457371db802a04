/* SPDX-License-Identifier: Apache-2.0 */
/* A rank with coroutines of its own: it calls MPI on stacks that libmltp does not know, waits
 * there, and continues on another kernel thread. */
#include <string.h>
#include <ucontext.h>

#include "check.h"

enum { COROUTINES = 3, ROUNDS = 20, STACK = 1 << 18, LARGE = 1 << 16 };

static ucontext_t outside, inside[COROUTINES];
static int rank, size, done[COROUTINES];

/* Larger than what a mailbox takes: the sender waits for the receiver. */
static void exchange(int which, int round) {
  char out[LARGE], in[LARGE];
  int next = (rank + 1) % size, before = (rank + size - 1) % size;
  memset(out, rank + which + round, sizeof out);
  MPI_Sendrecv(out, LARGE, MPI_CHAR, next, which, in, LARGE, MPI_CHAR, before, which,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (int i = 0; i < LARGE; i += LARGE - 1) CHECK(in[i] == (char)(before + which + round));
}

static void run(int which) {
  for (int round = 0; round < ROUNDS; round++) {
    int mine = rank + round, sum, local = which * ROUNDS + round;
    MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum == size * (size - 1) / 2 + size * round);
    exchange(which, round);
    done[which]++;
    CHECK(swapcontext(&inside[which], &outside) == 0);
    CHECK(local == which * ROUNDS + round);
  }
}

int main(int argc, char **argv) {
  static char stacks[COROUTINES][STACK];
  rank = check_start(&argc, &argv, &size);
  for (int i = 0; i < COROUTINES; i++) {
    CHECK(getcontext(&inside[i]) == 0);
    inside[i].uc_stack.ss_sp = stacks[i];
    inside[i].uc_stack.ss_size = STACK;
    inside[i].uc_link = &outside;
    makecontext(&inside[i], (void (*)(void))run, 1, i);
  }
  for (int round = 0; round < ROUNDS; round++)
    for (int i = 0; i < COROUTINES; i++) {
      CHECK(swapcontext(&outside, &inside[i]) == 0);
      MPI_Barrier(MPI_COMM_WORLD); /* on the rank's own stack */
      CHECK(done[i] == round + 1);
    }
  MPI_Finalize();
  return 0;
}
