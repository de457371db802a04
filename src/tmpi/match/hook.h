/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file hook.h
 * The hook by which --check sees each message meet its receive. Only with it do copied messages
 * keep the type they were sent as.
 */
#ifndef TM_MATCH_HOOK_H
#define TM_MATCH_HOOK_H

#include "tmpi/layout/type.h"
#include "tmpi/rank/rank.h"

/** [const] Set before the first message. NULL: nobody. */
TM_EXPORT extern void (*tm_match_hook)(const struct tm_request *recv,
                                       const struct tm_envelope *envelope,
                                       const struct tm_type *type, size_t count);

#endif
