/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file loaded_program.h
 * A program of a few images for tests of slots (src/tmpi/loader/program.c). The test is the reader
 * of files, the search for libraries, and the kernel: memory for slots is where the test puts it,
 * below the test's own functions, so that offsets of these in a slot are not negative.
 */
#ifndef TESTS_MPI_LOADED_PROGRAM_H
#define TESTS_MPI_LOADED_PROGRAM_H

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

#include "counted_blocks.h"
#include "os/map.h"
#include "os/os.h"
#include "refused.h"
#include "tmpi/loader/open.h"

enum { PAGE = 4096, MOST_IMAGES = 4, OPEN_PAGES = 28, MEMORY = 64 * PAGE };

static struct tm_image images[MOST_IMAGES];
static struct tm_image *listed[MOST_IMAGES] = {&images[0], &images[1], &images[2], &images[3]};
static int library_count;                /* images behind the application */
static const char *asks[MOST_IMAGES][2]; /* what each image asks others for */
static const char *defines[MOST_IMAGES]; /* what each one defines */
static uint64_t flags_1;                 /* of the application */
static bool opens;                       /* the program calls dlopen() */

/* ---- the reader, and the search for libraries */

enum step { READ, ADD, SEARCH, OPEN, RELOCATE, MAPS, NO_STEP };
static enum step failing_step;
static struct tm_program *read_into;
static int dropped;

struct tm_image *tm_image_read(const char *path) {
  assert_string_equal(path, "program");
  return failing_step == READ ? NULL : &images[0];
}

struct tm_image *tm_image_drop(struct tm_image *image) {
  assert_ptr_equal(image, &images[0]);
  dropped++;
  return NULL;
}

bool tm_program_add(struct tm_program *program, struct tm_image *image) {
  assert_ptr_equal(image, &images[0]);
  read_into = program;
  if (failing_step == ADD) return false;
  program->images = listed;
  program->image_count = 1;
  return true;
}

bool tm_program_find_libraries(struct tm_program *program) {
  program->image_count = 1 + library_count;
  return failing_step != SEARCH;
}

bool tm_open_prepare(struct tm_program *program) {
  static struct tm_opened none;
  program->opened = opens ? &none : NULL;
  return failing_step != OPEN;
}

size_t tm_open_room(int ranks) { return (size_t)(OPEN_PAGES / ranks) * PAGE; }

bool tm_program_relocate(struct tm_program *program) {
  assert_int_equal(program->start_count, program->image_count);
  return failing_step != RELOCATE;
}

bool tm_program_make_maps(struct tm_program *program) {
  assert_non_null(program->arena);
  return failing_step != MAPS;
}

size_t tm_image_dynamic(const struct tm_image *image, Elf64_Sxword tag) {
  assert_true(image == &images[0] && tag == DT_FLAGS_1);
  return flags_1;
}

struct tm_wanted tm_want(const char *name, const char *version) {
  return (struct tm_wanted){name, version, 0};
}

const Elf64_Sym *tm_image_find(const struct tm_image *image, const struct tm_wanted *wanted) {
  static const Elf64_Sym symbol;
  const char *has = defines[image - images];
  return has != NULL && strcmp(has, wanted->name) == 0 ? &symbol : NULL;
}

bool tm_image_asks(const struct tm_image *image, const char *name) {
  const char *const *of = asks[image - images];
  return (of[0] != NULL && strcmp(of[0], name) == 0) || (of[1] != NULL && strcmp(of[1], name) == 0);
}

bool tm_image_is_loaded(const struct tm_image *image, int rank) {
  return image->opened == NULL || image->opened[rank] != 0;
}

/* ---- the kernel */

static char *memory;       /* MEMORY bytes */
static size_t memory_lead; /* before the slots: the kernel aligns to pages alone */
static size_t memory_asked, memory_most;
static int memory_calls;
static size_t address_space_limit;

size_t os_address_space_limit(void) { return address_space_limit; }

void *os_map_memory(size_t size) {
  memory_calls++;
  memory_asked = size;
  return size > memory_most ? NULL : memory + memory_lead;
}

/* What is mapped, and touched before it is written to. */
struct piece {
  char *address;
  size_t size;
  int fd;
  off_t offset;
  bool executable;
};

enum { MOST_PIECES = 16 };

static struct piece mapped[MOST_PIECES], touched[MOST_PIECES];
static int mapped_count, touched_count;
static int map_error; /* from now on nothing is mapped */
static bool is_noexec;

bool os_file_is_noexec(int fd) {
  assert_in_range(fd, 10, 10 + MOST_IMAGES);
  return is_noexec;
}

int os_map_file(void *address, size_t size, int fd, off_t offset, bool executable) {
  assert_true(mapped_count < MOST_PIECES);
  mapped[mapped_count++] = (struct piece){address, size, fd, offset, executable};
  return map_error;
}

void os_touch(void *address, size_t size) {
  assert_true(touched_count < MOST_PIECES);
  touched[touched_count++] = (struct piece){address, size, -1, 0, false};
}

/* ---- thread-locals, and what ranks open */

static int locals_filled, destructed_opened; /* by rank, a bit for each */

char *tm_program_locals(const struct tm_program *program, int rank) {
  return program->arena + (size_t)rank * program->slot + program->locals_place;
}

void tm_program_fill_locals(const struct tm_program *program, const struct tm_image *image,
                            int rank, char *locals) {
  assert_ptr_equal(locals, tm_program_locals(program, rank));
  locals_filled |= 1 << (rank * MOST_IMAGES + (int)(image - images));
}

void tm_open_destruct(const struct tm_program *program, int rank) {
  assert_non_null(program->arena);
  destructed_opened |= 1 << rank;
}

/* ---- a test begins */

static inline int set_up_program(void **state) {
  (void)state;
  static char path[] = "program", library_path[] = "library";
  if (memory == NULL)
    memory = mmap((void *)((uintptr_t)1 << 28), MEMORY, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  assert_true(memory != MAP_FAILED);
  memset(memory, 0, MEMORY);
  memset(images, 0, sizeof images);
  memset(asks, 0, sizeof asks);
  memset(defines, 0, sizeof defines);
  for (int i = 0; i < MOST_IMAGES; i++)
    images[i] = (struct tm_image){.path = i == 0 ? path : library_path,
                                  .name = i == 0 ? NULL : library_path,
                                  .fd = 10 + i,
                                  .span = PAGE,
                                  .align = PAGE,
                                  .tls_align = 1};
  images[0].is_executable = true;
  library_count = dropped = memory_calls = 0;
  mapped_count = touched_count = map_error = locals_filled = destructed_opened = 0;
  flags_1 = 0;
  opens = false;
  failing_step = NO_STEP;
  memory_lead = 0;
  memory_most = MEMORY;
  address_space_limit = SIZE_MAX;
  said[0] = '\0';
  return 0;
}

#endif
