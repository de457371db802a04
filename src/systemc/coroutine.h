/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file coroutine.h
 * Bare contexts for SystemC's processes: no thread of libmltp, no VP, no queue, since
 * SystemC's kernel itself chooses the process to run next. A switch exchanges the state that
 * a process may expect to be its own: registers, C++ exceptions, FP control. errno stays
 * with the kernel thread, as in SystemC's own package.
 *
 * All of it belongs to the one kernel thread at a time that runs the simulation, and nothing
 * here is atomic: SystemC's kernel is no different.
 *
 * A coroutine gets its stack when it first runs and gives it back when it ends, not when it
 * is created and destroyed: processes that run one after the other share one warm stack.
 */
#ifndef MT_SYSTEMC_COROUTINE_H
#define MT_SYSTEMC_COROUTINE_H

#include <stdbool.h>
#include <stddef.h>

#include "arch/arch.h"
#include "systemc/stack.h"

/** What the C++ ABI keeps for a kernel thread (Itanium C++ ABI, 2.2.2): the exceptions being
 * handled, and how many are thrown and not caught yet. */
struct mt_co_exceptions {
  void *caught;
  unsigned int uncaught;
};

struct mt_coroutine {
  void *sp;                           /* of one that does not run; NULL: it has no stack */
  struct mt_co_exceptions exceptions; /* likewise */
  struct arch_fp fp;                  /* likewise; of a fresh one, its creator's */
  struct mt_co_stack *stack;          /* NULL: has not run yet, has ended, or is main */
  void (*run)(void *);                /* [const] ends by mt_co_abort(); NULL: main */
  void *arg;                          /* [const] */
  size_t stack_size;                  /* [const] bytes the process asked for */
  bool ended;
  void *fake_stack; /* AddressSanitizer's, of one that does not run */
  void *fiber;      /* ThreadSanitizer's; NULL: none yet */
};

/** @return the coroutine that runs. */
struct mt_coroutine *mt_co_current(void);

/** The context of the caller, in which the simulation is started: main. There is one. */
void mt_co_adopt(struct mt_coroutine *main);

void mt_co_init(struct mt_coroutine *co, size_t stack_size, void (*run)(void *), void *arg);

/** Gives back the stack of one that will not run again. */
void mt_co_destroy(struct mt_coroutine *co);

/** Suspends the running coroutine and resumes next. */
void mt_co_yield(struct mt_coroutine *next);

/** Ends the running coroutine and resumes next. */
void mt_co_abort(struct mt_coroutine *next);

/** @return the name of the process a coroutine was created for; package.cpp knows it. */
const char *mt_co_name(const struct mt_coroutine *co);

/** From now on an overflow of a process's stack is reported as such. */
void mt_co_catch_overflow(void);

#endif
