/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What there is for each copy of an image: thread-locals in each thread of its rank, and an entry
 * in the lists that debuggers read (src/tmpi/loader/locals.c, maps.c).
 */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/internal/locks.h"
#include "counted_blocks.h"
#include "os/os.h"
#include "tmpi/loader/program.h"

enum { RANKS = 3, SLOT = 4096, IMAGES = 2, PLACE = 1024, LOCALS = 2048, ALIGN = 128 };

static _Alignas(ALIGN) char arena[RANKS * SLOT];
static struct tm_image images[IMAGES];
static struct tm_program program;
static uint8_t opened[RANKS]; /* the second image, by rank */
static Elf64_Dyn dynamic[IMAGES];

/* ---- what is around */

static int locks;

void mti_lock(uint32_t *lock) {
  (void)lock;
  locks++;
}

void mti_unlock(uint32_t *lock) {
  (void)lock;
  locks--;
}

bool tm_image_is_loaded(const struct tm_image *image, int rank) {
  return image->opened == NULL || image->opened[rank] != 0;
}

static const char *status; /* of /proc/self/status */
static int status_error;

int os_read_text(const char *path, char *text, size_t size) {
  assert_string_equal(path, "/proc/self/status");
  snprintf(text, size, "%s", status);
  return status_error;
}

static int loads, unloads;

void *__wrap_dlopen(const char *name, int flags);
void *__wrap_dlopen(const char *name, int flags) {
  assert_string_equal(name, "libutil.so.1");
  assert_int_equal(flags, RTLD_NOW | RTLD_LOCAL);
  return loads++ == 0 ? arena : NULL;
}

int __wrap_dlclose(void *handle);
int __wrap_dlclose(void *handle) {
  assert_ptr_equal(handle, arena);
  unloads++;
  return 0;
}

static int set_up(void **state) {
  static struct tm_image *const listed[] = {&images[0], &images[1]};
  static struct tm_image *list[IMAGES];
  static char first[] = "first", second[] = "second";
  (void)state;
  memcpy(list, listed, sizeof list);
  memset(arena, 0, sizeof arena);
  memset(opened, 0, sizeof opened);
  for (int i = 0; i < IMAGES; i++)
    images[i] = (struct tm_image){.path = i == 0 ? first : second,
                                  .pristine = (char *)dynamic,
                                  .dynamic = &dynamic[i],
                                  .place = (size_t)i * PLACE};
  images[1].opened = opened;
  program = (struct tm_program){.images = list,
                                .image_count = IMAGES,
                                .start_count = 1,
                                .arena = arena,
                                .slot = SLOT,
                                .locals_place = LOCALS,
                                .locals_size = 100,
                                .locals_align = ALIGN,
                                .ranks = RANKS,
                                .first_ranks = 2};
  return 0;
}

static char *slot(int rank) { return arena + (size_t)rank * SLOT; }

/* ---- thread-locals */

/* Both images have thread-locals: "first" and "second" in their first bytes. */
static void make_locals(void) {
  images[0].tls_size = 8;
  images[1].tls_size = 20; /* there are zeroes behind the values */
  images[1].tls_file_size = 7;
  images[0].tls_file_size = 6;
  images[0].tls_start = 64;
  images[1].tls_start = 32;
  images[0].tls_place = LOCALS;
  images[1].tls_place = LOCALS + 16;
  for (int rank = 0; rank < RANKS; rank++) {
    snprintf(slot(rank) + 64, 8, "first");
    snprintf(slot(rank) + PLACE + 32, 8, "secon%d", rank);
  }
}

static int tear_down(void **state) {
  (void)state;
  assert_true(blocks == 0 && locks == 0);
  return 0;
}

