/* SPDX-License-Identifier: Apache-2.0 */
/* A program of OpenMP as others write it: teams REGIONS. Each region is a short loop; a sum at the
 * end shows that all iterations ran. */
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 20000 };

static double values[COUNT];

int main(int argc, char **argv) {
  long regions = argc > 1 ? atol(argv[1]) : 100;
  double sum = 0;
  for (long region = 0; region < regions; region++) {
#pragma omp parallel for schedule(static)
    for (int i = 0; i < COUNT; i++) values[i] += (double)(i % 7);
  }
  for (int i = 0; i < COUNT; i++) sum += values[i] - (double)(i % 7) * (double)regions;
  printf("%s\n", sum == 0 ? "right" : "wrong");
  return sum != 0;
}
