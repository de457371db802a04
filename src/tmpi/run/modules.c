/* SPDX-License-Identifier: Apache-2.0 */
/* Finding modules, and the one of check.h. */
#include "tmpi/run/modules.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tmpi/check/check.h"
#include "tmpi/loader/program.h"
#include "tmpi/loader/search.h"
#include "tmpi/rank/rank.h"

const void *tm_module(const char *name, const char *symbol) {
  char file[64], path[PATH_MAX];
  snprintf(file, sizeof file, "tmpi/%s.so", name);
  if (!tm_search_beside(file, path)) return NULL;
  void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  return module != NULL ? dlsym(module, symbol) : NULL;
}

static const struct tm_check *checks; /* NULL: not wanted */
static bool looks;                    /* --check, beside --report perhaps */

/* A build without libjansson has no such module. One that is there comes from another build, or
 * lacks a library. */
static const char *remedy(const char *why) {
  if (why == NULL) why = "";
  if (strstr(why, "check.so: cannot open") != NULL) return "build with libjansson-dev";
  if (strstr(why, "libjansson") != NULL) return "install libjansson";
  return "install tmpirun and its libraries from one build";
}

bool tm_checks_load(void) {
  checks = tm_module("check", "tm_check");
  if (checks != NULL) return true;
  const char *why = dlerror();
  fprintf(stderr, "tmpirun: --check and --report are not there: %s (%s)\n", why, remedy(why));
  return false;
}

static struct tm_library *list_libraries(size_t *count) {
  const struct tm_program *program = tm_the_program;
  size_t images = (size_t)program->image_count, shared = (size_t)program->shared_count;
  struct tm_library *list = calloc(images + shared, sizeof *list);
  if (list == NULL) return NULL;
  for (size_t i = 0; i < images; i++)
    list[i] = (struct tm_library){program->images[i]->path, NULL,
                                  tm_program_memory_of(program->images[i])};
  for (size_t i = 0; i < shared; i++)
    list[images + i] = (struct tm_library){program->shared[i].name, program->shared[i].why, 0};
  *count = images + shared;
  return list;
}

bool tm_checks_start(bool check, bool strict, bool report, const char *file) {
  struct tm_check_options options = {check, strict, report, file, list_libraries};
  looks = check;
  if (checks == NULL || checks->start(&options)) return true;
  fprintf(stderr, "tmpirun: no memory for --check or --report of %d ranks (fewer ranks)\n",
          tm_job.size);
  return false;
}

bool tm_checks_look(void) { return looks; }

const void *tm_checks_override(const char *name) {
  bool is_mpi = strncmp(name, "MPI_", 4) == 0 || strncmp(name, "PMPI_", 5) == 0;
  return checks != NULL && is_mpi ? checks->wrapper(name) : NULL;
}

void *tm_checks_gather(size_t *bytes) { return checks->gather(bytes); }

void tm_checks_add(const void *gathered, size_t bytes) { checks->add(gathered, bytes); }

int tm_checks_finish(int status, bool reports) {
  unsigned findings = checks != NULL ? checks->finish(reports) : 0;
  if (findings == 0) return status;
  fprintf(stderr, "tmpirun: --check has found %u mistake%s\n", findings, findings > 1 ? "s" : "");
  return status != 0 ? status : 1;
}
