/* SPDX-License-Identifier: Apache-2.0 */
/** @file report.h What seeded runs say of threads when they cannot continue. Under gt_lock. */
#ifndef MT_GATE_REPORT_H
#define MT_GATE_REPORT_H

#include "gate/gate.h"

/** Copies a thread's name, as the kernel knows it; its number if that cannot be read. */
void gt_thread_name(const struct gt_thread *t, char name[GT_NAME]);

/** No thread is ready and none sleeps for a time. Ends the process with MLTP_EXIT_DEADLOCK after
 * a list of threads; returns if a thread is in a call that blocks. */
void gt_report_deadlock(void);

/** Ends the process with MLTP_EXIT_LIVELOCK. */
void gt_report_livelock(uint64_t steps) __attribute__((noreturn));

#endif
