// SPDX-License-Identifier: Apache-2.0
// To make tokens and to use them up.
interface i_token
{
  void produce(unsigned long number);
  void consume(unsigned long number);
};
