/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file initialise.h
 * Initialisers that run once by the means of C++ and libc: static variables of functions
 * (__cxa_guard_acquire() and its two partners), pthread_once(), and by it std::call_once().
 */
#ifndef MT_CORE_LIFE_INITIALISE_H
#define MT_CORE_LIFE_INITIALISE_H

/** In a child of fork(): the threads that ran or awaited an initialiser do not exist. */
void mt_initialise_forget(void);

#endif
