// SPDX-License-Identifier: Apache-2.0
// fsm.sc: a traffic light, with each light a state. Without a transition that applies the
// next state in the list follows.
#include <sim.sh>
#include <stdio.h>

behavior light(in int colour, inout int rounds)
{
  void main(void)
  {
    static const char *names[] = {"red", "green", "yellow"};
    printf("%3llu: %s\n", now(), names[colour]);
    if (colour == 0) rounds++;
    waitfor(colour == 2 ? 3 : 30);
  }
};

behavior Main
{
  int rounds = 0;
  light red(0, rounds), green(1, rounds), yellow(2, rounds);

  int main(void)
  {
    fsm
    {
      red: { if (rounds > 2) break; }
      green:
      yellow: { goto red; }
    }
    printf("%3llu: off\n", now());
    return 0;
  }
};
