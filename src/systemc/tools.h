/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file tools.h
 * Calls that announce switches to AddressSanitizer and ThreadSanitizer. The program is built with
 * a sanitizer, perhaps long ago, and not this library. So their functions are weak references, as
 * in SystemC's own package, and each is tested before it is called.
 */
#ifndef MT_SYSTEMC_TOOLS_H
#define MT_SYSTEMC_TOOLS_H

#include <stdbool.h>
#include <stddef.h>

#define WEAK __attribute__((weak))
extern void __sanitizer_start_switch_fiber(void **fake, const void *bottom, size_t size) WEAK;
extern void __sanitizer_finish_switch_fiber(void *fake, const void **bottom, size_t *size) WEAK;
extern void __asan_unpoison_memory_region(const volatile void *address, size_t size) WEAK;
extern void *__tsan_get_current_fiber(void) WEAK;
extern void *__tsan_create_fiber(unsigned flags) WEAK;
extern void __tsan_destroy_fiber(void *fiber) WEAK;
extern void __tsan_switch_to_fiber(void *fiber, unsigned flags) WEAK;
#undef WEAK

/** @return whether switches have to be announced. */
static inline bool mt_co_watched(void) {
  return __sanitizer_start_switch_fiber || __tsan_switch_to_fiber;
}

#endif
