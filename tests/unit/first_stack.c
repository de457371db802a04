/* SPDX-License-Identifier: Apache-2.0 */
/* Bounds of the stack of the process's first thread, which src/os finds without a list of all
 * mappings: the same as libc's. */
#define _GNU_SOURCE /* pthread_getattr_np() */
#include <pthread.h>
#include <sys/resource.h>

#include "os/os.h"
#include "support/support.h"

static void check_bounds(void) {
  pthread_attr_t attr;
  void *libc_low;
  size_t libc_size, size;
  char *low, *here = __builtin_frame_address(0);
  CHECK(pthread_getattr_np(pthread_self(), &attr) == 0);
  CHECK(pthread_attr_getstack(&attr, &libc_low, &libc_size) == 0);
  pthread_attr_destroy(&attr);
  os_thread_stack(&low, &size);
  CHECK(low == libc_low);
  CHECK(low < here && here < low + size);
  CHECK(size >= libc_size); /* libc leaves out the arguments and the environment */
}

static void the_first_thread_has_the_bounds_that_libc_tells(void) {
  struct rlimit limit;
  CHECK(getrlimit(RLIMIT_STACK, &limit) == 0);
  check_bounds();
  struct rlimit smaller = {(rlim_t)3 << 20, limit.rlim_max};
  if (limit.rlim_cur > smaller.rlim_cur && setrlimit(RLIMIT_STACK, &smaller) == 0) check_bounds();
  setrlimit(RLIMIT_STACK, &limit);
}

static void *check_from(void *p0) {
  check_bounds();
  return p0;
}

static void another_thread_has_its_own(void) {
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, check_from, NULL) == 0);
  pthread_join(thread, NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {TEST_BARE(the_first_thread_has_the_bounds_that_libc_tells),
                                     TEST_BARE(another_thread_has_its_own)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
