// SPDX-License-Identifier: Apache-2.0
// To use tokens up.
interface i_consumer
{
  void consume(unsigned long number);
};
