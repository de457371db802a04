// SPDX-License-Identifier: Apache-2.0
// exceptions.sc: an interrupt suspends what runs, a trap ends it.
#include <sim.sh>
#include <stdio.h>

behavior ticker(in int step)
{
  void main(void)
  {
    for (;;)
    {
      waitfor(step);
      printf("%3llu: tick of %d\n", now(), step);
    }
  }
};

behavior work
{
  ticker slow(20), fast(15);
  void main(void) { par { slow; fast; } }
};

behavior pause
{
  void main(void)
  {
    printf("%3llu: interrupted\n", now());
    waitfor(40);
    printf("%3llu: the ticks that were due come now\n", now());
  }
};

behavior clean_up
{
  void main(void) { printf("%3llu: trapped\n", now()); }
};

behavior machine(in event knock, in event stop)
{
  work w;
  pause p;
  clean_up c;
  void main(void)
  {
    try { w; }
    interrupt (knock) { p; }
    trap (stop) { c; }
    printf("%3llu: the machine stands\n", now());
  }
};

behavior user(out event knock, out event stop)
{
  void main(void)
  {
    waitfor(35);
    notify(knock);
    waitfor(75);
    notify(stop);
  }
};

behavior Main
{
  event knock, stop;
  machine m(knock, stop);
  user u(knock, stop);
  int main(void)
  {
    par { m; u; }
    printf("%3llu: done\n", now());
    return 0;
  }
};
