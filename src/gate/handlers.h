/* SPDX-License-Identifier: Apache-2.0 */
/** @file handlers.h Signal handlers of the program: they run while the gate has no lock. */
#ifndef MT_GATE_HANDLERS_H
#define MT_GATE_HANDLERS_H

#include <signal.h>

#include "gate/gate.h"

/** sigaction(), as libc's. */
int gt_handlers_set(int signo, const struct sigaction *action, struct sigaction *old);

#endif
