/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the loader reads of an ELF file, byte by byte (src/tmpi/loader/image.c, symbols.c, notes.c):
 * the values that it takes, where each table may end, which values are refused, and what is given
 * back then. The file is in memory, and the memory it is read into ends where no page is.
 */
#include "elf_file.h"

#include "captured.h"

/* ---- what is read */

static void check_table(const struct tm_table *table, size_t at, size_t size) {
  assert_int_equal(table->at, at);
  assert_int_equal(table->size, size);
}

static void what_a_file_says(void **state) {
  (void)state;
  stamp = 5;
  struct tm_image *image = read_file();
  assert_non_null(image);
  assert_string_equal(image->path, "program");
  assert_true(image->device == 11 && image->inode == 12 && image->stamp == 5);
  assert_true(image->span == SPAN && image->align == FILE_PAGE && image->segment_count == 2);
  const struct tm_segment *text = &image->segments[0], *data = &image->segments[1];
  assert_true(text->start == 0 && text->file_end == TEXT_END && text->end == TEXT_END);
  assert_true(text->file_offset == 0 && !text->writable && text->executable);
  assert_true(data->start == DATA && data->file_end == DATA_END && data->end == MEMORY_END);
  assert_true(data->file_offset == DATA_FILE && data->writable && !data->executable);
  assert_memory_equal(image->pristine, file, TEXT_END);
  assert_memory_equal(image->pristine + DATA, file + DATA_FILE, DATA_END - DATA);
  for (size_t i = DATA_END; i < SPAN + FILE_PAGE; i++) assert_int_equal(image->pristine[i], 0);
  assert_true(image->entry == ENTRY && image->headers == HEADERS &&
              image->header_count == HEADER_COUNT);
  assert_true(image->is_executable && !image->runs_code_on_stack && !image->is_symbolic);
  assert_true(image->tls_start == LOCALS && image->tls_file_size == 16 && image->tls_size == 32);
  assert_true(image->tls_align == 8 && image->unwind == UNWIND);
  assert_true(image->bindings == NOTE && image->bindings_size == 8);
  assert_true(image->init == INIT && image->fini == INIT + 4);
  check_table(&image->strings, STRINGS, string_size);
  check_table(&image->symbols, SYMBOL_TABLE, SYMBOL_COUNT * sizeof(Elf64_Sym));
  check_table(&image->relocations, RELOCATIONS, 2 * sizeof(Elf64_Rela));
  check_table(&image->plt_relocations, PLT_RELOCATIONS, sizeof(Elf64_Rela));
  check_table(&image->relative, RELATIVE, 8);
  check_table(&image->preinit_array, ARRAYS + 32, 8);
  check_table(&image->init_array, ARRAYS, 16);
  check_table(&image->fini_array, ARRAYS + 16, 8);
  check_table(&image->versions, VERSION_TABLE, SYMBOL_COUNT * sizeof(Elf64_Half));
  assert_false(tm_image_has_changed(image));
  stamp = 6;
  assert_true(tm_image_has_changed(image));
  drop(image);
}

static void marks_of_a_file(void **state) {
  (void)state;
  put32(HEADER(STACK, p_flags), PF_R | PF_W | PF_X);
  put32(HEADER(INTERPRETER, p_type), PT_NULL);
  put64(HEADER(THREAD_LOCAL, p_align), 0);
  put64(ENTRY_OF(FLAGS), DF_STATIC_TLS | DF_SYMBOLIC);
  struct tm_image *image = read_file();
  assert_true(image->runs_code_on_stack && !image->is_executable && image->is_symbolic);
  assert_int_equal(image->tls_align, 1);
  assert_true(tm_image_has_static_tls(image));
  drop(image);
  make_file();
  put64(ENTRY_OF(SPARE) - 8, DT_SYMBOLIC);
  image = read_file();
  assert_true(image->is_symbolic && !tm_image_has_static_tls(image));
  drop(image);
  make_file();
  put64(ENTRY_OF(STRTAB) - 8, DT_SYMBOLIC); /* the first one */
  image = read_file();
  assert_true(image->is_symbolic);
  drop(image);
}

