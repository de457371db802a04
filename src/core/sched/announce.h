/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file announce.h
 * A program with a sanitizer over a library that was built without: found at run time. Every switch
 * is announced to AddressSanitizer, in the cold branch that the ucontext backend uses, so other
 * programs pay nothing. Sanitizers that would report errors that are none are refused.
 */
#ifndef MT_CORE_SCHED_ANNOUNCE_H
#define MT_CORE_SCHED_ANNOUNCE_H

/** Looks for sanitizers in the process. @return 0; ENOTSUP after a message: with this one the
 * library must have been built for it, too. */
int mt_announce_init(void);

#endif
