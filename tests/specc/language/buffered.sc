// SPDX-License-Identifier: Apache-2.0
// LRM 2.2.7: buffered variables, with and without a clock
//> 1 2
//> 1
//> 2
#include <stdio.h>
#include <sim.sh>

behavior Main {
  event clk;
  buffered[clk] int r = 1;
  buffered int d = 1;
  int main(void) {
    r = 2;
    d = 2;
    waitfor 1;
    printf("%d %d\n", r, d);
    notify clk;
    printf("%d\n", r);
    wait clk;
    printf("%d\n", r);
    return 0;
  }
};
