/* SPDX-License-Identifier: Apache-2.0 */
/* Switching; coroutine.h says what is exchanged. */
#include "systemc/coroutine.h"

#include "systemc/message.h"
#include "systemc/tools.h"

/* The C++ runtime's, of the calling kernel thread. */
extern struct mt_co_exceptions *__cxa_get_globals(void);
static __thread struct mt_co_exceptions *exceptions_at;

static struct mt_coroutine *current;
static struct {
  const void *bottom;
  size_t size;
} main_stack; /* as AddressSanitizer knows it */

struct mt_coroutine *mt_co_current(void) { return current; }

void mt_co_adopt(struct mt_coroutine *main) {
  *main = (struct mt_coroutine){0};
  if (__tsan_get_current_fiber) main->fiber = __tsan_get_current_fiber();
  current = main;
}

void mt_co_init(struct mt_coroutine *co, size_t stack_size, void (*run)(void *), void *arg) {
  *co = (struct mt_coroutine){.stack_size = stack_size, .run = run, .arg = arg};
  mt_arch_fp_save(&co->fp);
}

/* ---- stacks */

static void give_back_stack(struct mt_coroutine *co) {
  if (!mt_co_stack_whole(co->stack))
    mt_co_fatal(
        "process '%s': stack overflow: it used more than its %zu KiB, found by the canary when "
        "it ended (give it more by set_stack_size() in its module or its spawn options)",
        mt_co_name(co), mt_co_stack_room(co->stack) / 1024);
  mt_co_stack_free(co->stack);
  co->stack = NULL;
}

/* Its first run. Kept out of the way of all others. */
__attribute__((noinline, cold)) static void prepare(struct mt_coroutine *co) {
  if (co->ended)
    mt_co_fatal(
        "process '%s' has ended, and SystemC's kernel wants to run it again (is the "
        "program built against the headers of the SystemC library it runs with?)",
        mt_co_name(co));
  co->stack = mt_co_stack_new(co->stack_size);
  if (co->stack == NULL)
    mt_co_fatal(
        "process '%s': no address space for a stack of %zu KiB (ask for less by "
        "set_stack_size(), or raise ulimit -v)",
        mt_co_name(co), co->stack_size / 1024);
  co->sp = mt_arch_leap_init(mt_co_stack_top(co->stack));
  if (__asan_unpoison_memory_region) /* frames that were aborted left their red zones behind */
    __asan_unpoison_memory_region(co->stack->low, (size_t)1 << co->stack->class_log2);
  if (__tsan_create_fiber) co->fiber = __tsan_create_fiber(0);
}

void mt_co_destroy(struct mt_coroutine *co) {
  if (co->stack != NULL) give_back_stack(co);
  if (co->fiber != NULL) __tsan_destroy_fiber(co->fiber);
}

/* ---- the switch */

/* Makes next the one that runs, with its own of what is not saved by the switch. */
static inline void become(struct mt_coroutine *from, struct mt_coroutine *next) {
  if (next->sp == NULL) prepare(next);
  if (exceptions_at == NULL) exceptions_at = __cxa_get_globals();
  from->exceptions = *exceptions_at;
  *exceptions_at = next->exceptions;
  mt_arch_fp_save(&from->fp);
  if (!mt_arch_fp_same(&from->fp, &next->fp)) mt_arch_fp_load(&next->fp);
  current = next;
}

/* Immediately before the switch. fake_stack: NULL if the one that leaves has ended. Inlined always:
 * ThreadSanitizer would take a return from here for one of next's. */
__attribute__((always_inline)) static inline void leave(const struct mt_coroutine *next,
                                                        void **fake_stack) {
  const struct mt_co_stack *stack = next->stack;
  if (__sanitizer_start_switch_fiber && stack != NULL)
    __sanitizer_start_switch_fiber(fake_stack, stack->low, (size_t)1 << stack->class_log2);
  else if (__sanitizer_start_switch_fiber)
    __sanitizer_start_switch_fiber(fake_stack, main_stack.bottom, main_stack.size);
  if (__tsan_switch_to_fiber) __tsan_switch_to_fiber(next->fiber, 0);
}

/* Immediately after it. */
static void arrive(struct mt_coroutine *self) {
  const void *bottom;
  size_t size;
  if (!__sanitizer_finish_switch_fiber) return;
  __sanitizer_finish_switch_fiber(self->fake_stack, &bottom, &size);
  if (main_stack.bottom != NULL) return;
  main_stack.bottom = bottom; /* the first that leaves is main */
  main_stack.size = size;
}

static __attribute__((noinline)) void yield_watched(struct mt_coroutine *self,
                                                    struct mt_coroutine *next) {
  leave(next, &self->fake_stack);
  mt_arch_leap(&self->sp, next->sp);
  arrive(self);
}

void mt_co_yield(struct mt_coroutine *next) {
  struct mt_coroutine *self = current;
  become(self, next);
  if (mt_co_watched())
    yield_watched(self, next);
  else
    mt_arch_leap(&self->sp, next->sp); /* the last thing done here: see arch.h */
}

void mt_co_abort(struct mt_coroutine *next) {
  static void *nowhere; /* nobody comes back to it */
  struct mt_coroutine *self = current;
  self->ended = true;
  self->sp = NULL;
  /* Next may take over this very stack: nothing of it is read after next's first frame is
   * written; and it is not trimmed, since it was not free when the pool was last looked at. */
  give_back_stack(self);
  become(self, next);
  leave(next, NULL);
  mt_arch_leap(&nowhere, next->sp);
  __builtin_unreachable();
}

void mt_thread_start(void) {
  struct mt_coroutine *self = current;
  arrive(self);
  self->run(self->arg);
  mt_co_fatal(
      "process '%s' came to its end without telling SystemC's kernel (is the program "
      "built against the headers of the SystemC library it runs with?)",
      mt_co_name(self));
}
