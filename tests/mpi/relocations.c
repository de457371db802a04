/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What becomes of the relocations of a file (src/tmpi/loader/relocate.c): which ones become records
 * of each rank, and choices, where ranks' symbols are looked for, and what is refused.
 */
#include "bound_file.h"

static void check_records(const struct tm_record *expected, size_t count) {
  assert_int_equal(bindings.record_count, count);
  assert_int_equal(bindings.copy_count + bindings.choice_count, 0);
  for (size_t i = 0; i < count; i++) {
    assert_int_equal(bindings.records[i].at, PLACE + expected[i].at);
    assert_int_equal(bindings.records[i].value, expected[i].value);
  }
}

/* ---- addresses in the image itself */

static void a_relative_address_differs_from_rank_to_rank(void **state) {
  const Elf64_Rela relas[] = {{WORD, R_X86_64_RELATIVE, INIT},
                              {WORD, R_X86_64_NONE, 0},
                              {MEMORY_END - 8, R_X86_64_RELATIVE, ARRAYS}};
  const struct tm_record records[] = {{WORD, PLACE + INIT}, {MEMORY_END - 8, PLACE + ARRAYS}};
  (void)state;
  put_relocations(relas, sizeof relas / sizeof relas[0]);
  BIND(BOUND);
  check_records(records, 2);
}

static void relocations_stay_in_the_data(void **state) {
  static const size_t outside[] = {DATA - 8, MEMORY_END - 7, 0, SPAN};
  (void)state;
  for (size_t i = 0; i < sizeof outside / sizeof outside[0]; i++) {
    const Elf64_Rela rela = {outside[i], R_X86_64_RELATIVE, INIT};
    put_relocations(&rela, 1);
    BIND("the file is damaged: a relocation lies outside");
    again();
    put_no_relocations(); /* the same in the table of relative ones */
    put64(ENTRY_OF(RELR_SIZE), 8);
    put64(RELATIVE, outside[i]);
    if (outside[i] % 2 == 0) BIND("the file is damaged: a relocation lies outside");
    again();
  }
}

/* Those of functions are in a table of their own. */
static void both_tables_of_relocations_are_read(void **state) {
  const Elf64_Rela relas[] = {{WORD, R_X86_64_RELATIVE, INIT}, {WORD + 8, R_X86_64_RELATIVE, INIT}};
  const struct tm_record records[] = {{WORD, PLACE + INIT}, {WORD + 8, PLACE + INIT}};
  (void)state;
  put_relocations(relas, 2);
  put64(ENTRY_OF(RELA_SIZE), sizeof relas[0]);
  put64(ENTRY_OF(JMPREL), MORE + sizeof relas[0]);
  put64(ENTRY_OF(JMPREL_SIZE), sizeof relas[0]);
  BIND(BOUND);
  check_records(records, 2);
  again();
  put_relocation(0, R_X86_64_TPOFF64, 0); /* in the first one alone */
  put64(ENTRY_OF(JMPREL), MORE);
  put64(ENTRY_OF(JMPREL_SIZE), 24);
  put64(ENTRY_OF(RELA_SIZE), 0);
  BIND("at fixed places");
}

/* An address, two bitmaps of 63 words each behind it, and another address. */
static void a_bitmap_names_the_words_behind_an_address(void **state) {
  enum { FAR = WORD + 0x600 };
  const uint64_t words[] = {WORD, 1 | 1UL << 1 | 1UL << 2 | 1UL << 63, 1 | 1UL << 1, FAR,
                            1 | 1UL << 3};
  const size_t addresses[] = {WORD,          WORD + 8, WORD + 16, WORD + 63 * 8,
                              WORD + 64 * 8, FAR,      FAR + 24};
  enum { COUNT = sizeof addresses / sizeof addresses[0] };
  struct tm_record records[COUNT];
  (void)state;
  put_no_relocations();
  put64(ENTRY_OF(RELR), MORE);
  put64(ENTRY_OF(RELR_SIZE), sizeof words);
  put(MORE, words, sizeof words);
  for (size_t i = 0; i < COUNT; i++) records[i] = (struct tm_record){addresses[i], PLACE};
  put64(LOCALS - DATA + DATA_FILE, INIT); /* words of data from the file have addends */
  read_application();
  uint64_t addend = INIT;
  memcpy(images[0]->pristine + FAR, &addend, sizeof addend);
  records[COUNT - 2].value = PLACE + INIT;
  assert_true(bind_application());
  check_records(records, COUNT);
  again();
  put_no_relocations(); /* a bitmap's words stay in the data, too */
  put64(ENTRY_OF(RELR_SIZE), 16);
  put64(RELATIVE, MEMORY_END - 16);
  put64(RELATIVE + 8, 1 | 1UL << 1);
  put64(ENTRY_OF(RELR), RELATIVE);
  BIND(BOUND);
  again();
  put_no_relocations();
  put64(ENTRY_OF(RELR_SIZE), 16);
  put64(RELATIVE, MEMORY_END - 16);
  put64(RELATIVE + 8, 1 | 1UL << 2);
  BIND("the file is damaged: a relocation lies outside");
}