static void where_bytes_lie(void **state) {
  (void)state;
  put64(HEADER(SEGMENT, p_type), PT_LOAD | (uint64_t)PF_R << 32); /* one byte, the file's last */
  put64(HEADER(SEGMENT, p_vaddr), SPAN + 0x6ff);
  put64(HEADER(SEGMENT, p_offset), FILE_SIZE - 1);
  put64(HEADER(SEGMENT, p_filesz), 1);
  put64(HEADER(SEGMENT, p_memsz), 1);
  struct tm_image *image = read_file();
  assert_int_equal(image->span, SPAN + FILE_PAGE);
  assert_int_equal(image->pristine[SPAN + 0x6ff], file[FILE_SIZE - 1]);
  assert_true(tm_image_inside(image, SPAN + FILE_PAGE, 0));
  assert_true(tm_image_inside(image, SPAN + FILE_PAGE - 1, 1));
  assert_false(tm_image_inside(image, SPAN + FILE_PAGE, 1));
  assert_false(tm_image_inside(image, SPAN + FILE_PAGE + 1, 0));
  assert_true(tm_image_in_file(image, 0, TEXT_END) && tm_image_in_file(image, TEXT_END - 8, 8));
  assert_true(tm_image_in_file(image, DATA, DATA_END - DATA) &&
              tm_image_in_file(image, DATA_END, 0));
  assert_true(tm_image_in_file(image, SPAN + 0x6ff, 1));
  assert_false(tm_image_in_file(image, TEXT_END - 8, 9) ||
               tm_image_in_file(image, TEXT_END + 1, 0));
  assert_false(tm_image_in_file(image, DATA - 1, 1) || tm_image_in_file(image, DATA_END, 1));
  assert_true(tm_image_writable(image, DATA, MEMORY_END - DATA));
  assert_true(tm_image_writable(image, MEMORY_END - 1, 1));
  assert_false(tm_image_writable(image, 0, 1) || tm_image_writable(image, SPAN + 0x6ff, 1));
  assert_false(tm_image_writable(image, DATA - 1, 1) ||
               tm_image_writable(image, MEMORY_END - 1, 2));
  assert_false(tm_image_writable(image, MEMORY_END, 0));
  assert_string_equal(tm_image_string(image, string_of("asked")), "asked");
  assert_string_equal(tm_image_string(image, string_size), ""); /* there is more text behind them */
  assert_true(tm_image_is_loaded(image, 1));
  image->opened = __wrap_calloc(2, 1);
  image->opened[1] = 1;
  assert_true(tm_image_is_loaded(image, 1) && !tm_image_is_loaded(image, 0));
  image->needs = __wrap_calloc(1, sizeof *image->needs); /* what others have added */
  image->maps = __wrap_calloc(1, 1);
  image->name = __wrap_strdup("name");
  drop(image);
  put32(HEADER(TEXT, p_flags), PF_R | PF_W);
  image = read_file();
  assert_true(tm_image_writable(image, 0, 1));
  drop(image);
}

/* ---- what is refused: headers */

static void headers(void **state) {
  static const struct {
    size_t at, bytes;
    uint64_t value;
    const char *says;
  } rows[] = {
      {0, 1, 'x', "it is no ELF file (name a program built by tmpicc, tmpicxx or tmpifort)"},
      {3, 1, 'x', "it is no ELF file"},
      {EI_CLASS, 1, ELFCLASS32, "it is not for this processor"},
      {EI_DATA, 1, ELFDATA2MSB, "it is not for this processor"},
      {offsetof(Elf64_Ehdr, e_machine), 2, MT_ARCH_ELF_MACHINE + 1, "it is not for this processor"},
      {offsetof(Elf64_Ehdr, e_type), 2, ET_EXEC,
       "it has a fixed address, and each rank needs a copy"},
      {offsetof(Elf64_Ehdr, e_type), 2, ET_REL, "it is not linked (link it by tmpicc)"},
      {offsetof(Elf64_Ehdr, e_phentsize), 2, 57, "its program headers cannot be read"},
      {offsetof(Elf64_Ehdr, e_phoff), 8, FILE_SIZE, "its program headers cannot be read"},
      {offsetof(Elf64_Ehdr, e_phnum), 2, 0, "it has nothing to load"},
      {offsetof(Elf64_Ehdr, e_entry), 8, SPAN, "its entry lies outside of it"},
      {offsetof(Elf64_Ehdr, e_entry), 8, SPAN - 1, READ},
      {HEADER(DYNAMIC, p_type), 4, PT_NULL, "it is statically linked (link it by tmpicc)"},
  };
  (void)state;
  CHECK_FILE(READ);
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    put(rows[i].at, &rows[i].value, rows[i].bytes);
    CHECK_FILE(rows[i].says);
  }
  put16(offsetof(Elf64_Ehdr, e_phnum), 0);
  file_size = sizeof(Elf64_Ehdr);
  CHECK_FILE("it has nothing to load");
  file_size = sizeof(Elf64_Ehdr) - 1;
  CHECK_FILE("it is no ELF file");
}

