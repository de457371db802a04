/* SPDX-License-Identifier: Apache-2.0 */
/** @file priority.h What the gate knows of a thread's real-time priority. */
#ifndef MT_GATE_PRIORITY_H
#define MT_GATE_PRIORITY_H

#include "gate/gate.h"

/** Brings the calling thread's `priority` up to date, before it waits. */
void gt_priority_refresh(struct gt_thread *me);

#endif
