/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file object_loader.h
 * The rest of the loader, for tests of what opens objects for ranks (src/tmpi/loader/open.c):
 * objects "a", "b" and so on, what each one needs and defines, and notes of what was called.
 */
#ifndef TESTS_MPI_OBJECT_LOADER_H
#define TESTS_MPI_OBJECT_LOADER_H

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <mltp/mltp.h>

#include "core/internal/process.h"
#include "counted_blocks.h"
#include "os/os.h"
#include "tmpi/loader/open.h"
#include "tmpi/loader/policy.h"
#include "tmpi/loader/search.h"

enum { PAGE = 4096, RANKS = 3, SLOT = 64 * PAGE, LOCALS = 8 * PAGE, OPEN = 40 * PAGE, MOST = 26 };
enum { APPLICATION, LIBRARY, STARTED, A = STARTED, B, C, D }; /* from A on: objects */

/* ---- objects that can be opened: "a", "b" and so on, and what each one needs */

static struct tm_image images[MOST];
static char names[MOST][2];
static int needs[MOST][3];        /* images; 0: no more */
static const char *defines[MOST]; /* a symbol */
static Elf64_Sym symbols[MOST];
static struct tm_image *listed[MOST];
static struct tm_program program;
static char arena[RANKS * SLOT];
static void *shared_library; /* what object C needs that ranks share; NULL: nothing */

static int number_of(const struct tm_image *image) { return (int)(image - images); }

/* ---- what is called, in its order */

static char calls[512];

static void note(const char *what, int number) {
  size_t length = strlen(calls);
  assert_true(length + 20 < sizeof calls);
  snprintf(calls + length, sizeof calls - length, "%s%s%c", length > 0 ? " " : "", what,
           number < STARTED ? '0' + number : 'a' + number - STARTED);
}

enum step { NEEDS, MAPS, BIND, PLACE, NO_STEP };
static enum step failing_step;
static int fails_at; /* of this image */
static bool fails(enum step step, const struct tm_image *image) {
  return failing_step == step && fails_at == number_of(image);
}

static char *refusal;

void tm_refuse_into(char *text) { refusal = text; }

bool tm_refuse(const char *path, const char *format, ...) {
  va_list arguments;
  assert_non_null(refusal);
  va_start(arguments, format);
  int length = snprintf(refusal, TM_REFUSAL, "%s: ", path);
  vsnprintf(refusal + length, TM_REFUSAL - (size_t)length, format, arguments);
  va_end(arguments);
  return false;
}

static int locked;

int mltp_lock(mltp_lock_t *lock) {
  (void)lock;
  return locked++;
}

int mltp_unlock(mltp_lock_t *lock) {
  (void)lock;
  return --locked;
}

/* ---- the rest of the loader */

static bool opens;

bool tm_program_opens(const struct tm_program *of) {
  (void)of;
  return opens;
}

static size_t address_space_limit;

size_t os_address_space_limit(void) { return address_space_limit; }

static bool stacks_are_executable;

bool mti_stacks_are_executable(void) { return stacks_are_executable; }

static bool is_found; /* the file of an object */

bool tm_search(const struct tm_image *image, const char *name, char where[PATH_MAX]) {
  assert_true(image == &images[APPLICATION] && locked == 1);
  if (is_found) snprintf(where, PATH_MAX, "/lib/%s", name);
  return is_found;
}

const char *tm_policy_shared(const char *name) {
  assert_int_equal(locked, 1);
  return strcmp(name, "shared") == 0 ? "a reason" : NULL;
}

struct tm_image *tm_program_find_image(const struct tm_program *of, const char *name) {
  for (int i = 1; i < of->image_count; i++)
    if (strcmp(of->images[i]->name, name) == 0) return of->images[i];
  return NULL;
}

static void list(struct tm_program *of, int number) {
  for (int i = 0; i < of->image_count; i++)
    if (of->images[i] == &images[number]) return;
  of->images[of->image_count++] = &images[number];
}

static bool adds_shared; /* the object turns out to be one that ranks share */

bool tm_program_add_private(struct tm_program *of, struct tm_image *from, const char *name,
                            struct tm_need *need) {
  assert_ptr_equal(from, &images[APPLICATION]);
  if (adds_shared) return true;
  for (int i = STARTED; i < MOST; i++)
    if (strcmp(names[i], name + (name[0] == '/')) == 0) need->image = &images[i];
  if (need->image == NULL) return tm_refuse(name, "no such object");
  list(of, number_of(need->image));
  return true;
}

