/* SPDX-License-Identifier: Apache-2.0 */
/* Walking a chain of frame pointers. */
#include "debug/backtrace.h"

#include <dlfcn.h>
#include <stdbool.h>
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

static void print_frame(int fd, int number, const void *ip) {
  Dl_info info;
  if (dladdr(ip, &info) == 0 || info.dli_fname == NULL) {
    mt_print(fd, "    #%-2d %p\n", number, ip);
    return;
  }
  const char *slash = strrchr(info.dli_fname, '/');
  const char *file = slash != NULL ? slash + 1 : info.dli_fname;
  if (info.dli_sname != NULL)
    mt_print(fd, "    #%-2d %s+0x%lx (%s)\n", number, info.dli_sname,
             (unsigned long)((uintptr_t)ip - (uintptr_t)info.dli_saddr), file);
  else /* a static function: addr2line -e file finds it by this offset */
    mt_print(fd, "    #%-2d %s+0x%lx\n", number, file,
             (unsigned long)((uintptr_t)ip - (uintptr_t)info.dli_fbase));
}

MT_NO_ASAN MT_NO_TSAN void mt_backtrace(int fd, const void *ip, const void *bp, const char *low,
                                        size_t size) {
  const struct frame *frame = bp;
  for (int number = 0; number < FRAMES_MAX && ip != NULL; number++) {
    print_frame(fd, number, ip);
    if (!is_on(frame, low, size)) return;
    ip = frame->return_address;
    if (frame->caller <= frame) return; /* the outermost has 0; a cycle would be endless */
    frame = frame->caller;
  }
}
