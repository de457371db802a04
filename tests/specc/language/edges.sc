// SPDX-License-Identifier: Apache-2.0
// LRM 2.2.6: edges of signals, before and after the name
//> falls 10
//> rises 15
//> changes 20
#include <stdio.h>
#include <sim.sh>

behavior Clock(out signal bit[1] clk) { void main(void) { int i; for (i = 0; i < 4; i++) { waitfor 5; clk = ~clk; } } };
behavior Watch(in signal bit[1] clk) {
  void main(void) {
    wait(falling clk); printf("falls %d\n", (int)now());
    wait(rising clk); printf("rises %d\n", (int)now());
    wait clk rising, clk falling; printf("changes %d\n", (int)now());
  }
};
behavior Main { signal bit[1] clk = 0; Clock c(clk); Watch w(clk); int main(void) { par { c; w; } return 0; } };
