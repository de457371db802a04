/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The symbols and versions of an ELF file (src/tmpi/loader/symbols.c): how many there are, which of
 * them others find, by which version, and which tables are refused.
 */
#include "elf_file.h"

static const Elf64_Sym *find(const struct tm_image *image, const char *name, const char *version) {
  struct tm_wanted wanted = tm_want(name, version);
  return tm_image_find(image, &wanted);
}

/* The symbol of a number in the table that was read. */
static const Elf64_Sym *symbol(const struct tm_image *image, size_t number) {
  return (const Elf64_Sym *)(image->pristine + image->symbols.at) + number;
}

static void check_version(const struct tm_image *image, size_t number, const char *expected) {
  const char *version = tm_image_version(image, number);
  assert_int_equal(version != NULL, expected != NULL);
  if (expected != NULL) assert_string_equal(version, expected);
}

/* ---- what others find */

static void symbols_are_found_by_name_and_version(void **state) {
  const Elf64_Sym behind = {string_of("behind"), STB_GLOBAL << 4, 0, 1, INIT, 8};
  (void)state;
  put64(ENTRY_OF(STRTAB_SIZE), string_size);
  put(SYMBOL_TABLE + SYMBOL_COUNT * sizeof behind, &behind, sizeof behind); /* it is no table's */
  struct tm_image *image = read_file();
  assert_int_equal(image->symbol_count, SYMBOL_COUNT);
  assert_int_equal(image->export_count, 3);
  assert_ptr_equal(find(image, "defined", NULL), symbol(image, NEW));
  assert_ptr_equal(find(image, "defined", "NEW"), symbol(image, NEW));
  assert_ptr_equal(find(image, "defined", "OLD"), symbol(image, OLD));
  assert_null(find(image, "defined", "NONE"));
  assert_ptr_equal(find(image, "object", NULL), symbol(image, OBJECT));
  assert_ptr_equal(find(image, "object", "OLD"), symbol(image, OBJECT)); /* it has none */
  assert_null(find(image, "local", NULL));
  assert_null(find(image, "asked", NULL));
  assert_null(find(image, "", NULL));
  assert_null(find(image, "behind", NULL));
  drop(image);
}

/* As ld.so does where a library has lost its versions. */
static void symbols_of_a_file_without_versions(void **state) {
  (void)state;
  put64(ENTRY_OF(VERSYM) - 8, DT_DEBUG);
  put16(NEW * sizeof(Elf64_Half), 0x8000); /* what is at offset 0 is no table */
  struct tm_image *image = read_file();
  assert_int_equal(image->versions.size, 0);
  assert_null(image->version_names);
  assert_ptr_equal(find(image, "defined", "NEW"), symbol(image, NEW)); /* the last one */
  assert_ptr_equal(find(image, "object", "ANY"), symbol(image, OBJECT));
  check_version(image, ASKED, NULL);
  drop(image);
}

/* Of a hidden one only the version leads to it. */
static void an_old_symbol_alone(void **state) {
  (void)state;
  put16(VERSION_TABLE + NEW * sizeof(Elf64_Half), 3 | 0x8000);
  put16(VERSION_TABLE + OBJECT * sizeof(Elf64_Half), 1 | 0x8000);
  struct tm_image *image = read_file();
  assert_null(find(image, "defined", NULL));
  assert_ptr_equal(find(image, "defined", "NEW"), symbol(image, NEW));
  assert_null(find(image, "object", NULL));
  assert_null(find(image, "object", "OLD"));
  drop(image);
}

