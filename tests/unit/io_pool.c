/* SPDX-License-Identifier: Apache-2.0 */
/* The pool of kernel threads that make calls on files, step by step (src/io/pool.c): one kernel
 * thread plays all of them. */
#define _GNU_SOURCE /* the runtime's headers want it */
#include "io/pool.c"

#include <string.h>

#include "support/noted.h"
#include "support/support.h"

static struct mltp_thread caller;
static struct mltp_thread *const self = &caller;

static struct {
  int start_error;
  bool no_thread;
  void (*meanwhile)(void); /* while the caller is parked */
} world;

int __wrap_mt_io_start(void);
int __wrap_mt_io_start(void) {
  note("start");
  return world.start_error;
}

void __wrap_mt_resume(struct mltp_thread *t);
void __wrap_mt_resume(struct mltp_thread *t) {
  CHECK(t == self);
  note("resume");
}

static int runs;

static void run(struct mt_io_job *job) { runs += job != NULL; }

static void *(*started)(void *);
static int starts, rings, sleeps_in_pool;

int __wrap_os_thread_start(pthread_t *thread, struct os_affinity *affinity, bool elsewhere,
                           void *(*func)(void *), void *arg);
int __wrap_os_thread_start(pthread_t *thread, struct os_affinity *affinity, bool elsewhere,
                           void *(*func)(void *), void *arg) {
  CHECK(thread == &pool.threads[pool.count] && affinity != NULL && !elsewhere && arg == NULL);
  if (world.no_thread) return EAGAIN;
  started = func;
  starts++;
  return 0;
}

static pthread_t joined[MOST];
static int joins;

void __wrap_os_thread_join(pthread_t thread);
void __wrap_os_thread_join(pthread_t thread) {
  CHECK(pool.ends);
  joined[joins++] = thread;
}

void __wrap_os_futex_wake(uint32_t *word, int count);
void __wrap_os_futex_wake(uint32_t *word, int count) {
  CHECK(word == &pool.news && pool.ilock == 0);
  rings += count;
}

int __wrap_os_futex_wait(uint32_t *word, uint32_t expected, uint64_t deadline);
int __wrap_os_futex_wait(uint32_t *word, uint32_t expected, uint64_t deadline) {
  CHECK(word == &pool.news && expected == pool.news && deadline == MLTP_NEVER);
  CHECK_EQUAL(pool.resting, 1);
  if (++sleeps_in_pool == 2) pool.ends = true;
  return 0;
}

void __wrap_os_signals_off(void);
void __wrap_os_signals_off(void) { note("signals"); }

/* The thread's registers are saved, and a kernel thread of the pool works. */
void __wrap_mt_park_timed(struct mltp_thread *t, mt_ilock *ilock, enum mt_why why,
                          struct mt_timer *timer);
void __wrap_mt_park_timed(struct mltp_thread *t, mt_ilock *ilock, enum mt_why why,
                          struct mt_timer *timer) {
  CHECK(t == self && *ilock != 0 && why == MT_WHY_IO && timer == NULL);
  CHECK_TEXT(t->waiting_for, "a call");
  mt_ilock_unlock(ilock);
  note("park");
  if (world.meanwhile != NULL) world.meanwhile();
}

static void work_until_nothing_is_left(void) { CHECK(work(&runs) == &runs); }

static struct mt_vp here;

static void begin_pool(void) {
  memset(self, 0, sizeof *self);
  memset(&world, 0, sizeof world);
  memset(&pool, 0, sizeof pool);
  memset(&mt_rt, 0, sizeof mt_rt);
  trace[0] = '\0';
  runs = starts = rings = joins = sleeps_in_pool = 0;
  self->vp = &here;
  world.meanwhile = work_until_nothing_is_left;
}

