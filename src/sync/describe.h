/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file describe.h
 * What a thread waits for, in words, for dumps and reports.
 */
#ifndef MT_SYNC_DESCRIBE_H
#define MT_SYNC_DESCRIBE_H

#include "core/types.h"

/** Writes "lock 0x... 'name' (held by thread 3 'x')" or the like: the kind of the
 * object, its address, its name, and who or what would end the wait. Takes no lock
 * and follows only what stays mapped while the thread waits: a snapshot, from any
 * context. */
void mt_describe_wait(int fd, const struct mltp_thread *t);

#endif
