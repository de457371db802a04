// SPDX-License-Identifier: Apache-2.0
// LRM 2.4.2: par, with behaviors and other statements
//> B1
//> B2
//> x 3
#include <stdio.h>
#include <sim.sh>

behavior B(in int n) { void main(void) { waitfor n; printf("B%d\n", n); } };
behavior Main { int x; B b(1), c(2); int main(void) { par { c; b; { x = 3; waitfor 3; printf("x %d\n", x); } } return 0; } };