bool tm_program_find_needs(struct tm_program *of, struct tm_image *image) {
  int number = number_of(image);
  of->walk_again = true;
  if (fails(NEEDS, image)) return tm_refuse(image->path, "needs");
  image->needs = calloc(3, sizeof *image->needs);
  for (int i = 0; i < 3 && needs[number][i] != 0; i++) {
    list(of, needs[number][i]);
    image->needs[image->need_count++] = (struct tm_need){&images[needs[number][i]], NULL};
  }
  if (number == C && shared_library != NULL)
    image->needs[image->need_count++] = (struct tm_need){NULL, shared_library};
  return true;
}

bool tm_program_make_maps_of(const struct tm_program *of, struct tm_image *image, int ranks) {
  assert_int_equal(ranks, of->ranks);
  if (fails(MAPS, image)) return false;
  image->maps = calloc((size_t)ranks, sizeof *image->maps);
  return true;
}

struct tm_image *tm_image_drop(struct tm_image *image) {
  note("drop ", number_of(image));
  free(image->needs);
  free(image->maps);
  free(image->opened);
  image->needs = NULL;
  image->maps = NULL;
  image->opened = NULL;
  image->need_count = 0;
  return NULL;
}

bool tm_image_is_loaded(const struct tm_image *image, int rank) {
  return image->opened == NULL || image->opened[rank] != 0;
}

static char scope[64]; /* images of the last search, in its order */
static size_t missing_count;

bool tm_bind_image(struct tm_bindings *to, const struct tm_image *image) {
  assert_true(to->override == program.override && to->missing == arena);
  memset(scope, 0, sizeof scope);
  for (int i = 0; i < to->scope_count; i++)
    scope[i] = (char)(number_of(to->scope[i]) < STARTED ? '0' + number_of(to->scope[i])
                                                        : 'a' + number_of(to->scope[i]) - STARTED);
  note("bind ", number_of(image));
  *to->missing_count += missing_count;
  return fails(BIND, image) ? tm_refuse(image->path, "bind") : true;
}

static int bindings_left;

void tm_bindings_drop(struct tm_bindings *bindings) {
  assert_int_equal(bindings->record_count, 0);
  bindings_left--;
}

bool tm_program_place_image(const struct tm_program *of, const struct tm_image *image, int rank) {
  assert_true(of == &program && rank < RANKS);
  note("place ", number_of(image));
  return fails(PLACE, image) ? tm_refuse(image->path, "place") : true;
}

static int applied;

void tm_program_apply(const struct tm_program *of, struct tm_bindings *bindings, int rank) {
  assert_true(of == &program && bindings != NULL && rank < RANKS);
  applied++;
}

void tm_program_start_locals(const struct tm_program *of, const struct tm_image *image, int rank) {
  assert_true(of == &program && !tm_image_is_loaded(image, rank));
  note("locals ", number_of(image));
}

static int maps_listed;

void tm_program_list_map(struct link_map *map) { maps_listed += map != NULL; }

static int rank_of_constructors;

void tm_program_construct_image(const struct tm_program *of, const struct tm_image *image, int rank,
                                int argc, char **argv, char **environment) {
  assert_true(of == &program && locked == 0 && tm_image_is_loaded(image, rank));
  assert_true(argc == 0 && argv[0] == NULL && environment == environ);
  note("construct ", number_of(image));
  rank_of_constructors = rank;
}

void tm_program_destruct_image(const struct tm_program *of, const struct tm_image *image,
                               int rank) {
  assert_true(of == &program && rank < RANKS);
  note("destruct ", number_of(image));
}

static int fits_ranks, fits_present, placed_first, placed_count, mapped_then;
static bool ranks_fit, ranks_are_placed;

bool tm_program_fits(const struct tm_program *of, int ranks, int present) {
  fits_ranks = ranks;
  fits_present = present;
  assert_int_equal(locked, 1);
  return of == &program && (ranks_fit ? true : tm_refuse("program", "does not fit"));
}

bool tm_program_place(struct tm_program *of, int first, int count, bool more) {
  assert_true(locked == 1 && !more);
  placed_first = first;
  placed_count = count;
  mapped_then = of->mapped;
  return ranks_are_placed;
}

