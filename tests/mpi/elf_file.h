/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file elf_file.h
 * An ELF file in memory, for tests of what the loader reads: a program of two segments with all
 * tables that it looks at. A test changes some bytes and reads the file. The memory it is read into
 * ends where no page is, and what is allocated is counted: each file that is refused is given back.
 *
 * Text, from offset 0: headers, strings, symbols, hash table, relocations, versions, a note. Data,
 * in the file behind it: the dynamic section and arrays of functions.
 */
#ifndef TESTS_MPI_ELF_FILE_H
#define TESTS_MPI_ELF_FILE_H

#include <elf.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "arch/program.h"
#include "counted_blocks.h"
#include "os/map.h"
#include "tmpi/loader/image.h"

/* ---- where things are in memory; in the file the data lie FILE_PAGE before that */

enum {
  FILE_PAGE = 4096,
  HEADERS = 64,
  INIT = 0x300,
  ENTRY = 0x310,
  UNWIND = 0x320,
  STRINGS = 0x400,
  SYMBOL_TABLE = 0x500,
  HASH_TABLE = 0x600,
  RELOCATIONS = 0x680,
  PLT_RELOCATIONS = 0x6c0,
  RELATIVE = 0x6e0,
  VERSION_TABLE = 0x700,
  NEEDS = 0x740,
  DEFINITIONS = 0x800,
  NOTE = 0x900,
  NOTE_VALUE = NOTE + 20,
  TEXT_END = 0xe00,
  DATA_FILE = FILE_PAGE + 0x100,
  DATA = 2 * FILE_PAGE + 0x100,
  ARRAYS = DATA + 0x400,
  LOCALS = DATA + 0x500,
  DATA_END = DATA + 0x600,
  MEMORY_END = DATA + 0x1000,
  SPAN = 4 * FILE_PAGE,
  FILE_SIZE = DATA_FILE + DATA_END - DATA,
  FILE_MOST = 5 * FILE_PAGE
};

/** Program headers; SEGMENT is unused. */
enum {
  TEXT,
  DATA_SEGMENT,
  DYNAMIC,
  THREAD_LOCAL,
  STACK,
  UNWINDING,
  NOTES,
  INTERPRETER,
  SEGMENT,
  HEADER_COUNT
};
#define HEADER(number, field)                                                                      \
  (HEADERS + (number) * sizeof(Elf64_Phdr) + offsetof(Elf64_Phdr, field))

/** Entries of the dynamic section: each table's size is behind it. SPARE is unused, and so is the
 * one that would be behind the last. */
enum {
  STRTAB,
  STRTAB_SIZE,
  SYMTAB,
  GNU_HASH,
  RELA,
  RELA_SIZE,
  JMPREL,
  JMPREL_SIZE,
  RELR,
  RELR_SIZE,
  PREINIT_ARRAY,
  PREINIT_ARRAY_SIZE,
  INIT_ARRAY,
  INIT_ARRAY_SIZE,
  FINI_ARRAY,
  FINI_ARRAY_SIZE,
  INIT_CODE,
  FINI_CODE,
  VERSYM,
  VERNEED,
  VERNEED_COUNT,
  VERDEF,
  VERDEF_COUNT,
  FLAGS,
  SPARE,
  ENTRIES
};
/** Where an entry's value is in the file; its tag is 8 bytes before it. */
#define ENTRY_OF(number) (DATA_FILE + (size_t)(number) * sizeof(Elf64_Dyn) + 8)

enum { NULL_SYMBOL, ASKED, ASKED_AGAIN, ASKED_ELSEWHERE, OLD, NEW, LOCAL, OBJECT, SYMBOL_COUNT };

static char file[FILE_MOST];
static size_t file_size, string_size;

static inline void put(size_t at, const void *value, size_t size) {
  assert_true(at + size <= FILE_MOST);
  memcpy(file + at, value, size);
}

static inline void put16(size_t at, uint16_t value) { put(at, &value, sizeof value); }
static inline void put32(size_t at, uint32_t value) { put(at, &value, sizeof value); }
static inline void put64(size_t at, uint64_t value) { put(at, &value, sizeof value); }

