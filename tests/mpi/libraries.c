/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the loader decides without a program: where a library is, and whether ranks share it. The
 * files are those of a table, and the memory they are read into ends where no page is.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "arch/program.h"
#include "os/map.h"
#include "tmpi/loader/policy.h"
#include "tmpi/loader/search.h"

enum { FILES_MAX = 8, ROOM = 1 << 16 };

/* ---- the files there are */

static struct {
  const char *path;
  const char *bytes;
  size_t size;
  bool damaged; /* reading it fails */
} files[FILES_MAX];
static int file_count, open_count, opened;

static void make_file(const char *path, const void *bytes, size_t size) {
  assert_true(file_count < FILES_MAX);
  files[file_count].path = path;
  files[file_count].bytes = bytes;
  files[file_count].damaged = false;
  files[file_count++].size = size;
}

int os_file_open(const char *path, int *fd, size_t *size) {
  for (int i = 0; i < file_count; i++)
    if (strcmp(files[i].path, path) == 0) {
      *fd = i;
      *size = files[i].size;
      open_count++;
      opened++;
      return 0;
    }
  return ENOENT;
}

void os_file_close(int fd) {
  assert_in_range(fd, 0, file_count - 1);
  open_count--;
}

int os_file_read(int fd, void *to, size_t size, off_t offset) {
  if (files[fd].damaged || (size_t)offset + size > files[fd].size) return EIO;
  memcpy(to, files[fd].bytes + offset, size);
  return 0;
}

