/* SPDX-License-Identifier: Apache-2.0 */
/* Address space, memory and guards. */
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "os/os.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14; older headers lack it */
#endif

#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102 /* Linux 6.13; older headers lack it */
#endif

size_t os_page_size(void) { return (size_t)sysconf(_SC_PAGESIZE); }

/* A filter of system calls may refuse prlimit64(2): then nobody knows of a limit. */
static size_t limit_of(__rlimit_resource_t resource) {
  struct rlimit limit;
  int saved = errno;
  bool known = getrlimit(resource, &limit) == 0;
  errno = saved;
  return known && limit.rlim_cur != RLIM_INFINITY ? limit.rlim_cur : SIZE_MAX;
}

size_t os_address_space_limit(void) { return limit_of(RLIMIT_AS); }

size_t os_stack_limit(void) { return limit_of(RLIMIT_STACK); }

void *os_reserve(size_t size) {
  int saved = errno;
  void *address = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (address == MAP_FAILED)
    address = NULL;
  else { /* a huge page per stack would cost 2 MiB each; gdb would write a terabyte of core */
    madvise(address, size, MADV_NOHUGEPAGE);
    madvise(address, size, MADV_DONTDUMP);
  }
  errno = saved;
  return address;
}

int os_enable(void *address, size_t size, bool executable) {
  int saved = errno;
  int protection = PROT_READ | PROT_WRITE | (executable ? PROT_EXEC : 0);
  int error = mprotect(address, size, protection) == 0 ? 0 : ENOMEM;
  errno = saved;
  return error;
}

void os_show_in_cores(void *address, size_t size) {
  int saved = errno;
  madvise(address, size, MADV_DODUMP);
  errno = saved;
}

int os_commit(void *address, size_t size) {
  int error = os_enable(address, size, false);
  if (error == 0) os_show_in_cores(address, size);
  return error;
}

void os_touch(void *address, size_t size) {
  int saved = errno;
  uintptr_t first = (uintptr_t)address & -(uintptr_t)os_page_size();
  /* refused: the first accesses bring the memory */
  madvise((void *)first, (uintptr_t)address + size - first, MADV_POPULATE_WRITE);
  errno = saved;
}

void os_trim(void *address, size_t size) {
  int saved = errno;
  madvise(address, size, MADV_DONTNEED); /* refused: the memory stays */
  errno = saved;
}

uint32_t *os_process_mark(void) {
  int saved = errno;
  size_t size = os_page_size();
  uint32_t *mark = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  bool made = mark != MAP_FAILED;
  if (made && madvise(mark, size, MADV_WIPEONFORK) == 0) {
    *mark = 1;
  } else {
    if (made) munmap(mark, size);
    mark = NULL;
  }
  errno = saved;
  return mark;
}

void os_release(void *address, size_t size) {
  int saved = errno;
  munmap(address, size);
  errno = saved;
}

int os_guard_light(void *address, size_t size) {
  int saved = errno;
  int error = madvise(address, size, MADV_GUARD_INSTALL) == 0 ? 0 : EINVAL;
  errno = saved;
  return error;
}

bool os_advice_is_checked(void *address, size_t size) {
  int saved = errno;
  bool refused = madvise(address, size, INT_MAX) != 0; /* there is no such advice */
  errno = saved;
  return refused;
}

int os_guard_mprotect(void *address, size_t size) {
  int saved = errno;
  int error = mprotect(address, size, PROT_NONE) == 0 ? 0 : ENOMEM;
  errno = saved;
  return error;
}

static int asks_for_executable_stacks(struct dl_phdr_info *info, size_t size, void *unused) {
  (void)size, (void)unused;
  for (int i = 0; i < info->dlpi_phnum; i++)
    if (info->dlpi_phdr[i].p_type == PT_GNU_STACK && (info->dlpi_phdr[i].p_flags & PF_X) != 0)
      return 1;
  return 0;
}

bool os_wants_executable_stacks(void) {
  return dl_iterate_phdr(asks_for_executable_stacks, NULL) != 0;
}

size_t os_memory_available(void) {
  char text[512]; /* it is in the first lines */
  unsigned long kib = 0;
  int error = os_read_text("/proc/meminfo", text, sizeof text);
  const char *line = error == 0 || error == EFBIG ? strstr(text, "\nMemAvailable:") : NULL;
  if (line != NULL) sscanf(line, "\nMemAvailable: %lu kB", &kib);
  return (size_t)kib * 1024;
}

static long read_max_mappings(void) {
  enum { DEFAULT = 65530 }; /* the kernel's */
  char text[32];
  long mappings;
  if (os_read_text("/proc/sys/vm/max_map_count", text, sizeof text) != 0) return DEFAULT;
  return sscanf(text, "%ld", &mappings) == 1 ? mappings : DEFAULT;
}

long os_max_mappings(void) {
  static long known; /* [atomic] 0: not read yet */
  long mappings =
      __atomic_load_n(&known, __ATOMIC_RELAXED); /* relaxed: each reader finds the same */
  if (mappings != 0) return mappings;
  mappings = read_max_mappings();
  __atomic_store_n(&known, mappings, __ATOMIC_RELAXED); /* relaxed: as above */
  return mappings;
}
