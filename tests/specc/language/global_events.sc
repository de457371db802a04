// SPDX-License-Identifier: Apache-2.0
// LRM 2.2.5: events that the whole file has
//> waiting
//> woken at 5
#include <stdio.h>
#include <sim.sh>

event ready;
behavior A { void main(void) { printf("waiting\n"); wait ready; printf("woken at %d\n", (int)now()); } };
behavior B(event e) { void main(void) { waitfor 5; notify e; } };
behavior Main { A a; B b(ready); int main(void) { par { a; b; } return 0; } };
