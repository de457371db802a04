// SPDX-License-Identifier: Apache-2.0
// LRM 2.4.1: behaviors run one after the other, and as statements
//> 5
//> 5
//> 5
#include <stdio.h>
#include <sim.sh>

behavior B { int helper(int x) { return x + 1; } void main(void) { printf("%d\n", helper(4)); } };
behavior Main { B b; int main(void) { int i; b; if (1) b; for (i = 0; i < 1; i++) { b.main(); } return 0; } };
