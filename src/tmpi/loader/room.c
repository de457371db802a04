/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the ranks fit: better said at once than when the last of them run out of something. */
#include <stdio.h>

#include "core/internal/process.h"
#include "os/os.h"
#include "tmpi/loader/program.h"

enum {
  PAGE = 4096,
  OTHERS = 200,   /* mappings of tmpirun and its libraries */
  REST = 6 * PAGE /* of a rank: the top of its stack, descriptors, mailbox */
};

/* Code and data of an image take turns in address space. */
static size_t mappings_of(const struct tm_image *image) {
  size_t mappings = 0;
  for (int s = 0; s < image->segment_count;) {
    bool writable = image->segments[s].writable;
    s += writable ? 1 : tm_program_mapped_together(image, s);
    if (!writable) mappings += 2;
  }
  return mappings;
}

size_t tm_program_memory_of(const struct tm_image *image) {
  size_t bytes = image->tls_file_size;
  for (int s = 0; s < image->segment_count; s++)
    if (image->segments[s].writable)
      bytes += image->segments[s].file_end - image->segments[s].start + PAGE;
  return bytes / PAGE * PAGE;
}

bool tm_program_fits(const struct tm_program *program, int all, int present) {
  size_t ranks = (size_t)all, more = ranks - (size_t)present, mappings = 0, memory = REST;
  for (int i = 0; i < program->image_count; i++) {
    mappings += mappings_of(program->images[i]);
    memory += tm_program_memory_of(program->images[i]);
  }
  size_t limit = (size_t)os_max_mappings(), available = os_memory_available();
  size_t others = OTHERS + mti_stack_mappings(ranks);
  if (mappings > 0 && ranks * mappings + others > limit)
    return tm_refuse(
        program->images[0]->path,
        "%zu ranks need %zu mappings, and the system allows %zu (at most %zu ranks, or "
        "a higher vm.max_map_count)",
        ranks, ranks * mappings + others, limit, limit > others ? (limit - others) / mappings : 0);
  if (available > 0 && more * memory > available)
    return tm_refuse(program->images[0]->path,
                     "%zu ranks need %zu MiB at least, and %zu MiB of memory are free (at most %zu "
                     "ranks)",
                     more, more * memory >> 20, available >> 20, available / memory);
  return true;
}
