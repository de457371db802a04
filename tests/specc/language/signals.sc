// SPDX-License-Identifier: Apache-2.0
// LRM 2.2.6: signals: the new value comes with the end of the delta
//> still 0
//> 1 at 10
//> 2 at 20
#include <stdio.h>
#include <sim.sh>

behavior A(out signal int s) { void main(void) { waitfor 10; s = 1; printf("still %d\n", s); waitfor 10; s = 2; waitfor 10; s = 2; } };
behavior B(in signal int s) {
  void main(void) { wait(s); printf("%d at %d\n", s, (int)now()); wait(s); printf("%d at %d\n", s, (int)now()); }
};
behavior Main { signal int s = 0; A a(s); B b(s); int main(void) { par { a; b; } return 0; } };
