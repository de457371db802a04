/* SPDX-License-Identifier: Apache-2.0 */
/* Codes of pages and their index; page_store.h explains them. */
#include "core/memory/page_store.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "core/memory/page_code.h"
#include "os/os.h"

enum {
  SLAB = 64 << 10,
  UNIT = 64,       /* sizes of codes are multiples of it in a slab */
  STEP = 64,       /* slabs that become usable at a time */
  HEADER = 64,     /* bytes of a slab before its first code */
  TABLE_MIN = 4096 /* entries */
};

enum { CLASSES = (MT_PAGE_CODE_MOST + UNIT - 1) / UNIT + 1 };

/* The beginning of its 64 KiB. */
struct slab {
  struct slab *next, *prev; /* with room, of the same size */
  void *freed;              /* places for codes that were in use, linked by their first word */
  uint32_t units;           /* size of a place, in UNITs */
  uint32_t live;            /* codes in it */
  uint32_t fresh;           /* places that were in use at some time */
};

static_assert(sizeof(struct slab) <= HEADER, "a header fits");

enum { NO_PAGE = 0, TOMBSTONE = 1 }; /* instead of an address */

struct entry {
  uintptr_t page; /* its address and, below 4096, its tag */
  uint8_t *code;
};

static struct {
  char *reserved;
  size_t reserved_size;
  char *slabs; /* aligned to SLAB */
  size_t most, usable, used;
  uint32_t *spare; /* numbers of slabs without memory */
  size_t spare_count;
  struct slab *with_room[CLASSES];
  struct entry *table;
  size_t capacity; /* of the table: a power of two */
  size_t filled;   /* entries that are not NO_PAGE */
  size_t count;    /* pages */
  size_t live_slabs;
} store;

/* ---- slabs */

int mt_store_init(size_t most) {
  for (; most >= (size_t)STEP * SLAB; most /= 2) {
    size_t count = most / SLAB, spare = (count * sizeof store.spare[0] + SLAB - 1) / SLAB * SLAB;
    size_t size = (count + 1) * SLAB + spare;
    char *reserved = os_reserve(size);
    if (reserved == NULL) continue;
    store.reserved = reserved;
    store.reserved_size = size;
    store.slabs = (char *)(((uintptr_t)reserved + SLAB - 1) / SLAB * SLAB);
    store.spare = (uint32_t *)(store.slabs + count * SLAB);
    store.most = count;
    if (os_commit(store.spare, spare) == 0) return 0;
    mt_store_free();
  }
  return ENOMEM;
}

void mt_store_free(void) {
  if (store.reserved != NULL) os_release(store.reserved, store.reserved_size);
  if (store.table != NULL) os_release(store.table, store.capacity * sizeof store.table[0]);
  memset(&store, 0, sizeof store);
}

static size_t places_of(const struct slab *slab) {
  return (SLAB - HEADER) / (slab->units * (size_t)UNIT);
}

static void link_slab(struct slab *slab) {
  slab->prev = NULL;
  slab->next = store.with_room[slab->units];
  if (slab->next != NULL) slab->next->prev = slab;
  store.with_room[slab->units] = slab;
}

static void unlink_slab(struct slab *slab) {
  if (slab->next != NULL) slab->next->prev = slab->prev;
  if (slab->prev != NULL)
    slab->prev->next = slab->next;
  else
    store.with_room[slab->units] = slab->next;
}

/* @return address space of a slab; NULL: there is none. */
static struct slab *slab_space(void) {
  if (store.spare_count != 0)
    return (struct slab *)(store.slabs + (size_t)store.spare[--store.spare_count] * SLAB);
  if (store.used == store.usable) {
    size_t step = store.most - store.usable < STEP ? store.most - store.usable : STEP;
    if (step == 0 || os_commit(store.slabs + store.usable * SLAB, step * SLAB) != 0) return NULL;
    store.usable += step;
  }
  return (struct slab *)(store.slabs + store.used++ * SLAB);
}

static struct slab *new_slab(uint32_t units) {
  struct slab *slab = slab_space();
  if (slab == NULL) return NULL;
  *slab = (struct slab){.units = units};
  store.live_slabs++;
  link_slab(slab);
  return slab;
}

