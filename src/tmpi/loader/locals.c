/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Thread-local variables. The block of a rank's own thread lies in its slot; each pthread that the
 * rank makes has a copy of that block. The copies are listed: an object that is opened later has
 * thread-locals in all of them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/internal/locks.h"
#include "tmpi/loader/program.h"

/* In front of a copy. */
struct copy {
  struct copy *next, **link; /* [lock] */
  int rank;
  char *block; /* what aligned_alloc() has returned */
};

static uint32_t lock;
static struct copy *copies; /* [lock] */

static size_t align_up(size_t value, size_t to) { return (value + to - 1) / to * to; }

char *tm_program_locals(const struct tm_program *program, int rank) {
  return program->arena + (size_t)rank * program->slot + program->locals_place;
}

/* The first values are in the rank's image, where the relocations have been done. */
void tm_program_fill_locals(const struct tm_program *program, const struct tm_image *image,
                            int rank, char *locals) {
  const char *slot = program->arena + (size_t)rank * program->slot;
  if (image->tls_size > 0)
    memcpy(locals + (image->tls_place - program->locals_place),
           slot + image->place + image->tls_start, image->tls_file_size);
}

static struct copy *copy_of(char *locals) { return (struct copy *)locals - 1; }

int tm_program_copy_locals(const struct tm_program *program, int rank, char **locals) {
  size_t lead = align_up(sizeof(struct copy), program->locals_align);
  *locals = NULL;
  if (program->locals_size == 0) return 0;
  char *block = aligned_alloc(program->locals_align,
                              align_up(lead + program->locals_size, program->locals_align));
  if (block == NULL) return ENOMEM;
  *locals = block + lead;
  memset(*locals, 0, program->locals_size);
  struct copy *copy = copy_of(*locals);
  *copy = (struct copy){NULL, &copies, rank, block};
  mti_lock(&lock);
  for (int i = 0; i < program->image_count; i++)
    if (tm_image_is_loaded(program->images[i], rank))
      tm_program_fill_locals(program, program->images[i], rank, *locals);
  copy->next = copies;
  if (copies != NULL) copies->link = &copy->next;
  copies = copy;
  mti_unlock(&lock);
  return 0;
}

void tm_program_free_locals(char *locals) {
  if (locals == NULL) return;
  struct copy *copy = copy_of(locals);
  mti_lock(&lock);
  *copy->link = copy->next;
  if (copy->next != NULL) copy->next->link = copy->link;
  mti_unlock(&lock);
  free(copy->block);
}

void tm_program_start_locals(const struct tm_program *program, const struct tm_image *image,
                             int rank) {
  tm_program_fill_locals(program, image, rank, tm_program_locals(program, rank));
  mti_lock(&lock);
  for (struct copy *copy = copies; copy != NULL; copy = copy->next)
    if (copy->rank == rank) tm_program_fill_locals(program, image, rank, (char *)(copy + 1));
  mti_unlock(&lock);
}
