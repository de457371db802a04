// SPDX-License-Identifier: Apache-2.0
// LRM 2.3.4: ports of structures
//> 5 x 1
#include <stdio.h>
#include <sim.sh>

typedef struct { int a; char b[3]; } rec;
behavior P(out rec r) { void main(void) { rec t; t.a = 5; t.b[0] = 'x'; t.b[1] = 0; r = t; } };
behavior Main { rec r; P p(r); int main(int argc, char **argv) { p; printf("%d %s %d\n", r.a, r.b, argc); return 0; } };
