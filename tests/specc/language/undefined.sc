// SPDX-License-Identifier: Apache-2.0
// LRM 2.1: an unknown name
//! undefined.sc:4: error: 'undefd' undeclared
behavior Main { int main(void) { return undefd + 1; } };