void *os_map_memory(size_t size) {
  char *room = mmap(NULL, 2 * ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert_true(room != MAP_FAILED && size <= ROOM);
  assert_int_equal(mprotect(room + ROOM, ROOM, PROT_NONE), 0);
  return room + ROOM - size;
}

/* ---- the cache of ldconfig(8) */

static const char cache_magic[] = "glibc-ld.so.cache1.1";

/* As it is in the file. */
struct cached {
  int32_t kind;
  uint32_t name, path, os_version;
  uint64_t hwcap;
};

enum { HEADER = 48, ENTRIES = 5, STRINGS = HEADER + ENTRIES * sizeof(struct cached) };

/* Offsets of the strings. */
enum { NAME = STRINGS, WRONG = NAME + 8, RIGHT = WRONG + 8, LAST = RIGHT + 8, SIZE = LAST + 5 };

/* Writes a cache of `count` entries. Its last string ends with the file. */
static size_t write_cache(char *to, const struct cached *entries, uint32_t count) {
  memset(to, 0, SIZE);
  memcpy(to, cache_magic, strlen(cache_magic));
  memcpy(to + 20, &count, sizeof count);
  memcpy(to + HEADER, entries, ENTRIES * sizeof *entries);
  memcpy(to + NAME, "liba.so", 7);
  memcpy(to + WRONG, "/wrong", 6);
  memcpy(to + RIGHT, "/right", 6);
  memcpy(to + LAST, "/last", 5);
  return SIZE;
}

/* What a process finds, which reads the cache once. "": nothing. */
static const char *found_in(const char *bytes, size_t size, const char *name) {
  char *found = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  static char kept[ROOM];
  int status;
  assert_true(found != MAP_FAILED);
  pid_t child = fork();
  if (child == 0) {
    file_count = opened = open_count = 0;
    if (bytes != NULL) make_file("/etc/ld.so.cache", bytes, size);
    files[0].damaged = size == 0;
    const char *path = tm_cache_find(name), *again = tm_cache_find(name);
    if (path != NULL) strcpy(found, path);
    _exit(path != again || open_count != 0 || opened != (bytes != NULL));
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  strcpy(kept, found);
  munmap(found, ROOM);
  return kept;
}

static void the_cache_names_libraries(void **state) {
  (void)state;
  enum { OURS = MT_ARCH_CACHE_KIND };
  static const struct cached entries[ENTRIES] = {
      {OURS - 1, NAME, WRONG, 0, 0}, /* of another processor */
      {OURS, NAME, WRONG, 0, 1},     /* of some processors */
      {OURS, NAME, SIZE, 0, 0},      /* its path is not in the file */
      {OURS, SIZE, WRONG, 0, 0},     /* its name is not */
      {OURS, NAME, RIGHT, 0, 0},
  };
  struct cached last[ENTRIES];
  char bytes[64 + SIZE];
  size_t size = write_cache(bytes, entries, ENTRIES);
  assert_string_equal(found_in(bytes, size, "liba.so"), "/right");
  assert_string_equal(found_in(bytes, size, "liba"), "");
  assert_string_equal(found_in(bytes, size, "liba.so.1"), "");
  assert_string_equal(found_in(bytes, size, ""), "");
  memcpy(last, entries, sizeof last);
  last[2].path = LAST;
  size = write_cache(bytes, last, ENTRIES);
  assert_string_equal(found_in(bytes, size, "liba.so"), "/last");
  /* behind a table in an older format */
  memset(bytes, 1, 64);
  size = write_cache(bytes + 64, entries, ENTRIES);
  assert_string_equal(found_in(bytes, 64 + size, "liba.so"), "/right");
}

static void a_cache_of_another_form_names_none(void **state) {
  (void)state;
  struct cached entries[ENTRIES] = {{0}};
  char bytes[SIZE];
  entries[ENTRIES - 1] = (struct cached){MT_ARCH_CACHE_KIND, NAME, RIGHT, 0, 0};
  size_t size = write_cache(bytes, entries, ENTRIES - 1); /* the entry behind the last one */
  assert_string_equal(found_in(bytes, size, "liba.so"), "");
  size = write_cache(bytes, entries, UINT32_MAX); /* more than there is room for */
  assert_string_equal(found_in(bytes, size, "liba.so"), "/right");
  assert_string_equal(found_in(bytes, size, "libb.so"), "");
  assert_string_equal(found_in(bytes, HEADER - 1, "liba.so"), "");
  assert_string_equal(found_in(bytes, 20, "liba.so"), "");
  assert_string_equal(found_in(bytes, 0, "liba.so"), ""); /* it cannot be read */
  assert_string_equal(found_in(NULL, 0, "liba.so"), "");
  bytes[0] = 'G';
  assert_string_equal(found_in(bytes, size, "liba.so"), "");
}

/* ---- folders */

/* An image with its search paths. */
struct searching {
  struct tm_image image; /* first */
  const char *rpath, *runpath;
};

const char *tm_image_dynamic_string(const struct tm_image *image, Elf64_Sxword tag) {
  const struct searching *searching = (const struct searching *)image;
  return tag == DT_RPATH ? searching->rpath : tag == DT_RUNPATH ? searching->runpath : NULL;
}

/* The paths that are tried, in turn, with all of them there; at the end only one that is not. */
static void check_order(const struct searching *from, const char *const *paths, const char *other) {
  char where[PATH_MAX];
  int count = 0;
  while (paths[count] != NULL) count++;
  for (int first = 0; first <= count; first++) {
    file_count = 0;
    make_file(other, "text", 4);
    for (int i = count - 1; i >= first; i--) make_file(paths[i], "text", 4);
    assert_int_equal(tm_search(&from->image, "libx.so", where), first < count);
    if (first < count) assert_string_equal(where, paths[first]);
    assert_int_equal(open_count, 0);
  }
}

static void folders_are_searched_in_the_order_of_ld_so(void **state) {
  (void)state;
  static char program[] = "/app/bin/program", library[] = "/lib/own/libown.so";
  struct searching parent = {{.path = program}, "/parent-r:/parent-s", NULL};
  struct searching child = {{.path = library, .needed_by = &parent.image}, "/r1:/r2", NULL};
  setenv("LD_LIBRARY_PATH", "/env1:/env2", 1);
  check_order(&child,
              (const char *const[]){"/r1/libx.so", "/r2/libx.so", "/parent-r/libx.so",
                                    "/parent-s/libx.so", "/env1/libx.so", "/env2/libx.so", NULL},
              "/lib/own/libx.so");
  child.runpath = "/run1;/run2"; /* then neither its own DT_RPATH nor another's counts */
  static const char *const by_runpath[] = {"/env1/libx.so", "/env2/libx.so", "/run1/libx.so",
                                           "/run2/libx.so", NULL};
  check_order(&child, by_runpath, "/r1/libx.so");
  check_order(&child, by_runpath, "/parent-r/libx.so");
  child.runpath = NULL;
  parent.runpath = "/run"; /* then its DT_RPATH does not, and its DT_RUNPATH is for itself */
  static const char *const by_rpath[] = {"/r1/libx.so", "/r2/libx.so", "/env1/libx.so",
                                         "/env2/libx.so", NULL};
  check_order(&child, by_rpath, "/parent-r/libx.so");
  check_order(&child, by_rpath, "/run/libx.so");
  unsetenv("LD_LIBRARY_PATH");
  static const char *const folders[] = {MT_ARCH_SYSTEM_FOLDERS, "/lib", "/usr/lib"};
  enum { FOLDERS = sizeof folders / sizeof folders[0] };
  char paths[FOLDERS][64];
  const char *list[FOLDERS + 1] = {NULL};
  for (size_t i = 0; i < FOLDERS; i++) {
    snprintf(paths[i], sizeof paths[i], "%s/libx.so", folders[i]);
    list[i] = paths[i];
  }
  check_order(&(struct searching){{.path = library}, NULL, NULL}, list, "./libx.so");
}

/* A search path leads to a file, which is the only one. */
static bool leads(const char *list, char *image, const char *to) {
  struct searching from = {{.path = image}, list, NULL};
  char where[PATH_MAX];
  file_count = 0;
  make_file(to, "text", 4);
  return tm_search(&from.image, "libx.so", where) && strcmp(where, to) == 0;
}

static void search_paths_have_tokens(void **state) {
  (void)state;
  static char deep[] = "/none/deep/lib.so", bare[] = "lib.so", real[] = "/proc/self/exe";
  static char self[PATH_MAX], list[2 * PATH_MAX], path[3 * PATH_MAX], far[PATH_MAX];
  static const struct {
    const char *list, *found;
  } all[] = {
      {"$ORIGIN", "/none/deep/libx.so"},
      {"${ORIGIN}", "/none/deep/libx.so"},
      {"$ORIGIN/../sub", "/none/deep/../sub/libx.so"},
      {"/a${ORIGIN}b", "/a/none/deepb/libx.so"},
      {"/${LIB}/b", "/" MT_ARCH_LIB "/b/libx.so"},
      {"/$LIB/b", "/" MT_ARCH_LIB "/b/libx.so"},
      {"/$PLATFORM/b", "/" MT_ARCH_PLATFORM "/b/libx.so"},
      {"/${PLATFORM}b", "/" MT_ARCH_PLATFORM "b/libx.so"},
      {"/${ORIGIN/b", "/${ORIGIN/b/libx.so"},
      {"/$OTHER/b", "/$OTHER/b/libx.so"},
      {"/a$", "/a$/libx.so"},
      {"", ""},
      {":/a", "./libx.so"},
      {"/a::/b", "./libx.so"},
      {"/a;;/b", "./libx.so"},
      {"/a:/b", "/b/libx.so"},
  };
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
    if (leads(all[i].list, deep, all[i].found) != (all[i].found[0] != '\0'))
      fail_msg("%s does not lead to %s", all[i].list, all[i].found);
  assert_false(leads("/a:", deep, "./libx.so"));
  assert_true(leads("$ORIGIN", bare, "./libx.so"));
  assert_non_null(realpath(real, self)); /* where the file really is */
  snprintf(path, PATH_MAX + 16, "%.*s/libx.so", (int)(strrchr(self, '/') - self), self);
  assert_true(leads("$ORIGIN", real, path));
  /* the longest path, and one that is too long: what is left of it is no path */
  memset(list, 'a', 2 * PATH_MAX);
  list[0] = '/';
  size_t longest = PATH_MAX - sizeof "/libx.so";
  list[longest] = '\0';
  sprintf(path, "%s/libx.so", list);
  assert_true(leads(list, deep, path));
  list[longest] = 'a';
  list[longest + 1] = '\0';
  sprintf(path, "%s/libx.s", list);
  assert_false(leads(list, deep, path));
  list[longest + 1] = 'a';
  list[2 * PATH_MAX - 1] = '\0';
  assert_false(leads(list, deep, "/libx.so"));
  /* a token whose value does not fit: neither what is in front of it nor "/" is searched */
  snprintf(far, PATH_MAX, "/%0*d/lib.so", PATH_MAX / 2, 7);
  snprintf(list, PATH_MAX, "/%0*d$ORIGIN", PATH_MAX / 2, 5);
  snprintf(path, PATH_MAX, "/%0*d/libx.so", PATH_MAX / 2, 5);
  assert_false(leads(list, far, path));
  assert_false(leads(list, far, "//libx.so"));
}

static void a_name_with_a_slash_is_a_path(void **state) {
  (void)state;
  static char program[] = "/app/program";
  struct searching from = {{.path = program}, "/r", NULL};
  static char where[PATH_MAX], name[PATH_MAX + 1], cut[PATH_MAX + 1];
  file_count = 0;
  make_file("sub/libx.so", "text", 4);
  make_file("/r/sub/libx.so", "text", 4);
  assert_true(tm_search(&from.image, "sub/libx.so", where));
  assert_string_equal(where, "sub/libx.so");
  assert_false(tm_search(&from.image, "sub/liby.so", where));
  memset(name, 'n', PATH_MAX);
  name[0] = '/';
  name[PATH_MAX - 1] = '\0';
  make_file(name, "text", 4);
  assert_true(tm_search(&from.image, name, where));
  assert_string_equal(where, name);
  strcpy(cut, name);
  files[file_count - 1].path = cut;
  strcpy(name + PATH_MAX - 1, "n"); /* the file has the beginning of this name */
  assert_false(tm_search(&from.image, name, where));
}

static void libraries_of_other_processors_do_not_count(void **state) {
  (void)state;
  static char program[] = "/app/program";
  Elf64_Ehdr good = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64},
                     .e_machine = MT_ARCH_ELF_MACHINE};
  Elf64_Ehdr other = good, narrow = good, text = good;
  struct searching from = {{.path = program}, "/r", NULL};
  char where[PATH_MAX];
  other.e_machine = MT_ARCH_ELF_MACHINE + 1;
  narrow.e_ident[EI_CLASS] = ELFCLASS32;
  text.e_ident[3] = 'f';
  text.e_machine = MT_ARCH_ELF_MACHINE + 1;
  const struct {
    const Elf64_Ehdr *header;
    size_t size;
    bool damaged, counts;
  } all[] = {
      {&good, sizeof good, false, true},
      {&other, sizeof other, false, false},
      {&narrow, sizeof narrow, false, false},
      {&text, sizeof text, false, true},       /* what is damaged is refused later */
      {&other, sizeof other - 1, false, true}, /* it is no whole header */
      {&other, sizeof other, true, true},
  };
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
    file_count = open_count = 0;
    make_file("/r/libx.so", all[i].header, all[i].size);
    files[0].damaged = all[i].damaged;
    assert_int_equal(tm_search(&from.image, "libx.so", where), all[i].counts);
    assert_int_equal(open_count, 0);
  }
}

