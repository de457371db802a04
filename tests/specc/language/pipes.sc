// SPDX-License-Identifier: Apache-2.0
// LRM 2.4.3: pipe with a header, and piped variables
//> 22: 10
//> 32: 20
//> 42: 30
//> end 42
#include <stdio.h>
#include <sim.sh>

behavior S1(out int o) { int n = 0; void main(void) { waitfor 5; o = ++n; } };
behavior S2(in int i, out int o) { void main(void) { waitfor 10; o = i * 10; } };
behavior S3(in int i) { void main(void) { waitfor 7; printf("%d: %d\n", (int)now(), i); } };
behavior Main {
  piped int a; piped int b; S1 s1(a); S2 s2(a, b); S3 s3(b);
  int main(void) { int i; pipe (i = 0; i < 3; i++) { s1.main(); s2.main(); s3.main(); } printf("end %d\n", (int)now()); return 0; }
};
