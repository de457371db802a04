/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file keeper.h
 * One of the sleepers, the keeper, watches for all: timers, VPs that leave threads waiting, and a
 * deadlock. wake.h says who it is.
 */
#ifndef MT_CORE_KEEPER_H
#define MT_CORE_KEEPER_H

#include "core/types.h"

/** @return when the keeper gets up by itself. Under idle_guard. */
uint64_t mt_keeper_deadline(void);

/** The keeper's round, when that time has come: it gets up, if it is needed. */
void mt_keeper_watch(struct mt_vp *keeper);

/** A timer earlier than all others was set: the keeper must get up in time. */
void mt_keeper_rearm(uint64_t deadline);

#endif
