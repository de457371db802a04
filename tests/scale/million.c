/* SPDX-License-Identifier: Apache-2.0 */
/* A million threads wait at a barrier at once, then all continue. */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "support/support.h"

enum { THREADS = 1000000 };

static mltp_barrier_t barrier;
static atomic_int arrived, released;

/* @return a line of a /proc file that gives kilobytes, such as "VmRSS:"; 0: not there */
static long kilobytes(const char *path, const char *key) {
  char line[256];
  long value = 0;
  FILE *file = fopen(path, "r");
  if (file == NULL) return 0;
  while (value == 0 && fgets(line, sizeof line, file) != NULL) {
    if (strncmp(line, key, strlen(key)) == 0) sscanf(line + strlen(key), "%ld", &value);
  }
  fclose(file);
  return value;
}

static void *meet(void *p0) {
  atomic_fetch_add_explicit(&arrived, 1, memory_order_relaxed);
  mltp_barrier_wait(&barrier);
  atomic_fetch_add_explicit(&released, 1, memory_order_relaxed);
  return p0;
}

static double seconds_since(uint64_t start) { return (double)(mltp_now() - start) / 1e9; }

static void a_million_threads_meet(void) {
  uint64_t start = mltp_now();
  long before = kilobytes("/proc/self/status", "VmRSS:");
  mltp_attr_t attr = MLTP_ATTR_INIT;
  attr.detached = 1;
  CHECK_EQUAL(mltp_barrier_init(&barrier, THREADS + 1, "meeting of a million"), 0);
  for (int i = 0; i < THREADS; i++) {
    CHECK_EQUAL(mltp_create(NULL, &attr, meet, NULL), 0);
  }
  while (atomic_load(&arrived) < THREADS) mltp_yield();
  printf("%d threads created and waiting: %.2f s\n", THREADS, seconds_since(start));

  double resident = (double)(kilobytes("/proc/self/status", "VmRSS:") - before) * 1024;
  double tables = (double)kilobytes("/proc/self/status", "VmPTE:") * 1024;
  printf("memory: %.2f GiB + %.2f GiB of page tables, %.0f bytes a thread\n", resident / (1 << 30),
         tables / (1 << 30), (resident + tables) / THREADS);

  mltp_barrier_wait(&barrier);
  while (atomic_load(&released) < THREADS) mltp_yield();
  printf("all released: %.2f s\n", seconds_since(start));
}

int main(void) {
#if MLTP_CHECKED
  fprintf(stderr, "skipped: only a release build is small and quick enough\n");
  return 77;
#endif
  if (SANITIZED || on_kernel_backend()) {
    fprintf(stderr, "skipped: needs user-level threads without a sanitizer\n");
    return 77;
  }
  if (kilobytes("/proc/meminfo", "MemAvailable:") < 10L * 1024 * 1024) {
    fprintf(stderr, "skipped: less than 10 GiB of memory are available\n");
    return 77;
  }
  const struct CMUnitTest tests[] = {TEST(a_million_threads_meet)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