static void what_an_image_asks_for(void **state) {
  static const char *const asked[] = {"asked", "asked_again", "asked_elsewhere"};
  static const char *const others[] = {"ask", "asked_", "defined", "object", "local", "", "x"};
  (void)state;
  struct tm_image *image = read_file();
  for (size_t i = 0; i < sizeof asked / sizeof asked[0]; i++)
    assert_true(tm_image_asks(image, asked[i]));
  for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
    assert_false(tm_image_asks(image, others[i]));
  check_version(image, ASKED, "ASKED");
  check_version(image, ASKED_AGAIN, "AGAIN");
  check_version(image, ASKED_ELSEWHERE, "ELSEWHERE");
  check_version(image, OLD, "OLD");
  check_version(image, NEW, "NEW");
  check_version(image, LOCAL, NULL);
  check_version(image, OBJECT, NULL);
  drop(image);
  put32(SYMBOL_TABLE + OBJECT * sizeof(Elf64_Sym) + offsetof(Elf64_Sym, st_shndx), SHN_UNDEF);
  put32(SYMBOL_TABLE + SYMBOL_COUNT * sizeof(Elf64_Sym), string_of("x")); /* behind the last */
  image = read_file();
  assert_true(tm_image_asks(image, "object"));
  assert_false(tm_image_asks(image, "x"));
  drop(image);
}

static void which_function_an_offset_lies_in(void **state) {
  (void)state;
  put32(SYMBOL_TABLE + OBJECT * sizeof(Elf64_Sym) + 4, STB_GLOBAL << 4 | STT_FUNC);
  put32(SYMBOL_TABLE + NEW * sizeof(Elf64_Sym), string_of("newer"));
  put64(ENTRY_OF(STRTAB_SIZE), string_size);
  struct tm_image *image = read_file();
  assert_string_equal(tm_image_name_at(image, INIT - 1), "");
  assert_string_equal(tm_image_name_at(image, INIT), "defined");
  assert_string_equal(tm_image_name_at(image, INIT + 7), "defined");
  assert_string_equal(tm_image_name_at(image, INIT + 8), "newer");
  assert_string_equal(tm_image_name_at(image, INIT + 15), "newer");
  assert_string_equal(tm_image_name_at(image, INIT + 16), "");
  assert_string_equal(tm_image_name_at(image, INIT + 32), ""); /* it is local */
  drop(image);
  make_file();
  image = read_file();
  assert_string_equal(tm_image_name_at(image, ARRAYS), ""); /* it is no function */
  drop(image);
}

/* ---- how many there are */

/* The number of symbols that are read of the file as it is now. */
static void check_count(size_t expected) {
  struct tm_image *image = read_file();
  if (image == NULL) fail_msg("%s", said);
  assert_int_equal(image->symbol_count, expected);
  assert_int_equal(image->symbols.size, expected * sizeof(Elf64_Sym));
  drop(image);
}

/* Relocations that refer to these symbols. */
static void refer(uint32_t first, uint32_t second, uint32_t plt) {
  put32(RELOCATIONS + 12, first);
  put32(RELOCATIONS + sizeof(Elf64_Rela) + 12, second);
  put32(PLT_RELOCATIONS + 12, plt);
}

/* A file that has neither versions nor a table by hashes; instead what `tag` names is at `at`. */
static void count_by(Elf64_Sxword tag, size_t at) {
  make_file();
  put64(ENTRY_OF(VERSYM) - 8, DT_DEBUG);
  put64(ENTRY_OF(GNU_HASH) - 8, (uint64_t)tag);
  put64(ENTRY_OF(GNU_HASH), at);
  refer(0, 0, 0);
}

static void symbols_that_relocations_name(void **state) {
  (void)state;
  count_by(DT_DEBUG, 0);
  check_count(1);
  refer(2, 3, 1);
  check_count(4);
  refer(3, 3, 5);
  check_count(6);
  refer(6, 1, 0);
  check_count(7);
  put64(ENTRY_OF(RELA_SIZE), 0);
  put64(ENTRY_OF(JMPREL_SIZE), 0);
  check_count(0);
}

