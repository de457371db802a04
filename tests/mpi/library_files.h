/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file library_files.h
 * Libraries for tests of which ones a program has (src/tmpi/loader/libraries.c): files and what
 * they need, what ld.so(8) has loaded, and which of them ranks share.
 */
#ifndef TESTS_MPI_LIBRARY_FILES_H
#define TESTS_MPI_LIBRARY_FILES_H

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "counted_realloc.h"
#include "refused.h"
#include "tmpi/loader/policy.h"
#include "tmpi/loader/program.h"
#include "tmpi/loader/search.h"

/* ---- the heap */

char *__real_strdup(const char *text);
char *__wrap_strdup(const char *text);
char *__wrap_strdup(const char *text) {
  return allocation_fails() ? NULL : counted(__real_strdup(text));
}

/* ---- names: a string table of all files */

static const char *names[64];

static uint32_t offset_of(const char *name) {
  uint32_t i = 0;
  while (names[i] != NULL && strcmp(names[i], name) != 0) i++;
  assert_true(i + 1 < sizeof names / sizeof names[0]);
  names[i] = name;
  return i;
}

const char *tm_image_string(const struct tm_image *image, size_t offset) {
  (void)image;
  return names[offset];
}

/* ---- files */

enum { NEEDS = 3, FILES = 16, ENTRIES = NEEDS + 2 };

static struct file {
  const char *name, *needs[NEEDS], *soname;
  const char *asks, *defines; /* a symbol */
  bool is_static_tls, is_damaged;
  uint64_t inode; /* 0: that of its number */
  Elf64_Dyn dynamic[ENTRIES];
  Elf64_Sym symbols[2];
} files[FILES];
static int file_count;

/* Adds a file that needs others; NULL: no more. */
static struct file *file(const char *name, const char *first, const char *second) {
  assert_true(file_count < FILES);
  struct file *new = &files[file_count++];
  *new = (struct file){.name = name, .needs = {first, second}};
  return new;
}

static const struct file *file_of(const struct tm_image *image) { return &files[image->stamp]; }

static int read_count, dropped_count;

struct tm_image *tm_image_read(const char *path) {
  const char *name = strrchr(path, '/') + 1;
  int number = 0;
  while (number < file_count && strcmp(files[number].name, name) != 0) number++;
  assert_true(number < file_count);
  struct file *of = &files[number];
  if (of->is_damaged) return NULL;
  int entries = 0;
  for (int i = 0; i < NEEDS && of->needs[i] != NULL; i++)
    of->dynamic[entries++] = (Elf64_Dyn){DT_NEEDED, {offset_of(of->needs[i])}};
  of->dynamic[entries++] = (Elf64_Dyn){DT_NULL, {0}};
  of->dynamic[entries++] = (Elf64_Dyn){DT_NEEDED, {offset_of("absent")}}; /* it does not count */
  if (of->asks != NULL) of->symbols[1].st_name = offset_of(of->asks);
  struct tm_image *image = counted(__real_calloc(1, sizeof *image)); /* it does not fail */
  *image = (struct tm_image){.path = counted(__real_strdup(path)),
                             .stamp = (uint64_t)number,
                             .device = 1,
                             .inode = of->inode != 0 ? of->inode : (uint64_t)number + 100,
                             .dynamic = of->dynamic,
                             .dynamic_count = (size_t)entries,
                             .pristine = (char *)of->symbols,
                             .symbol_count = of->asks != NULL ? 2 : 1};
  read_count++;
  return image;
}

struct tm_image *tm_image_drop(struct tm_image *image) {
  free(image->needs);
  free(image->name);
  free(image->path);
  free(image);
  dropped_count++;
  return NULL;
}

const char *tm_image_dynamic_string(const struct tm_image *image, Elf64_Sxword tag) {
  assert_int_equal(tag, DT_SONAME);
  return file_of(image)->soname;
}

bool tm_image_has_static_tls(const struct tm_image *image) { return file_of(image)->is_static_tls; }

struct tm_wanted tm_want(const char *name, const char *version) {
  return (struct tm_wanted){name, version, 0};
}

const Elf64_Sym *tm_image_find(const struct tm_image *image, const struct tm_wanted *wanted) {
  const char *has = file_of(image)->defines;
  return has != NULL && strcmp(has, wanted->name) == 0 ? file_of(image)->symbols : NULL;
}

