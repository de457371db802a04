/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of two objects are read here, without dlsym(): libc's, for the functions that this
 * library stands before, and the gate's own. dlsym() would allocate a message for each name that
 * the gate has not got, and an allocator may look for functions when it starts.
 */
#include "gate/look_up.h"

#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <link.h>
#include <stdint.h>

#include "gate/gate.h"
#include "gate/next.h"

/* Threads may look for them at once: all store the same. */
static __typeof__(dlsym) *libc_dlsym;   /* [const after find_libc()] */
static __typeof__(dlvsym) *libc_dlvsym; /* [const after find_libc()] */
static const struct link_map *own;      /* [atomic] NULL until then */

static const struct link_map *object_of(const void *address) {
  struct link_map *map = NULL;
  Dl_info info;
  return dladdr1(address, &info, (void **)&map, RTLD_DL_LINKMAP) != 0 ? map : NULL;
}

static uint32_t hash_of(const char *name) {
  uint32_t hash = 5381;
  for (; *name != '\0'; name++) hash = hash * 33 + (unsigned char)*name;
  return hash;
}

/* Not strcmp(): a sanitizer looks for libc's functions before its own of that name works. */
static bool is_same(const char *text, const char *other) {
  while (*text != '\0' && *text == *other) text++, other++;
  return *text == *other;
}

/* @return the address of what an object defines by this name; NULL: nothing. */
static void *defined_in(const struct link_map *object, const char *name) {
  const ElfW(Sym) *symbols = NULL;
  const char *strings = NULL;
  const uint32_t *table = NULL; /* DT_GNU_HASH: four numbers, a filter, buckets, chains */
  for (const ElfW(Dyn) *d = object->l_ld; d->d_tag != DT_NULL; d++) {
    if (d->d_tag == DT_SYMTAB) symbols = (const ElfW(Sym) *)d->d_un.d_ptr;
    if (d->d_tag == DT_STRTAB) strings = (const char *)d->d_un.d_ptr;
    if (d->d_tag == DT_GNU_HASH) table = (const uint32_t *)d->d_un.d_ptr;
  }
  if (symbols == NULL || strings == NULL || table == NULL || table[0] == 0) return NULL;
  uint32_t hash = hash_of(name), first = table[1];
  const uint32_t *buckets = table + 4 + table[2] * (sizeof(ElfW(Addr)) / sizeof *table);
  const uint32_t *chains = buckets + table[0];
  for (uint32_t i = buckets[hash % table[0]]; i >= first; i++) {
    uint32_t entry = chains[i - first];
    if ((entry | 1) == (hash | 1) && is_same(strings + symbols[i].st_name, name))
      return (void *)(object->l_addr + symbols[i].st_value);
    if ((entry & 1) != 0) break; /* the last of the chain */
  }
  return NULL;
}

static const struct link_map *libc_object(void) {
  return object_of((const void *)(uintptr_t)gnu_get_libc_version);
}

gt_any *gt_libc_function(const char *name) {
  return (gt_any *)(uintptr_t)defined_in(libc_object(), name);
}

static const struct link_map *find_libc(void) {
  const struct link_map *libc = libc_object();
  *(void **)&libc_dlsym = defined_in(libc, "dlsym");
  *(void **)&libc_dlvsym = defined_in(libc, "dlvsym");
  const struct link_map *gate = object_of((const void *)(uintptr_t)find_libc);
  mt_store_release(&own, gate); /* GT-24 release: libc's functions; pairs GT-25 */
  return gate;
}

static const struct link_map *own_object(void) {
  const struct link_map *gate = mt_load_acquire(&own); /* GT-25 acquire: pairs GT-24 */
  return mt_likely(gate != NULL) ? gate : find_libc();
}

static void *gated(void *found, const char *name) {
  return found != NULL && found == gt_next_function(name) ? defined_in(own_object(), name) : found;
}

static void *look_up(void *handle, const char *name) {
  return gated(libc_dlsym(handle, name), name);
}

static void *look_up_version(void *handle, const char *name, const char *version) {
  return gated(libc_dlvsym(handle, name, version), name);
}

static bool may_be_gated(void *handle, const char *name, const void *at) {
  const struct link_map *gate = own_object();
  if (handle == RTLD_DEFAULT || defined_in(gate, name) == NULL) return false;
  const struct link_map *asks = handle == RTLD_NEXT ? object_of(at) : NULL;
  return asks == NULL || defined_in(asks, name) == NULL;
}

gt_any *gt_answer(void *handle, const char *name, const char *none, const void *at) {
  (void)none;
  return may_be_gated(handle, name, at) ? (gt_any *)look_up : (gt_any *)libc_dlsym;
}

gt_any *gt_answer_version(void *handle, const char *name, const char *version, const void *at) {
  (void)version;
  return may_be_gated(handle, name, at) ? (gt_any *)look_up_version : (gt_any *)libc_dlvsym;
}
