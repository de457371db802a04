/* SPDX-License-Identifier: Apache-2.0 */
/* Notes of an image: where the subroutines for Fortran are in it. */
#include "tmpi/bindings/code_note.h"
#include "tmpi/loader/image.h"

void tm_image_read_notes(struct tm_image *image, size_t at, size_t size) {
  size_t start, end;
  if (!tm_image_inside(image, at, size) || !tmf_code_find(image->pristine, at, size, &start, &end))
    return;
  if (!tm_image_inside(image, start, end - start)) return;
  image->bindings = start;
  image->bindings_size = end - start;
}
