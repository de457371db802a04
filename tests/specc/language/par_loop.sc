// SPDX-License-Identifier: Apache-2.0
// LRM 2.4.2: 'par' has no loop
//! 5:55: error: 'par' has no loop (name each behavior: par { b[0]; b[1]; })
behavior B(in int i) { void main(void) { } };
behavior Main { int i; B b(1), c(2); int main(void) { par (i = 0; i < 2; i++) { b; c; } return 0; } };
