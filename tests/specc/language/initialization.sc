// SPDX-License-Identifier: Apache-2.0
// LRM 2.1.2: first values of variables
//> 16 8 13 5 four
#include <stdio.h>
#include <sim.sh>

const int SIZE = 2 + 2;
int twice(int x) { return 2 * x; }
behavior Main {
  const int half = SIZE / 2;
  int buffer[SIZE], few[half];
  int computed = 3 * SIZE + 1;
  char text[] = "four";
  int main(void) {
    switch (twice(2)) { case SIZE: printf("%d %d %d %d %s\n", (int)sizeof buffer, (int)sizeof few, computed, (int)sizeof text, text); }
    return 0;
  }
};
