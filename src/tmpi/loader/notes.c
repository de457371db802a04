/* SPDX-License-Identifier: Apache-2.0 */
/* Notes of an image: where the subroutines for Fortran are in it. */
#include <string.h>

#include "tmpi/bindings/code_note.h"
#include "tmpi/loader/image.h"

enum { ALIGN = 4 };

static size_t aligned(size_t size) { return (size + ALIGN - 1) & ~(size_t)(ALIGN - 1); }

/* Each distance counts from where it is stored. */
static void read_code(struct tm_image *image, size_t at) {
  int32_t distance[2];
  memcpy(distance, image->pristine + at, sizeof distance);
  size_t start = at + (size_t)(ptrdiff_t)distance[0];
  size_t end = at + sizeof distance[0] + (size_t)(ptrdiff_t)distance[1];
  if (end <= start || !tm_image_inside(image, start, end - start)) return;
  image->bindings = start;
  image->bindings_size = end - start;
}

void tm_image_read_notes(struct tm_image *image, size_t at, size_t size) {
  Elf64_Nhdr note;
  if (!tm_image_inside(image, at, size)) return;
  for (size_t end = at + size; end - at >= sizeof note;) {
    memcpy(&note, image->pristine + at, sizeof note);
    size_t name = at + sizeof note, value = name + aligned(note.n_namesz);
    size_t next = value + aligned(note.n_descsz);
    if (next > end || next <= at) return;
    if (note.n_type == TMF_CODE_TYPE && note.n_namesz == sizeof TMF_CODE_OWNER &&
        note.n_descsz == 2 * sizeof(int32_t) &&
        memcmp(image->pristine + name, TMF_CODE_OWNER, sizeof TMF_CODE_OWNER) == 0)
      read_code(image, value);
    at = next;
  }
}
