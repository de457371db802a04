// SPDX-License-Identifier: Apache-2.0
// Tokens that are made and used up in any numbers; a thread that wants more than there are waits.
import "i_producer";
import "i_consumer";
import "i_token";

channel c_token(void) implements i_producer, i_consumer, i_token
{
  event made;
  unsigned long tokens = 0;

  void produce(unsigned long number)
  {
    tokens += number;
    notify(made);
  }

  void consume(unsigned long number)
  {
    while (tokens < number) wait(made);
    tokens -= number;
  }
};
