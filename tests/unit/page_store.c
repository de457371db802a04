/* SPDX-License-Identifier: Apache-2.0 */
/* Codes of pages, and the store that keeps them. */
#define _GNU_SOURCE /* the library's headers want it */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "core/memory/page_code.h"
#include "core/memory/page_store.h"
#include "support/support.h"

enum { PAGE_WORDS = MT_PAGE / 8, SMALL = 4 << 20 };

static const uintptr_t FIRST = (uintptr_t)0x7f0000000000;

static uint64_t state = 88172645463325252u;

static uint64_t random_word(void) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state;
}

static void check_code(const uint64_t *page, size_t size) {
  uint8_t code[MT_PAGE_CODE_MOST + 8];
  uint64_t back[PAGE_WORDS];
  memset(code, 0xa5, sizeof code);
  memset(back, 0xa5, sizeof back);
  size_t used = mt_page_encode(code, page);
  if (size != 0) assert_int_equal(used, size);
  assert_true(used <= MT_PAGE_CODE_MOST);
  for (size_t i = used; i < sizeof code; i++)
    assert_int_equal(code[i], 0xa5); /* nothing is written past its end */
  mt_page_decode(back, code);
  assert_memory_equal(page, back, MT_PAGE);
}

static void a_page_comes_back(void **unused) {
  (void)unused;
  uint64_t page[PAGE_WORDS] = {0};
  check_code(page, MT_PAGE_CODE_EMPTY);
  page[0] = 1;
  check_code(page, 8 + 1 + 1 + 1);
  page[PAGE_WORDS - 1] = UINT64_MAX;
  check_code(page, 8 + 2 + 1 + 1 + 8);
  page[9] = 0x7f0012345600;
  check_code(page, 8 + 3 + 2 + 1 + 8 + 6);
  for (size_t i = 0; i < PAGE_WORDS; i++) page[i] = UINT64_MAX - i;
  check_code(page, MT_PAGE_CODE_MOST);
  for (unsigned density = 0; density < 200; density++) {
    for (size_t i = 0; i < PAGE_WORDS; i++)
      page[i] = random_word() % 200 < density ? random_word() >> random_word() % 64 : 0;
    check_code(page, 0);
  }
}

/* ---- the store beside an array */

enum { PAGES = 20000, STEPS = 200000 };

static uint32_t seeds[PAGES]; /* 0: has no code */

static uintptr_t page_at(size_t i) { return FIRST + i * 65 * MT_PAGE; }

static size_t make_code(uint8_t code[MT_PAGE_CODE_MOST], uint32_t seed) {
  size_t size = 9 + seed % (MT_PAGE_CODE_MOST - 8);
  for (size_t i = 0; i < size; i++) code[i] = (uint8_t)(seed * 2654435761u + i * 7);
  return size;
}

static void check_page(size_t i) {
  uint8_t code[MT_PAGE_CODE_MOST];
  unsigned tag = 0;
  const uint8_t *found = mt_store_find(page_at(i), &tag);
  assert_int_equal(found != NULL, seeds[i] != 0);
  if (found == NULL) return;
  assert_memory_equal(found, code, make_code(code, seeds[i]));
  assert_int_equal(tag, i % 31);
}

static size_t visited;

static void visit(uintptr_t page, const uint8_t *code) {
  uint8_t expected[MT_PAGE_CODE_MOST];
  size_t i = (page - FIRST) / (65 * MT_PAGE);
  assert_true(i < PAGES && seeds[i] != 0);
  assert_memory_equal(code, expected, make_code(expected, seeds[i]));
  visited++;
}

static void the_store_finds_what_was_put(void **unused) {
  (void)unused;
  uint8_t code[MT_PAGE_CODE_MOST];
  size_t count = 0;
  memset(seeds, 0, sizeof seeds);
  assert_int_equal(mt_store_init((size_t)1 << 30), 0);
  for (int step = 0; step < STEPS; step++) {
    size_t i = random_word() % PAGES;
    check_page(i);
    if (seeds[i] != 0) {
      mt_store_drop(page_at(i));
      seeds[i] = 0;
      count--;
    } else {
      seeds[i] = (uint32_t)random_word() | 1;
      assert_true(mt_store_put(page_at(i), i % 31, code, make_code(code, seeds[i])));
      count++;
    }
    check_page(i);
    assert_int_equal(mt_store_count(), count);
  }
  visited = 0;
  mt_store_visit(visit);
  assert_int_equal(visited, count);
  size_t full = mt_store_bytes();
  for (size_t i = 0; i < PAGES; i++) {
    check_page(i);
    if (seeds[i] != 0) mt_store_drop(page_at(i));
  }
  assert_int_equal(mt_store_count(), 0);
  assert_true(mt_store_bytes() < full / 10); /* slabs go back: the index alone is left */
  mt_store_free();
}

static void a_full_store_refuses(void **unused) {
  (void)unused;
  uint8_t code[MT_PAGE_CODE_MOST];
  memset(seeds, 0, sizeof seeds);
  assert_int_equal(mt_store_init(SMALL), 0);
  size_t count = 0;
  while (count < PAGES) {
    seeds[count] = (uint32_t)(count * (MT_PAGE_CODE_MOST - 8) + 4000); /* one size */
    if (!mt_store_put(page_at(count), count % 31, code, make_code(code, seeds[count]))) break;
    count++;
  }
  seeds[count] = 0;
  assert_true(count > SMALL / MT_PAGE * 9 / 10 && count <= SMALL / MT_PAGE);
  for (size_t i = 0; i <= count; i++) check_page(i);
  for (size_t i = 0; i < count; i++) mt_store_drop(page_at(i)), seeds[i] = 0;
  seeds[0] = 7; /* there is room again, for another size */
  assert_true(mt_store_put(page_at(0), 0, code, make_code(code, seeds[0])));
  check_page(0);
  mt_store_free();
}

/* Without memory for its list of free slabs a store is refused, and leaves nothing behind. */
static void a_store_without_memory_is_refused(void **unused) {
  (void)unused;
  struct rlimit before, none;
  if (EMULATED || THREAD_SANITIZED) skip(); /* qemu does not limit memory, TSan needs much of it */
  assert_int_equal(getrlimit(RLIMIT_DATA, &before), 0);
  none = (struct rlimit){MT_PAGE, before.rlim_max}; /* the kernel takes 0 for no limit */
  assert_int_equal(setrlimit(RLIMIT_DATA, &none), 0);
  int error = mt_store_init((size_t)1 << 30);
  assert_int_equal(setrlimit(RLIMIT_DATA, &before), 0);
  assert_int_equal(error, ENOMEM);
  assert_int_equal(mt_store_count(), 0);
  assert_int_equal(mt_store_init(SMALL), 0);
  mt_store_free();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_page_comes_back),
      cmocka_unit_test(the_store_finds_what_was_put),
      cmocka_unit_test(a_full_store_refuses),
      cmocka_unit_test(a_store_without_memory_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
