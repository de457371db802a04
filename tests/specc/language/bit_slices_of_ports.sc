// SPDX-License-Identifier: Apache-2.0
// LRM 2.2.3: a port mapped to a part of a bit vector
//! 5:33: error: port 'p' is mapped to a whole variable (copy the bits to one)
behavior B(out bit[4] p) { void main(void) { p = 1; } };
behavior Main { bit[7:0] x; B b(x[3:0]); int main(void) { b; return 0; } };