/* Sixty-four of them, and where they end. */
static void where_headers_may_be(void **state) {
  enum { MOST = 64, SIZE = sizeof(Elf64_Phdr), LAST = SPAN - HEADER_COUNT * SIZE };
  (void)state;
  move_headers(FILE_SIZE);
  put16(offsetof(Elf64_Ehdr, e_phnum), MOST);
  file_size = FILE_SIZE + MOST * SIZE;
  CHECK_FILE(READ);
  move_headers(FILE_SIZE);
  put16(offsetof(Elf64_Ehdr, e_phnum), MOST + 1);
  file_size = FILE_SIZE + (MOST + 1) * SIZE;
  CHECK_FILE("its program headers cannot be read");
  move_headers(LAST);
  CHECK_FILE(READ);
  move_headers(LAST + 8);
  CHECK_FILE("its entry lies outside of it");
}

/* ---- segments */

/* A further segment, of some bytes of the file, and of one byte in memory. */
static void add_segment(size_t address, size_t offset, size_t bytes) {
  put64(HEADER(SEGMENT, p_type), PT_LOAD | (uint64_t)PF_R << 32);
  put64(HEADER(SEGMENT, p_vaddr), address);
  put64(HEADER(SEGMENT, p_offset), offset);
  put64(HEADER(SEGMENT, p_filesz), bytes);
  put64(HEADER(SEGMENT, p_memsz), bytes > 0 ? bytes : 1);
}

