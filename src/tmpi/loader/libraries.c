/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The libraries of a program: which there are, and whether each rank gets its own (policy.h).
 *
 * A library that ranks share is loaded by ld.so(8), and so is all that it needs. When that is a
 * library some image already has for itself, there would be two of it; so the walk starts again,
 * and this time the library is shared from the start.
 */
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/atomic.h"
#include "os/map.h"
#include "tmpi/env/other_mpi.h"
#include "tmpi/loader/policy.h"
#include "tmpi/loader/program.h"
#include "tmpi/loader/search.h"

static bool no_memory(const struct tm_program *program) {
  return tm_refuse(program->images[0]->path, "no memory for its libraries (free some)");
}

/* The list may move while others read it, and they keep what they have read: the old one stays. */
static bool make_room(struct tm_program *program) {
  int room = program->image_room * 2 + 16;
  struct tm_image **larger = calloc((size_t)room, sizeof(struct tm_image *));
  if (larger == NULL) return false;
  for (int i = 0; i < program->image_count; i++) larger[i] = program->images[i];
  if (program->visible_count == 0) free(program->images);
  mt_store_relaxed(&program->images, larger); /* relaxed: what is visible is the same in both */
  program->image_room = room;
  return true;
}

bool tm_program_add(struct tm_program *program, struct tm_image *image) {
  if (program->image_count == program->image_room && !make_room(program))
    return tm_refuse(image->path, "no memory (free some)");
  program->images[program->image_count++] = image;
  return true;
}

/* ---- what ranks share */

static bool note_shared(struct tm_program *program, const char *name, const char *why) {
  for (int i = 0; i < program->shared_count; i++)
    if (strcmp(program->shared[i].name, name) == 0) return true;
  size_t count = (size_t)program->shared_count + 1;
  struct tm_shared *larger = realloc(program->shared, count * sizeof *larger);
  if (larger == NULL) return no_memory(program);
  program->shared = larger;
  program->shared[program->shared_count] = (struct tm_shared){strdup(name), why};
  return program->shared[program->shared_count++].name != NULL ? true : no_memory(program);
}

/* The name by which an image is known: as another needs it, or as it calls itself. */
static bool has_name(const struct tm_image *image, const char *name) {
  const char *own = tm_image_dynamic_string(image, DT_SONAME);
  return (image->name != NULL && strcmp(image->name, name) == 0) ||
         (own != NULL && strcmp(own, name) == 0);
}

struct tm_image *tm_program_find_image(const struct tm_program *program, const char *name) {
  for (int i = 1; i < program->image_count; i++)
    if (has_name(program->images[i], name)) return program->images[i];
  return NULL;
}

static bool refuse_other_mpi(const struct tm_program *program, const char *user, const char *name) {
  if (user == NULL)
    return tm_refuse(program->images[0]->path,
                     "it was built for another MPI, %s, without the standard ABI (build it by "
                     "tmpicc)",
                     name);
  return tm_refuse(program->images[0]->path,
                   "%s, which it needs, was built for another MPI, %s, without the standard ABI "
                   "(use one without MPI, or build it by tmpicc)",
                   user, name);
}

/* Shares what a library needs that ld.so(8) has loaded. */
static bool share_needs(struct tm_program *program, const struct link_map *map) {
  const char *strings = NULL;
  for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++)
    if (d->d_tag == DT_STRTAB) strings = (const char *)d->d_un.d_ptr;
  for (const ElfW(Dyn) *d = map->l_ld; strings != NULL && d->d_tag != DT_NULL; d++) {
    if (d->d_tag != DT_NEEDED) continue;
    const char *name = strings + d->d_un.d_val;
    if (tm_is_other_mpi(name)) return refuse_other_mpi(program, map->l_name, name);
    if (tm_policy_is_language(name) || tm_policy_shared(name) != NULL) continue;
    if (!tm_policy_share(name)) return no_memory(program);
    if (tm_program_find_image(program, name) != NULL) program->walk_again = true;
    struct link_map *needed;
    void *handle = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
    if (handle != NULL && dlinfo(handle, RTLD_DI_LINKMAP, &needed) == 0 &&
        !share_needs(program, needed))
      return false;
  }
  return true;
}

