/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exceptions and backtraces through ranks' code: these functions take the place of libc's, which
 * find the object that an address lies in. They are exported, so that every library finds them
 * before libc's.
 */
#include <dlfcn.h>
#include <link.h>
#include <string.h>

#include "base/atomic.h"
#include "tmpi/loader/program.h"
#include "tmpi/rank/rank.h"

#define SHOWN __attribute__((visibility("default")))

static const struct tm_image *image_at(const void *address, struct link_map **map) {
  const struct tm_program *program = tm_the_program;
  int rank = tm_program_rank_of(program, address);
  if (rank < 0) return NULL;
  size_t offset;
  const struct tm_image *image = tm_program_image_at(program, address, &offset);
  if (image != NULL) *map = &image->maps[rank];
  return image;
}

/** libgcc's unwinder (libc 2.35 and later). */
SHOWN int _dl_find_object(void *address, struct dl_find_object *result) {
  struct link_map *map;
  const struct tm_image *image = image_at(address, &map);
  if (image == NULL) {
    static int (*libc)(void *, struct dl_find_object *);
    if (libc == NULL) *(void **)&libc = dlsym(RTLD_NEXT, "_dl_find_object");
    return libc(address, result);
  }
  char *base = (char *)map->l_addr;
  memset(result, 0, sizeof *result);
  result->dlfo_link_map = map;
  result->dlfo_map_start = base;
  result->dlfo_map_end = base + image->span;
  result->dlfo_eh_frame = image->unwind != 0 ? base + image->unwind : NULL;
  return 0;
}

/* UCX changes the relocations of all objects when one is opened. It finds them by the addresses in
 * dynamic sections, which ld.so relocates. This loader does not, and UCX would crash. */
static bool is_of_ucx(const void *callback) {
  Dl_info info;
  return tm_job.far != NULL && dladdr(callback, &info) != 0 &&
         strstr(info.dli_fname, "/libucm") != NULL;
}

/** For other unwinders and callers that list objects: those of the rank follow the process's. */
SHOWN int dl_iterate_phdr(int (*callback)(struct dl_phdr_info *, size_t, void *), void *data) {
  static int (*libc)(int (*)(struct dl_phdr_info *, size_t, void *), void *);
  if (libc == NULL) *(void **)&libc = dlsym(RTLD_NEXT, "dl_iterate_phdr");
  int result = libc(callback, data);
  const struct tm_program *program = tm_the_program;
  int rank =
      program != NULL ? tm_rank_number() : -1; /* sanitizers call this before they are ready */
  /* OB-6 acquire: as OB-1; pairs OB-2 */
  int count = rank >= 0 && !is_of_ucx((const void *)(uintptr_t)callback)
                  ? mt_load_acquire(&program->visible_count)
                  : 0;
  for (int i = 0; result == 0 && i < count; i++) {
    const struct tm_image *image = program->images[i];
    if (!tm_image_is_loaded(image, rank)) continue;
    const char *base = program->arena + (size_t)rank * program->slot + image->place;
    struct dl_phdr_info info;
    memset(&info, 0, sizeof info);
    info.dlpi_addr = (uintptr_t)base;
    info.dlpi_name = image->path;
    info.dlpi_phdr = (const Elf64_Phdr *)(base + image->headers);
    info.dlpi_phnum = (Elf64_Half)image->header_count;
    result = callback(&info, sizeof info, data);
  }
  return result;
}