static void *take_place(size_t size) {
  uint32_t units = (uint32_t)((size + UNIT - 1) / UNIT);
  struct slab *slab = store.with_room[units];
  if (slab == NULL) slab = new_slab(units);
  if (slab == NULL) return NULL;
  void *place = slab->freed;
  if (place != NULL)
    slab->freed = *(void **)place;
  else
    place = (char *)slab + HEADER + (size_t)slab->fresh++ * units * UNIT;
  if (++slab->live == places_of(slab)) unlink_slab(slab);
  return place;
}

static void free_place(void *place) {
  struct slab *slab = (struct slab *)((uintptr_t)place & ~(uintptr_t)(SLAB - 1));
  if (slab->live == places_of(slab)) link_slab(slab);
  *(void **)place = slab->freed;
  slab->freed = place;
  if (--slab->live != 0) return;
  unlink_slab(slab);
  store.live_slabs--;
  store.spare[store.spare_count++] = (uint32_t)((size_t)((char *)slab - store.slabs) / SLAB);
  os_trim(slab, SLAB);
}

/* ---- the index */

static uintptr_t address_of(const struct entry *entry) { return entry->page & ~(uintptr_t)4095; }

/* Multiplication spreads addresses that differ by a power of two; the upper bits are the best. */
static size_t first_place(uintptr_t page) {
  uint64_t spread = (uint64_t)(page / MT_PAGE) * 0x9e3779b97f4a7c15u;
  return (size_t)(spread >> 32) & (store.capacity - 1);
}

/* @return the entry of a page; NULL: it has none. */
static struct entry *find(uintptr_t page) {
  if (store.capacity == 0) return NULL;
  for (size_t i = first_place(page);; i = (i + 1) & (store.capacity - 1)) {
    struct entry *entry = &store.table[i];
    if (entry->page == NO_PAGE) return NULL;
    if (entry->page != TOMBSTONE && address_of(entry) == page) return entry;
  }
}

/* The page is not in the table, which has room. */
static void insert(uintptr_t page, uint8_t *code) {
  size_t i = first_place(page & ~(uintptr_t)4095);
  while (store.table[i].page != NO_PAGE) i = (i + 1) & (store.capacity - 1);
  store.table[i] = (struct entry){page, code};
  store.filled++;
}

/* Another table, without tombstones. @return false: there is no memory. */
static bool rebuild(void) {
  struct entry *old = store.table;
  size_t old_capacity = store.capacity, capacity = TABLE_MIN;
  while (capacity < 2 * store.count) capacity *= 2;
  struct entry *table = os_reserve(capacity * sizeof table[0]);
  if (table == NULL) return false;
  if (os_commit(table, capacity * sizeof table[0]) != 0) {
    os_release(table, capacity * sizeof table[0]);
    return false;
  }
  store.table = table;
  store.capacity = capacity;
  store.filled = 0;
  for (size_t i = 0; i < old_capacity; i++)
    if (old[i].page > TOMBSTONE) insert(old[i].page, old[i].code);
  if (old != NULL) os_release(old, old_capacity * sizeof old[0]);
  return true;
}

bool mt_store_put(uintptr_t page, unsigned tag, const uint8_t *code, size_t size) {
  if (store.filled >= store.capacity / 4 * 3 && !rebuild()) return false;
  uint8_t *place = take_place(size);
  if (place == NULL) return false;
  memcpy(place, code, size);
  insert(page | tag, place);
  store.count++;
  return true;
}

const uint8_t *mt_store_find(uintptr_t page, unsigned *tag) {
  const struct entry *entry = find(page);
  if (entry == NULL) return NULL;
  *tag = (unsigned)(entry->page & 4095);
  return entry->code;
}

void mt_store_drop(uintptr_t page) {
  struct entry *entry = find(page);
  if (entry == NULL) return;
  uint8_t *code = entry->code;
  entry->page = TOMBSTONE;
  store.count--;
  free_place(code);
}

void mt_store_visit(void (*visit)(uintptr_t page, const uint8_t *code)) {
  for (size_t i = 0; i < store.capacity; i++)
    if (store.table[i].page > TOMBSTONE) visit(address_of(&store.table[i]), store.table[i].code);
}

size_t mt_store_count(void) { return store.count; }

size_t mt_store_bytes(void) {
  return store.live_slabs * SLAB + store.capacity * sizeof store.table[0];
}
