/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Linked by tmpicc into every program. A program is a shared object, so that thread-locals and
 * globals are reached through tables of its own; with a program interpreter it can also be
 * started without tmpirun, as a job of one rank.
 */

/* Tells tmpirun that tmpicc linked the program. Retained: nothing refers to these, and
 * -Wl,--gc-sections would drop them. */
extern const char tmpi_program;
__attribute__((visibility("default"), used, retain)) const char tmpi_program = 1;

__attribute__((section(".interp"), used, retain)) static const char interpreter[] = TM_INTERPRETER;
