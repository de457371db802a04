/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file stack.h
 * Stacks of coroutines: slots of power-of-two size in one arena of address space, each with a
 * guard at its low end; memory appears as it is touched. A free slot keeps what was touched and
 * is reused last in, first out.
 *
 * It is core/memory/stack.h for one kernel thread, with the same layout (the description lies in
 * the topmost line, tops are coloured, guards are light where the kernel has them) and the same
 * trim policy: what lay unused for a whole second is given back but for its topmost page. Core's
 * own is part of a runtime with VPs, which a SystemC program does not have; nobody else is there
 * to trim, so it is done when stacks come and go.
 */
#ifndef MT_SYSTEMC_STACK_H
#define MT_SYSTEMC_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mt_co_stack {
  struct mt_co_stack *next; /* of the free list it is in */
  char *low;                /* [const] lowest address, where the guard page is */
  uint32_t colour;          /* [const] */
  uint8_t class_log2;       /* [const] log2 of the slot's size */
  bool guarded;             /* [const] false: a canary instead of a guard page */
};

/** @return a stack for at least size bytes of frames, or NULL: no address space. */
struct mt_co_stack *mt_co_stack_new(size_t size);

/** The caller may still be running on it: the stack keeps its contents until it is taken again. */
void mt_co_stack_free(struct mt_co_stack *stack);

/** @return where its frames begin, aligned to 16. */
char *mt_co_stack_top(struct mt_co_stack *stack);

/** @return whether an address is in its guard. */
bool mt_co_stack_guards(const struct mt_co_stack *stack, const void *address);

/** @return whether the process stayed above the canary, if there is one. */
bool mt_co_stack_whole(const struct mt_co_stack *stack);

/** @return bytes its frames may have. */
size_t mt_co_stack_room(const struct mt_co_stack *stack);

#endif
