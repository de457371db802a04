/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The arena of stacks; stack.h explains it.
 *
 * Relaxed: trim_at is a hint; a plan made while another ends is made again when the
 * next VP goes to sleep.
 */
#include "core/memory/stack.h"

#include <errno.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/options.h"
#include "core/memory/pool.h"
#include "core/vp/vp.h"
#include "mltp/thread.h"

enum {
  TRIM_NS = 1000000000,   /* unused for so long, a stack loses its memory */
  TRIM_BATCH = 64,        /* the most stacks that one leader notes, and a busy VP trims at a time */
  TRIM_MOST = 1024,       /* the most stacks that the watchdog trims at a time */
  TRIM_REST_NS = 1000000, /* from one time to the next: most of a busy VP's time is its threads' */
  GAP_FROM = 64 << 10,    /* from this size on a page lies between two slots */
  COMMIT_STEP = 64 << 20, /* bytes of the arena that become usable at a time, at least */
  COMMIT_STACKS = 16,     /* default stacks that become usable at a time, at least */
  CANARY_WORDS = 8
};

/* The first reservation, unless address space is limited: then another might find none later. An
 * emulator in user mode takes time for each GiB. */
static const size_t FIRST_PART = (size_t)16 << 30;

static const uint64_t CANARY = 0x6d6c7470c0ffee11u;

static size_t expected; /* [ilock] stacks of the default size that will be needed yet, at least */

static bool executable; /* [const] after init: an object that libc has not loaded asks for it */

void mt_stacks_make_executable(void) { executable = true; }

void mt_stacks_expect(size_t count) { expected = count + 1; /* VP 0 has an idle context */ }

/* [ilock] all but the constants after init */
static struct {
  mt_ilock ilock;
  char *base;     /* of the last part, from which stacks are taken */
  size_t size;    /* of it */
  size_t used;    /* bytes of it handed out */
  size_t usable;  /* bytes of it made usable */
  size_t guarded; /* bytes of it: slots of the default size that begin below have their guards */
  size_t left;    /* bytes that may be reserved yet */
  size_t page;    /* [const] */
  struct {
    char *base;
    size_t size;
  } parts[MT_STACK_PARTS];
  int part_count; /* [atomic] grows under the ilock; the packer reads it without */
  uint32_t slots; /* stacks made */
  struct mt_pool pools[MT_STACK_CLASS_MAX + 1];
  struct leader *trimmed[MT_STACK_CLASS_MAX + 1]; /* [ilock of the pool] free, without memory */
  uint64_t trim_at;   /* [atomic] relaxed: about when to trim; 0: no need */
  bool can_advise;    /* [const] what madvise() accepts is done */
  bool executable;    /* [const] stacks hold code: GCC's way to functions within functions */
  enum mt_guard kind; /* auto: not tried yet */
  long mappings_left; /* that guards by mprotect may still use */
  long large_left;    /* that large guards may use where madvise() works */
} arena;

/* Lies below the description of a trimmed stack, which keeps its topmost page for it. Others that
 * were trimmed with it keep no page: a word here stands for their descriptions. */
struct leader {
  struct leader *next;
  size_t count; /* of the others */
  uintptr_t others[TRIM_BATCH - 1];
};

/* How much to try to reserve: a power of two, COMMIT_STEP at least. */
static size_t space_wanted(void) {
  size_t size = (size_t)1 << 40; /* 4 million default stacks */
  size_t most = (size_t)mt_options.stack_space;
  /* the other half of a limited address space is for the heap and kernel threads' stacks */
  if (most == 0) most = os_address_space_limit() / 2;
  while (size > most && size > COMMIT_STEP) size /= 2;
  return size;
}

/* A page between two slots makes that an odd number of pages, so that tops of stacks are in all
 * sets of a TLB in turn. Small stacks are in enough. */
static size_t stride(size_t size) { return size < GAP_FROM ? size : size + arena.page; }

size_t mt_stack_stride(int class_log2) { return stride((size_t)1 << class_log2); }

