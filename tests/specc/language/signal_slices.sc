// SPDX-License-Identifier: Apache-2.0
// LRM 2.2.6: slices of signals and buffered variables, several in one delta
//> 245 241
//> 230
//> 165
#include <stdio.h>
#include <sim.sh>
behavior Part(out signal bit[7:0] x, int which) {
  void main(void) {
    waitfor 1;
    if (which == 0) x[3:0] = 5; else x[7:4] = 10;
  }
};
behavior Main {
  signal bit[7:0] s = 240;
  buffered bit[7:0] b = 240;
  signal bit[7:0] t;
  Part low(t, 0);
  Part high(t, 1);
  int main(void) {
    s[3:0] = 5;
    b[0:0] = 1;
    waitfor 1;
    printf("%d %d\n", (int)(unsigned bit[7:0])s, (int)(unsigned bit[7:0])b);
    s[3:0] = s[3:0] + 1;
    s[7:4] = s[7:4] - 1;
    waitfor 1;
    printf("%d\n", (int)(unsigned bit[7:0])s);
    par { low; high; }
    waitfor 1;
    printf("%d\n", (int)(unsigned bit[7:0])t);
    return 0;
  }
};
