/* SPDX-License-Identifier: Apache-2.0 */
/* The arena of stacks (src/core/memory/stack.c): how much is reserved and made usable, where stacks
 * lie, what guards them, and what of unused ones is given back. There is no runtime; what the
 * kernel is asked for is noted, and guards are not made. */
#define _GNU_SOURCE /* the runtime's headers want it */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/options.h"
#include "core/memory/stack.h"
#include "core/vp/alternative.h"
#include "support/support.h"

enum { CALLS = 4096, STACKS = 300, USUAL = 18 /* the class of 256 KiB */ };

static const size_t kib = 1024, mib = (size_t)1 << 20, gib = (size_t)1 << 30;
static const uint64_t second = 1000000000, ms = 1000000;

/* ---- the kernel */

struct calls {
  int count;
  struct {
    char *address;
    size_t size;
    bool executable;
  } call[CALLS];
};

static struct calls reserved, enabled, released, light, protected, trimmed;
static int refused_reserves, refused_enables, messages;
static bool refuses_light, refuses_protection, checks_advice;
static size_t limit; /* of the address space */
static long mappings;
static uint64_t now;

static void note(struct calls *calls, void *address, size_t size, bool executable) {
  CHECK(calls->count < CALLS);
  if (calls->count == CALLS) return;
  calls->call[calls->count].address = address;
  calls->call[calls->count].size = size;
  calls->call[calls->count++].executable = executable;
}

/* times: calls that are refused yet. */
static bool is_refused(int *times) {
  if (*times == 0) return false;
  --*times;
  return true;
}

void *__real_os_reserve(size_t size);
int __real_os_enable(void *address, size_t size, bool executable);
void __real_os_release(void *address, size_t size);
void __real_os_trim(void *address, size_t size);
void *__wrap_os_reserve(size_t size);
int __wrap_os_enable(void *address, size_t size, bool executable);
void __wrap_os_release(void *address, size_t size);
int __wrap_os_guard_light(void *address, size_t size);
int __wrap_os_guard_mprotect(void *address, size_t size);
bool __wrap_os_advice_is_checked(void *address, size_t size);
void __wrap_os_trim(void *address, size_t size);
long __wrap_os_max_mappings(void);
size_t __wrap_os_address_space_limit(void);
uint64_t __wrap_os_now(void);
void __wrap_mt_message(const char *format, ...);

void *__wrap_os_reserve(size_t size) {
  bool refused = is_refused(&refused_reserves);
  void *address = refused ? NULL : __real_os_reserve(size);
  note(&reserved, address, size, false);
  return address;
}

int __wrap_os_enable(void *address, size_t size, bool executable) {
  note(&enabled, address, size, executable);
  if (is_refused(&refused_enables)) return ENOMEM;
  return __real_os_enable(address, size, executable);
}

void __wrap_os_release(void *address, size_t size) {
  note(&released, address, size, false);
  __real_os_release(address, size);
}

int __wrap_os_guard_light(void *address, size_t size) {
  note(&light, address, size, false);
  return refuses_light ? EINVAL : 0;
}

int __wrap_os_guard_mprotect(void *address, size_t size) {
  note(&protected, address, size, false);
  return refuses_protection ? ENOMEM : 0;
}

bool __wrap_os_advice_is_checked(void *address, size_t size) {
  CHECK(address == reserved.call[reserved.count - 1].address && size == os_page_size());
  return checks_advice;
}

void __wrap_os_trim(void *address, size_t size) {
  note(&trimmed, address, size, false);
  __real_os_trim(address, size);
}

long __wrap_os_max_mappings(void) { return mappings; }

size_t __wrap_os_address_space_limit(void) { return limit; }

uint64_t __wrap_os_now(void) { return now; }

void __wrap_mt_message(const char *format, ...) {
  CHECK(format != NULL);
  messages++;
}

/* ---- the stage */

static size_t page;