static void where_segments_may_be(void **state) {
  static const size_t limit = (size_t)1 << 40;
  static const struct {
    size_t address, offset, bytes;
    const char *says;
  } rows[] = {
      {SPAN + 0x700, FILE_SIZE, 0, READ},
      {SPAN + 0x700, FILE_SIZE, 1, OUTSIDE},
      {SPAN + 0x700, FILE_SIZE + FILE_PAGE, 0, OUTSIDE},
      {SPAN + 0x701, FILE_SIZE + 1, 0, OUTSIDE},
      {SPAN + 0x6ff, FILE_SIZE - 1, 2, OUTSIDE},
      {SPAN + 8, FILE_PAGE, 0, OUTSIDE},
      {SPAN, FILE_PAGE, 0, READ},
      {SPAN - FILE_PAGE + 0x700, FILE_SIZE, 0, OUTSIDE}, /* the page of another one */
      {limit, FILE_PAGE, 0, OUTSIDE},
      {limit - FILE_PAGE, FILE_PAGE, 0,
       "no address space for its 1073741824 KiB (a higher ulimit -v)"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    add_segment(rows[i].address, rows[i].offset, rows[i].bytes);
    CHECK_FILE(rows[i].says);
  }
  add_segment(SPAN, FILE_PAGE, 0);
  put64(HEADER(SEGMENT, p_memsz), limit);
  CHECK_FILE(OUTSIDE);
  add_segment(SPAN, FILE_PAGE, 0);
  put64(HEADER(SEGMENT, p_memsz), limit - 1);
  CHECK_FILE("no address space");
  add_segment(SPAN, FILE_PAGE, 8);
  put64(HEADER(SEGMENT, p_memsz), 7);
  CHECK_FILE(OUTSIDE);
}

/* The first one is the beginning. */
static void where_the_first_segment_may_be(void **state) {
  (void)state;
  put64(HEADER(TEXT, p_vaddr), 16);
  put64(HEADER(TEXT, p_offset), 16);
  CHECK_FILE(READ);
  put64(HEADER(TEXT, p_vaddr), FILE_PAGE);
  CHECK_FILE("it was linked for a fixed address (link it by tmpicc)");
  put64(HEADER(DATA_SEGMENT, p_vaddr), 0x100); /* the page of the first one */
  CHECK_FILE(OUTSIDE);
}

static void as_many_segments_as_there_is_room_for(void **state) {
  (void)state;
  for (int more = 0; more < 2; more++) {
    int count = TM_SEGMENTS_MAX - 2 + more;
    move_headers(FILE_SIZE);
    for (int i = 0; i < count; i++) {
      const Elf64_Phdr header = {.p_type = PT_LOAD, .p_vaddr = SPAN + (size_t)i * FILE_PAGE};
      put(FILE_SIZE + (HEADER_COUNT + (size_t)i) * sizeof header, &header, sizeof header);
    }
    put16(offsetof(Elf64_Ehdr, e_phnum), (uint16_t)(HEADER_COUNT + count));
    file_size = FILE_SIZE + (HEADER_COUNT + (size_t)count) * sizeof(Elf64_Phdr);
    CHECK_FILE(more ? "too many segments" : READ);
  }
}

static size_t align_of_file(void) {
  struct tm_image *image = read_file();
  assert_non_null(image);
  size_t align = image->align;
  drop(image);
  return align;
}

static void alignments_of_segments(void **state) {
  static const size_t aligns[] = {0, 1, FILE_PAGE, 2 * FILE_PAGE, (size_t)1 << 40};
  (void)state;
  for (size_t i = 0; i < sizeof aligns / sizeof aligns[0]; i++) {
    put64(HEADER(DATA_SEGMENT, p_align), aligns[i]);
    assert_int_equal(align_of_file(), aligns[i] < FILE_PAGE ? FILE_PAGE : aligns[i]);
  }
  put64(HEADER(DATA_SEGMENT, p_align), (size_t)1 << 41);
  CHECK_FILE("its alignment makes no sense");
  put64(HEADER(DATA_SEGMENT, p_align), (size_t)3 * FILE_PAGE);
  CHECK_FILE("its alignment makes no sense");
}

/* Sections need less than segments say. */
static void alignments_of_sections(void **state) {
  enum { SEGMENTS = 1 << 21, COUNT = 3, SIZE = sizeof(Elf64_Shdr), NEEDED = 2 * FILE_PAGE };
  Elf64_Shdr sections[COUNT] = {{.sh_flags = SHF_ALLOC, .sh_addralign = 8},
                                {.sh_flags = 0, .sh_addralign = 4 * FILE_PAGE},
                                {.sh_flags = SHF_ALLOC, .sh_addralign = NEEDED}};
  (void)state;
  put64(HEADER(DATA_SEGMENT, p_align), SEGMENTS);
  put64(offsetof(Elf64_Ehdr, e_shoff), FILE_SIZE);
  put16(offsetof(Elf64_Ehdr, e_shentsize), SIZE);
  put16(offsetof(Elf64_Ehdr, e_shnum), COUNT);
  put(FILE_SIZE, sections, sizeof sections);
  file_size = FILE_SIZE + sizeof sections;
  assert_int_equal(align_of_file(), NEEDED);
  for (failing_read = 3; failing_read < 3 + COUNT; failing_read++) /* behind those of headers */
    assert_int_equal(align_of_file(), SEGMENTS);
  failing_read = 0;
  file_size--; /* the last one is not there */
  assert_int_equal(align_of_file(), SEGMENTS);
  put64(offsetof(Elf64_Ehdr, e_shoff), FILE_SIZE * 2);
  assert_int_equal(align_of_file(), SEGMENTS);
  put64(offsetof(Elf64_Ehdr, e_shoff), FILE_SIZE);
  file_size++;
  put16(offsetof(Elf64_Ehdr, e_shentsize), SIZE + 1);
  assert_int_equal(align_of_file(), SEGMENTS);
  put16(offsetof(Elf64_Ehdr, e_shentsize), SIZE);
  put64(FILE_SIZE + 2 * SIZE + offsetof(Elf64_Shdr, sh_addralign), NEEDED + 8);
  assert_int_equal(align_of_file(), SEGMENTS);
  put64(FILE_SIZE + 2 * SIZE + offsetof(Elf64_Shdr, sh_addralign), 2 * SEGMENTS);
  assert_int_equal(align_of_file(), SEGMENTS);
  put64(FILE_SIZE + 2 * SIZE + offsetof(Elf64_Shdr, sh_addralign), 8);
  assert_int_equal(align_of_file(), FILE_PAGE);
}

/* ---- what is refused: tables */

static void tables_that_headers_name(void **state) {
  static const struct {
    int header;
    size_t address, bytes;
    const char *says;
  } rows[] = {
      {UNWINDING, SPAN - 0x20, 0x20, READ}, {UNWINDING, SPAN - 0x20, 0x21, TABLE},
      {DYNAMIC, SPAN - 0x10, 0x20, TABLE},  {DYNAMIC, DATA + 4, 0x20, "a table is not aligned"},
      {THREAD_LOCAL, SPAN - 16, 16, READ},  {THREAD_LOCAL, SPAN - 8, 16, TABLE},
      {NOTES, SPAN - 8, 16, READ}, /* passed over */
  };
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    put64(HEADER(rows[i].header, p_vaddr), rows[i].address);
    put64(HEADER(rows[i].header, p_filesz), rows[i].bytes);
    CHECK_FILE(rows[i].says);
  }
}

