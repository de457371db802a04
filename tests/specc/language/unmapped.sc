// SPDX-License-Identifier: Apache-2.0
// LRM 2.3.5: each port is mapped
//! 5:19: error: 'b': behavior 'B' has 1 ports, and 0 are mapped (map a)
behavior B(in int a) { void main(void) { } };
behavior Main { B b; int main(void) { b; return 0; } };
