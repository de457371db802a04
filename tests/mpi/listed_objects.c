/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects as unwinders find them (src/tmpi/loader/unwind.c): which of the loader and libc answers,
 * with what. The functions have other names here, as the test's own unwinder needs libc's.
 */
#include "traced_calls.h"

#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>

#include "tmpi/loader/program.h"
#include "tmpi/rank/rank.h"

enum { RANK = 1, SLOT = 0x10000, SPAN = 0x3000, IMAGES = 4 };

int find_object(void *address, struct dl_find_object *result);
int iterate_objects(int (*callback)(struct dl_phdr_info *, size_t, void *), void *data);

static char *const arena = (char *)0x7000000;
static struct link_map maps[2] = {{.l_addr = 0x7000000}, {.l_addr = 0x7010000}};
static struct tm_image all[IMAGES], *images[] = {&all[0], &all[1], &all[2], &all[3]};
static struct tm_program program = {.images = images, .arena = arena, .slot = SLOT};
struct tm_program *tm_the_program;
struct tm_job tm_job;
static int rank;
static bool loaded[IMAGES];

int tm_rank_number(void) { return rank; }

int tm_program_rank_of(const struct tm_program *of, const void *address) {
  assert_ptr_equal(of, tm_the_program);
  ptrdiff_t offset = (const char *)address - arena;
  return of != NULL && offset >= 0 && offset < 2 * SLOT ? (int)(offset / SLOT) : -1;
}

const struct tm_image *tm_program_image_at(const struct tm_program *of, const void *address,
                                           size_t *offset) {
  assert_true(of == &program && offset != NULL);
  return ((const char *)address - arena) % SLOT < SPAN ? &all[0] : NULL;
}

bool tm_image_is_loaded(const struct tm_image *image, int of) {
  assert_int_equal(of, rank);
  return loaded[image - all];
}

/* ---- libc */

static int libc_result; /* of its list */

static int find_libc(void *address, struct dl_find_object *result) {
  note("find:%d,%d", address != NULL, result != NULL);
  return 44;
}

static int iterate_libc(int (*callback)(struct dl_phdr_info *, size_t, void *), void *data) {
  note("list:%d,%s", callback != NULL, (const char *)data);
  return libc_result;
}

void *__wrap_dlsym(void *handle, const char *name);
void *__wrap_dlsym(void *handle, const char *name) {
  int (*find)(void *, struct dl_find_object *) = find_libc;
  int (*iterate)(int (*)(struct dl_phdr_info *, size_t, void *), void *) = iterate_libc;
  assert_ptr_equal(handle, RTLD_NEXT);
  note("dlsym:%s", name);
  return strcmp(name, "_dl_find_object") == 0 ? *(void **)&find : *(void **)&iterate;
}

static const char *object_of_caller; /* NULL: libc knows none */

int __wrap_dladdr(const void *address, Dl_info *info);
int __wrap_dladdr(const void *address, Dl_info *info) {
  assert_non_null(address);
  info->dli_fname = object_of_caller != NULL ? object_of_caller : "/lib/libucm.so";
  return object_of_caller != NULL;
}

static int start(void **state) {
  (void)state;
  static const char *const paths[] = {"/a", "/b", "/c", "/d"};
  for (int i = 0; i < IMAGES; i++) {
    all[i] = (struct tm_image){.path = (char *)(uintptr_t)paths[i],
                               .maps = maps,
                               .span = SPAN,
                               .place = (size_t)i * 0x1000,
                               .headers = 0x40,
                               .header_count = (size_t)(5 + i)};
    loaded[i] = true;
  }
  tm_the_program = &program;
  program.visible_count = 3;
  tm_job.far = NULL;
  rank = RANK;
  libc_result = 0;
  object_of_caller = "/lib/libgcc_s.so";
  trace[0] = '\0';
  return 0;
}

/* ---- the object of an address */

