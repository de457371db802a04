// SPDX-License-Identifier: Apache-2.0
// LRM 2.4.6: waitfor 0 lets all others run first
//> A 1
//> B 2
#include <stdio.h>
#include <sim.sh>

behavior A(inout int x) { void main(void) { x = 1; waitfor 0; printf("A %d\n", x); } };
behavior B(inout int x) { void main(void) { waitfor(0); x = x + 1; printf("B %d\n", x); } };
behavior Main { int x; A a(x); B b(x); int main(void) { par { a; b; } return 0; } };