/* ---- symbols of ranks */

static void a_symbol_of_its_own_is_the_image_s(void **state) {
  const struct tm_record local = {WORD, PLACE + INIT + 32 + 4}, null = {WORD, PLACE + 4},
                         hidden = {WORD, PLACE + ARRAYS + 4};
  (void)state;
  read_library("object");
  put_relocation(LOCAL, R_X86_64_64, 4);
  BIND(BOUND);
  check_records(&local, 1);
  again();
  put_relocation(0, R_X86_64_64, 4);
  BIND(BOUND);
  check_records(&null, 1);
  again();
  read_library("object");
  put16(SYMBOL_TABLE + OBJECT * sizeof(Elf64_Sym) + 4, STB_GLOBAL << 4 | STV_HIDDEN << 8);
  put_relocation(OBJECT, R_X86_64_64, 4);
  bindings.override = override;
  BIND(BOUND);
  check_records(&hidden, 1);
}

/* The first image that has it, in the order of the search. */
static void a_symbol_is_looked_for_in_all_images(void **state) {
  const struct tm_record own = {WORD, PLACE + ARRAYS}, theirs = {WORD, OTHER_PLACE + ARRAYS},
                         function = {WORD, OTHER_PLACE + INIT + 8};
  (void)state;
  read_library("object");
  put_relocation(OBJECT, R_X86_64_GLOB_DAT, 0);
  BIND(BOUND);
  check_records(&own, 1);
  again();
  read_library("object");
  put_relocation(OBJECT, R_X86_64_GLOB_DAT, 0);
  read_application();
  struct tm_image *library = images[1], *application = images[0];
  images[0] = library; /* it stands before the application */
  images[1] = application;
  bindings.scope = images;
  bindings.scope_count = 2;
  assert_true(tm_bind_image(&bindings, application));
  check_records(&theirs, 1);
  again();
  read_library("object");
  bindings.override = override; /* what ranks have themselves stands before it */
  put_relocation(ASKED, R_X86_64_JUMP_SLOT, 0);
  BIND(BOUND);
  check_records(&function, 1);
}

static void a_symbolic_image_looks_at_itself_first(void **state) {
  const struct tm_record own = {WORD, PLACE + ARRAYS}, theirs = {WORD, OTHER_PLACE + INIT + 8};
  (void)state;
  for (uint32_t symbol = ASKED; symbol <= OBJECT; symbol += OBJECT - ASKED) {
    read_library("object");
    put64(ENTRY_OF(FLAGS), DF_SYMBOLIC);
    put_relocation(symbol, R_X86_64_64, 0);
    read_application();
    struct tm_image *scope[] = {images[1]};
    bindings.scope = scope;
    bindings.scope_count = 1;
    assert_true(tm_bind_image(&bindings, images[0]));
    check_records(symbol == OBJECT ? &own : &theirs, 1);
    again();
  }
}

/* A function of the image that returns the address of another one. */
static void functions_choose_functions(void **state) {
  (void)state;
  const Elf64_Rela relas[] = {{WORD, R_X86_64_IRELATIVE, INIT + 4},
                              {WORD + 8, ELF64_R_INFO((Elf64_Xword)OBJECT, R_X86_64_64), 0}};
  put_relocations(relas, 2);
  put16(SYMBOL_TABLE + OBJECT * sizeof(Elf64_Sym) + 4, STB_GLOBAL << 4 | STT_GNU_IFUNC);
  BIND(BOUND);
  assert_true(bindings.choice_count == 2 && bindings.record_count == 0);
  assert_true(bindings.choices[0].at == PLACE + WORD);
  assert_true(bindings.choices[0].function == PLACE + INIT + 4 && !bindings.choices[0].known);
  assert_true(bindings.choices[1].at == PLACE + WORD + 8);
  assert_true(bindings.choices[1].function == PLACE + ARRAYS && !bindings.choices[1].known);
}

