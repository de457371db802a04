/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs that use OpenMP or Python: their ranks have to be kernel threads.
 *
 * OpenMP in ranks. Its run-time library is shared, since its thread-local variables are at fixed
 * offsets. It keeps a team with the kernel thread that made it. So ranks that use it are kernel
 * threads, and the threads it starts for a rank belong to the rank.
 */
#include <dlfcn.h>
#include <link.h>
#include <mltp/mltp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tmpi/loader/program.h"
#include "tmpi/run/override.h"
#include "tmpi/run/process.h"

/* Gives its name when a loaded object is a run-time library of OpenMP. */
static int find_openmp(struct dl_phdr_info *info, size_t size, void *name) {
  static const char *const libraries[] = {"libgomp.so.1", "libomp.so.5", "libiomp5.so"};
  (void)size;
  const char *slash = strrchr(info->dlpi_name, '/');
  const char *file = slash != NULL ? slash + 1 : info->dlpi_name;
  for (size_t i = 0; i < sizeof libraries / sizeof libraries[0]; i++)
    if (strcmp(file, libraries[i]) == 0) *(const char **)name = libraries[i];
  return *(const char **)name != NULL;
}

/* Python knows its threads by pthread_self(), which is another value on another VP: a rank that
 * had moved waited for its own locks. */
static const char *find_python(void) {
  for (int i = 0; i < tm_the_program->image_count; i++) {
    const char *path = tm_the_program->images[i]->path, *slash = strrchr(path, '/');
    const char *file = slash != NULL ? slash + 1 : path;
    if (strncmp(file, "libpython", strlen("libpython")) == 0) return file;
  }
  return NULL;
}

/* By the list of what is loaded: dlopen() with RTLD_NOLOAD searches all folders first. */
void tm_openmp_heed(void) {
  const char *backend = getenv("MLTP_BACKEND"), *name = NULL, *what = "OpenMP";
  if (backend != NULL && strcmp(backend, "kernel") == 0) return;
  dl_iterate_phdr(find_openmp, &name);
  if (name == NULL) {
    what = "Python";
    name = find_python();
  }
  if (name == NULL) return;
  fprintf(stderr, "tmpirun: %s (%s): a kernel thread for each rank, as with --one-to-one\n", what,
          name);
  setenv("MLTP_BACKEND", "kernel", 1);
}

/* ---- threads that shared libraries start */

#ifndef TM_SANITIZED /* sanitizers have a pthread_create() of their own before libc's */
typedef int create_function(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

static const void *object_of(tm_any *function) {
  Dl_info info;
  return dladdr(*(void **)&function, &info) != 0 ? info.dli_fbase : NULL;
}

/* A call of a rank's may also start kernel threads of tmpirun's and libmltp's, of no rank. */
static bool is_ours(tm_any *function) {
  const void *object = object_of(function);
  return object == object_of((tm_any *)tm_openmp_heed) || object == object_of((tm_any *)mltp_init);
}

TM_EXPORTED create_function pthread_create;

TM_EXPORTED int pthread_create(pthread_t *thread, const pthread_attr_t *attr,
                               void *(*function)(void *), void *argument) {
  static create_function *libc;
  if (tm_process_self() != NULL && !is_ours((tm_any *)function))
    return tm_create_pthread(thread, attr, function, argument);
  if (libc == NULL) *(void **)&libc = dlsym(RTLD_NEXT, "pthread_create");
  return libc(thread, attr, function, argument);
}
#endif
