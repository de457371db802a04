/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file bound_file.h
 * An application, and a library that it needs, whose relocations a test looks up
 * (src/tmpi/loader/relocate.c). The test is libc: it says what the libraries have that ranks share.
 */
#ifndef TESTS_MPI_BOUND_FILE_H
#define TESTS_MPI_BOUND_FILE_H

#include "counted_realloc.h"
#include "elf_file.h"

#include <dlfcn.h>
#include <link.h>

#include "tmpi/loader/program.h"

enum {
  MORE = 0xa00,        /* in text: a table of relocations that a test makes */
  WORD = DATA + 0x700, /* in data: a word that a relocation changes */
  PLACE = 0x10000,     /* of the application in a slot */
  OTHER_PLACE = 0x20000,
  LOCALS_PLACE = 0x30000
};

/* ---- libraries that ranks share: what dlsym() finds, with and without a version */

static void *first_of_name, *of_version;
static const char *versions_asked; /* the version that dlvsym() gets; NULL: it is not called */
static size_t size_of_variable;
static bool variable_has_no_symbol;
static bool other_libraries; /* each of the two is in a library of its own */

void *__wrap_dlsym(void *handle, const char *name);
void *__wrap_dlsym(void *handle, const char *name) {
  assert_true(handle == RTLD_DEFAULT && name[0] != '\0');
  return first_of_name;
}

void *__wrap_dlvsym(void *handle, const char *name, const char *version);
void *__wrap_dlvsym(void *handle, const char *name, const char *version) {
  assert_true(handle == RTLD_DEFAULT && name[0] != '\0');
  assert_non_null(versions_asked);
  assert_string_equal(version, versions_asked);
  return of_version;
}

int __wrap_dladdr(const void *address, Dl_info *info);
int __wrap_dladdr(const void *address, Dl_info *info) {
  assert_true(address == first_of_name || address == of_version);
  *info = (Dl_info){.dli_fbase = &file[other_libraries && address == of_version]};
  return 1;
}

int __wrap_dladdr1(const void *address, Dl_info *info, void **extra, int flags);
int __wrap_dladdr1(const void *address, Dl_info *info, void **extra, int flags) {
  static Elf64_Sym symbol;
  (void)info;
  assert_true(address != NULL && flags == RTLD_DL_SYMENT);
  symbol.st_size = size_of_variable;
  *extra = variable_has_no_symbol ? NULL : &symbol;
  return 1;
}

static int found_instead; /* what tmpirun has in the place of a function of libc */

static const void * override(const char *name) {
  return strcmp(name, "asked") == 0 ? &found_instead : NULL;
}

/* ---- binding */

static struct tm_image *images[2]; /* the application, and a library that it needs */
static struct tm_bindings bindings;
static size_t missing_count;

static void put_no_relocations(void) {
  put64(ENTRY_OF(RELA_SIZE), 0);
  put64(ENTRY_OF(JMPREL_SIZE), 0);
  put64(ENTRY_OF(RELR_SIZE), 0);
}

/* Relocations in place of the file's own. */
static void put_relocations(const Elf64_Rela *relas, size_t count) {
  put_no_relocations();
  put(MORE, relas, count * sizeof *relas);
  put64(ENTRY_OF(RELA), MORE);
  put64(ENTRY_OF(RELA_SIZE), count * sizeof *relas);
}

static void put_relocation(uint32_t symbol, uint32_t type, Elf64_Sxword addend) {
  const Elf64_Rela rela = {WORD, ELF64_R_INFO((Elf64_Xword)symbol, type), addend};
  put_relocations(&rela, 1);
}

/* The file as it is now is the application. */
static void read_application(void) {
  put64(ENTRY_OF(STRTAB_SIZE), string_size);
  images[0] = read_file();
  if (images[0] == NULL) fail_msg("%s", said);
  images[0]->place = PLACE;
  images[0]->tls_place = LOCALS_PLACE;
  make_file();
}

/* A library that defines the function "asked", and an object of a name. */
static void read_library(const char *object) {
  put64(ENTRY_OF(VERSYM) - 8, DT_DEBUG); /* as ld.so does, ranks take what has no version */
  put32(SYMBOL_TABLE + NEW * sizeof(Elf64_Sym), string_of("asked"));
  put32(SYMBOL_TABLE + OBJECT * sizeof(Elf64_Sym), string_of(object));
  put64(ENTRY_OF(STRTAB_SIZE), string_size);
  images[1] = read_file();
  if (images[1] == NULL) fail_msg("%s", said);
  images[1]->place = OTHER_PLACE;
  make_file();
}

static int drop_all(void **state) {
  (void)state;
  tm_bindings_drop(&bindings);
  bindings = (struct tm_bindings){0};
  missing_count = 0;
  for (size_t i = 0; i < sizeof images / sizeof images[0]; i++)
    if (images[i] != NULL) images[i] = tm_image_drop(images[i]);
  assert_true(open_count == 0 && mapped_count == 0 && blocks == 0);
  return 0;
}

/* Binds the application. @return whether that was possible. */
static bool bind_application(void) {
  bindings.scope = images;
  bindings.scope_count = images[1] != NULL ? 2 : 1;
  bindings.missing_count = &missing_count;
  said[0] = '\0';
  tm_refuse_into(said);
  bool bound = tm_bind_image(&bindings, images[0]);
  tm_refuse_into(NULL);
  return bound;
}

/* Makes the application of the file as it is now, and binds it; then nothing is as before.
 * expected: part of what is said; "": it is bound. */
static void check_binding(int line, const char *expected) {
  read_application();
  bool bound = bind_application();
  if (strstr(said, expected) == NULL || (expected[0] == '\0') != bound)
    fail_msg("line %d: '%s', and not '%s'", line, said, expected);
}
#define BIND(expected) check_binding(__LINE__, expected)
#define BOUND ""

static void again(void) {
  void *state = NULL;
  drop_all(&state);
  set_up(&state);
}

/* The word that relocations change, as all ranks get it. */
static uintptr_t word(void) {
  uintptr_t value;
  memcpy(&value, images[0]->pristine + WORD, sizeof value);
  return value;
}

#define RELOCATION_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, drop_all)

#endif
