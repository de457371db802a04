/* SPDX-License-Identifier: Apache-2.0 */
/* A VP that runs a short delivery of I/O keeps its ready threads (core/sched/poll.h): others
 * neither take them, nor wake or stay awake for them, nor look for events, until its time is over.
 */
#define _GNU_SOURCE /* the runtime's headers want it */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "core/sched/steal.h"
#include "core/sched/wake.h"
#include "core/thread/thread.h"
#include "support/support.h"

enum { DELIVERED = 4, LOOKS = 1000 };

static atomic_int kept, may_end, ran;

static void *run_briefly(void *p0) {
  atomic_fetch_add(&ran, 1);
  return p0;
}

static void keep(const struct mt_vp *vp, uint64_t until) {
  mt_store_relaxed(&mt_rt.poll.keeps_until, until);
  mt_store_relaxed(&mt_rt.poll.keeps, (struct mt_vp *)(uintptr_t)vp);
}

/* As a VP that has delivered, and runs the first of the threads. */
static void *deliver_and_run(void *p0) {
  mltp_t **delivered = p0;
  keep(mt_here(), MLTP_NEVER);
  for (int i = 0; i < DELIVERED; i++) delivered[i] = spawn(run_briefly, NULL);
  atomic_store(&kept, 1);
  while (!atomic_load(&may_end)) continue;
  return NULL;
}

static void others_leave_a_kept_delivery_alone(void) {
  mltp_t *delivered[DELIVERED];
  if (seeded() || on_kernel_backend()) skip(); /* nothing is taken there */
  if (getenv("MLTP_SCHED") != NULL) skip();    /* a paper's strategy takes by rules of its own */
  setenv("MLTP_VPS", "2", 1);
  CHECK_EQUAL(init_unmonitored(2), 0); /* the monitor might make a VP that finds them */
  atomic_store(&kept, 0);
  atomic_store(&may_end, 0);
  atomic_store(&ran, 0);
  mltp_t *keeps = spawn(deliver_and_run, delivered);
  while (!atomic_load(&kept)) continue; /* the other VP takes it, since main stays on this one */
  struct mt_vp *here = mt_here();
  bool taken = false;
  for (int i = 0; i < LOOKS; i++) taken |= mt_try_steal(here, mltp_now(), true);
  CHECK(!taken);
  CHECK(!mt_any_waiting(here));
  CHECK(mt_any_waiting(NULL)); /* the watchdog of a process at rest forgets none */
  CHECK(mt_poll_is_left(here, mltp_now()));
  CHECK_EQUAL(atomic_load(&ran), 0);
  keep(mt_load_relaxed(&mt_rt.poll.keeps), 0);
  CHECK(!mt_poll_is_left(here, mltp_now()));
  while (!taken) taken = mt_try_steal(here, mltp_now(), true);
  atomic_store(&may_end, 1);
  mltp_join(keeps, NULL);
  for (int i = 0; i < DELIVERED; i++) mltp_join(delivered[i], NULL);
  CHECK_EQUAL(atomic_load(&ran), DELIVERED);
  mltp_finalize();
}

int main(void) {
  const struct CMUnitTest tests[] = {TEST_BARE(others_leave_a_kept_delivery_alone)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
