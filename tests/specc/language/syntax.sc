// SPDX-License-Identifier: Apache-2.0
// LRM 2.1: an expression is missing
//! 4:42: error: an expression is missing before ';'
behavior Main { int main(void) { int x = ; return 0 } };
