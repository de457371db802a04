// SPDX-License-Identifier: Apache-2.0
// LRM 2.3.1: a model has a behavior Main
//! the model has no behavior 'Main' with a method 'main' (write it, or name the file that has it)
behavior B { void main(void) { } };
