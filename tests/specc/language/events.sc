// SPDX-License-Identifier: Apache-2.0
// LRM 2.2.5: events: or-lists and and-lists
//> or 5
//> and 15
//> B 15
#include <stdio.h>
#include <sim.sh>

behavior A(in event e1, in event e2, out event ack) {
  void main(void) { wait e1, e2; printf("or %d\n", (int)now()); wait(e1 && e2); printf("and %d\n", (int)now()); notify ack; }
};
behavior B(out event e1, out event e2, in event ack) {
  void main(void) { waitfor 5; notify e2; waitfor 5; notify e1; waitfor 5; notify e2; wait(ack); printf("B %d\n", (int)now()); }
};
behavior Main { event e1, e2, ack; A a(e1, e2, ack); B b(e1, e2, ack); int main(void) { par { a; b; } return 0; } };