/* The library of a sanitizer has to be there before all others. */
static const char *sanitizer_of(const char *name) {
  return strncmp(name, "libasan.so", 10) == 0   ? "address"
         : strncmp(name, "libtsan.so", 10) == 0 ? "thread"
                                                : NULL;
}

/* The thread-local variables of an allocator need more room than ld.so has left after the start. */
static bool refuse_shared(const struct tm_image *image, const char *name) {
  const char *why = dlerror();
  if (strstr(why, "static TLS") != NULL)
    return tm_refuse(image->path,
                     "it needs a library that can be loaded only when a process starts: %s (start "
                     "tmpirun with LD_PRELOAD=%s)",
                     why, name);
  return tm_refuse(image->path, "it needs a library: %s (install it, or set LD_LIBRARY_PATH)", why);
}

static bool add_shared(struct tm_program *program, const struct tm_image *image, const char *name,
                       const char *why, struct tm_need *need) {
  char where[PATH_MAX];
  struct link_map *map;
  need->shared = dlopen(name, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL);
  const char *sanitizer = sanitizer_of(name);
  if (need->shared == NULL && sanitizer != NULL)
    return tm_refuse(
        image->path,
        "it was built with -fsanitize=%s, and this tmpirun was not (build and run it by "
        "the tmpicc and tmpirun of ./dev %.1ssan)",
        sanitizer, sanitizer);
  if (need->shared == NULL)
    need->shared = dlopen(tm_search(image, name, where) ? where : name, RTLD_NOW | RTLD_GLOBAL);
  if (need->shared == NULL || dlinfo(need->shared, RTLD_DI_LINKMAP, &map) != 0)
    return refuse_shared(image, name);
  return note_shared(program, name, why) && share_needs(program, map);
}

/* ---- what each rank has */

/* @return the image that is the same file; NULL: none. */
static struct tm_image *find_same(const struct tm_program *program, const struct tm_image *image) {
  for (int i = 0; i < program->image_count; i++)
    if (program->images[i]->device == image->device && program->images[i]->inode == image->inode)
      return program->images[i];
  return NULL;
}

/* Thread-locals at fixed distances from the thread pointer exist once for a kernel thread, and a
 * rank is no kernel thread. Ranks share a library of the system that has any; of the program's own
 * this would be a guess. */
static bool share_static_tls(struct tm_program *program, const struct tm_image *image,
                             const char *user, const char *name, struct tm_need *need) {
  if (!tm_search_is_system(image->path))
    return tm_refuse(image->path,
                     "its thread-local variables are at fixed places (compile all of it by tmpicc, "
                     "or with -ftls-model=global-dynamic; or --share=%s, if ranks may share it)",
                     name);
  fprintf(stderr,
          "tmpirun: all ranks share %s: its thread-local variables are at fixed places (--share=%s "
          "if that is right)\n",
          image->path, name);
  return add_shared(program, program->images[0], user, "thread-locals at fixed places", need);
}

bool tm_program_add_private(struct tm_program *program, struct tm_image *from, const char *name,
                            struct tm_need *need) {
  char where[PATH_MAX];
  if (!tm_search(from, name, where))
    return tm_refuse(from->path,
                     "it needs a library: %s: no such file (install it, or set LD_LIBRARY_PATH)",
                     name);
  struct tm_image *image = tm_image_read(where);
  if (image == NULL) return false;
  need->image = find_same(program, image);
  if (need->image != NULL) {
    tm_image_drop(image);
    return true;
  }
  if (tm_image_has_static_tls(image)) {
    bool shared = share_static_tls(program, image, where, name, need);
    tm_image_drop(image);
    return shared;
  }
  image->name = strdup(name);
  image->needed_by = from;
  if (image->name == NULL || !tm_program_add(program, image)) {
    tm_image_drop(image);
    return no_memory(program);
  }
  need->image = image;
  return true;
}

static bool is_loaded(const char *name) {
  void *handle = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
  if (handle != NULL) dlclose(handle);
  return handle != NULL;
}

