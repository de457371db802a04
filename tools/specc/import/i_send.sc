// SPDX-License-Identifier: Apache-2.0
// To tell the other side something; i_receive is that side.
interface i_send
{
  void send(void);
};
