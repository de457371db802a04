// SPDX-License-Identifier: Apache-2.0
// A semaphore of one.
import "i_semaphore";

channel c_mutex(void) implements i_semaphore
{
  event released;
  bool taken = false;
  unsigned long waiting = 0;

  void acquire(void)
  {
    while (taken)
    {
      waiting++;
      wait(released);
      waiting--;
    }
    taken = true;
  }

  bool attempt(void)
  {
    if (taken) return false;
    return taken = true;
  }

  void release(void)
  {
    taken = false;
    if (waiting > 0) notifyone(released);
  }
};
