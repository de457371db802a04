/* SPDX-License-Identifier: Apache-2.0 */
/* Infos: keys and values. */
#include "tmpi/object/info.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tmpi/rank/handle.h"

enum { MAGIC = 0x1f0 };

static struct tm_info environment = {.magic = MAGIC};

struct tm_info *tm_info_of(MPI_Info handle) {
  if (handle == MPI_INFO_ENV) return &environment;
  if (!tm_handle_is_address(handle)) return NULL;
  struct tm_info *info = (struct tm_info *)handle;
  return info->magic == MAGIC ? info : NULL;
}

static struct tm_info_entry *entry_of(struct tm_hash_node *node) {
  return (struct tm_info_entry *)((char *)node - offsetof(struct tm_info_entry, node));
}

struct tm_info_entry *tm_info_find(const struct tm_info *info, const char *key) {
  struct tm_hash_node *node = tm_hash_first(&info->by_key, tm_hash_string(key));
  while (node != NULL && strcmp(entry_of(node)->key, key) != 0) node = tm_hash_next(node);
  return node != NULL ? entry_of(node) : NULL;
}

/* Moves the entries to the first slots. */
static void close_gaps(struct tm_info *info) {
  int used = 0;
  for (int i = 0; i < info->used; i++) {
    if (info->slots[i] == NULL) continue;
    info->slots[used] = info->slots[i];
    info->slots[used]->slot = used;
    used++;
  }
  info->used = used;
}

struct tm_info_entry *tm_info_nth(struct tm_info *info, int n) {
  if (info->used > info->count) close_gaps(info);
  return info->slots[n];
}

/* @return false: no memory. */
static bool has_slot(struct tm_info *info) {
  if (info->used < info->room) return true;
  if (info->used > 2 * info->count) {
    close_gaps(info);
    return true;
  }
  int room = info->room == 0 ? 8 : 2 * info->room;
  void *more = realloc(info->slots, (size_t)room * sizeof(struct tm_info_entry *));
  if (more == NULL) return false;
  info->slots = more;
  info->room = room;
  return true;
}

static struct tm_info_entry *add(struct tm_info *info, const char *key) {
  struct tm_info_entry *entry = has_slot(info) ? malloc(sizeof *entry) : NULL;
  if (entry == NULL) return NULL;
  snprintf(entry->key, sizeof entry->key, "%s", key);
  entry->value = NULL;
  entry->slot = info->used;
  info->slots[info->used++] = entry;
  info->count++;
  tm_hash_add(&info->by_key, &entry->node, tm_hash_string(key));
  return entry;
}

void tm_info_remove(struct tm_info *info, struct tm_info_entry *entry) {
  info->slots[entry->slot] = NULL;
  info->count--;
  tm_hash_remove(&info->by_key, &entry->node);
  free(entry->value);
  free(entry);
}

bool tm_info_put(struct tm_info *info, const char *key, const char *value) {
  struct tm_info_entry *entry = tm_info_find(info, key);
  char *copy = strdup(value);
  if (copy != NULL && entry == NULL) entry = add(info, key);
  if (copy == NULL || entry == NULL) {
    free(copy);
    return false;
  }
  free(entry->value);
  entry->value = copy;
  return true;
}

static struct tm_info *copy(const struct tm_info *from, const char *prefix) {
  struct tm_info *info = calloc(1, sizeof *info);
  if (info == NULL) return NULL;
  info->magic = MAGIC;
  for (int i = 0; from != NULL && i < from->used; i++) {
    const struct tm_info_entry *entry = from->slots[i];
    if (entry == NULL || strncmp(entry->key, prefix, strlen(prefix)) != 0) continue;
    if (tm_info_put(info, entry->key, entry->value)) continue;
    tm_info_free(info);
    return NULL;
  }
  return info;
}

struct tm_info *tm_info_copy(const struct tm_info *from) { return copy(from, ""); }

struct tm_info *tm_info_hints(const struct tm_info *from) { return copy(from, "mpi_"); }

void tm_info_free(struct tm_info *info) {
  if (info == NULL || info == &environment) return;
  for (int i = 0; i < info->used; i++)
    if (info->slots[i] != NULL) tm_info_remove(info, info->slots[i]);
  tm_hash_empty(&info->by_key);
  free(info->slots);
  info->magic = 0;
  free(info);
}
