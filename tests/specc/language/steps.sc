// SPDX-License-Identifier: Apache-2.0
// LRM 2.2.6: ++ and -- of signals and buffered variables
//> 3 3, then 4
//> 3 2, then 2
//> 15 then 0
#include <stdio.h>

signal int count = 3;
behavior Main {
  buffered int down = 3;
  signal unsigned bit[4] last = 15;
  int main(void) {
    int before = count++;
    printf("%d %d, ", before, count);
    waitfor 1;
    printf("then %d\n", count);
    before = down;
    printf("%d %d, ", before, --down);
    waitfor 1;
    printf("then %d\n", down);
    last++;
    printf("%d ", (int)last);
    waitfor 1;
    printf("then %d\n", (int)last);
    return 0;
  }
};
