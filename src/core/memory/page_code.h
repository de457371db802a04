/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file page_code.h
 * A page without its words that are zero, and without the upper bytes of words that are. Stacks
 * hold addresses, small numbers, and much that was never written, so a simple code is short, and
 * quick.
 *
 * The code of a page of 64 lines of 8 words has four parts: 8 bytes with a bit for each line that
 * is not all zero; a byte for each of these lines, with a bit for each word that is not zero; for
 * each of these words half a byte with its length in bytes, less one; the bytes of these words. The
 * processor stores the lowest byte of a word first.
 */
#ifndef MT_CORE_MEMORY_PAGE_CODE_H
#define MT_CORE_MEMORY_PAGE_CODE_H

#include <stddef.h>
#include <stdint.h>

enum {
  MT_PAGE = 4096,                         /**< the only size of a page that has a code */
  MT_PAGE_CODE_EMPTY = 8,                 /**< bytes of the code of a page of zeroes */
  MT_PAGE_CODE_MOST = 8 + 64 + 256 + 4096 /**< bytes of the longest code */
};

/** Writes the code of a page. @return its bytes. */
size_t mt_page_encode(uint8_t code[MT_PAGE_CODE_MOST], const void *page);

/** Writes the page whose code it is. */
void mt_page_decode(void *page, const uint8_t *code);

#endif