/** @return the offset of a string in the table, which it is added to. */
static inline uint32_t string_of(const char *text) {
  size_t at = 1;
  while (at < string_size && strcmp(file + STRINGS + at, text) != 0)
    at += strlen(file + STRINGS + at) + 1;
  if (at == string_size) {
    put(STRINGS + at, text, strlen(text) + 1);
    string_size += strlen(text) + 1;
  }
  return (uint32_t)at;
}

/** Puts the program headers elsewhere in the file. */
static inline void move_headers(size_t to) {
  memmove(file + to, file + HEADERS, HEADER_COUNT * sizeof(Elf64_Phdr));
  put64(offsetof(Elf64_Ehdr, e_phoff), to);
  if (to + HEADER_COUNT * sizeof(Elf64_Phdr) > file_size)
    file_size = to + HEADER_COUNT * sizeof(Elf64_Phdr);
}

static inline void make_headers(void) {
  const Elf64_Ehdr header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                             .e_type = ET_DYN,
                             .e_machine = MT_ARCH_ELF_MACHINE,
                             .e_entry = ENTRY,
                             .e_phoff = HEADERS,
                             .e_phentsize = sizeof(Elf64_Phdr),
                             .e_phnum = HEADER_COUNT};
  const Elf64_Phdr headers[HEADER_COUNT] = {
      [TEXT] = {PT_LOAD, PF_R | PF_X, 0, 0, 0, TEXT_END, TEXT_END, FILE_PAGE},
      [DATA_SEGMENT] = {PT_LOAD, PF_R | PF_W, DATA_FILE, DATA, 0, DATA_END - DATA,
                        MEMORY_END - DATA, FILE_PAGE},
      [DYNAMIC] = {PT_DYNAMIC, PF_R, 0, DATA, 0, (ENTRIES + 2) * sizeof(Elf64_Dyn), 0, 8},
      [THREAD_LOCAL] = {PT_TLS, PF_R, 0, LOCALS, 0, 16, 32, 8},
      [STACK] = {PT_GNU_STACK, PF_R | PF_W, 0, 0, 0, 0, 0, 16},
      [UNWINDING] = {PT_GNU_EH_FRAME, PF_R, 0, UNWIND, 0, 16, 0, 4},
      [NOTES] = {PT_NOTE, PF_R, 0, NOTE, 0, 28, 0, 4},
      [INTERPRETER] = {PT_INTERP, PF_R, 0, 0, 0, 1, 0, 1},
      [SEGMENT] = {.p_type = PT_NULL}};
  put(0, &header, sizeof header);
  put(HEADERS, headers, sizeof headers);
}

static inline void make_dynamic_section(void) {
  const Elf64_Sxword entries[ENTRIES][2] = {[STRTAB] = {DT_STRTAB, STRINGS},
                                            [STRTAB_SIZE] = {DT_STRSZ, (Elf64_Sxword)string_size},
                                            [SYMTAB] = {DT_SYMTAB, SYMBOL_TABLE},
                                            [GNU_HASH] = {DT_GNU_HASH, HASH_TABLE},
                                            [RELA] = {DT_RELA, RELOCATIONS},
                                            [RELA_SIZE] = {DT_RELASZ, 2 * sizeof(Elf64_Rela)},
                                            [JMPREL] = {DT_JMPREL, PLT_RELOCATIONS},
                                            [JMPREL_SIZE] = {DT_PLTRELSZ, sizeof(Elf64_Rela)},
                                            [RELR] = {DT_RELR, RELATIVE},
                                            [RELR_SIZE] = {DT_RELRSZ, 8},
                                            [PREINIT_ARRAY] = {DT_PREINIT_ARRAY, ARRAYS + 32},
                                            [PREINIT_ARRAY_SIZE] = {DT_PREINIT_ARRAYSZ, 8},
                                            [INIT_ARRAY] = {DT_INIT_ARRAY, ARRAYS},
                                            [INIT_ARRAY_SIZE] = {DT_INIT_ARRAYSZ, 16},
                                            [FINI_ARRAY] = {DT_FINI_ARRAY, ARRAYS + 16},
                                            [FINI_ARRAY_SIZE] = {DT_FINI_ARRAYSZ, 8},
                                            [INIT_CODE] = {DT_INIT, INIT},
                                            [FINI_CODE] = {DT_FINI, INIT + 4},
                                            [VERSYM] = {DT_VERSYM, VERSION_TABLE},
                                            [VERNEED] = {DT_VERNEED, NEEDS},
                                            [VERNEED_COUNT] = {DT_VERNEEDNUM, 2},
                                            [VERDEF] = {DT_VERDEF, DEFINITIONS},
                                            [VERDEF_COUNT] = {DT_VERDEFNUM, 3},
                                            [FLAGS] = {DT_FLAGS, 0},
                                            [SPARE] = {DT_DEBUG, 0}};
  put(DATA_FILE, entries, sizeof entries);
}

