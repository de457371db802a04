/* SPDX-License-Identifier: Apache-2.0 */
/* Codes of pages; page_code.h explains them. */
#include "core/memory/page_code.h"

#include <string.h>

enum { LINES = 64, WORDS = 8 };

static uint8_t mask_of(const uint64_t line[WORDS]) {
  unsigned mask = 0;
  for (unsigned i = 0; i < WORDS; i++) mask |= (unsigned)(line[i] != 0) << i;
  return (uint8_t)mask;
}

/* @return the first word after the masks. */
static size_t words_at(uint64_t lines) {
  return 1 + ((size_t)__builtin_popcountll(lines) + 7) / 8;
}

size_t mt_page_encode(uint64_t code[MT_PAGE_CODE_MOST / 8], const void *page) {
  const uint64_t(*line)[WORDS] = page;
  uint8_t masks[LINES];
  uint64_t lines = 0;
  size_t count = 0;
  for (unsigned i = 0; i < LINES; i++) {
    uint8_t mask = mask_of(line[i]);
    if (mask == 0) continue;
    lines |= (uint64_t)1 << i;
    masks[count++] = mask;
  }
  size_t at = words_at(lines);
  code[at - 1] = 0; /* what fills up the masks */
  code[0] = lines;
  memcpy(&code[1], masks, count);
  for (uint64_t left = lines; left != 0; left &= left - 1) {
    const uint64_t *words = line[__builtin_ctzll(left)];
    for (unsigned i = 0; i < WORDS; i++)
      if (words[i] != 0) code[at++] = words[i];
  }
  return at * sizeof code[0];
}

void mt_page_decode(void *page, const uint64_t *code) {
  uint64_t(*line)[WORDS] = page;
  const uint8_t *masks = (const uint8_t *)&code[1];
  size_t at = words_at(code[0]);
  memset(page, 0, MT_PAGE);
  for (uint64_t left = code[0]; left != 0; left &= left - 1, masks++) {
    uint64_t *words = line[__builtin_ctzll(left)];
    for (unsigned mask = *masks; mask != 0; mask &= mask - 1)
      words[__builtin_ctz(mask)] = code[at++];
  }
}
