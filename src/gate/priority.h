/* SPDX-License-Identifier: Apache-2.0 */
/** @file priority.h What the gate knows of a thread's real-time priority. */
#ifndef MT_GATE_PRIORITY_H
#define MT_GATE_PRIORITY_H

#include "gate/gate.h"

/** Brings the calling thread's `priority` up to date, before it waits. */
void gt_priority_refresh(struct gt_thread *me);

/** What a creator knows of the priority of a thread that it creates. */
struct gt_inherited {
  uint32_t seen; /**< changes of priorities when it was so */
  bool has_none; /**< no real-time priority; false: the thread asks itself */
};

/** @return what a thread inherits that the caller creates with *attr. */
struct gt_inherited gt_priority_inherited(struct gt_thread *me, const pthread_attr_t *attr);

/** Brings the new thread's `priority` up to date. @return false: it has to ask. */
bool gt_priority_inherit(struct gt_thread *me, const struct gt_inherited *inherited);

#endif
