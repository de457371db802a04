// SPDX-License-Identifier: Apache-2.0
// LRM 2.3.3: interfaces as parameters, and 'this'
//> 7
//> 8
//> 1
#include <stdio.h>
#include <sim.sh>

interface IS { int data(void); };
interface IC { void go(IS s); };
channel C implements IC { void go(IS s) { printf("%d\n", s.data()); } };
channel Store implements IS { int data(void) { return 1; } };
behavior B(IC c) implements IS { int v = 7; int data(void) { return v++; } void main(void) { c.go(this); c.go(this); } };
behavior Main { C c; Store s; B b(c); int main(void) { b.main(); c.go(s); return 0; } };
