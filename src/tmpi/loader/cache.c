/* SPDX-License-Identifier: Apache-2.0 */
/* The cache of ldconfig(8): where libraries of the system are, by name. */
#include <stdint.h>
#include <string.h>

#include "arch/program.h"
#include "os/map.h"
#include "tmpi/loader/search.h"

/* As libc writes it since 2.2, at the start of the file or behind a table in an older format. */
static const char magic[] = "glibc-ld.so.cache1.1";

struct header {
  char magic[20];
  uint32_t count, string_bytes;
  uint32_t unused[5];
};

struct entry {
  int32_t kind;
  uint32_t name, path; /* from the header on */
  uint32_t os_version;
  uint64_t hwcap; /* 0: any processor */
};

static struct {
  const char *bytes; /* NULL: there is none */
  size_t size;
} cache;

/* Reads it once: a start looks up dozens of names. */
static void read_cache(void) {
  static bool tried;
  static const char path[] = "/etc/ld.so.cache";
  int fd;
  size_t size;
  if (tried) return;
  tried = true;
  if (os_file_open(path, &fd, &size) != 0) return;
  char *bytes = os_map_memory(size + 1); /* and a byte that ends the last string */
  if (bytes != NULL && os_file_read(fd, bytes, size, 0) == 0) {
    const char *start = memmem(bytes, size, magic, strlen(magic));
    if (start != NULL) {
      cache.bytes = start;
      cache.size = size - (size_t)(start - bytes);
    }
  }
  os_file_close(fd);
}

const char *tm_cache_find(const char *name) {
  struct header header;
  struct entry entry;
  read_cache();
  if (cache.bytes == NULL || cache.size < sizeof header) return NULL;
  memcpy(&header, cache.bytes, sizeof header);
  size_t most = (cache.size - sizeof header) / sizeof entry;
  for (size_t i = 0; i < header.count && i < most; i++) {
    memcpy(&entry, cache.bytes + sizeof header + i * sizeof entry, sizeof entry);
    bool usable = entry.kind == MT_ARCH_CACHE_KIND && entry.hwcap == 0 && entry.name < cache.size &&
                  entry.path < cache.size;
    if (usable && strcmp(cache.bytes + entry.name, name) == 0) return cache.bytes + entry.path;
  }
  return NULL;
}
