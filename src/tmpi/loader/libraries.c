/* SPDX-License-Identifier: Apache-2.0 */
/* Which libraries a program needs, and whether each rank gets its own. */
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/map.h"
#include "tmpi/loader/program.h"
#include "tmpi/mpi.h"

enum { PATH_MAX_HERE = 4096 };

static bool file_exists(const char *path) {
  int fd;
  size_t size;
  if (os_file_open(path, &fd, &size) != 0) return false;
  os_file_close(fd);
  return true;
}

static bool is_system_folder(const char *folder) {
  static const char *const system[] = {"/lib", "/usr/lib", "/usr/local/lib"};
  for (size_t i = 0; i < sizeof system / sizeof system[0]; i++)
    if (strncmp(folder, system[i], strlen(system[i])) == 0) return true;
  return false;
}

/* Writes one folder of a search path, $ORIGIN replaced. @return what follows it. */
static const char *next_folder(const char *list, const struct tm_image *image, char *folder) {
  size_t length = strcspn(list, ":"), used = 0;
  const char *slash = strrchr(image->path, '/');
  const char *origin = slash != NULL ? image->path : ".";
  size_t origin_length = slash != NULL ? (size_t)(slash - image->path) : 1;
  static const char *const words[] = {"$ORIGIN", "${ORIGIN}"};
  size_t skip = 0;
  for (size_t i = 0; i < 2; i++)
    if (strncmp(list, words[i], strlen(words[i])) == 0) skip = strlen(words[i]);
  if (skip > 0 && origin_length < PATH_MAX_HERE) {
    memcpy(folder, origin, origin_length);
    used = origin_length;
  }
  size_t rest = length - skip < PATH_MAX_HERE - 1 - used ? length - skip : 0;
  memcpy(folder + used, list + skip, rest);
  folder[used + rest] = '\0';
  return list[length] == ':' ? list + length + 1 : list + length;
}

/* @return whether the library lies in a folder of the list that is not the system's; where. */
static bool search(const char *list, const struct tm_image *image, const char *name, char *where) {
  char folder[PATH_MAX_HERE];
  while (list != NULL && *list != '\0') {
    list = next_folder(list, image, folder);
    if (folder[0] == '\0' || is_system_folder(folder)) continue;
    int length = snprintf(where, PATH_MAX_HERE, "%s/%s", folder, name);
    if (length > 0 && length < PATH_MAX_HERE && file_exists(where)) return true;
  }
  return false;
}

static const char *dynamic_string(const struct tm_image *image, Elf64_Sxword tag) {
  for (size_t i = 0; i < image->dynamic_count && image->dynamic[i].d_tag != DT_NULL; i++)
    if (image->dynamic[i].d_tag == tag) return tm_image_string(image, image->dynamic[i].d_un.d_val);
  return NULL;
}

static bool add_private(struct tm_program *program, const char *path) {
  for (int i = 0; i < program->image_count; i++)
    if (strcmp(program->images[i]->path, path) == 0) return true;
  if (program->image_count == TM_IMAGES_MAX - 1) /* one more may be our own */
    return tm_refuse(program->images[0]->path,
                     "it has more than %d libraries of its own (link "
                     "some statically)",
                     TM_IMAGES_MAX - 1);
  struct tm_image *image = tm_image_read(path);
  if (image != NULL) program->images[program->image_count++] = image;
  return image != NULL;
}

/* @return whether each rank needs its own: a run-time library that keeps streams, units, formats or
 * handlers for the process. */
static bool is_language(const char *name) {
  static const char *const libraries[] = {"libstdc++.so.", "libgfortran.so."};
  for (size_t i = 0; i < sizeof libraries / sizeof libraries[0]; i++)
    if (strncmp(name, libraries[i], strlen(libraries[i])) == 0) return true;
  return false;
}

/* The dynamic linker knows where a library is; it has loaded it for that. */
static bool add_language(struct tm_program *program, void *handle) {
  struct link_map *map;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0)
    return tm_refuse(program->images[0]->path, "%s (report this)", dlerror());
  return add_private(program, map->l_name);
}

/* Its library has to be there before all others, and to be told of switches. @return NULL: none. */
static const char *sanitizer_of(const char *name) {
  return strncmp(name, "libasan.so", 10) == 0   ? "address"
         : strncmp(name, "libtsan.so", 10) == 0 ? "thread"
                                                : NULL;
}

