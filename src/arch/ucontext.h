/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file ucontext.h
 * The portable switch: libc's makecontext() and swapcontext(), as in
 * ContextThreads, below the same scheduler as the native one.
 *
 * The ucontext_t of a suspended thread lies in the frame that suspended it (of a
 * fresh one: at the top of its stack), and context->sp points to it, so a
 * descriptor is as small as with the native switch. ip and bp are noted too:
 * dumps and debuggers walk the stacks of either backend alike.
 *
 * What differs from the native switch: swapcontext() exchanges the signal mask, by
 * a system call at each switch, so it is the thread's own here and the kernel
 * thread's there. A new thread takes over that of the one that ran when it got its
 * stack. FP control, which it exchanges, too, is put back: it is the scheduler's.
 *
 * ContextThreads passes a thread's function and argument through makecontext(),
 * as ints: on LP64 half of each pointer is lost. Nothing is passed here, since a
 * thread finds itself by the current-thread pointer (mt_thread_start()).
 */
#ifndef MT_ARCH_UCONTEXT_H
#define MT_ARCH_UCONTEXT_H

struct arch_context;

/** Makes *context start at mt_thread_start() on the stack [low, top). */
void mt_ucontext_init(struct arch_context *context, char *low, char *top);

/** Saves the running context in *from and resumes *to. */
void mt_ucontext_switch(struct arch_context *from, const struct arch_context *to);

#endif