int mt_stacks_part(uintptr_t at, uintptr_t *base, size_t *size) {
  int count = mt_load_acquire(&arena.part_count); /* PA-2 acquire: pairs PA-1 */
  for (int i = 0; i < count; i++) {
    *base = (uintptr_t)arena.parts[i].base;
    *size = arena.parts[i].size;
    if (at - *base < *size) return i;
  }
  return -1;
}

/* Reserves another part, with room for that many bytes of stacks. Under the internal lock. @return
 * false: there is none. */
static bool add_part(size_t stacks) {
  size_t each = (size_t)1 << mt_rt.stack_class, size = stacks / each * stride(each);
  if (size < stacks) size = stacks; /* not one of them */
  int part = arena.part_count;
  char *base = part < MT_STACK_PARTS ? os_reserve(size) : NULL;
  if (base == NULL) return false;
  arena.parts[part].base = arena.base = base;
  arena.parts[part].size = arena.size = size;
  arena.used = arena.usable = arena.guarded = 0;
  mt_store_release(&arena.part_count, part + 1); /* PA-1 release: the part; pairs PA-2 */
  return true;
}

/* The next part is as large as all that there are. Under the internal lock. */
static bool grow(size_t least) {
  size_t each = (size_t)1 << mt_rt.stack_class, size = 0;
  for (int i = 0; i < arena.part_count; i++) size += arena.parts[i].size / stride(each) * each;
  if (size > arena.left) size = arena.left;
  if (size < least || !add_part(size)) return false;
  arena.left -= size;
  return true;
}

/* The first reservation has room for all stacks that are expected. */
static size_t first_part(size_t most) {
  size_t size = FIRST_PART < most ? FIRST_PART : most;
  while (size < most && size >> mt_rt.stack_class < expected) size *= 2;
  return size;
}

bool mt_stacks_are_executable(void) { return arena.executable; }

int mt_stacks_commit(void *address, size_t size) {
  int error = os_enable(address, size, arena.executable);
  if (error == 0) os_show_in_cores(address, size);
  return error;
}

/* Tries it with a page of the arena. Threads whose stacks are not executable would crash later. */
static int allow_code(void) {
  arena.executable = executable || os_wants_executable_stacks();
  if (!arena.executable) return 0;
  bool allowed = os_enable(arena.base, arena.page, true) == 0;
  if (allowed && os_guard_mprotect(arena.base, arena.page) == 0) return 0;
  mt_message(
      "mltp_init: the program or a library of it needs executable stacks, and the kernel refuses "
      "them (build it without functions within functions, or link it with -z noexecstack)");
  mt_stacks_free();
  return EACCES;
}

int mt_stacks_init(void) {
  arena.page = os_page_size();
  mt_rt.stack_class = mt_stack_class((size_t)mt_options.stack_size);
  arena.kind = (enum mt_guard)mt_options.guard;
  arena.mappings_left = os_max_mappings() / 2;
  arena.large_left = os_max_mappings() / MT_STACK_LARGE_SHARE;
  size_t wanted = space_wanted(), size = wanted;
  if (os_address_space_limit() == SIZE_MAX) size = first_part(wanted);
  arena.left = wanted - size;
  for (; size >= COMMIT_STEP; size /= 2) {
    if (!add_part(size)) continue;
    arena.can_advise = os_advice_is_checked(arena.base, arena.page);
    return allow_code();
  }
  return ENOMEM;
}

void mt_stacks_free(void) {
  for (int i = 0; i < arena.part_count; i++) os_release(arena.parts[i].base, arena.parts[i].size);
  mt_stacks_forget();
}

void mt_stacks_forget(void) {
  __builtin_memset(&arena, 0, sizeof arena);
  expected = 0;
}

int mt_stack_class(size_t size) {
  return size == 0 ? mt_rt.stack_class : mt_stack_class_for(size, arena.page);
}

const char *mt_stack_usable(const struct mt_stack *stack, size_t *size) {
  size_t guard = mt_stack_guard(mt_stack_size(stack), arena.page);
  *size = mt_stack_size(stack) - guard;
  return stack->low + guard;
}

/* ---- guards */

/* Under the internal lock. */
static void print_once(bool *said, const char *text) {
  if (!*said) mt_message("%s", text);
  *said = true;
}

