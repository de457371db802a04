/* SPDX-License-Identifier: Apache-2.0 */
/* A program of OpenMP that knows nothing of MLTP: team ROUNDS. Each round is a region in which
 * threads meet at barriers between short pieces of a matrix product; prints the largest team, the
 * number of threads that omp_get_max_threads() promised, and a sum that is right or not. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { SIZE = 96, PIECES = 20 };

static double a[SIZE][SIZE], b[SIZE][SIZE], c[SIZE][SIZE];

static void multiply(void) {
#pragma omp for schedule(static)
  for (int i = 0; i < SIZE; i++)
    for (int j = 0; j < SIZE; j++) {
      double sum = 0;
      for (int k = 0; k < SIZE; k++) sum += a[i][k] * b[k][j];
      c[i][j] = sum;
    }
}

int main(int argc, char **argv) {
  int rounds = argc > 1 ? atoi(argv[1]) : 10, largest = 0;
  long total = 0;
  for (int i = 0; i < SIZE; i++)
    for (int j = 0; j < SIZE; j++) {
      a[i][j] = 1;
      b[i][j] = i == j;
    }
  for (int round = 0; round < rounds; round++) {
#pragma omp parallel
    {
#pragma omp single
      if (omp_get_num_threads() > largest) largest = omp_get_num_threads();
      for (int piece = 0; piece < PIECES; piece++) multiply();
    }
#pragma omp parallel for schedule(dynamic) reduction(+ : total)
    for (int i = 0; i < SIZE; i++)
      for (int j = 0; j < SIZE; j++) total += (long)c[i][j];
  }
  printf("%d %d %s\n", largest, omp_get_max_threads(),
         total == (long)rounds * SIZE * SIZE ? "right" : "wrong");
  return 0;
}
