/* SPDX-License-Identifier: Apache-2.0 */
/* A million threads wait, each at a semaphore of its own, with their stacks packed (MLTP_PACK_MS).
 * They wake in order and find their stacks as they were. One recurses too deep at the end. */
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/memory/pack.h"
#include "support/support.h"

enum { THREADS = 1000000, WORDS = 8, MS = 1000000 };

static const long MOST_KIB = 2734375; /* 2.8 GB resident, page tables included */

static mltp_sem_t *sems; /* in the child, so that its memory counts as well */
static mltp_sem_t dig_now;
static atomic_int arrived, woken;

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

static double seconds_since(uint64_t start) { return (double)(mltp_now() - start) / 1e9; }

static __attribute__((noinline)) int dig(int depth) {
  volatile char frame[512];
  memset((char *)frame, depth, sizeof frame);
  int below = depth < 0 ? 0 : dig(depth + 1);
  return below + frame[depth & 511];
}

static void give_up(const char *what, int number) {
  fprintf(stderr, "thread %d: %s\n", number, what);
  _exit(3);
}

static void *wait_in_order(void *of) {
  int number = (int)(intptr_t)of;
  volatile uint64_t words[WORDS];
  for (int i = 0; i < WORDS; i++) words[i] = (uint64_t)number * 1000003u + (uint64_t)i;
  atomic_fetch_add_explicit(&arrived, 1, memory_order_relaxed);
  if (mltp_sem_wait(&sems[number]) != 0) give_up("the wait failed", number);
  if (atomic_fetch_add(&woken, 1) != number) give_up("did not wake in order", number);
  for (int i = 0; i < WORDS; i++)
    if (words[i] != (uint64_t)number * 1000003u + (uint64_t)i) give_up("its stack changed", number);
  if (number == THREADS - 1) {
    mltp_sem_wait(&dig_now);
    return (void *)(intptr_t)dig(0);
  }
  mltp_sem_post(&sems[number + 1]);
  return NULL;
}

static void report_memory(const char *when) {
  struct mt_pack_counts counts;
  mt_pack_counts(&counts);
  long resident = kilobytes("/proc/self/status", "VmRSS:");
  long tables = kilobytes("/proc/self/status", "VmPTE:");
  fprintf(stderr,
          "%s: resident %.2f GB + page tables %.2f GB, %.0f bytes a thread; %lu pages in %.2f GB; "
          "packed %lu, back %lu (%lu ahead), first touches %lu\n",
          when, (double)resident * 1024 / 1e9, (double)tables * 1024 / 1e9,
          (double)(resident + tables) * 1024 / THREADS, (unsigned long)counts.pages,
          (double)counts.bytes / 1e9, (unsigned long)counts.packed, (unsigned long)counts.back,
          (unsigned long)counts.ahead, (unsigned long)counts.touched);
}

static void wait_until_packed(void) {
  struct mt_pack_counts counts;
  do {
    mltp_sleep(20u * MS);
    mt_pack_counts(&counts);
  } while (counts.pages < THREADS);
}

static void run(void) {
  if (mltp_init(0) != 0) _exit(1);
  uint64_t start = mltp_now();
  mltp_t *last = NULL;
  mltp_sem_init(&dig_now, 0, "dig");
  sems = calloc(THREADS, sizeof *sems);
  if (sems == NULL) _exit(1);
  for (int i = 0; i < THREADS; i++) {
    mltp_attr_t attr = MLTP_ATTR_INIT;
    attr.detached = i < THREADS - 1;
    attr.name = i < THREADS - 1 ? NULL : "deep-sleeper";
    mltp_sem_init(&sems[i], 0, NULL);
    if (mltp_create(&last, &attr, wait_in_order, (void *)(intptr_t)i) != 0) _exit(2);
  }
  while (atomic_load(&arrived) < THREADS) mltp_yield();
  fprintf(stderr, "%d threads created and waiting: %.2f s\n", THREADS, seconds_since(start));
  report_memory("not all packed");
  wait_until_packed();
  fprintf(stderr, "all packed: %.2f s\n", seconds_since(start));
  report_memory("packed");
  long total = kilobytes("/proc/self/status", "VmRSS:") + kilobytes("/proc/self/status", "VmPTE:");
  if (total == 0 || total > MOST_KIB) give_up("too much memory", (int)total);
  uint64_t woke = mltp_now();
  mltp_sem_post(&sems[0]);
  while (atomic_load(&woken) < THREADS) mltp_yield();
  fprintf(stderr, "all woken in order: %.2f s\n", seconds_since(woke));
  report_memory("woken");
  mltp_sem_post(&dig_now);
  mltp_join(last, NULL); /* it overflows */
}

static void a_million_packed_threads_wake_in_order(void **state) {
  (void)state;
  static const char *const settings[] = {"MLTP_PACK_MS=100", NULL};
  static struct outcome outcome;
  run_child(&outcome, run, settings);
  print_message("%s", outcome.said);
  if (strstr(outcome.said, "stacks cannot be packed: ") != NULL) skip();
  assert_true(WIFSIGNALED(outcome.status));
  assert_int_equal(WTERMSIG(outcome.status), SIGABRT);
  assert_non_null(strstr(outcome.said, "all woken in order"));
  assert_non_null(strstr(outcome.said, "overflow"));
  assert_non_null(strstr(outcome.said, "deep-sleeper"));
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
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_million_packed_threads_wake_in_order)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