static void put_canary(struct mt_stack *stack) {
  stack->check = MT_STACK_CANARY;
  for (int i = 0; i < CANARY_WORDS; i++) ((uint64_t *)stack->low)[i] = CANARY;
}

/* Makes a large guard by mprotect(), unless it was prepared. Under the internal lock. @return
 * false: the share of the mappings is used, or the kernel refuses. */
static bool protect_large(const struct mt_stack *stack, size_t guard) {
  bool usual = stack->class_log2 == mt_rt.stack_class;
  if (usual && (size_t)(stack->low - arena.base) < arena.guarded) return true;
  if (arena.large_left < 2 || os_guard_mprotect(stack->low, guard) != 0) return false;
  arena.large_left -= 2;
  return true;
}

/* Under the internal lock. */
static void protect(struct mt_stack *stack) {
  static bool said_no_advice, said_few_mappings; /* [ilock: arena.ilock] */
  size_t guard = mt_stack_guard(mt_stack_size(stack), arena.page);
  /* madvise() writes an entry for each page of the area, and takes a page of entries for it */
  if (arena.kind == MT_GUARD_AUTO && guard > arena.page && protect_large(stack, guard)) return;
  if (arena.kind == MT_GUARD_AUTO || arena.kind == MT_GUARD_MADVISE) {
    if (arena.can_advise && os_guard_light(stack->low, guard) == 0) return;
    if (arena.kind == MT_GUARD_MADVISE)
      print_once(&said_no_advice,
                 "MLTP_GUARD=madvise: this kernel has no MADV_GUARD_INSTALL (Linux 6.13): using "
                 "mprotect");
    arena.kind = MT_GUARD_MPROTECT;
  }
  if (arena.kind == MT_GUARD_MPROTECT) {
    arena.mappings_left -= 2;
    if (arena.mappings_left > 0 && os_guard_mprotect(stack->low, guard) == 0) return;
    print_once(&said_few_mappings,
               "stack guards: half of vm.max_map_count is used: further stacks have a canary, "
               "checked when the thread ends, instead of a guard page (raise vm.max_map_count)");
    arena.kind = MT_GUARD_CANARY;
  }
  put_canary(stack);
}

void mt_stack_check_slow(const struct mt_stack *stack) {
  if (stack->check == MT_STACK_CHILD) exit(0); /* as when a pthread ends in a child */
  const struct mltp_thread *t = mt_current();
  for (int i = 0; i < CANARY_WORDS; i++)
    if (((const uint64_t *)stack->low)[i] != CANARY)
      mt_panic(
          "thread %lu '%s': stack overflow: it used more than its %zu KiB, found by the "
          "canary when it ended (give it a larger stack_size or set MLTP_STACK_SIZE)",
          (unsigned long)t->id, mt_name(t), mt_stack_size(stack) / 1024);
}

/* ---- slots */

/* All sizes are powers of two, but the last step may end with the arena. */
static size_t commit_step(void) {
  size_t stacks = COMMIT_STACKS * ((size_t)1 << mt_rt.stack_class);
  size_t step = stacks > COMMIT_STEP ? stacks : COMMIT_STEP, left = arena.size - arena.usable;
  return step < left ? step : left;
}

/* Makes the stacks that are expected usable, all but their guards. The kernel splits memory with
 * less work while nobody has touched it, and no other VP waits meanwhile. Not their topmost pages:
 * they would have left the caches when the threads begin. Under the internal lock. @return false:
 * nothing was made. */
static bool prepare(void) {
  size_t size = (size_t)1 << mt_rt.stack_class, step = stride(size), made = 0;
  size_t guard = mt_stack_guard(size, arena.page), most = arena.size / step;
  if (arena.kind != MT_GUARD_AUTO || guard == arena.page || arena.usable != 0) return false;
  os_show_in_cores(arena.base, (expected < most ? expected : most) * step);
  for (; made < expected && made < most && arena.large_left >= 2; made++) {
    char *low = arena.base + made * step;
    if (os_enable(low + guard, size - guard, arena.executable) != 0) break;
    arena.large_left -= 2;
  }
  expected = 0;
  arena.usable = arena.guarded = made * step;
  return made > 0;
}