/* @return why ranks share it; NULL: they do not. What is preloaded stands before all copies. */
static const char *why_shared(const char *name) {
  const char *why = tm_policy_shared(name);
  if (why != NULL || tm_policy_is_language(name) || getenv("LD_PRELOAD") == NULL) return why;
  return is_loaded(name) ? "LD_PRELOAD" : NULL;
}

static bool add_library(struct tm_program *program, struct tm_image *from, const char *name,
                        struct tm_need *need) {
  if (tm_is_other_mpi(name))
    return refuse_other_mpi(program, from == program->images[0] ? NULL : from->path, name);
  need->image = tm_program_find_image(program, name);
  if (need->image != NULL) return true;
  const char *why = why_shared(name);
  return why != NULL ? add_shared(program, from, name, why, need)
                     : tm_program_add_private(program, from, name, need);
}

bool tm_program_find_needs(struct tm_program *program, struct tm_image *image) {
  size_t count = 0;
  for (size_t d = 0; d < image->dynamic_count && image->dynamic[d].d_tag != DT_NULL; d++)
    count += image->dynamic[d].d_tag == DT_NEEDED;
  image->needs = calloc(count + 1, sizeof *image->needs);
  if (image->needs == NULL) return no_memory(program);
  for (size_t d = 0; d < image->dynamic_count && image->dynamic[d].d_tag != DT_NULL; d++)
    if (image->dynamic[d].d_tag == DT_NEEDED &&
        !add_library(program, image, tm_image_string(image, image->dynamic[d].d_un.d_val),
                     &image->needs[image->need_count++]))
      return false;
  return true;
}

/* ---- what libc keeps for a process: a library in a folder beside libmpi_abi */

/* What only calls getenv() does not need it for each rank: run/environment.c has that call. Most
 * programs have no other. */
static bool only_reads(const char *name) {
  return strcmp(name, "getenv") == 0 || strcmp(name, "secure_getenv") == 0;
}

/* @return whether an image asks others for something a library has. */
static bool asks_for(const struct tm_image *image, const struct tm_image *library) {
  const Elf64_Sym *symbols = (const Elf64_Sym *)(image->pristine + image->symbols.at);
  for (size_t i = 1; i < image->symbol_count; i++) {
    struct tm_wanted wanted = tm_want(tm_image_string(image, symbols[i].st_name), NULL);
    if (symbols[i].st_shndx == SHN_UNDEF && !only_reads(wanted.name) &&
        tm_image_find(library, &wanted) != NULL)
      return true;
  }
  return false;
}

bool tm_program_opens(const struct tm_program *program) {
  static const char *const calls[] = {"dlopen", "dlmopen", "dlsym", "dlvsym"};
  for (int i = 0; i < program->image_count; i++)
    for (size_t n = 0; n < sizeof calls / sizeof calls[0]; n++)
      if (tm_image_asks(program->images[i], calls[n])) return true;
  return false;
}

static bool add_rank_library(struct tm_program *program) {
  char path[PATH_MAX];
  if (!tm_search_beside("tmpi/private.so", path))
    return tm_refuse(program->images[0]->path,
                     "libmpi_abi.so.1 is not among the libraries of tmpirun (install tmpirun and "
                     "its libraries from one build)");
  struct tm_image *library = tm_image_read(path);
  if (library == NULL) return false;
  bool wanted = tm_program_opens(program); /* what it opens may ask */
  for (int i = 0; !wanted && i < program->image_count; i++)
    wanted = asks_for(program->images[i], library);
  if (wanted && tm_program_add(program, library)) return true;
  tm_image_drop(library);
  return !wanted;
}

/* ---- all of them */

static void drop_walk(struct tm_program *program) {
  while (program->image_count > 1) tm_image_drop(program->images[--program->image_count]);
  struct tm_image *application = program->images[0];
  free(application->needs);
  application->needs = NULL;
  application->need_count = 0;
}

bool tm_program_find_libraries(struct tm_program *program) {
  do {
    program->walk_again = false;
    drop_walk(program);
    if (!tm_program_add_preloaded(program)) return false;
    for (int i = 0; i < program->image_count; i++) /* grows meanwhile */
      if (!tm_program_find_needs(program, program->images[i])) return false;
  } while (program->walk_again);
  return add_rank_library(program);
}
