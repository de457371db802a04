// SPDX-License-Identifier: Apache-2.0
// LRM 2.1.2: first values of variables
//> 16 8 13 5 four
//> -1 1 5
#include <stdio.h>
#include <sim.sh>

const int SIZE = 2 + 2;
int twice(int x) { return 2 * x; }
behavior Main {
  const int half = SIZE / 2;
  int buffer[SIZE], few[half];
  int computed = 3 * SIZE + 1;
  char text[] = "four";
  bit[5] cut[2] = {31, 3};
  struct { int a; unsigned bit[3] b[2]; } parts = {7, {9, 13}};
  int main(void) {
    switch (twice(2)) { case SIZE: printf("%d %d %d %d %s\n", (int)sizeof buffer, (int)sizeof few, computed, (int)sizeof text, text); }
    printf("%d %d %d\n", (int)cut[0], (int)parts.b[0], (int)parts.b[1]);
    return 0;
  }
};