static void symbols_of_the_old_hash_table(void **state) {
  enum { AT = TEXT_END - 8 };
  (void)state;
  count_by(DT_HASH, AT);
  put32(AT, 5);
  put32(AT + 4, 7);
  check_count(7);
  refer(3, 7, 0);
  check_count(8);
  put64(ENTRY_OF(GNU_HASH), AT + 4); /* it lies outside: relocations alone count */
  check_count(8);
  put64(ENTRY_OF(GNU_HASH), AT + 2);
  CHECK_FILE("a table is not aligned");
  put64(ENTRY_OF(GNU_HASH), HASH_TABLE + 2);
  CHECK_FILE("a table is not aligned");
}

/* A table of hashes: of these many buckets, this first symbol, this size of the filter, behind
 * which the words are. */
static void put_hashes(size_t at, uint32_t buckets, uint32_t first, uint32_t filter,
                       const uint32_t *words, size_t count) {
  const uint32_t head[] = {buckets, first, filter, 0};
  put(at, head, sizeof head);
  put(at + sizeof head + (size_t)filter * 8, words, count * sizeof *words);
}

static void symbols_of_the_table_of_hashes(void **state) {
  static const uint32_t words[] = {4, 2, 0, 1, 3, 2, 3};
  enum { COUNT = sizeof words / sizeof words[0] };
  (void)state;
  count_by(DT_GNU_HASH, HASH_TABLE);
  put_hashes(HASH_TABLE, 3, 2, 0, words, COUNT); /* symbols 2 to 5; the last two are in one chain */
  put32(HASH_TABLE + 16 + 4 * 3 + 4 * 2, 2);
  check_count(6);
  put_hashes(HASH_TABLE, 3, 2, 3, words, COUNT);
  put32(HASH_TABLE + 16 + 8 * 3 + 4 * 3 + 4 * 2, 2);
  check_count(6);
  refer(6, 0, 0);
  check_count(7);
  refer(0, 0, 7);
  check_count(8);
}

/* No symbol is defined: the number of the first one that could be. */
static void only_symbols_that_are_asked_for(void **state) {
  static const uint32_t none[] = {0, 0};
  (void)state;
  count_by(DT_GNU_HASH, TEXT_END - 16);
  put_hashes(TEXT_END - 16, 0, 5, 0, NULL, 0);
  check_count(5);
  count_by(DT_GNU_HASH, HASH_TABLE);
  put_hashes(HASH_TABLE, 1, 5, 1, none, 2);
  check_count(5);
}

/* The first symbol that a hash leads to is the first of the table. */
static void a_chain_of_one_symbol(void **state) {
  static const uint32_t words[] = {3, 21};
  (void)state;
  count_by(DT_GNU_HASH, HASH_TABLE);
  put_hashes(HASH_TABLE, 1, 3, 0, words, 2);
  check_count(4);
}

/* It ends where the file does. */
static void a_chain_without_an_end(void **state) {
  static const uint32_t words[] = {3, 2, 2, 2};
  (void)state;
  count_by(DT_GNU_HASH, TEXT_END - 32);
  put_hashes(TEXT_END - 32, 1, 3, 0, words, 4);
  check_count(7);
}

static void hash_tables_outside_of_the_file(void **state) {
  (void)state;
  count_by(DT_GNU_HASH, TEXT_END - 12);
  CHECK_FILE(SYMBOLS);
  count_by(DT_GNU_HASH, TEXT_END - 20);
  put_hashes(TEXT_END - 20, 1, 3, 0, NULL, 0);
  check_count(3);
  put_hashes(TEXT_END - 20, 2, 3, 0, NULL, 0);
  CHECK_FILE(SYMBOLS);
  count_by(DT_GNU_HASH, TEXT_END - 20);
  put_hashes(TEXT_END - 20, 0, 3, 1, NULL, 0);
  CHECK_FILE(SYMBOLS);
}