/* A relocation writes over the symbol of the next one: numbers are checked when they are used. */
static void a_relocation_that_another_one_has_changed(void **state) {
  enum { TABLE_AT = DATA + 0x480, ENTRY_SIZE = sizeof(Elf64_Rela) };
  static const uint32_t types[] = {R_X86_64_64, R_X86_64_COPY};
  (void)state;
  for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
    const Elf64_Sxword info =
        (Elf64_Sxword)ELF64_R_INFO((Elf64_Xword)SYMBOL_COUNT, types[i]) - (INIT + 32);
    const Elf64_Rela relas[] = {{TABLE_AT + ENTRY_SIZE + offsetof(Elf64_Rela, r_info),
                                 ELF64_R_INFO((Elf64_Xword)LOCAL, R_X86_64_DTPOFF64), info},
                                {WORD, R_X86_64_NONE, 0}};
    put_no_relocations();
    put(TABLE_AT - DATA + DATA_FILE, relas, sizeof relas);
    put64(ENTRY_OF(RELA), TABLE_AT);
    put64(ENTRY_OF(RELA_SIZE), sizeof relas);
    BIND("program: the file is damaged: no symbol 8 (build it again)");
    again();
  }
}

/* ---- thread-local variables */

static void thread_locals_are_reached_by_module_and_offset(void **state) {
  const Elf64_Rela relas[] = {{WORD + 8, ELF64_R_INFO((Elf64_Xword)LOCAL, R_X86_64_DTPMOD64), 0},
                              {WORD, ELF64_R_INFO((Elf64_Xword)LOCAL, R_X86_64_DTPOFF64), 4}};
  const struct tm_record module = {WORD + 8, LOCALS_PLACE};
  (void)state;
  put_relocations(relas, 2);
  BIND(BOUND);
  check_records(&module, 1);
  assert_int_equal(word(), INIT + 32 + 4);
}

static void relocations_that_are_refused(void **state) {
  static const struct {
    uint32_t symbol, type;
    const char *says;
  } rows[] = {
      {ASKED, R_X86_64_DTPMOD64, "it uses a thread-local variable of a library that all ranks"},
      {ASKED, R_X86_64_DTPOFF64, "it uses a thread-local variable of a library that all ranks"},
      {LOCAL, R_X86_64_TPOFF64, "its thread-local variables are at fixed places"},
      {LOCAL, R_X86_64_TLSDESC, "it keeps distances of thread-local variables"},
      {LOCAL, R_X86_64_PC32, "relocations of type 2 are not known (build it by tmpicc)"},
  };
  (void)state;
  versions_asked = "ASKED";
  first_of_name = of_version = file;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    put_relocation(rows[i].symbol, rows[i].type, 0);
    check_binding(__LINE__, rows[i].says);
    again();
  }
  first_of_name = of_version = NULL;
  put_relocation(ASKED, R_X86_64_DTPMOD64, 0); /* nobody has it */
  BIND("it needs 'asked': no library has it");
  again();
  put_relocation(ASKED, R_X86_64_DTPOFF64, 0);
  BIND("it needs 'asked': no library has it");
}

/* ---- the heap */

static void no_memory_for_what_relocations_become(void **state) {
  static const uint32_t types[] = {R_X86_64_RELATIVE, R_X86_64_IRELATIVE, R_X86_64_COPY};
  (void)state;
  for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
    read_library("object");
    put_relocation(types[i] == R_X86_64_COPY ? OBJECT : 0, types[i], 0);
    read_application();
    memory_is_out = true;
    assert_false(bind_application());
    memory_is_out = false;
    assert_non_null(strstr(said, "the program: no memory for its relocations (free some)"));
    again();
  }
}

/* More than there is room for at first. */
static void many_relocations(void **state) {
  enum { ROOM_AT_FIRST = 1024, TABLE_AT = FILE_SIZE, COUNT = ROOM_AT_FIRST * 3 + 8 };
  (void)state;
  put_relocation(0, R_X86_64_RELATIVE, INIT);
  read_application();
  for (size_t i = 0; i < COUNT; i++) assert_true(bind_application());
  assert_int_equal(bindings.record_count, COUNT);
  for (size_t i = 0; i < COUNT; i++) assert_int_equal(bindings.records[i].value, PLACE + INIT);
  assert_in_range(bindings.record_room, COUNT, 2 * COUNT + ROOM_AT_FIRST);
}

