// SPDX-License-Identifier: Apache-2.0
// pipe.sc: three stages, each a step behind the one before. A piped variable hands on what one
// stage wrote in a step to the one that reads it in the next; of two pipeds, in the next but one.
#include <sim.sh>
#include <stdio.h>

behavior count(out int number, out int for_show)
{
  int i = 0;
  void main(void)
  {
    waitfor(10);
    i++;
    number = i;
    for_show = i;
    printf("%2llu: counted %d\n", now(), i);
  }
};

behavior square(in int number, out int squared)
{
  void main(void)
  {
    waitfor(5);
    squared = number * number;
  }
};

behavior show(in int number, in int squared)
{
  void main(void)
  {
    waitfor(7);
    printf("%2llu: %d squared is %d\n", now(), number, squared);
  }
};

behavior Main
{
  piped int number, squared;
  piped piped int for_show;
  count first(number, for_show);
  square second(number, squared);
  show third(for_show, squared);

  int main(void)
  {
    int i;
    pipe (i = 0; i < 4; i++) { first; second; third; }
    printf("%2llu: done\n", now());
    return 0;
  }
};
