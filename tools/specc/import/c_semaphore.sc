// SPDX-License-Identifier: Apache-2.0
// A counting semaphore. A thread that was woken looks again, since another may have been there first.
import "i_semaphore";

channel c_semaphore(in const unsigned long count) implements i_semaphore
{
  event released;
  unsigned long taken = 0, waiting = 0;

  void acquire(void)
  {
    while (taken >= count)
    {
      waiting++;
      wait(released);
      waiting--;
    }
    taken++;
  }

  bool attempt(void)
  {
    if (taken >= count) return false;
    taken++;
    return true;
  }

  void release(void)
  {
    taken--;
    if (waiting > 0) notifyone(released);
  }
};
