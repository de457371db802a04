// SPDX-License-Identifier: Apache-2.0
// deadlock.sc: two philosophers with two forks; each takes the left one first. The simulator reports
// what each one waits for, and the program exits with 86.
#include <stdio.h>

import "c_mutex";

behavior philosopher(i_semaphore left, i_semaphore right)
{
  void main(void)
  {
    left.acquire();
    waitfor(1);
    right.acquire();
    printf("never\n");
  }
};

behavior Main
{
  c_mutex one, other;
  philosopher kant(one, other), hume(other, one);
  int main(void)
  {
    par { kant; hume; }
    return 0;
  }
};