/* The cache comes before the folders of the system; a file of another processor's in it does not
 * count. In a process that has not read the cache. */
static void the_cache_comes_before_folders_of_the_system(void **state) {
  (void)state;
  static char program[] = "/app/program";
  Elf64_Ehdr other = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64},
                      .e_machine = MT_ARCH_ELF_MACHINE + 1};
  struct cached entries[ENTRIES] = {{MT_ARCH_CACHE_KIND, NAME, RIGHT, 0, 0}};
  struct searching from = {{.path = program}, NULL, "/run"};
  char bytes[SIZE], where[PATH_MAX];
  size_t size = write_cache(bytes, entries, 1);
  int status;
  pid_t child = fork();
  if (child == 0) {
    file_count = 0;
    make_file("/etc/ld.so.cache", bytes, size);
    make_file("/usr/lib/liba.so", "text", 4);
    make_file("/right", "text", 4);
    make_file("/run/liba.so", "text", 4);
    bool run = tm_search(&from.image, "liba.so", where) && strcmp(where, "/run/liba.so") == 0;
    file_count--;
    bool cached = tm_search(&from.image, "liba.so", where) && strcmp(where, "/right") == 0;
    files[2].bytes = (const char *)&other;
    files[2].size = sizeof other;
    bool last = tm_search(&from.image, "liba.so", where) && strcmp(where, "/usr/lib/liba.so") == 0;
    _exit(!run ? 1 : !cached ? 2 : !last ? 3 : 0);
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
}