/* ---- a whole program */

static const char *relocate_program(void) {
  struct tm_program program = {.images = images, .image_count = images[1] != NULL ? 2 : 1};
  program.override = override;
  said[0] = '\0';
  tm_refuse_into(said);
  bool good = tm_program_relocate(&program);
  tm_refuse_into(NULL);
  bindings = program.bindings;
  assert_int_equal(good, said[0] == '\0');
  return said;
}

/* What tmpicc has linked says so, and is no stock PIE. */
static void mark_application(bool is_marked, uint64_t flags) {
  put_relocation(ASKED, R_X86_64_64, 0);
  if (is_marked) put32(SYMBOL_TABLE + OBJECT * sizeof(Elf64_Sym), string_of("tmpi_program"));
  put64(ENTRY_OF(SPARE) - 8, DT_FLAGS_1);
  put64(ENTRY_OF(SPARE), flags);
  read_application();
}

/* All images are searched: a function of a library stands before what tmpirun has. */
static void a_library_has_thread_locals(void **state) {
  const struct tm_record function = {WORD, OTHER_PLACE + INIT + 8};
  (void)state;
  mark_application(true, 0);
  put_no_relocations();
  read_library("object");
  assert_string_equal(relocate_program(), "");
  check_records(&function, 1);
}

static void thread_locals_of_a_program_that_tmpicc_has_not_linked(void **state) {
  static const char *const refused =
      "it has thread-local variables and was not linked by tmpicc: ranks would share them (link it";
  (void)state;
  mark_application(true, 0);
  assert_string_equal(relocate_program(), "");
  assert_int_equal(word(), (uintptr_t)&found_instead);
  again();
  mark_application(true, DF_1_PIE);
  assert_non_null(strstr(relocate_program(), refused));
  again();
  mark_application(false, 0);
  assert_non_null(strstr(relocate_program(), refused));
  again();
  put32(HEADER(THREAD_LOCAL, p_type), PT_NULL); /* it has none */
  mark_application(false, 0);
  assert_string_equal(relocate_program(), "");
}

static void a_heap_beside_libc_s(void **state) {
  static const struct {
    const char *first, *second;
    bool refused;
  } rows[] = {{"malloc", "free", true}, {"malloc", "other", false}, {"other", "free", false}};
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    put32(HEADER(THREAD_LOCAL, p_type), PT_NULL);
    put64(ENTRY_OF(VERSYM) - 8, DT_DEBUG);
    put32(SYMBOL_TABLE + NEW * sizeof(Elf64_Sym), string_of(rows[i].first));
    put32(SYMBOL_TABLE + OBJECT * sizeof(Elf64_Sym), string_of(rows[i].second));
    put_relocation(0, R_X86_64_RELATIVE, 0);
    read_application();
    assert_int_equal(strstr(relocate_program(), "it has a malloc() of its own") != NULL,
                     rows[i].refused);
    again();
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      RELOCATION_TEST(a_relative_address_differs_from_rank_to_rank),
      RELOCATION_TEST(relocations_stay_in_the_data),
      RELOCATION_TEST(both_tables_of_relocations_are_read),
      RELOCATION_TEST(a_bitmap_names_the_words_behind_an_address),
      RELOCATION_TEST(a_symbol_of_its_own_is_the_image_s),
      RELOCATION_TEST(a_symbol_is_looked_for_in_all_images),
      RELOCATION_TEST(a_symbolic_image_looks_at_itself_first),
      RELOCATION_TEST(functions_choose_functions),
      RELOCATION_TEST(a_relocation_that_another_one_has_changed),
      RELOCATION_TEST(thread_locals_are_reached_by_module_and_offset),
      RELOCATION_TEST(relocations_that_are_refused),
      RELOCATION_TEST(no_memory_for_what_relocations_become),
      RELOCATION_TEST(many_relocations),
      RELOCATION_TEST(a_library_has_thread_locals),
      RELOCATION_TEST(thread_locals_of_a_program_that_tmpicc_has_not_linked),
      RELOCATION_TEST(a_heap_beside_libc_s),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
