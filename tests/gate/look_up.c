/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which functions dlsym() finds under the gate (src/gate/look_up.c): in a table of symbols of the
 * test's own, in libc's, and in this program, which is in the place of the gate: it defines a
 * function of libc's name.
 */
#include "gate/look_up.c"

#include <unistd.h>

#include "support/plain.h"

struct gt_gate gt_gate;
__thread struct gt_thread gt_me;
struct mt_client_view mt_client_view;

/* ---- a table of symbols */

enum { FIRST = 3, SYMBOLS = 9, BUCKETS = 3, FILTER = 2, BASE = 0x100000 };

/* xAb and xBA have the same hash; the last one is behind the end of its chain. */
static const char strings[] = "\0xAb\0xBA\0x\0much_longer\0z\0decoy";
enum { AB = 1, BA = 5, X = 9, LONGER = 11, Z = 23, DECOY = 25 };

static ElfW(Sym) symbols[SYMBOLS];
static uint32_t table[4 + FILTER * sizeof(ElfW(Addr)) / sizeof(uint32_t) + BUCKETS + SYMBOLS];
static ElfW(Dyn) dynamic[8];
static struct link_map object = {.l_addr = BASE, .l_ld = dynamic};

static uint32_t known_hash(const char *name) {
  uint32_t hash = 5381;
  while (*name != '\0') hash += hash * 32 + (unsigned char)*name++;
  return hash;
}

static uint32_t *buckets(void) {
  return table + 4 + FILTER * sizeof(ElfW(Addr)) / sizeof(uint32_t);
}

static int added; /* symbols so far */

/* Adds a symbol to the last chain. */
static void add(uint32_t name, bool is_last) {
  uint32_t *chains = buckets() + BUCKETS;
  symbols[FIRST + added].st_name = name;
  symbols[FIRST + added].st_value = 16 * (ElfW(Addr))name;
  chains[added++] = (known_hash(strings + name) & ~1u) | is_last;
}

/* Chains of the names that are in each bucket, in the order of the buckets. */
static void make_table(void) {
  static const uint32_t names[] = {AB, BA, X, LONGER, Z};
  table[0] = BUCKETS;
  table[1] = FIRST;
  table[2] = FILTER;
  table[3] = 6; /* of the filter */
  added = 0;
  for (uint32_t bucket = 0; bucket < BUCKETS; bucket++) {
    int count = 0;
    for (int i = 0; i < 5; i++) count += known_hash(strings + names[i]) % BUCKETS == bucket;
    buckets()[bucket] = count == 0 ? 0 : (uint32_t)(FIRST + added);
    for (int i = 0; i < 5; i++)
      if (known_hash(strings + names[i]) % BUCKETS == bucket) add(names[i], --count == 0);
  }
  add(DECOY, true);
  dynamic[0] = (ElfW(Dyn)){.d_tag = DT_SONAME, .d_un.d_ptr = 1};
  dynamic[1] = (ElfW(Dyn)){.d_tag = DT_STRTAB, .d_un.d_ptr = (ElfW(Addr))strings};
  dynamic[2] = (ElfW(Dyn)){.d_tag = DT_SYMTAB, .d_un.d_ptr = (ElfW(Addr))symbols};
  dynamic[3] = (ElfW(Dyn)){.d_tag = DT_GNU_HASH, .d_un.d_ptr = (ElfW(Addr))table};
  dynamic[4] = (ElfW(Dyn)){.d_tag = DT_NULL};
}

static void check_found(const char *name, uint32_t index) {
  EQUAL((uintptr_t)defined_in(&object, name), index == 0 ? 0 : BASE + 16 * (uintptr_t)index);
}

static void names_are_found_in_a_table(void) {
  make_table();
  check_found("xAb", AB);
  check_found("xBA", BA);
  check_found("x", X);
  check_found("much_longer", LONGER);
  check_found("z", Z);
  check_found("xA", 0);
  check_found("xAbc", 0);
  check_found("", 0);
  check_found("\xc3\xa4", 0);
  check_found("decoy", 0); /* of its bucket are others */
  for (int missing = 1; missing < 4; missing++) {
    make_table();
    dynamic[missing].d_tag = DT_SONAME;
    check_found("xAb", 0);
  }
  make_table();
  table[0] = 0;
  check_found("xAb", 0);
}

