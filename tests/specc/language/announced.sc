// SPDX-License-Identifier: Apache-2.0
// LRM 2.3.1: behaviors announced before they are defined
//> sub
//> sub
#include <stdio.h>
#include <sim.sh>

behavior B_sub;
behavior Par { B_sub b1, b2; void main(void) { par { b1.main(); b2.main(); } } };
behavior B_sub { void main(void) { puts("sub"); } };
behavior Main() { Par p; int main() { p.main(); return 0; } };
