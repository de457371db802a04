// SPDX-License-Identifier: Apache-2.0
// LRM 2.4.5: try, trap and interrupt
//> 10 work
//> 15 h1 in
//> 18 h1 out
//> 20 work
//> 30 work
//> 35 h2 in
//> 38 h2 out
//> 38 done
#include <stdio.h>
#include <sim.sh>

behavior Work { void main(void) { int i; for (i = 0; i < 10; i++) { waitfor 10; printf("%d work\n", (int)now()); } } };
behavior H(in int id) { void main(void) { printf("%d h%d in\n", (int)now(), id); waitfor 3; printf("%d h%d out\n", (int)now(), id); } };
behavior A(in event i, in event t) { Work w; H h1(1), h2(2); void main(void) { try { w; } interrupt i { h1; } trap t { h2; } printf("%d done\n", (int)now()); } };
behavior D(out event i, out event t) { void main(void) { waitfor 15; notify i; waitfor 20; notify t; } };
behavior Main { event i, t; A a(i, t); D d(i, t); int main(void) { par { a; d; } return 0; } };