static void symbol_tables_outside_of_the_file(void **state) {
  enum { SIZE = SYMBOL_COUNT * sizeof(Elf64_Sym) };
  (void)state;
  put64(ENTRY_OF(SYMTAB), TEXT_END - SIZE);
  CHECK_FILE(READ);
  put64(ENTRY_OF(SYMTAB), TEXT_END - SIZE + 8);
  CHECK_FILE(SYMBOLS);
  put64(ENTRY_OF(SYMTAB), SYMBOL_TABLE + 4);
  CHECK_FILE(SYMBOLS);
}

/* ---- versions */

static void version_tables_outside_of_the_file(void **state) {
  enum { SIZE = SYMBOL_COUNT * sizeof(Elf64_Half) };
  (void)state;
  put64(ENTRY_OF(VERSYM), TEXT_END - SIZE);
  CHECK_FILE(READ);
  put64(ENTRY_OF(VERSYM), TEXT_END - SIZE + 2);
  CHECK_FILE(TABLE);
  put64(ENTRY_OF(VERSYM), VERSION_TABLE + 1);
  CHECK_FILE(TABLE);
}

/* Where a further entry of the library that is asked first would be, and of others. */
static void names_of_versions_outside_of_the_file(void **state) {
  static const struct {
    size_t at;
    uint64_t value;
    int bytes;
    const char *says;
  } rows[] = {
      {ENTRY_OF(VERNEED), TEXT_END - 15, 8, VERSIONS},
      {ENTRY_OF(VERNEED), NEEDS + 2, 8, VERSIONS},
      {NEEDS + offsetof(Elf64_Verneed, vn_aux), TEXT_END - 16 - NEEDS, 4, READ},
      {NEEDS + offsetof(Elf64_Verneed, vn_aux), TEXT_END - 12 - NEEDS, 4, VERSIONS},
      {NEEDS + offsetof(Elf64_Verneed, vn_aux), 34, 4, VERSIONS},
      {NEEDS + offsetof(Elf64_Verneed, vn_next), TEXT_END - 16 - NEEDS, 4, READ},
      {NEEDS + offsetof(Elf64_Verneed, vn_next), TEXT_END - 12 - NEEDS, 4, VERSIONS},
      {NEEDS + 32 + offsetof(Elf64_Vernaux, vna_next), TEXT_END - 12 - NEEDS - 32, 4, VERSIONS},
      {ENTRY_OF(VERDEF), DEFINITIONS + 2, 8, VERSIONS},
      {ENTRY_OF(VERDEF), TEXT_END - 16, 8, VERSIONS},
      {DEFINITIONS + offsetof(Elf64_Verdef, vd_aux), TEXT_END - 8 - DEFINITIONS, 4, READ},
      {DEFINITIONS + offsetof(Elf64_Verdef, vd_aux), TEXT_END - 4 - DEFINITIONS, 4, VERSIONS},
      {DEFINITIONS + offsetof(Elf64_Verdef, vd_next), TEXT_END - 16 - DEFINITIONS, 4, VERSIONS},
      {ENTRY_OF(VERNEED), 0, 8, READ}, /* there is none */
      {ENTRY_OF(VERDEF), 0, 8, READ},
  };
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    put(rows[i].at, &rows[i].value, (size_t)rows[i].bytes);
    CHECK_FILE(rows[i].says);
  }
}

