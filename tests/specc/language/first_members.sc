// SPDX-License-Identifier: Apache-2.0
// LRM 2.1: a type as the first word of a structure, and as a bound of a bit vector
//> 7 64
#include <stdio.h>
typedef unsigned char byte;
typedef struct { byte b; } pair;
typedef bit[8 * sizeof(unsigned long long int)] wide;
behavior Main {
  pair p;
  wide w = 1;
  int main(void) { byte x = 7; p.b = x; w = w << 63; printf("%d %d\n", p.b, w[63] * 64); return 0; }
};
