/* SPDX-License-Identifier: Apache-2.0 */
/* The one process that this command looks at. */
#include "copies.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct mapping {
  uint64_t start, end, offset; /* offset: in the file */
  uint64_t first;              /* start of the first mapping of the same part of the file */
  unsigned major, minor;
  uint64_t inode;
};

static struct mapping *mappings; /* executable ones of files, by start */
static size_t count;

static int compare(uint64_t a, uint64_t b) { return (a > b) - (a < b); }

static int by_start(const void *a, const void *b) {
  const struct mapping *one = a, *other = b;
  return compare(one->start, other->start);
}

static int by_file(const struct mapping *one, const struct mapping *other) {
  int order = compare(one->inode, other->inode);
  if (order == 0) order = compare(one->major, other->major);
  if (order == 0) order = compare(one->minor, other->minor);
  return order != 0 ? order : compare(one->offset, other->offset);
}

static int by_file_and_start(const void *a, const void *b) {
  int order = by_file(a, b);
  return order != 0 ? order : by_start(a, b);
}

static void add(const struct mapping *mapping) {
  if ((count & (count - 1)) == 0) {
    struct mapping *more = realloc(mappings, (count == 0 ? 1 : 2 * count) * sizeof *more);
    if (more == NULL) return;
    mappings = more;
  }
  mappings[count++] = *mapping;
}

void copies_read(pid_t pid) {
  char path[64], line[8192], access[8];
  snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
  FILE *maps = fopen(path, "re");
  if (maps == NULL) return;
  while (fgets(line, sizeof line, maps) != NULL) {
    struct mapping m = {0};
    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %x:%x %" SCNu64, &m.start, &m.end,
               access, &m.offset, &m.major, &m.minor, &m.inode) == 7 &&
        strchr(access, 'x') != NULL && m.inode != 0)
      add(&m);
  }
  fclose(maps);
  if (count == 0) return;
  qsort(mappings, count, sizeof *mappings, by_file_and_start);
  for (size_t i = 0; i < count; i++)
    mappings[i].first = i > 0 && by_file(&mappings[i - 1], &mappings[i]) == 0
                            ? mappings[i - 1].first
                            : mappings[i].start;
  qsort(mappings, count, sizeof *mappings, by_start);
}

void copies_free(void) {
  free(mappings);
  mappings = NULL;
  count = 0;
}

uint64_t copies_first(uint64_t address) {
  size_t low = 0, high = count; /* the last mapping that starts at or before the address */
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (mappings[middle].start <= address)
      low = middle + 1;
    else
      high = middle;
  }
  if (low == 0 || address >= mappings[low - 1].end) return address;
  return address - mappings[low - 1].start + mappings[low - 1].first;
}
