// SPDX-License-Identifier: Apache-2.0
behavior L(out int lim) { void main(void) { lim = 99; } };
