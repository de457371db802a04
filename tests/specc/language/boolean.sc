// SPDX-License-Identifier: Apache-2.0
// LRM 2.2.1: bool
//> 1 1 0
#include <stdio.h>
#include <sim.sh>

behavior Main { bool a = true, b; int main(void) { b = 42; printf("%d %d %d\n", a, b, !b); return 0; } };