static void test_objects_of_ranks_are_found_here(void **state) {
  struct dl_find_object result;
  (void)state;
  all[0].unwind = 0x800;
  for (int i = 0; i < 2; i++) {
    char *base = arena + (ptrdiff_t)i * SLOT;
    memset(&result, 0xa5, sizeof result);
    assert_int_equal(find_object(base + 8, &result), 0);
    assert_true(result.dlfo_link_map == &maps[i] && result.dlfo_map_start == base);
    assert_true(result.dlfo_map_end == base + SPAN && result.dlfo_eh_frame == base + 0x800);
    assert_int_equal(result.dlfo_flags, 0);
  }
  all[0].unwind = 0; /* it has no table */
  assert_int_equal(find_object(arena + 8, &result), 0);
  assert_null(result.dlfo_eh_frame);
  check_trace("");
}

static void test_other_objects_are_libc_s(void **state) {
  struct dl_find_object result;
  (void)state;
  assert_int_equal(find_object(&result, &result), 44); /* the test's stack */
  check_trace("dlsym:_dl_find_object find:1,1 ");
  assert_int_equal(find_object(arena + SPAN, &result), 44); /* a rank's, and of no image */
  tm_the_program = NULL;
  assert_int_equal(find_object(arena, &result), 44);
  check_trace("find:1,1 find:1,1 ");
}

/* ---- the list */

static int stops_at;

static int on_object(struct dl_phdr_info *info, size_t size, void *data) {
  assert_int_equal(size, sizeof *info);
  assert_true(info->dlpi_tls_data == NULL && info->dlpi_adds == 0);
  assert_ptr_equal(info->dlpi_phdr, (char *)info->dlpi_addr + 0x40);
  note("%s:%x,%d,%s", info->dlpi_name, (unsigned)info->dlpi_addr, info->dlpi_phnum,
       (const char *)data);
  return info->dlpi_phnum == stops_at ? 9 : 0;
}

static int list(void) { return iterate_objects(on_object, (char[]){"data"}); }

/* Behind libc's. The one that is not visible yet is half made. */
static void test_objects_of_a_rank_are_listed(void **state) {
  (void)state;
  stops_at = 0;
  assert_int_equal(list(), 0);
  check_trace(
      "dlsym:dl_iterate_phdr list:1,data /a:7010000,5,data /b:7011000,6,data /c:7012000,7,data ");
  loaded[1] = false; /* by another rank */
  rank = 0;
  assert_int_equal(list(), 0);
  check_trace("list:1,data /a:7000000,5,data /c:7002000,7,data ");
  stops_at = 5;
  assert_int_equal(list(), 9);
  check_trace("list:1,data /a:7000000,5,data ");
  libc_result = 3;
  assert_int_equal(list(), 3);
  check_trace("list:1,data ");
}

static void test_threads_of_no_rank_see_libc_s(void **state) {
  (void)state;
  rank = -1;
  assert_int_equal(list(), 0);
  rank = RANK;
  tm_the_program = NULL; /* it is not read yet */
  assert_int_equal(list(), 0);
  check_trace("list:1,data list:1,data ");
}

/* UCX would change our objects, and crash. */
static void test_ucx_sees_libc_s(void **state) {
  (void)state;
  stops_at = 0;
  program.visible_count = 1;
  object_of_caller = "/lib/libucm.so.0";
  list();
  check_trace("list:1,data /a:7010000,5,data "); /* a job of one node has no UCX */
  tm_job.far = (const struct tm_transport *)&program;
  list();
  check_trace("list:1,data ");
  object_of_caller = "/lib/libgcc_s.so";
  list();
  object_of_caller = NULL;
  list();
  check_trace("list:1,data /a:7010000,5,data list:1,data /a:7010000,5,data ");
}

int main(void) {
#define ROW(test) cmocka_unit_test_setup(test, start)
  const struct CMUnitTest tests[] = {
      ROW(test_objects_of_ranks_are_found_here),
      ROW(test_other_objects_are_libc_s),
      ROW(test_objects_of_a_rank_are_listed),
      ROW(test_threads_of_no_rank_see_libc_s),
      ROW(test_ucx_sees_libc_s),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
