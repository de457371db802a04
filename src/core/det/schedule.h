/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file schedule.h
 * The log of deterministic mode, which names threads (base/schedule.h).
 */
#ifndef MT_CORE_DET_SCHEDULE_H
#define MT_CORE_DET_SCHEDULE_H

#include "base/schedule.h"
#include "core/thread/thread.h"

void mt_schedule_log(uint64_t step, uint32_t choice, uint32_t count, const struct mltp_thread *from,
                     const char *call, const struct mltp_thread *to);

/** @return why the current thread gives way, for the log. */
const char *mt_schedule_reason(const struct mltp_thread *self);

#endif
