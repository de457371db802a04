/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks of coroutines where the kernel refuses: guards, address space; and what is trimmed. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "systemc/coroutine.h"
#include "systemc/message.h"
#include "systemc/stack.h"

enum {
  SIZE = 100 << 10,
  PAGE = 4096,
  MADV_GUARD = 102,
  LINE = 64,
  COLOURS = 32,
  BESIDE = (COLOURS + 1) * LINE,
  LOOKS = 64
};

/* ---- the kernel */

static struct {
  bool no_light_guards, no_mprotect, no_space;
  uint64_t now;
  int trimmed;         /* calls of MADV_DONTNEED */
  char *trimmed_at;    /* by the last one */
  size_t trimmed_size; /* likewise */
  size_t most;         /* of a mapping; 0: as much as it likes */
  size_t space;        /* of all addresses; 0: the real one */
  long mappings;       /* 0: the real number */
} kernel;

int __real_madvise(void *address, size_t size, int advice);
int __real_mprotect(void *address, size_t size, int protection);
void *__real_mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset);
int __wrap_madvise(void *address, size_t size, int advice);
int __wrap_mprotect(void *address, size_t size, int protection);
void *__wrap_mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset);
uint64_t __wrap_os_now(void);
size_t __real_os_address_space_limit(void);
size_t __wrap_os_address_space_limit(void);
long __real_os_max_mappings(void);
long __wrap_os_max_mappings(void);

size_t __wrap_os_address_space_limit(void) {
  return kernel.space != 0 ? kernel.space : __real_os_address_space_limit();
}

long __wrap_os_max_mappings(void) {
  return kernel.mappings != 0 ? kernel.mappings : __real_os_max_mappings();
}

int __wrap_madvise(void *address, size_t size, int advice) {
  if (advice == MADV_DONTNEED) {
    kernel.trimmed++;
    kernel.trimmed_at = address;
    kernel.trimmed_size = size;
  }
  if (advice == MADV_GUARD && kernel.no_light_guards) {
    errno = EINVAL;
    return -1;
  }
  return __real_madvise(address, size, advice);
}

int __wrap_mprotect(void *address, size_t size, int protection) {
  if (protection == PROT_NONE && kernel.no_mprotect) {
    errno = ENOMEM;
    return -1;
  }
  return __real_mprotect(address, size, protection);
}

void *__wrap_mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset) {
  if (kernel.no_space || (kernel.most != 0 && size > kernel.most)) {
    errno = ENOMEM;
    return MAP_FAILED;
  }
  return __real_mmap(address, size, protection, flags, fd, offset);
}

uint64_t __wrap_os_now(void) { return kernel.now; }

/* ---- what the package has in SystemC */

const char *mt_co_name(const struct mt_coroutine *co) { return co->arg; }

static struct mt_coroutine main_co;

static void overflow(void *name) {
  (void)name;
  memset(mt_co_current()->stack->low, 1, 64);
  mt_co_abort(&main_co);
}

static void returns(void *name) { (void)name; }

static void ends(void *name) {
  (void)name;
  mt_co_abort(&main_co);
}

static void touch_guard(void *name) {
  (void)name;
  mt_co_catch_overflow();
  *(volatile char *)mt_co_current()->stack->low = 1;
}

/* No overflow: the handler hands it on. */
static void touch_nothing(void *name) {
  static char *volatile nowhere = (char *)8;
  (void)name;
  mt_co_catch_overflow();
  *nowhere = 1;
}

static void run(void (*body)(void *), size_t size) {
  static struct mt_coroutine co;
  mt_co_adopt(&main_co);
  mt_co_init(&co, size, body, (void *)"top.p");
  mt_co_yield(&co);
}

/* ---- each in a process of its own: the arena is one */

static int in_child(void (*body)(void), const char *words) {
  int pipe_[2], status;
  char said[4000] = "";
  assert_int_equal(pipe(pipe_), 0);
  pid_t child = fork();
  if (child == 0) {
    signal(SIGABRT, SIG_DFL);
    signal(SIGSEGV, SIG_DFL);
    dup2(pipe_[1], 2);
    body();
    _exit(0);
  }
  close(pipe_[1]);
  ssize_t n, all = 0;
  while ((n = read(pipe_[0], said + all, sizeof said - 1 - (size_t)all)) > 0) all += n;
  close(pipe_[0]);
  waitpid(child, &status, 0);
  if (strstr(said, words) == NULL) print_error("it said: %s\n", said);
  assert_non_null(strstr(said, words));
  return status;
}

