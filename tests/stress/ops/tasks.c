/* SPDX-License-Identifier: Apache-2.0 */
/* A few threads that live for one operation, and count: by a latch, a wait group, a once. And
 * one that is cancelled while it waits for what never comes. */
#include "ops.h"

enum { TASKS_MAX = 6 };

struct tasks {
  int count;
  mltp_latch_t all_here;
  mltp_waitgroup_t undone;
  mltp_once_t once;
  atomic_int here, done, calls;
  int prepared; /* by the once */
};

static void start(struct tasks *tasks, mltp_userf_t *func, unsigned *random) {
  for (int i = 0; i < tasks->count; i++) {
    mltp_attr_t attr = MLTP_ATTR_INIT;
    attr.bound = one_in(random, 16);
    attr.detached = 1;
    attr.priority = (int)pick(random, 3) - 1;
    attr.name = "task";
    CHECK_EQUAL(mltp_create(NULL, &attr, func, tasks), 0);
  }
}

static void prepare(void *p0) {
  struct tasks *tasks = p0;
  atomic_fetch_add(&tasks->calls, 1);
  mltp_yield(); /* so that others come, and wait */
  tasks->prepared = 1;
}

static void *do_task(void *p0) {
  struct tasks *tasks = p0;
  atomic_fetch_add(&tasks->here, 1);
  CHECK_EQUAL(mltp_latch_arrive_and_wait(&tasks->all_here), 0);
  CHECK_EQUAL(atomic_load(&tasks->here), tasks->count);
  CHECK_EQUAL(mltp_once(&tasks->once, prepare, tasks), 0);
  CHECK_EQUAL(tasks->prepared, 1);
  atomic_fetch_add(&tasks->done, 1);
  CHECK_EQUAL(mltp_waitgroup_done(&tasks->undone), 0);
  return NULL;
}

/* What has been waited for is freed with this frame. */
static void act_tasks(unsigned *random) {
  struct tasks tasks = {.count = 1 + (int)pick(random, TASKS_MAX), .once = MLTP_ONCE_INIT};
  CHECK_EQUAL(mltp_latch_init(&tasks.all_here, (unsigned)tasks.count, "all here"), 0);
  CHECK_EQUAL(mltp_waitgroup_init(&tasks.undone, "undone"), 0);
  CHECK_EQUAL(mltp_waitgroup_add(&tasks.undone, tasks.count), 0);
  start(&tasks, do_task, random);
  if (one_in(random, 2)) {
    int error = mltp_latch_wait_timed(&tasks.all_here, soon(random, 50000));
    CHECK(error == ETIMEDOUT || atomic_load(&tasks.here) == tasks.count);
  }
  while (mltp_waitgroup_wait_timed(&tasks.undone,
                                   one_in(random, 2) ? soon(random, 50000) : MLTP_NEVER) != 0)
    continue;
  CHECK_EQUAL(atomic_load(&tasks.done), tasks.count);
  CHECK_EQUAL(atomic_load(&tasks.calls), 1);
  CHECK_EQUAL(mltp_waitgroup_destroy(&tasks.undone), 0);
  CHECK_EQUAL(mltp_latch_destroy(&tasks.all_here), 0);
}

const struct operation op_tasks = {"tasks", 1, 0, NULL, act_tasks, NULL};

/* -------------------------------------------------------------------- cancel */

static mltp_sem_t never;

static void begin_cancel(void) { CHECK_EQUAL(mltp_sem_init(&never, 0, "never"), 0); }

static void *wait_until_cancelled(void *p0) {
  unsigned random = (unsigned)(uintptr_t)p0;
  if (one_in(&random, 4)) mltp_set_deadline(soon(&random, 100000));
  int error;
  do error = mltp_sem_wait_timed(&never, one_in(&random, 2) ? MLTP_NEVER : soon(&random, 50000));
  while (error == ETIMEDOUT);
  CHECK_EQUAL(error, ECANCELED);
  CHECK_EQUAL(mltp_cancelled(), 1);
  return p0;
}

static void act_cancel(unsigned *random) {
  void *p0 = (void *)(uintptr_t)pick(random, 1u << 30), *result = NULL;
  mltp_attr_t attr = MLTP_ATTR_INIT;
  attr.bound = one_in(random, 16);
  attr.name = "cancelled";
  mltp_t *thread = NULL;
  CHECK_EQUAL(mltp_create(&thread, &attr, wait_until_cancelled, p0), 0);
  int error = mltp_join_timed(thread, &result, soon(random, 50000));
  if (error != 0) {
    CHECK_EQUAL(error, ETIMEDOUT);
    CHECK_EQUAL(mltp_cancel(thread), 0);
    while ((error = mltp_join_timed(thread, &result, soon(random, 50000))) != 0)
      CHECK_EQUAL(error, ETIMEDOUT);
  }
  CHECK(result == p0);
}

static void end_cancel(void) { CHECK_EQUAL(mltp_sem_destroy(&never), 0); }

const struct operation op_cancel = {"cancel", 1, 0, begin_cancel, act_cancel, end_cancel};
