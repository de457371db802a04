// SPDX-License-Identifier: Apache-2.0
// LRM 2.3.4: ports of variables and constants
//> 42 4 54
//> said 7
//> again 14
#include <stdio.h>
#include <sim.sh>

#define ONE 1
behavior Inc(in int a, out int b, inout int c) { void main(void) { b = a + 1; c += a; } };
behavior Say(in char *text, in const int n) { void main(void) { printf("%s %d\n", text, n); } };
behavior Main {
  const int M = 7;
  int x = 3, y, z = 10;
  Inc i1(x, y, z), i2(40 + ONE, x, z);
  Say s("said", (M)), t("again", M * 2);
  int main(void) { i1; i2.main(); printf("%d %d %d\n", x, y, z); s; t; return 0; }
};
