// SPDX-License-Identifier: Apache-2.0
// LRM 2.2.2: long long, and long double (2.2.4)
//> 18446744073709551615 1.5 1099511627776
#include <stdio.h>
#include <sim.sh>

behavior Main {
  unsigned long long u = 18446744073709551615ULL;
  long double d = 1.5L;
  int main(void) { printf("%llu %.1Lf %lld\n", u, d, 1LL << 40); return 0; }
};
