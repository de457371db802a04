// SPDX-License-Identifier: Apache-2.0
// buffered.sc: a shift register. All stages read what was there before any of them wrote, in
// whatever order they run: what is assigned to a buffered variable is seen in the next delta.
#include <sim.sh>
#include <stdio.h>

behavior Main
{
  buffered int a = 1, b = 2, c = 3;

  int main(void)
  {
    int i;
    for (i = 0; i < 4; i++)
    {
      printf("%llu: %d %d %d\n", now(), a, b, c);
      a = c;
      b = a;
      c = b;
      waitfor(1);
    }
    return 0;
  }
};
