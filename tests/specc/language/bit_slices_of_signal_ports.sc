// SPDX-License-Identifier: Apache-2.0
// LRM 2.3.5: ports that are signals, mapped to bits, slices and joined bits of signals
//> low 0 high 0
//> low changes at 1 to 5
//> low rises at 1
//> pair changes at 2 to 15
//> low changes at 3 to 0
//> low falls at 3
//> pair changes at 4 to 11
//> pair changes at 5 to 15
//> x 80 y 8 z 3 a[1] 30
//> 6 of 6: 4 3
//> c 21
#include <stdio.h>
#include <stdlib.h>
#include <sim.sh>

behavior Watch(in signal unsigned bit[4] p) {
  void main(void) {
    while (true) {
      wait p;
      printf("low changes at %d to %d\n", (int)now(), (int)p);
    }
  }
};
behavior Edges(in signal unsigned bit[4] p) {
  void main(void) {
    wait p rising;
    printf("low rises at %d\n", (int)now());
    wait p falling;
    printf("low falls at %d\n", (int)now());
  }
};
behavior Pair(in signal unsigned bit[4] p, in event e) {
  void main(void) {
    while (true) {
      wait e;
      printf("pair changes at %d to %d\n", (int)now(), (int)p);
    }
  }
};
behavior Inner(in event e, in unsigned bit[4] p, in signal unsigned bit[4] s) {
  Pair pair(s, e);
  void main(void) { pair; }
};
behavior Joined(in signal unsigned bit[4] p) {
  Inner inner(p, p, p);
  void main(void) { inner; }
};
behavior Drive(out signal unsigned bit[4] p, in signal unsigned bit[2] one, int value) {
  void main(void) {
    p = value;
    p[3] = one[0];
  }
};
behavior Steps(inout signal unsigned bit[3] p, in signal unsigned bit[3] six, out signal unsigned bit[1] none) {
  void main(void) {
    p[0] = 1;
    p[1] = 1;
    none = 1;
    waitfor 1;
    printf("%d of %d: ", (int)six, (int)(unsigned bit[3])6);
    p = 6;
    p += 1;
    p++;
    waitfor 1;
    p[2:1] = 3;
    printf("%d ", (int)p);
    waitfor 1;
    p[2] = 0;
    p[0] = 1;
    waitfor 1;
    printf("%d\n", (int)p[1:0]);
  }
};
behavior Main {
  Joined joined(z[0] @ x[7] @ y[3] @ z[1]);
  signal unsigned bit[7:0] x = 0;
  signal bit[3:0] y = 0;
  signal unsigned bit[2] z = 0;
  signal unsigned bit[8] a[2] = {0, 0};
  signal int c = 1;
  Watch watch(x[3:0]);
  Edges edges(x[3:0]);
  Drive low(x[3:0], 00b, 5), to_element(a[1][6:3], 10b, 6), to_integer(c[7:4], 00b, 2);
  Steps steps(x[6:4], 110ub, );
  void run(void) {
    waitfor 1;
    low;
    printf("low %d high %d\n", (int)x[3:0], (int)x[7:4]);
    waitfor 1;
    x[7] = 1;
    y[3] = 1;
    z = 3;
    waitfor 1;
    x[3:0] = 0;
    waitfor 1;
    z[1] = 1;
    x[7] = 0;
    waitfor 1;
    x[7] = 1;
    to_element;
    to_integer;
    waitfor 1;
    printf("x %x y %x z %d a[1] %x\n", (int)x, (int)(unsigned bit[4])y, (int)z, (int)a[1]);
    steps;
    printf("c %x\n", c);
    exit(0);
  }
  int main(void) {
    par { joined; watch; edges; run(); }
    return 0;
  }
};
