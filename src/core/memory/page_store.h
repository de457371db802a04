/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file page_store.h
 * The codes of pages that were taken from stacks, each found by the address of its page.
 *
 * One kernel thread calls all functions but mt_store_visit(). It serves page faults, so no other
 * thread's lock may be needed: memory comes from mappings of the store's own.
 *
 * Codes lie in slabs of 64 KiB, by their size in steps of 64 bytes. A slab without a code gives its
 * memory back. The index is a table with open addressing. An entry that goes becomes a tombstone,
 * so removing one is one store. That matters for a child of fork(), which has the memory as it was
 * while the kernel copied it, and visits the entries: mt_store_put() must not run during a fork,
 * while mt_store_drop() may (pack.h).
 */
#ifndef MT_CORE_MEMORY_PAGE_STORE_H
#define MT_CORE_MEMORY_PAGE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Reserves address space for `most` bytes of codes, or less if there is less. @return 0 or ENOMEM.
 */
int mt_store_init(size_t most);

/** Gives all memory back. */
void mt_store_free(void);

/** Stores the code of a page that has none. tag: below 4096, returned by mt_store_find().
 * @return false: there is no memory. */
bool mt_store_put(uintptr_t page, unsigned tag, const uint8_t *code, size_t size);

/** @return the code of a page, and its tag; NULL: it has none. */
const uint8_t *mt_store_find(uintptr_t page, unsigned *tag);

/** Forgets a page that has a code. */
void mt_store_drop(uintptr_t page);

/** Calls visit for each page that has a code. */
void mt_store_visit(void (*visit)(uintptr_t page, const uint8_t *code));

/** @return how many pages have a code. */
size_t mt_store_count(void);

/** @return the bytes of memory that codes and index take. */
size_t mt_store_bytes(void);

#endif
