// SPDX-License-Identifier: Apache-2.0
// LRM 2.3.3: a channel has all methods of its interfaces
//! 5:9: error: channel 'C' implements 'I', but has no method 'g' (write it)
interface I { void f(void); void g(void); };
channel C implements I { void f(void) { } };
behavior Main { C c; int main(void) { return 0; } };
