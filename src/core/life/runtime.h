/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file runtime.h
 * The runtime's own life.
 */
#ifndef MT_CORE_LIFE_RUNTIME_H
#define MT_CORE_LIFE_RUNTIME_H

/** Main waits until every other thread of the library has ended. */
void mt_wait_until_alone(void);

/** Makes mltp_init() create VP 0 alone. */
void mt_defer_vps(void);

/** Creates the VPs that mltp_init() has not created. @return 0; EAGAIN after a message. */
int mt_start_vps(void);

#endif