/* Makes more of the arena usable. Under the internal lock. */
static bool commit(void) {
  size_t step = commit_step();
  if (expected > 1 && prepare()) return true;
  if (mt_stacks_commit(arena.base + arena.usable, step) != 0) return false;
  arena.usable += step;
  return true;
}

/* A slot of another size begins where guards of usual ones have been made. Under the internal lock.
 */
static bool take_guards_back(size_t start) {
  if (start >= arena.guarded) return true;
  size_t bytes = arena.guarded - start;
  arena.guarded = start;
  return mt_stacks_commit(arena.base + start, bytes) == 0;
}

size_t mt_stack_mappings(size_t stacks) {
  bool large = mt_stack_guard((size_t)1 << mt_rt.stack_class, arena.page) > arena.page;
  size_t most = large ? (size_t)os_max_mappings() / MT_STACK_LARGE_SHARE : 0;
  return 2 * stacks < most ? 2 * stacks : most;
}

size_t mt_stacks_left(void) {
  mt_ilock_lock(&arena.ilock);
  size_t each = (size_t)1 << mt_rt.stack_class;
  size_t left = arena.left / each + (arena.size - arena.used) / stride(each);
  mt_ilock_unlock(&arena.ilock);
  return left;
}

/* Address space of a new slot at the end of the arena. Under the internal lock. */
static char *extend(size_t size) {
  size_t start = arena.used;
  if (start + size > arena.size) {
    if (!grow(size)) return NULL;
    start = 0;
  }
  while (arena.usable < start + size)
    if (!commit()) return NULL;
  if (size != (size_t)1 << mt_rt.stack_class && !take_guards_back(start)) return NULL;
  arena.used = start + stride(size) < arena.size ? start + stride(size) : arena.size;
  return arena.base + start;
}

static struct mt_stack *carve(int class_log2) {
  size_t size = (size_t)1 << class_log2;
  struct mt_stack *stack = NULL;
  mt_ilock_lock(&arena.ilock);
  char *low = extend(size);
  if (low != NULL) {
    stack = (struct mt_stack *)(low + size - MT_CACHE_LINE);
    stack->low = low;
    stack->class_log2 = (uint8_t)class_log2;
    stack->colour = arena.slots++ % MT_STACK_COLOURS;
    stack->check = MT_STACK_GUARDED;
    protect(stack);
    mt_sanitizer_new_stack(low, size);
  }
  mt_ilock_unlock(&arena.ilock);
  return stack;
}

/* Free stacks have memory that may not be needed again. */
static void plan_trim(void) {
  if (mt_load_relaxed(&arena.trim_at) == 0) mt_store_relaxed(&arena.trim_at, os_now() + TRIM_NS);
}

void mt_stacks_owner_sleeps(const struct mt_vp *vp) {
  if (vp->caches.stacks.head != NULL) plan_trim();
}

/* A stack begins at a page, so the low bits of its address hold the rest of its description. */
static uintptr_t pack(const struct mt_stack *stack) {
  return (uintptr_t)stack->low | stack->check * MT_STACK_COLOURS | stack->colour;
}

static struct mt_stack *unpack(uintptr_t word, int class_log2) {
  enum { BITS = (MT_STACK_CANARY + 1) * MT_STACK_COLOURS - 1 };
  char *low = (char *)(word & ~(uintptr_t)BITS);
  struct mt_stack *stack = (struct mt_stack *)(low + ((size_t)1 << class_log2) - MT_CACHE_LINE);
  stack->low = low;
  stack->colour = word % MT_STACK_COLOURS;
  stack->class_log2 = (uint8_t)class_log2;
  stack->check = (word & BITS) / MT_STACK_COLOURS;
  if (stack->check == MT_STACK_CANARY) put_canary(stack);
  return stack;
}

/* @return what pack() made of a trimmed stack, 0: *leader is one itself, or NULL. The lock of the
 * pool is held. */
