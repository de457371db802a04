// SPDX-License-Identifier: Apache-2.0
// LRM 2.4.4: fsm, with braces and without
//> s1 s2 s3 s1 s2 s1 s1 s2 n 8
#include <stdio.h>
#include <sim.sh>

behavior S(in int id, inout int n) { void main(void) { printf("s%d ", id); n++; } };
behavior Main {
  int n = 0; S a(1, n), b(2, n), c(3, n);
  int main(void) {
    fsm { a: { if (n > 4) break; goto b; } b: if (n == 2) goto c; else { goto a; } c: { goto a; } }
    fsm { a: goto b; b: break; }
    printf("n %d\n", n);
    return 0;
  }
};
