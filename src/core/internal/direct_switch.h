/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file direct_switch.h
 * Internal API: direct switches from one thread to another, as between coroutines.
 */
#ifndef MT_CORE_INTERNAL_DIRECT_SWITCH_H
#define MT_CORE_INTERNAL_DIRECT_SWITCH_H

#include <stdbool.h>
#include <stdint.h>

#include "core/internal/export.h"

struct arch_switch_pair;
struct mltp_thread;

/**
 * Parks the calling thread and runs `to` in its place, on the same VP if there are VPs. Both are
 * unbound, or neither is. `to` was parked by this call, by mti_prepare_switch() or by
 * mti_park_unlock(), and only the caller may resume it. Takes no lock: the caller can be resumed
 * from the moment `to` runs. Returns when the caller is resumed.
 * @param text as for mti_park_unlock()
 */
MTI_EXPORT void mti_switch_to(struct mltp_thread *to, const char *text);

/**
 * Does all of mti_switch_to() but the switch itself. The caller switches at once, in its own frame:
 * a return through a frame of the library would be mispredicted. Only if mti_can_prepare_switch();
 * the caller is unbound. A thread that waits so is resumed by another thread's
 * mti_prepare_switch() or mti_switch_to() only.
 * @return pair.to: NULL if nothing is left to do, and the caller has been resumed
 */
MTI_EXPORT struct arch_switch_pair mti_prepare_switch(struct mltp_thread *to, const char *text);

/** @return whether mti_prepare_switch() can be used: with the native backend, and without a
 * sanitizer that must see each switch. */
MTI_EXPORT bool mti_can_prepare_switch(void);

/** Makes a thread that waits by one of the two calls run a function before it continues. The
 * function may leave by longjmp(). Only if mti_can_prepare_switch(); afterwards the thread is
 * resumed as after mti_prepare_switch(). */
MTI_EXPORT void mti_call_first(struct mltp_thread *t, void (*function)(void));

/** Sets the function that prepares a kernel thread for what runs on it next. It gets the thread's
 * number (mti_set_number()), or 0 if the thread has none or the VP idles. VPs call it between two
 * threads if one of them has FP control of its own, or the second has a number. It may not switch,
 * and keeps errno. NULL: none. */
MTI_EXPORT void mti_set_switch_hook(void (*prepare)(uint32_t number));

/** @return whether this library's own code switches threads (MLTP_BACKEND). */
MTI_EXPORT bool mti_is_native(void);

#endif