static void a_thread_has_thread_locals_of_its_own(void **state) {
  char *locals;
  (void)state;
  make_locals();
  assert_ptr_equal(tm_program_locals(&program, 2), slot(2) + LOCALS);
  opened[1] = 1;
  for (int rank = 0; rank < 2; rank++) {
    assert_int_equal(tm_program_copy_locals(&program, rank, &locals), 0);
    assert_int_equal((uintptr_t)locals % ALIGN, 0);
    assert_string_equal(locals, "first");
    assert_string_equal(locals + 16, rank == 1 ? "secon1" : ""); /* the other has not opened it */
    for (size_t i = 16 + 7; i < 100; i++) assert_int_equal(locals[i], 0);
    tm_program_free_locals(locals);
  }
}

static void no_thread_locals(void **state) {
  char *locals = arena;
  (void)state;
  program.locals_size = 0;
  assert_int_equal(tm_program_copy_locals(&program, 0, &locals), 0);
  assert_null(locals);
  tm_program_free_locals(NULL);
  program.locals_size = 1;
  memory_is_out = true;
  locals = arena;
  assert_int_equal(tm_program_copy_locals(&program, 0, &locals), ENOMEM);
  memory_is_out = false;
  assert_null(locals);
}

/* In all threads of the rank, and in no others. */
static void an_object_that_is_opened_later_has_thread_locals(void **state) {
  enum { THREADS = 4 };
  static const int rank_of[THREADS] = {1, 0, 1, 1};
  char *locals[THREADS];
  (void)state;
  make_locals();
  for (int i = 0; i < THREADS; i++)
    assert_int_equal(tm_program_copy_locals(&program, rank_of[i], &locals[i]), 0);
  tm_program_free_locals(locals[2]); /* in the middle of the list */
  tm_program_start_locals(&program, &images[1], 1);
  assert_string_equal(slot(1) + LOCALS + 16, "secon1");
  assert_string_equal(locals[0] + 16, "secon1");
  assert_string_equal(locals[1] + 16, "");
  assert_string_equal(locals[3] + 16, "secon1");
  assert_string_equal(slot(0) + LOCALS + 16, "");
  tm_program_free_locals(locals[3]); /* the first one of the list, and the last one */
  tm_program_free_locals(locals[0]);
  memset(locals[1] + 16, 0, 7);
  tm_program_start_locals(&program, &images[1], 0);
  assert_string_equal(locals[1] + 16, "secon0");
  tm_program_free_locals(locals[1]);
  tm_program_start_locals(&program, &images[1], 0); /* no thread is left */
}

static void an_image_without_thread_locals(void **state) {
  (void)state;
  make_locals();
  images[0].tls_size = 0;
  tm_program_fill_locals(&program, &images[0], 0, slot(0) + LOCALS);
  assert_string_equal(slot(0) + LOCALS, "");
  images[0].tls_size = images[0].tls_file_size = 1; /* one byte */
  tm_program_fill_locals(&program, &images[0], 0, slot(0) + LOCALS);
  assert_string_equal(slot(0) + LOCALS, "f");
}

/* ---- lists of copies */

static void check_map(const struct link_map *map, int rank, int image) {
  char *base = slot(rank) + images[image].place;
  assert_ptr_equal(map, tm_program_map(&program, rank, image));
  assert_int_equal(map->l_addr, (uintptr_t)base);
  assert_ptr_equal(map->l_name, images[image].path);
  assert_ptr_equal(map->l_ld, base + (size_t)image * sizeof(Elf64_Dyn));
}

/* A list that was shown stays in memory, as that of a program does. */
static void keep_maps(void) {
  for (int i = 0; i < IMAGES; i++) blocks -= images[i].maps != NULL;
}

/* Those of the first ranks come first, image by image. A rank that is added has those of the
 * start. */
