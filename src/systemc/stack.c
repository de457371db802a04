/* SPDX-License-Identifier: Apache-2.0 */
/* The arena of coroutines' stacks; stack.h explains it. */
#include "systemc/stack.h"

#include "arch/arch.h"
#include "instrument/sanitizer.h"
#include "os/os.h"
#include "systemc/message.h"

enum {
  CLASS_MIN = 14, /* 16 KiB */
  CLASS_MAX = 33, /* 8 GiB */
  COLOURS = 32,
  COMMIT_STEP = 64 << 20, /* the arena becomes usable in steps of this size */
  CANARY_WORDS = 8,
  TRIM_NS = 1000000000, /* unused for so long, a stack loses its memory */
  TRIM_CHECK = 64       /* stacks come and go so often between two looks at the clock */
};

static const uint64_t CANARY = 0x6d6c7470c0ffee11u;

/* Free stacks of a size. The trimmed ones are at its end: what lay there longest. */
struct pool {
  struct mt_co_stack *head;
  size_t count;
  size_t least;   /* the fewest there have been since the last look */
  size_t trimmed; /* the number at the end that have lost their memory */
};

static struct {
  char *base;
  size_t size, page;
  size_t used;    /* bytes handed out */
  size_t usable;  /* bytes made usable */
  uint32_t slots; /* stacks made */
  struct pool pools[CLASS_MAX + 1];
  enum { LIGHT, MPROTECT, NONE } guards; /* the best kind that has not failed yet */
  long mappings_left;                    /* that guards by mprotect may still use */
  uint32_t events;                       /* stacks that came or went */
  uint64_t trim_at;
} arena;

static bool arena_ready(void) {
  if (arena.base != NULL) return true;
  size_t most = os_address_space_limit() / 2; /* the other half is for the program */
  arena.page = os_page_size();
  arena.size = (size_t)1 << 40;
  while (arena.size > most && arena.size > COMMIT_STEP) arena.size /= 2;
  for (; arena.size >= COMMIT_STEP; arena.size /= 2) {
    arena.base = os_reserve(arena.size);
    if (arena.base == NULL) continue;
    arena.guards = os_advice_is_checked(arena.base, arena.page) ? LIGHT : MPROTECT;
    arena.mappings_left = os_max_mappings() / 2;
    return true;
  }
  return false;
}

/* ---- slots */

static void protect(struct mt_co_stack *stack) {
  stack->guarded = true;
  if (arena.guards == LIGHT) {
    if (os_guard_light(stack->low, arena.page) == 0) return;
    arena.guards = MPROTECT;
  }
  if (arena.guards == MPROTECT) { /* each splits a mapping in two more */
    arena.mappings_left -= 2;
    if (arena.mappings_left > 0 && os_guard_mprotect(stack->low, arena.page) == 0) return;
    mt_co_message(
        "stack guards: half of vm.max_map_count is used: the stacks of further processes have "
        "a canary, checked when the process ends, instead of a guard page (raise "
        "vm.max_map_count, or use Linux 6.13 or later)");
    arena.guards = NONE;
  }
  stack->guarded = false;
  for (int i = 0; i < CANARY_WORDS; i++) ((uint64_t *)stack->low)[i] = CANARY;
}

static struct mt_co_stack *carve(int class_log2) {
  size_t size = (size_t)1 << class_log2, start = (arena.used + size - 1) & ~(size - 1);
  if (start + size > arena.size) return NULL;
  while (arena.usable < start + size) {
    if (os_commit(arena.base + arena.usable, COMMIT_STEP) != 0) return NULL;
    arena.usable += COMMIT_STEP;
  }
  arena.used = start + size;
  char *low = arena.base + start;
  struct mt_co_stack *stack = (struct mt_co_stack *)(low + size - MT_CACHE_LINE);
  stack->low = low;
  stack->class_log2 = (uint8_t)class_log2;
  stack->colour = arena.slots++ % COLOURS;
  protect(stack);
  mt_sanitizer_new_stack(low, size);
  return stack;
}

/* What a slot has beside its frames: the guard, the description, the colour. */
static size_t overhead(void) { return arena.page + (COLOURS + 1) * MT_CACHE_LINE; }

char *mt_co_stack_top(struct mt_co_stack *stack) {
  return (char *)stack - (size_t)stack->colour * MT_CACHE_LINE;
}

size_t mt_co_stack_room(const struct mt_co_stack *stack) {
  return ((size_t)1 << stack->class_log2) - overhead();
}

bool mt_co_stack_guards(const struct mt_co_stack *stack, const void *address) {
  const char *at = address;
  return stack->guarded && at >= stack->low && at < stack->low + arena.page;
}

bool mt_co_stack_whole(const struct mt_co_stack *stack) {
  if (!stack->guarded)
    for (int i = 0; i < CANARY_WORDS; i++)
      if (((const uint64_t *)stack->low)[i] != CANARY) return false;
  return true;
}

/* ---- trimming */

static void trim_pool(struct pool *pool) {
  size_t needed = pool->count - pool->least, i = 0;
  for (struct mt_co_stack *s = pool->head; i < pool->count - pool->trimmed; s = s->next, i++)
    if (i >= needed) /* all but the guard and the page with the description */
      os_trim(s->low + arena.page, ((size_t)1 << s->class_log2) - 2 * arena.page);
  if (pool->least > pool->trimmed) pool->trimmed = pool->least;
  pool->least = pool->count;
}

static void trim_if_time(void) {
  if (++arena.events % TRIM_CHECK != 0) return;
  uint64_t now = os_now();
  if (now < arena.trim_at) return;
  arena.trim_at = now + TRIM_NS;
  for (int log2 = CLASS_MIN; log2 <= CLASS_MAX; log2++)
    if (arena.pools[log2].count != 0) trim_pool(&arena.pools[log2]);
}

/* ---- in and out */

struct mt_co_stack *mt_co_stack_new(size_t size) {
  if (!arena_ready() || size > (size_t)1 << (CLASS_MAX - 1)) return NULL;
  int class_log2 = CLASS_MIN;
  while ((size_t)1 << class_log2 < size + overhead()) class_log2++;
  trim_if_time();
  struct pool *pool = &arena.pools[class_log2];
  struct mt_co_stack *stack = pool->head;
  if (stack == NULL) return carve(class_log2);
  pool->head = stack->next;
  pool->count--;
  if (pool->count < pool->least) pool->least = pool->count;
  if (pool->count < pool->trimmed) pool->trimmed = pool->count;
  return stack;
}

void mt_co_stack_free(struct mt_co_stack *stack) {
  struct pool *pool = &arena.pools[stack->class_log2];
  stack->next = pool->head;
  pool->head = stack;
  pool->count++;
}
