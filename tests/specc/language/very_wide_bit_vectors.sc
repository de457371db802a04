// SPDX-License-Identifier: Apache-2.0
// LRM 2.2.3: bit vectors of more than 128 bits
//> 1 0 12
//> q 6
//> 10000000000 c0000000000 24
//> nonzero
//> zero
//> -1 1 1
//> -1
//> 151
//> 1 2 -1 1 7
//> 1
//> 7 1
//> 5 15
//> 1
#include <stdio.h>
#include <sim.sh>
typedef unsigned bit[200] wide;
unsigned bit[200] global = 5;
bit[130] table[3] = {1, 2, -1};
unsigned bit[3] narrow[2] = {9, 1};
struct S { int a; unsigned bit[150] w; unsigned bit[3] n; };
struct S s = {1, 7, 9};
interface i_w { void send(wide d); wide get(void); };
channel c_w implements i_w { wide kept; void send(wide d) { kept = d; } wide get(void) { return kept; } };
behavior B(i_w c, out unsigned bit[160] p, in unsigned bit[4] q) {
  void main(void) { wide x; x = 3; x <<= 130; c.send(x); c.send(5); p = c.get(); p[159] = 1; p++; 
   printf("q %d\n", (int)q); }
};
int low(wide x) { return x; }
wide twice(wide x) { return x + x; }
behavior Main {
  wide a = 1;
  unsigned bit[300] r = 0;
  signal wide sg;
  c_w c;
  B b(c, r[200:41], a[4:1]);
  int main(void) {
    int i;
    bit[140] m = -1;
    a = a << 150;
    a |= 12;
    printf("%d %d %d\n", (int)a[150], (int)a[149], (int)a[3:0]);
    b;
    printf("%llx %llx %d\n", (unsigned long long)r[200:160], (unsigned long long)r[63:0], low(twice(a)));
    if (a) printf("nonzero\n");
    if (!(a ^ a)) printf("zero\n");
    printf("%d %d %d\n", (int)m, m < 0, m == -1);
    m = m >> 3; i = m; printf("%d\n", i);
    for (i = 0; a; i++) a >>= 1;
    printf("%d\n", i);
    a[i] = 1; 
    printf("%d %d %d %d %d\n", (int)a[i], (int)table[1], (int)table[2], (int)narrow[0], (int)s.w);
    printf("%d\n", (int)(s.n @ s.w @ table[0])[279:0]);
    sg = 7; sg[199] = 1; waitfor 1; printf("%d %d\n", (int)sg, (int)sg[199]);
    printf("%d %d\n", (int)global, (int)(global * 3 + 1 / global));
    a = (1 == 1) ? a : 3;
    a++; ++a; a--;
    printf("%d\n", (int)a);
    return 0;
  }
};