static void some_threads_make_their_calls_themselves(void) {
  for (int row = 0; row < 4; row++) {
    struct mt_io_job job = {.run = run};
    begin_pool();
    check_case("row %d", row);
    if (row == 0) self->vp = NULL;
    mt_det_on = row == 1;
    if (row == 2) world.start_error = ENOMEM;
    world.no_thread = row == 3;
    CHECK_EQUAL(mt_pool_run(self, &job, "a call"), 0);
    mt_det_on = false;
    TRACE(row < 2 ? "" : "start");
    CHECK(runs == 1 && starts == 0 && pool.count == 0 && pool.ilock == 0);
    CHECK_EQUAL(mt_rt.poll.tasks, 0);
  }
  struct mt_io_job job = {.run = run};
  begin_pool();
  self->cancel = MT_CANCELLED;
  CHECK_EQUAL(mt_pool_run(self, &job, "a call"), ECANCELED);
  CHECK(runs == 0 && starts == 0);
}

static void the_pool_makes_the_call(void) {
  struct mt_io_job job = {.run = run};
  begin_pool();
  CHECK_EQUAL(mt_pool_run(self, &job, "a call"), 0);
  TRACE("start park signals resume");
  CHECK(runs == 1 && starts == 1 && rings == 1 && started == work);
  CHECK(job.thread == self && job.ilock == 0);
  CHECK(pool.count == 1 && pool.queued == 0 && pool.resting == 0 && pool.first == NULL);
  CHECK_EQUAL(sleeps_in_pool, 2); /* it was not the end, at the first time */
  CHECK_EQUAL(mt_rt.poll.tasks, 1);
}

static void jobs_are_taken_in_their_order(void) {
  struct mt_io_job jobs[4] = {{0}};
  begin_pool();
  uint32_t news = pool.news;
  for (int i = 0; i < 3; i++) append(&jobs[i]);
  CHECK(pool.queued == 3 && pool.news == news + 3 && rings == 3);
  for (int i = 0; i < 3; i++) CHECK(next_job() == &jobs[i]);
  CHECK(pool.queued == 0 && pool.ilock == 0);
  append(&jobs[3]);
  pool.ends = true; /* what is queued is done first */
  CHECK(next_job() == &jobs[3] && next_job() == NULL);
}

static void a_job_that_finds_none_at_rest_starts_one(void) {
  begin_pool();
  for (int i = 0; i < MOST; i++) {
    pool.queued = i;
    pool.resting = i;
    CHECK(grow());
    CHECK_EQUAL(starts, i + 1);
  }
  pool.queued = 9;
  CHECK(grow());
  CHECK(starts == MOST && pool.count == MOST);
  CHECK_EQUAL(mt_rt.poll.tasks, MOST);
  pool.count = 1;
  pool.queued = 1;
  pool.resting = 2; /* one will come */
  CHECK(grow());
  CHECK_EQUAL(starts, MOST);
  pool.resting = 0;
  world.no_thread = true; /* there is another */
  CHECK(grow());
  CHECK_EQUAL(pool.count, 1);
  pool.count = 0;
  CHECK(!grow());
}

static void the_pool_ends(void) {
  struct mt_io_job job = {0};
  begin_pool();
  pool.count = 3;
  for (int i = 0; i < 3; i++) pool.threads[i] = (pthread_t)i + 5;
  pool.resting = 2;
  pool.queued = 1;
  pool.first = &job;
  uint32_t news = pool.news;
  mt_pool_stop();
  CHECK(rings == MOST && pool.news == news + 1 && joins == 3);
  for (int i = 0; i < 3; i++) CHECK(joined[i] == (pthread_t)i + 5);
  CHECK(pool.count == 0 && pool.resting == 0 && pool.queued == 0 && pool.first == NULL &&
        !pool.ends && pool.ilock == 0);
  pool.ilock = 1;
  mt_pool_forget();
  CHECK_EQUAL(pool.ilock, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST_BARE(some_threads_make_their_calls_themselves),
      TEST_BARE(the_pool_makes_the_call),
      TEST_BARE(jobs_are_taken_in_their_order),
      TEST_BARE(a_job_that_finds_none_at_rest_starts_one),
      TEST_BARE(the_pool_ends),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