static uintptr_t take_trimmed(int class_log2, struct leader **leader) {
  *leader = arena.trimmed[class_log2];
  if (*leader == NULL) return 0;
  if ((*leader)->count != 0) return (*leader)->others[--(*leader)->count];
  arena.trimmed[class_log2] = (*leader)->next;
  return 0;
}

/* Apart from take_free(), so that a stack from the VP's cache costs a caller no call. */
__attribute__((noinline)) static struct mt_stack *take_pooled(struct mt_vp *vp, int class_log2) {
  struct mt_pool *pool = &arena.pools[class_log2];
  mt_pool_lock(pool, false);
  struct leader *leader = NULL;
  struct mt_stack *stack = mt_pool_pop(pool);
  uintptr_t word = stack == NULL ? take_trimmed(class_log2, &leader) : 0;
  bool cached = vp != NULL && class_log2 == mt_rt.stack_class;
  if (cached && mt_cache_limits.batches) mt_cache_refill(&vp->caches.stacks, pool);
  mt_pool_unlock(pool, false);
  if (word != 0) return unpack(word, class_log2);
  if (leader != NULL) stack = (struct mt_stack *)(leader + 1);
  return stack;
}

static inline struct mt_stack *take_free(struct mt_vp *vp, int class_log2) {
  bool cached = vp != NULL && class_log2 == mt_rt.stack_class;
  struct mt_stack *stack = cached ? mt_cache_take(&vp->caches.stacks) : NULL;
  return mt_likely(stack != NULL) ? stack : take_pooled(vp, class_log2);
}

struct mt_stack *mt_stack_new(struct mt_vp *vp, int class_log2) {
  struct mt_stack *stack = take_free(vp, class_log2);
  return mt_likely(stack != NULL) ? stack : carve(class_log2);
}

void mt_stack_free(struct mt_vp *vp, struct mt_stack *stack) {
  struct mt_pool *pool = &arena.pools[stack->class_log2];
  if (vp != NULL && stack->class_log2 == mt_rt.stack_class) {
    bool room = mt_cache_has_room(&vp->caches.stacks);
    if (mt_cache_limits.batches || room) {
      mt_cache_put(&vp->caches.stacks, pool, stack);
      if (mt_unlikely(!room)) plan_trim();
      return;
    }
  }
  mt_pool_lock(pool, false);
  mt_pool_push(pool, stack);
  mt_pool_unlock(pool, false);
  plan_trim();
}

/* ---- trimming */

static void cache_to_pool(struct mt_cache cache) {
  struct mt_pool *pool = &arena.pools[mt_rt.stack_class];
  mt_pool_lock(pool, false);
  for (void *stack; (stack = mt_cache_take(&cache)) != NULL;) mt_pool_push(pool, stack);
  mt_pool_unlock(pool, false);
}

static struct mt_cache take_cache(struct mt_vp *vp) {
  struct mt_cache cache = vp->caches.stacks;
  vp->caches.stacks = (struct mt_cache){NULL, mt_cache_limits.stacks};
  return cache;
}

/* A VP that sleeps does not touch its cache, and wakes up under sleep.ilock only. */
static void collect_from_sleepers(void) {
  uint32_t count = mt_vp_count();
  for (uint32_t i = 0; i < count; i++) {
    struct mt_vp *vp = mt_rt.vps[i];
    struct mt_cache cache = {NULL, 0};
    mt_ilock_lock(&mt_rt.sleep.ilock);
    if (mt_load_relaxed(&vp->sleep.status) == MT_VP_ASLEEP) cache = take_cache(vp);
    mt_ilock_unlock(&mt_rt.sleep.ilock);
    cache_to_pool(cache);
  }
}

struct mt_stack *mt_stack_reuse(struct mt_vp *vp, int class_log2) {
  struct mt_stack *stack = take_free(vp, class_log2);
  if (stack != NULL) return stack;
  collect_from_sleepers();
  return take_free(vp, class_log2);
}

