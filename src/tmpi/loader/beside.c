/* SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#include "tmpi/loader/search.h"

bool tm_search_beside(const char *name, char where[PATH_MAX]) {
  struct link_map *mpi;
  /* dladdr() of a function would compare each symbol of the library with it */
  void *handle = dlopen("libmpi_abi.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (handle == NULL) return false;
  bool known = dlinfo(handle, RTLD_DI_LINKMAP, &mpi) == 0;
  if (known) {
    const char *slash = strrchr(mpi->l_name, '/');
    int folder = slash != NULL ? (int)(slash - mpi->l_name) + 1 : 0;
    snprintf(where, PATH_MAX, "%.*s%s", folder, mpi->l_name, name);
  }
  dlclose(handle);
  return known;
}
