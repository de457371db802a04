/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file join.h
 * Where a joiner with a deadline waits.
 */
#ifndef MT_CORE_LIFE_JOIN_H
#define MT_CORE_LIFE_JOIN_H

#include "core/thread/thread.h"

/** The wait record of a timed join, on the joiner's stack. */
struct mt_timed_join {
  mltp_waitq_t queue;               /* the joiner alone */
  const struct mltp_thread *thread; /* [const] for dumps */
};

#endif
