// SPDX-License-Identifier: Apache-2.0
// channels.sc: each of the standard channels once.
#include <sim.sh>
#include <stdio.h>
#include <stdlib.h>

#include <c_typed_queue.sh>

import "c_barrier";
import "c_critical_section";
import "c_double_handshake";
import "c_handshake";
import "c_mutex";
import "c_queue";
import "c_semaphore";
import "c_token";

DEFINE_I_TYPED_SENDER(int, int)
DEFINE_I_TYPED_RECEIVER(int, int)
DEFINE_I_TYPED_TRANCEIVER(int, int)
DEFINE_C_TYPED_QUEUE(int, int)

// Three workers share two tools; each works in a section of its own and meets the others.
behavior worker(in int number, i_semaphore tools, i_semaphore counter, i_critical_section section,
                i_barrier all, inout int finished, i_producer made)
{
  void main(void)
  {
    tools.acquire();
    waitfor(10 * number);
    tools.release();
    counter.acquire();
    finished++;
    counter.release();
    section.enter();
    printf("%3llu: worker %d in the section\n", now(), number);
    waitfor(5);
    section.leave();
    all.barrier();
    printf("%3llu: worker %d past the barrier, %d finished\n", now(), number, finished);
    made.produce(number);
  }
};

// Uses up what all workers have made, then says so.
behavior collector(i_consumer made, i_send used_up)
{
  void main(void)
  {
    made.consume(6);
    printf("%3llu: six tokens consumed\n", now());
    used_up.send();
  }
};

behavior source(i_receive used_up, i_int_sender numbers, i_sender bytes, i_sender exchange)
{
  void main(void)
  {
    int i;
    char text[] = "bytes";
    double half = 0.5;
    used_up.receive();
    for (i = 1; i <= 4; i++) numbers.send(i * i);
    bytes.send(text, sizeof text);
    waitfor(100);
    exchange.send(&half, sizeof half);
    printf("%3llu: met\n", now());
  }
};

behavior sink(i_int_receiver numbers, i_receiver bytes, i_receiver exchange)
{
  void main(void)
  {
    int i, number;
    char text[6];
    double half;
    for (i = 1; i <= 4; i++)
    {
      numbers.receive(&number);
      printf("%3llu: number %d\n", now(), number);
    }
    bytes.receive(text, sizeof text);
    exchange.receive(&half, sizeof half);
    printf("%3llu: %s, %g\n", now(), text, half);
  }
};

behavior Main
{
  const unsigned long two = 2, three = 3;
  int finished = 0;
  c_semaphore tools(two);
  c_mutex counter;
  c_critical_section section;
  c_barrier all(three);
  c_token made;
  c_handshake used_up;
  c_int_queue numbers(2ul);
  c_queue bytes(4096ul);
  c_double_handshake exchange;
  worker w1(1, tools, counter, section, all, finished, made);
  worker w2(2, tools, counter, section, all, finished, made);
  worker w3(3, tools, counter, section, all, finished, made);
  collector c(made, used_up);
  source from(used_up, numbers, bytes, exchange);
  sink to(numbers, bytes, exchange);

  int main(void)
  {
    par { w1; w2; w3; c; from; to; }
    printf("%3llu: done\n", now());
    return 0;
  }
};
