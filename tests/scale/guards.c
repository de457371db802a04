/* SPDX-License-Identifier: Apache-2.0 */
/* 100,000 threads at once, each with an inaccessible page at the end of its stack. */
#define _GNU_SOURCE /* process_vm_readv */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "support/support.h"

enum { THREADS = 100000, PAGE = 4096, STACK = 64 * 1024 };

#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#endif

static mltp_barrier_t barrier;
static atomic_int arrived, unguarded;

/* Reading through the kernel reports an error where a load would crash. */
static int readable(const char *address) {
  char byte;
  struct iovec here = {&byte, 1};
  struct iovec there = {(void *)address, 1};
  return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == 1;
}

/* The stack ends within its size below this frame: there must be a page that cannot be
 * read before other memory comes. */
static void *look_for_guard(void *p0) {
  const char *frame = __builtin_frame_address(0);
  int offset = PAGE;
  while (offset <= STACK && readable(frame - offset)) offset += PAGE;
  if (offset > STACK) atomic_fetch_add(&unguarded, 1);
  atomic_fetch_add(&arrived, 1);
  mltp_barrier_wait(&barrier);
  return p0;
}

static void every_thread_has_a_guard(void) {
  uint64_t start = mltp_now();
  mltp_attr_t attr = MLTP_ATTR_INIT;
  attr.detached = 1;
  attr.stack_size = STACK;
  CHECK_EQUAL(mltp_barrier_init(&barrier, THREADS + 1, "all guarded"), 0);
  for (int i = 0; i < THREADS; i++) {
    CHECK_EQUAL(mltp_create(NULL, &attr, look_for_guard, NULL), 0);
  }
  while (atomic_load(&arrived) < THREADS) mltp_yield();
  CHECK_EQUAL(atomic_load(&unguarded), 0);
  mltp_barrier_wait(&barrier);
  printf("%d guarded threads: %.2f s\n", THREADS, (double)(mltp_now() - start) / 1e9);
}

/* Without light guards, 100,000 of them exceed the mappings a process may have. */
static int kernel_has_light_guards(void) {
  void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  int has = page != MAP_FAILED && madvise(page, PAGE, MADV_GUARD_INSTALL) == 0;
  if (page != MAP_FAILED) munmap(page, PAGE);
  return has;
}

int main(void) {
  if (SANITIZED || on_kernel_backend()) {
    fprintf(stderr, "skipped: needs user-level threads without a sanitizer\n");
    return 77;
  }
  if (getenv("MLTP_GUARD") != NULL) {
    fprintf(stderr, "skipped: MLTP_GUARD asks for other guards, or for none\n");
    return 77;
  }
  if (!kernel_has_light_guards()) {
    fprintf(stderr, "skipped: needs MADV_GUARD_INSTALL (Linux 6.13)\n");
    return 77;
  }
  const struct CMUnitTest tests[] = {TEST(every_thread_has_a_guard)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
