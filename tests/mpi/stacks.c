/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks of ranks: what stacks.py looks at. */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>

#include "check.h"

static int is(const char *word, const char *argument) { return strcmp(word, argument) == 0; }

/* Touches only the low end of a large frame: without probes it would jump over any guard. */
__attribute__((noinline)) static void use_low_end(size_t size) {
  volatile char large[size];
  for (int i = 0; i < 64; i++) large[i] = 'X';
  __asm__ volatile("" : : "r"(large) : "memory");
}

/* A frame so large that it ends in the neighbour's stack. */
static void jump_into_neighbour(int rank) {
  volatile char mine[4096];
  uintptr_t first = (uintptr_t)mine;
  memset((void *)(uintptr_t)mine, 'm', sizeof mine);
  MPI_Bcast(&first, sizeof first, MPI_BYTE, 0, MPI_COMM_WORLD);
  if (rank == 1) {
    uintptr_t own = (uintptr_t)mine;
    use_low_end((own > first ? own - first : first - own) - 1024);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  for (size_t i = 0; i < sizeof mine; i++) CHECK(mine[i] == 'm');
}

void fill(size_t size);

__attribute__((noinline)) void fill(size_t size) {
  volatile char large[size];
  memset((void *)(uintptr_t)large, 1, size);
  CHECK(large[size / 2] == 1);
}

/* ---- overflows that the program handles, as interpreters do */

static sigjmp_buf before_overflow;
static char other_stack[64 << 10];
static volatile int overflows;

static void leave(int signo) {
  overflows++;
  siglongjmp(before_overflow, signo);
}

__attribute__((noinline)) static int recurse(volatile int *from) {
  volatile int here = *from + 1;
  if (here < 0) return 0; /* never */
  return recurse(&here) + here;
}

static void handle_overflows(int flags) {
  volatile int depth = 0;
  struct sigaction action = {.sa_handler = leave, .sa_flags = flags};
  CHECK(sigaltstack(&(stack_t){.ss_sp = other_stack, .ss_size = sizeof other_stack}, NULL) == 0);
  CHECK(sigaction(SIGSEGV, &action, NULL) == 0);
  for (int i = 0; i < 3; i++) {
    if (sigsetjmp(before_overflow, 1) == 0) recurse(&depth);
    CHECK(overflows == i + 1);
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

/* ---- bounds, as garbage collectors and interpreters ask for them */

extern void *__libc_stack_end;

static void has_bounds(pthread_t thread, const void *inside) {
  pthread_attr_t attr;
  void *low;
  size_t size;
  CHECK(pthread_getattr_np(thread, &attr) == 0);
  CHECK(pthread_attr_getstack(&attr, &low, &size) == 0);
  CHECK((uintptr_t)inside - (uintptr_t)low < size);
  CHECK(pthread_attr_destroy(&attr) == 0);
}

struct rank {
  pthread_t thread;
  void *inside;
};

static void *bounds_of_pthread(void *argument) {
  const struct rank *rank = argument;
  int local;
  has_bounds(pthread_self(), &local);
  has_bounds(rank->thread, rank->inside);
  return NULL;
}

/* The low end is there: some runtimes touch it to have the kernel extend the stack. */
static void touch_low_end(void) {
  pthread_attr_t attr;
  void *low;
  size_t size;
  CHECK(pthread_getattr_np(pthread_self(), &attr) == 0);
  CHECK(pthread_attr_getstack(&attr, &low, &size) == 0);
  *(volatile char *)low = 1;
  CHECK(pthread_attr_destroy(&attr) == 0);
}

static void bounds(void) {
  struct rank rank = {pthread_self(), &rank};
  pthread_t thread;
  for (int i = 0; i < 10; i++) {
    has_bounds(pthread_self(), &rank);
    MPI_Barrier(MPI_COMM_WORLD); /* on another VP, perhaps */
  }
  CHECK(pthread_create(&thread, NULL, bounds_of_pthread, &rank) == 0);
  CHECK(pthread_join(thread, NULL) == 0);
  CHECK((char *)__libc_stack_end > (char *)&rank);
  has_bounds(pthread_self(), __libc_stack_end);
  touch_low_end();
}

int main(int argc, char **argv) {
  int size, rank = check_start(&argc, &argv, &size);
  if (is(argv[1], "bounds")) bounds();
  if (is(argv[1], "jump")) jump_into_neighbour(rank);
  if (is(argv[1], "fill")) fill((size_t)atol(argv[2]) << 20);
  if (is(argv[1], "handle")) handle_overflows(SA_ONSTACK);
  if (is(argv[1], "without-stack")) handle_overflows(0);
  MPI_Finalize();
  return 0;
}
