/* SPDX-License-Identifier: Apache-2.0 */
/* Walking a chain of frame pointers. */
#include "debug/backtrace.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdint.h>
#include <string.h>

#include "arch/arch.h"
#include "base/log.h"
#include "base/peek.h"

/* What every compiler here pushes first: the caller's frame pointer, below the
 * return address. */
struct frame {
  const void *caller;
  const void *return_address;
};

static bool is_on(const void *bp, const char *low, size_t size) {
  uintptr_t at = (uintptr_t)bp, start = (uintptr_t)low;
  return at % sizeof(void *) == 0 && at >= start && at + sizeof(struct frame) <= start + size;
}

/* dladdr() takes the dynamic linker's lock and searches symbols; _dl_find_object(),
 * which unwinders use, is safe in a signal handler. */
static void print_frame(struct mt_printer *to, int number, const void *ip, bool names) {
  void *address = (void *)(uintptr_t)ip;
  struct dl_find_object object;
  Dl_info info = {.dli_sname = NULL};
  if (_dl_find_object(address, &object) != 0) {
    mt_printer_add(to, "    #%-2d %p\n", number, ip);
    return;
  }
  const char *path = object.dlfo_link_map->l_name; /* "": the program */
  const char *slash = strrchr(path, '/');
  const char *file = slash != NULL   ? slash + 1
                     : *path != '\0' ? path
                                     : program_invocation_short_name;
  if (names && dladdr(address, &info) != 0 && info.dli_sname != NULL)
    mt_printer_add(to, "    #%-2d %s+0x%lx (%s)\n", number, info.dli_sname,
                   (unsigned long)((uintptr_t)ip - (uintptr_t)info.dli_saddr), file);
  else /* or a static function: addr2line -e file finds it by this offset */
    mt_printer_add(to, "    #%-2d %s+0x%lx\n", number, file,
                   (unsigned long)((uintptr_t)ip - (uintptr_t)object.dlfo_link_map->l_addr));
}

void mt_backtrace_take(struct mt_backtrace *b, const void *ip, const void *bp, const char *low,
                       size_t size) {
  for (b->count = 0; b->count < MT_FRAMES_MAX && ip != NULL;) {
    struct frame frame;
    b->ips[b->count++] = ip;
    if (!is_on(bp, low, size) || !mt_peek(&frame, bp, sizeof frame)) return;
    ip = mt_arch_plain_return(frame.return_address);
    /* the outermost has 0; a cycle would be endless; code without frame pointers has anything */
    bp = (uintptr_t)frame.caller > (uintptr_t)bp ? frame.caller : NULL;
  }
}

void mt_backtrace_print(const struct mt_backtrace *b, struct mt_printer *to, bool names) {
  for (int i = 0; i < b->count; i++) print_frame(to, i, b->ips[i], names);
}