/* @return what mt_stacks_init() returned. */
static int begin(size_t stack_size, size_t stack_space, enum mt_guard guard) {
  mt_options.stack_size = (int64_t)stack_size;
  mt_options.stack_space = (int64_t)stack_space;
  mt_options.guard = guard;
  page = os_page_size();
  return mt_stacks_init();
}

static void stage(void) {
  static struct calls *const all[] = {&reserved, &enabled, &released, &light, &protected, &trimmed};
  for (int i = 0; i < 6; i++) all[i]->count = 0;
  refused_reserves = refused_enables = messages = 0;
  refuses_light = refuses_protection = false;
  checks_advice = true;
  limit = SIZE_MAX;
  mappings = 65530;
  now = 10 * second;
}

/* All that was reserved is given back. */
static void end(void) {
  int parts = 0;
  mt_stacks_free();
  for (int i = 0; i < reserved.count; i++) {
    if (reserved.call[i].address == NULL) continue;
    CHECK(released.call[parts].address == reserved.call[i].address);
    CHECK_EQUAL(released.call[parts++].size, reserved.call[i].size);
  }
  CHECK_EQUAL(released.count, parts);
  stage();
}

/* Most tests need no more. */
static void begin_small(enum mt_guard guard) {
  stage();
  CHECK_EQUAL(begin(256 * kib, 64 * mib, guard), 0);
}

static size_t stride(size_t size) { return size < 64 * kib ? size : size + page; }

/* ---- reservations */

static void as_much_is_reserved_as_may_be_needed(void) {
  const struct {
    size_t stack_size, stack_space, limit, expected;
    int refused;
    size_t first, total; /* bytes of stacks; 0: refused */
  } rows[] = {
      {256 * kib, 0, SIZE_MAX, 0, 0, 16 * gib, 1024 * gib},
      {256 * kib, 0, SIZE_MAX, 65535, 0, 16 * gib, 1024 * gib}, /* and an idle context */
      {256 * kib, 0, SIZE_MAX, 65536, 0, 32 * gib, 1024 * gib},
      {256 * kib, 0, SIZE_MAX, 140000, 0, 64 * gib, 1024 * gib},
      {256 * kib, gib, SIZE_MAX, 0, 0, gib, gib},
      {256 * kib, gib, SIZE_MAX, 140000, 0, gib, gib},
      {256 * kib, 3 * gib, SIZE_MAX, 0, 0, 2 * gib, 2 * gib},
      {256 * kib, 0, 8 * gib, 0, 0, 4 * gib, 4 * gib}, /* half of it is the program's */
      {256 * kib, 0, mib, 0, 0, 64 * mib, 64 * mib},
      {256 * kib, 64 * mib, SIZE_MAX, 0, 0, 64 * mib, 64 * mib},
      {256 * kib, gib, SIZE_MAX, 0, 2, 256 * mib, 256 * mib},
      {256 * kib, gib, SIZE_MAX, 0, 4, 64 * mib, 64 * mib},
      {256 * kib, gib, SIZE_MAX, 0, 5, 0, 0},
      {16 * kib, gib, SIZE_MAX, 0, 0, gib, gib},
      {64 * kib, gib, SIZE_MAX, 0, 0, gib, gib},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    size_t size = rows[i].stack_size;
    stage();
    check_case("row %zu", i);
    if ((EMULATED || SANITIZED) &&
        (rows[i].limit == 8 * gib || rows[i].stack_space > gib || rows[i].stack_space == 0))
      continue;
    limit = rows[i].limit;
    refused_reserves = rows[i].refused;
    if (rows[i].expected != 0) mt_stacks_expect(rows[i].expected);
    CHECK_EQUAL(begin(size, rows[i].stack_space, MT_GUARD_AUTO), rows[i].total == 0 ? ENOMEM : 0);
    CHECK_EQUAL(reserved.count, rows[i].total == 0 ? 5 : rows[i].refused + 1);
    if (rows[i].total != 0) {
      CHECK_EQUAL(reserved.call[reserved.count - 1].size, rows[i].first / size * stride(size));
      CHECK_EQUAL(mt_stacks_left(), rows[i].total / size);
      CHECK_EQUAL(mt_stack_stride(mt_rt.stack_class), stride(size));
    }
    CHECK_EQUAL(enabled.count, 0);
    end();
  }
}

