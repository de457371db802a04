/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which libraries all ranks share.
 *
 * A library may keep anything in its globals: plans, open files, handlers, the last error. Ranks
 * that share it then see each other's, and the results are wrong. So a library is private, in
 * whatever folder it lies, unless it is known that sharing is right (it keeps nothing that calls
 * of one rank leave to another) or that a copy is impossible (it belongs to the process or to
 * kernel threads).
 */
#include "tmpi/loader/policy.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

struct row {
  const char *pattern, *why;
  bool always; /* a copy would not work: --private does not count */
};

static const struct row table[] = {
    {"ld-linux*.so*", "libc", true},
    {"libc.so*", "libc", true},
    {"libm.so*", "libc", true},
    {"libmvec.so*", "libc", true},
    {"libpthread.so*", "libc", true},
    {"libdl.so*", "libc", true},
    {"librt.so*", "libc", true},
    {"libutil.so*", "libc", true},
    {"libresolv.so*", "libc", true},
    {"libanl.so*", "libc", true},
    {"libnss_*.so*", "libc", true},
    {"libBrokenLocale.so*", "libc", true},
    {"libgcc_s.so*", "unwinds the stacks of all", true},
    {"libmltp*.so*", "runs the ranks", true},
    {"libmpi_abi.so*", "runs the ranks", true},
    {"libgomp.so*", "OpenMP", false},
    {"libomp.so*", "OpenMP", false},
    {"libiomp5.so*", "OpenMP", false},
    {"libasan.so*", "sanitizer", true},
    {"libtsan.so*", "sanitizer", true},
    {"liblsan.so*", "sanitizer", true},
    {"libubsan.so*", "sanitizer", true},
    {"libclang_rt.*.so*", "sanitizer", true},
    {"libatomic.so*", "locks for all", true},
    {"libitm.so*", "locks for all", true},
    {"libjemalloc.so*", "one heap", false},
    {"libtcmalloc*.so*", "one heap", false},
    {"libmimalloc*.so*", "one heap", false},
    {"libtbbmalloc*.so*", "one heap", false},
    {"libopenblas*.so*", "linear algebra without state", false},
    {"libscipy_openblas*.so*", "linear algebra without state", false}, /* in wheels of NumPy */
    {"libblas*.so*", "linear algebra without state", false},
    {"libcblas.so*", "linear algebra without state", false},
    {"liblapack*.so*", "linear algebra without state", false},
    {"libblis*.so*", "linear algebra without state", false},
    {"libmkl_*.so*", "linear algebra without state", false},
    {"libquadmath.so*", "functions without state", false},
};

/* What the user says, or what follows from it. The last one counts. */
struct demand {
  struct demand *before;
  bool share, by_user;
  char pattern[];
};

static struct demand *demands;

static bool add_demand(const char *name, size_t length, bool share, bool by_user) {
  struct demand *demand = calloc(1, sizeof *demand + length + 1);
  if (demand == NULL) return false;
  demand->before = demands;
  demand->share = share;
  demand->by_user = by_user;
  memcpy(demand->pattern, name, length);
  demands = demand;
  return true;
}

bool tm_policy_option(const char *names, bool share) {
  while (*names != '\0') {
    size_t length = strcspn(names, ",");
    if (length > 0 && !add_demand(names, length, share, true)) return false;
    names += length + (names[length] == ',');
  }
  return true;
}

bool tm_policy_share(const char *name) { return add_demand(name, strlen(name), true, false); }

static const char *file_of(const char *name) {
  const char *slash = strrchr(name, '/');
  return slash != NULL ? slash + 1 : name;
}

static bool is_plain(char c) { return c != '*' && c != '?' && c != '[' && c != '\\'; }

/* Most patterns differ from the name in a character before the first special one: fnmatch() is
 * slow, and each library of a program is compared with all of them. */
static bool is_like(const char *pattern, const char *file) {
  for (; is_plain(*pattern); pattern++, file++) {
    if (*pattern != *file) return false;
    if (*pattern == '\0') return true;
  }
  return fnmatch(pattern, file, 0) == 0;
}

/* "libfftw3" is libfftw3.so, libfftw3.so.3 and so on, but not libfftw3f.so. */
static bool matches(const char *pattern, const char *file) {
  size_t length = strlen(pattern);
  bool is_stem = strncmp(pattern, file, length) == 0 && strncmp(file + length, ".so", 3) == 0;
  return is_stem || is_like(pattern, file);
}

static const struct demand *demand_for(const char *name) {
  const struct demand *demand = demands;
  while (demand != NULL && !matches(demand->pattern, file_of(name))) demand = demand->before;
  return demand;
}

const char *tm_policy_shared(const char *name) {
  const struct demand *demand = demand_for(name);
  const struct row *row = table, *end = table + sizeof table / sizeof table[0];
  while (row < end && !is_like(row->pattern, file_of(name))) row++;
  if (row < end && (row->always || demand == NULL)) return row->why;
  if (demand == NULL || !demand->share) return NULL;
  return demand->by_user ? "--share" : "a shared library needs it";
}

bool tm_policy_is_language(const char *name) {
  static const char *const patterns[] = {"libstdc++.so*", "libgfortran.so*", "libc++.so*",
                                         "libc++abi.so*"};
  for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; i++)
    if (is_like(patterns[i], file_of(name))) return true;
  return false;
}
