/* SPDX-License-Identifier: Apache-2.0 */
/* Infos: keys and values. */
#include "tmpi/object/info.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tmpi/rank/handle.h"

enum { MAGIC = 0x1f0 };

static struct tm_info environment = {MAGIC, 0, NULL};

struct tm_info *tm_info_of(MPI_Info handle) {
  if (handle == MPI_INFO_ENV) return &environment;
  if (!tm_handle_is_address(handle)) return NULL;
  struct tm_info *info = (struct tm_info *)handle;
  return info->magic == MAGIC ? info : NULL;
}

struct tm_info_entry *tm_info_find(const struct tm_info *info, const char *key) {
  for (int i = 0; i < info->count; i++)
    if (strcmp(info->entries[i].key, key) == 0) return &info->entries[i];
  return NULL;
}

bool tm_info_put(struct tm_info *info, const char *key, const char *value) {
  struct tm_info_entry *entry = tm_info_find(info, key);
  char *copy = strdup(value);
  if (copy == NULL) return false;
  if (entry == NULL) {
    struct tm_info_entry *more = realloc(info->entries, (size_t)(info->count + 1) * sizeof *more);
    if (more == NULL) {
      free(copy);
      return false;
    }
    info->entries = more;
    entry = &more[info->count++];
    snprintf(entry->key, sizeof entry->key, "%s", key);
  } else {
    free(entry->value);
  }
  entry->value = copy;
  return true;
}

static struct tm_info *copy(const struct tm_info *from, const char *prefix) {
  struct tm_info *info = calloc(1, sizeof *info);
  if (info == NULL) return NULL;
  info->magic = MAGIC;
  for (int i = 0; from != NULL && i < from->count; i++) {
    if (strncmp(from->entries[i].key, prefix, strlen(prefix)) != 0) continue;
    if (tm_info_put(info, from->entries[i].key, from->entries[i].value)) continue;
    tm_info_free(info);
    return NULL;
  }
  return info;
}

struct tm_info *tm_info_copy(const struct tm_info *from) { return copy(from, ""); }

struct tm_info *tm_info_hints(const struct tm_info *from) { return copy(from, "mpi_"); }

void tm_info_free(struct tm_info *info) {
  if (info == NULL || info == &environment) return;
  for (int i = 0; i < info->count; i++) free(info->entries[i].value);
  free(info->entries);
  info->magic = 0;
  free(info);
}
