// SPDX-License-Identifier: Apache-2.0
// LRM 2.2.8: time and its units
//> 2000
//> 1002000 1
#include <stdio.h>
#include <sim.sh>

behavior Main {
  int main(void) {
    sim_time_string b;
    waitfor(2 NANO_SEC);
    printf("%s\n", time2str(b, now()));
    waitfor(1 MICRO_SEC);
    printf("%s %d\n", time2str(now()), (int)(str2time("1002000") == now()));
    return 0;
  }
};
