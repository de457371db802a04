/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file inject.h
 * Makes chosen calls of libc and of the kernel fail. A program that uses it is linked with
 * --wrap for each call (tests/CMakeLists.txt), so that only the library's own calls, and the
 * test's, come by here, not those libc makes for itself.
 */
#ifndef TESTS_INJECT_H
#define TESTS_INJECT_H

#include <stdbool.h>
#include <stdint.h>

/** The calls that can be made to fail; inject_calls names them and their errors. */
enum call {
  CALL_MALLOC,
  CALL_ALIGNED_ALLOC,
  CALL_CPU_ALLOC,
  CALL_MMAP,
  CALL_MUNMAP,
  CALL_MPROTECT,
  CALL_MADVISE,
  CALL_FUTEX_WAIT,
  CALL_FUTEX_WAKE,
  CALL_MEMBARRIER_REGISTER,
  CALL_MEMBARRIER,
  CALL_PEEK,
  CALL_SIGACTION,
  CALL_SIGALTSTACK,
  CALL_SIGMASK,
  CALL_WRITE,
  CALL_FOPEN,
  CALL_FSCANF,
  CALL_GETLINE,
  CALL_NANOSLEEP,
  CALL_GETCPU,
  CALL_GETAFFINITY,
  CALL_SETAFFINITY,
  CALL_THREAD_CREATE,
  CALL_ATTR_INIT,
  CALL_ATTR_STACKSIZE,
  CALL_ATTR_AFFINITY,
  CALL_GETATTR,
  CALL_ATFORK,
  CALL_KEY_CREATE,
  CALL_SETSPECIFIC,
  CALL_EPOLL_CREATE,
  CALL_EPOLL_CTL,
  CALL_EPOLL_WAIT,
  CALL_EPOLL_PWAIT2,
  CALL_EVENTFD,
  CALL_READ,
  CALL_ACCEPT,
  CALLS
};

enum { ERRORS_MAX = 4 };

struct inject_call {
  const char *name;
  int errors[ERRORS_MAX]; /**< what it may say, ended by 0 */
};

extern const struct inject_call inject_calls[CALLS];

enum { INJECT_NOTED = 8192 /* calls of a kind whose place is noted */ };

/** Calls of one kind. */
struct inject_counts {
  unsigned count;
  uint32_t places[INJECT_NOTED]; /**< of each a number for its callers: the same, where these are */
};

/** Counts all calls from now on into counts[CALLS], which may be shared memory. */
void inject_count(struct inject_counts *counts);

/** Lets the nth call (from 0) of one kind fail from now on, and with onward all after it. */
void inject(enum call call, unsigned nth, bool onward, int error);

/** No more failures. */
void inject_stop(void);

/** The calling kernel thread's own calls are spared: it is the test's. */
void inject_spare_me(bool spare);

#endif
