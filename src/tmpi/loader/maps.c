/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The copies as the dynamic linker lists objects: for debuggers, and for callers that ask which
 * object an address lies in.
 *
 * The dynamic linker publishes a chain of lists, one for each of its namespaces (struct
 * r_debug_extended, libc 2.35). Ours is one more list at the end of the chain. A debugger that runs
 * the program reads the lists anew when the dynamic linker says that it has unloaded something, so
 * that is made to happen; one that attaches, or reads a core, reads them anyway.
 */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/os.h"
#include "tmpi/loader/program.h"

static struct r_debug_extended published;

struct link_map *tm_program_map(const struct tm_program *program, int rank, int image) {
  return &program->images[image]->maps[rank];
}

static void fill_map(const struct tm_program *program, const struct tm_image *image, int rank) {
  char *base = program->arena + (size_t)rank * program->slot + image->place;
  image->maps[rank] = (struct link_map){
      .l_addr = (uintptr_t)base,
      .l_name = image->path,
      .l_ld = (Elf64_Dyn *)(base + ((const char *)image->dynamic - image->pristine)),
  };
}

/* There is room for all ranks; the memory of spare ones is not touched. */
bool tm_program_make_maps_of(const struct tm_program *program, struct tm_image *image, int ranks) {
  image->maps = calloc((size_t)program->ranks, sizeof *image->maps);
  if (image->maps == NULL) return false;
  for (int rank = 0; rank < ranks; rank++) fill_map(program, image, rank);
  return true;
}

static struct link_map *last; /* of the list */

void tm_program_list_map(struct link_map *map) {
  map->l_prev = last;
  if (last != NULL) last->l_next = map;
  last = map;
}

bool tm_program_make_maps(struct tm_program *program) {
  for (int i = 0; i < program->image_count; i++) {
    if (!tm_program_make_maps_of(program, program->images[i], program->first_ranks)) return false;
    for (int rank = 0; rank < program->first_ranks; rank++)
      tm_program_list_map(&program->images[i]->maps[rank]);
  }
  return true;
}

void tm_program_add_maps(const struct tm_program *program, int rank) {
  for (int i = 0; i < program->start_count; i++) {
    fill_map(program, program->images[i], rank);
    tm_program_list_map(&program->images[i]->maps[rank]);
  }
}

bool tm_program_is_watched(void) {
  char text[512]; /* it is in the first lines; later ones may be long */
  int tracer = 0, error = os_read_text("/proc/self/status", text, sizeof text);
  const char *line = error == 0 || error == EFBIG ? strstr(text, "\nTracerPid:") : NULL;
  if (line != NULL) sscanf(line, "\nTracerPid: %d", &tracer);
  return tracer != 0;
}

/* By the executable's own tables: the symbol _r_debug would be a copy. */
static struct r_debug_extended *find_chain(void) {
  for (const ElfW(Dyn) *d = _DYNAMIC; d->d_tag != DT_NULL; d++)
    if (d->d_tag == DT_DEBUG) return (struct r_debug_extended *)d->d_un.d_ptr;
  return NULL;
}

void tm_program_publish(const struct tm_program *program, bool now) {
  struct r_debug_extended *first = find_chain(), *at = first;
  if (first == NULL || first->base.r_version < 1) return; /* no dynamic linker we know */
  published.base = at->base;
  published.base.r_version = 2;
  published.base.r_map = program->images[0]->maps;
  while (at->base.r_version >= 2 && at->r_next != NULL) at = at->r_next;
  at->r_next = &published;
  first->base.r_version = 2;
  if (!now) return;
  void *any = dlopen("libutil.so.1", RTLD_NOW | RTLD_LOCAL); /* libc's, empty, needed by nobody */
  if (any != NULL) dlclose(any);
}
