/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the file of a library is. The loader of ranks searches by itself: ld.so(8) can be asked
 * only by dlopen(), which would load the library and run its constructors once more.
 *
 * Left out: folders glibc-hwcaps, which hold faster copies of libraries that are also outside.
 */
#include "tmpi/loader/search.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/program.h"
#include "os/map.h"

static const char *const system_folders[] = {MT_ARCH_SYSTEM_FOLDERS, "/lib", "/usr/lib"};

bool tm_search_is_system(const char *path) {
  static const char *const folders[] = {"/lib", "/usr/lib", "/usr/local/lib"};
  for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++)
    if (strncmp(path, folders[i], strlen(folders[i])) == 0) return true;
  return false;
}

/* A library for another processor does not count; a damaged one does, and is refused later. */
static bool is_candidate(const char *path) {
  int fd;
  size_t size;
  Elf64_Ehdr header;
  if (os_file_open(path, &fd, &size) != 0) return false;
  bool whole = size >= sizeof header && os_file_read(fd, &header, sizeof header, 0) == 0;
  os_file_close(fd);
  if (!whole || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return true;
  return header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_machine == MT_ARCH_ELF_MACHINE;
}

/* ---- folders */

/* The folder an image lies in. */
static void origin_of(const struct tm_image *image, char folder[PATH_MAX]) {
  char whole[PATH_MAX];
  const char *path = realpath(image->path, whole) != NULL ? whole : image->path;
  const char *slash = strrchr(path, '/');
  if (slash == NULL)
    snprintf(folder, PATH_MAX, ".");
  else
    snprintf(folder, PATH_MAX, "%.*s", (int)(slash - path), path);
}

/* @return the length of $WORD or ${WORD} at the start of a text; 0: it is not there. */
static size_t token_length(const char *text, const char *word) {
  size_t length = strlen(word);
  if (strncmp(text + 1, word, length) == 0) return 1 + length;
  bool in_braces = text[1] == '{' && strncmp(text + 2, word, length) == 0;
  return in_braces && text[2 + length] == '}' ? 3 + length : 0;
}

/* Writes the value of the token a text starts with. @return the token's length; 0: it is none. */
static size_t expand_token(const char *text, const struct tm_image *image, char value[PATH_MAX]) {
  size_t length = token_length(text, "ORIGIN");
  if (length > 0) {
    origin_of(image, value);
    return length;
  }
  length = token_length(text, "LIB");
  snprintf(value, PATH_MAX, "%s", length > 0 ? MT_ARCH_LIB : MT_ARCH_PLATFORM);
  return length > 0 ? length : token_length(text, "PLATFORM");
}

/* Writes the first folder of a search path, its tokens replaced; "": it is too long. @return what
 * follows it. */
static const char *next_folder(const char *list, const struct tm_image *image,
                               char folder[PATH_MAX]) {
  size_t used = 0, end = strcspn(list, ":;");
  const char *rest = list[end] != '\0' ? list + end + 1 : list + end;
  char value[PATH_MAX];
  if (end == 0) folder[used++] = '.'; /* an empty one is the working directory */
  for (size_t i = 0; i < end;) {
    size_t token = list[i] == '$' ? expand_token(list + i, image, value) : 0;
    if (token == 0) snprintf(value, sizeof value, "%c", list[i]);
    size_t length = strlen(value);
    if (used + length >= PATH_MAX) {
      used = 0;
      break;
    }
    memcpy(folder + used, value, length);
    used += length;
    i += token > 0 ? token : 1;
  }
  folder[used] = '\0';
  return rest;
}

static bool is_in(const char *folder, const char *name, char where[PATH_MAX]) {
  int length = snprintf(where, PATH_MAX, "%s/%s", folder, name);
  return folder[0] != '\0' && length < PATH_MAX && is_candidate(where);
}

/* list: NULL is an empty one. */
static bool is_in_list(const char *list, const struct tm_image *image, const char *name,
                       char where[PATH_MAX]) {
  char folder[PATH_MAX];
  while (list != NULL && *list != '\0') {
    list = next_folder(list, image, folder);
    if (is_in(folder, name, where)) return true;
  }
  return false;
}

/* DT_RPATH of an image counts for all that it leads to, unless it has a DT_RUNPATH. */
static bool is_in_inherited(const struct tm_image *image, const char *name, char where[PATH_MAX]) {
  if (tm_image_dynamic_string(image, DT_RUNPATH) != NULL) return false;
  for (; image != NULL; image = image->needed_by)
    if (tm_image_dynamic_string(image, DT_RUNPATH) == NULL &&
        is_in_list(tm_image_dynamic_string(image, DT_RPATH), image, name, where))
      return true;
  return false;
}

bool tm_search(const struct tm_image *image, const char *name, char where[PATH_MAX]) {
  if (strchr(name, '/') != NULL) {
    snprintf(where, PATH_MAX, "%s", name);
    return strlen(name) < PATH_MAX && is_candidate(where);
  }
  if (is_in_inherited(image, name, where) ||
      is_in_list(getenv("LD_LIBRARY_PATH"), image, name, where) ||
      is_in_list(tm_image_dynamic_string(image, DT_RUNPATH), image, name, where))
    return true;
  const char *cached = tm_cache_find(name);
  if (cached != NULL && is_candidate(cached)) {
    snprintf(where, PATH_MAX, "%s", cached);
    return true;
  }
  for (size_t i = 0; i < sizeof system_folders / sizeof system_folders[0]; i++)
    if (is_in(system_folders[i], name, where)) return true;
  return false;
}
