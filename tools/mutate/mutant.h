/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ./dev mutate includes this in each file that has mutants. All mutants are in one build: a process
 * runs the mutants of the numbers in MUTATE_ACTIVE, as in "3,17", and notes in the file
 * MUTATE_REACHED which mutants it has come to.
 *
 * It stands before the file's own macros, so it includes no header that looks at them. Each library
 * has variables of its own. They are set before other constructors run, as these may have mutants.
 */
#pragma once

#include <sys/syscall.h>

enum {
  MUTANT_READ_WRITE = 2,
  MUTANT_PAGES = 3,
  MUTANT_SHARED = 1,
  MUTANT_HERE = -100,
  MUTANTS_MAX = 65536
};

#define MUTANT_SHARED_BY_FILES __attribute__((weak, visibility("hidden")))
MUTANT_SHARED_BY_FILES unsigned char mutant_active[MUTANTS_MAX / 8]; /* a bit for each */
MUTANT_SHARED_BY_FILES int mutant_started;
MUTANT_SHARED_BY_FILES volatile unsigned char *mutant_reached;

/* A system call; above -4096, unsigned: an error. */
#ifdef __x86_64__ /* where a library without libc has mutants */
static inline long mutant_call(long number, long a, long b, long c, long d, long e, long f) {
  register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
  long result = number;
  __asm__ volatile("syscall"
                   : "+a"(result)
                   : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
}
#else
extern long syscall(long number, ...);
static inline long mutant_call(long number, long a, long b, long c, long d, long e, long f) {
  return syscall(number, a, b, c, d, e, f);
}
#endif

static inline const char *mutant_setting(char **environment, const char *name) {
  for (; *environment != 0; environment++) {
    const char *text = *environment, *wanted = name;
    while (*wanted != 0 && *text == *wanted) {
      text++;
      wanted++;
    }
    if (*wanted == 0 && *text == '=') return text + 1;
  }
  return 0;
}

__attribute__((constructor(101))) static void mutant_start(int argc, char **argv,
                                                           char **environment) {
  (void)argc;
  (void)argv;
  if (mutant_started++ != 0 || environment == 0) return;
  const char *active = mutant_setting(environment, "MUTATE_ACTIVE");
  for (unsigned number = 0; active != 0; active++) {
    if (*active >= '0' && *active <= '9') {
      number = number * 10 + (unsigned)(*active - '0');
      continue;
    }
    if (number < MUTANTS_MAX) mutant_active[number / 8] |= (unsigned char)(1U << number % 8);
    if (*active == 0) break;
    number = 0;
  }
  const char *reached = mutant_setting(environment, "MUTATE_REACHED");
  if (reached == 0) return;
  long file = mutant_call(SYS_openat, MUTANT_HERE, (long)reached, MUTANT_READ_WRITE, 0, 0, 0);
  if (file < 0) return;
  long at = mutant_call(SYS_mmap, 0, MUTANTS_MAX, MUTANT_PAGES, MUTANT_SHARED, file, 0);
  if ((unsigned long)at <= -4096UL) mutant_reached = (unsigned char *)at;
  mutant_call(SYS_close, file, 0, 0, 0, 0, 0);
}

/* Whether the process runs with this mutant. */
__attribute__((always_inline)) static inline int mutant_is(unsigned number) {
  if (__builtin_expect(mutant_reached != 0, 0)) mutant_reached[number] = 1;
  return __builtin_expect(mutant_active[number / 8] >> number % 8 & 1, 0);
}
