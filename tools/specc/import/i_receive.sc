// SPDX-License-Identifier: Apache-2.0
// To be told something; i_send is the other side.
interface i_receive
{
  void receive(void);
};
