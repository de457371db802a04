// SPDX-License-Identifier: Apache-2.0
// LRM 2.2.5: notifyone
//> W1 at 1
//> W2 at 2
//> W3 at 3
#include <stdio.h>
#include <sim.sh>

behavior W(in int id, in event e) { void main(void) { wait e; printf("W%d at %d\n", id, (int)now()); } };
behavior N(event e) { void main(void) { waitfor 1; notifyone e; waitfor 1; notifyone(e); waitfor 1; notify e; } };
behavior Main { event e; W w1(1, e), w2(2, e), w3(3, e); N n(e); int main(void) { par { w1; w2; w3; n; } return 0; } };
