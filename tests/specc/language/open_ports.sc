// SPDX-License-Identifier: Apache-2.0
// LRM 2.3.5: 'out' ports stay open
//> 7 at 1
#include <stdio.h>
#include <sim.sh>

behavior A(out int quotient, out int remainder, out signal int done) {
  void main(void) { quotient = 30 / 4; remainder = 30 % 4; waitfor 1; done = 1; }
};
behavior Main {
  int q;
  A a(q, , );
  int main(void) { a; printf("%d at %d\n", q, (int)now()); return 0; }
};
