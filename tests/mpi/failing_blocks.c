/* SPDX-License-Identifier: Apache-2.0 */
/* Preloaded into tmpirun: makes one allocation of the MPI library fail, and counts the blocks that
 * the library keeps (failing_blocks.h). Allocations of others are handed on. */
#include "failing_blocks.h"

#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 1024 };

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *block, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
extern void __libc_free(void *block);

static int lock; /* of what follows */
static bool watches;
static uintptr_t code, code_end; /* of the library */
static int calls, failing;       /* the number of the last allocation, and of the one that fails */
static const void *kept[MOST];   /* blocks; NULL: free for another one */

static void enter(void) {
  while (__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE) != 0) continue;
}

static void leave(void) { __atomic_store_n(&lock, 0, __ATOMIC_RELEASE); }

static bool is_of_library(const void *caller) { return (uintptr_t)caller - code < code_end - code; }

/* @return whether there was the old one. */
static bool replace(const void *old, const void *new) {
  for (int i = 0; i < MOST; i++)
    if (kept[i] == old) {
      kept[i] = new;
      return true;
    }
  return false;
}

/* @return whether this allocation fails. */
static bool fails(const void *caller) {
  if (!__atomic_load_n(&watches, __ATOMIC_RELAXED) || !is_of_library(caller)) return false;
  return __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED) == failing;
}

static void *noted(void *block, const void *caller) {
  if (!__atomic_load_n(&watches, __ATOMIC_RELAXED) || !is_of_library(caller)) return block;
  enter();
  if (block != NULL) replace(NULL, block);
  leave();
  return block;
}

/* @return whether the block was noted. */
static bool forget(const void *block) {
  if (!__atomic_load_n(&watches, __ATOMIC_RELAXED) || block == NULL) return false;
  enter();
  bool is_noted = replace(block, NULL);
  leave();
  return is_noted;
}

#define HERE __builtin_return_address(0)

void *malloc(size_t size) { return fails(HERE) ? NULL : noted(__libc_malloc(size), HERE); }

void *calloc(size_t count, size_t size) {
  return fails(HERE) ? NULL : noted(__libc_calloc(count, size), HERE);
}

void *aligned_alloc(size_t alignment, size_t size) {
  return fails(HERE) ? NULL : noted(__libc_memalign(alignment, size), HERE);
}

/* libc's own would allocate a block of libc, not of the library. */
static char *copied(const char *text, size_t length, const void *caller) {
  char *copy = fails(caller) ? NULL : noted(__libc_malloc(length + 1), caller);
  if (copy == NULL) return NULL;
  memcpy(copy, text, length);
  copy[length] = '\0';
  return copy;
}

char *strdup(const char *text) { return copied(text, strlen(text), HERE); }

char *strndup(const char *text, size_t most) { return copied(text, strnlen(text, most), HERE); }

/* One that was there before stays the same block, however large. */
void *realloc(void *block, size_t size) {
  if (fails(HERE)) return NULL;
  bool is_new = forget(block) || block == NULL;
  void *larger = __libc_realloc(block, size);
  return is_new ? noted(larger, HERE) : larger;
}

void free(void *block) {
  forget(block);
  __libc_free(block);
}

/* Finds the segment that has a function of the library. */
static int find_code(struct dl_phdr_info *object, size_t size, void *function) {
  (void)size;
  for (int i = 0; i < object->dlpi_phnum; i++) {
    const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
    uintptr_t first = object->dlpi_addr + segment->p_vaddr;
    if (segment->p_type != PT_LOAD || (uintptr_t)function - first >= segment->p_memsz) continue;
    code = first;
    code_end = first + segment->p_memsz;
  }
  return 0;
}

void blocks_watch(void *function, int fails_at) {
  dl_iterate_phdr(find_code, function);
  for (int i = 0; i < MOST; i++) kept[i] = NULL;
  calls = 0;
  failing = fails_at;
  __atomic_store_n(&watches, true, __ATOMIC_RELEASE);
}

bool blocks_end(int *left) {
  __atomic_store_n(&watches, false, __ATOMIC_RELEASE);
  *left = 0;
  for (int i = 0; i < MOST; i++) *left += kept[i] != NULL;
  return failing > 0 && calls >= failing;
}
