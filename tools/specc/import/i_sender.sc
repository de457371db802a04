// SPDX-License-Identifier: Apache-2.0
// To send bytes.
interface i_sender
{
  void send(const void *data, unsigned long length);
};
