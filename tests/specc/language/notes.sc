// SPDX-License-Identifier: Apache-2.0
// LRM 2.5.2: annotations say nothing to the simulation
note Author = "me";
note Date = {2002, 1, 16};
behavior B { void main(void) { int y; note y.kind = "local"; l1: y = 1; note l1.id = 42; } note main.cost = 12; };
note B.version = 1.0;
behavior Main { B b; int main(void) { note Main.cost = 12; b; return 0; } };