/* Each part is as large as all before, until there is no room for one. */
static void more_is_reserved_when_all_is_used(void) {
  if (EMULATED || SANITIZED) skip();
  stage();
  CHECK_EQUAL(begin(gib, 0, MT_GUARD_AUTO), 0);
  CHECK_EQUAL(reserved.count, 1);
  size_t all = mt_stacks_left();
  CHECK_EQUAL(all, 1024);
  for (size_t i = 0; i < 48; i++) {
    static const int parts[] = {1, 2, 3, 3};
    uintptr_t base = 0;
    size_t size = 0;
    const struct mt_stack *stack = mt_stack_new(NULL, 30);
    check_case("stack %zu", i);
    CHECK_EQUAL(reserved.count, parts[i / 16]);
    CHECK_EQUAL(mt_stacks_left(), all - i - 1);
    int part = reserved.count - 1;
    CHECK_EQUAL(mt_stacks_part((uintptr_t)stack, &base, &size), part);
    CHECK(base == (uintptr_t)reserved.call[part].address && size == reserved.call[part].size);
    CHECK_EQUAL(mt_stacks_part((uintptr_t)stack->low, &base, &size), part);
  }
  CHECK_EQUAL(reserved.call[1].size, 16 * (gib + page));
  CHECK_EQUAL(reserved.call[2].size, 32 * (gib + page));
  end();
}

static void addresses_are_in_parts(void) {
  uintptr_t base = 0;
  size_t size = 0;
  begin_small(MT_GUARD_AUTO);
  uintptr_t first = (uintptr_t)reserved.call[0].address, behind = first + reserved.call[0].size;
  CHECK_EQUAL(mt_stacks_part(first, &base, &size), 0);
  CHECK(base == first && size == reserved.call[0].size);
  CHECK_EQUAL(mt_stacks_part(behind - 1, &base, &size), 0);
  CHECK_EQUAL(mt_stacks_part(behind, &base, &size), -1);
  CHECK_EQUAL(mt_stacks_part(first - 1, &base, &size), -1);
  end();
  CHECK_EQUAL(mt_stacks_part(first, &base, &size), -1);
}

/* ---- slots */

static struct mt_stack *stacks[STACKS];

static void stacks_lie_in_a_row(void) {
  begin_small(MT_GUARD_AUTO);
  size_t size = 256 * kib, usable = 0;
  char *base = reserved.call[0].address;
  for (size_t i = 0; i < 256; i++) {
    stacks[i] = mt_stack_new(NULL, USUAL);
    check_case("stack %zu", i);
    CHECK(stacks[i] != NULL);
    if (stacks[i] == NULL) break;
    CHECK(stacks[i]->low == base + i * stride(size));
    CHECK((char *)stacks[i] == stacks[i]->low + size - MT_CACHE_LINE);
    CHECK_EQUAL(stacks[i]->colour, i % MT_STACK_COLOURS);
    CHECK_EQUAL(stacks[i]->class_log2, USUAL);
    CHECK_EQUAL(stacks[i]->check, MT_STACK_GUARDED);
    CHECK(mt_stack_top(stacks[i]) == (char *)stacks[i] - i % 32 * MT_CACHE_LINE);
    CHECK(mt_stack_usable(stacks[i], &usable) == stacks[i]->low + page);
    CHECK_EQUAL(usable, size - page);
    CHECK_EQUAL(mt_stacks_left(), 255 - i);
  }
  CHECK(mt_stack_new(NULL, USUAL) == NULL);
  CHECK(mt_stack_new(NULL, 14) == NULL);
  CHECK_EQUAL(reserved.count, 1);
  CHECK_EQUAL(enabled.count, 2); /* 64 MiB, and the pages between the slots */
  CHECK(enabled.call[0].address == base && enabled.call[0].size == 64 * mib);
  CHECK(enabled.call[1].address == base + 64 * mib && enabled.call[1].size == 256 * page);
  CHECK(!enabled.call[0].executable);
  CHECK_EQUAL(light.count, 256);
  for (int i = 0; i < 256; i++)
    CHECK(light.call[i].address == stacks[i]->low && light.call[i].size == page);
  CHECK_EQUAL(protected.count, 0);
  CHECK_EQUAL(messages, 0);
  end();
}

