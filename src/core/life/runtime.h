/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file life.h
 * The runtime's own life.
 */
#ifndef MT_CORE_LIFE_RUNTIME_H
#define MT_CORE_LIFE_RUNTIME_H

/** Main waits until every other thread of the library has ended. */
void mt_wait_until_alone(void);

/** Something ended, or a VP found nothing to do: is main waiting for that? */
void mt_finalizer_check(void);

#endif
