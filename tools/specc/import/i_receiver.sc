// SPDX-License-Identifier: Apache-2.0
// To receive bytes.
interface i_receiver
{
  void receive(void *data, unsigned long length);
};
