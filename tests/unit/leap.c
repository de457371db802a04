/* SPDX-License-Identifier: Apache-2.0 */
/* The switch that is a call: what it keeps, where it goes back to, how a stack begins. */
#define _GNU_SOURCE /* registers of a ucontext_t */
#include <stdalign.h>

#include "arch/arch.h"
#include "support/support.h"

static void *here, *there;
static alignas(16) char stack[65536];
static uintptr_t first_frame;
static uint64_t leaps;

/* As much as fits into registers, all of it wrong for the other side. */
static __attribute__((noinline)) void use_registers(void) {
  uint64_t a = leaps, b = a * 3, c = a * 5, d = a * 7, e = a * 11, f = a * 13;
  double p = (double)a, q = p * 3, r = p * 5, s = p * 7, t = p * 11, u = p * 13;
  __asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f));
  __asm__ volatile("" : "+m"(p), "+m"(q), "+m"(r), "+m"(s), "+m"(t), "+m"(u));
  leaps += 1 + ((a + b + c + d + e + f == 0) & (p + q + r + s + t + u > 0));
}

/* Begins on the fresh stack, by a return into it. */
static void bounce(void) {
  first_frame = (uintptr_t)mt_arch_sp();
  for (;;) {
    use_registers();
    mt_arch_leap(&there, here);
  }
}

/* The leap is the last thing it does: the compiler may jump to it. */
static __attribute__((noinline)) void go(void) { mt_arch_leap(&here, there); }

static __attribute__((noinline)) uint64_t wrong_after_leap(uint64_t seed) {
  uint64_t a = seed, b = seed * 3, c = seed * 5, d = seed * 7, e = seed * 11, f = seed * 13;
  double p = (double)seed, q = p * 3, r = p * 5, s = p * 7, t = p * 11, u = p * 13;
  __asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f));
  __asm__ volatile("" : "+m"(p), "+m"(q), "+m"(r), "+m"(s), "+m"(t), "+m"(u));
  p += 1, q += 1, r += 1, s += 1, t += 1, u += 1;
  go();
  __asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f));
  uint64_t wrong = (a ^ seed) | (b ^ seed * 3) | (c ^ seed * 5) | (d ^ seed * 7) | (e ^ seed * 11) |
                   (f ^ seed * 13);
  double base = (double)seed, sum = p + q + r + s + t + u;
  return wrong | (sum != base * 40 + 6);
}

/* Has the fresh stack begin elsewhere than at mt_arch_entry(). */
static int redirect(void *sp, void (*start)(void)) {
  int found = 0;
  for (void **word = sp; word < (void **)(stack + sizeof stack); word++)
    if (*word == (void *)(uintptr_t)mt_arch_entry) {
      *word = (void *)(uintptr_t)start;
      found++;
    }
  return found;
}

static void registers_are_kept_and_stacks_begin_aligned(void) {
  if (SANITIZED) return; /* sanitizers must learn of each switch */
  there = mt_arch_leap_init(stack + sizeof stack);
  CHECK_EQUAL(redirect(there, bounce), 1);
  for (uint64_t seed = 1; seed < 100; seed++) CHECK_EQUAL(wrong_after_leap(seed), 0);
  CHECK_EQUAL(leaps, 99);
  CHECK(first_frame > (uintptr_t)stack && first_frame <= (uintptr_t)stack + sizeof stack);
  CHECK((uintptr_t)here < (uintptr_t)stack || (uintptr_t)here > (uintptr_t)stack + sizeof stack);
}

static void the_stack_pointer_at_the_entry_is_the_top(void) {
  const size_t words =
      (size_t)(stack + sizeof stack - (char *)mt_arch_leap_init(stack + sizeof stack));
  /* what is taken off again: nothing but what the leap puts there */
  CHECK_EQUAL(words % 8, 0);
  CHECK_EQUAL((char *)mt_arch_leap_init(stack + sizeof stack - 8) + words,
              stack + sizeof stack - 16);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST_BARE(registers_are_kept_and_stacks_begin_aligned),
      TEST_BARE(the_stack_pointer_at_the_entry_is_the_top),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
