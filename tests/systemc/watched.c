/* SPDX-License-Identifier: Apache-2.0 */
/* The calls that sanitizers get for coroutines: this program defines their functions, which record
 * the calls. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "systemc/coroutine.h"
#include "systemc/tools.h"

enum { SIZE = 100 << 10, MAIN_SIZE = 8 << 20 };

static char log_[1000];
static const char main_bottom; /* of main's stack, as the tool knows it */

static void say(const char *format, const char *word) {
  size_t used = strlen(log_);
  snprintf(log_ + used, sizeof log_ - used, format, word);
}

const char *mt_co_name(const struct mt_coroutine *co) { return co->arg; }

/* ---- the tools */

void __sanitizer_start_switch_fiber(void **fake, const void *bottom, size_t size) {
  const struct mt_co_stack *stack = mt_co_current()->stack;
  if (fake != NULL) *fake = log_; /* anything */
  if (bottom == &main_bottom)
    say(fake != NULL ? "to main%s; " : "forever to main%s; ", size == MAIN_SIZE ? "" : "?");
  else
    say("to process%s; ", stack != NULL && bottom == stack->low ? "" : "?");
}

void __sanitizer_finish_switch_fiber(void *fake, const void **bottom, size_t *size) {
  *bottom = &main_bottom;
  *size = MAIN_SIZE;
  say("there%s, ", fake != NULL ? " again" : "");
}

void __asan_unpoison_memory_region(const volatile void *address, size_t size) {
  (void)address;
  say("clean%s, ", size >= SIZE ? "" : "?");
}

void *__tsan_get_current_fiber(void) { return (void *)(uintptr_t)"main"; }

void *__tsan_create_fiber(unsigned flags) {
  (void)flags;
  say("%s, ", "new");
  return (void *)(uintptr_t)"process";
}

void __tsan_destroy_fiber(void *fiber) { say("end of %s", fiber); }

void __tsan_switch_to_fiber(void *fiber, unsigned flags) {
  (void)flags;
  say("%s: ", fiber);
}

/* ---- */

static struct mt_coroutine main_co;

static void body(void *name) {
  (void)name;
  mt_co_yield(&main_co);
  mt_co_abort(&main_co);
}

static void each_switch_is_reported(void **state) {
  (void)state;
  static struct mt_coroutine co;
  mt_co_adopt(&main_co);
  mt_co_init(&co, SIZE, body, (void *)(uintptr_t)"top.p");
  mt_co_yield(&co);
  mt_co_yield(&co);
  mt_co_destroy(&co);
  assert_string_equal(log_,
                      "clean, new, to process; process: there, "
                      "to main; main: there again, "
                      "to process; process: there again, "
                      "forever to main; main: there again, end of process");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(each_switch_is_reported)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
