// SPDX-License-Identifier: Apache-2.0
// LRM 2.3.4: 'in' ports are not changed
//! 4:42: error: port 'a' is 'in': it cannot be changed (declare it 'inout')
behavior B(in int a) { void main(void) { a = 3; } };
behavior Main { int x; B b(x); int main(void) { b.main(); return x; } };