static int listed_rank;

void tm_program_add_maps(const struct tm_program *of, int rank) {
  assert_true(of == &program && locked == 1);
  listed_rank = rank;
}

struct tm_wanted tm_want(const char *name, const char *version) {
  return (struct tm_wanted){name, version, 0};
}

const Elf64_Sym *tm_image_find(const struct tm_image *image, const struct tm_wanted *wanted) {
  const char *has = defines[number_of(image)];
  return has != NULL && strcmp(has, wanted->name) == 0 ? &symbols[number_of(image)] : NULL;
}

void *__wrap_dlsym(void *handle, const char *name);
void *__wrap_dlsym(void *handle, const char *name) {
  assert_ptr_equal(handle, shared_library);
  return strcmp(name, "theirs") == 0 ? arena + 1 : NULL;
}

void *__wrap_dlvsym(void *handle, const char *name, const char *version);
void *__wrap_dlvsym(void *handle, const char *name, const char *version) {
  assert_ptr_equal(handle, shared_library);
  return strcmp(name, "theirs") == 0 && strcmp(version, "V") == 0 ? arena + 2 : NULL;
}

static bool cannot_grow;

void *__real_realloc(void *block, size_t size);
void *__wrap_realloc(void *block, size_t size);
void *__wrap_realloc(void *block, size_t size) {
  if (cannot_grow || allocation_fails()) return NULL;
  blocks += block == NULL;
  return __real_realloc(block, size);
}

static void *local_of(const uintptr_t *address) {
  return (char *)address[0] + address[1] + 1; /* so that it is neither */
}

static const void * override(const char *name) {
  void *(*const get)(const uintptr_t *) = local_of;
  if (strcmp(name, "tm_missing_mpi") == 0) return arena;
  assert_string_equal(name, "__tls_get_addr");
  return *(const void *const *)&get;
}

/* ---- opening */

static char why[TM_REFUSAL], where[PATH_MAX];

static int set_up(void **state) {
  (void)state;
  memset(images, 0, sizeof images);
  memset(needs, 0, sizeof needs);
  memset(defines, 0, sizeof defines);
  memset(symbols, 0, sizeof symbols);
  for (int i = 0; i < MOST; i++) {
    names[i][0] = (char)(i < STARTED ? '0' + i : 'a' + i - STARTED);
    images[i] = (struct tm_image){
        .path = names[i], .name = names[i], .span = PAGE, .align = PAGE, .tls_align = 1};
    listed[i] = i < STARTED ? &images[i] : NULL;
  }
  program = (struct tm_program){.images = listed,
                                .image_count = STARTED,
                                .start_count = STARTED,
                                .visible_count = STARTED,
                                .arena = arena,
                                .slot = SLOT,
                                .align = 2 * PAGE,
                                .locals_place = LOCALS,
                                .locals_size = TM_OPEN_LOCALS + 100,
                                .locals_align = 64,
                                .open_place = OPEN,
                                .ranks = RANKS,
                                .override = override};
  opens = is_found = ranks_fit = ranks_are_placed = true;
  stacks_are_executable = adds_shared = cannot_grow = false;
  failing_step = NO_STEP;
  address_space_limit = SIZE_MAX;
  shared_library = NULL;
  missing_count = 0;
  calls[0] = why[0] = where[0] = '\0';
  applied = maps_listed = bindings_left = 0;
  return tm_open_prepare(&program) ? 0 : -1;
}

static int tear_down(void **state) {
  (void)state;
  for (int i = STARTED; i < program.image_count; i++) tm_image_drop(program.images[i]);
  for (int i = 0; program.opened != NULL && i < RANKS; i++) free(program.opened[i].order);
  free(program.opened);
  assert_true(blocks == 0 && locked == 0 && refusal == NULL);
  return 0;
}

/* Opens an object. @return its number; -1: it cannot be opened. */
static int open_as(int rank, const char *name, int mode) {
  bool is_shared;
  calls[0] = why[0] = '\0';
  struct link_map *handle =
      tm_open(&program, rank, &images[APPLICATION], name, mode, &is_shared, where, why);
  assert_false(is_shared);
  for (int i = STARTED; i < MOST; i++)
    if (handle != NULL && images[i].maps != NULL && handle == &images[i].maps[rank]) return i;
  assert_null(handle);
  return -1;
}

#define OPEN_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

#endif