static void copies_are_listed(void **state) {
  static const int order[][2] = {{0, 0}, {1, 0}, {0, 1}, {1, 1}, {2, 0}}; /* rank, image */
  (void)state;
  assert_true(tm_program_make_maps(&program));
  assert_null(tm_program_map(&program, 1, 1)->l_next);
  tm_program_add_maps(&program, 2);
  const struct link_map *map = images[0].maps, *before = NULL;
  for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
    check_map(map, order[i][0], order[i][1]);
    assert_ptr_equal(map->l_prev, before);
    before = map;
    map = map->l_next;
  }
  assert_null(map);
  assert_int_equal(images[1].maps[2].l_addr, 0); /* it has not opened the object */
  keep_maps();
}

static void no_memory_for_lists(void **state) {
  (void)state;
  for (allocations_left = 0; allocations_left < 2;) {
    int before = allocations_left;
    assert_false(tm_program_make_maps(&program));
    keep_maps();
    images[0].maps = images[1].maps = NULL;
    allocations_left = before + 1;
  }
  allocations_left = -1;
}

static void a_debugger_that_runs_the_process(void **state) {
  static const struct {
    const char *text;
    int error;
    bool watched;
  } rows[] = {{"Name: x\nTracerPid:\t17\nUid: 0\n", 0, true},
              {"Name: x\nTracerPid:\t1\nUid: 0\n", EFBIG, true},
              {"Name: x\nTracerPid:\t17\n", EACCES, false},
              {"Name: x\nTracerPid:\t0\nUid: 5\n", 0, false},
              {"Name: TracerPid: 7\n", 0, false}};
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    status = rows[i].text;
    status_error = rows[i].error;
    assert_int_equal(tm_program_is_watched(), rows[i].watched);
  }
}

static struct r_debug_extended *chain_of_process(void) {
  const ElfW(Dyn) *entry = _DYNAMIC;
  while (entry->d_tag != DT_DEBUG) entry++;
  return (struct r_debug_extended *)entry->d_un.d_ptr;
}

/* At the end of the chain of the process. A debugger looks when something was unloaded. */
static void the_list_is_shown_to_debuggers(void **state) {
  static struct r_debug_extended other; /* of a namespace that dlmopen() has made */
  struct r_debug_extended *first = chain_of_process(), before = *first;
  (void)state;
  assert_true(before.base.r_version >= 1);
  assert_true(tm_program_make_maps(&program));
  first->base.r_version = 1; /* r_next is not read */
  first->r_next = &other;
  tm_program_publish(&program, false);
  assert_int_equal(first->base.r_version, 2);
  const struct r_debug_extended *ours = first->r_next;
  assert_true(ours != NULL && ours != &other && ours->base.r_version == 2);
  assert_ptr_equal(ours->base.r_map, images[0].maps);
  assert_true(ours->base.r_brk == before.base.r_brk && ours->r_next == NULL);
  assert_int_equal(loads, 0);
  first->r_next = &other;
  other.base.r_version = 2;
  tm_program_publish(&program, true);
  assert_true(first->r_next == &other && other.r_next == ours);
  assert_true(loads == 1 && unloads == 1);
  other.r_next = NULL;
  tm_program_publish(&program, true); /* there is no such library */
  assert_true(loads == 2 && unloads == 1);
  other.r_next = NULL;
  first->base.r_version = 0; /* of a dynamic linker that we do not know */
  tm_program_publish(&program, true);
  assert_true(first->base.r_version == 0 && other.r_next == NULL && loads == 2);
  *first = before;
  keep_maps();
}

#define COPY_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      COPY_TEST(copies_are_listed), /* the list of the process has nothing yet */
      COPY_TEST(a_thread_has_thread_locals_of_its_own),
      COPY_TEST(no_thread_locals),
      COPY_TEST(an_object_that_is_opened_later_has_thread_locals),
      COPY_TEST(an_image_without_thread_locals),
      COPY_TEST(no_memory_for_lists),
      COPY_TEST(a_debugger_that_runs_the_process),
      COPY_TEST(the_list_is_shown_to_debuggers),
  };
  mallopt(M_PERTURB, 1); /* new memory holds something */
  return cmocka_run_group_tests(tests, NULL, NULL);
}
