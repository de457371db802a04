/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AddressSanitizer keeps the bounds of the current stack, and a second stack for variables whose
 * use after return it looks for. Without announcements it takes our stacks for none: it warns when
 * an exception passes, does not see leaks, and reports errors where mltp_exit() left frames.
 */
#include "core/sched/announce.h"

#include <errno.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/options.h"
#include "core/memory/descriptor.h"
#include "core/memory/stack.h"
#include "core/sched/sched.h"
#include "instrument/sanitizer.h"
#include "os/os.h"

/* AddressSanitizer's. [const after mt_announce_init()] */
static void (*start_switch)(void **fake_stack, const void *bottom, size_t size);
static void (*finish_switch)(void *fake_stack, const void **bottom, size_t *size);
static void (*unpoison)(const volatile void *start, size_t size);

/* In programs with a static runtime only such a reference makes the linker export it. */
extern void *__get_unsafe_stack_ptr(void) __attribute__((weak));

/* ---- leaks */

static void (*add_root)(const void *start, size_t size); /* [const after mt_announce_init()] */

static void add_stack(const struct mltp_thread *t, void *unused) {
  struct mltp_thread copy;
  (void)unused;
  if (!mt_descriptor_peek(&copy, t) || copy.stack == NULL) return;
  const struct mt_stack *stack = copy.stack;
  size_t size = mt_stack_size(stack), guard = mt_stack_guard(size, os_page_size());
  add_root(stack->low + guard, size - guard);
}

/* What a thread holds that lives at the end of the process is no leak. Nothing asks for this at
 * each park: LeakSanitizer looks once, after the handlers of exit(). */
static void add_stacks(void) {
  if (mt_is_up()) mt_descriptors_visit(add_stack, NULL);
}

static void find_leaks(void) {
  static bool done;
  *(void **)&add_root = os_symbol("__lsan_register_root_region");
  if (add_root != NULL && !done) done = atexit(add_stacks) == 0;
}

/* ---- ThreadSanitizer */

#if defined(MT_TSAN)
/* It learns of threads by the program's libc. A library in a namespace of its own (dlmopen()) makes
 * threads by another libc, and such a thread crashes in the first function that the sanitizer
 * follows. The dynamic linker lists its namespaces for debuggers. */
static bool has_second_libc(void) {
  static const char libc[] = "/libc.so.6";
  const size_t end = sizeof libc - 1;
  const struct r_debug_extended *space = os_next_symbol("_r_debug");
  if (space == NULL || space->base.r_version < 2) return false;
  for (space = space->r_next; space != NULL; space = space->r_next)
    for (const struct link_map *map = space->base.r_map; map != NULL; map = map->l_next) {
      size_t length = strlen(map->l_name);
      if (length >= end && strcmp(map->l_name + length - end, libc) == 0) return true;
    }
  return false;
}

static void warn_of_namespaces(void) {
  if (!has_second_libc()) return;
  mt_message(
      "mltp_init: ThreadSanitizer does not see threads of a second libc (dlmopen): the program "
      "crashes when one calls code that was built with it (use dlopen, or a build without it)");
}
#else
static void warn_of_namespaces(void) {}
#endif

/* ---- finding sanitizers */

static int refuse(const char *sanitizer, const char *reason) {
  mt_message("mltp_init: the program was built with %s: %s", sanitizer, reason);
  return ENOTSUP;
}

/* Its fast backtraces end at our stacks, and it takes what has none for no leak. */
static void warn_of_leaks(void) {
  const char *options = getenv("LSAN_OPTIONS");
  if (options != NULL && strstr(options, "fast_unwind_on_malloc=0") != NULL) return;
  mt_message(
      "mltp_init: LeakSanitizer alone sees no leaks of unbound threads (set "
      "LSAN_OPTIONS=fast_unwind_on_malloc=0, or build with -fsanitize=address)");
}

int mt_announce_init(void) {
  warn_of_namespaces();
  if (MT_SANITIZER_SWITCHES) return 0; /* instrument/sanitizer.h has the announcements */
  if (os_symbol("__tsan_create_fiber") != NULL)
    return refuse("ThreadSanitizer",
                  "it would report races where our locks are, because it does not see them (link "
                  "a libmltp that was built with -fsanitize=thread: cmake --preset tsan)");
  if (os_symbol("__msan_init") != NULL)
    return refuse("MemorySanitizer",
                  "it would report what this library writes as not initialised (use "
                  "-fsanitize=address or valgrind)");
  if (mt_options.backend == MT_BACKEND_KERNEL) return 0;
  if (__get_unsafe_stack_ptr != NULL)
    return refuse("-fsanitize=safe-stack",
                  "a switch does not exchange its second stack (build without it, or set "
                  "MLTP_BACKEND=kernel)");
  *(void **)&start_switch = os_symbol("__sanitizer_start_switch_fiber");
  *(void **)&finish_switch = os_symbol("__sanitizer_finish_switch_fiber");
  *(void **)&unpoison = os_symbol("__asan_unpoison_memory_region");
  bool has_asan = start_switch != NULL && finish_switch != NULL && unpoison != NULL;
  if (has_asan && mt_options.backend == MT_BACKEND_NATIVE)
    mt_options.backend = MT_BACKEND_ANNOUNCED;
  find_leaks();
  if (!has_asan && os_symbol("__lsan_do_leak_check") != NULL) warn_of_leaks();
  return 0;
}

/* ---- switches */

static void bounds_of(const struct mltp_thread *t, const char **low, size_t *size) {
  if (t->kind == MT_IDLE && t->vp->ctx.idle_low != NULL) {
    *low = t->vp->ctx.idle_low;
    *size = t->vp->ctx.idle_size;
  } else if (t->stack != NULL) {
    *low = t->stack->low;
    *size = mt_stack_size(t->stack);
  } else {
    *low = mt_rt.main_low;
    *size = mt_rt.main_size;
  }
}

/* The calling thread is the next one already (mt_become()), still on the stack of the one before.
 */
static void switch_announced(struct arch_context *from, const struct arch_context *to) {
  struct mt_vp *vp = mt_current()->vp;
  const char *low;
  size_t size;
  void *fake = NULL;
  bool dying = (vp->ctx.after & MT_AFTER_END) != 0 && vp->ctx.after_stack != NULL;
  bounds_of(mt_current(), &low, &size);
  if (dying) unpoison(vp->ctx.after_stack->low, mt_stack_size(vp->ctx.after_stack));
  vp->ctx.after |= MT_AFTER_ARRIVE;
  start_switch(dying ? NULL : &fake, low, size);
  mt_arch_switch(from, to);
  finish_switch(fake, NULL, NULL);
  mt_current()->vp->ctx.after &= (uint8_t)~MT_AFTER_ARRIVE;
}

void mt_announce_arrival(void) { finish_switch(NULL, NULL, NULL); }

void mt_context_init_otherwise(struct arch_context *context, struct mt_stack *stack) {
  if (mt_options.backend == MT_BACKEND_UCONTEXT)
    mt_ucontext_init(context, stack->low, mt_stack_top(stack));
  else
    mt_arch_context_init(context, mt_stack_top(stack));
}

void mt_context_switch_otherwise(struct arch_context *from, const struct arch_context *to) {
  if (mt_options.backend == MT_BACKEND_UCONTEXT)
    mt_ucontext_switch(from, to);
  else
    switch_announced(from, to);
}
