// SPDX-License-Identifier: Apache-2.0
// LRM 2.2.3: bit vectors: sign, width, slices, concatenation
//> -79 177 -5
//> -75 10 2
//> 4 63 4 80
//> 6 0 1
//> 254 1
//> 5
#include <stdio.h>
#include <sim.sh>

behavior Main {
  bit[7:0] a = 10110001b;
  unsigned bit[7:0] u = 10110001b;
  bit[3:0] n;
  unsigned bit[0:5] r = 6;
  bit[7:0] grow(bit[3:0] x) { return x @ 0000b; }
  int main(void) {
    int i, ones = 0;
    n = a[7:4];
    printf("%d %d %d\n", (int)a, (int)u, (int)n);
    a = n @ 0101b;
    printf("%d %d %d\n", (int)a, (int)a[0:3], (int)(n @ 01ub)[5:4]);
    for (i = 0; i < 8; i++) ones += u[i];
    u[3:0] = 1111ub;
    u[7] = 0;
    n += 9;
    printf("%d %d %d %d\n", ones, (int)u, (int)n, (int)grow(5));
    r++;
    r[5] = 0;
    printf("%d %d %d\n", (int)r, (int)r[0], a == 10110101b);
    u = 255;
    u = u + u;
    printf("%d %d\n", (int)u, u > n);
    u = r[3:0] = 5;
    printf("%d\n", (int)u);
    return 0;
  }
};
