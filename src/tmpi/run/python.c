/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Debian's python3 is linked for a fixed address, so no rank can have a copy. Its library is the
 * same interpreter: a small program of ours (src/tmpi/python) starts that.
 */
#include "tmpi/run/python.h"

#include <dlfcn.h>
#include <elf.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "os/map.h"
#include "tmpi/loader/search.h"
#include "tmpi/mpi.h"

static bool has_fixed_address(const char *path) {
  int fd;
  size_t size;
  Elf64_Ehdr header;
  if (os_file_open(path, &fd, &size) != 0) return false;
  bool read = size >= sizeof header && os_file_read(fd, &header, sizeof header, 0) == 0;
  os_file_close(fd);
  return read && memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_type == ET_EXEC;
}

/* "python3.11" -> "3.11". @return NULL: another name. */
static const char *version_of(const char *path) {
  const char *slash = strrchr(path, '/'), *file = slash != NULL ? slash + 1 : path;
  if (strncmp(file, "python3.", 8) != 0) return NULL;
  return file[8 + strspn(file + 8, "0123456789")] == '\0' ? file + 6 : NULL;
}

/* Beside the interpreter, or where libraries of the system are. */
static bool find_library(const char *path, const char *version, char *where) {
  char name[64];
  const char *slash = strrchr(path, '/');
  snprintf(name, sizeof name, "libpython%s.so.1.0", version);
  snprintf(where, PATH_MAX, "%.*s/../lib/%s", (int)(slash - path), path, name);
  if (access(where, R_OK) == 0) return true;
  const char *cached = tm_cache_find(name);
  if (cached != NULL) {
    snprintf(where, PATH_MAX, "%s", cached);
    return true;
  }
  fprintf(stderr, "tmpirun: '%s' can run through %s (install libpython%s)\n", path, name, version);
  return false; /* the refusal follows */
}

bool tm_python_is_fixed(const char *path) {
  char *real = realpath(path, NULL);
  bool is = real != NULL && version_of(real) != NULL && has_fixed_address(real);
  free(real);
  return is;
}

char *tm_python_stand_in(const char *path) {
  char library[PATH_MAX], *stand_in = NULL;
  Dl_info mpi;
  const char *version = version_of(path);
  if (version == NULL || !has_fixed_address(path) || !find_library(path, version, library) ||
      dladdr((const void *)(uintptr_t)PMPI_Init, &mpi) == 0)
    return NULL;
  const char *slash = strrchr(mpi.dli_fname, '/');
  if (asprintf(&stand_in, "%.*s/tmpi/python", (int)(slash - mpi.dli_fname), mpi.dli_fname) < 0)
    return NULL;
  fprintf(stderr, "tmpirun: Python (%s): a kernel thread for each rank, as with --one-to-one\n",
          library);
  setenv(TM_PYTHON, library, 1);
  setenv("MLTP_BACKEND", "kernel", 1);
  return stand_in;
}
