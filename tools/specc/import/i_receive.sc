// SPDX-License-Identifier: Apache-2.0
// To receive a notification; i_send is the other side.
interface i_receive
{
  void receive(void);
};