static void an_empty_bucket_has_nothing(void) {
  char name[2] = {0};
  make_table();
  for (uint32_t bucket = 0; bucket < BUCKETS; bucket++) {
    make_table();
    buckets()[bucket] = 0;
    for (name[0] = 'a'; name[0] <= 'z'; name[0]++)
      if (known_hash(name) % BUCKETS == bucket) check_found(name, 0);
  }
}

/* ---- libc, and this program */

static void *libc, *libc_getppid, *libc_dlsym_seen, *libc_dlvsym_seen;
static int searches;

/* The gate's functions stand before this one. */
void *gt_next_function(const char *name) {
  searches++;
  return is_same(name, "getppid") ? libc_getppid : NULL;
}

__attribute__((visibility("default"))) pid_t getppid(void) { return -7; }

int only_here(void);
__attribute__((visibility("default"))) int only_here(void) { return 5; }

static void functions_of_libc_are_found(void) {
  static const char *const names[] = {"syscall", "getppid", "dlsym", "printf"};
  libc = dlopen("libc.so.6", RTLD_NOW);
  CHECK(libc != NULL);
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    CHECK((void *)(uintptr_t)gt_libc_function(names[i]) == dlsym(libc, names[i]));
  CHECK(gt_libc_function("only_here") == NULL);
  libc_getppid = dlsym(libc, "getppid");
  libc_dlsym_seen = dlsym(libc, "dlsym");
  libc_dlvsym_seen = dlsym(libc, "dlvsym");
  CHECK(libc_getppid != (void *)(uintptr_t)getppid);
}

static gt_any *answer(void *handle, const char *name, const void *at) {
  gt_any *plain = gt_answer(handle, name, "unused", at);
  gt_any *versioned = gt_answer_version(handle, name, "unused", at);
  bool is_ours = plain == (gt_any *)look_up;
  CHECK(is_ours == (versioned == (gt_any *)look_up_version));
  if (is_ours) return plain;
  CHECK((void *)(uintptr_t)plain == libc_dlsym_seen);
  CHECK((void *)(uintptr_t)versioned == libc_dlvsym_seen);
  return NULL;
}

static void the_gate_answers_for_its_functions(void) {
  CHECK(answer(libc, "getppid", &libc) != NULL);
  CHECK(answer(libc, "only_here", &libc) != NULL);
  CHECK(answer(libc, "getpid", &libc) == NULL);
  CHECK(answer(RTLD_DEFAULT, "getppid", &libc) == NULL);
  CHECK(answer(RTLD_NEXT, "getppid", (void *)8) != NULL);    /* nobody's code */
  CHECK(answer(RTLD_NEXT, "getppid", libc_getppid) == NULL); /* libc has one itself */
  CHECK(answer(RTLD_NEXT, "only_here", libc_getppid) != NULL);
}

static void the_function_that_would_be_called_is_found(void) {
  void *ours = (void *)(uintptr_t)getppid;
  CHECK(look_up(libc, "getppid") == ours);
  CHECK(look_up(libc, "getpid") == dlsym(libc, "getpid"));
  EQUAL(searches, 2);
  CHECK(look_up(libc, "only_here") == NULL && dlerror() != NULL);
  EQUAL(searches, 2); /* a search that finds nothing allocates a message */
#if defined(__x86_64__)
  const char *version = "GLIBC_2.2.5";
#else
  const char *version = "GLIBC_2.17";
#endif
  CHECK(look_up_version(libc, "getppid", version) == ours);
  CHECK(look_up_version(libc, "getpid", version) == dlsym(libc, "getpid"));
  CHECK(look_up_version(libc, "getppid", "NONE") == NULL);
}

int main(void) {
  names_are_found_in_a_table();
  an_empty_bucket_has_nothing();
  functions_of_libc_are_found();
  the_gate_answers_for_its_functions();
  the_function_that_would_be_called_is_found();
}