/* A slot of another size begins where the last one ends, and the next one behind it. */
static void sizes_may_differ(void) {
  begin_small(MT_GUARD_AUTO);
  char *low = reserved.call[0].address;
  static const int classes[] = {USUAL, 14, 15, 16, 20, USUAL};
  for (int i = 0; i < 6; i++) {
    const struct mt_stack *stack = mt_stack_new(NULL, classes[i]);
    CHECK(stack != NULL && stack->low == low && stack->class_log2 == classes[i]);
    low += stride((size_t)1 << classes[i]);
  }
  end();
  begin_small(MT_GUARD_AUTO);
  refused_enables = 1; /* a limit of memory, for now */
  CHECK(mt_stack_new(NULL, USUAL) == NULL);
  const struct mt_stack *stack = mt_stack_new(NULL, USUAL);
  CHECK(stack != NULL && stack->low == reserved.call[0].address);
  end();
}

/* At least sixteen stacks become usable at a time. */
static void large_stacks_become_usable_together(void) {
  if (EMULATED || SANITIZED) skip();
  stage();
  CHECK_EQUAL(begin(16 * mib, gib, MT_GUARD_AUTO), 0);
  for (int i = 0; i < 64; i++) CHECK(mt_stack_new(NULL, 24) != NULL);
  CHECK(mt_stack_new(NULL, 24) == NULL);
  CHECK_EQUAL(enabled.count, 5);
  for (int i = 0; i < 4; i++) CHECK_EQUAL(enabled.call[i].size, 256 * mib);
  CHECK_EQUAL(enabled.call[4].size, 64 * page);
  end();
}

/* ---- guards */

static void guards_are_the_best_there_are(void) {
  enum { MADE = 6 };
  static const struct {
    enum mt_guard guard;
    bool refuses_light, refuses_protection, checks;
    long mappings;
    int light, protected, canaries;
  } rows[] = {
      {MT_GUARD_AUTO, false, false, true, 100, MADE, 0, 0},
      {MT_GUARD_AUTO, true, false, true, 100, 1, MADE, 0},   /* it does not try again */
      {MT_GUARD_AUTO, false, false, false, 100, 0, MADE, 0}, /* an emulator that ignores it */
      {MT_GUARD_AUTO, true, false, true, 10, 1, 2, MADE - 2},
      {MT_GUARD_AUTO, true, false, true, 12, 1, 2, MADE - 2},
      {MT_GUARD_AUTO, true, false, true, 14, 1, 3, MADE - 3},
      {MT_GUARD_AUTO, true, true, true, 100, 1, 1, MADE},
      {MT_GUARD_MADVISE, false, false, true, 100, MADE, 0, 0},
      {MT_GUARD_MADVISE, true, false, true, 100, 1, MADE, 0},
      {MT_GUARD_MPROTECT, false, false, true, 100, 0, MADE, 0},
      {MT_GUARD_CANARY, false, false, true, 100, 0, 0, MADE},
  };
  int said = 0;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    int canaries = 0;
    stage();
    check_case("row %zu", i);
    checks_advice = rows[i].checks;
    mappings = rows[i].mappings;
    CHECK_EQUAL(begin(256 * kib, 64 * mib, rows[i].guard), 0);
    refuses_light = rows[i].refuses_light;
    refuses_protection = rows[i].refuses_protection;
    for (int n = 0; n < MADE; n++) {
      const struct mt_stack *stack = mt_stack_new(NULL, USUAL);
      bool canary = stack->check == MT_STACK_CANARY;
      canaries += canary;
      CHECK_EQUAL(canary, n >= MADE - rows[i].canaries);
      CHECK_EQUAL(*(const uint64_t *)stack->low != 0, canary);
      mt_stack_check(stack);
    }
    CHECK_EQUAL(canaries, rows[i].canaries);
    CHECK_EQUAL(light.count, rows[i].light);
    CHECK_EQUAL(protected.count, rows[i].protected);
    for (int n = 0; n < protected.count; n++) CHECK_EQUAL(protected.call[n].size, page);
    said += messages;
    CHECK_EQUAL(said, (i >= 3) + (i >= 8)); /* once of canaries, and once of madvise() */
    end();
  }
}

