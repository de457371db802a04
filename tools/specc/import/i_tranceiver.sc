// SPDX-License-Identifier: Apache-2.0
// To send and to receive bytes.
interface i_tranceiver
{
  void send(const void *data, unsigned long length);
  void receive(void *data, unsigned long length);
};