static void thread_locals(void **state) {
  static const struct {
    size_t bytes, align;
    const char *says;
  } rows[] = {
      {15, 8, "its thread-locals make no sense"},
      {16, 8, READ},
      {(size_t)1 << 32, 8, READ},
      {((size_t)1 << 32) + 1, 8, "its thread-locals make no sense"},
      {16, 12, "its thread-locals make no sense"},
      {16, 1 << 30, READ},
      {16, (size_t)1 << 31, "its thread-locals make no sense"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    put64(HEADER(THREAD_LOCAL, p_memsz), rows[i].bytes);
    put64(HEADER(THREAD_LOCAL, p_align), rows[i].align);
    CHECK_FILE(rows[i].says);
  }
}

/* Code of the subroutines for Fortran that would lie outside does not count. */
static void notes_that_make_no_sense(void **state) {
  static const struct {
    uint32_t start, end;
    size_t found;
  } rows[] = {{SPAN - 8 - NOTE_VALUE, SPAN - NOTE_VALUE - 4, 8},
              {SPAN - 8 - NOTE_VALUE, SPAN - NOTE_VALUE - 3, 0}};
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    put32(NOTE_VALUE, rows[i].start);
    put32(NOTE_VALUE + 4, rows[i].end);
    struct tm_image *image = read_file();
    assert_int_equal(image->bindings_size, rows[i].found);
    assert_int_equal(image->bindings, rows[i].found > 0 ? SPAN - 8 : 0);
    drop(image);
  }
}

static void tables_of_the_dynamic_section(void **state) {
  static const int tables[] = {RELA, JMPREL, RELR, PREINIT_ARRAY, INIT_ARRAY, FINI_ARRAY};
  (void)state;
  for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
    put64(ENTRY_OF(tables[i]), DATA_END - 24);
    put64(ENTRY_OF(tables[i] + 1), 24);
    CHECK_FILE(READ);
    put64(ENTRY_OF(tables[i]), DATA_END - 24);
    put64(ENTRY_OF(tables[i] + 1), 25);
    CHECK_FILE(TABLE);
    put64(ENTRY_OF(tables[i]), DATA_END - 28);
    CHECK_FILE(TABLE); /* not aligned */
    put64(ENTRY_OF(tables[i]), FILE_PAGE * 100);
    put64(ENTRY_OF(tables[i] + 1), 0);
    CHECK_FILE(READ); /* it is empty */
    put64(ENTRY_OF(tables[i]), 0);
    CHECK_FILE(READ); /* there is none */
  }
  put64(ENTRY_OF(STRTAB), STRINGS + 1);
  CHECK_FILE(READ);
  put64(ENTRY_OF(STRTAB), TEXT_END);
  CHECK_FILE(TABLE);
  for (int entry = INIT_CODE; entry <= FINI_CODE; entry++) {
    put64(ENTRY_OF(entry), SPAN - 1);
    CHECK_FILE(READ);
    put64(ENTRY_OF(entry), SPAN);
    CHECK_FILE(TABLE);
  }
}

static void code_that_has_to_be_changed(void **state) {
  (void)state;
  put64(ENTRY_OF(FLAGS), DF_TEXTREL);
  CHECK_FILE("its code has to be changed to run at another address");
  put64(ENTRY_OF(SPARE) - 8, DT_TEXTREL);
  put64(ENTRY_OF(SPARE), 1);
  CHECK_FILE("its code has to be changed to run at another address");
}

