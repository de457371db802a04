// SPDX-License-Identifier: Apache-2.0
// LRM 2.3.2: channels of channels
//> 1
//> 3
//> 5
#include <stdio.h>
#include <sim.sh>

interface I1 { void put(int v); int get(void); };
interface I2 { void put2(int v); int get2(void); };
channel C1 implements I1 {
  int v; bool full = false; event e;
  void put(int x) { while (full) wait e; v = x; full = true; notify e; }
  int get(void) { while (!full) wait e; full = false; notify e; return v; }
};
channel C2(I1 low) implements I2 { void put2(int v) { low.put(v * 2); } int get2(void) { return low.get() + 1; } };
channel C3 implements I2, I1 {
  C1 inner; C2 outer(inner);
  void put(int v) { inner.put(v); } int get(void) { return inner.get(); }
  void put2(int v) { outer.put2(v); } int get2(void) { return outer.get2(); }
};
behavior P(I2 p) { void main(void) { int i; for (i = 0; i < 3; i++) p.put2(i); } };
behavior Q(I2 p) { void main(void) { int i; for (i = 0; i < 3; i++) printf("%d\n", p.get2()); } };
behavior Main { C3 c; P p(c); Q q(c); int main(void) { par { p; q; } return 0; } };