#define EXPECT(condition)                                                                          \
  if (!(condition)) mt_co_fatal("line %d: not so: %s", __LINE__, #condition)

static void guard(void) { run(touch_guard, SIZE); }

static void elsewhere(void) {
  mt_co_message("before");
  run(touch_nothing, SIZE);
  mt_co_message("not reached");
}

static void guard_by_mprotect(void) {
  kernel.no_light_guards = true;
  run(touch_guard, SIZE);
}

static void canary(void) {
  kernel.no_light_guards = kernel.no_mprotect = true;
  run(ends, SIZE);
  run(overflow, SIZE);
}

static void no_space(void) {
  kernel.no_space = true;
  run(ends, SIZE);
}

static void too_large(void) { run(ends, SIZE_MAX / 2); }

static void end_without_abort(void) { run(returns, SIZE); }

static void run_again(void) {
  static struct mt_coroutine co;
  mt_co_adopt(&main_co);
  mt_co_init(&co, SIZE, ends, (void *)"top.p");
  mt_co_yield(&co);
  mt_co_yield(&co);
}

static void sizes(void) {
  for (size_t size = 1; size < 10 << 20; size = size * 3 + 1) {
    struct mt_co_stack *stack = mt_co_stack_new(size);
    char *top = mt_co_stack_top(stack);
    EXPECT((uintptr_t)top % 16 == 0);
    EXPECT(mt_co_stack_room(stack) >= size);
    EXPECT(top - (stack->low + PAGE) >= (ptrdiff_t)size);
    EXPECT(mt_co_stack_guards(stack, stack->low) && !mt_co_stack_guards(stack, stack->low + PAGE));
    memset(top - size, 0x5a, size);
  }
  mt_co_message("done");
}

/* A thousand are used once, then ten again and again: after a while the others lose their
 * memory, the ten keep it. */
static void trimming(void) {
  enum { ALL = 1000, FEW = 10, ROUNDS = 200 };
  static struct mt_co_stack *stacks[ALL];
  for (int i = 0; i < ALL; i++) {
    stacks[i] = mt_co_stack_new(SIZE);
    memset(mt_co_stack_top(stacks[i]) - SIZE, 1, SIZE);
  }
  for (int i = 0; i < ALL; i++) mt_co_stack_free(stacks[i]);
  for (int round = 0; round < ROUNDS; round++) {
    kernel.now += 50000000;
    for (int i = 0; i < FEW; i++) stacks[i] = mt_co_stack_new(SIZE);
    for (int i = 0; i < FEW; i++) {
      char *memory = mt_co_stack_top(stacks[i]) - SIZE;
      if (round > 0) EXPECT(memory[0] == 1); /* nobody took it from them */
      memory[0] = 1;
      mt_co_stack_free(stacks[i]);
    }
  }
  EXPECT(kernel.trimmed == ALL - FEW); /* each once */
  int untouched = 0;
  for (int i = 0; i < ALL; i++) {
    stacks[i] = mt_co_stack_new(SIZE);
    untouched += (mt_co_stack_top(stacks[i]) - SIZE)[0] == 0;
  }
  EXPECT(untouched == ALL - FEW);
  mt_co_message("done");
}

/* A stack has the least power of two in which what was asked for, the guard, the description and
 * all colours have room. */
static void classes(void) {
  static const struct {
    size_t size;
    int class_log2;
  } cases[] = {{1, 14},
               {(1 << 14) - PAGE - BESIDE, 14},
               {(1 << 14) - PAGE - BESIDE + 1, 15},
               {(1 << 15) - PAGE - BESIDE, 15},
               {(1 << 15) - PAGE - BESIDE + 1, 16},
               {1 << 20, 21}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct mt_co_stack *stack = mt_co_stack_new(cases[i].size);
    EXPECT(stack->class_log2 == cases[i].class_log2);
    EXPECT(mt_co_stack_room(stack) == ((size_t)1 << cases[i].class_log2) - PAGE - BESIDE);
    EXPECT((char *)stack == stack->low + ((size_t)1 << cases[i].class_log2) - LINE);
    EXPECT((uintptr_t)stack->low % ((size_t)1 << cases[i].class_log2) == 0);
    EXPECT((char *)stack - mt_co_stack_top(stack) == (ptrdiff_t)i * LINE);
    EXPECT(!mt_co_stack_guards(stack, stack->low - 1) &&
           mt_co_stack_guards(stack, stack->low + PAGE - 1));
  }
  char *before = NULL;
  for (int i = 6; i < 2 * COLOURS; i++) {
    struct mt_co_stack *stack = mt_co_stack_new(SIZE);
    EXPECT((char *)stack - mt_co_stack_top(stack) == i % COLOURS * LINE);
    EXPECT(before == NULL || stack->low == before + (1 << 17)); /* no gap */
    before = stack->low;
  }
  mt_co_message("done");
}

static void each_word_of_a_canary(void) {
  kernel.no_light_guards = kernel.no_mprotect = true;
  struct mt_co_stack *stack = mt_co_stack_new(SIZE);
  uint64_t *words = (uint64_t *)stack->low;
  EXPECT(!mt_co_stack_guards(stack, stack->low));
  for (int i = 0; i < 8; i++) {
    uint64_t was = words[i];
    EXPECT(mt_co_stack_whole(stack));
    words[i]++;
    EXPECT(!mt_co_stack_whole(stack));
    words[i] = was;
  }
  words[8]++; /* a frame may lie there */
  EXPECT(mt_co_stack_whole(stack));
  mt_co_message("done");
}

/* Half of the mappings are the program's, and each guard splits one in three. */
static void few_mappings(void) {
  kernel.no_light_guards = true;
  kernel.mappings = 10;
  for (int i = 0; i < 4; i++) EXPECT(mt_co_stack_new(SIZE)->guarded == (i < 2));
  mt_co_message("done");
}

static int stacks_that_fit(void) {
  int count = 0;
  while (mt_co_stack_new(SIZE) != NULL) count++;
  return count;
}

static void half_of_the_addresses(void) {
  kernel.space = (size_t)1 << 28;
  EXPECT(stacks_that_fit() == 1 << 10);
  mt_co_message("done");
}

static void few_addresses(void) {
  kernel.space = 1 << 20;
  EXPECT(stacks_that_fit() == 1 << 9); /* the least that is tried */
  mt_co_message("done");
}

static void small_mappings(void) {
  kernel.most = 1 << 27;
  EXPECT(stacks_that_fit() == 1 << 10);
  mt_co_message("done");
}

static void no_mapping_is_small_enough(void) {
  kernel.most = (64 << 20) - 1;
  EXPECT(mt_co_stack_new(SIZE) == NULL);
  mt_co_message("done");
}

/* One stack of two is in use now and then: the other one loses its memory at the second look, a
 * second after the first. */
static void the_time_of_trimming(void) {
  struct mt_co_stack *one = mt_co_stack_new(SIZE), *two = mt_co_stack_new(SIZE);
  mt_co_stack_free(one);
  mt_co_stack_free(two);
  kernel.now = 5000000000;
  for (int i = 3; i <= 4 * LOOKS; i++) {
    if (i == 3 * LOOKS) kernel.now += 999999999;
    if (i == 4 * LOOKS) kernel.now += 1;
    mt_co_stack_free(mt_co_stack_new(SIZE));
    EXPECT(kernel.trimmed == (i == 4 * LOOKS));
  }
  EXPECT(kernel.trimmed_at == one->low + PAGE && kernel.trimmed_size == (1 << 17) - 2 * PAGE);
  kernel.now += 2000000000; /* once is enough */
  for (int i = 0; i < LOOKS; i++) mt_co_stack_free(mt_co_stack_new(SIZE));
  EXPECT(kernel.trimmed == 1);
  mt_co_message("done");
}

static void longest_message(void) {
  char text[2000];
  memset(text, 'x', sizeof text);
  text[984] = '\0';
  mt_co_message("%s", text);
  text[984] = 'y';
  text[985] = '\0';
  mt_co_message("%s", text);
  mt_co_message("%s", "short");
}

static void each_does_what_it_should(void **state) {
  (void)state;
  in_child(guard, "mltp-systemc: process 'top.p': stack overflow: it used more than its");
  assert_true(WIFSIGNALED(in_child(elsewhere, "mltp-systemc: before\n")));
  in_child(guard_by_mprotect, "mltp-systemc: process 'top.p': stack overflow: it used more than");
  in_child(canary,
           "process 'top.p': stack overflow: it used more than its 121 KiB, found by the "
           "canary when it ended");
  in_child(canary, "stack guards: half of vm.max_map_count is used");
  in_child(no_space, "process 'top.p': no address space for a stack of 100 KiB");
  in_child(too_large, "process 'top.p': no address space for a stack of");
  in_child(end_without_abort, "process 'top.p' came to its end without telling");
  in_child(run_again, "process 'top.p' has ended, and SystemC's kernel wants to run it again");
  in_child(sizes, "mltp-systemc: done");
  in_child(trimming, "mltp-systemc: done");
  static void (*const bodies[])(void) = {classes,
                                         each_word_of_a_canary,
                                         few_mappings,
                                         half_of_the_addresses,
                                         few_addresses,
                                         small_mappings,
                                         no_mapping_is_small_enough,
                                         the_time_of_trimming};
  for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++)
    assert_int_equal(in_child(bodies[i], "mltp-systemc: done"), 0);
  char lines[2 * 999 + 30], x[985];
  memset(x, 'x', sizeof x);
  x[984] = '\0';
  snprintf(lines, sizeof lines, "mltp-systemc: %s\nmltp-systemc: %s\nmltp-systemc: short\n", x, x);
  in_child(longest_message, lines);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(each_does_what_it_should)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