/* Which names are read where counts or distances say that there are fewer. */
static void lists_of_versions_end(void **state) {
  static const struct {
    size_t at;
    uint64_t value;
    int bytes;
    const char *names[SYMBOL_COUNT]; /* of the three that are asked for, of the two definitions */
  } rows[] = {
      {ENTRY_OF(VERNEED_COUNT), 1, 8, {"ASKED", "AGAIN", NULL, "OLD", "NEW"}},
      {ENTRY_OF(VERNEED_COUNT), 0, 8, {NULL, NULL, NULL, "OLD", "NEW"}},
      {ENTRY_OF(VERNEED_COUNT), UINT64_MAX, 8, {"ASKED", "AGAIN", "ELSEWHERE", "OLD", "NEW"}},
      {NEEDS + offsetof(Elf64_Verneed, vn_next), 0, 4, {"ASKED", "AGAIN", NULL, "OLD", "NEW"}},
      {NEEDS + offsetof(Elf64_Verneed, vn_cnt), 1, 2, {"ASKED", NULL, "ELSEWHERE", "OLD", "NEW"}},
      {NEEDS + offsetof(Elf64_Verneed, vn_cnt), 0, 2, {NULL, NULL, "ELSEWHERE", "OLD", "NEW"}},
      {NEEDS + offsetof(Elf64_Verneed, vn_cnt),
       9,
       2,
       {"ASKED", "AGAIN", "ELSEWHERE", "OLD", "NEW"}},
      {NEEDS + 32 + offsetof(Elf64_Vernaux, vna_next),
       0,
       4,
       {"ASKED", NULL, "ELSEWHERE", "OLD", "NEW"}},
      {ENTRY_OF(VERDEF_COUNT), 2, 8, {"ASKED", "AGAIN", "ELSEWHERE", "OLD", NULL}},
      {ENTRY_OF(VERDEF_COUNT), UINT64_MAX, 8, {"ASKED", "AGAIN", "ELSEWHERE", "OLD", "NEW"}},
      {DEFINITIONS + offsetof(Elf64_Verdef, vd_next),
       0,
       4,
       {"ASKED", "AGAIN", "ELSEWHERE", NULL, NULL}},
      {DEFINITIONS + 28 + offsetof(Elf64_Verdef, vd_flags),
       VER_FLG_BASE,
       2,
       {"ASKED", "AGAIN", "ELSEWHERE", NULL, "NEW"}},
      {VERSION_TABLE + ASKED_ELSEWHERE * sizeof(Elf64_Half),
       5,
       2,
       {"ASKED", "AGAIN", "AGAIN", "OLD", "NEW"}},
      /* versions that no symbol has; a mark beside the number */
      {NEEDS + 32 + offsetof(Elf64_Vernaux, vna_other),
       7,
       2,
       {NULL, "AGAIN", "ELSEWHERE", "OLD", "NEW"}},
      {NEEDS + 32 + offsetof(Elf64_Vernaux, vna_other),
       4 | 0x8000,
       2,
       {"ASKED", "AGAIN", "ELSEWHERE", "OLD", "NEW"}},
  };
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    make_file();
    put(rows[i].at, &rows[i].value, (size_t)rows[i].bytes);
    struct tm_image *image = read_file();
    if (image == NULL) fail_msg("row %zu: %s", i, said);
    for (size_t number = ASKED; number <= NEW; number++)
      check_version(image, number, rows[i].names[number - ASKED]);
    drop(image);
  }
}

#define FILE_TEST(test) cmocka_unit_test_setup(test, set_up)

int main(void) {
  const struct CMUnitTest tests[] = {
      FILE_TEST(symbols_are_found_by_name_and_version),
      FILE_TEST(symbols_of_a_file_without_versions),
      FILE_TEST(an_old_symbol_alone),
      FILE_TEST(what_an_image_asks_for),
      FILE_TEST(which_function_an_offset_lies_in),
      FILE_TEST(symbols_that_relocations_name),
      FILE_TEST(symbols_of_the_old_hash_table),
      FILE_TEST(symbols_of_the_table_of_hashes),
      FILE_TEST(only_symbols_that_are_asked_for),
      FILE_TEST(a_chain_of_one_symbol),
      FILE_TEST(a_chain_without_an_end),
      FILE_TEST(hash_tables_outside_of_the_file),
      FILE_TEST(symbol_tables_outside_of_the_file),
      FILE_TEST(version_tables_outside_of_the_file),
      FILE_TEST(names_of_versions_outside_of_the_file),
      FILE_TEST(lists_of_versions_end),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