static bool add_library(struct tm_program *program, const struct tm_image *image,
                        const char *name) {
  char where[PATH_MAX_HERE];
  int mode = RTLD_NOW | RTLD_GLOBAL;
  if (strchr(name, '/') != NULL) return add_private(program, name);
  void *loaded = dlopen(name, mode | RTLD_NOLOAD);
  if (loaded != NULL && is_language(name)) return add_language(program, loaded);
  const char *sanitizer = sanitizer_of(name);
  if (loaded == NULL && sanitizer != NULL)
    return tm_refuse(
        image->path,
        "it was built with -fsanitize=%s, and this tmpirun was not (build and run it by "
        "the tmpicc and tmpirun of ./dev %.1ssan)",
        sanitizer, sanitizer);
  if (loaded != NULL) return true; /* libc, libmpi_abi, ... */
  if (search(dynamic_string(image, DT_RPATH), image, name, where) ||
      search(getenv("LD_LIBRARY_PATH"), image, name, where) ||
      search(dynamic_string(image, DT_RUNPATH), image, name, where))
    return add_private(program, where);
  if (strncmp(name, "libmpi.so", 9) == 0 || strncmp(name, "libmpich.so", 11) == 0)
    return tm_refuse(image->path,
                     "it was built for another MPI, %s, without the standard ABI "
                     "(build it by tmpicc)",
                     name);
  loaded = dlopen(name, is_language(name) ? RTLD_LAZY | RTLD_LOCAL : mode);
  if (loaded != NULL) return !is_language(name) || add_language(program, loaded);
  return tm_refuse(image->path, "it needs a library: %s (install it, or set LD_LIBRARY_PATH)",
                   dlerror());
}

/* @return whether an image asks others for a symbol. */
static bool asks(const struct tm_image *image, const char *name) {
  const Elf64_Sym *symbols = (const Elf64_Sym *)(image->pristine + image->symbols.at);
  for (size_t i = 1; i < image->symbol_count; i++)
    if (symbols[i].st_shndx == SHN_UNDEF &&
        strcmp(tm_image_string(image, symbols[i].st_name), name) == 0)
      return true;
  return false;
}

/* @return whether an image asks others for something a library has. */
static bool asks_for(const struct tm_image *image, const struct tm_image *library) {
  const Elf64_Sym *symbols = (const Elf64_Sym *)(image->pristine + image->symbols.at);
  for (size_t i = 1; i < image->symbol_count; i++)
    if (symbols[i].st_shndx == SHN_UNDEF &&
        tm_image_find(library, tm_image_string(image, symbols[i].st_name)) != NULL)
      return true;
  return false;
}

/* A program that loads objects itself may load C++ code, and libmltp moves the exceptions of the
 * C++ runtime that is there when it starts. Others do without: to load it takes half a millisecond.
 */
static void expect_cxx(const struct tm_program *program) {
  for (int i = 0; i < program->image_count; i++)
    if (asks(program->images[i], "dlopen")) {
      dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_GLOBAL); /* not there: nobody can load C++ code */
      return;
    }
}

/* What libc keeps for a process, for each rank: a library in a folder beside libmpi_abi. */
static bool add_rank_library(struct tm_program *program) {
  char path[PATH_MAX_HERE];
  Dl_info mpi;
  if (dladdr((const void *)(uintptr_t)PMPI_Init, &mpi) == 0) return false;
  const char *slash = strrchr(mpi.dli_fname, '/');
  snprintf(path, sizeof path, "%.*s/tmpi/private.so", (int)(slash - mpi.dli_fname), mpi.dli_fname);
  struct tm_image *library = tm_image_read(path);
  if (library == NULL) return false;
  for (int i = 0; i < program->image_count; i++)
    if (asks_for(program->images[i], library)) {
      program->images[program->image_count++] = library;
      return true;
    }
  tm_image_drop(library);
  return true;
}

bool tm_program_find_libraries(struct tm_program *program) {
  for (int i = 0; i < program->image_count; i++) { /* grows meanwhile */
    const struct tm_image *image = program->images[i];
    for (size_t d = 0; d < image->dynamic_count && image->dynamic[d].d_tag != DT_NULL; d++)
      if (image->dynamic[d].d_tag == DT_NEEDED &&
          !add_library(program, image, tm_image_string(image, image->dynamic[d].d_un.d_val)))
        return false;
  }
  expect_cxx(program);
  return add_rank_library(program);
}
