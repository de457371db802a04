/* SPDX-License-Identifier: Apache-2.0 */
#include "tmpi/run/audited.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tmpi/env/launch.h"

/* Beside libmpi_abi. @return false: it is not there, or ld.so(8) would take its path for two. */
static bool find_auditor(char path[PATH_MAX]) {
  struct link_map *mpi;
  void *handle = dlopen("libmpi_abi.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (handle == NULL) return false;
  bool known = dlinfo(handle, RTLD_DI_LINKMAP, &mpi) == 0;
  if (known) {
    const char *slash = strrchr(mpi->l_name, '/');
    int length = slash != NULL ? (int)(slash - mpi->l_name) : 0;
    snprintf(path, PATH_MAX, "%.*s" TM_AUDITOR, length, mpi->l_name);
  }
  dlclose(handle);
  return known && strchr(path, ':') == NULL && access(path, R_OK) == 0;
}

void tm_audited_start(void) {
  char path[PATH_MAX], *list;
  const char *before = getenv("LD_AUDIT");
  if (!find_auditor(path)) return;
  size_t length = strlen(path);
  if (before != NULL && strncmp(before, path, length) == 0) return; /* of the tmpirun above */
  if (before == NULL || before[0] == '\0') {
    setenv("LD_AUDIT", path, 1);
  } else if (asprintf(&list, "%s:%s", path, before) >= 0) {
    setenv("LD_AUDIT", list, 1);
    free(list);
  }
}
