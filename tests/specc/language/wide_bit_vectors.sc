// SPDX-License-Identifier: Apache-2.0
// LRM 2.2.3: bit vectors of more than 64 bits
//> 1 10 2
#include <stdio.h>
#include <sim.sh>

behavior Main {
  unsigned bit[99:0] w = 1;
  int main(void) {
    w = w << 80;
    w[3:0] = 1010ub;
    printf("%d %d %d\n", (int)w[80], (int)w[3:0], (int)(w >> 79)[3:0]);
    return 0;
  }
};
