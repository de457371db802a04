/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Symbols of libraries that all ranks share (src/tmpi/loader/relocate.c): which of several one is
 * taken, what is said where nobody has it, and variables that start as copies.
 */
#include "bound_file.h"

static int missing; /* is called in the place of functions of MPI that nobody has */

/* ---- symbols of libraries that all ranks share */

/* Binds a relocation that asks for the symbol "asked" of version "ASKED". @return the word. */
static uintptr_t asked_word(Elf64_Sxword addend) {
  put_relocation(ASKED, R_X86_64_64, addend);
  BIND(BOUND);
  assert_int_equal(bindings.record_count, 0);
  uintptr_t value = word();
  again();
  return value;
}

static void a_shared_symbol_has_one_address(void **state) {
  (void)state;
  versions_asked = "ASKED";
  first_of_name = of_version = file + 8;
  assert_int_equal(asked_word(4), (uintptr_t)file + 12);
  of_version = file + 16; /* of the same library: the version counts */
  assert_int_equal(asked_word(0), (uintptr_t)file + 16);
  other_libraries = true; /* a library that was loaded earlier, and has no versions */
  assert_int_equal(asked_word(0), (uintptr_t)file + 8);
  of_version = NULL;
  assert_int_equal(asked_word(0), (uintptr_t)file + 8);
  first_of_name = NULL;
  of_version = file + 16;
  assert_int_equal(asked_word(0), (uintptr_t)file + 16);
  put64(ENTRY_OF(VERSYM) - 8, DT_DEBUG); /* any version */
  versions_asked = NULL;
  first_of_name = file + 8;
  assert_int_equal(asked_word(0), (uintptr_t)file + 8);
}

/* libc would crash: it takes such a version for none. */
static void a_version_whose_hash_is_zero_is_not_asked_for(void **state) {
  static const char *const names[] = {"", "YiiijaP"};
  (void)state;
  first_of_name = file + 8;
  of_version = file + 16;
  other_libraries = false;
  versions_asked = NULL;
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    put32(NEEDS + 32 + offsetof(Elf64_Vernaux, vna_name), string_of(names[i]));
    assert_int_equal(asked_word(0), (uintptr_t)file + 8);
  }
  versions_asked = "P";
  put32(NEEDS + 32 + offsetof(Elf64_Vernaux, vna_name), string_of("P"));
  assert_int_equal(asked_word(0), (uintptr_t)file + 16);
}

static void what_tmpirun_has_stands_before_libc_s(void **state) {
  (void)state;
  versions_asked = NULL; /* libc is not asked */
  bindings.override = override;
  put_relocation(ASKED, R_X86_64_64, 0);
  BIND(BOUND);
  assert_int_equal(word(), (uintptr_t)&found_instead);
  again();
  bindings.override = override;
  versions_asked = "AGAIN";
  first_of_name = of_version = file;
  put_relocation(ASKED_AGAIN, R_X86_64_64, 0);
  BIND(BOUND);
  assert_int_equal(word(), (uintptr_t)file);
}

/* A weak symbol that nobody has is NULL, whatever is added to it. */
static void a_symbol_that_nobody_has(void **state) {
  static const struct {
    const char *name;
    unsigned char bind;
    bool calls_missing;
    const char *says;
  } rows[] = {
      {"asked", STB_GLOBAL, true, "program: it needs 'asked': no library has it (link the library"},
      {"asked", STB_WEAK, true, BOUND},
      {"MPI_New", STB_GLOBAL, true, BOUND},
      {"PMPI_New", STB_GLOBAL, true, BOUND},
      {"MPI_New", STB_GLOBAL, false, "it needs 'MPI_New': tmpi does not have it yet"},
      {"PMPI_New", STB_GLOBAL, false, "it needs 'PMPI_New': tmpi does not have it yet"},
      {"MPIX_New", STB_GLOBAL, true, "it needs 'MPIX_New': no library has it"},
      {"PMPIX_New", STB_GLOBAL, true, "it needs 'PMPIX_New': no library has it"},
  };
  (void)state;
  versions_asked = "ASKED";
  first_of_name = of_version = NULL;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    bool is_bound = rows[i].says[0] == '\0', is_weak = rows[i].bind == STB_WEAK;
    put32(SYMBOL_TABLE + ASKED * sizeof(Elf64_Sym), string_of(rows[i].name));
    put16(SYMBOL_TABLE + ASKED * sizeof(Elf64_Sym) + 4, (uint16_t)(rows[i].bind << 4));
    put_relocation(ASKED, R_X86_64_64, is_weak ? 4 : 0);
    bindings.missing = rows[i].calls_missing ? &missing : NULL;
    BIND(rows[i].says);
    assert_int_equal(missing_count, is_bound && !is_weak);
    if (is_bound) assert_int_equal(word(), is_weak ? 0 : (uintptr_t)&missing);
    again();
  }
}

