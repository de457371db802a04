/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preloaded tools. ld.so(8) has loaded what LD_PRELOAD names once, for all ranks. A tool that
 * stands before functions of MPI counts in its globals what a process does, so each rank gets a
 * copy, which is searched after the application and before all libraries. The copy of the process
 * stays; only what looks for RTLD_NEXT finds it.
 */
#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "tmpi/loader/policy.h"
#include "tmpi/loader/program.h"

/* @return the file of a preloaded library that has functions of MPI or needs them; NULL: none. */
static const char *tool_of(const char *name) {
  struct link_map *map;
  const char *path = NULL;
  void *handle = tm_policy_shared(name) == NULL ? dlopen(name, RTLD_LAZY | RTLD_NOLOAD) : NULL;
  if (handle == NULL) return NULL;
  if (dlsym(handle, "MPI_Init") != NULL && dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0)
    path = map->l_name;
  dlclose(handle);
  return path;
}

bool tm_program_add_preloaded(struct tm_program *program) {
  const char *value = getenv("LD_PRELOAD");
  if (value == NULL) return true;
  char *names = strdup(value), *rest = NULL;
  if (names == NULL) return tm_refuse(program->images[0]->path, "no memory (free some)");
  bool good = true;
  for (char *name = strtok_r(names, " :", &rest); good && name != NULL;
       name = strtok_r(NULL, " :", &rest)) {
    struct tm_need need = {0};
    const char *path = tool_of(name);
    good = path == NULL || tm_program_add_private(program, program->images[0], path, &need);
  }
  free(names);
  return good;
}
