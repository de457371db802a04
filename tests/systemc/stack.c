/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks of coroutines where the kernel refuses: guards, address space; and what is trimmed. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "systemc/coroutine.h"
#include "systemc/message.h"
#include "systemc/stack.h"

enum { SIZE = 100 << 10, PAGE = 4096, MADV_GUARD = 102 };

/* ---- the kernel */

static struct {
  bool no_light_guards, no_mprotect, no_space;
  uint64_t now;
  int trimmed; /* calls of MADV_DONTNEED */
} kernel;

int __real_madvise(void *address, size_t size, int advice);
int __real_mprotect(void *address, size_t size, int protection);
void *__real_mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset);
int __wrap_madvise(void *address, size_t size, int advice);
int __wrap_mprotect(void *address, size_t size, int protection);
void *__wrap_mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset);
uint64_t __wrap_os_now(void);

int __wrap_madvise(void *address, size_t size, int advice) {
  if (advice == MADV_DONTNEED) kernel.trimmed++;
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
  if (kernel.no_space) {
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
  char said[2000] = "";
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
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(each_does_what_it_should)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