/* ---- variables that start as copies */

/* A relocation that copies the object, of 8 bytes, of the application. */
static void copy_object(const char *expected) {
  put_relocation(OBJECT, R_X86_64_COPY, 0);
  check_binding(__LINE__, expected);
}

static void a_variable_of_a_library_is_copied_in_each_rank(void **state) {
  (void)state;
  read_library("object");
  copy_object(BOUND);
  assert_true(bindings.copy_count == 1 && bindings.record_count == 0);
  assert_int_equal(bindings.copies[0].at, PLACE + WORD);
  assert_int_equal(bindings.copies[0].size, 8);
  assert_null(bindings.copies[0].from);
  assert_int_equal(bindings.copies[0].private_from, OTHER_PLACE + ARRAYS);
  again();
  put64(SYMBOL_TABLE + OBJECT * sizeof(Elf64_Sym) + 16, 5); /* of the library: it is shorter */
  read_library("object");
  copy_object(BOUND);
  assert_int_equal(bindings.copies[0].size, 5);
}

static void a_variable_of_a_shared_library_is_copied(void **state) {
  static const size_t sizes[][2] = {{8, 8}, {12, 8}, {3, 3}};
  (void)state;
  versions_asked = NULL;
  first_of_name = file;
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    size_of_variable = sizes[i][0];
    copy_object(BOUND);
    assert_int_equal(bindings.copy_count, 1);
    assert_int_equal(bindings.copies[0].at, PLACE + WORD);
    assert_ptr_equal(bindings.copies[0].from, file);
    assert_int_equal(bindings.copies[0].size, sizes[i][1]);
    again();
  }
  variable_has_no_symbol = true;
  copy_object(BOUND);
  assert_int_equal(bindings.copies[0].size, 0);
  variable_has_no_symbol = false;
}

static void variables_that_cannot_be_copied(void **state) {
  enum { SIZE = SYMBOL_TABLE + OBJECT * sizeof(Elf64_Sym) + 16 };
  (void)state;
  versions_asked = NULL;
  first_of_name = NULL;
  copy_object("program: it needs 'object': no library has it (link the library it is in)");
  again();
  read_library("elsewhere");
  copy_object("it needs 'object': no library has it");
  again();
  read_library("object");
  put64(SIZE, MEMORY_END - WORD + 1);
  copy_object(BOUND); /* what is copied is smaller */
  again();
  put64(SIZE, MEMORY_END - WORD + 1);
  read_library("object");
  put64(SIZE, MEMORY_END - WORD + 1);
  copy_object("the file is damaged: 'object' lies outside (build it again)");
  again();
  put64(SIZE, SPAN - ARRAYS + 1); /* the library's ends behind it */
  read_library("object");
  copy_object("the file is damaged: 'object' lies outside (build it again)");
  again();
  put64(SIZE, SPAN - ARRAYS);
  read_library("object");
  copy_object(BOUND);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      RELOCATION_TEST(a_shared_symbol_has_one_address),
      RELOCATION_TEST(a_version_whose_hash_is_zero_is_not_asked_for),
      RELOCATION_TEST(what_tmpirun_has_stands_before_libc_s),
      RELOCATION_TEST(a_symbol_that_nobody_has),
      RELOCATION_TEST(a_variable_of_a_library_is_copied_in_each_rank),
      RELOCATION_TEST(a_variable_of_a_shared_library_is_copied),
      RELOCATION_TEST(variables_that_cannot_be_copied),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
