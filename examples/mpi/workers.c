/* SPDX-License-Identifier: Apache-2.0 */
/* A master gives tasks to whichever worker is free, so fast workers do more of them. A task is to
 * count the steps of the Collatz sequence from the numbers of a range.
 * usage: workers */
#include <mpi.h>
#include <stdio.h>

enum { TASKS = 200, NUMBERS = 500 /* of a task */ };
enum { TAG_TASK, TAG_RESULT, TAG_END };

static long steps_from(long n) {
  long steps = 0;
  for (; n != 1; steps++) n = n % 2 == 0 ? n / 2 : 3 * n + 1;
  return steps;
}

/* @return the longest sequence of the task. */
static long work(int task) {
  long longest = 0;
  for (long n = (long)task * NUMBERS + 1; n <= (long)(task + 1) * NUMBERS; n++) {
    long steps = steps_from(n);
    if (steps > longest) longest = steps;
  }
  return longest;
}

static long master(int workers) {
  long longest = 0, result;
  int next = 0, busy = 0;
  MPI_Status from;
  for (int worker = 1; worker <= workers && next < TASKS; worker++, next++, busy++)
    MPI_Send(&next, 1, MPI_INT, worker, TAG_TASK, MPI_COMM_WORLD);
  while (busy > 0) {
    MPI_Recv(&result, 1, MPI_LONG, MPI_ANY_SOURCE, TAG_RESULT, MPI_COMM_WORLD, &from);
    if (result > longest) longest = result;
    if (next < TASKS) {
      MPI_Send(&next, 1, MPI_INT, from.MPI_SOURCE, TAG_TASK, MPI_COMM_WORLD);
      next++;
    } else {
      busy--;
    }
  }
  for (int worker = 1; worker <= workers; worker++)
    MPI_Send(NULL, 0, MPI_INT, worker, TAG_END, MPI_COMM_WORLD);
  return longest;
}

static void worker(void) {
  int task;
  MPI_Status status;
  while (1) {
    MPI_Recv(&task, 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    if (status.MPI_TAG == TAG_END) return;
    long result = work(task);
    MPI_Send(&result, 1, MPI_LONG, 0, TAG_RESULT, MPI_COMM_WORLD);
  }
}

int main(int argc, char **argv) {
  int rank, size, status = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size < 2) {
    fprintf(stderr, "workers: one rank is the master, so there must be two (try: tmpirun -n 8)\n");
    status = 1;
  } else if (rank == 0) {
    printf("workers: %d of them found a sequence of %ld steps\n", size - 1, master(size - 1));
  } else {
    worker();
  }
  MPI_Finalize();
  return status;
}
