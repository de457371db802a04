// SPDX-License-Identifier: Apache-2.0
// To make tokens.
interface i_producer
{
  void produce(unsigned long number);
};
