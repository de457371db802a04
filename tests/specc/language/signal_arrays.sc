// SPDX-License-Identifier: Apache-2.0
// LRM 2.2.6: arrays of signals, and pointers
//> 0 7 now 1 2 3 0
//> reader: 10 2 13 4 at 1
//> reader: 11 2 13 4 at 2
//> fives 5 55 555, 4 of them
//> twelve: 12
//> bits 9 6
#include <stdio.h>
#include <string.h>
#include <sim.sh>

behavior Reader(in signal int d[4]) {
  void main(void) {
    int i;
    for (i = 0; i < 2; i++) {
      wait d;
      printf("reader: %d %d %d %d at %d\n", d[0], d[1], d[2], d[3], (int)now());
    }
  }
};

behavior Writer(out signal int d[4]) {
  void main(void) {
    waitfor 1;
    d[0] = 10;
    d[2] += 10;
    d[3]++;
    d[3] = d[3] + 4;
    waitfor 1;
    d[0]++;
  }
};

behavior Main {
  signal int d[4] = {1, 2, 3};
  signal int *p;
  signal unsigned bit[4] b[2];
  buffered int later[3];
  int first = 12;
  Reader r(d);
  Writer w(d);
  int main(void) {
    int copy[3];
    int fives[3] = {5, 55, 555};
    signal_free();
    par {
      r;
      w;
    }
    later = fives;
    waitfor 0;
    copy = later;
    printf("fives %d %d %d, %d of them\n", copy[0], later[1], later[2], d[3]);
    p = &first;
    b[0][3] = 1;
    b[0][0] = 1;
    b[1] = 5;
    b[1]++;
    b[1] = 6;
    waitfor 0;
    printf("twelve: %d\n", *p);
    printf("bits %d %d\n", (int)b[0], (int)b[1]);
    return 0;
  }
  void signal_free(void) {
    int old = later[0];
    later[0] = 7;
    printf("%d ", old);
    waitfor 0;
    printf("%d now %d %d %d %d\n", later[0], d[0], d[1], d[2], d[3]);
  }
};
