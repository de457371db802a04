/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file thread.h
 * Internal API: the calling thread.
 */
#ifndef MT_CORE_INTERNAL_THREAD_H
#define MT_CORE_INTERNAL_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/internal/export.h"

struct mltp_thread;

/** @return the calling thread; NULL after a misuse report that names the call. */
MTI_EXPORT struct mltp_thread *mti_self(const char *call);

/** @return whether the calling thread is a pthread that the library did not create. */
MTI_EXPORT bool mti_is_foreign(void);

/** @return the calling thread's number; 0: it has none, as every thread at its start. For what a
 * library looks up in each call: one load from a line that parking touches anyway, where
 * mltp_tss_get() needs two more. From any context, also a signal handler. */
MTI_EXPORT uint32_t mti_number(void);

/** Gives the calling thread a number. @return false after a misuse report that names the call. */
MTI_EXPORT bool mti_set_number(const char *call, uint32_t number);

/** Gives the calling thread another number for a while. For a signal handler, which may have
 * interrupted any context. @return the number it had; 0 where there is no thread to give it to. */
MTI_EXPORT uint32_t mti_act_as(uint32_t number);

/** @return the address in the middle of the calling thread's stack; NULL: the caller is no thread
 * of the library, or has a kernel thread's stack. */
MTI_EXPORT const char *mti_stack_middle(void);

/** Finds the stack of a thread that has started and not ended, without its guard. @return false: it
 * is not known. From any context. */
MTI_EXPORT bool mti_stack_of(const struct mltp_thread *thread, const char **low, size_t *size);

/** Marks a point where the caller may be preempted in deterministic mode. */
MTI_EXPORT void mti_preempt(const char *call);

#endif
