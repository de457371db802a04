// SPDX-License-Identifier: Apache-2.0
// LRM 2.1.1: array assignment
//> 3 5
#include <stdio.h>
#include <sim.sh>

typedef int block[3];
behavior Fill(out block o) { void main(void) { block b = {4, 5, 6}; o = b; } };
behavior Main {
  int a[3] = {1, 2, 3}, b[3];
  block c;
  Fill fill(c);
  int main(void) { b = a; fill; printf("%d %d\n", b[2], c[1]); return 0; }
};