static inline void make_symbols(void) {
  enum { GLOBAL = STB_GLOBAL << 4, WEAK = STB_WEAK << 4 };
  const Elf64_Sym symbols[SYMBOL_COUNT] = {
      [ASKED] = {string_of("asked"), GLOBAL, 0, SHN_UNDEF, 0, 0},
      [ASKED_AGAIN] = {string_of("asked_again"), GLOBAL, 0, SHN_UNDEF, 0, 0},
      [ASKED_ELSEWHERE] = {string_of("asked_elsewhere"), GLOBAL, 0, SHN_UNDEF, 0, 0},
      [OLD] = {string_of("defined"), GLOBAL | STT_FUNC, 0, 1, INIT, 8},
      [NEW] = {string_of("defined"), GLOBAL | STT_FUNC, 0, 1, INIT + 8, 8},
      [LOCAL] = {string_of("local"), STT_FUNC, 0, 1, INIT + 32, 8},
      [OBJECT] = {string_of("object"), WEAK | STT_OBJECT, 0, 1, ARRAYS, 8}};
  /* two buckets of two symbols: the last hash of each is odd */
  const uint32_t hashes[] = {2, OLD, 1, 0, 0, 0, OLD, LOCAL, 2, 3, 4, 5};
  put(SYMBOL_TABLE, symbols, sizeof symbols);
  put(HASH_TABLE, hashes, sizeof hashes);
}

/** Two libraries are asked for versions, the first one for two; two versions are defined. */
static inline void make_versions(void) {
  const Elf64_Half numbers[SYMBOL_COUNT] = {0, 4, 5, 6, 2 | 0x8000, 3, 0, 1};
  const Elf64_Verneed first = {1, 2, 0, 32, 64}, second = {1, 1, 0, 16, 0};
  const Elf64_Vernaux asked[] = {{0, 0, 4, string_of("ASKED"), 16},
                                 {0, 0, 5, string_of("AGAIN"), 0},
                                 {0, 0, 6, string_of("ELSEWHERE"), 0}};
  const Elf64_Verdef definitions[] = {
      {1, VER_FLG_BASE, 1, 1, 0, 20, 28}, {1, 0, 2, 1, 0, 20, 28}, {1, 0, 3, 1, 0, 20, 0}};
  const Elf64_Verdaux names[] = {
      {string_of("libown.so"), 0}, {string_of("OLD"), 0}, {string_of("NEW"), 0}};
  put(VERSION_TABLE, numbers, sizeof numbers);
  put(NEEDS, &first, sizeof first);
  put(NEEDS + 32, &asked[0], 2 * sizeof asked[0]);
  put(NEEDS + 64, &second, sizeof second);
  put(NEEDS + 80, &asked[2], sizeof asked[2]);
  for (size_t i = 0; i < 3; i++) {
    put(DEFINITIONS + 28 * i, &definitions[i], sizeof definitions[i]);
    put(DEFINITIONS + 28 * i + 20, &names[i], sizeof names[i]);
  }
}

/** The file as it is at first. */
static inline void make_file(void) {
  const Elf64_Rela relocations[] = {{0, ELF64_R_INFO(ASKED, 1), 0}, {0, ELF64_R_INFO(OLD, 1), 0}};
  const uint32_t note[] = {5,
                           8,
                           1,
                           0x49504d54 /* "TMPI" */,
                           0,
                           (uint32_t)(NOTE - NOTE_VALUE),
                           (uint32_t)(NOTE + 8 - NOTE_VALUE - 4)};
  memset(file, 0, sizeof file);
  file_size = FILE_SIZE;
  string_size = 1;
  make_headers();
  make_symbols();
  make_versions();
  make_dynamic_section();
  put(RELOCATIONS, relocations, sizeof relocations);
  put(PLT_RELOCATIONS, relocations, sizeof relocations[0]);
  put(NOTE, note, sizeof note);
  put(STRINGS + string_size, "more", 5); /* text that is no string of the table */
  file[FILE_SIZE - 1] = 'x';
}

