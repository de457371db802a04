/* SPDX-License-Identifier: Apache-2.0 */
/* Which VPs a VP without work asks: VPs that share a cache with it, then the others. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "support/support.h"

static struct outcome outcome;

static long elsewhere; /* threads that ran on another VP than their creator */

static void *work(void *arg) {
  for (volatile int i = 0; i < 20000; i++) continue;
  if (mltp_vp() != 0) __atomic_fetch_add(&elsewhere, 1, __ATOMIC_RELAXED);
  return arg;
}

/* Until many threads have moved to other VPs. */
static void spread_work(void) {
  enum { BATCH = 64, MOVED = 500 };
  mltp_t *threads[BATCH];
  if (mltp_init(4) != 0) _exit(1);
  while (__atomic_load_n(&elsewhere, __ATOMIC_RELAXED) < MOVED) {
    for (int i = 0; i < BATCH; i++) threads[i] = spawn(work, NULL);
    for (int i = 0; i < BATCH; i++) mltp_join(threads[i], NULL);
  }
  if (mltp_finalize() != 0) _exit(2);
}

/* Sums what MLTP_STATS says of all VPs. */
static void thefts(const char *share, unsigned long *all, unsigned long *far) {
  const char *const settings[] = {share, "MLTP_STATS=1", "MLTP_BACKEND=native",
                                  "MLTP_SCHED=default", NULL};
  run_child(&outcome, spread_work, settings);
  CHECK_EQUAL(outcome.status, 0);
  *all = *far = 0;
  for (const char *at = outcome.said; (at = strstr(at, "thefts ")) != NULL; at++) {
    unsigned long more, of_them;
    CHECK_EQUAL(sscanf(at, "thefts %lu (%lu from afar)", &more, &of_them), 2);
    *all += more;
    *far += of_them;
  }
}

static void vps_that_share_a_cache_are_not_far(void) {
  unsigned long all, far;
  thefts("MLTP_CACHE_SHARE=1024", &all, &far);
  CHECK(all > 0);
  CHECK_EQUAL(far, 0);
}

/* On a busy machine all VPs of a run may be on one CPU. */
static void work_is_taken_from_afar_when_none_is_near(void) {
  enum { TRIES = 50 };
  unsigned long all = 0, far = 0;
  if (mltp_cpus() < 2) skip();
  for (int i = 0; i < TRIES && far == 0; i++) thefts("MLTP_CACHE_SHARE=1", &all, &far);
  CHECK(all > 0);
  CHECK(far > 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST_BARE(vps_that_share_a_cache_are_not_far),
      TEST_BARE(work_is_taken_from_afar_when_none_is_near),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