static void folders_of_the_system(void **state) {
  (void)state;
  assert_true(tm_search_is_system("/lib/libx.so"));
  assert_true(tm_search_is_system("/lib64/libx.so"));
  assert_true(tm_search_is_system("/usr/lib/libx.so"));
  assert_true(tm_search_is_system("/usr/local/lib/libx.so"));
  assert_false(tm_search_is_system("/usr/local/share/libx.so"));
  assert_false(tm_search_is_system("/srv/lib/libx.so"));
  assert_false(tm_search_is_system("lib/libx.so"));
}

/* ---- what ranks share */

static void check_shared(const char *name, const char *why) {
  const char *given = tm_policy_shared(name);
  if (why == NULL ? given != NULL : given == NULL || strcmp(given, why) != 0)
    fail_msg("%s: %s, not %s", name, given != NULL ? given : "none", why != NULL ? why : "none");
}

static void libraries_are_shared_for_a_reason(void **state) {
  (void)state;
  static const char *const always[][2] = {{"ld-linux-x86-64.so.2", "libc"},
                                          {"libc.so.6", "libc"},
                                          {"libm.so.6", "libc"},
                                          {"libmvec.so.1", "libc"},
                                          {"libpthread.so.0", "libc"},
                                          {"libdl.so.2", "libc"},
                                          {"librt.so.1", "libc"},
                                          {"libutil.so.1", "libc"},
                                          {"libresolv.so.2", "libc"},
                                          {"libanl.so.1", "libc"},
                                          {"libnss_dns.so.2", "libc"},
                                          {"libBrokenLocale.so.1", "libc"},
                                          {"libgcc_s.so.1", "unwinds the stacks of all"},
                                          {"libmltp.so.1", "runs the ranks"},
                                          {"libmpi_abi.so.1", "runs the ranks"},
                                          {"libasan.so.8", "sanitizer"},
                                          {"libtsan.so.2", "sanitizer"},
                                          {"liblsan.so.0", "sanitizer"},
                                          {"libubsan.so.1", "sanitizer"},
                                          {"libclang_rt.asan-x86_64.so", "sanitizer"},
                                          {"libatomic.so.1", "locks for all"},
                                          {"libitm.so.1", "locks for all"}};
  static const char *const unless[][2] = {
      {"libgomp.so.1", "OpenMP"},
      {"libomp.so.5", "OpenMP"},
      {"libiomp5.so", "OpenMP"},
      {"libjemalloc.so.2", "one heap"},
      {"libtcmalloc_minimal.so.4", "one heap"},
      {"libmimalloc.so.2", "one heap"},
      {"libtbbmalloc_proxy.so.2", "one heap"},
      {"libopenblas.so.0", "linear algebra without state"},
      {"libscipy_openblas64_.so", "linear algebra without state"},
      {"libblas.so.3", "linear algebra without state"},
      {"libcblas.so.3", "linear algebra without state"},
      {"liblapack.so.3", "linear algebra without state"},
      {"libblis.so.4", "linear algebra without state"},
      {"libmkl_core.so.2", "linear algebra without state"},
      {"libquadmath.so.0", "functions without state"},
  };
  for (size_t i = 0; i < sizeof always / sizeof always[0]; i++)
    check_shared(always[i][0], always[i][1]);
  for (size_t i = 0; i < sizeof unless / sizeof unless[0]; i++)
    check_shared(unless[i][0], unless[i][1]);
  check_shared("libfftw3.so.3", NULL);
  check_shared("libcurl.so.4", NULL);
  check_shared("libc.sox", "libc");
  check_shared("libgomp", NULL);
  check_shared("/usr/lib/libgomp.so.1", "OpenMP");
  check_shared("/libc.so.6/libfftw3.so.3", NULL);

  assert_true(tm_policy_option("libfftw3,,libz.so.1", true));
  check_shared("libfftw3.so", "--share");
  check_shared("libfftw3.so.3", "--share");
  check_shared("libfftw3f.so.3", NULL);
  check_shared("libz.so.1", "--share");
  check_shared("libz.so.12", NULL);
  check_shared("libz.so", NULL);
  check_shared("libfftw3.sh", NULL);
  check_shared(".so.1", NULL); /* what is between two commas names no library */
  assert_true(tm_policy_share("liblow.so.1"));
  check_shared("liblow.so.1", "a shared library needs it");
  assert_true(tm_policy_option("libfftw3.so.3,lib?omp*", false)); /* the last one counts */
  check_shared("libfftw3.so.3", NULL);
  check_shared("libfftw3.so.4", "--share");
  check_shared("libgomp.so.1", NULL);
  check_shared("libiomp5.so", NULL);
  check_shared("libomp.so.5", "OpenMP");
  assert_true(tm_policy_option("lib[a-h]*", true));
  check_shared("libgomp.so.1", "--share");
  check_shared("libfftw3.so.3", "--share");
  check_shared("libz.so.1", "--share");
  assert_true(tm_policy_option("*", false));
  for (size_t i = 0; i < sizeof always / sizeof always[0]; i++)
    check_shared(always[i][0], always[i][1]);
  for (size_t i = 0; i < sizeof unless / sizeof unless[0]; i++) check_shared(unless[i][0], NULL);
  check_shared("libz.so.1", NULL);
  assert_true(tm_policy_option("", true));
  check_shared("libz.so.1", NULL);

  assert_true(tm_policy_is_language("libstdc++.so.6"));
  assert_true(tm_policy_is_language("/usr/lib/libgfortran.so.5"));
  assert_true(tm_policy_is_language("libc++.so.1"));
  assert_true(tm_policy_is_language("libc++abi.so.1"));
  assert_false(tm_policy_is_language("libc.so.6"));
  assert_false(tm_policy_is_language("libstdc.so.6"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_cache_names_libraries),
      cmocka_unit_test(a_cache_of_another_form_names_none),
      cmocka_unit_test(the_cache_comes_before_folders_of_the_system),
      cmocka_unit_test(folders_are_searched_in_the_order_of_ld_so),
      cmocka_unit_test(search_paths_have_tokens),
      cmocka_unit_test(a_name_with_a_slash_is_a_path),
      cmocka_unit_test(libraries_of_other_processors_do_not_count),
      cmocka_unit_test(folders_of_the_system),
      cmocka_unit_test(libraries_are_shared_for_a_reason),
  };
  unsetenv("LD_LIBRARY_PATH");
  return cmocka_run_group_tests(tests, NULL, NULL);
}
