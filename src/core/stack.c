/* SPDX-License-Identifier: Apache-2.0 */
/* The arena of stacks; stack.h explains it. */
#include "core/stack.h"

#include <errno.h>

#include "base/log.h"
#include "base/options.h"
#include "core/thread.h"

enum {
  COMMIT_STEP = 64 << 20, /* the arena becomes usable in steps of this size */
  CANARY_WORDS = 8
};

static const uint64_t CANARY = 0x6d6c7470c0ffee11u;

/* [guard] all but the constants after init */
static struct {
  mt_spin guard;
  char *base;     /* [const] */
  size_t size;    /* [const] */
  size_t page;    /* [const] */
  size_t used;    /* bytes handed out */
  size_t usable;  /* bytes made usable */
  uint32_t slots; /* stacks made */
  struct mt_pool pools[MT_STACK_CLASS_MAX + 1];
  enum mt_guard kind; /* auto: not tried yet */
  long mappings_left; /* that guards by mprotect may still use */
} arena;

int mt_stacks_init(void) {
  arena.page = os_page_size();
  mt_rt.stack_class = mt_stack_class((size_t)mt_options.stack_size);
  arena.kind = (enum mt_guard)mt_options.guard;
  arena.mappings_left = os_max_mappings() / 2;
  /* 4 million default stacks; less where the address space is limited */
  for (arena.size = (size_t)1 << 40; arena.size >= COMMIT_STEP; arena.size /= 2) {
    arena.base = os_reserve(arena.size);
    if (arena.base != NULL) return 0;
  }
  return ENOMEM;
}

void mt_stacks_free(void) {
  os_release(arena.base, arena.size);
  __builtin_memset(&arena, 0, sizeof arena);
}

int mt_stack_class(size_t size) {
  if (size == 0) return mt_rt.stack_class;
  for (int log2 = MT_STACK_CLASS_MIN; log2 <= MT_STACK_CLASS_MAX; log2++)
    if (size <= (size_t)1 << log2) return log2;
  return -1;
}

/* ---- guards */

static void say_once(const char *text) {
  static bool said; /* [guard: arena.guard] */
  if (!said) mt_message("%s", text);
  said = true;
}

static void put_canary(struct mt_stack *stack) {
  stack->canary = 1;
  for (int i = 0; i < CANARY_WORDS; i++) ((uint64_t *)stack->low)[i] = CANARY;
}

/* Under the guard. */
static void protect(struct mt_stack *stack) {
  if (arena.kind == MT_GUARD_AUTO || arena.kind == MT_GUARD_MADVISE) {
    if (os_guard_light(stack->low, arena.page) == 0) return;
    if (arena.kind == MT_GUARD_MADVISE)
      say_once(
          "MLTP_GUARD=madvise: this kernel has no MADV_GUARD_INSTALL (Linux 6.13): using "
          "mprotect");
    arena.kind = MT_GUARD_MPROTECT;
  }
  if (arena.kind == MT_GUARD_MPROTECT) {
    arena.mappings_left -= 2;
    if (arena.mappings_left > 0 && os_guard_mprotect(stack->low, arena.page) == 0) return;
    say_once(
        "stack guards: half of vm.max_map_count is used: further stacks have a canary, "
        "checked when the thread ends, instead of a guard page (raise vm.max_map_count)");
    arena.kind = MT_GUARD_CANARY;
  }
  put_canary(stack);
}

void mt_stack_check_canary(const struct mltp_thread *t) {
  const struct mt_stack *stack = t->stack;
  for (int i = 0; i < CANARY_WORDS; i++)
    if (((const uint64_t *)stack->low)[i] != CANARY)
      mt_panic(
          "thread %lu '%s': stack overflow: it used more than its %zu KiB, found by the "
          "canary when it ended (give it a larger stack_size or set MLTP_STACK_SIZE)",
          (unsigned long)t->id, mt_name(t), mt_stack_size(stack) / 1024);
}

/* ---- slots */

/* Address space of a new slot at the end of the arena. Under the guard. */
static char *extend(size_t size) {
  size_t start = (arena.used + size - 1) & ~(size - 1);
  if (start + size > arena.size) return NULL;
  while (arena.usable < start + size) {
    if (os_commit(arena.base + arena.usable, COMMIT_STEP) != 0) return NULL;
    arena.usable += COMMIT_STEP;
  }
  arena.used = start + size;
  return arena.base + start;
}

static struct mt_stack *carve(int class_log2) {
  size_t size = (size_t)1 << class_log2;
  struct mt_stack *stack = NULL;
  mt_spin_lock(&arena.guard);
  char *low = extend(size);
  if (low != NULL) {
    stack = (struct mt_stack *)(low + size - MT_CACHE_LINE);
    stack->low = low;
    stack->class_log2 = (uint8_t)class_log2;
    stack->colour = arena.slots++ % MT_STACK_COLOURS;
    stack->canary = 0;
    protect(stack);
    mt_sanitizer_new_stack(low, size);
  }
  mt_spin_unlock(&arena.guard);
  return stack;
}

struct mt_stack *mt_stack_new(struct mt_vp *vp, int class_log2) {
  bool cached = vp != NULL && class_log2 == mt_rt.stack_class;
  struct mt_stack *stack = cached ? mt_cache_take(&vp->stacks) : NULL;
  if (mt_likely(stack != NULL)) return stack;
  struct mt_pool *pool = &arena.pools[class_log2];
  mt_spin_lock(&pool->guard);
  stack = mt_free_list_pop(&pool->head);
  if (cached) mt_cache_refill(&vp->stacks, pool);
  mt_spin_unlock(&pool->guard);
  return stack != NULL ? stack : carve(class_log2);
}

void mt_stack_free(struct mt_vp *vp, struct mt_stack *stack) {
  struct mt_pool *pool = &arena.pools[stack->class_log2];
  if (vp != NULL && stack->class_log2 == mt_rt.stack_class) {
    mt_cache_put(&vp->stacks, pool, stack);
    return;
  }
  mt_spin_lock(&pool->guard);
  mt_free_list_push(&pool->head, stack);
  mt_spin_unlock(&pool->guard);
}
