// SPDX-License-Identifier: Apache-2.0
// One thread at a time is between enter() and leave(). Waiters enter in order: leave() hands the
// section to the next one, so no other thread comes in between.
import "i_critical_section";

channel c_critical_section(void) implements i_critical_section
{
  event handed_on;
  bool taken = false;
  unsigned long waiting = 0;

  void enter(void)
  {
    if (!taken)
    {
      taken = true;
      return;
    }
    waiting++;
    wait(handed_on);
  }

  void leave(void)
  {
    if (waiting == 0)
    {
      taken = false;
      return;
    }
    waiting--;
    notifyone(handed_on);
  }
};
