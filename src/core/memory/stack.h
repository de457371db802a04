/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file stack.h
 * Stacks: slots of one arena of address space, each with a guard page at its low end. Memory
 * appears as it is touched. A free slot keeps its guard page and its touched pages and is reused
 * last in, first out: per VP without a lock, then from a shared pool.
 *
 * The description of a stack lies in its topmost line, in a page the stack needs
 * anyway. Tops are coloured: shifted by a different multiple of the cache line in
 * each slot, or the first frames of all threads would compete for the same few
 * sets of the caches. For the same reason a page lies between two slots: from one
 * power of two to the next, all tops would compete for one set of the TLB.
 *
 * Trimming: a stack keeps the pages its threads have touched, so a burst of threads
 * would keep its memory forever. Stacks that lay in a pool unused for a whole TRIM_NS are given
 * back; the pool's low-water mark counts them. One of 64 keeps its topmost page, in which it
 * notes the others. The watchdog does so, or a busy VP a few at a time. The caches of VPs that
 * sleep join the pools first.
 *
 * Guard pages: MADV_GUARD_INSTALL (Linux 6.13) costs no mapping. Older kernels need mprotect,
 * which splits the mapping. A process has a limited number of mappings, so guard pages use
 * only a share of them. Stacks beyond it get a canary, which is checked when the thread
 * ends. A message on stderr reports the change once. Large stacks have a guard area by mprotect,
 * since the other way takes an entry for each page. If it is known how many there will be, all of
 * them are prepared at once.
 */
#ifndef MT_CORE_MEMORY_STACK_H
#define MT_CORE_MEMORY_STACK_H

#include "core/vp/vp.h"

enum {
  MT_STACK_LARGE = 16 << 20,      /* from this size on a stack has a */
  MT_STACK_LARGE_GUARD = 1 << 20, /* guard that frames of many pages do not jump over */
  MT_STACK_LARGE_SHARE = 16, /* of a process's mappings, large guards take one in this number */
  MT_STACK_CLASS_MIN = 14,   /* 16 KiB */
  MT_STACK_CLASS_MAX = 30,   /* 1 GiB */
  MT_STACK_COLOURS = 32,
  MT_STACK_PARTS = 8 /* reservations of address space: each doubles what there is */
};

struct mt_stack {
  void *next;         /* [owner] of the free list it is in (cache.h) */
  char *low;          /* [const] lowest address, where the guard page is */
  uint32_t colour;    /* [const] */
  uint8_t class_log2; /* [const] log2 of the slot's size */
  uint8_t check;      /* [const] enum mt_stack_check; changes in a child of fork() */
  uint8_t zero;       /* [const] what the packer writes to own the page; pack.c */
};

/** What there is to do when the thread ends. */
enum mt_stack_check {
  MT_STACK_GUARDED, /**< nothing */
  MT_STACK_CANARY,  /**< it has no guard page: look at the canary */
  MT_STACK_CHILD    /**< it was running when it forked: the process ends with it */
};

/** Says how many stacks of the default size will be needed, so that all are prepared at once.
 * Before mt_stacks_init(). */
void mt_stacks_expect(size_t count);

/** Makes all stacks executable, as they are where an object of the process asks for it. Before
 * mt_stacks_init(). */
void mt_stacks_make_executable(void);

/** @return 0, ENOMEM: no address space, or EACCES after a message: stacks have to be executable,
 * and may not be. */
int mt_stacks_init(void);

/** @return whether stacks are executable. */
bool mt_stacks_are_executable(void);

/** Makes reserved space usable as that of stacks is. */
int mt_stacks_commit(void *address, size_t size);

/** Gives everything back; no stack is in use. */
void mt_stacks_free(void);

/** In a child of fork(): all of them stay mapped, and none is in use. */
void mt_stacks_forget(void);

/** @return the class of stacks with that many bytes; -1: too large. page: the page size. What a
 * guard page takes beyond 4 KiB is added, so that programs have the same room everywhere. */
static inline int mt_stack_class_for(size_t size, size_t page) {
  size_t more = size < MT_STACK_LARGE ? page - 4096 : 0;
  size_t wanted = size + more > 2 * page ? size + more : 2 * page;
  for (int log2 = MT_STACK_CLASS_MIN; log2 <= MT_STACK_CLASS_MAX; log2++)
    if (wanted <= (size_t)1 << log2) return log2;
  return -1;
}

/** @return a stack of 2^class_log2 bytes, or NULL. vp: the calling VP, or NULL. */
struct mt_stack *mt_stack_new(struct mt_vp *vp, int class_log2);
/** The same, but only one that was in use before; also from caches of VPs that sleep. */
struct mt_stack *mt_stack_reuse(struct mt_vp *vp, int class_log2);
/** @return whether mt_stack_reuse() would find one. vp: the calling VP, which may be a sleeper. */
bool mt_stack_is_left(const struct mt_vp *vp, int class_log2);
void mt_stack_free(struct mt_vp *vp, struct mt_stack *stack);

/** @return the bytes from one slot to the next of that class. */
size_t mt_stack_stride(int class_log2);

/** @return the number of the reserved part that an address lies in, and where that part is; -1: it
 * lies in none. From any kernel thread. A part stays until mt_stacks_free(). */
int mt_stacks_part(uintptr_t at, uintptr_t *base, size_t *size);

/** @return how many stacks of the default size can still be made. */
size_t mt_stacks_left(void);

/** @return how many mappings the guard pages of `stacks` default stacks take, at least. */
size_t mt_stack_mappings(size_t stacks);

/** Gives back memory of stacks that were not needed lately, if it is time. busy: threads wait, so
 * that of a few is enough for now. */
void mt_stacks_trim(uint64_t now, bool busy);

/** @return whether it is time. */
bool mt_stacks_trim_is_due(uint64_t now);

/** @return when it is time, MLTP_NEVER: nothing is left to trim. */
uint64_t mt_stacks_trim_at(void);

/** The VP is about to sleep: the watchdog may have to look at its cache some time. */
void mt_stacks_owner_sleeps(const struct mt_vp *vp);

/** @return the class of a size in bytes, 0: the default; -1: too large. */
int mt_stack_class(size_t size);

/** Stops the program when the canary of the calling thread's stack is gone; ends the
 * process when the caller is the last thread of a child of fork(). */
void mt_stack_check_slow(const struct mt_stack *stack);

static inline void mt_stack_check(const struct mt_stack *stack) {
  if (mt_unlikely(stack->check != MT_STACK_GUARDED)) mt_stack_check_slow(stack);
}

static inline size_t mt_stack_size(const struct mt_stack *stack) {
  return (size_t)1 << stack->class_log2;
}

/** @return the bytes at the low end of a stack of that size that fault; page: the page size. */
static inline size_t mt_stack_guard(size_t size, size_t page) {
  return size >= MT_STACK_LARGE ? MT_STACK_LARGE_GUARD : page;
}

/** @return the lowest address of a stack behind its guard; *size: bytes from there to its end. */
const char *mt_stack_usable(const struct mt_stack *stack, size_t *size);

static inline char *mt_stack_top(struct mt_stack *stack) {
  return (char *)stack - (size_t)stack->colour * MT_CACHE_LINE;
}

#endif
