// SPDX-License-Identifier: Apache-2.0
// LRM 2.1: a type's name can name something else in a block
//> 3
//> 4
#include <stdio.h>
#include <sim.sh>

typedef int width;
behavior Stage { void main(void) { int width = 3; printf("%d\n", width); } };
behavior Main { width w = 4; Stage Stage; int main(void) { Stage; printf("%d\n", w); return 0; } };
