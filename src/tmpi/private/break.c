/* SPDX-License-Identifier: Apache-2.0 */
/* The break, which is where the heap of a process ends. A program with an allocator of its own
 * moves it. The kernel has one for all ranks, and libc moves it without a lock: two ranks got the
 * same memory, and one that gave memory back took it from another. */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

/* Address space for a rank's heap. A limit may not allow the most. */
static const size_t most_room = (size_t)1 << 36, least_room = (size_t)1 << 20;

static char *start, *now; /* the heap; NULL: nothing has asked for it */
static char *pages_end;   /* of the pages in use */
static char *room_end;

static bool reserve(void) {
  for (size_t size = most_room; start == NULL && size >= least_room; size /= 2) {
    char *room = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED) continue;
    start = now = pages_end = room;
    room_end = room + size;
  }
  return start != NULL;
}

static char *end_of_page(char *address) {
  uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  return address + (-(uintptr_t)address & (page - 1));
}

/* Pages that are given back lose what they hold, as the kernel's. */
static bool move_to(char *to) {
  char *pages = end_of_page(to);
  if (pages > pages_end &&
      mprotect(pages_end, (size_t)(pages - pages_end), PROT_READ | PROT_WRITE) != 0)
    return false;
  if (pages < pages_end) {
    size_t size = (size_t)(pages_end - pages);
    if (madvise(pages, size, MADV_DONTNEED) != 0 || mprotect(pages, size, PROT_NONE) != 0)
      return false;
  }
  pages_end = pages;
  now = to;
  return true;
}

void *sbrk(intptr_t change) {
  if (reserve() && change <= room_end - now && change >= start - now) {
    char *before = now;
    if (move_to(now + change)) return before;
  }
  errno = ENOMEM;
  return MAP_FAILED; /* what sbrk() returns, too */
}

int brk(void *address) {
  char *to = address;
  if (reserve() && to >= start && to <= room_end && move_to(to)) return 0;
  errno = ENOMEM;
  return -1;
}
