// SPDX-License-Identifier: Apache-2.0
// LRM 2.3.5: ports mapped to bits, slices and joined bits of bit vectors
//> 5 a5 -6
//> 4 17
//> 9f 1 15
//> f 5
//> 3a5
//> 6 1
//> 11 28
//> 80000000000000000000000000000001 1
#include <stdio.h>

behavior Set(out bit[4] p, in int value) { void main(void) { p = value; } };
behavior Show(in bit[4] p) { void main(void) { printf(" %d\n", (int)p); } };
behavior Change(inout unsigned bit[4] p) {
  void main(void) {
    p++;
    p += 2;
    p[3] = 0;
    p[2:1] = p[1:0];
  }
};
behavior Outer(out bit[8] p) {
  Set high(p[7:4], 9);
  Set low(p[3:0], 15);
  void main(void) { high; low; }
};
behavior Join(out unsigned bit[5] p) { void main(void) { p = 19; } };
behavior One(inout bit[1] p) { void main(void) { p = !p; } };
behavior Late(out bit[4] p, inout unsigned bit[8] whole) {
  unsigned bit[4] waits(void) { waitfor 2; return 5; }
  void main(void) { p[3:1] = waits(); }
};
behavior Other(out bit[1] p) { void main(void) { waitfor 1; p = 1; } };
behavior Main {
  unsigned bit[7:0] x = 240;
  unsigned bit[7:0] y = 0x3d;
  bit[8] z = 0x1f;
  bit[8] signed_one = 0;
  unsigned bit[0:3] other_way = 0;
  unsigned bit[3] three = 0;
  int number = 0x3f5;
  unsigned bit[8] late = 0x00;
  unsigned bit[128] wide = 0;
  unsigned bit[8] parts[2] = {0, 0};
  Set to_low(x[3:0], 5), to_high(x[7:4], -6);
  Show show(x[7:4]);
  Change change(y[5:2]);
  Outer outer(signed_one);
  Change of_part(z[7:4]);
  Set nowhere(, 3);
  Show constant(0101b);
  Join join(three[1:0] @ other_way[0] @ three[2] @ other_way[3]);
  Set of_number(number[7:4], 10);
  One first(wide[127]), last(wide[0]);
  Late slow(late[3:0], late);
  Other quick(late[0]);
  Set element(parts[1][5:2], 7);
  int main(void) {
    to_low;
    printf("%d ", (int)x[3:0]);
    to_high;
    printf("%x", (int)x);
    show;
    change;
    printf("%d ", (int)y[5:2]);
    printf("%d\n", (int)y);
    outer;
    printf("%x %d %d\n", (int)(unsigned bit[8])signed_one, signed_one < 0, (int)signed_one[3:0]);
    of_part; nowhere;
    printf("%x", (int)z);
    constant;
    of_number;
    printf("%x\n", number);
    join;
    printf("%d %d\n", (int)three, (int)other_way);
    par { slow; quick; }
    element;
    printf("%d %d\n", (int)late, (int)parts[1]);
    first; last;
    printf("%llx%016llx %d\n", (unsigned long long)wide[127:64], (unsigned long long)wide[63:0], (int)(unsigned bit[1])wide[127]);
    return 0;
  }
};