bool mt_stack_is_left(const struct mt_vp *vp, int class_log2) {
  mt_ilock_lock(&mt_rt.sleep.ilock);
  bool cached = class_log2 == mt_rt.stack_class && vp->caches.stacks.head != NULL;
  mt_ilock_unlock(&mt_rt.sleep.ilock);
  struct mt_pool *pool = &arena.pools[class_log2];
  mt_pool_lock(pool, false);
  bool pooled = pool->count != 0 || arena.trimmed[class_log2] != NULL;
  mt_pool_unlock(pool, false);
  return cached || pooled;
}

/* Takes up to TRIM_BATCH stacks that were not needed, linked. */
static void *take_unneeded(int class_log2) {
  struct mt_pool *pool = &arena.pools[class_log2];
  void *batch = NULL;
  mt_pool_lock(pool, false);
  uint32_t unneeded = pool->least, taken = unneeded < TRIM_BATCH ? unneeded : TRIM_BATCH;
  for (uint32_t i = 0; i < taken; i++) mt_free_list_push(&batch, mt_pool_pop(pool));
  pool->least = unneeded - taken;
  mt_pool_unlock(pool, false);
  return batch;
}

/* Gives back all but the guard page, and the topmost page if that is to stay. */
static void trim_one(const struct mt_stack *stack, size_t kept) {
  size_t guard = stack->check == MT_STACK_CANARY ? 0 : arena.page;
  os_trim(stack->low + guard, mt_stack_size(stack) - guard - kept);
}

static void trim_batch(int class_log2, void *batch) {
  struct mt_pool *pool = &arena.pools[class_log2];
  struct mt_stack *first = mt_free_list_pop(&batch);
  struct leader *leader = (struct leader *)first - 1;
  trim_one(first, arena.page);
  if (first->check == MT_STACK_CANARY) put_canary(first);
  leader->count = 0;
  for (struct mt_stack *stack; (stack = mt_free_list_pop(&batch)) != NULL;) {
    leader->others[leader->count++] = pack(stack);
    trim_one(stack, 0);
  }
  mt_pool_lock(pool, false);
  leader->next = arena.trimmed[class_log2];
  arena.trimmed[class_log2] = leader;
  mt_pool_unlock(pool, false);
}

/* @return how many stacks were trimmed: at least `most`, or all if there are fewer. */
static uint32_t trim_pools(uint32_t most) {
  uint32_t trimmed = 0;
  for (int class_log2 = MT_STACK_CLASS_MIN; class_log2 <= MT_STACK_CLASS_MAX; class_log2++) {
    for (void *batch; trimmed < most && (batch = take_unneeded(class_log2)) != NULL;) {
      trim_batch(class_log2, batch);
      trimmed += TRIM_BATCH;
    }
  }
  return trimmed;
}

/* From now on what is not taken out is not needed. @return true: there is something. */
static bool mark_pools(void) {
  bool any = false;
  for (int class_log2 = MT_STACK_CLASS_MIN; class_log2 <= MT_STACK_CLASS_MAX; class_log2++) {
    struct mt_pool *pool = &arena.pools[class_log2];
    mt_pool_lock(pool, false);
    pool->least = pool->count;
    any |= pool->count != 0;
    mt_pool_unlock(pool, false);
  }
  return any;
}

uint64_t mt_stacks_trim_at(void) {
  uint64_t at = mt_load_relaxed(&arena.trim_at);
  return at != 0 ? at : MLTP_NEVER;
}

bool mt_stacks_trim_is_due(uint64_t now) { return now >= mt_stacks_trim_at(); }

void mt_stacks_trim(uint64_t now, bool busy) {
  uint32_t most = busy ? TRIM_BATCH : TRIM_MOST;
  if (!mt_stacks_trim_is_due(now)) return;
  if (trim_pools(most) >= most) { /* there is more, but perhaps work, too */
    mt_store_relaxed(&arena.trim_at, os_now() + TRIM_REST_NS);
    return;
  }
  mt_store_relaxed(&arena.trim_at, 0);
  collect_from_sleepers();
  if (mark_pools()) plan_trim();
}

void mltp_trim(void) {
  if (mt_self("mltp_trim") == NULL) return;
  struct mt_vp *vp = mt_here();
  if (vp != NULL) cache_to_pool(take_cache(vp));
  collect_from_sleepers();
  mark_pools();
  trim_pools(UINT32_MAX);
}
