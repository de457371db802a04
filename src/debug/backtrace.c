/* SPDX-License-Identifier: Apache-2.0 */
/* Walking a chain of frame pointers. */
#include "debug/backtrace.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdint.h>
#include <string.h>

#include "base/log.h"
#include "debug/sanitizer.h"

enum { FRAMES_MAX = 24 };

/* What every compiler here pushes first: the caller's frame pointer, below the
 * return address. */
struct frame {
  const struct frame *caller;
  const void *return_address;
};

static bool is_on(const struct frame *frame, const char *low, size_t size) {
  uintptr_t at = (uintptr_t)frame, start = (uintptr_t)low;
  return at % sizeof(void *) == 0 && at >= start && at + sizeof *frame <= start + size;
}

/* dladdr() takes the dynamic linker's lock and searches symbols; _dl_find_object(),
 * which unwinders use, is safe in a signal handler. */
static void print_frame(int fd, int number, const void *ip, bool names) {
  void *address = (void *)(uintptr_t)ip;
  struct dl_find_object object;
  Dl_info info = {.dli_sname = NULL};
  if (_dl_find_object(address, &object) != 0) {
    mt_print(fd, "    #%-2d %p\n", number, ip);
    return;
  }
  const char *path = object.dlfo_link_map->l_name; /* "": the program */
  const char *slash = strrchr(path, '/');
  const char *file = slash != NULL   ? slash + 1
                     : *path != '\0' ? path
                                     : program_invocation_short_name;
  if (names && dladdr(address, &info) != 0 && info.dli_sname != NULL)
    mt_print(fd, "    #%-2d %s+0x%lx (%s)\n", number, info.dli_sname,
             (unsigned long)((uintptr_t)ip - (uintptr_t)info.dli_saddr), file);
  else /* or a static function: addr2line -e file finds it by this offset */
    mt_print(fd, "    #%-2d %s+0x%lx\n", number, file,
             (unsigned long)((uintptr_t)ip - (uintptr_t)object.dlfo_link_map->l_addr));
}

MT_NO_ASAN MT_NO_TSAN void mt_backtrace(int fd, const void *ip, const void *bp, const char *low,
                                        size_t size, bool names) {
  const struct frame *frame = bp;
  for (int number = 0; number < FRAMES_MAX && ip != NULL; number++) {
    print_frame(fd, number, ip, names);
    if (!is_on(frame, low, size)) return;
    ip = frame->return_address;
    if (frame->caller <= frame) return; /* the outermost has 0; a cycle would be endless */
    frame = frame->caller;
  }
}
