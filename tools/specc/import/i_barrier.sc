// SPDX-License-Identifier: Apache-2.0
// To wait for each other.
interface i_barrier
{
  void barrier(void);
};
