// SPDX-License-Identifier: Apache-2.0
// LRM 2.3.5: arrays of instances
//> 1
//> 1
//> 2
//> 2
//> 3
#include <stdio.h>
#include <sim.sh>

behavior B { int n = 0; void main(void) { n++; printf("%d\n", n); } };
behavior Main { B b[3]; int main(void) { int i; par { b[0]; b[1]; } for (i = 0; i < 2; i++) b[i].main(); b[0]; return 0; } };