/* Large guards take a share of the mappings, and are light beyond it. */
static void large_guards_have_a_share(void) {
  if (EMULATED || SANITIZED) skip();
  for (long share = 2; share < 8; share++) {
    stage();
    check_case("%ld", share);
    mappings = share * MT_STACK_LARGE_SHARE;
    CHECK_EQUAL(begin(16 * mib, gib, MT_GUARD_AUTO), 0);
    size_t usable = 0;
    for (int i = 0; i < 6; i++) {
      const struct mt_stack *stack = mt_stack_new(NULL, 24);
      CHECK(mt_stack_usable(stack, &usable) == stack->low + mib);
      CHECK_EQUAL(usable, 15 * mib);
    }
    CHECK_EQUAL(protected.count, share / 2);
    CHECK_EQUAL(light.count, 6 - share / 2);
    for (int i = 0; i < protected.count; i++) CHECK_EQUAL(protected.call[i].size, mib);
    for (int i = 0; i < light.count; i++) CHECK_EQUAL(light.call[i].size, mib);
    for (size_t n = 0; n < 6; n++) /* two for each, at least */
      CHECK_EQUAL(mt_stack_mappings(n), 2 * n < (size_t)share ? 2 * n : (size_t)share);
    end();
  }
}

/* Memory of stacks that are known to come is prepared, all but their guards. */
static void expected_stacks_are_prepared(void) {
  if (EMULATED || SANITIZED) skip();
  for (size_t expected = 1; expected < 6; expected++) {
    stage();
    check_case("%zu", expected);
    mt_stacks_expect(expected);
    CHECK_EQUAL(begin(16 * mib, gib, MT_GUARD_AUTO), 0);
    char *base = reserved.call[0].address;
    for (size_t i = 0; i <= expected; i++) /* the idle context has one, too */
      CHECK(mt_stack_new(NULL, 24)->low == base + i * stride(16 * mib));
    CHECK_EQUAL(enabled.count, expected + 1);
    for (size_t i = 0; i <= expected; i++) {
      CHECK(enabled.call[i].address == base + i * stride(16 * mib) + mib);
      CHECK_EQUAL(enabled.call[i].size, 15 * mib);
    }
    CHECK_EQUAL(protected.count + light.count, 0);
    CHECK(mt_stack_new(NULL, 24) != NULL); /* one more is made as usual */
    CHECK_EQUAL(enabled.count, expected + 2);
    CHECK_EQUAL(protected.count, 1);
    end();
  }
}

/* ---- unused stacks */

static struct mt_vp vp; /* which nobody runs */

static void stage_vp(uint32_t room, enum mt_vp_status status) {
  memset(&vp, 0, sizeof vp);
  vp.caches.stacks.room = room;
  vp.sleep.status = status;
  mt_rt.vps[0] = &vp;
  mt_rt.vp_count = 1;
}

static void make(int count) {
  for (int i = 0; i < count; i++) {
    stacks[i] = mt_stack_new(NULL, USUAL);
    CHECK(stacks[i] != NULL);
  }
}

static void free_some(int count) {
  for (int i = 0; i < count; i++) mt_stack_free(NULL, stacks[i]);
}

