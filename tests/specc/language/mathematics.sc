// SPDX-License-Identifier: Apache-2.0
// LRM 2.1: mathematical functions of C, without an option for their library
//> 3.0
#include <math.h>
#include <stdio.h>
behavior Main { double x = 9; int main(void) { printf("%.1f\n", sqrt(x)); return 0; } };