enum { ROOM = 1 << 18, FD = 0 };

/* ---- the kernel and the heap */

static int open_count, mapped_count;
static int open_error, identity_error, map_error, failing_read, reads, read_error;
static uint64_t stamp;

int os_file_open(const char *path, int *fd, size_t *size) {
  assert_string_equal(path, "program");
  *fd = FD;
  if (open_error != 0) return open_error;
  open_count++;
  *size = file_size;
  return 0;
}

void os_file_close(int fd) {
  assert_int_equal(fd, FD);
  open_count--;
}

int os_file_identity(int fd, uint64_t *device, uint64_t *inode) {
  assert_int_equal(fd, FD);
  *device = 11;
  *inode = 12;
  return identity_error;
}

uint64_t os_file_stamp(int fd) {
  assert_int_equal(fd, FD);
  return stamp;
}

int os_file_read(int fd, void *to, size_t size, off_t offset) {
  assert_int_equal(fd, FD);
  if (++reads == failing_read) return read_error;
  if (offset < 0 || (size_t)offset + size > file_size) return EIO;
  memcpy(to, file + offset, size);
  return 0;
}

void *os_map_memory(size_t size) {
  if (size > ROOM) return NULL;
  char *room = mmap(NULL, 2 * ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert_true(room != MAP_FAILED && size % FILE_PAGE == 0);
  assert_int_equal(mprotect(room + ROOM, ROOM, PROT_NONE), 0);
  mapped_count++;
  return room + ROOM - size;
}

int os_map_file(void *address, size_t size, int fd, off_t offset, bool executable) {
  assert_true(fd == FD && !executable);
  assert_true((uintptr_t)address % FILE_PAGE == 0 && size % FILE_PAGE == 0 && size > 0);
  assert_int_equal(offset % FILE_PAGE, 0);
  if (map_error != 0) return map_error;
  size_t there = file_size - (size_t)offset;
  memcpy(address, file + offset, there < size ? there : size);
  return 0;
}

void os_unmap(void *address, size_t size) {
  char *room = (char *)address + size - ROOM;
  assert_int_equal(munmap(room, 2 * ROOM), 0);
  mapped_count--;
}

char *__real_strdup(const char *text);
char *__wrap_strdup(const char *text);
char *__wrap_strdup(const char *text) {
  return allocation_fails() ? NULL : counted(__real_strdup(text));
}

/* ---- reading */

static char said[TM_REFUSAL];

/* Reads the file as it is now. What it has is given back. */
static inline struct tm_image *read_file(void) {
  said[0] = '\0';
  reads = 0;
  tm_refuse_into(said);
  struct tm_image *image = tm_image_read("program");
  tm_refuse_into(NULL);
  if (image == NULL) assert_true(open_count == 0 && mapped_count == 0 && blocks == 0);
  return image;
}

static inline void drop(struct tm_image *image) {
  assert_non_null(image);
  assert_null(tm_image_drop(image));
  assert_true(open_count == 0 && mapped_count == 0 && blocks == 0);
}

/* Checks what is said of the file; "": it is read. Then the file is as it was at first. */
static inline void check_file(int line, const char *expected) {
  struct tm_image *image = read_file();
  if (image != NULL) drop(image);
  if (strstr(said, expected) == NULL || (expected[0] == '\0') != (image != NULL))
    fail_msg("line %d: '%s', and not '%s'", line, said, expected);
  make_file();
}
#define CHECK_FILE(expected) check_file(__LINE__, expected)
#define READ ""
#define OUTSIDE "a segment lies outside of it"
#define TABLE "a table lies outside of it"
#define SYMBOLS "its table of symbols lies outside of it"
#define VERSIONS "its table of versions lies outside of it"

static inline int set_up(void **state) {
  (void)state;
  make_file();
  failing_read = open_error = identity_error = map_error = 0;
  allocations_left = -1;
  read_error = EIO;
  return 0;
}

#endif
