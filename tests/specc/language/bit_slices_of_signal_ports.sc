// SPDX-License-Identifier: Apache-2.0
// LRM 2.3.5: a port that is a signal, mapped to bits of a signal
//! 5:40: error: port 'p' is mapped to a whole variable (copy the bits to one)
behavior B(out signal bit[4] p) { void main(void) { p = 1; } };
behavior Main { signal bit[7:0] x; B b(x[3:0]); int main(void) { b; return 0; } };
