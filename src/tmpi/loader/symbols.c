/* SPDX-License-Identifier: Apache-2.0 */
/* The symbols of an image. */
#include <stdlib.h>
#include <string.h>

#include "tmpi/loader/image.h"

/* @return the number of symbols that a table of relocations refers to. */
static size_t count_referred(const struct tm_image *image, const struct tm_table *table) {
  const Elf64_Rela *relas = (const Elf64_Rela *)(image->pristine + table->at);
  size_t count = 0;
  for (size_t i = 0; i < table->size / sizeof *relas; i++)
    if (ELF64_R_SYM(relas[i].r_info) >= count) count = ELF64_R_SYM(relas[i].r_info) + 1;
  return count;
}

/* The number of symbols stands nowhere. The hash tables tell how many the file defines, but
 * DT_GNU_HASH may leave out those it asks for; relocations tell of these. */
static bool count_symbols(struct tm_image *image) {
  size_t sysv = tm_image_dynamic(image, DT_HASH), gnu = tm_image_dynamic(image, DT_GNU_HASH);
  size_t count = 0;
  if (sysv % sizeof(uint32_t) != 0 || gnu % sizeof(uint32_t) != 0)
    return tm_damaged(image->path, "a table is not aligned");
  if (sysv != 0 && tm_image_in_file(image, sysv, 8)) {
    count = ((const uint32_t *)(image->pristine + sysv))[1];
  } else if (gnu != 0) {
    if (!tm_image_in_file(image, gnu, 16))
      return tm_damaged(image->path, "its table of symbols lies outside of it");
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
  size_t referred = count_referred(image, &image->relocations);
  if (referred > count) count = referred;
  referred = count_referred(image, &image->plt_relocations);
  if (referred > count) count = referred;
  image->symbols.at = tm_image_dynamic(image, DT_SYMTAB);
  image->symbols.size = count * sizeof(Elf64_Sym);
  image->symbol_count = count;
  return image->symbols.at % sizeof(uint64_t) == 0 &&
                 tm_image_in_file(image, image->symbols.at, image->symbols.size)
             ? true
             : tm_damaged(image->path, "its table of symbols lies outside of it");
}

/* ---- what it defines */

enum { VERSION_MASK = 0x7fff, VERSION_HIDDEN = 0x8000, VERSION_FIRST = 2 };

/* The hash of DT_GNU_HASH: it spreads names well. */
static uint32_t hash_of(const char *name) {
  uint32_t hash = 5381;
  for (; *name != '\0'; name++) hash = hash * 33 + (unsigned char)*name;
  return hash;
}

struct tm_wanted tm_want(const char *name, const char *version) {
  return (struct tm_wanted){name, version, hash_of(name)};
}

static Elf64_Half version_number(const struct tm_image *image, size_t index) {
  if (image->versions.size == 0) return 0;
  return ((const Elf64_Half *)(image->pristine + image->versions.at))[index];
}

static const char *version_name(const struct tm_image *image, size_t index) {
  Elf64_Half number = version_number(image, index) & VERSION_MASK;
  bool named = image->version_names != NULL && number >= VERSION_FIRST;
  return named ? image->version_names[number] : NULL;
}

static bool is_export(const Elf64_Sym *symbol) {
  return symbol->st_shndx != SHN_UNDEF && ELF64_ST_BIND(symbol->st_info) != STB_LOCAL;
}

static void add_export(struct tm_image *image, size_t index, const Elf64_Sym *symbol) {
  struct tm_wanted key = tm_want(tm_image_string(image, symbol->st_name), NULL);
  uint32_t *bucket = &image->buckets[key.hash % image->bucket_count];
  bool old = (version_number(image, index) & VERSION_HIDDEN) != 0;
  image->exports[image->export_count] =
      (struct tm_symbol){key.name, symbol, version_name(image, index), old, key.hash, *bucket};
  *bucket = (uint32_t)++image->export_count;
}

static bool read_exports(struct tm_image *image) {
  const Elf64_Sym *symbols = (const Elf64_Sym *)(image->pristine + image->symbols.at);
  size_t count = 0;
  for (size_t i = 0; i < image->symbol_count; i++) count += is_export(&symbols[i]);
  image->bucket_count = count + 1;
  image->exports = calloc(count + 1, sizeof *image->exports);
  image->buckets = calloc(image->bucket_count, sizeof *image->buckets);
  if (image->exports == NULL || image->buckets == NULL)
    return tm_refuse(image->path, "no memory (free some)");
  for (size_t i = 0; i < image->symbol_count; i++)
    if (is_export(&symbols[i])) add_export(image, i, &symbols[i]);
  return true;
}

static bool has_version(const struct tm_symbol *symbol, const char *version) {
  if (version == NULL || symbol->version == NULL) return !symbol->old;
  return strcmp(symbol->version, version) == 0;
}

const Elf64_Sym *tm_image_find(const struct tm_image *image, const struct tm_wanted *wanted) {
  uint32_t at = image->buckets[wanted->hash % image->bucket_count];
  while (at != 0) {
    const struct tm_symbol *symbol = &image->exports[at - 1];
    if (symbol->hash == wanted->hash && strcmp(symbol->name, wanted->name) == 0 &&
        has_version(symbol, wanted->version))
      return symbol->symbol;
    at = symbol->next;
  }
  return NULL;
}

bool tm_image_asks(const struct tm_image *image, const char *name) {
  const Elf64_Sym *symbols = (const Elf64_Sym *)(image->pristine + image->symbols.at);
  for (size_t i = 1; i < image->symbol_count; i++)
    if (symbols[i].st_shndx == SHN_UNDEF) {
      const char *asked = tm_image_string(image, symbols[i].st_name);
      if (asked[0] == name[0] && strcmp(asked, name) == 0) return true;
    }
  return false;
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

/* A table of versions is aligned, and each entry lies in the file. */
static bool entry_is_there(const struct tm_image *image, size_t at, size_t size) {
  return tm_image_in_file(image, at, size) && at % sizeof(uint32_t) == 0;
}

/* A version that no symbol has needs no name. */
static void name_version(struct tm_image *image, Elf64_Half number, Elf64_Word name) {
  number &= VERSION_MASK;
  if (number < image->version_count) image->version_names[number] = tm_image_string(image, name);
}

/* The versions asked of one library. */
static bool read_needs_of(struct tm_image *image, size_t at, const Elf64_Verneed *need) {
  at += need->vn_aux;
  for (int i = 0; i < need->vn_cnt; i++) {
    if (!entry_is_there(image, at, sizeof(Elf64_Vernaux))) return false;
    const Elf64_Vernaux *aux = (const Elf64_Vernaux *)(image->pristine + at);
    name_version(image, aux->vna_other, aux->vna_name);
    if (aux->vna_next == 0) break;
    at += aux->vna_next;
  }
  return true;
}

static bool read_needs(struct tm_image *image) {
  size_t at = tm_image_dynamic(image, DT_VERNEED), count = tm_image_dynamic(image, DT_VERNEEDNUM);
  for (size_t i = 0; at != 0 && i < count; i++) {
    if (!entry_is_there(image, at, sizeof(Elf64_Verneed))) return false;
    const Elf64_Verneed *need = (const Elf64_Verneed *)(image->pristine + at);
    if (!read_needs_of(image, at, need)) return false;
    if (need->vn_next == 0) break;
    at += need->vn_next;
  }
  return true;
}

/* The versions of what it defines; the one of the file itself stands for none. */
static bool read_definitions(struct tm_image *image) {
  size_t at = tm_image_dynamic(image, DT_VERDEF), count = tm_image_dynamic(image, DT_VERDEFNUM);
  for (size_t i = 0; at != 0 && i < count; i++) {
    if (!entry_is_there(image, at, sizeof(Elf64_Verdef))) return false;
    const Elf64_Verdef *definition = (const Elf64_Verdef *)(image->pristine + at);
    size_t name_at = at + definition->vd_aux;
    if (!entry_is_there(image, name_at, sizeof(Elf64_Verdaux))) return false;
    const Elf64_Verdaux *aux = (const Elf64_Verdaux *)(image->pristine + name_at);
    if ((definition->vd_flags & VER_FLG_BASE) == 0)
      name_version(image, definition->vd_ndx, aux->vda_name);
    if (definition->vd_next == 0) break;
    at += definition->vd_next;
  }
  return true;
}

static bool read_versions(struct tm_image *image) {
  if (image->versions.size == 0) return true; /* there is a symbol */
  for (size_t i = 0; i < image->symbol_count; i++) {
    size_t number = version_number(image, i) & VERSION_MASK;
    if (number >= image->version_count) image->version_count = number + 1;
  }
  image->version_names = calloc(image->version_count, sizeof *image->version_names);
  if (image->version_names == NULL) return tm_refuse(image->path, "no memory (free some)");
  return read_needs(image) && read_definitions(image)
             ? true
             : tm_damaged(image->path, "its table of versions lies outside of it");
}

const char *tm_image_version(const struct tm_image *image, size_t index) {
  return version_name(image, index);
}

bool tm_image_read_symbols(struct tm_image *image) {
  if (!count_symbols(image)) return false;
  image->versions.at = tm_image_dynamic(image, DT_VERSYM);
  image->versions.size = image->versions.at != 0 ? image->symbol_count * sizeof(Elf64_Half) : 0;
  if (!tm_image_in_file(image, image->versions.at, image->versions.size) ||
      image->versions.at % sizeof(Elf64_Half) != 0)
    return tm_damaged(image->path, "a table lies outside of it");
  return read_versions(image) && read_exports(image);
}