static void stacks_are_used_again_last_in_first_out(void) {
  begin_small(MT_GUARD_AUTO);
  stage_vp(2, MT_VP_AWAKE);
  make(4);
  CHECK_EQUAL(mt_stacks_trim_at(), MLTP_NEVER);
  CHECK(!mt_stack_is_left(&vp, USUAL));
  mt_stacks_owner_sleeps(&vp);
  mt_stack_free(&vp, stacks[0]);
  mt_stack_free(&vp, stacks[1]);
  CHECK(vp.caches.stacks.head == stacks[1] && vp.caches.stacks.room == 0);
  CHECK(mt_stack_is_left(&vp, USUAL) && !mt_stack_is_left(&vp, 14));
  CHECK_EQUAL(mt_stacks_trim_at(), MLTP_NEVER); /* they are the VP's */
  mt_stacks_owner_sleeps(&vp);
  CHECK_EQUAL(mt_stacks_trim_at(), now + second);
  CHECK(mt_stack_new(&vp, USUAL) == stacks[1] && mt_stack_new(&vp, USUAL) == stacks[0]);
  uint64_t at = now + second;
  now += 5;
  for (int i = 0; i < 3; i++) mt_stack_free(NULL, stacks[i]);
  CHECK_EQUAL(mt_stacks_trim_at(), at);
  CHECK(mt_stack_is_left(&vp, USUAL));
  size_t left = mt_stacks_left();
  CHECK(mt_stack_new(NULL, USUAL) == stacks[2]);
  CHECK(mt_stack_new(NULL, 15)->class_log2 == 15); /* of another size */
  CHECK(mt_stack_new(&vp, USUAL) == stacks[1]);    /* and one more for the VP to keep */
  CHECK(vp.caches.stacks.head == stacks[0] && vp.caches.stacks.room == 1);
  CHECK_EQUAL(mt_stacks_left(), left - 1);
  end();
}

/* A VP that has no room for one more gives a batch to the others. */
static void a_full_cache_spills(void) {
  begin_small(MT_GUARD_AUTO);
  stage_vp(MT_CACHE_MOVE, MT_VP_AWAKE);
  make(MT_CACHE_MOVE + 1);
  for (int i = 0; i < MT_CACHE_MOVE; i++) mt_stack_free(&vp, stacks[i]);
  CHECK_EQUAL(mt_stacks_trim_at(), MLTP_NEVER);
  CHECK(mt_stack_reuse(NULL, USUAL) == NULL);
  mt_stack_free(&vp, stacks[MT_CACHE_MOVE]);
  CHECK_EQUAL(mt_stacks_trim_at(), now + second);
  CHECK(vp.caches.stacks.head == stacks[MT_CACHE_MOVE]);
  CHECK_EQUAL(vp.caches.stacks.room, MT_CACHE_MOVE - 1);
  for (int i = 0; i < MT_CACHE_MOVE; i++) CHECK(mt_stack_reuse(NULL, USUAL) == stacks[i]);
  CHECK(mt_stack_reuse(NULL, USUAL) == NULL);
  vp.sleep.status = MT_VP_ASLEEP; /* now others take its stacks */
  CHECK(mt_stack_reuse(NULL, USUAL) == stacks[MT_CACHE_MOVE]);
  CHECK(vp.caches.stacks.head == NULL && vp.caches.stacks.room == mt_cache_limits.stacks);
  end();
}

/* All but their guards; of one of 64 the topmost page stays. */
static void check_trimmed(int from, int count, size_t guard) {
  int leaders = 0;
  for (int i = from; i < trimmed.count; i++) {
    size_t rest = 256 * kib - guard, size = trimmed.call[i].size;
    CHECK(size == rest || size == rest - page);
    CHECK_EQUAL((size_t)(trimmed.call[i].address - reserved.call[0].address) % stride(256 * kib),
                guard);
    leaders += size != rest;
  }
  CHECK_EQUAL(trimmed.count, count);
  CHECK_EQUAL(leaders, (count - from + 63) / 64);
}

