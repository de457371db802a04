/* SPDX-License-Identifier: Apache-2.0 */
/* Codes of pages; page_code.h explains them. */
#include "core/memory/page_code.h"

#include <string.h>

enum { LINES = 64, WORDS = 8 };

/* @return the bytes of a word that is not zero, up to the highest one that is not. */
static unsigned length_of(uint64_t word) { return (71 - (unsigned)__builtin_clzll(word)) / 8; }

/* Notes the words that are not zero, and in which lines and places they are. @return their number.
 */
static size_t collect(uint64_t words[LINES * WORDS], uint64_t *lines, uint8_t masks[LINES],
                      const void *page) {
  const uint64_t *word = page;
  size_t number = 0, line_number = 0;
  *lines = 0;
  for (unsigned line = 0; line < LINES; line++) {
    unsigned mask = 0;
    for (unsigned i = 0; i < WORDS; i++, word++) {
      words[number] = *word; /* stays if it is not zero */
      mask |= (unsigned)(*word != 0) << i;
      number += *word != 0;
    }
    *lines |= (uint64_t)(mask != 0) << line;
    masks[line_number] = (uint8_t)mask;
    line_number += mask != 0;
  }
  return number;
}

size_t mt_page_encode(uint8_t code[MT_PAGE_CODE_MOST], const void *page) {
  uint64_t words[LINES * WORDS + 1], lines;
  uint8_t masks[LINES + 1];
  size_t number = collect(words, &lines, masks, page);
  size_t masks_size = (size_t)__builtin_popcountll(lines);
  memcpy(code, &lines, sizeof lines);
  memcpy(code + sizeof lines, masks, masks_size);
  uint8_t *lengths = code + sizeof lines + masks_size, *bytes = lengths + (number + 1) / 2;
  memset(lengths, 0, (number + 1) / 2);
  for (size_t i = 0; i < number; i++) {
    unsigned length = length_of(words[i]);
    lengths[i / 2] |= (uint8_t)((length - 1) << i % 2 * 4);
    memcpy(bytes, &words[i], length);
    bytes += length;
  }
  return (size_t)(bytes - code);
}

void mt_page_decode(void *page, const uint8_t *code) {
  uint64_t *word = page, lines;
  memcpy(&lines, code, sizeof lines);
  const uint8_t *masks = code + sizeof lines, *lengths = masks + __builtin_popcountll(lines);
  size_t number = 0, i = 0;
  for (const uint8_t *mask = masks; mask < lengths; mask++)
    number += (size_t)__builtin_popcount(*mask);
  const uint8_t *bytes = lengths + (number + 1) / 2;
  memset(page, 0, MT_PAGE);
  for (uint64_t left = lines; left != 0; left &= left - 1, masks++) {
    uint64_t *line = word + (size_t)__builtin_ctzll(left) * WORDS;
    for (unsigned mask = *masks; mask != 0; mask &= mask - 1, i++) {
      size_t length = 1 + (lengths[i / 2] >> i % 2 * 4 & 7u);
      memcpy(&line[__builtin_ctz(mask)], bytes, length); /* the lowest byte is the first */
      bytes += length;
    }
  }
}