/* By its size, or by an entry DT_NULL. */
static void where_the_dynamic_section_ends(void **state) {
  static const Elf64_Sxword behind[] = {DT_TEXTREL, DT_SYMBOLIC};
  (void)state;
  for (size_t i = 0; i < sizeof behind / sizeof behind[0]; i++)
    for (int by_null = 0; by_null < 2; by_null++) {
      put64(HEADER(DYNAMIC, p_filesz), (ENTRIES + (size_t)by_null) * sizeof(Elf64_Dyn));
      if (by_null) put64(ENTRY_OF(SPARE) - 8, DT_NULL);
      put64(ENTRY_OF(ENTRIES) - 8, (uint64_t)behind[i]);
      put64(ENTRY_OF(ENTRIES), 1);
      struct tm_image *image = read_file();
      assert_non_null(image);
      assert_false(image->is_symbolic);
      drop(image);
      make_file();
    }
}

/* ---- what is refused: the kernel and the heap */

static void files_that_cannot_be_read(void **state) {
  (void)state;
  open_error = EISDIR;
  CHECK_FILE("program: it is no plain file (check the name)");
  open_error = ENOENT;
  CHECK_FILE("program: No such file or directory (check the name)");
  open_error = EACCES;
  CHECK_FILE("ranks are loaded by reading the file: chmod +r");
  open_error = EMFILE;
  CHECK_FILE("program: Too many open files (a higher ulimit -n)");
  open_error = ENFILE;
  CHECK_FILE("program: Too many open files in system (a higher fs.file-max by sysctl)");
  open_error = 0;
  identity_error = EIO;
  CHECK_FILE("it cannot be read");
  identity_error = 0;
  map_error = EACCES;
  CHECK_FILE("a segment cannot be read");
  map_error = ENOMEM;
  CHECK_FILE("no memory to read it (free some)");
  map_error = 0;
  static const char *const says[] = {"it cannot be read", "its program headers cannot be read",
                                     "a segment cannot be read"};
  for (failing_read = 1; failing_read <= 3; failing_read++) CHECK_FILE(says[failing_read - 1]);
}

/* The image, its path, names of versions, exports, and where these are. */
static void no_memory(void **state) {
  enum { ALLOCATIONS = 5 };
  (void)state;
  for (int before = 0; before < ALLOCATIONS; before++) {
    allocations_left = before;
    CHECK_FILE("program: no memory (free some)");
  }
  allocations_left = ALLOCATIONS;
  drop(read_file());
}

/* ---- an image that is kept */

static void an_image_is_read_once(void **state) {
  (void)state;
  struct tm_image *image = read_file(), *other = read_file();
  tm_image_keep(other);
  tm_image_keep(image); /* the other one is dropped */
  assert_int_equal(open_count, 1);
  assert_ptr_equal(tm_image_read("program"), image);
  other = tm_image_read("program");
  assert_ptr_not_equal(other, image);
  tm_image_drop(other);
  tm_image_keep(image);
  image->path[0] = 'P'; /* of another path */
  other = tm_image_read("program");
  assert_ptr_not_equal(other, image);
  tm_image_drop(other);
  image->path[0] = 'p';
  drop(tm_image_read("program"));
}

static void what_is_printed(void **state) {
  struct captured captured = captured_begin();
  char text[200];
  (void)state;
  assert_false(tm_refuse("program", "%d %s", 7, "words"));
  captured_end(&captured, text, sizeof text);
  assert_string_equal(text, "tmpirun: cannot run 'program': 7 words\n");
}

#define FILE_TEST(test) cmocka_unit_test_setup(test, set_up)

int main(void) {
  const struct CMUnitTest tests[] = {
      FILE_TEST(what_a_file_says),
      FILE_TEST(marks_of_a_file),
      FILE_TEST(where_bytes_lie),
      FILE_TEST(headers),
      FILE_TEST(where_headers_may_be),
      FILE_TEST(where_segments_may_be),
      FILE_TEST(where_the_first_segment_may_be),
      FILE_TEST(as_many_segments_as_there_is_room_for),
      FILE_TEST(alignments_of_segments),
      FILE_TEST(alignments_of_sections),
      FILE_TEST(tables_that_headers_name),
      FILE_TEST(thread_locals),
      FILE_TEST(notes_that_make_no_sense),
      FILE_TEST(tables_of_the_dynamic_section),
      FILE_TEST(code_that_has_to_be_changed),
      FILE_TEST(where_the_dynamic_section_ends),
      FILE_TEST(files_that_cannot_be_read),
      FILE_TEST(no_memory),
      FILE_TEST(an_image_is_read_once),
      FILE_TEST(what_is_printed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
