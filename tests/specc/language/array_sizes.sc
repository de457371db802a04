// SPDX-License-Identifier: Apache-2.0
// LRM 2.1.1: arrays of different size are not assigned
//! an array is assigned one of another size
behavior Main { int a[3], b[4]; int main(void) { a = b; return 0; } };
