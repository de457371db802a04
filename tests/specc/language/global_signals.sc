// SPDX-License-Identifier: Apache-2.0
// LRM 2.2.6: signals that the whole file has
//> starts with 7, 5
//> 7 until the delta ends
//> 9 at 3
//> 11 at 4
#include <stdio.h>
#include <sim.sh>

signal unsigned int level = 7;
signal bit[3:0] wide = 0101b;
int twice(void) { return level * 2; }
behavior Writer { void main(void) { waitfor 3; level = 9; printf("%u until the delta ends\n", level); waitfor 1; wide = 1011b; } };
behavior Reader(in signal bit[3:0] w) {
  void main(void) {
    wait level;
    printf("%d at %d\n", twice() / 2, (int)now());
    wait w;
    printf("%d at %d\n", (int)(unsigned bit[3:0])w, (int)now());
  }
};
behavior Main {
  Writer writer;
  Reader reader(wide);
  int main(void) {
    printf("starts with %u, %d\n", level, (int)wide);
    par { writer; reader; }
    return 0;
  }
};