/* Each of them comes back, as it was. */
static void check_come_back(int count, enum mt_stack_check check) {
  static bool seen[STACKS];
  memset(seen, 0, sizeof seen);
  for (int i = 0; i < count; i++) {
    const struct mt_stack *stack = mt_stack_reuse(NULL, USUAL);
    CHECK(stack != NULL);
    if (stack == NULL) return;
    size_t slot = (size_t)(stack->low - reserved.call[0].address) / stride(256 * kib);
    CHECK(slot < STACKS && !seen[slot]);
    seen[slot] = true;
    CHECK(stack == stacks[slot]);
    CHECK(stack->class_log2 == USUAL && stack->colour == slot % 32 && stack->check == check);
    mt_stack_check(stack); /* a canary is there again */
  }
  CHECK(mt_stack_reuse(NULL, USUAL) == NULL);
  CHECK(!mt_stack_is_left(&vp, USUAL));
}

static void unused_stacks_are_given_back(void) {
  enum { MADE = 130 };
  for (int canary = 0; canary < 2; canary++)
    for (int busy = 0; busy < 2; busy++) {
      size_t guard = canary ? 0 : os_page_size();
      begin_small(canary ? MT_GUARD_CANARY : MT_GUARD_AUTO);
      stage_vp(0, MT_VP_AWAKE);
      check_case("canary %d, busy %d", canary, busy);
      make(MADE);
      free_some(MADE);
      uint64_t at = now + second;
      CHECK(!mt_stacks_trim_is_due(at - 1) && mt_stacks_trim_is_due(at));
      mt_stacks_trim(at - 1, busy);
      CHECK_EQUAL(mt_stacks_trim_at(), at);
      now = at;
      mt_stacks_trim(now, busy); /* what is not taken from now on is not needed */
      CHECK_EQUAL(trimmed.count, 0);
      CHECK_EQUAL(mt_stacks_trim_at(), at + second);
      now += second;
      if (busy) {
        for (int round = 0; round < 3; round++) {
          mt_stacks_trim(now, true);
          check_trimmed(64 * round, round < 2 ? 64 * (round + 1) : MADE, guard);
          CHECK_EQUAL(mt_stacks_trim_at(), now + ms);
          now += ms;
        }
      }
      mt_stacks_trim(now, busy);
      check_trimmed(busy ? MADE : 0, MADE, guard);
      CHECK_EQUAL(mt_stacks_trim_at(), MLTP_NEVER);
      CHECK(mt_stack_is_left(&vp, USUAL));
      check_come_back(MADE, canary ? MT_STACK_CANARY : MT_STACK_GUARDED);
      end();
    }
}

static void stacks_that_were_needed_are_kept(void) {
  begin_small(MT_GUARD_AUTO);
  stage_vp(4, MT_VP_ASLEEP);
  make(10);
  free_some(8);
  mt_stack_free(&vp, stacks[8]);
  mt_stack_free(&vp, stacks[9]);
  now += second;
  mt_stacks_trim(now, false); /* sleepers' are marked, too */
  CHECK(vp.caches.stacks.head == NULL);
  for (int i = 0; i < 3; i++) stacks[i] = mt_stack_reuse(NULL, USUAL);
  free_some(3);
  now += second;
  mt_stacks_trim(now, false);
  check_trimmed(0, 7, page);
  CHECK_EQUAL(mt_stacks_trim_at(), now + second); /* the others may be unused next time */
  now += second;
  mt_stacks_trim(now, false);
  check_trimmed(7, 10, page);
  CHECK_EQUAL(mt_stacks_trim_at(), MLTP_NEVER);
  end();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST_BARE(as_much_is_reserved_as_may_be_needed),
      TEST_BARE(more_is_reserved_when_all_is_used),
      TEST_BARE(addresses_are_in_parts),
      TEST_BARE(stacks_lie_in_a_row),
      TEST_BARE(sizes_may_differ),
      TEST_BARE(large_stacks_become_usable_together),
      TEST_BARE(guards_are_the_best_there_are),
      TEST_BARE(large_guards_have_a_share),
      TEST_BARE(expected_stacks_are_prepared),
      TEST_BARE(stacks_are_used_again_last_in_first_out),
      TEST_BARE(a_full_cache_spills),
      TEST_BARE(unused_stacks_are_given_back),
      TEST_BARE(stacks_that_were_needed_are_kept),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