bool tm_image_asks(const struct tm_image *image, const char *name) {
  const char *asked = file_of(image)->asks;
  return asked != NULL && strcmp(asked, name) == 0;
}

/* Those of the system have names that begin with "sys". */
bool tm_search(const struct tm_image *image, const char *name, char where[PATH_MAX]) {
  assert_non_null(image->path);
  bool is_there = false;
  for (int i = 0; i < file_count; i++) is_there |= strcmp(files[i].name, name) == 0;
  if (strchr(name, '/') != NULL) is_there = true;
  snprintf(where, PATH_MAX, strchr(name, '/') != NULL ? "%s" : "/lib/%s", name);
  return is_there;
}

bool tm_search_is_system(const char *path) { return strncmp(path, "/lib/sys", 8) == 0; }

/* ---- the policy: "shared-..." is */

static const char *demanded[4]; /* what follows from others */
static int demanded_count, demanded_most;

bool tm_policy_share(const char *name) {
  if (demanded_count == demanded_most) return false;
  demanded[demanded_count++] = name;
  return true;
}

const char *tm_policy_shared(const char *name) {
  for (int i = 0; i < demanded_count; i++)
    if (strcmp(demanded[i], name) == 0) return "a shared library needs it";
  const char *slash = strrchr(name, '/');
  return strncmp(slash != NULL ? slash + 1 : name, "shared", 6) == 0 ? "policy" : NULL;
}

bool tm_policy_is_language(const char *name) { return strcmp(name, "libstdc++.so.6") == 0; }

/* ---- what ld.so(8) has loaded */

static struct loaded {
  struct link_map map;
  Elf64_Dyn dynamic[ENTRIES];
  char strings[64], path[32];
  bool is_loaded, is_tool;
  int handles; /* that are not closed */
} loaded[8];
static int loaded_count;
static const char
    *dl_error; /* what a library that cannot be loaded is refused for; NULL: none is */
static bool no_map;

/* A library that ld.so(8) finds, and what it needs. */
static struct loaded *library(const char *name, const char *first, const char *second) {
  struct loaded *new = &loaded[loaded_count++];
  memset(new, 0, sizeof *new);
  const char *const needs[] = {first, second};
  size_t used = 1, entries = 0;
  for (size_t i = 0; i < 2; i++)
    if (needs[i] != NULL) {
      new->dynamic[entries++] = (Elf64_Dyn){DT_NEEDED, {used}};
      used += (size_t)snprintf(new->strings + used, sizeof new->strings - used, "%s", needs[i]) + 1;
    }
  new->dynamic[entries++] = (Elf64_Dyn){DT_STRTAB, {(uintptr_t)new->strings}};
  snprintf(new->path, sizeof new->path, "/lib/%s", name);
  new->map = (struct link_map){.l_name = new->path, .l_ld = new->dynamic};
  return new;
}

static int opened_flags; /* of the last library that was loaded */

void *__wrap_dlopen(const char *name, int flags);
void *__wrap_dlopen(const char *name, int flags) {
  const char *slash = strrchr(name, '/');
  for (int i = 0; i < loaded_count; i++) {
    if (strcmp(loaded[i].path + 5, slash != NULL ? slash + 1 : name) != 0) continue;
    if (!loaded[i].is_loaded && ((flags & RTLD_NOLOAD) != 0 || dl_error != NULL)) return NULL;
    if (!loaded[i].is_loaded) opened_flags = flags;
    loaded[i].is_loaded = true;
    loaded[i].handles++;
    return &loaded[i];
  }
  return NULL;
}

int __wrap_dlinfo(void *handle, int request, void *answer);
int __wrap_dlinfo(void *handle, int request, void *answer) {
  assert_int_equal(request, RTLD_DI_LINKMAP);
  *(struct link_map **)answer = &((struct loaded *)handle)->map;
  return no_map ? -1 : 0;
}

int __wrap_dlclose(void *handle);
int __wrap_dlclose(void *handle) {
  ((struct loaded *)handle)->handles--;
  return 0;
}

char *__wrap_dlerror(void);
char *__wrap_dlerror(void) {
  static char text[64];
  snprintf(text, sizeof text, "%s", dl_error != NULL ? dl_error : "cannot open");
  return text;
}

void *__wrap_dlsym(void *handle, const char *name);
void *__wrap_dlsym(void *handle, const char *name) {
  assert_string_equal(name, "MPI_Init");
  return ((struct loaded *)handle)->is_tool ? handle : NULL;
}

#endif
