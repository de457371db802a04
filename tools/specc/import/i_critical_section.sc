// SPDX-License-Identifier: Apache-2.0
// A part of the model that few threads are in at a time.
interface i_critical_section
{
  void enter(void);
  void leave(void);
};
