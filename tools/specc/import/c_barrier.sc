// SPDX-License-Identifier: Apache-2.0
// No thread continues before `count` threads have come; then it is as new.
import "i_barrier";

channel c_barrier(in const unsigned long count) implements i_barrier
{
  event all_here;
  unsigned long here = 0;

  void barrier(void)
  {
    here++;
    if (here < count)
    {
      wait(all_here);
      return;
    }
    here = 0;
    notify(all_here);
  }
};
