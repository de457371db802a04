// SPDX-License-Identifier: Apache-2.0
// To take and give back one of something.
interface i_semaphore
{
  void acquire(void);
  bool attempt(void); // acquire() if that need not wait
  void release(void);
};
