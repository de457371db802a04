/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file describe.h
 * What a thread waits for, in words, for dumps and reports.
 */
#ifndef MT_SYNC_DESCRIBE_H
#define MT_SYNC_DESCRIBE_H

#include "core/thread/thread.h"

enum { MT_WAIT_TEXT_MAX = 400 };

/**
 * Writes "lock 0x... 'name' (held by thread 3 'x')" or the like: the kind of the object,
 * its address, its name, and what would end the wait; "nothing" when the thread has
 * been woken meanwhile. Takes no lock, and copies (base/peek.h) what it reads, since that may
 * be gone as soon as the thread is woken. From any context.
 * @param copy,t  the thread, as mt_descriptor_peek() copied it
 */
void mt_describe_wait(char text[MT_WAIT_TEXT_MAX], const struct mltp_thread *copy,
                      const struct mltp_thread *t);

#endif
