/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file arch.h
 * What the rest of the library knows of the processor. This room is the only
 * home of architecture #ifdefs; README.md draws the stacks.
 */
#ifndef MT_ARCH_ARCH_H
#define MT_ARCH_ARCH_H

/** Where floating-point control and flags of a context are while it does not run. Most contexts
 * have usual ones. A switch between two of these touches no record: with many threads each record
 * is a cache line that is no longer near. */
enum mt_arch_fp_form {
  MT_ARCH_FP_RECORDED, /**< in its struct arch_fp */
  MT_ARCH_FP_USUAL,    /**< as a process starts */
  MT_ARCH_FP_INEXACT   /**< the same with the flag of inexact results; not on all processors */
};

#if defined(__x86_64__)
#include "arch/x86_64/arch_impl.h"
#elif defined(__aarch64__)
#include "arch/aarch64/arch_impl.h"
#else
#error "MLTP: no src/arch folder for this processor (src/arch/README.md says what a port needs)"
#endif

#include "arch/ucontext.h"

/** Size of the unit in which caches move data between processors, in bytes. */
#define MT_CACHE_LINE 64

/** Fetches a line that is about to be written. */
static inline void mt_arch_prefetch(const void *address) { __builtin_prefetch(address, 1); }

/** Calls func with the arguments of a captured block; see struct arch_vargs. */
extern void *mt_arch_vcall(void *(*func)(int, ...), const struct arch_vargs *args);

/** Calls func(arg) on the stack that ends at top (aligned to 16 bytes). The call may
 * return on another kernel thread than it was made on. *caller is set to the caller's
 * context, for backtraces only: it is resumed by the return. @return what func returned
 * or mt_arch_call_leave() was given. */
extern void *mt_arch_call_on(void *top, void *(*func)(void *), void *arg,
                             struct arch_context *caller);

/** Ends the call that was made on the stack that ends at top; the frames on it are
 * left behind. Called on that stack. */
extern void mt_arch_call_leave(void *top, void *result) __attribute__((noreturn));

/** Saves the running context on its stack, its stack pointer in *from, and resumes the one whose
 * stack pointer is to. Use it only as a tail call: called last in a function, and so jumped to, it
 * returns straight to that function's caller. On x86-64 it returns by a jump, since
 * mt_arch_switch() would leave a return that the processor mispredicts (docs/design/032). Only in
 * libraries that link leap.S. */
extern void mt_arch_leap(void **from, void *to);

/** Where every fresh stack begins, by way of mt_arch_entry() or of libc. Never returns. */
extern void mt_thread_start(void);

#endif
