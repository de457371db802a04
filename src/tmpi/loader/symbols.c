/* SPDX-License-Identifier: Apache-2.0 */
/* The symbols of an image. */
#include <stdlib.h>
#include <string.h>

#include "tmpi/loader/image.h"

/* The number of symbols stands nowhere: the hash tables tell it. */
static bool count_symbols(struct tm_image *image) {
  size_t sysv = tm_image_dynamic(image, DT_HASH), gnu = tm_image_dynamic(image, DT_GNU_HASH);
  size_t count = 0;
  if (sysv % sizeof(uint32_t) != 0 || gnu % sizeof(uint32_t) != 0)
    return tm_damaged(image->path, "a table is not aligned");
  if (sysv != 0 && tm_image_in_file(image, sysv, 8)) {
    count = ((const uint32_t *)(image->pristine + sysv))[1];
  } else if (gnu != 0 && tm_image_in_file(image, gnu, 16)) {
    const uint32_t *words = (const uint32_t *)(image->pristine + gnu);
    size_t buckets_at = gnu + 16 + (size_t)words[2] * 8;
    size_t chains_at = buckets_at + (size_t)words[0] * 4;
    if (!tm_image_in_file(image, gnu, chains_at - gnu))
      return tm_damaged(image->path, "its table of symbols lies outside of it");
    const uint32_t *buckets = (const uint32_t *)(image->pristine + buckets_at);
    for (uint32_t i = 0; i < words[0]; i++)
      if (buckets[i] > count) count = buckets[i];
    if (count < words[1]) {
      count = words[1]; /* only undefined ones */
    } else {            /* the last chain ends with an odd hash */
      size_t at = chains_at + (count - words[1]) * 4;
      while (tm_image_in_file(image, at, 4) && *(const uint32_t *)(image->pristine + at) % 2 == 0) {
        at += 4;
        count++;
      }
      count++;
    }
  }
  image->symbols.at = tm_image_dynamic(image, DT_SYMTAB);
  image->symbols.size = count * sizeof(Elf64_Sym);
  image->symbol_count = count;
  return image->symbols.at % sizeof(uint64_t) == 0 &&
                 tm_image_in_file(image, image->symbols.at, image->symbols.size)
             ? true
             : tm_damaged(image->path, "its table of symbols lies outside of it");
}

static int by_name(const void *a, const void *b) {
  return strcmp(((const struct tm_symbol *)a)->name, ((const struct tm_symbol *)b)->name);
}

/* @return whether it is for programs that were linked long ago: there is another of that name. */
static bool is_old(const struct tm_image *image, size_t index) {
  enum { HIDDEN = 0x8000 };
  if (image->versions.size == 0) return false;
  return (((const Elf64_Half *)(image->pristine + image->versions.at))[index] & HIDDEN) != 0;
}

static bool read_exports(struct tm_image *image) {
  const Elf64_Sym *symbols = (const Elf64_Sym *)(image->pristine + image->symbols.at);
  image->exports = calloc(image->symbol_count + 1, sizeof *image->exports);
  if (image->exports == NULL) return tm_refuse(image->path, "no memory (free some)");
  for (size_t i = 0; i < image->symbol_count; i++)
    if (symbols[i].st_shndx != SHN_UNDEF && ELF64_ST_BIND(symbols[i].st_info) != STB_LOCAL &&
        !is_old(image, i))
      image->exports[image->export_count++] =
          (struct tm_symbol){tm_image_string(image, symbols[i].st_name), &symbols[i]};
  qsort(image->exports, image->export_count, sizeof *image->exports, by_name);
  return true;
}

const Elf64_Sym *tm_image_find(const struct tm_image *image, const char *name) {
  struct tm_symbol key = {name, NULL};
  const struct tm_symbol *found =
      bsearch(&key, image->exports, image->export_count, sizeof key, by_name);
  return found != NULL ? found->symbol : NULL;
}

const char *tm_image_name_at(const struct tm_image *image, size_t offset) {
  for (size_t i = 0; i < image->export_count; i++) {
    const Elf64_Sym *symbol = image->exports[i].symbol;
    if (ELF64_ST_TYPE(symbol->st_info) == STT_FUNC && offset - symbol->st_value < symbol->st_size)
      return image->exports[i].name;
  }
  return "";
}

/* ---- versions */

enum { VERSION_MASK = 0x7fff, VERSIONS = VERSION_MASK + 1 };

/* The versions asked of one library. */
static bool read_needs_of(struct tm_image *image, size_t at, const Elf64_Verneed *need) {
  at += need->vn_aux;
  for (int i = 0; i < need->vn_cnt; i++) {
    if (!tm_image_in_file(image, at, sizeof(Elf64_Vernaux)) || at % sizeof(uint32_t) != 0)
      return false;
    const Elf64_Vernaux *aux = (const Elf64_Vernaux *)(image->pristine + at);
    image->wanted_versions[aux->vna_other & VERSION_MASK] = tm_image_string(image, aux->vna_name);
    if (aux->vna_next == 0) break;
    at += aux->vna_next;
  }
  return true;
}

static bool read_needs(struct tm_image *image) {
  size_t at = tm_image_dynamic(image, DT_VERNEED), count = tm_image_dynamic(image, DT_VERNEEDNUM);
  if (at == 0 || image->versions.size == 0) return true;
  image->wanted_versions = calloc(VERSIONS, sizeof *image->wanted_versions);
  if (image->wanted_versions == NULL) return tm_refuse(image->path, "no memory (free some)");
  for (size_t i = 0; i < count; i++) {
    if (!tm_image_in_file(image, at, sizeof(Elf64_Verneed)) || at % sizeof(uint32_t) != 0)
      return tm_damaged(image->path, "its table of versions lies outside of it");
    const Elf64_Verneed *need = (const Elf64_Verneed *)(image->pristine + at);
    if (!read_needs_of(image, at, need))
      return tm_damaged(image->path, "its table of versions lies outside of it");
    if (need->vn_next == 0) break;
    at += need->vn_next;
  }
  return true;
}

const char *tm_image_version(const struct tm_image *image, size_t index) {
  if (image->wanted_versions == NULL) return NULL;
  const Elf64_Half *versions = (const Elf64_Half *)(image->pristine + image->versions.at);
  return image->wanted_versions[versions[index] & VERSION_MASK];
}

bool tm_image_read_symbols(struct tm_image *image) {
  if (!count_symbols(image)) return false;
  image->versions.at = tm_image_dynamic(image, DT_VERSYM);
  image->versions.size = image->versions.at != 0 ? image->symbol_count * sizeof(Elf64_Half) : 0;
  if (!tm_image_in_file(image, image->versions.at, image->versions.size) ||
      image->versions.at % sizeof(Elf64_Half) != 0)
    return tm_damaged(image->path, "a table lies outside of it");
  return read_needs(image) && read_exports(image);
}
