// SPDX-License-Identifier: Apache-2.0
// LRM 2.4.7: do ... timing: a range that holds
//> ok
#include <stdio.h>
#include <sim.sh>

behavior Main {
  int main(void) {
    do { t1: { waitfor 5; } t2: { waitfor 10; } t3: { } } timing { range(t1; t2; 0; 10); range(t2; t3; 5;); }
    puts("ok");
    return 0;
  }
};
