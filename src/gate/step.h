/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file step.h
 * Loads and stores of the program as scheduling points of a seeded run (MLTP_ACCESSES=1), without
 * compiling it again. A thread runs its program's own instructions in single steps, by the
 * processor's trap flag. Before one that has an operand in memory other than the thread's frame,
 * another thread may run. Libraries run at full speed: a call that leaves the program puts a
 * breakpoint at its return address, which switches the steps on again.
 *
 * One thread runs at a time in such a run, so a breakpoint that is taken out for one step is missed
 * by nobody. The text of the program becomes writable for it.
 *
 * Rejected: perf's breakpoints and counters (containers refuse them); ptrace (two context switches
 * of the kernel for each step, and no debugger beside it).
 */
#ifndef MT_GATE_STEP_H
#define MT_GATE_STEP_H

#include <stdbool.h>
#include <stdint.h>

/** Prepares the program's text. @return 0 or an errno value: ENOTSUP: not on this processor. */
int gt_step_start(void);

/** A thread steps from its first instruction of a function on, if that is the program's. Does
 * nothing without gt_step_start(). */
void gt_step_at(uintptr_t function);

/** @return whether gt_step_start() has prepared the text, so that SIGTRAP may come at any time. */
bool gt_step_is_on(void);

/** @return whether an x86-64 instruction has an operand in memory that is no part of the frame. */
bool gt_step_is_shared(const uint8_t *code);

#endif
